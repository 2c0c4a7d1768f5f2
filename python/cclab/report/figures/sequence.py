"""Sequence number over time: what was sent and acknowledged, and where losses were repaired."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import units
from cclab.drawing.legend import entry
from cclab.drawing.style import LOST
from cclab.report.figures.panels import draw_flows, finish, grid, panels

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from matplotlib.axes import Axes

    from cclab.drawing.style import Drawing
    from cclab.measure.points import Measured
    from cclab.measure.results import Results
    from cclab.report.figures.panels import Panel
    from cclab.store.trace import Columns

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
    if not len(marks["flow"]):
        return False
    axes.plot(
        marks["time_s"],
        marks["offset_bytes"] / unit,
        **_CROSS,
        markersize=3.6,
        markeredgewidth=0.8,
        zorder=4,
    )
    return True


def _told(panel: Panel) -> tuple[Columns | None, Columns | None]:
    """The drops and the samples of the run of a panel, where they were recorded."""
    drops = _columns(panel.run, "drops", ("flow", "time_s", "offset_bytes"))
    seen = ("flow", "time_s", "retransmits", "snd_una_bytes")
    samples = _columns(panel.run, "flow_samples", seen)
    return drops if is_traced_whole(panel.run) else None, samples


def _columns(run: Measured, table: str, names: Sequence[str]) -> Columns | None:
    if not run.records(table):
        return None
    frame = run.table(table)
    return {name: frame[name].to_numpy() for name in names}


def losses(
    drops: Columns | None,
    samples: Columns | None,
    flows: Collection[str] | Collection[float],
    time: str = "time_s",
) -> Columns:
    """Flow, `time` and offset of each loss of the `flows`, of `MOST_CROSSES` at most.

    Where the `drops` of the whole run are unknown, a loss is a sample that saw new retransmissions.
    In columns by name, as `drops` and `samples` are: a page has them of thousands of runs, each
    too small to be worth a frame.
    """
    offset = "offset_bytes"
    asked: list[Any] = list(flows)
    if drops is not None:
        rows = np.flatnonzero(np.isin(drops["flow"], asked))
        lost = {column: drops[column][rows] for column in ("flow", time, offset)}
    elif samples is not None:
        of_flows = [_repaired(samples, flow, time) for flow in sorted(set(asked))]
        rows = np.concatenate([np.empty(0, np.intp), *of_flows])
        columns = {"flow": "flow", time: time, offset: "snd_una_bytes"}
        lost = {name: samples[column][rows] for name, column in columns.items()}
    else:
        return {column: np.empty(0) for column in ("flow", time, offset)}
    apart = max(1, -(-len(rows) // MOST_CROSSES))
    return {name: values[::apart] for name, values in lost.items()}


def _repaired(samples: Columns, flow: str | float, time: str) -> np.ndarray:
    """The rows of the `samples` of a flow that saw new retransmissions, by time."""
    rows = np.flatnonzero(samples["flow"] == flow)
    rows = rows[np.argsort(samples[time][rows], kind="stable")]
    return rows[1:][np.diff(samples["retransmits"][rows].astype(np.int64)) > 0]
