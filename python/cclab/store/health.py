"""Whether everything in a store is as it was written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cclab import _core, shell
from cclab.errors import RunError, StoreError
from cclab.store import made
from cclab.store.folder import ENDING, INDEX, PLAN, names_in
from cclab.store.gc import needed_by
from cclab.store.index import Index
from cclab.store.index.file import runs_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set
    from pathlib import Path

    from cclab.errors import DamagedPlanError
    from cclab.plan import Plan
    from cclab.store.folder import Store
    from cclab.store.trace import Trace


@dataclass
class Health:
    """What was found in a store, every byte of it read."""

    sound: int = 0
    """Runs that are as they were written."""
    torn: list[str] = field(default_factory=list)
    """Runs whose file, or a capture that it lists, is not what its digest says."""
    foreign: list[str] = field(default_factory=list)
    """Files of another run than their name says, and what is no run's file."""
    gone: list[str] = field(default_factory=list)
    """Runs that a plan needs and the index has rows of, and that are not there any more."""
    plans: list[str] = field(default_factory=list)
    """Plans that are not what they are named by, and the last one run if it is not kept."""
    derived: list[str] = field(default_factory=list)
    """The index, if it is not of these runs, and files of the report that are not as they were
    written; they can be made again."""
    strays: list[str] = field(default_factory=list)
    """What is in the folder of the report and is no file that can be read, and what is among the
    captures and of no run."""
    remedies: list[str] = field(default_factory=list)
    """What makes the folder whole again, in the order in which it is to be done."""

    @property
    def whole(self) -> bool:
        """Whether nothing is damaged but what can be made again without running anything."""
        return not (self.torn or self.foreign or self.gone or self.plans)

    def document(self) -> dict[str, Any]:
        """As `cclab store verify --json` prints it."""
        return {
            "schema": "cclab-store-verify/2",
            "whole": self.whole,
            "sound": self.sound,
            "torn": self.torn,
            "foreign": self.foreign,
            "gone": self.gone,
            "plans": self.plans,
            "derived": self.derived,
            "strays": self.strays,
            "remedies": self.remedies,
        }


def examine(store: Store) -> Health:
    """Reads everything in `store` and compares it with what it was. Changes nothing."""
    store.check_version()
    health = Health()
    runs = sorted(store.ids())
    states = store.states(runs, contents=True)
    of_files = store.told(runs, whole=False)
    digests = {}
    for run, state in zip(runs, states, strict=True):
        of_file = of_files.get(run)
        if state == "absent":
            continue  # it went meanwhile
        if state == "foreign":
            health.foreign.append(run)
        elif state == "damaged" or of_file is None:
            health.torn.append(run)
        elif not is_of(run, of_file.asked):
            health.foreign.append(run)
        else:
            health.sound += 1
            digests[run] = of_file.sha256
    health.foreign += [name for name in store.names() if not name.endswith(ENDING)]
    health.foreign.sort()
    plans, damaged = store.read_plans()
    health.plans = [file.name for file in damaged]
    health.gone = _gone(store, plans, damaged)
    index = Index(store).differing(digests)
    report = made.differing(store.report)
    health.derived = [*index, *(f"{store.report.name}/{name}" for name in report)]
    health.strays = [
        *(f"{store.report.name}/{name}" for name in made.strays(store.report)),
        *(f"{store.captures.name}/{name}" for name in _of_no_run(store, digests.keys())),
    ]
    health.remedies = list(_remedies(store, health, plans, damaged))
    return health


def damaged_files(store: Store, run: str) -> list[Path]:
    """What of `run`, which is torn, is not as it was written: its file, or captures beside it."""
    file, trace = store.file(run), store.trace(run)
    if store.told([run], whole=True).get(run) is None:
        return [file]
    try:
        captures = [trace.captures / name for name in trace.listed_captures()]
    except (RunError, StoreError):
        return [file]
    return [capture for capture in captures if not _is_as_written(trace, capture)] or [file]


def _is_as_written(trace: Trace, capture: Path) -> bool:
    try:
        return trace.is_as_written(capture.name)
    except RunError:
        return False


def _of_no_run(store: Store, sound: Set[str]) -> Iterator[str]:
    """What is among the captures and no run lists. Of runs that are not `sound` nobody knows."""
    if not store.captures.is_dir():
        return
    for run in names_in(store.captures):
        place = store.captures / run
        if not place.is_dir():
            yield run
        elif run in sound:
            listed = store.trace(run).listed_captures()
            yield from (f"{run}/{name}" for name in names_in(place) if name not in listed)


def _gone(
    store: Store, plans: Mapping[Path, Plan], damaged: Mapping[Path, DamagedPlanError]
) -> list[str]:
    """The runs that the index knows and that are not there, unless no plan needs them."""
    gone = runs_in(store.path / INDEX) - store.ids()
    if gone and not damaged:
        gone &= set().union(*(needed_by(plan.longest) for plan in plans.values()))
    return sorted(gone)


def _remedies(
    store: Store,
    health: Health,
    plans: Mapping[Path, Plan],
    damaged: Mapping[Path, DamagedPlanError],
) -> Iterator[str]:
    """What mends what `health` names; nothing else is known of runs as long as a plan is
    `damaged`."""
    yield from map(str, damaged.values())
    bad = {*health.torn, *health.foreign, *health.gone}
    if bad and damaged:
        verify = shell.command("cclab", "store", "verify", store.path)
        yield f"{verify} then says what mends the runs"
    elif bad:
        for file, plan in plans.items():
            of_plan = bad & needed_by(plan.longest)
            bad -= of_plan
            if of_plan and file.name == PLAN:
                command = shell.command("cclab", "run", store.path)
                yield f"{command} does {_count(of_plan, 'run')} again"
            elif of_plan:
                command = shell.command("cclab", "run", "STUDY.toml", "--out", store.path)
                again = f"{command} does {_count(of_plan, 'run')} again"
                yield f"{again}, with the study {plan.name} as it was for {file}"
        if bad:
            command = shell.command("cclab", "store", "gc", store.path)
            yield f"{command} removes {_count(bad, 'file')} that no plan needs"
    for name in health.strays:
        place = store.path / name
        words = ("rm", "-r") if place.is_dir() and not place.is_symlink() else ("rm",)
        yield f"{shell.command(*words, place)} removes what cclab did not write there"
    if any(name == INDEX for name in health.derived):
        yield f"{shell.command('cclab', 'store', 'gc', store.path)} makes the index again"
    if any(name != INDEX for name in health.derived):
        yield f"{shell.command('cclab', 'report', store.path)} makes the report again"


def _count(names: set[str], noun: str) -> str:
    return f"{len(names)} {noun}{'' if len(names) == 1 else 's'}"


def is_of(run: str, asked: str) -> bool:
    """Whether what was asked of a run is what its id is the hash of."""
    try:
        says = json.loads(asked)
        scenario = json.dumps(says["scenario"])
        name = _core.run_id(scenario, says["seed"], says["backend"], says["version"])
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return False
    return bool(name == run == says["id"])
