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
import warnings
from typing import TYPE_CHECKING, Generic, TypeVar

from cclab import _core, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

MOST = 256
"""Pieces at most: each is told by a byte."""


@contextlib.contextmanager
def begun(pieces: Sequence[Callable[[], T]]) -> Iterator[Shared[T]]:
    """Has a copy of this process begin with `pieces`, which this process goes on with when it asks
    for what came of them. Without a second processor, or room for a copy, it does all of them."""
    assert len(pieces) <= MOST
    shared = Shared(pieces)
    try:
        # On macOS what libraries hold does not outlive a copy.
        if len(pieces) > 1 and machine.cpus() > 1 and sys.platform == "linux":
            shared.copy()
        yield shared
    finally:
        shared.end()


class Shared(Generic[T]):
    """The pieces, and what came of them."""

    def __init__(self, pieces: Sequence[Callable[[], T]]) -> None:
        """None is begun yet."""
        self._pieces = pieces
        self._of_copy: int | None = None
        """The copy's number as a process."""
        self._left, filled = os.pipe()
        os.write(filled, bytes(range(len(pieces))))
        os.close(filled)
        # Reading a byte takes a piece, from whichever process.
        self._told, self._telling = os.pipe()

    def copy(self) -> None:
        """Has a copy begin."""
        this = os.getpid()
        with warnings.catch_warnings(), contextlib.suppress(OSError):
            # Python 3.12 and later warn of threads, which no piece waits for.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._of_copy = os.fork()
        if self._of_copy == 0:
            self._be_copy(this)

    def done(self) -> list[T]:
        """What came of each piece, in their order. Raises what the first one raises that does."""
        made = dict(self._take())
        os.close(self._telling)
        self._telling = -1
        made |= self._hear()
        # Where the copy came to an end before it could tell, or a piece raised, it is done here.
        return [made[n] if n in made else piece() for n, piece in enumerate(self._pieces)]

    def end(self) -> None:
        """Ends the copy, whatever it is at."""
        if self._of_copy is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._of_copy, signal.SIGKILL)
            os.waitpid(self._of_copy, 0)
            self._of_copy = None
        for descriptor in (self._left, self._told, self._telling):
            if descriptor >= 0:
                os.close(descriptor)

    def _take(self) -> Iterator[tuple[int, T]]:
        """What came of each piece that is left and that this process gets to."""
        while taken := os.read(self._left, 1):
            yield taken[0], self._pieces[taken[0]]()

    def _hear(self) -> dict[int, T]:
        """What the copy did, unless it ended before it told all."""
        if self._of_copy is None:
            return {}
        with open(self._told, "rb", closefd=False) as told:
            try:
                heard: dict[int, T] = pickle.load(told)
            except (EOFError, pickle.UnpicklingError):
                return {}
        return heard

    def _be_copy(self, parent: int) -> None:
        """Does pieces, tells them and ends without what else a process does at its end: files
        that are open belong to the other one."""
        try:
            _core.end_with(parent)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            # A search for garbage would write to what is shared, which then is copied.
            gc.freeze()
            with open(self._telling, "wb", closefd=False) as told:
                pickle.dump(dict(self._take()), told)
        finally:
            os._exit(0)
