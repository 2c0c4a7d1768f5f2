"""The round trips of probes: over time, and how they are distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import units
from cclab.drawing import legend
from cclab.drawing.marks import events, of_shares, stairs
from cclab.drawing.style import LOST
from cclab.drawing.ticks import logarithmic, spanned
from cclab.report.figures import named
from cclab.report.figures.panels import finish, grid, panels, panels_across

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.drawing.style import Drawing
    from cclab.measure.points import Measured
    from cclab.measure.results import Results

    Floats = npt.NDArray[np.float64]

TITLE = "Round trips of probes over time"
CAPTION = (
    "The time from each request of a probe to its answer, at the time when the request left; the "
    "ticks at the top mark requests without an answer. All panels have one scale, a logarithmic "
    "one where they differ much. First run of each sweep point."
)
NEEDS = "a [[probe]]"

ROUND_TRIP, LOST_WORD = "round trip", "lost"
"""What is drawn of a probe, and of its requests without an answer."""

CDF_TITLE = "Distribution of the round trips of probes"
CDF_CAPTION = (
    "The share of a probe's requests that were answered within a time, of all runs of a sweep "
    "point together, after the warm-up if there is one; where requests were lost, a line ends "
    "below 1. "
    "Sweep points share a panel as long as that can be read; the axis is logarithmic where "
    "the longest is more than four times the shortest."
)

SHARE = "share of requests"
"""What is drawn of a probe, up."""

MOST_LINES = 12
"""Of distributions in a panel."""

SPREAD = 4.0
"""Largest over smallest from which a scale is logarithmic."""


def draw(results: Results) -> Drawing | None:
    """Round trips over time; None if no run has a probe."""
    shown = [p for p in panels(results) if p.run.records("probe_samples")]
    if not shown:
        return None
    names = _names([p.run for p in shown])
    frames = [panel.run.table("probe_samples") for panel in shown]
    unit, name_of_unit = _unit(*(frame["rtt_s"].drop_nulls().to_numpy() for frame in frames))
    sheet = grid(len(shown), height=2.4)
    has_lost = False
    for axes, panel, frame in zip(sheet.panels, shown, frames, strict=True):
        for name in frame["probe"].unique(maintain_order=True):
            own = frame.filter(probe=name)
            answered = own.drop_nulls("rtt_s")
            axes.plot(
                answered["sent_s"].to_numpy(),
                answered["rtt_s"].to_numpy() / unit,
                linewidth=0.9,
                **_look(names, name),
            )
            missing = lost(own["sent_s"].to_numpy(), own["rtt_s"].to_numpy(), panel.end_s)
            if len(missing):
                has_lost = True
                events(axes, missing, 0.965, LOST)
    finish(sheet, shown, [f"{ROUND_TRIP} ({name_of_unit})"], legend=False)
    _one_scale(sheet.panels, [f["rtt_s"].drop_nulls().to_numpy() / unit for f in frames])
    handles = [legend.entry(name, **_look(names, name)) for name in names]
    if has_lost:
        handles.append(legend.entry(LOST_WORD, color=LOST, marker="|", linestyle="none"))
    legend.above(sheet.figure, handles)
    return sheet.figure


def _one_scale(panels: Sequence[Axes], rtts: Sequence[Floats]) -> None:
    """Gives panels that differ much one logarithmic scale, on which they compare by eye."""
    least = min((float(own.min()) for own in rtts if len(own)), default=0.0)
    tops = [float(own.max()) for own in rtts if len(own)]
    if least <= 0 or max(tops) < SPREAD * min(tops):
        return
    for number, axes in enumerate(panels):
        logarithmic(axes.yaxis)
        axes.set_ylim(0.8 * least, 1.6 * max(tops))
        axes.tick_params(labelleft=number % panels_across(len(panels)) == 0)


def draw_cdf(results: Results) -> Drawing | None:
    """The distribution of round trips, all sweep points in one panel; None if no run has a probe.

    With more than `MOST_LINES` lines, a panel for each sweep point.
    """
    shown = [p for p in panels(results) if p.run.records("probe_samples")]
    if not shown:
        return None
    names = _names([p.run for p in shown])
    runs = {id(p.runs[0]): p.runs for p in results.points if p.runs}
    warmups = [panel.run.run.scenario["warmup"] * 1e-9 for panel in shown]
    pooled = [
        {name: round_trips(runs[id(panel.run)], name, warmup) for name in names}
        for panel, warmup in zip(shown, warmups, strict=True)
    ]
    together = len(shown) > 1 and len(shown) * len(names) <= MOST_LINES
    every = [rtts for own in pooled for rtts, _ in own.values()]
    unit, name_of_unit = _unit(*every)
    largest = max((float(rtts[-1]) for rtts in every if len(rtts)), default=0.0)
    least = min((float(rtts[0]) for rtts in every if len(rtts)), default=0.0)
    sheet = grid(1 if together else len(shown), height=2.8 if together else 2.4)
    handles: dict[str, Line2D] = {}
    for number, (panel, own) in enumerate(zip(shown, pooled, strict=True)):
        axes = sheet.panels[0 if together else number]
        for name, (rtts, sent) in own.items():
            look = _look_at(number, names, name) if together else _look(names, name)
            label = f"{name}, {' '.join(panel.title.split())}" if together else name
            handles.setdefault(label, legend.entry(label, **look))
            if len(rtts):
                stairs(axes, rtts / unit, np.arange(1, len(rtts) + 1) / sent, **look)
    across = f"{ROUND_TRIP} ({name_of_unit})"
    here = shown[:1] if together else shown
    finish(sheet, here, [SHARE], legend=False, across=across)
    for axes in sheet.panels:
        of_shares(axes)
    # Panels share it.
    spanned(sheet.panels[0].xaxis, least / unit, largest / unit, SPREAD)
    legend.above(sheet.figure, list(handles.values()))
    return sheet.figure


def _unit(*rtts: Floats) -> tuple[float, str]:
    """The unit that suits the longest of the round trips."""
    return units.time(max((float(own.max()) for own in rtts if len(own)), default=0.0))


def round_trips(runs: list[Measured], probe: str, warmup: float) -> tuple[Floats, int]:
    """The round trips of a probe in `runs`, from the least up, and of how many requests.

    Those that may still have been on their way at a run's end are no part of it, as in the metrics.
    """
    samples, sent = [], 0
    for run in runs:
        own = run.table("probe_samples").filter(probe=probe)
        samples.append(answered(own["sent_s"].to_numpy(), own["rtt_s"].to_numpy(), warmup))
        sent += requests(run, probe)
    rtts = np.sort(np.concatenate(samples)) if samples else np.zeros(0)
    return rtts, max(sent, len(rtts))


def answered(sent: Floats, rtts: Floats, warmup: float) -> Floats:
    """The round trips of the requests that left after the warm-up and were answered, from the least
    up."""
    after: Floats = rtts[sent >= warmup]
    return np.sort(after[~np.isnan(after)])


def requests(run: Measured, probe: str) -> int:
    """How many requests of a probe the metrics of a run count."""
    return next((p["sent"] for p in run.metrics["probes"] if p["name"] == probe), 0)


def lost(sent: Floats, rtts: Floats, end_s: float) -> Floats:
    """When requests left that were not answered, but for those on their way at the end."""
    longest = float(np.nanmax(rtts, initial=0.0))
    missing: Floats = sent[np.isnan(rtts) & (sent + longest < end_s)]
    return missing


def _names(runs: list[Measured]) -> list[str]:
    """The probes of `runs`, each once."""
    return list(dict.fromkeys(probe["name"] for run in runs for probe in run.metrics["probes"]))


def _look_at(point: int, names: list[str], name: str) -> dict[str, Any]:
    """Where sweep points share a panel, hues are theirs and dashes those of probes."""
    return named.look(point, names.index(name))


def _look(names: list[str], name: str) -> dict[str, Any]:
    return named.look_by_hue(names.index(name))
