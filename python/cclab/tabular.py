"""Tables of text, which terminals, pages and files show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Table:
    """Cells of text under headings."""

    headings: list[str]
    numeric: list[bool]
    """Whether a column holds numbers, which align to the right."""
    groups: list[list[list[str]]]
    """The rows of each sweep point: its values stand in the first."""
    keys: int
    """Columns on the left that name the sweep point."""
    of_point: int
    """Columns on the right that belong to the sweep point or to a direction, not to a flow: only
    its first row has them."""

    def folded(self, fits: Callable[[Table], bool]) -> list[Table]:
        """The table itself if it fits; else several tables that share its columns.

        Each names the sweep point, and the flow where rows are flows. A table that does not fit
        even with one column beside the names stays whole.
        """
        if fits(self):
            return [self]
        flows, points = self.split()
        of_points = points._packed(self.keys, fits) if self.of_point else []
        return [*flows._packed(self.keys + 1, fits), *of_points]

    def _packed(self, names: int, fits: Callable[[Table], bool]) -> list[Table]:
        """As few tables as fit, each with the first `names` columns and the next of the others."""
        packed: list[Table] = []
        taken: list[int] = []
        for column in range(names, len(self.headings)):
            if taken and not fits(self._of([*range(names), *taken, column])):
                packed.append(self._of([*range(names), *taken]))
                taken = []
            taken.append(column)
        return [*packed, self._of([*range(names), *taken])]

    def _of(self, columns: list[int]) -> Table:
        """Some of the columns, by number."""
        return Table(
            [self.headings[c] for c in columns],
            [self.numeric[c] for c in columns],
            [[[row[c] for c in columns] for row in group] for group in self.groups],
            self.keys,
            sum(c >= len(self.headings) - self.of_point for c in columns),
        )

    def split(self) -> tuple[Table, Table]:
        """The columns of flows, and those of sweep points: two narrower tables."""
        last = len(self.headings) - self.of_point
        flows = Table(
            self.headings[:last],
            self.numeric[:last],
            [[row[:last] for row in group] for group in self.groups],
            self.keys,
            0,
        )
        points = Table(
            self.headings[: self.keys] + self.headings[last:],
            self.numeric[: self.keys] + self.numeric[last:],
            [
                [row[: self.keys] + row[last:] for row in group if any(row[last:])]
                for group in self.groups
                if group
            ],
            self.keys,
            self.of_point,
        )
        return flows, points
