"""A study from Python: the same path as the command line."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab import companions, kernel, versions
from cclab.backends import backend as find_backend
from cclab.backends import outdated
from cclab.errors import DamageError, InputError, RunsFailedError, StoreError
from cclab.execute import execute
from cclab.execute.address import check_address
from cclab.execute.crew import Local
from cclab.execute.state import Rounds
from cclab.index import Index
from cclab.repeats import Growth
from cclab.store import Store
from cclab.store.folder import PLAN, RESULTS
from cclab.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cclab.backends import Backend
    from cclab.execute import Listener
    from cclab.execute.crew import Crew
    from cclab.plan import Plan, Run
    from cclab.results import Results
    from cclab.store import Writer


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
    `cluster` the address of a Dask scheduler whose workers do them in place of this machine.

    Raises `StudyError` or `InputError` for wrong input, `StoreError` if `out` cannot be used,
    and `RunsFailedError` if runs fail: the others are done all the same, and stay in the folder.
    """
    plan = planned(study, set=set, backend=backend, repeat=repeat, seed=seed)
    store = store_of(plan, out if out is not None else results_folder(study))
    return carry_out(plan, store, only=each(only), jobs=jobs, cluster=cluster, listener=listener)


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
    return plan


def results_folder(study: str | Path | Study) -> Path | None:
    """The results folder that `study` is the path of, or of whose plan; None of a study."""
    if isinstance(study, Study):
        return None
    path = Path(study)
    if path.name == PLAN:
        return path.parent
    return path if (path / PLAN).is_file() else None


def each(texts: str | Sequence[str]) -> tuple[str, ...]:
    """The texts; one alone stands for a list of it, not for its letters."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def carry_out(
    plan: Plan,
    store: Store,
    *,
    missing: list[Run] | None = None,
    only: Sequence[str] = (),
    jobs: int | None = None,
    cluster: str | None = None,
    listener: Listener | None = None,
) -> Results:
    """Runs what `store` misses of `plan` and measures all of it; see `run`.

    `missing` are the runs to do, if they are known already; of them, only those are done whose ids
    begin with one of `only`, if there are any.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}; it must be at least 1")
    if cluster is not None:
        if jobs is not None:
            raise InputError("jobs are of this machine, and a cluster has others: one or the other")
        check_address(cluster)
    backend = check(plan)
    growth = _growth(plan, store)
    plan = growth.grow()
    todo = store.survey(plan).missing if missing is None else missing
    others = companions.of(plan).runs
    _check_named(only, [*plan.possible, *others])
    beside = store.missing_of(others, contents=True)
    todo = [run for run in [*todo, *beside] if _named(run, only)]
    if not todo and store.knows(plan):
        # Nothing to write: the folder may be one that cannot be written.
        with contextlib.suppress(DamageError):
            results = _measured(store, plan)
            if not _unmeasured(results, only):
                _refresh_index(store)
                return results
    if todo and cluster is None:
        backend.check(todo)
    with _crew(backend, jobs, cluster, todo) as crew, store.writer() as writer:
        heard = None if listener is None else Rounds(listener)

        def done(runs: list[Run]) -> list[tuple[Run, str]]:
            return execute(runs, backend, crew, writer, heard)

        # The plan without any result, and the last one: neither depends on what was there before.
        writer.save_plan(plan.first)
        # Until then no plan may have needed its runs: some may have gone since they were looked at.
        gone = _gone(store, [*plan.runs, *others], todo, only)
        if gone and cluster is None:
            backend.check(gone)
        failed = done([*todo, *gone])
        tried = {run.id for run in others}
        failed += _grow(growth, writer, only, done, tried)
        try:
            results = _measured(store, growth.plan)
        except DamageError as error:
            # Whole by its digest and yet unreadable: another build of this version wrote it.
            every = [*growth.plan.runs, *companions.of(growth.plan).runs]
            unreadable = [run for run in every if run.id in error.damaged]
            for run in unreadable:
                writer.set_aside(run.id)
            failed += done(unreadable)
            failed += _grow(growth, writer, only, done, tried)
            results = _measured(store, growth.plan)
    _refresh_index(store)
    told = {run.id for run, _ in failed}
    lost = [run for run in _unmeasured(results, only) if run.id not in told]
    failed += [(run, f"it was removed from {store.path} meanwhile") for run in lost]
    if failed:
        raise RunsFailedError(failed, results)
    return results


def _refresh_index(store: Store) -> None:
    """Has the index of all that is there for whoever reads it with other programs; those of cclab
    make it again where it cannot be written now."""
    with contextlib.suppress(StoreError):
        Index(store).refresh()


def _gone(store: Store, runs: list[Run], todo: list[Run], only: Sequence[str]) -> list[Run]:
    """Those of `runs` that have no file and are not `todo`: by one look at the names alone."""
    there = store.ids().union(run.id for run in todo)
    gone = {run.id: run for run in runs if run.id not in there and _named(run, only)}
    return list(gone.values())


def _unmeasured(results: Results, only: Sequence[str]) -> list[Run]:
    """The runs that were asked for and that `results` are not of."""
    measured = {one.run.id for one in results.runs}
    return [run for run in results.plan.runs if run.id not in measured and _named(run, only)]


def _grow(
    growth: Growth,
    writer: Writer,
    only: Sequence[str],
    done: Callable[[list[Run]], list[tuple[Run, str]]],
    tried: set[str],
) -> list[tuple[Run, str]]:
    """Has further runs done until each point has enough, and saves the plan; gives what failed.

    `tried` are the runs beside the plan's own that need not be done any more.
    """
    if growth.plan.until is None:
        return []
    failed = []
    looked_at = {run.id for run in growth.plan.runs}
    while new := [run for run in growth.grow().runs if run.id not in looked_at]:
        looked_at.update(run.id for run in new)
        missing = writer.store.missing_of(new, contents=True)
        failed += done([run for run in missing if _named(run, only)])
    # What further runs are compared with.
    others = [run for run in companions.of(growth.plan).runs if run.id not in tried]
    missing = writer.store.missing_of(others, contents=True)
    failed += done([run for run in missing if _named(run, only)])
    writer.save_plan(growth.plan, passing=not growth.settled)
    return failed


def grown(plan: Plan, store: Store) -> Plan:
    """`plan` with as many runs as its rule for repeats comes to by what is in `store`.

    The last run of a point may be one that is still to be done. Without such a rule, `plan`.
    """
    return _growth(plan, store).grow()


def _growth(plan: Plan, store: Store) -> Growth:
    def measured(runs: list[Run]) -> dict[str, dict[str, Any]]:
        # Its libraries take longer to load than many commands to run.
        from cclab import results

        return results.metrics_of(store, runs)

    return Growth(plan.first, measured)


def _check_named(only: Sequence[str], runs: list[Run]) -> None:
    """Raises `InputError` if one of `only` is the beginning of no run's id."""
    for name in only:
        if not isinstance(name, str) or not name:
            raise InputError(f"only names runs by the beginning of their ids, not by {name!r}")
        if not any(_named(run, [name]) for run in runs):
            raise InputError(
                f"no run of this study has an id that begins with {name!r}; "
                "`cclab plan STUDY.toml --json` lists them"
            )


def _named(run: Run, only: Sequence[str]) -> bool:
    return not only or any(run.id.startswith(name) for name in only)


@contextlib.contextmanager
def _crew(
    backend: Backend, jobs: int | None, cluster: str | None, todo: list[Run]
) -> Iterator[Crew]:
    """This machine's processors, or the workers of the cluster at an address."""
    if cluster is None:
        yield Local(backend, jobs or cpus())
        return
    # It takes longer to load than many commands to run, and not everyone has it.
    from cclab.execute.cluster import Cluster

    with Cluster.at(cluster, backend, todo) as crew:
        yield crew


def check(plan: Plan) -> Backend:
    """The backend of `plan`. Raises `InputError` if there is none, if it cannot do the study or
    if it lacks a kernel that the study names."""
    backend = find_backend(plan.backend)
    if plan.unsupported:
        lines = [f"backend {plan.backend!r} of this version does not do:"]
        lines += [f"  {reason}" for reason in plan.refusals]
        raise InputError("\n".join(lines))
    for absent in absent_kernels(plan):
        raise InputError(absent)
    return backend


def absent_kernels(plan: Plan) -> list[str]:
    """What to say of the kernels that the study names and its backend does not have, each once."""
    found = dict.fromkeys(
        (one["place"] or "", one["name"]) for point in plan.points for one in point.absent
    )
    return [
        f"{place}: {kernel.not_built(name)}" if place else kernel.not_built(name)
        for place, name in found
    ]


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
