"""The page to explore a sweep: every run is a point, every point has its time series."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from cclab import _core
from cclab.pages import interactive, template, uplot
from cclab.report.explore import runs, series

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
    table = runs.table(results.plan, shown, series.of(shown, kept))
    own = files(__name__)
    return template("page.html.j2", __name__).render(
        plan=results.plan,
        shown=len(shown),
        total=len(results.runs),
        with_series=len(table["series"]),
        steps=series.STEPS,
        most_flows=series.MOST_FLOWS,
        version=_core.VERSION,
        uplot=uplot.VERSION,
        uplot_css=uplot.style(),
        uplot_js=uplot.script(),
        css=Markup((own / "page.css").read_text("utf-8")),
        js=interactive.program(
            own, "runs.js", "selection.js", "scatter.js", "course.js", "page.js"
        ),
        data=interactive.embedded(table),
    )
