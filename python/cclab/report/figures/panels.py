"""The frame that the figures over time share: one panel per sweep point, axes in common."""

from __future__ import annotations

import itertools
import json
import math
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from cclab.metrics import kind
from cclab.plan import short_key, text
from cclab.report.figures.legend import above
from cclab.report.figures.style import MUTED, Drawing
from cclab.report.palette import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from cclab.results import Measured, Results

MOST_PANELS = 6
"""More sweep points than this do not fit on a page; the first ones are shown."""

MOST_LINES = 8
"""More flows than this in a panel are drawn thin, one legend entry per variant."""

_POINTS_PER_LINE = 1200
_COLUMNS = 3
_TITLE_WIDTH = 34
_APART = 4.0
"""Largest over smallest panel from which each has a span of its own."""


@dataclass(frozen=True)
class FlowLine:
    """A flow in a panel: its name and the look that it has in every panel of the figure."""

    name: str
    variant: str
    nth: int


@dataclass(frozen=True)
class Panel:
    """A sweep point in a figure over time, shown by the first of its runs."""

    title: str
    """The swept keys in which the panels differ."""
    params: dict[str, Any]
    run: Measured
    flows: list[FlowLine]

    @property
    def end_s(self) -> float:
        """When the run ended."""
        summary = json.loads(self.run.read(lambda entry: (entry / "summary.json").read_bytes()))
        return float(summary["end_ns"]) * 1e-9

    @property
    def crowded(self) -> bool:
        """Whether there are too many flows to tell each apart."""
        return len(self.flows) > MOST_LINES


def panels(results: Results) -> list[Panel]:
    """The first run of each of the first sweep points."""
    shown = [point for point in results.points if point.runs][:MOST_PANELS]
    keys = results.plan.points[0].params
    varying = [key for key in keys if len({text(p.params[key]) for p in shown}) > 1]
    ranks = flow_ranks([(f["name"], kind(f)) for p in shown for f in p.runs[0].metrics["flows"]])
    return [
        Panel(
            _title({key: point.params[key] for key in varying} or point.params),
            point.params,
            point.runs[0],
            [
                FlowLine(flow["name"], kind(flow), ranks[flow["name"], kind(flow)])
                for flow in point.runs[0].metrics["flows"]
            ],
        )
        for point in shown
    ]


def _common(shown: Sequence[Panel]) -> str:
    """The swept keys that have one value in all panels, in words."""
    if len(shown) < 2:
        return ""
    same = {k: v for k, v in shown[0].params.items() if all(p.params[k] == v for p in shown)}
    return ", ".join(f"{short_key(key)} = {text(value)}" for key, value in same.items())


def _title(params: dict[str, Any]) -> str:
    """Parameters in lines that fit over a panel, broken between them."""
    # A no-break space keeps a key, the sign and the value together.
    whole = ", ".join(f"{short_key(k)}\u00a0=\u00a0{text(v)}" for k, v in params.items())
    return textwrap.fill(whole, _TITLE_WIDTH, break_long_words=False, break_on_hyphens=False)


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


def grid(count: int, rows_each: int = 1, height: float = 2.1) -> tuple[Drawing, list[list[Axes]]]:
    """A figure of `count` panels of `rows_each` stacked axes; axes[row][panel].

    All axes share x. `finish` gives the same row of each panel one span, so that sweep points
    compare by eye, unless the smaller could not be read then.
    """
    columns = panels_across(count)
    bands = math.ceil(count / columns)
    width = 5.6 if columns == 1 else 3.5 * columns if columns == 2 else 2.75 * columns
    figure = Drawing(figsize=(width, height * bands * rows_each + 0.2), layout="constrained")
    cells: list[list[Axes]] = [[] for _ in range(rows_each)]
    for panel in range(count):
        band, column = divmod(panel, columns)
        for row in range(rows_each):
            shared_x = cells[0][0] if cells[0] else None
            place = (band * rows_each + row) * columns + column + 1
            axes = figure.add_subplot(bands * rows_each, columns, place, sharex=shared_x)
            axes.tick_params(labelbottom=row == rows_each - 1, labelleft=column == 0)
            cells[row].append(axes)
    return figure, cells


def finish(
    figure: Drawing,
    cells: list[list[Axes]],
    shown: Sequence[Panel],
    labels: Sequence[str],
    *,
    legend: bool = True,
    more: Sequence[Line2D] = (),
    headroom: float = 1.05,
) -> Drawing:
    """Titles, labels, spans, and the legend of the flows, with `more` entries.

    Above the largest value of an axis there is room up to `headroom` times it.
    """
    columns = panels_across(len(shown))
    for index, panel in enumerate(shown):
        if len(shown) > 1:
            cells[0][index].set_title(panel.title, fontsize=8.5 if columns < _COLUMNS else 7)
        cells[-1][index].set_xlabel("time (s)")
        if index % columns == 0:
            for row, label in enumerate(labels):
                cells[row][index].set_ylabel(label)
    if legend:
        above(figure, [*legend_handles(shown), *more])
    for alike in cells:
        _span(alike, headroom)
    common = _common(shown)
    if common:
        figure.supxlabel(common, x=0.01, ha="left", fontsize=7, color=MUTED)
    cells[0][0].set_xlim(0, max(panel.end_s for panel in shown))
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


def legend_handles(shown: Sequence[Panel]) -> list[Line2D]:
    """One entry for each flow and variant that occurs; one per variant in crowded panels."""
    entries: dict[str, FlowLine] = {}
    for panel in shown:
        sizes = Counter(f.variant for f in panel.flows)
        for flow in panel.flows:
            if panel.crowded:
                entries.setdefault(f"{flow.variant} ({sizes[flow.variant]} flows)", flow)
            else:
                entries.setdefault(f"{flow.name} ({flow.variant})", flow)
    handles = []
    for label, flow in entries.items():
        style = look(flow.variant, 0 if label.endswith("flows)") else flow.nth)
        handles.append(
            Line2D(
                [],
                [],
                color=style.colour,
                linestyle=style.dash,
                marker=style.marker,
                markersize=4,
                markeredgecolor="white",
                markeredgewidth=0.5,
                label=label,
            )
        )
    return handles


def emphasis(panel: Panel) -> dict[str, Any]:
    """How strongly the lines of a panel are drawn."""
    if panel.crowded:
        return {"linewidth": 0.5, "alpha": 0.55, "marker": "None", "linestyle": "solid"}
    return {}


def reference(axes: Axes, level: float, text: str) -> None:
    """A thin horizontal line with its meaning written on it."""
    axes.axhline(level, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    axes.annotate(
        text,
        xy=(1.0, level),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=7,
        color=MUTED,
    )


def lived(panel: Panel, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of the flow in `frame` up to its end: what is sampled later is its last state."""
    flows = panel.run.table("flows")
    ends = dict(zip(flows["name"], flows["ended_s"], strict=True))
    end = ends.get(frame["flow"].first()) if len(frame) else None
    return frame if end is None else frame.filter(pl.col("time_s") <= end)


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """About `_POINTS_PER_LINE` points: the smallest and the largest of each stretch."""
    if len(x) <= _POINTS_PER_LINE:
        return x, y
    edges = np.linspace(0, len(x), _POINTS_PER_LINE // 2 + 1).astype(int)
    keep: set[int] = {0, len(x) - 1}
    for start, stop in itertools.pairwise(edges):
        stretch = y[start:stop]
        if np.all(np.isnan(stretch)):
            continue
        keep.add(int(start + np.nanargmin(stretch)))
        keep.add(int(start + np.nanargmax(stretch)))
    chosen = np.array(sorted(keep))
    return x[chosen], y[chosen]
