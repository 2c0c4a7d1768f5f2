"""Attacks on cclab, try by try: `make attack`, and a few of each kind in the tests."""
