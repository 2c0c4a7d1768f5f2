"""Whether everything in a store is as it was written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.plan import Plan
from cclab.store.folder import ENDING, PLAN
from cclab.store.index import Index

if TYPE_CHECKING:
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
    """The index, if it is not of these runs; it can be made again."""

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
    health.plans = [file.name for file in torn_plans(store)]
    health.derived = Index(store).differing(digests)
    return health


def torn_plans(store: Store) -> list[Path]:
    """The plans of `store` that are not as they were written.

    The one last run is kept under its hash as well, unless it still grows by its rule.
    """
    kept = sorted(store.plans.glob("*.json"))
    torn = [file for file in kept if store.place_of_text(file.read_bytes()) != file]
    last = store.path / PLAN
    if last.is_file():
        content = last.read_bytes()
        try:
            grows = Plan.from_json(content.decode()).until is not None
        except (ValueError, LookupError, TypeError):
            return [last, *torn]
        if kept and not grows and store.place_of_text(content) not in kept:
            return [last, *torn]
    return torn


def is_of(run: str, asked: str) -> bool:
    """Whether what was asked of a run is what its id is the hash of."""
    try:
        says = json.loads(asked)
        scenario = json.dumps(says["scenario"])
        name = _core.run_id(scenario, says["seed"], says["backend"], says["version"])
    except (ValueError, LookupError, TypeError, OverflowError):
        return False
    return bool(name == run == says["id"])
