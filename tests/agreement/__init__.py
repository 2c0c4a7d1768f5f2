"""How far cclab, tcptrace and tshark agree on captures of many kinds, field by field."""
