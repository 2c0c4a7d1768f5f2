"""Sequence number over time: what was sent and acknowledged, and where losses were repaired."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cclab import units
from cclab.drawing.legend import entry
from cclab.drawing.style import LOST
from cclab.report.figures.panels import draw_flows, finish, grid, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.report.figures.panels import Panel

TITLE = "Sequence number over time"
CAPTION = (
    "First unacknowledged byte as an offset from the first byte of data: the slope is the rate. "
    "Crosses mark lost segments where the study traces drops, or else each sample by which the "
    "flow had retransmitted something since the sample before. More than eight flows are shown "
    "as their median and bands of quantiles. Flows over UDP have no such numbers. First run of "
    "each sweep point."
)
NEEDS = "flows, and samples or acknowledgements of them"

OFFSET = "sequence number"
"""What is drawn of a flow."""

_CROSS: dict[str, Any] = {"linestyle": "none", "marker": "x", "color": LOST}
_MOST_MARKS = 400


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run recorded samples or acknowledgements of its flows."""
    # Datagrams have no sequence that is acknowledged.
    known = [_of_tcp(p) for p in panels(results) if _source(p) is not None]
    shown = [panel for panel in known if panel.flows]
    if not shown:
        return None
    rows = [p.rows(str(_source(p))) for p in shown]
    frames = [frame for own in rows for frame in own.values()]
    unit, name = units.size(
        max((float(np.max(f["snd_una_bytes"].to_numpy(), initial=0)) for f in frames), default=0.0)
    )
    sheet = grid(len(shown), height=2.6)
    marked = False
    for axes, panel, own in zip(sheet.panels, shown, rows, strict=True):
        courses = {
            flow: (frame["time_s"].to_numpy(), frame["snd_una_bytes"].to_numpy() / unit)
            for flow, frame in own.items()
        }
        draw_flows(axes, panel, courses, drawstyle="steps-post")
        marked |= _mark(axes, panel, unit)
    finish(
        sheet,
        shown,
        [f"{OFFSET} ({name})"],
        more=[entry("loss repaired", **_CROSS, markersize=4)] if marked else [],
    )
    return sheet.figure


def _of_tcp(panel: Panel) -> Panel:
    """The panel with its flows over TCP alone."""
    names = {flow["name"] for flow in panel.run.metrics["flows"] if flow["transport"] == "tcp"}
    return replace(panel, flows=[flow for flow in panel.flows if flow.name in names])


def _source(panel: Panel) -> str | None:
    """Acknowledgements where they were traced from beginning to end, else samples."""
    events = ("acks",) if _whole(panel) else ()
    return next((t for t in (*events, "flow_samples") if panel.run.records(t)), None)


def _whole(panel: Panel) -> bool:
    """Whether the events that were traced, if any, cover the whole run."""
    traced = panel.run.run.scenario["trace"]
    return traced["from"] == 0 and traced["until"] is None


def _mark(axes: Axes, panel: Panel, unit: float) -> bool:
    """Crosses at losses or retransmissions; whether there are any."""
    if panel.crowded:
        return False
    marks = _losses(panel)
    if marks.is_empty():
        return False
    if len(marks) > _MOST_MARKS:
        marks = marks.gather_every(-(-len(marks) // _MOST_MARKS))
    axes.plot(
        marks["time_s"].to_numpy(),
        marks["offset_bytes"].to_numpy() / unit,
        **_CROSS,
        markersize=3.6,
        markeredgewidth=0.8,
        zorder=4,
    )
    return True


def _losses(panel: Panel) -> pl.DataFrame:
    """Time and offset of each loss, or of each sample that saw new retransmissions."""
    if _whole(panel) and panel.run.records("drops"):
        names = [flow.name for flow in panel.flows]
        drops = panel.run.table("drops").filter(pl.col("flow").is_in(names))
        return drops.select("time_s", "offset_bytes")
    if not panel.run.records("flow_samples"):
        return pl.DataFrame({"time_s": [], "offset_bytes": []})
    samples = panel.run.table("flow_samples").sort("flow", "time_s")
    repaired = pl.col("retransmits").cast(pl.Int64).diff().over("flow") > 0
    return samples.filter(repaired).select("time_s", pl.col("snd_una_bytes").alias("offset_bytes"))
