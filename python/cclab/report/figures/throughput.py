"""Throughput over time: in-order bytes that reached the receiving application, per time bin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import units
from cclab.drawing.legend import entry
from cclab.drawing.style import MUTED
from cclab.report.figures import expectation
from cclab.report.figures.crossed import crossed, rate_bps
from cclab.report.figures.panels import draw_flows, finish, grid, panels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.report.figures.panels import Course, Panel

TITLE = "Throughput over time"
CAPTION = (
    "In-order bytes that reached the receiving application, per bin of a whole number of "
    "sampling intervals (the first and the last of a flow are shorter or longer), as long as the "
    "flow lasts; more than eight flows are shown as their median and bands of quantiles. First "
    "run of each sweep point. Where a point lies above the rate of the link, which is dotted "
    "then, bytes had arrived that waited for a lost one, and its repair handed all of them over "
    "at once. A dashed line in grey is the closed-form expectation of a flow that "
    f"{expectation.WHAT_BINDS} binds (`cclab explain`); an arrow in its place says that it is far "
    "above all that was measured."
)
NEEDS = "flows, and samples of them"

RATE = "throughput"
"""What is drawn of a flow."""

BINS = 150
"""Bins that fill a panel, about."""

LINK_RATE = "rate of the link: above it, bytes of a repair"
LINK_RATE_LOOK: dict[str, Any] = {"color": MUTED, "linewidth": 0.9, "linestyle": ":"}
"""What the rate of the links is called, and how it is drawn."""


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
    sheet = grid(len(shown), height=2.5)
    drawn: set[str] = set()
    above = False
    of_panels = zip(sheet.panels, shown, series, expected, reaches, strict=True)
    for axes, panel, own, levels, reach in of_panels:
        draw_flows(axes, panel, {flow: (x, bps / unit) for flow, (x, bps) in own.items()})
        drawn |= {expectation.drawn(axes, None, 0, bps / unit, reach / unit) for bps in levels}
        above |= _mark_above(axes, panel, own, unit)
    more = expectation.handles(drawn, linestyle=expectation.DASH)
    more += [entry(LINK_RATE, **LINK_RATE_LOOK)] * above
    return finish(sheet, shown, [f"{RATE} ({name})"], more=more)


def _expected(panel: Panel) -> list[float]:
    """The expectations of the flows of a panel, each once; none where flows crowd it."""
    if panel.crowded:
        return []
    return sorted(set(expectation.expected_bps(panel.run.run).values()))


def _mark_above(axes: Axes, panel: Panel, own: dict[str, Course], unit: float) -> bool:
    """Draws the rate of the links where a point lies above it; whether one does."""
    if panel.crowded:
        return False
    rates = [rate_bps(panel.run, link) for link in _links(panel)]
    exceeded = rate_below([bps for _, bps in own.values()], rates)
    if exceeded is not None:
        axes.axhline(exceeded / unit, zorder=1, **LINK_RATE_LOOK)
    return exceeded is not None


def rate_below(courses: Iterable[np.ndarray], rates: Sequence[float | None]) -> float | None:
    """The rate of the links, if a point of the courses lies above it; None if one has none."""
    known = [rate for rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    most = max(known)
    return most if any(bool(np.any(bps > most)) for bps in courses) else None


def _links(panel: Panel) -> list[str]:
    """The links under study that data cross; none where no queue was sampled."""
    return list(crossed(panel.run)) if panel.run.records("queue_samples") else []


def binned(panel: Panel) -> dict[str, Course]:
    """Of each flow the middle of each bin in which it lasts, and the throughput in it in bit/s."""
    samples = panel.run.table("flow_samples").sort("time_s")
    flows = panel.run.table("flows")
    last = dict(zip(flows["name"], flows["last_byte_s"], strict=True))
    courses = {}
    for flow in panel.flows:
        own = samples.filter(flow=flow.name)
        seconds, received = own["time_s"].to_numpy(), own["received_bytes"].to_numpy()
        if len(seconds) < 3:
            continue
        start, end = panel.span(flow.name)
        # The last acknowledgement comes after the last byte.
        over = end if last[flow.name] is None or end == np.inf else min(end, last[flow.name])
        edges = _edges(seconds, start, over)
        if not len(edges):
            continue
        # The count at an edge is the last one seen at or before it, and at the end all there was.
        upto = np.searchsorted(seconds, edges + 1e-9, side="right") - 1
        counts = np.where(upto >= 0, received[np.maximum(upto, 0)], 0).astype(float)
        counts[-1:] = received[-1]
        middles = (edges[:-1] + edges[1:]) / 2
        courses[flow.name] = middles, np.diff(counts) * 8 / np.diff(edges)
    return courses


def _edges(seconds: np.ndarray, start: float, end: float) -> np.ndarray:
    """The edges of the bins of a flow: from its start to its end, and none shorter than half.

    A part of a bin in which a flow did not last would show as a dip.
    """
    width = bin_width(seconds)
    first, last = max(0.0, start), min(float(seconds[-1]), end)
    if not first < last:
        return np.empty(0)
    inner = np.arange(0.0, last + width, width)
    inner = inner[(inner > first + width / 2) & (inner < last - width / 2)]
    return np.concatenate([[first], inner, [last]])


def bin_width(seconds: np.ndarray) -> float:
    """A whole number of sampling intervals, such that about `BINS` bins fill the panel."""
    interval = float(np.median(np.diff(seconds)))
    return interval * max(1, round(float(seconds[-1] - seconds[0]) / interval / BINS))
