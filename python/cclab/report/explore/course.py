"""The course of a run in few bytes: what the figures over time draw of it, step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_hex

from cclab.drawing.marks import dash_lengths
from cclab.drawing.style import LOST
from cclab.report.explore.numbers import packed, small, whole
from cclab.report.figures import (
    bands,
    cwnd,
    expectation,
    named,
    phases,
    probes,
    queue,
    sequence,
    throughput,
)
from cclab.report.figures.crossed import among, steady_bps
from cclab.store.trace import PHASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cclab.drawing.palette import Dash, Look
    from cclab.measure.points import Measured
    from cclab.plan import Run
    from cclab.report.explore.document import (
        Course,
        CoursePanel,
        Crosses,
        Curve,
        Level,
        Line,
        Quantity,
        Ticks,
    )
    from cclab.report.figures.panels import FlowLine, Group
    from cclab.store.trace import Columns

MOST_FLOWS = 16
"""Flows of a run that have curves of their own; of more, groups have bands of quantiles."""

QUANTITIES: dict[str, Quantity] = {
    "throughput": {"title": throughput.RATE, "unit": "rate", "kind": "mean"},
    "cwnd": {"title": cwnd.WINDOW, "unit": "plain", "kind": "state"},
    "srtt": {"title": cwnd.DELAY, "unit": "time", "kind": "state"},
    "phases": {"title": phases.PHASES, "unit": "plain", "kind": "phase"},
    "queue-delay": {"title": queue.DELAY, "unit": "time", "kind": "state"},
    "backlog": {"title": queue.BACKLOG, "unit": "bytes", "kind": "state"},
    "round-trip": {"title": probes.ROUND_TRIP, "unit": "time", "kind": "sparse"},
    "sequence": {"title": sequence.OFFSET, "unit": "bytes", "kind": "state"},
}
"""What there is a panel of, from the top down."""

OF_FLOWS = ("throughput", "cwnd", "srtt", "sequence")
"""Those with a curve for each flow."""

READ = {
    "queue_samples": ("time_ns", "link", "backlog_bytes", "capacity_bytes", "drops", "marks"),
    "flow_samples": (
        *("time_ns", "flow", "received_bytes", "cwnd_bytes", "ssthresh_bytes", "srtt_ns"),
        *("snd_una_bytes", "retransmits"),
    ),
    "drops": ("time_ns", "flow", "offset_bytes"),
    "flows": ("name", "flow", "transport", "mss_bytes", "started_ns", "ended_ns"),
    "links": ("link", "name", "rate_bps"),
    "bands": ("link", "name"),
    "probes": ("probe", "name"),
    "probe_samples": ("sent_ns", "probe", "rtt_ns"),
}
"""What is read of a trace."""

_SSTHRESH = "ssthresh"


@dataclass(frozen=True)
class Alike:
    """What the courses of all runs of a sweep point share: they differ in their seeds alone."""

    first: Run
    """One of them."""
    flows: Sequence[FlowLine]
    groups: Sequence[Group]
    """The flows in groups, which stand for them where they are too many."""

    @cached_property
    def expected_bps(self) -> list[float]:
        """What is expected of its flows, each once."""
        return sorted(set(expectation.expected_bps(self.first).values()))


def of_run(
    run: Measured,
    read: Mapping[str, Columns | None],
    alike: Alike,
    steps: int,
    met: dict[str, int],
) -> Course | None:
    """The course of a run whose trace has been `read`, in `steps` steps at most; None if nothing
    was sampled in it. It has the flows or, if there are too many, the groups of those `alike`, as
    the figures draw them. `met` numbers the phases that occur, in that order; new ones come to
    it."""
    sampled = [
        table["time_ns"] for name in ("queue_samples", "flow_samples") if (table := read[name])
    ]
    if not sampled:
        return None
    return _Drawing(run, read, alike, _edges(np.concatenate(sampled) * 1e-9, steps)).course(met)


def _edges(seconds: np.ndarray, steps: int) -> np.ndarray:
    """Steps of a whole number of sampling intervals; other steps would beat against the samples."""
    times = np.unique(seconds)
    end = max(float(times[-1]), 1e-9)
    if len(times) < 3:
        return np.array([0.0, end])
    interval = float(np.median(np.diff(times)))
    step = interval * max(1, math.ceil(end / interval / steps - 1e-6))
    return np.arange(max(1, math.floor(end / step + 1e-6)) + 1) * step


class _Drawing:
    """A run in steps between `edges`, in seconds: its lines, and the curves that are of them."""

    def __init__(
        self,
        run: Measured,
        read: Mapping[str, Columns | None],
        alike: Alike,
        edges: np.ndarray,
    ) -> None:
        self._run = run
        self._read = read
        self._alike = alike
        self._edges = edges
        self._steps = len(edges) - 1
        self._lines: list[Line] = []

    def course(self, met: dict[str, int]) -> Course:
        """All of it."""
        made = [
            *self._of_flows(),
            *self._of_phases(met),
            *self._of_queues(),
            *self._of_probes(),
        ]
        order = list(QUANTITIES)
        return {
            "step": float(f"{self._edges[1]:.9g}"),
            "steps": self._steps,
            "lines": self._lines,
            "panels": sorted(made, key=lambda panel: order.index(panel["quantity"])),
        }

    def _line(self, name: str, label: str, colour: str, dash: Dash) -> int:
        """The number of a new line."""
        own: Line = {"name": name, "label": label, "colour": colour, "dash": dash_lengths(dash)}
        self._lines.append(own)
        return len(self._lines) - 1

    def _of_flows(self) -> Iterator[CoursePanel]:
        """Each flow alone, or groups of them if they are many."""
        samples, own = self._read["flow_samples"], self._read["flows"]
        if samples is None or own is None:
            return
        flows = self._alike.flows
        groups = self._alike.groups if len(flows) > MOST_FLOWS else []
        place_of = {name: place for place, name in enumerate(own["name"])}
        courses = {
            flow.name: self._of_flow(samples, {key: own[key][place_of[flow.name]] for key in own})
            for flow in flows
        }
        shown: Sequence[tuple[str, str, Look, tuple[str, ...]]] = [
            (group.label, group.label, group.style, group.names) for group in groups
        ] or [(flow.name, flow.label, flow.style, (flow.name,)) for flow in flows]
        members = [
            (self._line(name, label, style.colour, style.dash), names)
            for name, label, style, names in shown
        ]
        for quantity in OF_FLOWS:
            curves: list[Curve] = []
            for part in ("", _SSTHRESH) if quantity == "cwnd" else ("",):
                for line, names in members:
                    own_courses = [courses[name][part or quantity] for name in names]
                    if groups and quantity == "throughput":
                        own_courses = [self._in_bins(course) for course in own_courses]
                    curve = _curve(line, own_courses)
                    # The thresholds of many flows would hide their windows.
                    if curve is not None and not (groups and part):
                        curves.append({**curve, "part": part} if part else curve)
            if not curves:
                continue
            panel: CoursePanel = {"quantity": quantity, "curves": curves, "ticks": []}
            # Where flows crowd a panel, these would be of nobody that it tells apart.
            if quantity == "throughput" and not groups:
                rates = [self._in_bins(courses[flow.name][quantity]) for flow in flows]
                panel["levels"] = self._levels(rates)
            if quantity == "sequence" and not groups:
                drawn = {members[curve["line"]][1][0]: curve["line"] for curve in curves}
                numbers = {float(own["flow"][place_of[n]]): line for n, line in drawn.items()}
                panel["crosses"] = self._crosses(samples, numbers)
            yield panel

    def _levels(self, rates: Sequence[np.ndarray]) -> list[Level]:
        """What is expected of flows, and the rate of the links where one of `rates` exceeds it."""
        expected = self._alike.expected_bps
        exceeded = throughput.rate_below(rates, list(self._links.values()))
        levels: list[Level] = []
        if expected:
            level = _level(expectation.EXPECTED, expected, expectation.LOOK, expectation.DASH)
            levels += [{**level, "reach": expectation.ROOM, "above": expectation.ABOVE}]
        if exceeded is not None:
            look = throughput.LINK_RATE_LOOK
            levels += [_level(throughput.LINK_RATE, [exceeded], look, look["linestyle"])]
        return levels

    def _crosses(self, samples: Columns, lines: Mapping[float, int]) -> list[Crosses]:
        """The losses of each of the flows that have these `lines`, by their numbers."""
        drops = self._read["drops"] if sequence.is_traced_whole(self._run) else None
        lost = sequence.losses(drops, samples, lines, "time_ns")
        return [
            {
                "line": lines[number],
                "label": sequence.LOSS,
                "colour": LOST,
                "times": small(lost["time_ns"][own] * 1e-9),
                "values": small(lost["offset_bytes"][own]),
            }
            for number in dict.fromkeys(lost["flow"].tolist())
            for own in [lost["flow"] == number]
        ]

    @cached_property
    def _links(self) -> dict[str, float | None]:
        """The links under study that data cross, and their rates, if these do not change."""
        samples, links = self._read["queue_samples"], self._read["links"]
        if samples is None or links is None:
            return {}
        wires = dict(zip(links["name"], links["rate_bps"].tolist(), strict=True))
        numbers = set(np.unique(samples["link"]))
        seen = [n for n, own in zip(wires, links["link"], strict=True) if own in numbers]
        return {
            link: steady_bps(self._run, link, None if math.isnan(wires[link]) else wires[link])
            for link in among(self._run, list(wires), seen)
        }

    def _of_flow(self, samples: Columns, flow: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Throughput in each step while the flow lasts, and the last of what else it had in it.

        An unknown time is NaN: the flow never began, or goes on.
        """
        rows = np.flatnonzero(samples["flow"] == flow["flow"])
        rows = rows[np.argsort(samples["time_ns"][rows], kind="stable")]
        seconds = samples["time_ns"][rows] * 1e-9
        started, ended = flow["started_ns"] * 1e-9, flow["ended_ns"] * 1e-9
        edges = self._edges
        upto = np.searchsorted(seconds, edges + 1e-9, side="right") - 1
        alive = (upto[1:] >= 0) & (edges[1:] > started) & ~(edges[:-1] > ended)
        last = np.maximum(upto, 0)

        def held(column: str, scale: float) -> np.ndarray:
            """The last value in each step, 0 before the first."""
            values = samples[column][rows] * scale
            return np.where(upto >= 0, values[last], 0.0) if len(values) else edges * np.nan

        def alone(values: np.ndarray) -> np.ndarray:
            return np.where(alive, values, np.nan)

        # Datagrams have no segments, no window, and no sequence that is acknowledged.
        per_segment = 1 / (flow["mss_bytes"] or np.nan)
        offset_scale = 1.0 if flow["transport"] == "tcp" else np.nan
        return {
            "throughput": alone(np.diff(held("received_bytes", 8.0)) / np.diff(edges)),
            "cwnd": alone(held("cwnd_bytes", per_segment)[1:]),
            _SSTHRESH: alone(held("ssthresh_bytes", per_segment)[1:]),
            "srtt": alone(held("srtt_ns", 1e-9)[1:]),
            "sequence": alone(held("snd_una_bytes", offset_scale)[1:]),
        }

    def _of_phases(self, met: dict[str, int]) -> Iterator[CoursePanel]:
        """The phase of each flow at the end of each step, where its variant tells one."""
        own, told = self._read["flows"], self._run.run.scenario["trace"]["events"]
        if own is None or "state" not in told:
            return
        declared = self._run.trace.summary.get("states", [])
        if not any(PHASE in columns for columns in declared):
            return
        rows = self._run.trace.rows("variant_states", ["time_ns", "flow", PHASE]).drop_nulls(PHASE)
        place_of = {name: place for place, name in enumerate(own["name"])}
        curves: list[Curve] = []
        for flow in self._alike.flows[:MOST_FLOWS]:
            place = place_of[flow.name]
            stays = rows.filter(flow=int(own["flow"][place])).sort("time_ns", maintain_order=True)
            if stays.is_empty():
                continue
            numbers = np.array([met.setdefault(phase, len(met)) for phase in stays[PHASE]])
            seconds, ended = stays["time_ns"].to_numpy() * 1e-9, own["ended_ns"][place] * 1e-9
            last = np.searchsorted(seconds, self._edges[1:] + 1e-9, side="right") - 1
            alive = (last >= 0) & ~(self._edges[:-1] > ended)
            line = self._line(flow.name, flow.label, flow.style.colour, flow.style.dash)
            held = np.where(alive, numbers[np.maximum(last, 0)], np.nan)
            curves.append({"line": line, "values": whole(held)})
        if curves:
            yield {"quantity": "phases", "curves": curves, "ticks": []}

    def _in_bins(self, rates: np.ndarray) -> np.ndarray:
        """The mean of as many steps as make a bin of the figures: rates of single ones leap."""
        width = max(1, round(self._steps / throughput.BINS))
        starts = np.arange(0, self._steps, width)
        known = np.isfinite(rates)
        total = np.add.reduceat(np.where(known, rates, 0.0), starts)
        count = np.add.reduceat(known.astype(float), starts)
        means = np.divide(total, count, out=np.full(len(starts), np.nan), where=count > 0)
        return np.repeat(means, width)[: self._steps]

    def _greatest(self, seconds: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The greatest value in each step; NaN where there is none."""
        known = np.isfinite(values)
        most = np.full(self._steps, -1.0)
        np.maximum.at(most, self._step_at(seconds[known]), values[known])
        return np.where(most < 0, np.nan, most)

    def _step_at(self, seconds: np.ndarray) -> np.ndarray:
        """In which step each of the times is; what comes later is in the last."""
        nth = np.searchsorted(self._edges, seconds - 1e-9, side="left") - 1
        return np.clip(nth, 0, self._steps - 1)

    def _of_queues(self) -> Iterator[CoursePanel]:
        """The queue of each link under study that data cross, the greatest of each step."""
        samples, links = self._read["queue_samples"], self._read["links"]
        if samples is None or links is None:
            return
        number_of = dict(zip(links["name"], links["link"], strict=True))
        for link, rate in list(self._links.items())[: queue.MOST_QUEUES]:
            rows = samples["link"] == number_of[link]
            own = {column: values[rows] for column, values in samples.items()}
            order = np.argsort(own["time_ns"], kind="stable")
            own = {column: values[order] for column, values in own.items()}
            seconds, backlog = own["time_ns"] * 1e-9, own["backlog_bytes"]
            delay = queue.waits(seconds, backlog, own["capacity_bytes"], rate)
            quantity = "backlog" if delay is None else "queue-delay"
            label = QUANTITIES[quantity]["title"]
            curve = _curve(
                self._line(link, label, queue.WATER, "solid"),
                [self._greatest(seconds, backlog if delay is None else delay)],
            )
            yield {
                "quantity": quantity,
                "link": link,
                "curves": [] if curve is None else [curve],
                "ticks": [
                    ticks
                    for column, label, colour, _ in queue.EVENTS
                    if (
                        ticks := self._ticks(
                            label, colour, seconds, np.diff(own[column], prepend=0)
                        )
                    )
                ],
                "notes": list(filter(None, self._notes(link, number_of[link], rate))),
            }

    def _notes(self, link: str, number: float, rate: float | None) -> Iterator[str]:
        """What the figure writes into the panel of a queue; empty where it does not."""
        yield queue.limit_words(self._run, link, rate)
        named = self._read["bands"]
        yield queue.together([] if named is None else list(named["name"][named["link"] == number]))

    def _of_probes(self) -> Iterator[CoursePanel]:
        """The longest round trip of the requests of each probe that left in a step."""
        table, samples = self._read["probes"], self._read["probe_samples"]
        if table is None or samples is None:
            return
        curves: list[Curve] = []
        missing = np.empty(0)
        for place, (number, name) in enumerate(zip(table["probe"], table["name"], strict=True)):
            rows = samples["probe"] == number
            sent, rtts = samples["sent_ns"][rows] * 1e-9, samples["rtt_ns"][rows] * 1e-9
            look = named.look_by_hue(place)
            line = self._line(name, name, look["color"], look["linestyle"])
            curve = _curve(line, [self._greatest(sent, rtts)])
            curves += [] if curve is None else [curve]
            missing = np.append(missing, probes.lost(sent, rtts, self._run.trace.end_s))
        lost = self._ticks(probes.LOST_WORD, LOST, missing, np.ones(len(missing)))
        if curves or lost:
            yield {"quantity": "round-trip", "curves": curves, "ticks": [lost] if lost else []}

    def _ticks(
        self, label: str, colour: str, seconds: np.ndarray, counts: np.ndarray
    ) -> Ticks | None:
        """Events by steps; None if there are none."""
        of_steps = np.bincount(self._step_at(seconds), weights=counts, minlength=self._steps)
        steps = np.flatnonzero(of_steps > 0)
        if not len(steps):
            return None
        most = np.minimum(of_steps[steps], np.iinfo("<u2").max)
        return {
            "label": label,
            "colour": colour,
            "steps": packed(steps.astype("<u2")),
            "counts": packed(most.astype("<u2")),
        }


def _level(label: str, values: list[float], look: Mapping[str, Any], dash: Dash) -> Level:
    """Values in the look of a figure's line, to which the axis does not go of itself."""
    return {
        "label": label,
        "colour": to_hex(look["color"]),
        "dash": dash_lengths(dash),
        "values": values,
        "reach": 0.0,
        "above": "",
    }


def _curve(line: int, courses: Sequence[np.ndarray]) -> Curve | None:
    """The course of one, or the quantiles of several; None if nothing is known of them."""
    if not any(np.isfinite(course).any() for course in courses):
        return None
    if len(courses) == 1:
        return {"line": line, "values": small(courses[0])}
    held = np.array(courses)
    quantiles = np.full((len(bands.QUANTILES), held.shape[1]), np.nan)
    some = ~np.isnan(held).all(axis=0)
    quantiles[:, some] = np.nanquantile(held[:, some], bands.QUANTILES, axis=0)
    least, low, median, high, most = map(small, quantiles)
    return {"line": line, "values": median, "bands": [(least, most), (low, high)]}
