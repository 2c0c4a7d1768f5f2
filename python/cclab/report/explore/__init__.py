"""The page to explore a sweep: every run is a point, every point has its time series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import pages
from cclab.report.explore import course, runs, series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.measure.results import Results


def html(results: Results, wanted: Sequence[str] = ()) -> str:
    """The whole page, with the time series of the runs whose ids begin with one of `wanted`.

    Equal results give equal pages. Raises `InputError` if one of `wanted` matches no run or
    several.
    """
    shown = runs.chosen(results, wanted)
    kept = series.chosen(shown, wanted)
    steps = series.steps(shown, kept)
    table = runs.table(results.plan, shown, series.of(shown, kept, steps))
    return pages.render(
        __name__,
        "page.html.j2",
        plan=results.plan,
        shown=len(shown),
        total=len(results.runs),
        with_series=len(table["series"]),
        steps=steps,
        most_flows=course.MOST_FLOWS,
        data=table,
        programs=("runs.js", "selection.js", "scatter.js", "course.js", "panel.js", "timeline.js", "opened.js", "page.js"),
    )
