"""A study from Python: the same path as the command line."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import versions
from cclab.errors import InputError, OpenClusterWarning
from cclab.execute.address import Scheduler
from cclab.late import late
from cclab.plan.outdated import outdated
from cclab.plan.study import Study
from cclab.store import Store
from cclab.store.folder import PLAN, folder_called
from cclab.sweep import carry_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab import results
    from cclab.execute import Listener
    from cclab.plan import Plan
    from cclab.results import Results
else:
    results = late("cclab.results")


def run(
    study: str | Path | Study,
    *,
    out: str | Path | None = None,
    backend: str | None = None,
    repeat: int | str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    set: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    listener: Listener | None = None,
) -> Results:
    """Runs what is missing of a study and measures all of it.

    `study` is the path of a study file, or of a results folder, whose last plan is gone on with;
    `out` is the results folder (`results/NAME`, or that folder, if None);
    `backend`, `repeat` and `seed` replace what the study says, and each of `set` one key
    (`"duration=10s"`); of what is missing, only the runs are done whose ids begin with one of
    `only`, if there are any; `jobs` is the number of runs at a time (one per CPU if None), and
    `cluster` the file of `cclab cluster local`, or the address of a Dask scheduler, whose workers
    do them in place of this machine.

    Raises `StudyError` or `InputError` for wrong input, `StoreError` if `out` cannot be used,
    and `RunsFailedError` if runs fail: the others are done all the same, and stay in the folder.
    Warns with `OpenClusterWarning` of a scheduler that obeys whoever reaches it.
    """
    scheduler = scheduler_of(cluster)
    plan = planned(study, set=set, backend=backend, repeat=repeat, seed=seed)
    store = store_of(plan, out if out is not None else results_folder(study))
    return carry_out(plan, store, only=each(only), jobs=jobs, cluster=scheduler, listener=listener)


def scheduler_of(cluster: str | None, *, stacklevel: int = 3) -> Scheduler | None:
    """The scheduler of `cluster`, as `run` takes it; of its dangers a caller is warned, by default
    the caller's own."""
    if cluster is None:
        return None
    scheduler = Scheduler.of(cluster)
    if scheduler.danger is not None:
        warnings.warn(scheduler.danger, OpenClusterWarning, stacklevel=stacklevel)
    return scheduler


def planned(
    study: str | Path | Study,
    *,
    set: str | Sequence[str] = (),
    backend: str | None = None,
    repeat: int | str | None = None,
    seed: int | None = None,
) -> Plan:
    """The plan of a study, or the one last run in a results folder; see `run`.

    Raises `StudyError` or `InputError` for wrong input, and `StoreError` if the folder's plan
    cannot be read.
    """
    folder = results_folder(study)
    if folder is None:
        loaded = study if isinstance(study, Study) else Study.load(study)
        return loaded.plan(set=list(each(set)), backend=backend, repeat=repeat, seed=seed)
    if set or (backend, repeat, seed) != (None, None, None):
        raise InputError(
            f"{folder} is a results folder: what is set, the backend, repeats and the seed are "
            "those of its plan; to have others, name the study's file"
        )
    plan = Store(folder).plan()
    for run, here in outdated(plan.runs).values():
        theirs, ours = versions.apart(run.version, here)
        raise InputError(
            f"the plan in {folder} is of {theirs}, and this is {ours}: its results would be "
            "others; run the study's file"
        )
    # The runs that may follow by a rule for repeats are not kept.
    return plan.longest.first


def results_folder(study: str | Path | Study) -> Path | None:
    """The results folder that `study` is the path of, or of whose plan; None of a study."""
    if isinstance(study, Study):
        return None
    path = Path(study)
    if path.name == PLAN:
        return path.parent
    there = any(os.path.lexists(path / name) for name in (PLAN, "plans", "runs"))
    return path if path.is_dir() and there else None


def each(texts: str | Sequence[str]) -> tuple[str, ...]:
    """The texts; one alone stands for a list of it, not for its letters."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def store_of(plan: Plan, out: str | Path | None) -> Store:
    """The results folder `out`, or the one that is the plan's own."""
    return Store(out if out is not None else folder_called(plan.name))


def show(
    folder: str | Path, run: str | None = None, beside: str | None = None, *, open: bool = True
) -> str:
    """Opens the page of a results folder, as `Results.show` does.

    Raises as `load` does, and `InputError` if there are no such runs.
    """
    return load(folder).show(run, beside, open=open)


def load(folder: str | Path) -> Results:
    """The results of the study last run in `folder`, from the folder alone.

    Raises `StoreError` if it is not a results folder, and `DamageError` if runs in it cannot be
    read.
    """
    store = Store(folder)
    plan = store.plan()
    return results.Results.of(store, plan)
