"""Archives that become more than they may: a few kilobytes can be gigabytes of zeros."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING

from cclab import shown

if TYPE_CHECKING:
    from pathlib import Path

FREE = 256 << 20
"""Bytes that an archive may become, however small it is."""

TIMES = 100
"""How many times its size it may become beyond that. Runs are compressed in their files already,
and become less by a tenth at most; captures of headers some 5 to 20 times."""

DEPTH = 8
"""Names in the path of a member, more than a store has."""

LONGEST = 255
"""Bytes of a name, as file systems have them."""

_SHOWN = 80
"""Letters of the name of a member that a message has."""


class ExpandedError(Exception):
    """An archive becomes more than it may."""


class Bounded:
    """The decompressed bytes of an archive, no more than it may become."""

    def __init__(self, stream: IO[bytes], raw: IO[bytes], most: int | None) -> None:
        """Those that `stream` makes of `raw`: at most `most`, or what is plausible if None."""
        self._stream = stream
        self._raw = raw
        self._most = most
        self._bytes = 0

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes more; all if it is negative. Raises `ExpandedError`."""
        chunk = self._stream.read(size)
        self._bytes += len(chunk)
        most = max(FREE, TIMES * self._raw.tell()) if self._most is None else self._most
        if self._bytes > most:
            raise ExpandedError
        return chunk


def unpack(tar: tarfile.TarFile, place: Path) -> None:
    """Writes the folders and files of `tar` below `place`: what they hold, and nothing else that
    is said of them, such as owners, modes and times.

    Raises `tarfile.ReadError` for a member of another kind, and for one with a name that leads
    elsewhere or that no archive of a store has.
    """
    while (member := tar.next()) is not None:
        path = place / _name(member)
        # A sparse file claims any number of bytes.
        if member.issparse() or not (member.isdir() or member.isreg()) or member.size < 0:
            raise tarfile.ReadError(f"{_quoted(member)} in it is neither a folder nor a plain file")
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
            continue
        content = tar.extractfile(member)
        assert content is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as copy:
            shutil.copyfileobj(content, copy)


def _name(member: tarfile.TarInfo) -> PurePosixPath:
    """The name of a member, in the folder that its archive becomes."""
    name = PurePosixPath(member.name)
    parts = name.parts
    plain = not name.is_absolute() and ".." not in parts and "\0" not in member.name
    if not plain or len(parts) > DEPTH or any(len(os.fsencode(part)) > LONGEST for part in parts):
        raise tarfile.ReadError(
            f"{_quoted(member)} in it has a name that no archive of a store has"
        )
    return name


def _quoted(member: tarfile.TarInfo) -> str:
    """The name of a member, as a message says it."""
    name = member.name
    return shown.quoted(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}...")
