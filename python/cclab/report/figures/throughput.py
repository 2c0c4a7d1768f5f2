"""Throughput over time: in-order bytes that reached the receiving application, per time bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cclab import units
from cclab.report.figures import expectation
from cclab.report.figures.panels import draw_flows, finish, grid, panels

if TYPE_CHECKING:
    from cclab.report.figures.panels import Course, Panel
    from cclab.report.figures.style import Drawing
    from cclab.results import Results

TITLE = "Throughput over time"
CAPTION = (
    "In-order bytes that reached the receiving application, per bin of a whole number of "
    "sampling intervals, as long as the flow lasts; more than eight flows are shown as their "
    "median and bands of quantiles. First run of each sweep point. A dashed line in grey is the "
    "closed-form expectation of a flow that a window, an application, a packet rate or random "
    "loss binds (`cclab explain`); an arrow in its place says that it is far above all that was "
    "measured."
)
NEEDS = "flows, and samples of them"

_BINS = 150


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run recorded samples of its flows."""
    shown = [p for p in panels(results) if p.run.records("flow_samples")]
    if not shown:
        return None
    series = [binned(panel) for panel in shown]
    expected = [_expected(panel) for panel in shown]
    # Panels have axes of their own.
    reaches = [
        expectation.top([float(np.max(bps)) for _, bps in own.values() if len(bps)], levels)
        for own, levels in zip(series, expected, strict=True)
    ]
    unit, name = units.rate(max(reaches))
    figure, cells = grid(len(shown), height=2.5)
    drawn: set[str] = set()
    of_panels = zip(cells[0], shown, series, expected, reaches, strict=True)
    for axes, panel, own, levels, reach in of_panels:
        draw_flows(axes, panel, {flow: (x, bps / unit) for flow, (x, bps) in own.items()})
        drawn |= {expectation.drawn(axes, None, 0, bps / unit, reach / unit) for bps in levels}
    more = expectation.handles(drawn, linestyle="--")
    return finish(figure, cells, shown, [f"throughput ({name})"], more=more)


def _expected(panel: Panel) -> list[float]:
    """The expectations of the flows of a panel, each once; none where flows crowd it."""
    if panel.crowded:
        return []
    return sorted(set(expectation.expected_bps(panel.run.run).values()))


def binned(panel: Panel) -> dict[str, Course]:
    """Of each flow the middle of each bin in which it lasts, and the throughput in it in bit/s."""
    samples = panel.run.table("flow_samples").sort("time_s")
    found = {}
    for flow in panel.flows:
        own = samples.filter(flow=flow.name)
        seconds, received = own["time_s"].to_numpy(), own["received_bytes"].to_numpy()
        if len(seconds) < 3:
            continue
        edges = np.arange(0, seconds[-1] + 1e-9, bin_width(seconds))
        # The count at an edge is the last one seen at or before it.
        upto = np.searchsorted(seconds, edges + 1e-9, side="right") - 1
        counts = np.where(upto >= 0, received[np.maximum(upto, 0)], 0)
        start, end = panel.span(flow.name)
        lasts = (edges[1:] > start) & (edges[:-1] < end)
        middles = (edges[:-1] + edges[1:]) / 2
        found[flow.name] = middles[lasts], (np.diff(counts) * 8 / np.diff(edges))[lasts]
    return found


def bin_width(seconds: np.ndarray) -> float:
    """A whole number of sampling intervals, such that about `_BINS` bins fill the panel."""
    interval = float(np.median(np.diff(seconds)))
    return interval * max(1, round(float(seconds[-1] - seconds[0]) / interval / _BINS))
