"""Which runs have their course over time on the page, and in how many steps."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from cclab import shared
from cclab.report.explore import course
from cclab.report.explore.distributions import MOST_POINTS, Distributions
from cclab.report.explore.runs import evenly
from cclab.report.figures import completion, queue
from cclab.report.figures.panels import flow_lines, groups_of
from cclab.report.figures.sequence import MOST_CROSSES
from cclab.report.quantities import transfers
from cclab.store.trace import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cclab.measure.points import Measured, Point
    from cclab.report.explore.document import Course

BUDGET = 20_000_000
"""Bytes of the page that time series may take."""

MOST_RUNS = 2_000
"""Runs whose traces are read."""

STEPS = 240
"""Points of a series where there is room for no more: each stands for as long a part of the run."""

MOST_STEPS = 2_400
"""Points of a series where there is: a screen is not wider."""

FINE = 8_000_000
"""Bytes up to which series have more than `STEPS` points: a page is to open at once."""

_AT_A_TIME = 50
"""Runs whose traces are in memory at once."""


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


def _size(run: Measured, steps: int = STEPS) -> int:
    """About how many bytes the course of a run takes in the page."""
    flows, graph = len(run.metrics["flows"]), run.run.scenario["network"].get("graph")
    queues = min(queue.MOST_QUEUES, len(graph["links"])) if graph else 1
    # A flow's window has its threshold beside it, and a queue the ticks of its drops. A group of
    # flows has five quantiles.
    of_flows = (len(course.OF_FLOWS) + 1) * (flows if flows <= course.MOST_FLOWS else 5 * 2)
    series = of_flows + 2 * queues + len(run.metrics.get("probes", []))
    # Two bytes for each point, in base64, and its head; a cross has a time and a value.
    crosses = 0 if flows > course.MOST_FLOWS else _packed(2 * MOST_CROSSES) + 160 * flows
    lines = len(run.metrics["bottleneck"].get("bands", [])) + len(run.metrics.get("probes", []))
    completing = min(flows // completion.LEAST, completion.MOST_LINES)
    # Two times 32 bits for each point.
    distributions = (lines + completing) * (_packed(4 * MOST_POINTS) + 120)
    return series * (_packed(steps) + 80) + crosses + distributions


def _packed(numbers: int) -> int:
    """About how many bytes numbers take."""
    return 4 * (2 * numbers // 3)


def steps(shown: Sequence[tuple[Point, Measured]], places: Sequence[int]) -> int:
    """Points of a series, if those of the runs at `places` are on the page."""
    coarse, fine = (sum(_size(shown[place][1], n) for place in places) for n in (STEPS, MOST_STEPS))
    if coarse >= FINE:
        return STEPS
    room = (FINE - coarse) / max(1, fine - coarse)
    return STEPS + int(min(1.0, room) * (MOST_STEPS - STEPS))


@contextlib.contextmanager
def begun(
    shown: Sequence[tuple[Point, Measured]], places: Sequence[int], steps: int
) -> Iterator[Callable[[], tuple[dict[str, Course], list[str]]]]:
    """The series of the runs at `places`, by place, without those that recorded no samples; and the
    phases that are in them, by number. What it gives waits for them."""
    sampled = [place for place in places if shown[place][1].is_sampled]
    points = {point.index: point for point, _ in shown}
    # A flow looks the same in all runs.
    lines = flow_lines([point.flows for point in points.values()])
    flows = dict(zip(points, lines, strict=True))
    alike = {
        index: course.Alike(points[index].runs[0].run, flows[index], groups_of(points[index].flows))
        for index in {shown[place][0].index for place in sampled}
    }
    distributions = Distributions(list(points.values()))
    phases: dict[str, int] = {}

    def of_part(part: Sequence[int]) -> dict[str, Course]:
        made = {}
        runs = [shown[place][1] for place in part]
        for place, run, read in zip(
            part, runs, columns_of([run.trace for run in runs], course.READ), strict=True
        ):
            point = shown[place][0]
            drawn = course.of_run(run, read, alike[point.index], steps, phases)
            if drawn:
                drawn["distributions"] = distributions.of(point, run, read)
                made[str(place)] = drawn
        return made

    parts = [
        partial(of_part, sampled[start : start + _AT_A_TIME])
        for start in range(0, len(sampled), _AT_A_TIME)
    ]
    alone = all(_is_alone(*shown[place]) for place in sampled)
    with shared.begun(parts if alone else []) as pieces:

        def drawn() -> tuple[dict[str, Course], list[str]]:
            courses = pieces.done() if alone else [part() for part in parts]
            return {place: one for of in courses for place, one in of.items()}, list(phases)

        yield drawn


def _is_alone(point: Point, run: Measured) -> bool:
    """Whether what the page has of a run depends on no run before it, as numbers of phases and
    looks of transfers do, and needs no query of its trace, as phases and named queues do."""
    return not (
        "state" in run.run.scenario["trace"]["events"]
        or run.metrics["bottleneck"].get("bands")
        or transfers(point)
    )
