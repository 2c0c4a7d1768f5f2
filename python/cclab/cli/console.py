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

if TYPE_CHECKING:
    from cclab.report.tables import Table as Cells
    from cclab.summary import Raised

_PIPE_WIDTH = 200
"""Columns of a table that goes to a file or a pipe, where nothing may be cut off."""


_UNBOUNDED = 10_000
"""More columns than any table has."""


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


def print_json(document: Any) -> None:
    """Prints the one document of a `--json`."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def print_table(title: str, cells: Cells) -> None:
    """Prints the table of results; as two, flows and bottleneck, where one is too wide."""
    console = stdout()
    whole = _drawn(title, cells)
    unbounded = console.options.update(max_width=_UNBOUNDED)
    if Measurement.get(console, unbounded, whole).maximum <= console.width:
        console.print(whole)
        return
    flows, points = cells.split()
    console.print(_drawn(title, flows))
    console.print(_drawn("", points))


def _drawn(title: str, cells: Cells) -> Table:
    """A table, sweep points of several rows set apart."""
    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=SIMPLE_HEAD,
    )
    for heading, number in zip(cells.headings, cells.numeric, strict=True):
        table.add_column(Text(heading), justify="right" if number else "left")
    apart = any(len(group) > 1 for group in cells.groups)
    for group in cells.groups:
        for row in group:
            table.add_row(*(Text(cell) for cell in row))
        if apart:
            table.add_section()
    return table


def print_warnings(warnings: list[Raised]) -> None:
    """Prints each doubt with its remedy."""
    if not warnings:
        return
    console = stderr()
    console.print(Text("Check before you trust these numbers:", style="bold yellow"))
    for warning in warnings:
        more = f"; {warning.extent}" if warning.extent else ""
        head = Text.assemble((warning.code, "yellow"), f": {warning.message}{more}")
        console.print(Padding(head, (0, 0, 0, 2), expand=False))
        console.print(Padding(Text(warning.remedy, style="dim"), (0, 0, 0, 4), expand=False))


def _console(stream: Any) -> Console:
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, emoji=False)
