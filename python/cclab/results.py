"""Results as users of Python have them: what was measured, which shows itself."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.late import late
from cclab.measure import results as measured
from cclab.plan import text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from cclab.drawing.style import Drawing
    from cclab.plan import Plan
    from cclab.report import figures, opened, page, tables
    from cclab.store import Store
else:
    figures = late("cclab.report.figures")
    opened = late("cclab.report.opened")
    page = late("cclab.report.page")
    tables = late("cclab.report.tables")


@dataclass(frozen=True, repr=False)
class Results(measured.Results):
    """The metrics of every run of a plan, and what follows from them.

    Shows itself as a table.
    """

    @classmethod
    def of(cls, store: Store, plan: Plan) -> Self:
        """The results of `plan` from the runs in `store`; see `measured.measure`."""
        plain = measured.measure(store, plan)
        return cls(plain.store, plain.plan, plain.points)

    def figure(
        self,
        name: str,
        *,
        metric: str | Sequence[str] | None = None,
        axes: str | Sequence[str] | None = None,
        where: Mapping[str, object] | None = None,
        set: str | Sequence[str] | Mapping[str, object] = (),
    ) -> Drawing:
        """A figure by its name, such as `goodput`, `matrix` or `cwnd`: docs/figures.md has all.

        `metric` and `axes` are what figures over a sweep draw and the swept keys that they draw
        it over, as a list or in one text with commas; what is left out is inferred. `where`
        keeps, of some swept keys, one value or a list of them. `set` says how it shall look:
        `{"width": 7, "ylim": (0, 50)}`.

        Raises `InputError` if there is no such figure, metric, key or value, or these results have
        nothing to show in it or too much to be read.
        """
        if where is not None and not isinstance(where, Mapping):
            raise InputError(f"where={where!r}: a dict such as {{'flow.rtt': '20ms'}} is meant")
        kept = tuple(
            (key, tuple(text(v) for v in (value if isinstance(value, list | tuple) else [value])))
            for key, value in (where or {}).items()
        )
        asked = figures.Asked(_listed(metric), _listed(axes), kept)
        return figures.asked_for(self, name, asked, figures.set_by(set))

    def show(self, run: str | None = None, beside: str | None = None, *, open: bool = True) -> str:
        """Opens the page of these runs over time: at `run`, or with the run `beside` next to it,
        each given by its id or how that begins; and gives where the page is.

        The report is written first if there is none of these results. Without `open`, the page is
        not opened. What a reader would miss, as that there is no browser, is warned of.

        Raises `InputError` if there are no such runs, and `StoreError` if the page cannot be
        written.
        """
        notes: list[str] = []
        place = opened.show(self, run, beside, notes.append, opens=open)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return place

    def __repr__(self) -> str:
        """The table as text."""
        return tables.plain(self)

    def _repr_html_(self) -> str:
        return page.fragment(self)


def _listed(asked: str | Sequence[str] | None) -> tuple[str, ...]:
    """What was asked for, one by one."""
    names = asked.split(",") if isinstance(asked, str) else asked or ()
    return tuple(name.strip() for name in names if name.strip())
