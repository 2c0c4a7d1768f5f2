"""Pieces of work that this process and a copy of it share, each taken by whoever is free.

A copy (`os.fork`) has all that this process holds in memory, and loads and reads nothing again. It
has none of its threads: no piece may use what waits for them, as queries of polars do.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from cclab import _core, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

MOST = 256
"""Pieces at most: each is told by a byte."""


@contextlib.contextmanager
def begun(pieces: Sequence[Callable[[], T]]) -> Iterator[Shared[T]]:
    """Has a copy of this process begin with `pieces`, which this process goes on with when it asks
    for what came of them. It does all of them where no copy can be, or would be of use."""
    assert len(pieces) <= MOST
    shared = Shared(pieces)
    try:
        if len(pieces) > 1 and _can_be_copied():
            shared.copy()
        yield shared
    finally:
        shared.end()


def _can_be_copied() -> bool:
    """Whether a copy has a processor, and nothing to wait for that it does not have: what another
    thread holds, a lock above all, nobody gives back to a copy. On macOS what libraries hold does
    not outlive a copy."""
    return machine.cpus() > 1 and sys.platform == "linux" and threading.active_count() == 1


class Shared(Generic[T]):
    """The pieces, and what came of them."""

    def __init__(self, pieces: Sequence[Callable[[], T]]) -> None:
        """None is begun yet."""
        self._pieces = pieces
        self._copy: _Copy[T] | None = None

    def copy(self) -> None:
        """Has a copy begin, if there is room for one."""
        with contextlib.suppress(OSError):
            self._copy = _Copy(self._pieces)

    def done(self) -> list[T]:
        """What came of each piece, in their order; to be asked once. Raises what a piece raises."""
        made = self._copy.with_this() if self._copy else {}
        # What the copy did not live to tell, or what raised there, is done here.
        return [made[n] if n in made else piece() for n, piece in enumerate(self._pieces)]

    def end(self) -> None:
        """Ends the copy, whatever it is at."""
        if self._copy is not None:
            self._copy.end()


class _Copy(Generic[T]):
    """A copy of this process that is at `pieces`."""

    def __init__(self, pieces: Sequence[Callable[[], T]]) -> None:
        """Begins. Raises `OSError` where there is no room for it."""
        self._pieces = pieces
        self._pipes = contextlib.ExitStack()
        try:
            # Reading a byte takes a piece, from whichever process.
            self._left, filled = self._pipe()
            os.write(filled, bytes(range(len(pieces))))
            os.close(filled)
            self._told, self._telling = self._pipe()
            self._process = self._copied()
        except OSError:
            self._pipes.close()
            raise

    def _pipe(self) -> tuple[int, int]:
        """A pipe of which the end that is read is closed with the others."""
        reading, writing = os.pipe()
        self._pipes.callback(os.close, reading)
        return reading, writing

    def _copied(self) -> int:
        """The number of the copy, as a process."""
        this = os.getpid()
        # An interrupt waits until this process knows of the copy, and the copy of itself.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with warnings.catch_warnings():
                # Python 3.12 and later warn of threads, which no piece waits for.
                warnings.simplefilter("ignore", DeprecationWarning)
                process = os.fork()
                if process == 0:
                    self._be(this, blocked)
            os.close(self._telling)
            return process
        except OSError:
            os.close(self._telling)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def with_this(self) -> dict[int, T]:
        """What came of each piece that this process got to, or the copy, which is waited for."""
        made = {number: self._pieces[number]() for number in self._take()}
        with open(self._told, "rb", closefd=False) as told:
            try:
                heard: dict[int, T] = pickle.load(told)
            except (EOFError, pickle.UnpicklingError):
                return made  # it ended before it told all
        return made | heard

    def end(self) -> None:
        """Ends it, whatever it is at."""
        # Where nobody is told of ends (`SIGCHLD` is ignored), nobody has to ask for them.
        with contextlib.suppress(ChildProcessError):
            ended, _ = os.waitpid(self._process, os.WNOHANG)
            if not ended:
                os.kill(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
        self._pipes.close()

    def _take(self) -> Iterator[int]:
        """The pieces that are left, one by one."""
        while taken := os.read(self._left, 1):
            yield taken[0]

    def _be(self, parent: int, unblocked: set[signal.Signals | int]) -> NoReturn:
        """Does pieces, tells them and ends without what else a process does at its end: files
        that are open belong to the other one."""
        try:
            _core.end_with(parent)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
            # A search for garbage would write to what is shared, which then is copied.
            gc.freeze()
            made = {}
            for number in self._take():
                with contextlib.suppress(Exception):  # it is done again, and raises there
                    made[number] = self._pieces[number]()
            with open(self._telling, "wb", closefd=False) as told:
                pickle.dump(made, told)
        finally:
            os._exit(0)
