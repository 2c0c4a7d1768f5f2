"""Goodput of each flow at each sweep point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import units
from cclab.drawing import legend
from cclab.drawing.marks import ALONE_PT, cap_pt, highest, lowest, mark, size_pt, whisker
from cclab.drawing.palette import Looks, lent
from cclab.measure.numbers import stem
from cclab.report.figures import expectation
from cclab.report.figures.asked import OF_VARIANTS, at_most
from cclab.report.figures.sweep import layout
from cclab.report.quantities import named
from cclab.report.swept import beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cclab.drawing.palette import Look
    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate
    from cclab.measure.summary import PointSummary
    from cclab.report.figures.sweep import Layout, Place

TITLE = "Goodput by sweep point"
CAPTION = (
    "Mean over the runs of each sweep point; whiskers are 95% bootstrap intervals over runs. Where "
    "there is room the mean and half its interval are written there. "
    "Colour shows the variant at the point. Flows of one variant differ in shade and marker, or "
    "in colour where no other variant is drawn; so does one flow beside different variants. A "
    "bar in grey is the closed-form expectation of a flow that "
    f"{expectation.WHAT_BINDS} binds (`cclab explain`); an arrow in its place says that it is far "
    "above all that was measured."
)

MOST_FLOWS = 8

MOST_MARKS = 16
"""At one place of the axis; more cannot be told apart."""

_SIZE_PT = 7.0
_LETTER_IN = 0.64 * _SIZE_PT / 72
"""Of a number above a mark, and the width of its letters."""

NEEDS = f"a sweep of two points or more, with 1 to {MOST_FLOWS} flows at each"


def draw(results: Results) -> Drawing | None:
    """The figure; None without a sweep or flows, or with more flows than markers can show.

    Raises `TooMuchError` if a place of the axis would have more than `MOST_MARKS`.
    """
    placed = layout(results)
    if placed is None:
        return None
    summaries = {p.point.index: results.summary_of(p.point) for p in placed.places}
    flows = max(len(s.flows) for s in summaries.values())
    if not 0 < flows <= MOST_FLOWS:
        return None
    series = list(dict.fromkeys(p.series for p in placed.places))
    lanes = flows * len(series)
    would = "{} marks would stand over each place of its axis"
    at_most(MOST_MARKS, lanes, would, "told apart", OF_VARIANTS)
    expected = {p.point.index: expectation.expected_bps(p.point.runs[0].run) for p in placed.places}
    values = [e for s in summaries.values() for f in s.flows if (e := f.estimate("goodput_bps"))]
    top = expectation.top(
        [highest(e) for e in values], [bps for of in expected.values() for bps in of.values()]
    )
    unit, name = units.rate(top)
    sheet = placed.frame(f"goodput ({name})", lanes)
    step = min(0.3, 0.7 / max(lanes, 1))
    room = placed.room(lanes, step)
    letters = max((len(row) for e in values for row in _number(e, unit)), default=0)
    numbered = room >= (letters + 0.5) * _LETTER_IN
    looks = _looks(placed, summaries, flows)
    barred: set[str] = set()
    for place in placed.places:
        expectations = expected[place.point.index]
        summary = summaries[place.point.index]
        for index, flow in enumerate(summary.flows):
            style = looks[_label(placed, place, summary, index)]
            value = flow.estimate("goodput_bps")
            if value is None:
                continue
            lane = series.index(place.series) * flows + index
            x = place.slot + (lane - (lanes - 1) / 2) * step
            axes = sheet.panels[place.panel]
            _draw(axes, x, value, unit, style, room)
            if numbered:
                above = expectations.get(flow.name, 0.0) < value.mean or value.mean < 0.25 * top
                end = highest(value) if above else lowest(value)
                _write(axes, (x, end / unit), _number(value, unit), style, above=above)
            if flow.name in expectations:
                height = expectations[flow.name] / unit
                half = min(max(0.6 * step, 0.06), 0.1)
                barred.add(expectation.drawn(axes, x, half, height, top / unit))
    sheet.panels[0].set_ylim(0, (1.25 if numbered else 1.08) * (top or 1.0) / unit)
    handles = [
        legend.entry(label, linestyle="none", color=look.colour, marker=look.marker, markersize=5)
        for label, look in looks.items()
    ]
    legend.above(sheet.figure, handles + expectation.handles(barred))
    return sheet.figure


def _looks(placed: Layout, summaries: dict[int, PointSummary], flows: int) -> dict[str, Look]:
    """The look of each mark by its label: if possible, the first flow has the plain look of its
    variant.

    Looks are assigned flow by flow: point by point, a flow could be light for one variant and dark
    for another.
    """
    given = Looks(lent([{flow.kind for s in summaries.values() for flow in s.flows}]))
    looks: dict[str, Look] = {}
    for index in range(flows):
        for place in placed.places:
            summary = summaries[place.point.index]
            if index < len(summary.flows):
                label = _label(placed, place, summary, index)
                looks[label] = given.of(label, summary.flows[index].kind)
    return looks


def _label(placed: Layout, place: Place, summary: PointSummary, index: int) -> str:
    """What a mark stands for: the flow, its variant, and the others' where those share a place."""
    flow = summary.flows[index]
    own = named(flow.name if len(summary.flows) > 1 else "", flow.kind)
    name = stem(flow.name, [other.name for other in summary.flows])
    return beside(own, name, placed.apart, place.point.params)


def _draw(axes: Axes, x: float, value: Estimate, unit: float, style: Look, room: float) -> None:
    """The mark, and its interval with caps as wide as there is `room` for, in inches."""
    whisker(axes, x, value, unit, cap_pt(room), color=style.colour)
    mark(axes, x, value.mean / unit, style, size_pt(value))


def _number(value: Estimate, unit: float) -> list[str]:
    """The lines of a number as tables have it: the mean, and half its interval."""
    half = value.half_width
    told = units.told(value.mean / unit, None if half is None else half / unit)
    return told.replace(" ±", "\n±").split("\n")


def _write(
    axes: Axes, at: tuple[float, float], lines: list[str], style: Look, *, above: bool
) -> None:
    """Writes lines at a place, `above` it or below: many an interval is shorter than its mark."""
    axes.annotate(
        "\n".join(lines),
        at,
        xytext=(0, ALONE_PT if above else -ALONE_PT),
        textcoords="offset points",
        ha="center",
        va="bottom" if above else "top",
        fontsize=_SIZE_PT,
        color=style.colour,
        # Lines of the grid end beside it.
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
    )
