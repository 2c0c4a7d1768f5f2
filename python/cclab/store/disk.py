"""Locks, and files and folders as a reader opens them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
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


class NotAFileError(OSError):
    """In the place of a file is what is none: a folder, a pipe, a link that leads nowhere."""


def opened(path: Path) -> BufferedReader:
    """The file at `path`, or the one that a link there leads to, to be read.

    Raises `NotAFileError` if there is something else, which may have no end or no writer,
    `FileNotFoundError` if there is nothing, and `OSError` if the system refuses.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        nowhere = error.errno == errno.ENOENT and os.path.lexists(path)
        if nowhere or error.errno in (errno.ELOOP, errno.ENXIO):
            raise NotAFileError(errno.EINVAL, "no regular file", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotAFileError(errno.EINVAL, "no regular file", str(path))
    return os.fdopen(handle, "rb")


def read(path: Path) -> bytes:
    """What the file at `path` holds. Raises `OSError` as `opened` does."""
    with opened(path) as stream:
        return stream.read()


def names(folder: Path) -> list[str]:
    """Every name in `folder`, sorted; none if it is not there.

    Raises `OSError` if it cannot be read: what is in it is not known then.
    """
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries)
    except FileNotFoundError:
        if os.path.lexists(folder):
            raise
        return []


def reason(error: OSError) -> str:
    """What the system says, without the number."""
    return error.strerror or str(error)


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is the one that is called `path`."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
