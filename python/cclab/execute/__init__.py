"""Executes the runs that a store misses, several at a time.

agenda     which runs come next
crew       who does them: threads of this process
cluster    or the workers of a Dask cluster
apart      what workers on this machine do first
address    where a cluster is
state      how far a sweep is
"""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import costs
from cclab._core import Progress
from cclab.execute.agenda import Agenda
from cclab.execute.state import Listener, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.backends import Backend
    from cclab.execute.crew import Crew, Done
    from cclab.plan import Run
    from cclab.store import Writer

__all__ = ["Listener", "State", "execute"]

_TICK_S = 0.1
"""How often the listener hears of the runs under way."""


@dataclass
class _Batch:
    """Runs that are under way together."""

    runs: list[Run]
    progresses: list[Progress]
    cost: float
    """Seconds that it is thought to take."""

    @property
    def part(self) -> float:
        """How much of it is done, from 0 to 1."""
        return sum(p.fraction for p in self.progresses) / len(self.progresses)

    @property
    def virtual_s(self) -> float:
        """Virtual seconds run so far."""
        return sum(p.now_s for p in self.progresses)


class _Sweep:
    """The books of a sweep: what is to do, under way and done."""

    def __init__(self, runs: Sequence[Run], agenda: Agenda) -> None:
        self.total = len(runs)
        self.agenda = agenda
        self.under_way: dict[Future[Done], _Batch] = {}
        self.failed: list[tuple[Run, str]] = []
        self.seen: list[costs.Seen] = []
        self.done = 0
        self.done_s = 0.0
        self.virtual_s = 0.0
        self._began = time.monotonic()

    def over(self, batch: _Batch, done: Done) -> None:
        """Notes that `batch` is over."""
        self.done += len(batch.runs)
        self.failed.extend(done.failed)
        self.virtual_s += done.virtual_s
        self.done_s += done.seconds
        if not done.failed:
            # What fails takes less, or more, than what does not.
            self.agenda.learn(batch.runs, done.seconds)
            self.seen.append(costs.seen(batch.runs, done.seconds))

    def state(self, lost: tuple[str, ...]) -> State:
        """How far it is, its workers `lost` that failed."""
        batches = self.under_way.values()
        done = self.done_s + sum(batch.cost * batch.part for batch in batches)
        whole = self.done_s + sum(batch.cost for batch in batches) + max(self.agenda.left_s, 0.0)
        return State(
            total=self.total,
            done=self.done,
            failed=len(self.failed),
            work=1.0 if self.done == self.total else min(done / whole, 1.0) if whole > 0 else 0.0,
            virtual_s=self.virtual_s + sum(batch.virtual_s for batch in batches),
            elapsed_s=time.monotonic() - self._began,
            lost=lost,
        )


def execute(
    runs: Sequence[Run],
    backend: Backend,
    crew: Crew,
    writer: Writer,
    listener: Listener | None = None,
) -> list[tuple[Run, str]]:
    """Has `crew` execute `runs` and `writer` save each as it is done, the longest first.

    Gives the runs that failed, with the reason, in the order of `runs`. Raises `StoreError` at the
    first run that cannot be saved. On that, and on an interrupt, what is under way is cancelled;
    what was saved stays.
    """
    sweep = _Sweep(runs, Agenda(runs, costs.costs_on(backend)))
    with ThreadPoolExecutor(max_workers=crew.threads, thread_name_prefix="batch") as pool:
        try:
            while sweep.agenda or sweep.under_way:
                _hand_out(sweep, crew, writer, pool)
                finished, _ = wait(sweep.under_way, timeout=_TICK_S, return_when=FIRST_COMPLETED)
                for future in finished:
                    sweep.over(sweep.under_way.pop(future), future.result())
                if listener is not None:
                    listener(sweep.state(crew.lost))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for batch in sweep.under_way.values():
                for progress in batch.progresses:
                    progress.cancel()
            crew.stop()
            raise
    if crew.here:
        # The processors of a cluster's workers are others.
        costs.learn(backend, sweep.seen)
    order = {run.id: index for index, run in enumerate(runs)}
    return sorted(sweep.failed, key=lambda failure: order[failure[0].id])


def _hand_out(sweep: _Sweep, crew: Crew, writer: Writer, pool: ThreadPoolExecutor) -> None:
    """Gives every worker a batch, and each a next one for when that is over."""
    slots = crew.slots
    while sweep.agenda and len(sweep.under_way) < 2 * slots:
        runs = sweep.agenda.take(slots)
        batch = _Batch(runs, [Progress() for _ in runs], sum(map(sweep.agenda.cost, runs)))
        sweep.under_way[pool.submit(crew.do, runs, batch.progresses, writer)] = batch
