"""`python -m cclab`."""

from cclab.cli.main import main

main()
