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

from cclab._core import Progress
from cclab.execute import estimate
from cclab.execute.agenda import Agenda
from cclab.execute.state import Listener, State

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cclab.execute.backends import Backend
    from cclab.execute.crew import Crew, Done
    from cclab.plan import Run
    from cclab.store import Writer

__all__ = ["Listener", "State", "execute"]

_TICK_S = 0.1
"""How often the listener hears of the runs under way."""

_TELLS = 0.02
"""From this part on, what a batch took says what it will take."""


@dataclass
class _Batch:
    """Runs that are under way together."""

    runs: list[Run]
    progresses: list[Progress]
    cost: float
    """Seconds that it is thought to take."""
    guessed: bool
    """Whether no run like them was over when that was thought."""
    began_s: float | None = None
    """When it was first seen to go on; None before."""

    @property
    def part(self) -> float:
        """How much of it is done, from 0 to 1."""
        return sum(p.fraction for p in self.progresses) / len(self.progresses)

    @property
    def virtual_s(self) -> float:
        """Virtual seconds run so far."""
        return sum(p.now_s for p in self.progresses)

    def spent_s(self, now_s: float) -> float:
        """Seconds since it was first seen to go on."""
        if self.began_s is None and self.virtual_s > 0:
            self.began_s = now_s
        return 0.0 if self.began_s is None else now_s - self.began_s

    def whole_s(self, now_s: float, pace: float) -> float:
        """Seconds that it takes in all: at first by the estimate, where that is a guess at `pace`,
        and the more by what it took so far the further it is."""
        spent, part = self.spent_s(now_s), self.part
        thought = max(self.cost * (pace if self.guessed else 1.0), spent)
        return (1 - part) * thought + spent if part > 0 else thought


class _Sweep:
    """The books of a sweep: what is to do, under way and done."""

    def __init__(
        self, runs: Sequence[Run], agenda: Agenda, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total = len(runs)
        self.agenda = agenda
        self.under_way: dict[Future[Done], _Batch] = {}
        self.latest: _Batch | None = None
        """The batch handed out last: it goes on before it is in `under_way`."""
        self.failed: list[tuple[Run, str]] = []
        self.done = 0
        self.done_s = 0.0
        self.thought_s = 0.0
        """What was guessed of the batches that are over, and (`guessed_s`) what they took."""
        self.guessed_s = 0.0
        self.virtual_s = 0.0
        self._clock = clock
        self._began = clock()
        self._told = 0.0

    @property
    def begun(self) -> list[_Batch]:
        """The batches that may go on: an interrupt comes between any two steps."""
        return [*self.under_way.values(), *([] if self.latest is None else [self.latest])]

    def over(self, batch: _Batch, done: Done) -> None:
        """Notes that `batch` is over."""
        self.done += len(batch.runs)
        self.failed.extend(done.failed)
        self.virtual_s += done.virtual_s
        self.done_s += done.seconds
        self.thought_s += batch.cost if batch.guessed else 0.0
        self.guessed_s += done.seconds if batch.guessed else 0.0
        if not done.failed:
            # What fails takes less, or more, than what does not.
            self.agenda.learn(batch.runs, done.seconds)

    def state(self, lost: tuple[str, ...]) -> State:
        """How far it is, its workers `lost` that failed."""
        now, batches = self._clock(), self.under_way.values()
        pace = self._pace(now)
        ends = [(batch.part, batch.whole_s(now, pace)) for batch in batches]
        done = self.done_s + sum(part * whole for part, whole in ends)
        guessed = self.agenda.guessed_s
        left = max(self.agenda.left_s - guessed, 0.0) + pace * guessed
        whole = self.done_s + sum(whole for _, whole in ends) + left
        known = min(done / whole, 1.0) if whole > 0 else 0.0
        known = 1.0 if self.done == self.total else known
        self._told = max(self._told, known)
        return State(
            total=self.total,
            done=self.done,
            failed=len(self.failed),
            work=self._told,
            virtual_s=self.virtual_s + sum(batch.virtual_s for batch in batches),
            elapsed_s=now - self._began,
            known=known,
            lost=lost,
        )

    def _pace(self, now_s: float) -> float:
        """What runs take, over what was guessed of them: of those that are over, and of those under
        way as far as they are."""
        took, thought = self.guessed_s, self.thought_s
        for batch in self.under_way.values():
            if batch.guessed and batch.part > _TELLS:
                took += batch.spent_s(now_s)
                thought += batch.cost * batch.part
        return took / thought if thought > 0 and took > 0 else 1.0


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
    sweep = _Sweep(runs, Agenda(runs, lambda run: estimate.seconds(run, backend)))
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
            for batch in sweep.begun:
                for progress in batch.progresses:
                    progress.cancel()
            crew.stop()
            raise
    order = {run.id: index for index, run in enumerate(runs)}
    return sorted(sweep.failed, key=lambda failure: order[failure[0].id])


def _hand_out(sweep: _Sweep, crew: Crew, writer: Writer, pool: ThreadPoolExecutor) -> None:
    """Gives every worker a batch, and each a next one for when that is over."""
    slots = crew.slots
    while sweep.agenda and len(sweep.under_way) < 2 * slots:
        runs = sweep.agenda.take(slots)
        cost, guessed = sum(map(sweep.agenda.cost, runs)), any(map(sweep.agenda.is_guess, runs))
        batch = _Batch(runs, [Progress() for _ in runs], cost, guessed)
        sweep.latest = batch
        sweep.under_way[pool.submit(crew.task(runs, batch.progresses, writer))] = batch
