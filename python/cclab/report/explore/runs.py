"""The runs of a sweep as columns: what was swept, every metric, and how to run each again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cclab import shown
from cclab.drawing.palette import look
from cclab.errors import InputError
from cclab.plan import short_key
from cclab.report.explore.course import QUANTITIES
from cclab.report.explore.numbers import packed
from cclab.report.figures import phases, throughput
from cclab.report.quantities import Quantity
from cclab.report.swept import axes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.measure.numbers import Numbers
    from cclab.measure.points import Measured, Point
    from cclab.measure.results import Results
    from cclab.plan import Plan
    from cclab.report.explore.document import Course, Key, Metric, SweepPage, Unit

MOST_RUNS = 20_000
"""Most points of a scatter; more would hide each other and make the page slow to open."""

_UNITS: dict[str, Unit] = {
    "percentage": "share",
    "rate": "rate",
    "duration": "time",
    "delay": "time",
    "size": "bytes",
}
"""How the page's program shows a number, by what it is one of."""

BUDGET = 13_000_000
"""Bytes of the page that metrics may take."""

MOST_METRICS = 2_000
"""Metrics to choose from; more would make the lists slow."""

_HEAD = 200
"""About how many bytes a metric takes beside its numbers."""

_ASKED_FIRST = ("goodput_bps", "share", "fct_s", "rtt_p95_s")
"""What is asked first of a flow: it is kept of every flow before anything else is of one."""

_HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B8A000", "#777777")
_MARKERS = "osD^vPX"

_COMMAND = "cclab run plan.json --out again --only"
"""The command that repeats a run, without its id. The results folder has the plan, whatever study
file and `--set` made it."""


def chosen(results: Results, wanted: Sequence[str] = ()) -> list[tuple[Point, Measured]]:
    """The runs to show: all, or the first run of each sweep point, or of evenly chosen ones.

    Those whose ids begin with one of `wanted` are among them. Raises `InputError` if no id, or
    several, begin with one of `wanted`.
    """
    every = [(point, run) for point in results.points for run in point.runs]
    asked = [begins(every, beginning) for beginning in wanted]
    rounds: list[list[tuple[Point, Measured]]] = []
    for point in results.points:
        for nth, run in enumerate(point.runs):
            if nth == len(rounds):
                rounds.append([])
            rounds[nth].append((point, run))
    taken = _in_turn(rounds, MOST_RUNS)
    ids = {run.run.id for _, run in taken}
    taken += [pair for pair in asked if pair[1].run.id not in ids]
    return sorted(taken, key=lambda pair: pair[0].index)


def begins(every: Sequence[tuple[Point, Measured]], beginning: str) -> tuple[Point, Measured]:
    """The run whose id begins so. Raises `InputError` if there is none, or several."""
    runs = {run.run.id: (point, run) for point, run in every if run.run.id.startswith(beginning)}
    if len(runs) != 1:
        raise InputError(f"{len(runs)} runs have an id that begins with {shown.quoted(beginning)}")
    return next(iter(runs.values()))


def _in_turn(rounds: list[list[tuple[Point, Measured]]], room: int) -> list[tuple[Point, Measured]]:
    """The runs for which there is room: whole rounds, then evenly chosen members of the next."""
    taken: list[tuple[Point, Measured]] = []
    for members in rounds:
        left = room - len(taken)
        taken += [members[place] for place in evenly(len(members), left)]
        if len(members) > left:
            break
    return taken


def evenly(count: int, room: int) -> list[int]:
    """`room` of `count` places, as far apart as possible; all if they fit."""
    if count <= room:
        return list(range(count))
    return [place * count // room for place in range(room)]


def metric_names(shown: Sequence[tuple[Point, Measured]]) -> tuple[list[str], int]:
    """The metrics that fit into the page, and how many do not.

    Those of the run and of probes come first, then what is asked first of each flow.
    """
    names = list(dict.fromkeys(name for _, run in shown for name in run.numbers))
    names.sort(key=lambda name: name.startswith(("flow.", "traffic.", "probe.")))
    # Four bytes for each number, in base64.
    room = min(MOST_METRICS, BUDGET // (_HEAD + 16 * len(shown) // 3))
    kept = set(sorted(names, key=_rank)[:room])
    return [name for name in names if name in kept], len(names) - len(kept)


def _rank(name: str) -> int:
    """How late it is left out, from 0 up."""
    if not name.startswith(("flow.", "traffic.")):
        return 0
    return 1 if Quantity(name).metric.removeprefix("window_") in _ASKED_FIRST else 2


def table(
    plan: Plan,
    shown: list[tuple[Point, Measured]],
    names: Sequence[str],
    courses: dict[str, Course],
    told: Sequence[str],
) -> SweepPage:
    """The keys, the metrics of these `names`, the runs and their courses, with the phases that
    these tell, as the page's program reads them."""
    measured = [run.numbers for _, run in shown]
    return {
        "command": _COMMAND,
        "keys": _keys(plan, shown),
        "metrics": [_metric(name, measured) for name in names],
        "ids": [run.run.id for _, run in shown],
        "seeds": [str(run.run.seed) for _, run in shown],
        "quantities": QUANTITIES,
        "bins": throughput.BINS,
        "phases": [(name, *phases.look(n)) for n, name in enumerate(told)],
        "series": courses,
    }


def _metric(name: str, measured: list[Numbers]) -> Metric:
    quantity = Quantity(name)
    numbers = np.array([row.get(name, np.nan) for row in measured], dtype="<f4")
    owner = f"{quantity.owner}: " if quantity.owner else ""
    return {
        "name": name,
        "label": f"{owner}{quantity.title}{', after warm-up' if quantity.is_of_window else ''}",
        "unit": _unit(quantity),
        "values": packed(numbers),
    }


def _unit(quantity: Quantity) -> Unit:
    return _UNITS.get(quantity.kind, "plain")


def _keys(plan: Plan, shown: list[tuple[Point, Measured]]) -> list[Key]:
    """Each swept key: its values in order, and the place in them of each run."""
    keys: list[Key] = []
    points = {point.index: point for point, _ in shown}
    for key in plan.points[0].params:
        [axis] = axes_of([{key: point.params[key]} for point in plan.points]) or [None]
        if axis is None:
            continue
        variants = axis.of_variants
        places = {index: axis.place(point.params) for index, point in points.items()}
        keys.append(
            {
                "key": key,
                "label": short_key(key),
                "values": list(axis.texts),
                "numbers": None if axis.numbers is None else list(axis.numbers),
                "looks": [_look(value, nth, variants) for nth, value in enumerate(axis.texts)],
                "variants": variants,
                "places": packed(
                    np.array([places[point.index] for point, _ in shown], dtype="<u2")
                ),
            }
        )
    return keys


def _look(value: str, nth: int, variant: bool) -> tuple[str, str]:
    """Colour and marker of a value: the variant's own, else one of a row of them."""
    if variant:
        own = look(value)
        return own.colour, own.marker
    return _HUES[nth % len(_HUES)], _MARKERS[nth // len(_HUES) % len(_MARKERS)]
