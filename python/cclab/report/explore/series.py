"""What happened in a run over time, in few bytes: the flows and the queue at the bottleneck."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import trace
from cclab.report.explore.runs import evenly, packed
from cclab.report.figures.panels import flow_ranks
from cclab.report.palette import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.results import Measured, Point

BUDGET = 20_000_000
"""Bytes of the page that time series may take."""

MOST_RUNS = 2_000
"""Runs whose traces are read: some milliseconds each."""

STEPS = 240
"""Points of a series at most: each stands for as long a part of the run."""

MOST_FLOWS = 8
"""Flows of a run whose series the page has."""

_PER_SERIES = 4 * (2 * STEPS // 3) + 80
"""Bytes of a series in the page: two for each point, in base64, and its head."""

_NONE = 65_535
"""In place of a number that there is not."""


def chosen(shown: Sequence[tuple[Point, Measured]], wanted: Sequence[str] = ()) -> list[int]:
    """The places of the runs whose series fit: all, else the first of each sweep point first.

    Before all others those whose ids begin with one of `wanted`.
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


def of(shown: Sequence[tuple[Point, Measured]], places: Sequence[int]) -> dict[str, Any]:
    """The series of the runs at `places`, by place; without those that recorded no samples."""
    with ThreadPoolExecutor() as pool:
        made = pool.map(lambda place: _of_run(shown[place][1]), places)
        return {str(place): found for place, found in zip(places, made, strict=True) if found}


def _of_run(run: Measured) -> dict[str, Any] | None:
    entry = run.entry
    flows, queue = trace.has(entry, "flow_samples"), trace.has(entry, "queue_samples")
    if not flows and not queue:
        return None
    waiting = trace.table(entry, "queue_samples") if queue else None
    samples = trace.flow_samples(entry) if flows else None
    sampled = [frame for frame in (waiting, samples) if frame is not None]
    edges = _edges(np.concatenate([frame["time_s"].to_numpy() for frame in sampled]))
    found: dict[str, Any] = {"step": float(f"{edges[1]:.9g}"), "flows": [], "queue": None}
    if waiting is not None:
        waiting = waiting.filter(link=trace.bottleneck(entry))
        found["queue"], found["delay"] = _queue(run, waiting, edges)
    if samples is not None:
        own = trace.table(entry, "flows")
        mss = dict(zip(own["name"], own["mss_bytes"], strict=True))
        metrics = run.metrics["flows"]
        ranks = flow_ranks([(flow["name"], flow["cc"]) for flow in metrics])
        ended = dict(zip(own["name"], own["ended_s"], strict=True))
        for flow in metrics[:MOST_FLOWS]:
            name, variant = flow["name"], flow["cc"]
            frame = samples.filter(flow=name).sort("time_s")
            style = look(variant, ranks[name, variant])
            found["flows"].append(
                {
                    "name": name,
                    "cc": variant,
                    "colour": style.colour,
                    **_flow(frame, edges, max(mss[name], 1), ended[name]),
                }
            )
    return found


def _edges(seconds: np.ndarray) -> np.ndarray:
    """Steps of a whole number of sampling intervals: others would beat against them."""
    times = np.unique(seconds)
    end = max(float(times[-1]), 1e-9)
    if len(times) < 3:
        return np.array([0.0, end])
    interval = float(np.median(np.diff(times)))
    step = interval * max(1, math.ceil(end / interval / STEPS - 1e-6))
    return np.arange(max(1, math.floor(end / step + 1e-6)) + 1) * step


def _flow(frame: Any, edges: np.ndarray, mss: int, ended: float | None) -> dict[str, Any]:
    """Throughput in each step, and the last window and smoothed RTT in it."""
    seconds = frame["time_s"].to_numpy()
    upto = np.searchsorted(seconds, edges + 1e-9, side="right") - 1
    received = frame["received_bytes"].to_numpy().astype(np.float64)
    counts = np.where(upto >= 0, received[np.maximum(upto, 0)], 0.0) if len(seconds) else edges * 0
    rate = np.diff(counts) * 8 / np.diff(edges)
    alive = (upto[1:] >= 0) & (edges[:-1] <= (np.inf if ended is None else ended))
    last = np.maximum(upto[1:], 0)

    def held(column: str, scale: float) -> np.ndarray:
        values = frame[column].cast(float).fill_null(np.nan).to_numpy()
        return np.where(alive, values[last] * scale, np.nan) if len(values) else edges[1:] * np.nan

    return {
        "throughput": _small(np.where(alive, rate, np.nan)),
        "cwnd": _small(held("cwnd_bytes", 1 / mss)),
        "srtt": _small(held("srtt_s", 1.0)),
    }


def _queue(run: Measured, frame: Any, edges: np.ndarray) -> tuple[dict[str, Any], bool]:
    """The most that waited in each step: as time at the link's rate, where it has one rate."""
    links = trace.table(run.entry, "links")
    rate = float(links["rate_bps"][0] or 0.0)
    bottleneck = run.run.scenario["network"].get("bottleneck", {})
    steady = rate > 0 and not bottleneck.get("schedule")
    seconds = frame["time_s"].to_numpy()
    backlog = frame["backlog_bytes"].to_numpy().astype(np.float64)
    steps = len(edges) - 1
    nth = np.clip(np.searchsorted(edges, seconds - 1e-9, side="left") - 1, 0, steps - 1)
    most = np.full(steps, -1.0)
    np.maximum.at(most, nth, backlog)
    values = np.where(most < 0, np.nan, most)
    return _small(values * 8 / rate if steady else values), steady


def _small(values: np.ndarray) -> dict[str, Any]:
    """Numbers from 0 up as 16 bits each, and what one of their steps is worth."""
    known = np.isfinite(values)
    top = float(values[known].max()) if known.any() else 0.0
    unit = top / (_NONE - 1) if top > 0 else 1.0
    whole = np.where(known, np.round(np.where(known, values, 0.0) / unit), _NONE)
    return {"unit": float(f"{unit:.9g}"), "data": packed(whole.astype("<u2"))}
