"""A study from Python: the same path as the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import phase
from cclab.backends import backend as find_backend
from cclab.errors import DamageError, InputError, RunError
from cclab.execute import execute
from cclab.store import Store
from cclab.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.backends import Backend
    from cclab.execute import Listener
    from cclab.plan import Plan, Run
    from cclab.results import Results
    from cclab.store import Writer

RESULTS = Path("results")
"""Where stores go that nobody names: one folder per study."""


def run(
    study: str | Path | Study,
    *,
    out: str | Path | None = None,
    backend: str | None = None,
    repeat: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    set: Sequence[str] = (),
    listener: Listener | None = None,
) -> Results:
    """Runs what is missing of a study and measures all of it.

    `study` is the path of a study file; `out` the results folder (`results/NAME` if None);
    `backend`, `repeat` and `seed` replace what the study says, and each of `set` one key
    (`"duration=10s"`); `jobs` is the number of runs at a time (one per CPU if None).

    Raises `StudyError` or `InputError` for wrong input, `StoreError` if `out` cannot be used,
    and `RunError` if a run fails; what was done by then stays in the folder.
    """
    loaded = study if isinstance(study, Study) else Study.load(study)
    plan = loaded.plan(set=list(set), backend=backend, repeat=repeat, seed=seed)
    return carry_out(plan, store_of(plan, out), jobs=jobs, listener=listener)


def carry_out(
    plan: Plan,
    store: Store,
    *,
    missing: list[Run] | None = None,
    jobs: int | None = None,
    listener: Listener | None = None,
) -> Results:
    """Runs what `store` misses of `plan` and measures all of it; see `run`.

    `missing` are the runs to do, if they are known already.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}; it must be at least 1")
    backend = check(plan)
    todo = store.survey(plan).missing if missing is None else missing
    planned = {run.id for run in plan.runs}
    shifted = {run.id: run for runs in phase.runs_of(plan).values() for run in runs}
    absent = [r for r in shifted.values() if r.id not in planned and not store.sound(r.id)]
    todo = [*todo, *absent]
    if todo:
        backend.check(todo)
    with store.writer() as writer:
        writer.save_plan(plan)
        _execute_all(todo, backend, writer, jobs, listener)
        try:
            return _measured(store, plan)
        except DamageError as error:
            # Whole by its manifest and yet unreadable: another build of this version wrote it.
            unreadable = [run for run in plan.runs if run.id in error.damaged]
            for run in unreadable:
                writer.discard(run.id)
            _execute_all(unreadable, backend, writer, jobs, listener)
    return _measured(store, plan)


def _execute_all(
    runs: list[Run], backend: Backend, writer: Writer, jobs: int | None, listener: Listener | None
) -> None:
    at_a_time = min(jobs or cpus(), backend.most_jobs or sys.maxsize)
    failed = execute(runs, backend, writer, at_a_time, listener)
    if failed:
        raise RunError("\n".join(f"run {run.id} (seed {run.seed}): {why}" for run, why in failed))


def check(plan: Plan) -> Backend:
    """The backend of `plan`. Raises `InputError` if there is none or it cannot do the study."""
    backend = find_backend(plan.backend)
    if plan.unsupported:
        lines = [f"backend {plan.backend!r} of this version does not do:"]
        lines += [f"  {reason}" for reason in plan.refusals]
        raise InputError("\n".join(lines))
    return backend


def store_of(plan: Plan, out: str | Path | None) -> Store:
    """The results folder `out`, or the one that is the plan's own."""
    return Store(out if out is not None else RESULTS / plan.name)


def load(folder: str | Path) -> Results:
    """The results of the study last run in `folder`, from the folder alone.

    Raises `StoreError` if it is not a results folder, and `DamageError` if runs in it cannot be
    read.
    """
    store = Store(folder)
    plan = store.plan()
    return _measured(store, plan)


def _measured(store: Store, plan: Plan) -> Results:
    # Its libraries take longer to load than many commands to run.
    from cclab import results

    return results.measure(store, plan)


def cpus() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0))
