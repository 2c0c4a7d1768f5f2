"""What takes long to make is made once for all processes that the tests run in."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def shared(place: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """The folder, in `place`, that `make` fills for the first process that needs it.

    The last of those that need it at a time removes it.
    """
    place.mkdir(exist_ok=True)
    folder, finished = place / "folder", place / "finished"
    user = place / f"user-{os.getpid()}"
    with user.open("w") as needed, (place / "lock").open("w") as lock:
        # The lock of whoever needs it ends with its process, whatever ends that.
        flock(needed, LOCK_EX)
        flock(lock, LOCK_EX)
        if not finished.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            finished.touch()
        flock(lock, LOCK_UN)
        try:
            yield folder
        finally:
            flock(lock, LOCK_EX)
            user.unlink()
            if not any(_needs(other) for other in place.glob("user-*")):
                finished.unlink()
                shutil.rmtree(folder)


def _needs(user: Path) -> bool:
    with user.open() as file:
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return True
        return False
