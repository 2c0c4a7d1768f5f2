"""`cclab plan`: what would run, what the backends cannot do, and about how long it takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rich.box import SIMPLE_HEAD

from cclab import shown
from cclab.cli import options
from cclab.cli.console import count, print_json, print_warnings, tell
from cclab.cli.drawn import Grid, show, stdout, styled
from cclab.cli.progress import duration
from cclab.errors import InputError
from cclab.execute import estimate
from cclab.execute.backends import BACKENDS
from cclab.execute.backends import backend as backend_of
from cclab.machine import cpus
from cclab.measure.summary import folded
from cclab.plan import Plan, Point, Run, companions, short_key, text
from cclab.plan.study import Study
from cclab.sweep import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.documents.scenario import Scenario
    from cclab.plan.companions import Companions, Why

_MOST_ROWS = 40
_WORDS: dict[Why, str] = {
    "solo": "of flows alone",
    "self": "of flows among their own kind",
    "phase": "with shifted starts",
}
"""What runs beside the plan's own are for."""


def plan(
    study: options.StudyFile,
    backend: options.Backend = None,
    repeat: options.Repeat = None,
    seed: options.Seed = None,
    set_: options.Set = None,
    json: options.Json = False,
) -> None:
    """Show what would run, what each backend cannot do, and the estimated time."""
    asked: dict[str, Any] = {"set": set_ or [], "repeat": repeat, "seed": seed}
    loaded = Study.load(study)
    planned = loaded.plan(backend=backend, **asked)
    per_backend = {
        name: _Able.of(planned if name == planned.backend else loaded.plan(backend=name, **asked))
        for name in BACKENDS
    }
    beside = companions.of(planned)
    if json:
        print_json(_document(planned, beside, per_backend))
    else:
        _print(planned, beside, per_backend)
    # Refuses, as `run` would, what the chosen backend cannot do, or not here.
    check(planned).check([*planned.samples, *beside.runs])


@dataclass(frozen=True)
class _Able:
    """What a backend does of a study. The plan that it is known by is let go: it can be large."""

    unsupported: list[dict[str, Any]]
    reasons: list[str]
    """The same in lines."""
    disregarded: list[str]
    absent: str | None
    """What this machine lacks, with the remedies; None if it can run here."""
    seconds: float
    """Estimated time on this machine."""

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """What the backend of `plan` does of it."""
        unsupported = plan.unsupported
        return cls(
            unsupported,
            plan.reasons,
            plan.disregarded,
            None if unsupported else _absent(plan),
            0.0 if unsupported else _estimate([*plan.runs, *companions.of(plan).runs], plan)[1],
        )


def _absent(plan: Plan) -> str | None:
    try:
        backend_of(plan.backend).check(plan.samples)
    except InputError as error:
        return str(error)
    return None


def _print(planned: Plan, beside: Companions, per_backend: dict[str, _Able]) -> None:
    _print_points(planned)
    _print_unsupported(per_backend)
    packets, seconds = _estimate([*planned.runs, *beside.runs], planned)
    least = "" if planned.until is None else "at least "
    tell(
        f"{least}{count(len(planned.runs), 'run')}{_told(beside)}, about {packets:,.0f} packets; "
        f"estimated time on backend {planned.backend} with {cpus()} CPUs: {duration(seconds)}"
    )
    if planned.until is not None:
        possible = planned.possible
        tell(
            f"{planned.until.text}: at most {len(possible)} runs, "
            f"{duration(_estimate(possible, planned)[1])}"
        )
    foreseen = (
        (warning, run.id, index)
        for index, point in enumerate(planned.points)
        for warning in point.foreseen
        for run in point.runs
    )
    print_warnings(folded(foreseen), "Check before you run it; every run will say so:")


def _told(beside: Companions) -> str:
    """The number of extra runs beside the plan's own, and their purpose; empty without any."""
    counts = Counter(why for _, why in beside.reasons())
    if not counts:
        return ""
    parts = ", ".join(f"{counts[why]} {words}" for why, words in _WORDS.items() if counts[why])
    return f" and {counts.total()} beside them ({parts})"


def _print_points(planned: Plan) -> None:
    keys = list(planned.points[0].params)
    stdout().print(styled(shown.line(planned.title), "bold"), soft_wrap=True)
    table = Grid(header_style="bold", box=SIMPLE_HEAD)
    for key in keys:
        table.add_column(short_key(key), no_wrap=True)
    table.add_column("flows", overflow="fold", min_width=16)
    for heading in ("runs", "seeds", "packets (estimate)"):
        table.add_column(heading, justify="right", no_wrap=True)
    for point in planned.points[:_MOST_ROWS]:
        seeds = [run.seed for run in (point.runs[0], point.runs[-1])]
        table.add_row(
            *map(text, point.params.values()),
            _flows(point.scenario),
            _runs(planned, point),
            f"{seeds[0]}" if len(point.runs) == 1 else f"{seeds[0]} … {seeds[1]}",
            f"{estimate.packets(point.scenario) * len(point.runs):,.0f}",
        )
    show(stdout(), table)
    if len(planned.points) > _MOST_ROWS:
        tell(f"{len(planned.points) - _MOST_ROWS} more sweep points; --json shows them all")


def _runs(planned: Plan, point: Point) -> str:
    """How many, or how many at least and at most."""
    runs = str(len(point.runs))
    return runs if planned.until is None else f"{runs} to {planned.until.most}"


def _print_unsupported(per_backend: dict[str, _Able]) -> None:
    for name, able in per_backend.items():
        if able.absent is not None:
            tell(f"backend {name}: can do all of it, but not here: {able.absent}")
        elif not able.unsupported:
            unseen = able.disregarded
            but = f", but takes no notice of {', '.join(unseen)}" if unseen else ""
            tell(f"backend {name}: can do all of it, estimated time {duration(able.seconds)}{but}")
        for reason in able.reasons:
            tell(f"backend {name} cannot do {reason}")


def _estimate(runs: list[Run], planned: Plan) -> tuple[float, float]:
    """Estimated packets in `runs` of the point, and their estimated time on this machine."""
    return estimate.packets_of_all(runs), estimate.seconds_of_all(
        runs, backend_of(planned.backend), cpus()
    )


def _flows(scenario: Scenario) -> str:
    names = [f"{flow['name']} ({flow['cc'] or 'udp'})" for flow in scenario["flows"]]
    return (
        ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
    )


def _ids(runs: Sequence[Run]) -> list[dict[str, Any]]:
    return [{"id": run.id, "seed": run.seed} for run in runs]


def _document(planned: Plan, beside: Companions, per_backend: dict[str, _Able]) -> dict[str, Any]:
    packets, seconds = _estimate([*planned.runs, *beside.runs], planned)
    return {
        "schema": "cclab-plan/1",
        "study": planned.description(),
        "points": [
            {
                "params": point.params,
                "runs": _ids(point.runs),
                **({"spare": spare} if (spare := _ids(point.spare)) else {}),
                "unsupported": point.unsupported,
                "warnings": point.foreseen,
            }
            for point in planned.points
        ],
        "beside": [{"id": run.id, "seed": run.seed, "for": why} for run, why in beside.reasons()],
        "backends": {
            name: {
                "unsupported": able.unsupported,
                "absent": able.absent,
                "disregarded": able.disregarded,
            }
            for name, able in per_backend.items()
        },
        "estimate": {"packets": packets, "time_s": seconds},
    }
