"""Archives as they are unpacked: a few kilobytes can be gigabytes of zeros."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

from cclab import shown
from cclab.store import folder

FREE = 256 << 20
"""Bytes that an archive may become, however small it is."""

TIMES = 100
"""How many times its size it may become beyond that. Runs are compressed in their files already,
and become less by a tenth at most; captures of headers some 5 to 20 times."""

MEMBERS = 10_000
"""How many folders and files an archive may have, however small it is."""

OF_A_MEMBER = 256
"""Bytes of an archive that allow one more: a run takes some 3,000, a capture hundreds."""

HEADERS = 16 << 10
"""Bytes of all headers of one member: a name has 4,096 at most."""

LONGEST = 255
"""Bytes of a name, as file systems have them."""

_SHOWN = 80
"""Letters of the name of a member that a message has."""


class ExpandedError(Exception):
    """An archive becomes more than it may: the message says what, after its name."""


class Bounded:
    """The decompressed bytes of an archive, no more than it may become."""

    def __init__(self, stream: IO[bytes], raw: IO[bytes], most: int | None) -> None:
        """Those that `stream` makes of `raw`: at most `most`, or what is plausible if None."""
        self._stream = stream
        self._raw = raw
        self._most = most
        self._bytes = 0
        self._members = 0
        self._headers: int | None = 0
        """Bytes read of those of the next member; None while a file is read."""

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes more; all if it is negative. Raises `ExpandedError`, and
        `tarfile.ReadError` if a member's headers are longer than any are."""
        chunk = self._stream.read(size)
        self._bytes += len(chunk)
        most = max(FREE, TIMES * self._raw.tell()) if self._most is None else self._most
        if self._bytes > most:
            raise ExpandedError(
                f"becomes more than an archive may, by default {TIMES} times its size and at "
                f"least {FREE >> 20} MiB"
            )
        if self._headers is not None:
            self._headers += len(chunk)
            if self._headers > HEADERS + tarfile.RECORDSIZE:  # which is read at a time
                raise tarfile.ReadError(f"a header in it has more than {HEADERS >> 10} KiB")
        return chunk

    def begin_member(self) -> None:
        """Headers are read from now on. Raises `ExpandedError` if there are too many."""
        self._headers = 0
        self._members += 1
        if self._most is None and self._members > MEMBERS + self._raw.tell() // OF_A_MEMBER:
            raise ExpandedError(
                f"has more files than an archive may, by default one for each {OF_A_MEMBER} bytes "
                f"of it and {MEMBERS} beside"
            )

    def begin_content(self) -> None:
        """What a file holds is read from now on."""
        self._headers = None


def unpack(archive: Bounded, place: Path) -> None:
    """Writes the runs, captures and plans of `archive` below `place`: what their files hold, and
    nothing else that is said of them, such as owners, modes and times.

    What a store has beside and can be made again is read, and left out. Raises `ExpandedError`, and
    `tarfile.ReadError` for what no store has and for an archive that is not whole.
    """
    with tarfile.open(
        fileobj=archive,  # type: ignore[call-overload] # it is only read
        mode="r|",
    ) as tar:
        while True:
            archive.begin_member()
            member = tar.next()
            tar.members.clear()  # Nobody asks for them, and each has a copy of a common header.
            archive.begin_content()
            if member is None:
                break
            _write(tar, member, place)
        _read_to_the_end(tar)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    # A sparse file claims any number of bytes.
    if member.issparse() or not (member.isdir() or member.isreg()) or member.size < 0:
        raise tarfile.ReadError(f"{_quoted(member)} in it is neither a folder nor a plain file")
    name = PurePosixPath(member.name)
    too_long = any(len(os.fsencode(part)) > LONGEST for part in name.parts)
    plain = not name.is_absolute() and ".." not in name.parts and "\0" not in member.name
    kept = _is_kept(name.parts[1:], is_folder=member.isdir()) if plain and name.parts else None
    if kept is None or too_long:
        raise tarfile.ReadError(f"{_quoted(member)} in it is nothing that a results folder has")
    path = place / name
    if member.isdir():
        if kept:
            path.mkdir(parents=True, exist_ok=True)
        return
    content = tar.extractfile(member)
    assert content is not None
    if kept:
        path.parent.mkdir(parents=True, exist_ok=True)
    with (path if kept else Path(os.devnull)).open("wb") as copy:
        shutil.copyfileobj(content, copy)


def _is_kept(path: tuple[str, ...], *, is_folder: bool) -> bool | None:
    """Whether what is at `path` in a store is of its runs, captures and plans; None if no store has
    it."""
    match path:
        case () | ("plans" | "runs" | "captures",) | ("captures", _):
            return True if is_folder else None
        case (folder.PLAN,) | ("captures", _, _):
            return None if is_folder else True
        case ("plans", name) if name.endswith(".json"):
            return None if is_folder else True
        case ("runs", name) if name.endswith(folder.ENDING):
            return None if is_folder else True
        case (folder.INDEX | folder.TIMED,) | ("report" | "aside" | "tmp", *_):
            return False
    return None


def _read_to_the_end(tar: tarfile.TarFile) -> None:
    """Reads what is behind the members: checksums stand there, and what a torn header hides.

    Raises `tarfile.ReadError` if it is not the end that an archive has.
    """
    assert tar.fileobj is not None
    length = 0
    while chunk := tar.fileobj.read(tarfile.RECORDSIZE):
        length += len(chunk)
        if any(chunk):
            raise tarfile.ReadError("a header in it is damaged")
    if length < tarfile.BLOCKSIZE:  # of two empty blocks, the first has been read
        raise tarfile.ReadError("it is cut off")


def _quoted(member: tarfile.TarInfo) -> str:
    """The name of a member, as a message says it."""
    name = member.name
    return shown.quoted(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}...")
