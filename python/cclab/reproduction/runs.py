"""The runs of a published study: plans them, and runs the missing ones."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from cclab import shown, sweep, whole
from cclab.errors import InputError, StudyError
from cclab.plan.study import Study
from cclab.reproduction.file import NAME
from cclab.store import Store
from cclab.store.folder import TIMED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cclab.execute import Listener
    from cclab.measure.results import Results
    from cclab.plan import Plan
    from cclab.reproduction.file import Published
    from cclab.reproduction.schema import Experiment


@dataclass(frozen=True)
class Planned:
    """An experiment on one backend."""

    experiment: Experiment
    backend: str
    plan: Plan
    store: Store

    @property
    def whole(self) -> bool:
        """Whether its store has every run."""
        return not self.store.missing(self.plan)


@dataclass(frozen=True)
class Done:
    """An experiment that was carried out."""

    planned: Planned
    results: Results
    ran: int
    """Runs done now."""
    timed: Timed
    """What its runs took, those of earlier commands included."""


@dataclass(frozen=True)
class Timed:
    """The real time that runs took, kept beside a store, because runs hold nothing that depends
    on when or where."""

    runs: int = 0
    wall_s: float = 0.0

    @classmethod
    def of(cls, store: Store) -> Timed:
        """What is kept beside `store`; nothing if that is nothing or damaged."""
        try:
            return cls(**json.loads((store.path / TIMED).read_bytes()))
        except (OSError, ValueError, TypeError):
            return cls()

    def keep(self, store: Store) -> None:
        """Keeps it beside `store`. Raises `StoreError` if that cannot be written."""
        whole.file(store.path / TIMED, (json.dumps(asdict(self)) + "\n").encode())


def plan(published: Published, out: Path, *, short: bool = False) -> list[Planned]:
    """Every experiment on every backend that it runs on.

    Raises `StudyError` or `InputError` where a study file is wrong or its backend cannot do it,
    before anything runs.
    """
    planned = []
    for experiment in published.says.experiment:
        for name in experiment.backends:
            if not (short and name in experiment.short.skip):
                planned.append(_planned(published, experiment, name, out, short))
    return planned


def _planned(
    published: Published, experiment: Experiment, backend: str, out: Path, short: bool
) -> Planned:
    on = experiment.on.get(backend)
    study = Study.load(published.folder / (on.study if on and on.study else experiment.study))
    replaced = [*experiment.set, *(on.set if on else ()), *(experiment.short.set if short else ())]
    repeat = experiment.short.repeat if short else experiment.repeat.get(backend)
    try:
        made = study.plan(set=replaced, backend=backend, repeat=repeat)
        sweep.check(made)
    except (StudyError, InputError) as error:
        where = (
            f"{published.folder / NAME}: experiment {shown.quoted(experiment.name)} on {backend}"
        )
        raise InputError(f"{where}: {error}") from None
    folder = out / published.name / f"{experiment.name}-{backend}"
    return Planned(experiment, backend, made, Store(folder))


def carry_out(
    planned: Sequence[Planned],
    *,
    jobs: int | None = None,
    listener: Callable[[Planned], Listener | None] = lambda _: None,
) -> list[Done]:
    """Does what is missing of each, and measures all."""
    done = []
    for experiment in planned:
        missing = experiment.store.survey(experiment.plan).missing
        timed = Timed.of(experiment.store) if len(missing) < len(experiment.plan.runs) else Timed()
        began = time.monotonic()
        results = sweep.carry_out(
            experiment.plan,
            experiment.store,
            missing=missing,
            jobs=jobs,
            listener=listener(experiment),
        )
        if missing:
            wall_s = timed.wall_s + time.monotonic() - began
            timed = Timed(timed.runs + len(missing), wall_s)
            timed.keep(experiment.store)
        done.append(Done(experiment, results, len(missing), timed))
    return done
