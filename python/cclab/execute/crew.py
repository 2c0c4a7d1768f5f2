"""Who does the work: threads of this process."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from cclab import _core
from cclab.errors import OF_THE_DISK
from cclab.execute.backends.alone import is_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from cclab._core import Progress
    from cclab.execute.backends import Backend
    from cclab.plan import Run
    from cclab.store import Writer


@dataclass(frozen=True)
class Done:
    """A batch that is over; what succeeded is in the store."""

    seconds: float
    """What it took: time of a processor, or real time where it waits for other processes."""
    virtual_s: float
    """Virtual seconds run, in all of them."""
    failed: list[tuple[Run, str]] = field(default_factory=list)
    """The runs that failed, with the reason."""


class Crew(Protocol):
    """Does batches of runs, several at a time."""

    @property
    def slots(self) -> int:
        """Batches that it does at a time; workers may come and go."""

    @property
    def lost(self) -> tuple[str, ...]:
        """Workers that failed and get nothing more, each with why."""

    @property
    def threads(self) -> int:
        """Threads that work at tasks: enough for those that wait for the disk, too."""

    def task(
        self, batch: Sequence[Run], progresses: Sequence[Progress], writer: Writer
    ) -> Callable[[], Done]:
        """What executes `batch` and has `writer` save what succeeds, to be called in another thread
        than others; batches are begun with in the order in which their tasks were made.

        Raises `StoreError` if a run cannot be saved.
        """

    def stop(self) -> None:
        """Called when the sweep ends early, after all progresses are cancelled: tasks return
        soon, wherever they are."""


class _Queue:
    """Who gets a processor next: threads that wait for one come to it in any order."""

    def __init__(self, processors: int) -> None:
        self._free = processors
        self._places = 0
        self._next = 0
        self._changed = threading.Condition()

    def place(self) -> int:
        """The place behind all others, which has to be taken."""
        self._places += 1
        return self._places - 1

    @contextlib.contextmanager
    def processor(self, place: int) -> Iterator[None]:
        """A processor, once those of all places before have got theirs."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == place and self._free > 0)
            self._next += 1
            self._free -= 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()


class Local:
    """This machine: batches of simulations side by side on threads, guests as processes."""

    lost = ()

    def __init__(self, backend: Backend, jobs: int) -> None:
        """`jobs` runs on `backend` at a time."""
        self.slots = min(jobs, backend.most_jobs or jobs)
        self.threads = 2 * self.slots
        self._backend = backend
        self._queue = _Queue(self.slots)

    def task(
        self, batch: Sequence[Run], progresses: Sequence[Progress], writer: Writer
    ) -> Callable[[], Done]:
        """What executes `batch` in the thread that calls it and has `writer` save what succeeds."""
        place = self._queue.place()

        def done() -> Done:
            with contextlib.ExitStack() as stack:
                with self._queue.processor(place):
                    folder = stack.enter_context(writer.workspace())
                    sealed, done = work(self._backend, batch, folder, progresses)
                # The disk is waited for while the next batch runs.
                writer.land(folder, sealed)
                if self._backend.in_thread:
                    check_disk(done.failed)
            return done

        return done

    def stop(self) -> None:
        """Runs that are cancelled end by themselves."""


def work(
    backend: Backend, batch: Sequence[Run], folder: Path, progresses: Sequence[Progress]
) -> tuple[list[str], Done]:
    """Executes `batch` in `folder`, measures and seals it.

    Gives the ids of what succeeded, which is yet to be saved. A run whose trace cannot be
    measured has failed.
    """
    here = backend.in_thread and not any(map(is_alone, batch))
    clock: Callable[[], float] = time.thread_time if here else time.monotonic
    began = clock()
    outcomes = backend.execute(batch, folder, progresses)
    failed = [(run, why) for run, why in zip(batch, outcomes, strict=True) if why is not None]
    over = [run for run, why in zip(batch, outcomes, strict=True) if why is None]
    sealed = []
    finished = _core.finish(folder, [run.id for run in over])
    for run, why in zip(over, finished, strict=True):
        if why is None:
            sealed.append(run.id)
        else:
            failed.append((run, why))
    return sealed, Done(clock() - began, sum(p.now_s for p in progresses), failed)


def check_disk(failed: Sequence[tuple[Run, str]]) -> None:
    """Raises `OSError` if it is the disk that simulations failed for: the next ones would, too."""
    for _, why in failed:
        for number in OF_THE_DISK:
            if os.strerror(number) in why:
                raise OSError(number, os.strerror(number))
