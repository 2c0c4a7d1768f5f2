"""Congestion window and smoothed round-trip time over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cclab import units
from cclab.report.figures.panels import draw_flows, finish, grid, panels

if TYPE_CHECKING:
    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.report.figures.panels import Panel

TITLE = "Congestion window and smoothed RTT over time"
CAPTION = (
    "The sender's congestion window in segments, above, and its smoothed round-trip time, below. "
    "A line lasts as long as its flow. More than eight flows are shown as their median and bands "
    "of quantiles. First run of each sweep point."
)
NEEDS = "flows, and samples of them"

WINDOW, DELAY = "cwnd (segments)", "srtt"
"""What is drawn of a flow."""


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run recorded samples of its flows."""
    shown = [p for p in panels(results) if p.run.records("flow_samples")]
    if not shown:
        return None
    samples = [_samples(panel) for panel in shown]
    slowest = max(
        (_largest(frame["srtt_s"]) for flows in samples for frame in flows.values()), default=0.0
    )
    unit, name = units.time(slowest)
    sheet = grid(len(shown), rows_each=2, height=1.75)
    for index, panel in enumerate(shown):
        for row, column, scale in ((0, "cwnd_segments", 1.0), (1, "srtt_s", unit)):
            courses = {
                flow: (frame["time_s"].to_numpy(), frame[column].to_numpy() / scale)
                for flow, frame in samples[index].items()
            }
            draw_flows(sheet.rows[row][index], panel, courses, alike=row == 1)
    return finish(sheet, shown, [WINDOW, f"{DELAY} ({name})"])


def _samples(panel: Panel) -> dict[str, pl.DataFrame]:
    """The samples of each flow, its window in segments."""
    flows = panel.run.table("flows")
    mss = dict(zip(flows["name"], flows["mss_bytes"], strict=True))
    return {
        flow: frame.with_columns(
            # Datagrams have no segments, and their flows no window.
            (pl.col("cwnd_bytes") / (mss[flow] or np.nan)).alias("cwnd_segments"),
            pl.col("srtt_s").cast(pl.Float64).fill_null(np.nan),
        )
        for flow, frame in panel.rows("flow_samples").items()
    }


def _largest(column: pl.Series) -> float:
    values = column.drop_nans().drop_nulls()
    return float(values.to_numpy().max()) if len(values) else 0.0
