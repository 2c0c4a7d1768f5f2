"""Figures over time: a sampled quantity of each flow, one panel per sweep point, first seed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cclab.drawing.legend import above, entry
from cclab.drawing.marks import line
from cclab.drawing.sheet import folded
from cclab.errors import StudyError
from cclab.plan import in_words, text
from cclab.quantities import expressions, points
from cclab.report.figures.panels import flow_lines, grid, thinned

if TYPE_CHECKING:
    from cclab.drawing.style import Drawing
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
    lines = flow_lines([p.flows for p in chosen])
    sheet = grid(len(chosen), height=2.0)
    varying = [k for k in chosen[0].params if len({text(p.params[k]) for p in chosen}) > 1]
    shown: dict[str, FlowLine] = {}
    ends = [0.0]
    for axes, point, flows in zip(sheet.panels, chosen, lines, strict=True):
        title = folded(in_words({k: point.params[k] for k in varying}), _TITLE_WIDTH)
        axes.set_title(title, fontsize=7.5)
        wanted = {name for pattern in figure.flows for name in points.flows(point, pattern)}
        for flow in (flow for flow in flows if flow.name in wanted):
            frame = _samples(point, flow, figure.until)
            if not frame.height:
                continue
            x, y = frame["time_s"].to_numpy(), _values(figure.y, frame)
            line(axes, *thinned(x, y), flow.style, flow.nth)
            shown.setdefault(flow.label, flow)
            ends.append(float(x[-1]))
    sheet.label("time (s)", figure.ylabel)
    sheet.panels[0].set_xlim(0, figure.until or max(ends))
    sheet.panels[0].set_ylim(bottom=0)
    above(sheet.figure, [entry(label, flow.style) for label, flow in shown.items()])
    return sheet.figure


def _has_samples(point: Point) -> bool:
    return point.runs[0].records("flow_samples")


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
