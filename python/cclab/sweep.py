"""The one straight path: what a plan asks for is looked for in a store, run where it is missing,
measured, and read."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from cclab import kernel, machine, shown
from cclab.errors import DamagedRunsError, DamageError, InputError, RunError, StoreError
from cclab.execute import execute
from cclab.execute.backends import backend as backend_called
from cclab.execute.crew import Local
from cclab.execute.state import Rounds
from cclab.late import late
from cclab.measure.repeats import Growth
from cclab.plan import companions
from cclab.store.index import Index

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cclab import results as user_results
    from cclab.execute import Listener
    from cclab.execute.address import Scheduler
    from cclab.execute.backends import Backend
    from cclab.execute.crew import Crew
    from cclab.measure import results as measure_results
    from cclab.plan import Plan, Run
    from cclab.results import Results
    from cclab.store import Store, Writer
else:
    user_results = late("cclab.results")
    measure_results = late("cclab.measure.results")

Failures = list[tuple["Run", str]]
"""Runs that failed, each with the reason."""


class RunsFailedError(RunError):
    """Some runs of a sweep failed; the others are in the store."""

    def __init__(self, failed: Sequence[tuple[Run, str]], results: Results) -> None:
        """The runs that failed, with the reasons, and what was measured of the others."""
        self.failed = tuple(failed)
        self.results = results
        super().__init__("\n".join(f"run {run.id} (seed {run.seed}): {why}" for run, why in failed))


def carry_out(
    plan: Plan,
    store: Store,
    *,
    missing: list[Run] | None = None,
    only: Sequence[str] = (),
    jobs: int | None = None,
    cluster: Scheduler | None = None,
    listener: Listener | None = None,
) -> Results:
    """Runs what `store` misses of `plan` and measures all of it; see `cclab.run`.

    `missing` are the runs to do, if they are known already; of them, only those are done whose ids
    begin with one of `only`, if there are any.
    """
    _check_workers(jobs, cluster)
    backend = check(plan)
    asked = _Asked.of(plan, store, only)
    todo = asked.missing(missing)
    if not todo and (results := asked.finished()) is not None:
        _refresh_index(store)
        return results
    rounds = None if listener is None else Rounds(listener)
    with _crew(backend, jobs, cluster, todo) as crew, store.writer() as writer:
        sweep = _Sweep(asked, backend, crew, cluster is None, writer, rounds)
        sweep.save_plan()
        sweep.execute([*todo, *sweep.gone(todo)])
        sweep.grow()
        results = sweep.measured()
    _refresh_index(store)
    sweep.check(results)
    return results


def is_over(
    plan: Plan,
    store: Store,
    *,
    missing: list[Run],
    jobs: int | None = None,
    cluster: Scheduler | None = None,
) -> bool:
    """Whether `carry_out` would only measure what is there; it raises what that does of wrong
    input, and the index is made as there."""
    _check_workers(jobs, cluster)
    check(plan)
    asked = _Asked.of(plan, store, ())
    over = not asked.missing(missing) and store.knows(asked.growth.plan)
    if over:
        _refresh_index(store)
    return over


def grown(plan: Plan, store: Store) -> Plan:
    """`plan` with as many runs as its rule for repeats comes to by what is in `store`.

    The last run of a point may be one that is still to be done. Without such a rule, `plan`.
    """
    return _growth(plan, store).grow()


def check_only(plan: Plan, store: Store, only: Sequence[str]) -> None:
    """Raises `InputError` if one of `only` is the beginning of no run's id."""
    if only:
        _Asked.of(plan, store, only)


def check(plan: Plan) -> Backend:
    """The backend of `plan`. Raises `InputError` if there is none, if it cannot do the study or
    if it lacks a kernel that the study names."""
    backend = backend_called(plan.backend)
    if plan.unsupported:
        lines = [f"backend {shown.quoted(plan.backend)} of this version does not do:"]
        lines += [f"  {reason}" for reason in plan.refusals]
        raise InputError("\n".join(lines))
    for absent in absent_kernels(plan):
        raise InputError(absent)
    return backend


def absent_kernels(plan: Plan) -> list[str]:
    """What to say of the kernels that the study names and its backend does not have, each once."""
    absent = dict.fromkeys(
        (each["place"] or "", each["name"]) for point in plan.points for each in point.absent
    )
    return [
        f"{place}: {kernel.not_built(name)}" if place else kernel.not_built(name)
        for place, name in absent
    ]


@dataclass
class _Asked:
    """What is asked for of a store: the runs of a plan, as far as it has grown, and those that
    they are compared with."""

    growth: Growth
    plan: Plan
    """The plan as far as it had grown before anything was done."""
    beside: list[Run]
    """Those that its runs are compared with."""
    store: Store
    only: tuple[str, ...]
    """The beginnings of ids of runs to do; all are done without one."""

    @classmethod
    def of(cls, plan: Plan, store: Store, only: Sequence[str]) -> Self:
        """What `plan` asks of `store`. Raises `InputError` if one of `only` is the beginning of no
        run's id."""
        growth = _growth(plan, store)
        plan = growth.grow()
        asked = cls(growth, plan, companions.of(plan).runs, store, tuple(only))
        asked._check_only([*plan.possible, *asked.beside])
        return asked

    def wanted(self, runs: Iterable[Run]) -> list[Run]:
        """Those of `runs` that may be done."""
        return [run for run in runs if not self.only or any(map(run.id.startswith, self.only))]

    def missing(self, known: list[Run] | None) -> list[Run]:
        """The runs to do; `known` are the plan's own, if they are known already."""
        own = self.store.survey(self.plan).missing if known is None else known
        return self.wanted([*own, *self.store.missing_of(self.beside, contents=True)])

    def without_file(self, todo: list[Run]) -> list[Run]:
        """The runs, beside those `todo`, that have no file: by one look at the names."""
        there = self.store.ids().union(run.id for run in todo)
        gone = {run.id: run for run in [*self.plan.runs, *self.beside] if run.id not in there}
        return self.wanted(gone.values())

    def finished(self) -> Results | None:
        """The results, if nothing is to be written: the folder may be one that cannot be."""
        if not self.store.knows(self.plan):
            return None
        with contextlib.suppress(DamageError):
            results = user_results.Results.of(self.store, self.plan)
            if not self.unmeasured(results):
                return results
        return None

    def unmeasured(self, results: Results) -> list[Run]:
        """The runs that `results` are not of."""
        there = {run.run.id for run in results.runs}
        return self.wanted(run for run in results.plan.runs if run.id not in there)

    def _check_only(self, runs: list[Run]) -> None:
        """Raises `InputError` if one of `only` is the beginning of no run's id."""
        for name in self.only:
            if not isinstance(name, str) or not name:
                raise InputError(f"only names runs by the beginning of their ids, not by {name!r}")
            if not any(run.id.startswith(name) for run in runs):
                raise InputError(
                    f"no run of this study has an id that begins with {shown.quoted(name)}; "
                    "`cclab plan STUDY.toml --json` lists them"
                )


@dataclass
class _Sweep:
    """What is asked for, under way."""

    asked: _Asked
    backend: Backend
    crew: Crew
    here: bool
    """Whether it is this machine that works."""
    writer: Writer
    listener: Listener | None
    failed: Failures = field(default_factory=list)

    @property
    def store(self) -> Store:
        """Where the runs go."""
        return self.asked.store

    @property
    def plan(self) -> Plan:
        """The plan as far as it has grown."""
        return self.asked.growth.plan

    def save_plan(self) -> None:
        """Saves the plan as it is before any result: from now on nobody removes its runs."""
        # It does not depend on what was in the store.
        self.writer.save_plan(self.plan.first)

    def gone(self, todo: list[Run]) -> list[Run]:
        """The runs, beside those `todo`, that were removed before the plan was saved."""
        gone = self.asked.without_file(todo)
        if gone and self.here:
            self.backend.check(gone)
        return gone

    def execute(self, runs: list[Run]) -> None:
        """Does `runs`, and notes which of them failed."""
        self.failed += execute(runs, self.backend, self.crew, self.writer, self.listener)

    def grow(self) -> None:
        """Has further runs done until each point has enough, and saves the plan."""
        if self.plan.until is None:
            return
        looked_at = {run.id for run in self.plan.runs}
        while new := [run for run in self.asked.growth.grow().runs if run.id not in looked_at]:
            looked_at.update(run.id for run in new)
            self._execute_missing(new)
        # What further runs are compared with.
        tried = {run.id for run in self.asked.beside}
        self._execute_missing([run for run in companions.of(self.plan).runs if run.id not in tried])
        self.writer.save_plan(self.plan, passing=not self.asked.growth.settled)

    def measured(self) -> Results:
        """The results; runs that are unreadable are done once more."""
        try:
            return user_results.Results.of(self.store, self.plan)
        except DamagedRunsError as error:
            # Whole by its digest and yet unreadable: another build of this version wrote it.
            every = [*self.plan.runs, *companions.of(self.plan).runs]
            unreadable = [run for run in every if run.id in error.damaged]
        for run in unreadable:
            self.writer.set_aside(run.id)
        self.execute(unreadable)
        self.grow()
        return user_results.Results.of(self.store, self.plan)

    def check(self, results: Results) -> None:
        """Raises `RunsFailedError` if runs failed, or are not among the `results`."""
        failed = {run.id for run, _ in self.failed}
        lost = [run for run in self.asked.unmeasured(results) if run.id not in failed]
        why = f"it was removed from {self.store.path} meanwhile"
        if self.failed or lost:
            raise RunsFailedError([*self.failed, *((run, why) for run in lost)], results)

    def _execute_missing(self, runs: list[Run]) -> None:
        self.execute(self.asked.wanted(self.store.missing_of(runs, contents=True)))


def _growth(plan: Plan, store: Store) -> Growth:
    def metrics_of(runs: list[Run]) -> dict[str, dict[str, Any]]:
        return measure_results.metrics_of(store, runs)

    return Growth(plan.first, metrics_of)


def _refresh_index(store: Store) -> None:
    """Has the index of all that is there for whoever reads it with other programs; those of cclab
    make it again where it cannot be written now."""
    with contextlib.suppress(StoreError):
        Index(store).refresh()


def _check_workers(jobs: int | None, cluster: Scheduler | None) -> None:
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}; it must be at least 1")
    if jobs is not None and jobs > machine.MOST_JOBS:
        raise InputError(f"jobs is {jobs}; it must be at most {machine.MOST_JOBS}")
    if cluster is not None and jobs is not None:
        raise InputError("jobs are of this machine, and a cluster has others: one or the other")


@contextlib.contextmanager
def _crew(
    backend: Backend, jobs: int | None, cluster: Scheduler | None, todo: list[Run]
) -> Iterator[Crew]:
    """This machine's processors, or the workers of a cluster."""
    if cluster is None:
        if todo:
            backend.check(todo)
        yield Local(backend, jobs or machine.cpus())
        return
    # Not everyone has its library.
    from cclab.execute.cluster import Cluster

    with Cluster.at(cluster, backend, todo) as crew:
        yield crew
