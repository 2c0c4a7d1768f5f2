"""Congestion window and smoothed round-trip time over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cclab import units
from cclab.report.figures.panels import emphasis, finish, grid, lived, panels, thinned
from cclab.report.figures.style import line

if TYPE_CHECKING:
    from cclab.report.figures.panels import FlowLine, Panel
    from cclab.report.figures.style import Drawing
    from cclab.results import Results

TITLE = "Congestion window and smoothed RTT over time"
CAPTION = (
    "The sender's congestion window in segments, above, and its smoothed round-trip time, below. "
    "First run of each sweep point."
)
NEEDS = "flows, and samples of them"


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run recorded samples of its flows."""
    shown = [p for p in panels(results) if p.run.records("flow_samples")]
    if not shown:
        return None
    samples = [{flow.name: _samples(panel, flow) for flow in panel.flows} for panel in shown]
    slowest = max(
        (_largest(frame["srtt_s"]) for flows in samples for frame in flows.values()), default=0.0
    )
    unit, name = units.time(slowest)
    figure, cells = grid(len(shown), rows_each=2, height=1.75)
    for index, panel in enumerate(shown):
        for flow in panel.flows:
            frame = samples[index][flow.name]
            seconds = frame["time_s"].to_numpy()
            for row, column, scale in ((0, "cwnd_segments", 1.0), (1, "srtt_s", unit)):
                values = frame[column].to_numpy() / scale
                line(
                    cells[row][index],
                    *thinned(seconds, values),
                    flow.variant,
                    flow.nth,
                    **emphasis(panel),
                )
    return finish(figure, cells, shown, ["cwnd (segments)", f"srtt ({name})"])


def _samples(panel: Panel, flow: FlowLine) -> pl.DataFrame:
    frame = panel.run.table("flow_samples").filter(flow=flow.name).sort("time_s")
    frame = lived(panel, frame)
    flows = panel.run.table("flows").filter(name=flow.name)
    mss = flows["mss_bytes"].item()
    return frame.with_columns(
        (pl.col("cwnd_bytes") / max(mss, 1)).alias("cwnd_segments"),
        pl.col("srtt_s").cast(pl.Float64).fill_null(np.nan),
    )


def _largest(column: pl.Series) -> float:
    values = column.drop_nans().drop_nulls()
    return float(values.to_numpy().max()) if len(values) else 0.0
