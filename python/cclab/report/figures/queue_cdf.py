"""How long packets wait in each named queue of the bottleneck's discipline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cclab import units
from cclab.drawing import legend
from cclab.drawing.marks import of_shares, stairs
from cclab.drawing.ticks import logarithmic
from cclab.report.figures import named
from cclab.report.figures.panels import finish, grid, panels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from cclab.drawing.style import Drawing
    from cclab.measure.points import Measured
    from cclab.measure.results import Results

    Floats = npt.NDArray[np.float64]
    Waits = tuple[Floats, Floats]
    """Times in order, and how many packets waited so long."""

TITLE = "Distribution of the queue delay of each queue"
CAPTION = (
    "The share of a queue's packets that waited no longer than a time, over all runs of a sweep "
    "point, after the warm-up where the trace has that apart: a line for each named queue of the "
    "bottleneck's discipline. The axis is logarithmic; shorter waits stand at its left end."
)
NEEDS = "a bottleneck whose discipline has named queues (dualpi2)"

SHARE = "share of packets"
"""What is drawn of a queue, up."""

SPAN = 1e-3
"""The left end of the axis over the longest wait."""


def draw(results: Results) -> Drawing | None:
    """The figure; None if no run has named queues."""
    shown = [panel for panel in panels(results) if _queues(panel.run)]
    if not shown:
        return None
    runs = {id(point.runs[0]): point.runs for point in results.points if point.runs}
    waited = [waits(runs[id(panel.run)]) for panel in shown]
    names = list(dict.fromkeys(name for own in waited for name in own))
    longest = max((float(times[-1]) for own in waited for times, _ in own.values()), default=0.0)
    if not longest > 0:
        return None
    unit, name_of_unit = units.time(longest)
    sheet = grid(len(shown), height=2.4)
    for axes, own in zip(sheet.panels, waited, strict=True):
        for name, (times, counts) in own.items():
            share = np.cumsum(counts) / counts.sum()
            x = np.maximum(times, SPAN * longest) / unit
            stairs(axes, x, share, **_look(names, name))
    labels = [SHARE]
    across = f"queue delay ({name_of_unit})"
    finish(sheet, shown, labels, legend=False, across=across)
    for axes in sheet.panels:
        of_shares(axes)
    # The panels share it.
    first = sheet.panels[0]
    logarithmic(first.xaxis, at=(1.0,))
    first.set_xlim(SPAN * longest / unit, 1.1 * longest / unit)
    legend.above(sheet.figure, [legend.entry(f"queue {n}", **_look(names, n)) for n in names])
    return sheet.figure


def _queues(run: Measured) -> list[str]:
    """The names of the queues of the bottleneck's discipline."""
    return [band["name"] for band in run.metrics["bottleneck"].get("bands", [])]


def waits(runs: Sequence[Measured]) -> dict[str, Waits]:
    """How long packets waited in each queue, in all `runs` together, in bins of 1/64 at most."""
    by_queue: dict[str, list[pl.DataFrame]] = {}
    for run in runs:
        for name, bins in _bins(run).items():
            by_queue.setdefault(name, []).append(bins)
    waited = {}
    for name, of_runs in by_queue.items():
        bins = pl.concat(of_runs).group_by("low_s").agg(pl.col("count").sum()).sort("low_s")
        if bins.height:
            waited[name] = (bins["low_s"].to_numpy(), bins["count"].to_numpy().astype(float))
    return waited


def _bins(run: Measured) -> dict[str, pl.DataFrame]:
    """The histogram of each queue: of the time after the warm-up, where the trace has that."""
    if not _queues(run):
        return {}
    bands = run.table("bands").with_row_index("at")
    ahead = bands.filter(pl.col("link") == run.trace.bottleneck)
    every = run.table("histograms").filter(pl.col("element") == "band")
    warm = run.run.scenario["warmup"] > 0 and (every["metric"] == "warm_sojourn").any()
    bins = every.filter(pl.col("metric") == ("warm_sojourn" if warm else "sojourn"))
    places = zip(ahead["name"], ahead["at"], strict=True)
    return {
        name: bins.filter(pl.col("index") == at).select("low_s", "count") for name, at in places
    }


def _look(names: list[str], name: str) -> dict[str, Any]:
    place = names.index(name)
    return named.look(place, place)
