"""The two streams of the command line: results on standard output, the rest on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cclab.late import late

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cclab.measure.results import Results
    from cclab.measure.summary import Raised
    from cclab.report import tables
    from cclab.tabular import Table as Cells
else:
    tables = late("cclab.report.tables")

_UNBOUNDED = 10_000
"""More columns than any line has: the width of a file or a pipe, where nothing is wrapped."""
_ANY_HEIGHT = 25
"""Nothing is drawn by it."""


def stdout() -> Console:
    """Where results go."""
    return _console(sys.stdout)


def stderr() -> Console:
    """Where progress, warnings and complaints go."""
    return _console(sys.stderr)


def complain(message: str) -> None:
    """One message about what went wrong."""
    stderr().print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def tell(message: str) -> None:
    """One line of a result."""
    stdout().print(Text(message), soft_wrap=True)


def note(message: str) -> None:
    """One line for people about what goes on."""
    stderr().print(Text(message), soft_wrap=True)


def count(number: int, noun: str) -> str:
    """A number of things in words: "1 run", "2 runs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_json(document: Any) -> None:
    """Prints the one document of a `--json`."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def print_table(title: str, cells: Cells) -> None:
    """Prints the table of results; as several where one is too wide. No cell is cut."""
    console = stdout()
    console.print(Text(title, style="bold"), soft_wrap=True)
    for part in cells.folded(lambda part: _width(console, _drawn(part)) <= console.width):
        show(console, _drawn(part))


def print_tables(results: Results, *, every: bool = False) -> None:
    """Prints the tables of results: groups first, then flows, then what stands beside them."""
    first = tables.groups(results, tables.MOST_POINTS)
    if first is not None:
        print_table(results.plan.title, first)
    title = results.plan.title if first is None else "Flows"
    print_table(title, tables.table(results, tables.MOST_POINTS, every=every))
    for name, cells in tables.beside(results, tables.MOST_POINTS):
        print_table(name, cells)
    if flooded := tables.floods(results):
        note(flooded)
    if tables.folds(results) and not every:
        note("flows of a group are one row; --all shows each")


def show(console: Console, drawn: RenderableType) -> None:
    """Prints text that has its own lines; without padding to a file or a pipe."""
    if console.file.isatty():
        # What is wider than the terminal goes on in its next line rather than lose its end.
        console.width = max(console.width, _least_width(console, drawn))
        console.print(drawn)
        return
    with console.capture() as captured:
        console.print(drawn)
    console.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _width(console: Console, table: Table) -> int:
    unbounded = console.options.update(max_width=_UNBOUNDED)
    return Measurement.get(console, unbounded, table).maximum


def _least_width(console: Console, drawn: RenderableType) -> int:
    unbounded = console.options.update(max_width=_UNBOUNDED)
    return Measurement.get(console, unbounded, drawn).minimum


def _drawn(cells: Cells) -> Table:
    """A table, sweep points of several rows set apart."""
    table = Table(header_style="bold", box=SIMPLE_HEAD)
    for heading, number in zip(cells.headings, cells.numeric, strict=True):
        table.add_column(Text(heading), justify="right" if number else "left", no_wrap=True)
    apart = any(len(group) > 1 for group in cells.groups)
    for group in cells.groups:
        for row in group:
            table.add_row(*(Text(cell) for cell in row))
        if apart:
            table.add_section()
    return table


def print_warnings(
    warnings: list[Raised], heading: str = "Check before you trust these numbers:"
) -> None:
    """Prints each doubt with its remedy."""
    if not warnings:
        return
    console = stderr()
    console.print(Text(heading, style="bold yellow"))
    for warning in warnings:
        more = f"; {warning.extent}" if warning.extent else ""
        head = Text.assemble((warning.code, "yellow"), f": {warning.message}{more}")
        show(console, Padding(head, (0, 0, 0, 2), expand=False))
        show(console, Padding(Text(warning.remedy, style="dim"), (0, 0, 0, 4), expand=False))


def _console(stream: Any) -> Console:
    # Of a file or a pipe both sides are told: with one alone, what the environment says of a
    # terminal (TERM=dumb beside FORCE_COLOR, as in many a CI) would come before the width.
    width, height = (None, None) if stream.isatty() else (_UNBOUNDED, _ANY_HEIGHT)
    return Console(file=stream, width=width, height=height, highlight=False, emoji=False)
