"""Locks, and what is on the disk for good."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[int]:
    """Holds an exclusive lock on `path`; without `wait`, raises `BlockingIOError` if taken.

    Gives the open file.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on `path`, a file that is there only while it is held.

    Who waited for it may then hold a lock on a file that is gone, and tries again.
    """
    while True:
        with locked(path) as handle:
            if _is_at(handle, path):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return


def sync(path: Path) -> None:
    """Waits until `path`, a file or a folder, is on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reason(error: OSError) -> str:
    """What the system says, without the number."""
    return error.strerror or str(error)


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is the one that is called `path`."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
