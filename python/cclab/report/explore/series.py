"""The course of a run in few bytes: its flows and the queue at the bottleneck over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cclab.report.explore.runs import evenly, packed
from cclab.report.figures.panels import flow_lines
from cclab.store.trace import columns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cclab.measure.points import Measured, Point
    from cclab.report.explore.document import Course, Packed
    from cclab.store.trace import Columns

BUDGET = 20_000_000
"""Bytes of the page that time series may take."""

MOST_RUNS = 2_000
"""Runs whose traces are read."""

STEPS = 240
"""Points of a series at most: each stands for as long a part of the run."""

MOST_FLOWS = 8
"""Flows of a run whose series the page has."""

_PER_SERIES = 4 * (2 * STEPS // 3) + 80
"""Bytes of a series in the page: two for each point, in base64, and its head."""

_OF_FLOWS = ("received_bytes", "cwnd_bytes", "srtt_ns")

_READ = {
    "queue_samples": ("time_ns", "link", "backlog_bytes"),
    "flow_samples": ("time_ns", "flow", *_OF_FLOWS),
    "flows": ("name", "flow", "mss_bytes", "started_ns", "ended_ns"),
    "links": ("link", "rate_bps"),
}
"""What is read of a trace."""

_AT_A_TIME = 50
"""Runs whose traces are in memory at once."""

_NONE = 65_535
"""In place of a number that there is not."""


def chosen(shown: Sequence[tuple[Point, Measured]], wanted: Sequence[str] = ()) -> list[int]:
    """The places of the runs whose series fit: all, or the first run of each sweep point, then the
    second.

    Runs whose ids begin with one of `wanted` come first.
    """
    rounds: dict[int, list[int]] = {-1: []}
    met: dict[int, int] = {}
    for place, (point, run) in enumerate(shown):
        nth = met[point.index] = met.get(point.index, -1) + 1
        if any(run.run.id.startswith(beginning) for beginning in wanted):
            nth = -1
        rounds.setdefault(nth, []).append(place)
    taken: list[int] = []
    left = BUDGET
    for _, members in sorted(rounds.items()):
        sizes = [_size(shown[place][1]) for place in members]
        if sum(sizes) > left or len(taken) + len(members) > MOST_RUNS:
            room = min(left * len(members) // sum(sizes), MOST_RUNS - len(taken))
            taken += [members[place] for place in evenly(len(members), room)]
            break
        taken += members
        left -= sum(sizes)
    return sorted(taken)


def _size(run: Measured) -> int:
    return (3 * min(MOST_FLOWS, len(run.metrics["flows"])) + 1) * _PER_SERIES


def of(shown: Sequence[tuple[Point, Measured]], places: Sequence[int]) -> dict[str, Course]:
    """The series of the runs at `places`, by place; without those that recorded no samples."""
    sampled = [place for place in places if shown[place][1].is_sampled]
    made = {}
    for start in range(0, len(sampled), _AT_A_TIME):
        part = sampled[start : start + _AT_A_TIME]
        runs = [shown[place][1] for place in part]
        for place, run, read in zip(
            part, runs, columns_of([run.trace for run in runs], _READ), strict=True
        ):
            series = _of_run(run, read)
            if series:
                made[str(place)] = series
    return made


def _of_run(run: Measured, read: Mapping[str, Columns | None]) -> Course | None:
    queue, samples = read["queue_samples"], read["flow_samples"]
    sampled = [table["time_ns"] for table in (queue, samples) if table is not None]
    if not sampled:
        return None
    edges = _edges(np.concatenate(sampled) * 1e-9)
    document: Course = {"step": float(f"{edges[1]:.9g}"), "flows": [], "queue": None}
    if queue is not None:
        document["queue"], document["delay"] = _queue(run, queue, read["links"], edges)
    own = read["flows"]
    if samples is not None and own is not None:
        nth = {name: place for place, name in enumerate(own["name"])}
        metrics = run.metrics["flows"]
        [lines] = flow_lines([metrics])
        for flow, line in zip(metrics[:MOST_FLOWS], lines, strict=False):
            name = flow["name"]
            place = nth[name]
            rows = np.flatnonzero(samples["flow"] == own["flow"][place])
            rows = rows[np.argsort(samples["time_ns"][rows], kind="stable")]
            mine = {column: values[rows] for column, values in samples.items()}
            mss = own["mss_bytes"][place] or np.nan
            span = (own["started_ns"][place] * 1e-9, own["ended_ns"][place] * 1e-9)
            rate, window, delay = _flow(mine, edges, mss, *span)
            document["flows"].append(
                {
                    "name": name,
                    "label": line.label,
                    "colour": line.style.colour,
                    "throughput": rate,
                    "cwnd": window,
                    "srtt": delay,
                }
            )
    return document


def _edges(seconds: np.ndarray) -> np.ndarray:
    """Steps of a whole number of sampling intervals; other steps would beat against the samples."""
    times = np.unique(seconds)
    end = max(float(times[-1]), 1e-9)
    if len(times) < 3:
        return np.array([0.0, end])
    interval = float(np.median(np.diff(times)))
    step = interval * max(1, math.ceil(end / interval / STEPS - 1e-6))
    return np.arange(max(1, math.floor(end / step + 1e-6)) + 1) * step


def _flow(
    mine: dict[str, np.ndarray], edges: np.ndarray, mss: float, started: float, ended: float
) -> tuple[Packed, Packed, Packed]:
    """Throughput in each step while the flow lasts, and the last window and smoothed RTT in it.

    An unknown time is NaN: the flow never began, or goes on.
    """
    seconds = mine["time_ns"] * 1e-9
    upto = np.searchsorted(seconds, edges + 1e-9, side="right") - 1
    received = mine["received_bytes"]
    counts = np.where(upto >= 0, received[np.maximum(upto, 0)], 0.0) if len(seconds) else edges * 0
    rate = np.diff(counts) * 8 / np.diff(edges)
    alive = (upto[1:] >= 0) & (edges[1:] > started) & ~(edges[:-1] > ended)
    last = np.maximum(upto[1:], 0)

    def held(column: str, scale: float) -> np.ndarray:
        values = mine[column]
        return np.where(alive, values[last] * scale, np.nan) if len(values) else edges[1:] * np.nan

    return (
        _small(np.where(alive, rate, np.nan)),
        _small(held("cwnd_bytes", 1 / mss)),
        _small(held("srtt_ns", 1e-9)),
    )


def _queue(
    run: Measured, sampled: Columns, links: Columns | None, edges: np.ndarray
) -> tuple[Packed, bool]:
    """The largest backlog in each step, and as time at the link's rate if that is constant."""
    first, rate = (links["link"][0], links["rate_bps"][0]) if links is not None else (0.0, np.nan)
    bottleneck = run.run.scenario["network"]["bottleneck"]
    steady = rate > 0 and not bottleneck.get("schedule") and not bottleneck.get("triggered")
    rows = sampled["link"] == first
    seconds, backlog = sampled["time_ns"][rows] * 1e-9, sampled["backlog_bytes"][rows]
    steps = len(edges) - 1
    nth = np.clip(np.searchsorted(edges, seconds - 1e-9, side="left") - 1, 0, steps - 1)
    most = np.full(steps, -1.0)
    np.maximum.at(most, nth, backlog)
    values = np.where(most < 0, np.nan, most)
    return _small(values * 8 / rate if steady else values), steady


def _small(values: np.ndarray) -> Packed:
    """Numbers from 0 up as 16 bits each, and the value of one step."""
    known = np.isfinite(values)
    top = float(values[known].max()) if known.any() else 0.0
    unit = top / (_NONE - 1) if top > 0 else 1.0
    whole = np.where(known, np.round(np.where(known, values, 0.0) / unit), _NONE)
    return {"unit": float(f"{unit:.9g}"), "data": packed(whole.astype("<u2"))}
