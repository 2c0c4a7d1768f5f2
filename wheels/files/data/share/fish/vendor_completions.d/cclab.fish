cclab completion fish | source
