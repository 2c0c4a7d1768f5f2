"""Whether everything in a store is as it was written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.errors import DamagedPlanError
from cclab.store import made
from cclab.store.folder import ENDING, INDEX, PLAN
from cclab.store.gc import needed_by, plans_of
from cclab.store.index import Index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cclab.store.folder import Store


@dataclass
class Health:
    """What was found in a store, every byte of it read."""

    sound: int = 0
    """Runs that are as they were written."""
    torn: list[str] = field(default_factory=list)
    """Runs whose file, or a capture that it lists, is not what its digest says."""
    foreign: list[str] = field(default_factory=list)
    """Files of another run than their name says, and what is no run's file."""
    plans: list[str] = field(default_factory=list)
    """Plans that are not what they are named by, and the last one run if it is not kept."""
    derived: list[str] = field(default_factory=list)
    """The index, if it is not of these runs, and files of the report that are not as they were
    written; they can be made again."""
    remedies: list[str] = field(default_factory=list)
    """What makes the folder whole again, in the order in which it is to be done."""

    @property
    def whole(self) -> bool:
        """Whether nothing is damaged but what can be made again without running anything."""
        return not (self.torn or self.foreign or self.plans)

    def document(self) -> dict[str, Any]:
        """As `cclab store verify --json` prints it."""
        return {
            "schema": "cclab-store-verify/2",
            "whole": self.whole,
            "sound": self.sound,
            "torn": self.torn,
            "foreign": self.foreign,
            "plans": self.plans,
            "derived": self.derived,
            "remedies": self.remedies,
        }


def examine(store: Store) -> Health:
    """Reads everything in `store` and compares it with what it was. Changes nothing."""
    store.check_version()
    health = Health()
    runs = sorted(store.ids())
    states = store.states(runs, contents=True)
    told = store.told(runs, whole=False)
    digests = {}
    for run, state in zip(runs, states, strict=True):
        said = told.get(run)
        if state == "absent":
            continue  # it went meanwhile
        if state == "foreign":
            health.foreign.append(run)
        elif state == "damaged" or said is None:
            health.torn.append(run)
        elif not is_of(run, said.asked):
            health.foreign.append(run)
        else:
            health.sound += 1
            digests[run] = said.sha256
    health.foreign += [name for name in store.names() if not name.endswith(ENDING)]
    health.foreign.sort()
    damaged = store.damaged_plans()
    health.plans = [file.name for file in damaged]
    index = Index(store).differing(digests)
    report = made.differing(store.report)
    health.derived = [*index, *(f"{store.report.name}/{name}" for name in report)]
    health.remedies = list(_remedies(store, health, damaged))
    return health


def _remedies(store: Store, health: Health, damaged: list[Path]) -> Iterator[str]:
    """What mends what `health` names; nothing else is known of runs as long as a plan is
    `damaged`."""
    for file in damaged:
        try:
            store.plan_in(file)
        except DamagedPlanError as error:
            yield str(error)
    bad = {*health.torn, *health.foreign}
    if bad and damaged:
        yield f"`cclab store verify {store.path}` then says what mends the runs"
    elif bad:
        left = bad
        for file, plan in plans_of(store).items():
            mine = left & needed_by(plan.longest)
            left = left - mine
            if mine and file.name == PLAN:
                yield f"`cclab run {store.path}` does {_runs(mine)} again"
            elif mine:
                again = f"`cclab run STUDY.toml --out {store.path}` does {_runs(mine)} again"
                yield f"{again}, with the study {plan.name} as it was for {file}"
        if left:
            yield f"`cclab store gc {store.path}` removes {_runs(left)} that no plan needs"
    if any(name == INDEX for name in health.derived):
        yield f"`cclab store gc {store.path}` makes the index again"
    if any(name != INDEX for name in health.derived):
        yield f"`cclab report {store.path}` makes the report again"


def _runs(names: set[str]) -> str:
    return f"{len(names)} file{'' if len(names) == 1 else 's'}"


def is_of(run: str, asked: str) -> bool:
    """Whether what was asked of a run is what its id is the hash of."""
    try:
        says = json.loads(asked)
        scenario = json.dumps(says["scenario"])
        name = _core.run_id(scenario, says["seed"], says["backend"], says["version"])
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return False
    return bool(name == run == says["id"])
