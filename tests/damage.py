"""What befalls the files of a store: bits that flip, ends that are cut off, files in each other's
place, and what is no file at all. Each is undone when it has been looked at."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cclab.whole
from cclab import _core
from cclab.store import disk

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

PASSING = ("aside", "tmp")
"""Folders of a store that hold nothing of what it is."""


@dataclass(frozen=True)
class Damage:
    """What befalls a file."""

    name: str
    file: Path
    strike: Callable[[], None]
    """Does it to the file, or to the link or folder in its place."""


@contextlib.contextmanager
def struck(damage: Damage, whole: Path, store: Path) -> Iterator[None]:
    """The store with the damage; then it is again as the folder `whole`."""
    damage.strike()
    try:
        yield
    finally:
        restore(whole, store)


def restore(whole: Path, store: Path) -> None:
    """Makes `store` again what `whole` is: what differs is copied, and what is new goes."""
    for folder in PASSING:
        _remove(store / folder)
    _same(whole, store)


def _same(whole: Path, other: Path) -> None:
    if other.is_symlink() or not other.is_dir():
        _remove(other)
        shutil.copytree(whole, other)
        return
    for name in sorted({*disk.names(whole), *disk.names(other)}):
        before, now = whole / name, other / name
        if before.is_dir():
            _same(before, now)
        elif not before.exists():
            _remove(now)
        elif now.is_symlink() or not now.is_file() or now.read_bytes() != before.read_bytes():
            _remove(now)
            shutil.copyfile(before, now)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def files_in(store: Path) -> list[Path]:
    """The files of a store that hold what it is, sorted."""
    return [
        file
        for file in sorted(store.rglob("*"))
        if file.is_file() and file.relative_to(store).parts[0] not in PASSING
    ]


def flip(files: list[Path], chance: random.Random) -> Damage:
    """A bit flips in one of the files."""
    file = chance.choice(files)
    content = bytearray(file.read_bytes())
    at, bit = chance.randrange(len(content)), chance.randrange(8)
    content[at] ^= 1 << bit
    return _written(f"bit {bit} of byte {at}", file, bytes(content))


def cut(files: list[Path], chance: random.Random, *, empty: bool) -> Damage:
    """One of the files ends early, or is `empty`."""
    file = chance.choice(files)
    content = file.read_bytes()
    length = 0 if empty else chance.randrange(len(content))
    return _written(f"cut to {length} bytes", file, content[:length])


def swap(kinds: dict[str, list[Path]], chance: random.Random) -> tuple[Damage, Path]:
    """One file of a kind has what another of it holds, and which that is."""
    kind = chance.choice(sorted(kinds))
    file, other = chance.sample(kinds[kind], 2)
    return _written(f"{kind} {other.name}", file, other.read_bytes()), other


def _written(name: str, file: Path, content: bytes) -> Damage:
    return Damage(name, file, lambda: _put(file, content))


def _put(file: Path, content: bytes) -> None:
    file.write_bytes(content)


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "a byte more": lambda content: content + b"\n",
    "all of it twice": lambda content: content * 2,
    "the last byte is missing": lambda content: content[:-1],
    "nothing": lambda content: b"",
    "nested brackets": lambda content: b"[" * 200_000,
    "nested objects": lambda content: b'{"schema":' * 200_000,
    "no UTF-8": lambda content: b'{"schema": "\xff\xfe"}',
    "a number that is none": lambda content: b'{"schema": NaN, "made_of": Infinity}',
    "a number without an end": lambda content: b'{"schema": ' + b"9" * 100_000 + b"}",
    "zeros": lambda content: bytes(len(content)),
}
"""What a file holds in place of what it held."""


def broken(file: Path) -> Iterator[Damage]:
    """What `file` may hold in place of what it holds."""
    for name, change in BROKEN.items():
        yield _written(name, file, change(file.read_bytes()))


def replaced(file: Path) -> Iterator[Damage]:
    """What may stand in the place of `file` that is no file."""

    def put(make: Callable[[], object]) -> Callable[[], None]:
        def strike() -> None:
            file.unlink()
            make()

        return strike

    def folder() -> None:
        file.mkdir()
        (file / "mine").write_text("somebody's")

    def listening() -> None:
        # The address of a socket is short, and the path of a test is not.
        here = os.open(file.parent, os.O_RDONLY)
        try:
            with socket.socket(socket.AF_UNIX) as end:
                end.bind(f"/proc/self/fd/{here}/{file.name}")
        finally:
            os.close(here)

    for name, make in {
        "a folder": folder,
        "a pipe": lambda: os.mkfifo(file),
        "a socket": listening,
        "a link that leads nowhere": lambda: file.symlink_to("nowhere"),
        "a link to itself": lambda: file.symlink_to(file.name),
        "a device without an end": lambda: file.symlink_to("/dev/zero"),
    }.items():
        yield Damage(name, file, put(make))


def without_waiting_for_the_disk(patched: pytest.MonkeyPatch) -> None:
    """Nothing is flushed: what is tested is what is in the files."""
    patched.setattr(cclab.whole, "sync", lambda path: None)
    patched.setattr(_core, "sync", lambda paths: None)
