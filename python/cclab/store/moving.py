"""Looking at a store while another process compacts or unpacks it.

A run is at every moment in its folder or in a pack, or in both. Nobody can look at both at once:
a run that is unpacked after a look at the folders and before one at the packs is seen in neither,
and one whose folder goes while its files are read looks torn.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from cclab.store import disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_LOOKS = 100
"""After as many, each of them disturbed, what was seen last must do."""

Stamp = tuple[tuple[str, int, int, int], ...]


def stamp(packs: Path) -> Stamp:
    """What is another whenever a pack in the folder `packs` has come, gone or been replaced."""
    every = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(packs) as found:
        for one in found:
            if one.name.endswith(".parquet"):
                with contextlib.suppress(FileNotFoundError):  # it went while we looked
                    at = one.stat()
                    every.append((one.name, at.st_ino, at.st_mtime_ns, at.st_size))
    return tuple(sorted(every))


def looks(packs: Path) -> Iterator[None]:
    """Once for a look at the folders and then the packs, and again as long as the packs change.

    What is seen in neither while they stay as they are is not in the store.
    """
    for _ in range(MOST_LOOKS):
        before = stamp(packs)
        yield
        if stamp(packs) == before:
            return


@contextlib.contextmanager
def alone(store: Path) -> Iterator[None]:
    """While no other process compacts or unpacks what is in the folder `store`."""
    with disk.alone(store / "tmp" / "compact-lock"):
        yield


@contextlib.contextmanager
def held_still(store: Path) -> Iterator[None]:
    """As `alone`, where the folder can be written; elsewhere it may move all the same."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            held.enter_context(alone(store))
        yield


def identity(folder: Path) -> tuple[int, int] | None:
    """What is another when `folder` was moved or made anew; None if there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns
