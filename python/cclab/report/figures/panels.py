"""The frame that the figures over time share: one panel per sweep point, axes in common."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.ticker import FuncFormatter

from cclab import units
from cclab.drawing.legend import above, entry
from cclab.drawing.marks import line, note, remark
from cclab.drawing.palette import Looks, apart, lent, look
from cclab.drawing.sheet import folded, sheet
from cclab.drawing.style import MUTED
from cclab.drawing.thin import extremes
from cclab.measure.numbers import stem
from cclab.metrics import kind
from cclab.plan import in_words, text
from cclab.report.figures import bands
from cclab.report.quantities import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from cclab.drawing.palette import Look
    from cclab.drawing.sheet import Sheet
    from cclab.drawing.style import Drawing
    from cclab.measure.points import Measured
    from cclab.measure.results import Results

MOST_PANELS = 6
"""More sweep points than this do not fit on a page; the first ones are shown."""

MOST_LINES = 8
"""More flows than this in a panel are drawn as bands of quantiles, one for each group of them."""

_POINTS_PER_LINE = 1200
_COLUMNS = 3
_TITLE_WIDTH = 34
_LINE_PT, _EDGE_PT = 0.9, 1.5
"""The width of the uppermost of lines that lie on each other, and by how much those below it are
wider."""
_ON_EACH_OTHER = 0.03
"""Lines that are nearer than this part of the panel's height hide each other."""
_APART = 4.0
"""Largest over smallest panel from which each has a span of its own."""


Course = tuple[np.ndarray, np.ndarray]
"""Times in seconds, and what a flow had at them."""


@dataclass(frozen=True)
class FlowLine:
    """A flow in a panel: its name and the look that it has in every panel of the figure."""

    name: str
    label: str
    style: Look
    nth: int


@dataclass(frozen=True)
class Group:
    """Flows that a crowded panel shows as one band."""

    label: str
    style: Look
    names: tuple[str, ...]


@dataclass(frozen=True)
class Panel:
    """A sweep point in a figure over time, shown by the first of its runs."""

    title: str
    """The swept keys in which the panels differ."""
    params: dict[str, Any]
    run: Measured
    flows: list[FlowLine]
    groups: list[Group]
    """Its flows, if there are too many to tell each apart; empty if not."""

    @cached_property
    def _spans(self) -> dict[str, tuple[float | None, float | None]]:
        flows = self.run.table("flows")
        spans = zip(flows["started_s"], flows["ended_s"], strict=True)
        return dict(zip(flows["name"], spans, strict=True))

    def span(self, flow: str) -> tuple[float, float]:
        """When a flow began and ended: never began, then at no time; not ended, then for ever."""
        start, end = self._spans[flow]
        return math.inf if start is None else start, math.inf if end is None else end

    def rows(self, table: str) -> dict[str, pl.DataFrame]:
        """The rows of `table` of each flow that has some, in the order of time.

        Those of a flow that has not begun or is over are left out: they are its first state or its
        last.
        """
        whole = self.run.table(table).sort("time_s", maintain_order=True)
        by_flow = {
            str(name): rows for (name,), rows in whole.partition_by("flow", as_dict=True).items()
        }
        spans = {flow.name: self.span(flow.name) for flow in self.flows if flow.name in by_flow}
        return {
            name: by_flow[name].filter(pl.col("time_s").is_between(*spans[name])) for name in spans
        }

    @property
    def end_s(self) -> float:
        """When the run ended."""
        return self.run.trace.end_s

    @property
    def crowded(self) -> bool:
        """Whether there are too many flows to tell each apart."""
        return bool(self.groups)


def panels(results: Results) -> list[Panel]:
    """The first run of each of the first sweep points."""
    shown = [point for point in results.points if point.runs][:MOST_PANELS]
    keys = results.plan.points[0].params
    varying = [key for key in keys if len({text(p.params[key]) for p in shown}) > 1]
    together = [p.flows for p in shown]
    lines = flow_lines(together)
    return [
        Panel(
            folded(in_words({k: point.params[k] for k in varying} or point.params), _TITLE_WIDTH),
            point.params,
            point.runs[0],
            own,
            groups_of(flows) if len(flows) > MOST_LINES else [],
        )
        for point, own, flows in zip(shown, lines, together, strict=True)
    ]


def flow_lines(together: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[FlowLine]]:
    """The flows of each panel, from their metrics, with their looks in the figure of all panels."""
    ranks = flow_ranks((flow["name"], kind(flow)) for own in together for flow in own)
    hues = lent(map(kind, own) for own in together)
    firsts = apart(kind(flow) for own in together for flow in own)

    def drawn(name: str, variant: str) -> FlowLine:
        nth = ranks[name, variant]
        style = look(variant, nth, hues, firsts[variant])
        return FlowLine(name, named(name, variant), style, nth)

    return [[drawn(flow["name"], kind(flow)) for flow in own] for own in together]


def groups_of(flows: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The groups of the flows of a crowded panel; by variant, if they are too many as well."""
    names = [flow["name"] for flow in flows]

    def by_group(flow: Mapping[str, Any]) -> tuple[str, str]:
        own = flow.get("group") or stem(flow["name"], names)
        return ("" if own == flow["name"] else own), kind(flow)

    def by_variant(flow: Mapping[str, Any]) -> tuple[str, str]:
        return "", kind(flow)

    members: dict[tuple[str, str], list[str]] = {}
    for key in (by_group, by_variant):
        members.clear()
        for flow in flows:
            members.setdefault(key(flow), []).append(flow["name"])
        if len(members) <= MOST_LINES:
            break
    looks = Looks(lent([[variant for _, variant in members]]))
    labels = {key: named(*key, len(own)) for key, own in members.items()}
    return [
        Group(labels[key], looks.of(labels[key], key[1]), tuple(own))
        for key, own in members.items()
    ]


def _common(shown: Sequence[Panel]) -> str:
    """The swept keys that have one value in all panels, in words."""
    if len(shown) < 2:
        return ""
    same = {k: v for k, v in shown[0].params.items() if all(p.params[k] == v for p in shown)}
    return ", ".join(in_words(same))


def flow_ranks(flows: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Numbers the flows of each variant, given as pairs of name and variant.

    A flow that occurs at several sweep points with one variant has one number, and so one look.
    """
    members: dict[str, list[str]] = {}
    for name, variant in flows:
        names = members.setdefault(variant, [])
        if name not in names:
            names.append(name)
    return {(n, v): rank for v, names in members.items() for rank, n in enumerate(names)}


def panels_across(count: int) -> int:
    """Panels side by side: four make a square, not a row of three and one over."""
    return 2 if count == 4 else min(count, _COLUMNS)


def grid(count: int, rows_each: int = 1, height: float = 2.1, columns: int | None = None) -> Sheet:
    """A figure of `count` panels of `rows_each` stacked axes.

    `columns` of them side by side, else as many as `panels_across` says.

    All axes share x. `finish` gives the same row of each panel one span, so that sweep points
    compare by eye, unless the smaller could not be read then.
    """
    columns = columns or panels_across(count)
    bands = math.ceil(count / columns)
    width = 5.6 if columns == 1 else 3.5 * columns if columns == 2 else 2.75 * columns
    size = (width, height * bands * rows_each + 0.2)
    return sheet(size, count, columns, rows_each=rows_each, one_y=False, every_x=True)


def finish(
    made: Sheet,
    shown: Sequence[Panel],
    labels: Sequence[str],
    *,
    legend: bool = True,
    more: Sequence[Artist] = (),
    headroom: float = 1.05,
    across: str = "",
) -> Drawing:
    """Titles, labels, spans, and the legend of the flows, with `more` entries.

    The horizontal axis is that of time unless it is called otherwise, `across`.

    Above the largest value of an axis there is room up to `headroom` times it.
    """
    figure, cells, columns = made.figure, made.rows, made.columns
    end = max(panel.end_s for panel in shown)
    unit, name = units.time(end)
    for index, panel in enumerate(shown):
        if len(shown) > 1:
            cells[0][index].set_title(panel.title, fontsize=8.5 if columns < _COLUMNS else 7)
        cells[-1][index].set_xlabel(across or f"time ({name})")
        if index % columns == 0:
            for row, label in enumerate(labels):
                cells[row][index].set_ylabel(label)
    if legend:
        above(figure, [*legend_handles(shown), *more])
    for alike in cells:
        _span(alike, headroom)
    common = _common(shown)
    if common:
        note(figure, common)
    figure.lower = [axes for row in cells[1:] for axes in row]
    if not across:
        cells[0][0].set_xlim(0, end)
        if unit != 1.0:
            figure.time_unit = unit
            cells[0][0].xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at / unit:g}"))
    figure.align_ylabels()
    return figure


def _span(alike: Sequence[Axes], headroom: float) -> None:
    """Spans from 0 up: one for all, or their own where the smallest would be a line at the foot."""
    tops = [float(axes.dataLim.ymax) for axes in alike]
    known = [top for top in tops if math.isfinite(top) and top > 0]
    largest = max(known, default=1.0)
    own = largest > _APART * min(known, default=largest)
    for axes, top in zip(alike, tops, strict=True):
        axes.set_ylim(0, headroom * (top if own and top in known else largest))
        if own:
            axes.tick_params(labelleft=True)


def legend_handles(shown: Sequence[Panel]) -> list[Artist]:
    """One entry for each flow and variant that occurs; one for each group in crowded panels."""
    entries: dict[str, Look] = {}
    for panel in shown:
        for told in panel.groups or panel.flows:
            entries.setdefault(told.label, told.style)
    handles: list[Artist] = [entry(label, style) for label, style in entries.items()]
    return handles + (bands.explanation() if any(panel.crowded for panel in shown) else [])


def draw_flows(
    axes: Axes,
    panel: Panel,
    courses: Mapping[str, Course],
    *,
    alike: bool = False,
    **more: Any,
) -> None:
    """The course of each flow as a line, with settings `more`; as bands where they crowd it.

    Courses that are `alike`, as those of what flows share, may lie on each other: there the lines
    below are wider and show on both sides.
    """
    for group in panel.groups:
        own = [courses[name] for name in group.names if name in courses]
        bands.draw(axes, own, group.style)
    if not panel.crowded:
        shown = [flow for flow in panel.flows if flow.name in courses]
        stacked = _stacked([courses[flow.name] for flow in shown]) if alike else {}
        for place, flow in enumerate(shown):
            above = stacked.get(place)
            wide = {} if above is None else {"linewidth": _LINE_PT + min(above, 3) * _EDGE_PT}
            line(axes, *thinned(*courses[flow.name]), flow.style, flow.nth, **wide | more)


def _stacked(courses: Sequence[Course]) -> dict[int, int]:
    """How many of the courses lie above each, later on the same place; without those alone."""
    top = max((float(np.nanmax(y)) for _, y in courses if np.isfinite(y).any()), default=0.0)
    stacked: dict[int, int] = {}
    for (low, course_below), (high, course_above) in itertools.combinations(enumerate(courses), 2):
        if _together(course_below, course_above, _ON_EACH_OTHER * top):
            stacked[low] = stacked.get(low, 0) + 1
            stacked.setdefault(high, 0)
    return stacked


def _together(course_a: Course, course_b: Course, within: float) -> bool:
    """Whether two courses are this near for half of the time that both last, or longer."""
    (x, y), (at, level) = ((x[np.isfinite(y)], y[np.isfinite(y)]) for x, y in (course_a, course_b))
    if not (len(x) and len(at)):
        return False
    both = x[(x >= at[0]) & (x <= at[-1])]
    apart = np.abs(np.interp(both, x, y) - np.interp(both, at, level))
    return len(both) > 0 and float(np.median(apart)) <= within


def reference(axes: Axes, level: float, text: str, *, below: bool = True) -> None:
    """A thin horizontal line with its meaning written below it, or above."""
    axes.axhline(level, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    remark(
        axes,
        text,
        (1.0, level),
        (-2, -2 if below else 2),
        xycoords=("axes fraction", "data"),
        va="top" if below else "bottom",
        # Lines of the grid end beside it.
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
    )


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As many points as a line of a panel can show."""
    return extremes(x, y, _POINTS_PER_LINE)
