"""The panels of a figure: in rows and columns, with labels at its edges alone."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.drawing.style import Drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Sheet:
    """A figure and its panels, from left to right and down."""

    figure: Drawing
    rows: list[list[Axes]]
    """The axes that stand one above the other in each panel: the first row has all uppermost."""
    columns: int

    @property
    def panels(self) -> list[Axes]:
        """The uppermost axes of each panel: where none has several, all."""
        return self.rows[0]

    def at_bottom(self, panel: int) -> bool:
        """Whether no panel is below this one."""
        return panel + self.columns >= len(self.panels)

    def label(self, across: str = "", up: str = "") -> None:
        """Says what the axes are, at the foot and on the left of all panels."""
        for number, axes in enumerate(self.panels):
            if across and self.at_bottom(number):
                axes.set_xlabel(across)
            if up and number % self.columns == 0:
                axes.set_ylabel(up)


def sheet(
    size: tuple[float, float],
    count: int,
    columns: int,
    *,
    rows_each: int = 1,
    one_x: bool = True,
    one_y: bool = True,
    every_x: bool = False,
) -> Sheet:
    """A figure of `size` inches with `count` empty panels of `rows_each` axes.

    All share the horizontal axis with `one_x`, and the vertical one with `one_y`. The numbers of
    an axis that they share stand at the foot alone, or with `every_x` below each.
    """
    figure = Drawing(figsize=size, layout="constrained")
    rows: list[list[Axes]] = [[] for _ in range(rows_each)]
    made = Sheet(figure, rows, columns)
    for panel in range(count):
        band, column = divmod(panel, columns)
        for row in range(rows_each):
            first = made.panels[0] if made.panels else None
            axes = figure.add_subplot(
                math.ceil(count / columns) * rows_each,
                columns,
                (band * rows_each + row) * columns + column + 1,
                sharex=first if one_x else None,
                sharey=first if one_y else None,
            )
            below = every_x or not one_x or panel + columns >= count
            axes.tick_params(labelbottom=below and row == rows_each - 1, labelleft=column == 0)
            rows[row].append(axes)
    return made


def alone(size: tuple[float, float]) -> tuple[Drawing, Axes]:
    """A figure of `size` inches with a single panel."""
    made = sheet(size, 1, 1)
    return made.figure, made.panels[0]


def folded(parts: Sequence[str], letters: int) -> str:
    """A title of several parts in lines of so many letters.

    A no-break space keeps a key, the sign and the value together, where a line holds them.
    """
    whole = ", ".join(p.replace(" ", "\u00a0") if len(p) <= letters else p for p in parts)
    return textwrap.fill(whole, letters, break_long_words=False, break_on_hyphens=False)
