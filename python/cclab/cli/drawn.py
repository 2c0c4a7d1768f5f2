"""What is drawn on the two streams: styled text and tables, as rich lays them out.

What others wrote (a title, a name, what a program said) is shown, never obeyed, and what the
stream's encoding lacks is told in its letters.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from cclab import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from rich.console import ConsoleOptions, RenderableType

    from cclab.tabular import Table as Cells

_UNBOUNDED = 10_000
"""More columns than any line has: the width of a file or a pipe, where nothing is wrapped."""
_ANY_HEIGHT = 25
"""Nothing is drawn by it."""
_BETWEEN = "   "
"""Between the columns of a table."""


class Output(Console):
    """Shows controls in text, and its letters in the stream's encoding.

    A plain `str` is text before it is laid out, so that its columns are right: in a table, too.
    """

    def render_str(self, text: str, **how: Any) -> Text:
        """`text` as it can be shown; no mark-up is read in it."""
        return super().render_str(self.shown(text), **{**how, "markup": False, "emoji": False})

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The pieces of what is drawn; what came in as `Text` is escaped here."""
        for piece in super().render(renderable, options):
            text = piece.text if piece.control else self.shown(piece.text)
            yield piece if text == piece.text else Segment(text, piece.style)

    def shown(self, text: str) -> str:
        """`text` as it can be shown."""
        return shown.encodable(shown.lines(text), self.encoding)


class Grid(Table):
    """A table as it is drawn; a `str` in it is one line."""

    def add_column(self, header: RenderableType = "", *more: Any, **how: Any) -> None:
        """A column under `header`."""
        super().add_column(_cell(header), *more, **how)

    def add_row(self, *cells: RenderableType | None, **how: Any) -> None:
        """A row of cells."""
        super().add_row(*map(_cell, cells), **how)


def _cell(cell: Any) -> Any:
    return shown.line(cell) if isinstance(cell, str) else cell


def styled(text: str, style: str = "") -> Text:
    """`text` in one style: a cell, or a part of a line."""
    return Text(shown.lines(text), style=style)


def line_of(*parts: str | tuple[str, str]) -> Text:
    """A line of parts, some with a style."""
    return Text.assemble(
        *(
            shown.lines(part) if isinstance(part, str) else (shown.lines(part[0]), part[1])
            for part in parts
        )
    )


def indented(text: Text, by: int) -> Padding:
    """`text` with so many columns to the left of each of its lines."""
    return Padding(text, (0, 0, 0, by), expand=False)


def stdout() -> Output:
    """Where results go."""
    return _console(sys.stdout)


def stderr() -> Output:
    """Where progress, warnings and complaints go."""
    return _console(sys.stderr)


def print_table(title: str, cells: Cells) -> None:
    """Prints the table of results under its title, as `print_rows` does."""
    stdout().print(styled(shown.line(title), "bold"), soft_wrap=True)
    print_rows(cells)


def print_rows(cells: Cells, red: Collection[int] = ()) -> None:
    """Prints a table; as several where one is too wide. No cell is cut. The rows of these numbers,
    from 0, are `red`."""
    console = stdout()
    for part in cells.folded(lambda part: _fits(console, part)):
        show(console, _Ruled(console, part, red))


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


def _fits(console: Output, cells: Cells) -> bool:
    """Whether a table is not wider than `console`; any is not that goes to a file or a pipe."""
    return console.width >= _UNBOUNDED or _Ruled(console, cells).width <= console.width


def _least_width(console: Console, drawn: RenderableType) -> int:
    unbounded = console.options.update(max_width=_UNBOUNDED)
    return Measurement.get(console, unbounded, drawn).minimum


class _Ruled:
    """A table of results, sweep points of several rows set apart.

    It looks as `Grid` under `SIMPLE_HEAD` does, and is a piece for each line: of thousands of cells
    rich would make as many texts.
    """

    def __init__(self, console: Output, cells: Cells, red: Collection[int] = ()) -> None:
        """The table as `console` can show it; the rows of these numbers are `red`."""

        def texts(row: list[str]) -> list[str]:
            return [console.shown(shown.line(cell)) for cell in row]

        self._head = texts(cells.headings)
        self._groups = [[texts(row) for row in group] for group in cells.groups if group]
        self._numeric = cells.numeric
        self._red = red
        rows = [self._head, *(row for group in self._groups for row in group)]
        self._widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        self._inner = sum(self._widths) + len(_BETWEEN) * (len(self._widths) - 1) + 2

    @property
    def width(self) -> int:
        """Of its lines."""
        return self._inner + 2

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.width, self.width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        empty = Segment(" " * self.width + "\n")
        yield empty
        yield Segment(self._line(self._head), console.get_style("bold"))
        yield Segment("\n")
        yield Segment(f" {'─' * self._inner} \n")
        apart = any(len(group) > 1 for group in self._groups)
        numbers = count()
        for place, group in enumerate(self._groups):
            if apart and place:
                yield empty
            for row in group:
                style = console.get_style("red") if next(numbers) in self._red else None
                yield Segment(self._line(row), style)
                yield Segment("\n")
        yield empty

    def _line(self, row: list[str]) -> str:
        aligned = []
        for cell, width, number in zip(row, self._widths, self._numeric, strict=True):
            room = " " * (width - cell_len(cell))
            aligned.append(room + cell if number else cell + room)
        return f"  {_BETWEEN.join(aligned)}  "


def _console(stream: Any) -> Output:
    # Of a file or a pipe both sides are told: with one alone, what the environment says of a
    # terminal (TERM=dumb beside FORCE_COLOR, as in many a CI) would come before the width.
    width, height = (None, None) if stream.isatty() else (_UNBOUNDED, _ANY_HEIGHT)
    return Output(file=stream, width=width, height=height, highlight=False, emoji=False)
