"""Executes the runs that a store misses, several at a time."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cclab._core import Progress, RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.backends import Backend
    from cclab.plan import Run
    from cclab.store import Writer

_TICK_S = 0.1
"""How often the listener hears of the runs under way."""

_OVER = 0.005
"""Less than this part of a run to go is none: a run's end is not reached to the nanosecond."""


@dataclass(frozen=True)
class State:
    """How far a sweep is."""

    total: int
    """Runs to do."""
    done: int
    """Runs done."""
    work: float
    """Runs done, with those under way counted by their fraction."""
    virtual_s: float
    """Virtual seconds simulated so far, in all runs."""
    elapsed_s: float
    """Real seconds since the start."""

    @property
    def rate(self) -> float:
        """Virtual seconds per real second."""
        return self.virtual_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def saving(self) -> bool:
        """Whether all runs are over and some are yet to be measured and saved, which takes time."""
        return self.done < self.total and self.total - self.work < _OVER

    @property
    def left_s(self) -> float | None:
        """Real seconds left if the rest goes as the beginning did; None before it is known."""
        if self.work < 0.01 or self.elapsed_s < 0.2 or self.saving:
            return None
        return self.elapsed_s * (self.total - self.work) / self.work


class Listener(Protocol):
    """Hears how a sweep goes on."""

    def __call__(self, state: State) -> None:
        """Called about ten times a second, and at the end."""


def execute(
    runs: Sequence[Run],
    backend: Backend,
    writer: Writer,
    jobs: int,
    listener: Listener | None = None,
) -> list[tuple[Run, str]]:
    """Executes `runs` on `backend`, `jobs` at a time, and saves each as it is done.

    Gives the runs that failed, with the reason. Raises `StoreError` at the first run that cannot
    be saved. On that, and on an interrupt, what is under way is cancelled; what was saved stays.
    """
    began = time.monotonic()
    progresses = [Progress() for _ in runs]
    failed: list[tuple[Run, str]] = []
    done = 0

    def one(run: Run, progress: Progress) -> None:
        writer.save(run, lambda directory: backend.execute(run, directory, progress))

    def tell() -> None:
        if listener is not None:
            work = sum(p.fraction for p in progresses)
            virtual = sum(p.now_s for p in progresses)
            elapsed = time.monotonic() - began
            listener(State(len(runs), done, max(work, done), virtual, elapsed))

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="run") as pool:
        owners: dict[Future[None], Run] = {
            pool.submit(one, run, progress): run
            for run, progress in zip(runs, progresses, strict=True)
        }
        pending = set(owners)
        try:
            while pending:
                finished, pending = wait(pending, timeout=_TICK_S, return_when=FIRST_COMPLETED)
                for future in finished:
                    done += 1
                    error = future.exception()
                    if isinstance(error, RunError):
                        failed.append((owners[future], str(error)))
                    elif error is not None:
                        raise error
                tell()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for progress in progresses:
                progress.cancel()
            raise
    return failed
