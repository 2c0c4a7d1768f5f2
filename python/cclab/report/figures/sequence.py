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
    from collections.abc import Collection

    from matplotlib.axes import Axes

    from cclab.drawing.style import Drawing
    from cclab.measure.points import Measured
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

LOSS = "loss repaired"
_CROSS: dict[str, Any] = {"linestyle": "none", "marker": "x", "color": LOST}
"""What a cross says, and how it is drawn."""

MOST_CROSSES = 400
"""Crosses in a panel; of more losses, those that are evenly chosen have one."""


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
        more=[entry(LOSS, **_CROSS, markersize=4)] if marked else [],
    )
    return sheet.figure


def _of_tcp(panel: Panel) -> Panel:
    """The panel with its flows over TCP alone."""
    names = {flow["name"] for flow in panel.run.metrics["flows"] if flow["transport"] == "tcp"}
    return replace(panel, flows=[flow for flow in panel.flows if flow.name in names])


def _source(panel: Panel) -> str | None:
    """Acknowledgements where they were traced from beginning to end, else samples."""
    events = ("acks",) if is_traced_whole(panel.run) else ()
    return next((t for t in (*events, "flow_samples") if panel.run.records(t)), None)


def is_traced_whole(run: Measured) -> bool:
    """Whether the events that were traced, if any, cover the whole run."""
    traced = run.run.scenario["trace"]
    return traced["from"] == 0 and traced["until"] is None


def _mark(axes: Axes, panel: Panel, unit: float) -> bool:
    """Crosses at losses or retransmissions; whether there are any."""
    if panel.crowded:
        return False
    names = [flow.name for flow in panel.flows]
    marks = losses(*_told(panel), names)
    if marks.is_empty():
        return False
    axes.plot(
        marks["time_s"].to_numpy(),
        marks["offset_bytes"].to_numpy() / unit,
        **_CROSS,
        markersize=3.6,
        markeredgewidth=0.8,
        zorder=4,
    )
    return True


def _told(panel: Panel) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
    """The drops and the samples of the run of a panel, where they were recorded."""
    drops, samples = (
        panel.run.table(table) if panel.run.records(table) else None
        for table in ("drops", "flow_samples")
    )
    return drops if is_traced_whole(panel.run) else None, samples


def losses(
    drops: pl.DataFrame | None,
    samples: pl.DataFrame | None,
    flows: Collection[str] | Collection[float],
    time: str = "time_s",
) -> pl.DataFrame:
    """Flow, `time` and offset of each loss of the `flows`, of `MOST_CROSSES` at most.

    Where the `drops` of the whole run are unknown, a loss is a sample that saw new retransmissions.
    """
    offset = "offset_bytes"
    columns = ["flow", time, offset]
    if drops is not None:
        lost = drops.filter(pl.col("flow").is_in(list(flows))).select(columns)
    elif samples is not None:
        of_flows = samples.filter(pl.col("flow").is_in(list(flows))).sort("flow", time)
        repaired = pl.col("retransmits").cast(pl.Int64).diff().over("flow") > 0
        renamed = of_flows.filter(repaired).rename({"snd_una_bytes": offset})
        lost = renamed.select(columns)
    else:
        return pl.DataFrame({column: [] for column in columns})
    return lost.gather_every(max(1, -(-len(lost) // MOST_CROSSES)))
