"""Attacks on cclab, as `make attack` makes them, and any one try of them again."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from attacks.kinds import KINDS
from attacks.programme import Order, Programme


def _kinds(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
    return names


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m attacks", description=__doc__)
    parser.add_argument("--list", action="store_true", help="say which kinds there are, and end")
    parser.add_argument("--kinds", type=_kinds, default=[*KINDS], metavar="A,B", help="these alone")
    parser.add_argument("--seed", type=int, default=1, help="of all tries (default 1)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, help="shared evenly by the kinds (default 60)")
    length.add_argument("--tries", type=int, help="so many of each kind")
    length.add_argument("--only", type=int, metavar="NUMBER", help="the try of this number alone")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="kinds at a time (default: CPUs)"
    )
    parser.add_argument("--folder", type=Path, help="work there, and leave what is there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came of it, too")
    return parser.parse_args()


def _order(words: argparse.Namespace) -> Order:
    if words.only is not None:
        return Order(words.seed, first=words.only, last=words.only)
    if words.tries is not None:
        return Order(words.seed, tries=words.tries)
    return Order(words.seed, seconds=60.0 if words.seconds is None else words.seconds)


def main() -> int:
    """Makes the attacks, prints the table, and gives the exit code."""
    words = _words()
    if words.list:
        for name, kind in KINDS.items():
            print(f"{name:16} {kind.says}")
        return 0
    # A job in the background is started with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = words.folder.absolute() if words.folder else None
    programme = Programme(words.kinds, _order(words), jobs=words.jobs, folder=folder)
    programme.run()
    print(programme.table())
    if words.json is not None:
        words.json.write_text(json.dumps(programme.document(), indent=1) + "\n")
    return 1 if programme.failed() else 130 if programme.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
