"""Archives that become more than they may: a few kilobytes can be gigabytes of zeros."""

from __future__ import annotations

import tarfile
from typing import IO

from cclab import shown

FREE = 256 << 20
"""Bytes that an archive may become, however small it is."""

TIMES = 100
"""How many times its size it may become beyond that. Runs are compressed in their files already,
and become less by a tenth at most; captures of headers some 5 to 20 times."""


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


def plain_alone(member: tarfile.TarInfo, place: str) -> tarfile.TarInfo | None:
    """A filter of members: folders and files, as cclab writes them, whose bytes are all in the
    archive. A sparse file claims any number of them."""
    if member.issparse() or not (member.isdir() or member.isreg()):
        raise tarfile.ReadError(
            f"{shown.quoted(member.name)} in it is neither a folder nor a plain file"
        )
    return tarfile.data_filter(member, place)
