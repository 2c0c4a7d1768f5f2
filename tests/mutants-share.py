#!/usr/bin/env python3
"""Prints which share of the mutants that were tried the tests caught, one line per crate.

Usage: mutants-share.py OUTCOMES.json...

A mutant that does not compile says nothing and is left out; one that never ends is caught.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        outcomes = json.loads(path.read_text())
        caught = outcomes["caught"] + outcomes["timeout"]
        tried = caught + outcomes["missed"]
        share = f"{caught / tried:.0%}" if tried else "nothing"
        print(f"{path.parent.parent.name}: {share} caught, {caught} of {tried} mutants")


if __name__ == "__main__":
    main()
