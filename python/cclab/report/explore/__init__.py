"""The page to explore a sweep: every run is a point, every point has its time series."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING

from cclab import pages
from cclab.report.explore import course, runs, series
from cclab.report.figures import sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cclab.measure.points import Measured
    from cclab.measure.results import Results
    from cclab.report.explore.document import SweepPage


_PROGRAMS = (
    "runs.js",
    "selection.js",
    "scatter.js",
    "course.js",
    "phases.js",
    "over.js",
    "panel.js",
    "shares.js",
    "timeline.js",
    "opened.js",
    "page.js",
)

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def run_called(results: Results, beginning: str) -> Measured:
    """The run whose id begins so. Raises `InputError` if there is none, or several."""
    every = [(point, run) for point in results.points for run in point.runs]
    return runs.begins(every, beginning)[1]


def with_series(html: str) -> set[str]:
    """The ids of the runs that a page has the time series of."""
    written = _DATA.search(html)
    assert written is not None, "it is such a page"
    data: SweepPage = json.loads(written[1])
    return {data["ids"][int(place)] for place in data["series"]}


def html(results: Results, wanted: Sequence[str] = ()) -> str:
    """The whole page, with the time series of the runs whose ids begin with one of `wanted`.

    Equal results give equal pages. Raises `InputError` if one of `wanted` matches no run or
    several.
    """
    with begun(results, wanted) as page:
        return page()


@contextlib.contextmanager
def begun(results: Results, wanted: Sequence[str] = ()) -> Iterator[Callable[[], str]]:
    """As `html`, of which the time series are begun with meanwhile: what it gives makes the page of
    them."""
    shown = runs.chosen(results, wanted)
    kept = series.chosen(shown, wanted)
    steps = series.steps(shown, kept)
    with series.begun(shown, kept, steps) as courses:

        def page() -> str:
            names, left_out = runs.metric_names(shown)
            table = runs.table(results.plan, shown, names, *courses())
            return pages.render(
                __name__,
                "page.html.j2",
                plan=results.plan,
                shown=len(shown),
                total=len(results.runs),
                with_series=len(table["series"]),
                left_out=left_out,
                steps=steps,
                most_flows=course.MOST_FLOWS,
                most_crosses=sequence.MOST_CROSSES,
                data=table,
                programs=_PROGRAMS,
            )

        yield page
