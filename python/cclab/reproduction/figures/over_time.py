"""Figures over time: a sampled quantity of each flow, one panel per sweep point, first seed."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from cclab.drawing.legend import above
from cclab.drawing.style import Drawing, line
from cclab.errors import StudyError
from cclab.plan import short_key, text
from cclab.report.figures.panels import flow_lines, grid, panels_across, thinned
from cclab.reproduction import expressions, points

if TYPE_CHECKING:
    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.report.figures.panels import FlowLine
    from cclab.reproduction.schema import FigureOf

MOST_PANELS = 12

_TITLE_WIDTH = 38


def draw(figure: FigureOf, results: Results) -> Drawing | None:
    """The figure; None if none of its points was run or none recorded samples."""
    chosen = [p for p in points.at(results.points, figure.at) if _has_samples(p)][:MOST_PANELS]
    if not chosen:
        return None
    lines = flow_lines([p.runs[0].metrics["flows"] for p in chosen])
    drawing, cells = grid(len(chosen), height=2.0)
    varying = [k for k in chosen[0].params if len({text(p.params[k]) for p in chosen}) > 1]
    columns = panels_across(len(chosen))
    shown: dict[str, FlowLine] = {}
    ends = [0.0]
    for index, (axes, point, flows) in enumerate(zip(cells[0], chosen, lines, strict=True)):
        axes.set_title(_title(point, varying), fontsize=7.5)
        wanted = {name for pattern in figure.flows for name in points.flows(point, pattern)}
        for flow in (flow for flow in flows if flow.name in wanted):
            frame = _samples(point, flow, figure.until)
            if not frame.height:
                continue
            x, y = frame["time_s"].to_numpy(), _values(figure.y, frame)
            line(axes, *thinned(x, y), flow.style, flow.nth)
            shown.setdefault(flow.label, flow)
            ends.append(float(x[-1]))
        if index % columns == 0:
            axes.set_ylabel(figure.ylabel)
        if index + columns >= len(chosen):
            axes.set_xlabel("time (s)")
            axes.tick_params(labelbottom=True)
    cells[0][0].set_xlim(0, figure.until or max(ends))
    cells[0][0].set_ylim(bottom=0)
    above(drawing, [_handle(label, flow) for label, flow in shown.items()])
    return drawing


def _has_samples(point: Point) -> bool:
    return point.runs[0].records("flow_samples")


def _title(point: Point, varying: list[str]) -> str:
    # A no-break space keeps a key, the sign and the value together.
    words = (f"{short_key(k)}\u00a0=\u00a0{text(point.params[k])}" for k in varying)
    return textwrap.fill(", ".join(words), _TITLE_WIDTH, break_long_words=False)


def _samples(point: Point, flow: FlowLine, until: float | None) -> pl.DataFrame:
    """The samples of a flow from its start on while it lasted, or until a time."""
    run = point.runs[0]
    frame = run.trace.samples_of(flow.name)
    started = run.table("flows").filter(name=flow.name)["started_s"].item()
    frame = frame.filter(pl.col("time_s") >= (math.inf if started is None else started))
    return frame if until is None else frame.filter(pl.col("time_s") <= until)


def _values(expression: str, frame: pl.DataFrame) -> np.ndarray:
    """An expression over columns of the samples, whose names may lack their unit."""
    columns: dict[str, Any] = {}
    for name, dtype in frame.schema.items():
        if dtype.is_numeric():
            column = frame[name].cast(pl.Float64).fill_null(math.nan).to_numpy()
            columns[name] = column
            columns[name.removesuffix("_bytes").removesuffix("_s").removesuffix("_bps")] = column
    try:
        return np.asarray(expressions.value(expression, columns), dtype=float)
    except expressions.ExpressionError as error:
        raise StudyError(f"{error}; samples have {', '.join(columns)}") from None


def _handle(label: str, flow: FlowLine) -> Line2D:
    style = flow.style
    return Line2D(
        [], [], color=style.colour, linestyle=style.dash, marker=style.marker, markersize=4,
        markeredgecolor="white", markeredgewidth=0.5, label=label,
    )  # fmt: skip
