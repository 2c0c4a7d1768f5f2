"""What the measurements of speed have in common: their options, tables, and what was asked."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class BenchError(Exception):
    """The measurement cannot be made, or does not mean what it should; the text is for people."""


@dataclass(frozen=True)
class Verdict:
    """One asked figure beside what was measured."""

    figure: str
    asked: float
    measured: float
    at_most: bool = False

    def met(self) -> bool:
        """Whether it is reached."""
        return self.measured <= self.asked if self.at_most else self.measured >= self.asked


def options(description: str | None, repeat: int) -> argparse.ArgumentParser:
    """A command line with the options of every measurement; `repeat` is the turns by default."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    add = parser.add_argument
    add("--repeat", type=_turns, default=repeat, help=f"turns, at least 3 (default: {repeat})")
    add("--json", type=Path, metavar="FILE", help="write the measurement there too")
    add("--check", action="store_true", help="exit 1 when an asked figure is missed")
    return parser


def _turns(text: str) -> int:
    turns = int(text)
    if turns < 3:
        raise argparse.ArgumentTypeError("a median needs at least 3 turns")
    return turns


def progress(line: str) -> None:
    """Where it is, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def spread(seconds: list[float]) -> str:
    """The median, and between what."""
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f}-{max(seconds):.2f})"


def print_columns(rows: Sequence[Sequence[str]], names: int = 1) -> None:
    """A table of `rows`, the first of which is its head; the first `names` columns are names."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if place < names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def conclude(
    arguments: argparse.Namespace, verdicts: Sequence[Verdict], measured: dict[str, object]
) -> int:
    """Prints `verdicts`, writes what was `measured` if that is asked for, and gives the exit code:
    1 if `--check` found a figure missed."""
    print("\nasked, and measured:")
    for verdict in verdicts:
        print(
            f"  {'met   ' if verdict.met() else 'MISSED'} "
            f"{'at most' if verdict.at_most else 'at least'} {verdict.asked:,g} asked, "
            f"{verdict.measured:,.2f} measured: {verdict.figure}"
        )
    if arguments.json:
        asked = [{**asdict(verdict), "met": verdict.met()} for verdict in verdicts]
        arguments.json.write_text(json.dumps({**measured, "asked": asked}, indent=2) + "\n")
    missed = any(not verdict.met() for verdict in verdicts)
    return 1 if arguments.check and missed else 0


def failed(error: Exception) -> int:
    """Says why there is no measurement, and gives the exit code."""
    progress("")
    print(f"bench: {error}", file=sys.stderr)
    return 1
