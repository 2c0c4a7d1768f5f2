"""What a terminal is told of results: the report keeps it, so that it is there without them.

DIR/report/told.json    as `Told` has it; the report's stamp has its digest, as of any other file
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from cclab.late import late
from cclab.tabular import Table  # noqa: TC001 (msgspec reads the annotations)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.measure import expect
    from cclab.measure.expect import Outcome
    from cclab.measure.results import Results
    from cclab.report import tables
else:
    expect = late("cclab.measure.expect")
    tables = late("cclab.report.tables")

FILE = "told.json"
"""Where it is, in the folder of the report."""


@dataclass(frozen=True)
class Doubt:
    """A doubt about the results, and what would settle it."""

    code: str
    message: str
    extent: str
    """How many more sweep points or runs it concerns, in words; empty for a single one."""
    remedy: str


@dataclass(frozen=True)
class Unmet:
    """An expectation that some sweep points do not meet."""

    label: str
    worst: list[str]
    """Those points that are furthest from it, each in a line."""
    others: int
    """How many more there are."""


@dataclass(frozen=True)
class Undecided:
    """An expectation that is met where the runs do not decide it."""

    first: str
    """The first of those sweep points, in a line."""
    others: int
    """How many more there are."""


@dataclass(frozen=True)
class Told:
    """Tables of results, up to `tables.MOST_POINTS` sweep points, and what is said beside them."""

    title: str
    groups: Table | None
    """The table of groups of flows; None without any."""
    flows: Table
    every: Table | None
    """That of flows with a row for each; None if `flows` is that."""
    beside: list[tuple[str, Table]]
    """The tables that stand after that of the flows, with their titles."""
    floods: str
    window: str
    beyond: str
    """Notes on the tables, each empty where there is nothing to say."""
    doubts: list[Doubt]
    unmet: list[Unmet]
    undecided: list[Undecided]

    @classmethod
    def of(cls, results: Results) -> Told:
        """What there is to tell of `results`."""
        most = tables.MOST_POINTS
        return cls(
            title=results.plan.title,
            groups=tables.groups(results, most),
            flows=tables.table(results, most),
            every=tables.table(results, most, every=True) if tables.folds(results) else None,
            beside=tables.beside(results, most),
            floods=tables.floods(results),
            window=tables.window(results),
            beyond=tables.beyond(results),
            doubts=[Doubt(w.code, w.message, w.extent, w.remedy) for w in results.warnings],
            unmet=[
                Unmet(unmet.expectation.label, list(map(str, unmet.worst)), len(unmet.others))
                for unmet in expect.unmet(results.failures)
            ],
            undecided=_undecided(results.outcomes),
        )

    @classmethod
    def read(cls, kept: bytes) -> Told:
        """What `kept`, a file as `text` makes it, says. Raises `ValueError` if it is none."""
        return msgspec.json.decode(kept, type=cls)

    def text(self) -> bytes:
        """The content of `FILE`."""
        return msgspec.json.encode(self) + b"\n"


def _undecided(outcomes: Sequence[Outcome]) -> list[Undecided]:
    """The expectations that are met, and that the runs at hand do not decide."""
    open_ = [outcome for outcome in outcomes if outcome.met and outcome.finding == "open"]
    each = [list(points) for _, points in groupby(open_, lambda outcome: outcome.expectation)]
    return [Undecided(str(first), len(others)) for first, *others in each]
