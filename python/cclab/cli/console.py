"""The two streams of the command line: results on standard output, the rest on standard error.

Whatever is printed goes through here or `drawn`. Here is what needs no layout: what lays text out
is loaded when something is to be laid out, as that takes longer than some commands run.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

from cclab import shown
from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.cli import drawn
    from cclab.measure.summary import Raised
    from cclab.report.told import Doubt, Told
else:
    drawn = late("cclab.cli.drawn")


_TERMINAL_BY = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables of the environment by which rich takes a stream for a terminal that is none."""


def prepare() -> None:
    """Has both streams take any text, whatever writes it: none ends a command by its letters.

    Who closed standard error is told nothing; what is written to a closed standard output fails as
    any that cannot be written to.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=shown.FALLBACK)


def give_up_unwritten() -> None:
    """Has standard output forget what it could not write: the interpreter would complain again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(message: str) -> None:
    """One message about what went wrong."""
    if is_plain(sys.stderr):
        _say(sys.stderr, f"error: {message}")
    else:
        drawn.stderr().print(drawn.line_of(("error: ", "bold red"), message), soft_wrap=True)


def tell(message: str) -> None:
    """One line of a result."""
    if is_plain(sys.stdout):
        _say(sys.stdout, message)
    else:
        drawn.stdout().print(message, soft_wrap=True)


def note(message: str) -> None:
    """One line for people about what goes on."""
    if is_plain(sys.stderr):
        _say(sys.stderr, message)
    else:
        drawn.stderr().print(message, soft_wrap=True)


def is_plain(stream: TextIO) -> bool:
    """Whether `stream` is no terminal, nor taken for one."""
    return not (stream.isatty() or any(name in os.environ for name in _TERMINAL_BY))


def _say(stream: TextIO, message: str) -> None:
    """Writes a line to a stream that is plain."""
    stream.write(shown.encodable(shown.lines(message), stream.encoding or "utf-8") + "\n")
    stream.flush()


def count(number: int, noun: str) -> str:
    """A number of things in words: "1 run", "2 runs"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_json(document: Any) -> None:
    """Prints the one document of a `--json`."""
    ascii_only = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(shown.json_text(document, indent=2, ascii_only=ascii_only) + "\n")
    sys.stdout.flush()


def print_csv(text: str) -> None:
    """Prints rows that are CSV."""
    sys.stdout.write(shown.document(text))
    sys.stdout.flush()


def print_tables(told: Told, *, every: bool = False) -> None:
    """Prints the tables of results: groups first, then flows, then what stands beside them."""
    if told.groups is not None:
        drawn.print_table(told.title, told.groups)
    title = told.title if told.groups is None else "Flows"
    drawn.print_table(title, told.every if every and told.every is not None else told.flows)
    for name, cells in told.beside:
        drawn.print_table(name, cells)
    if told.floods:
        note(told.floods)
    if told.every is not None and not every:
        note("flows of a group are one row; --all shows each")


def print_warnings(
    warnings: Sequence[Raised | Doubt], heading: str = "Check before you trust these numbers:"
) -> None:
    """Prints each doubt with its remedy."""
    if not warnings:
        return
    console = drawn.stderr()
    console.print(drawn.styled(heading, "bold yellow"))
    for warning in warnings:
        more = f"; {warning.extent}" if warning.extent else ""
        head = drawn.line_of((warning.code, "yellow"), f": {warning.message}{more}")
        drawn.show(console, drawn.indented(head, 2))
        drawn.show(console, drawn.indented(drawn.styled(warning.remedy, "dim"), 4))
