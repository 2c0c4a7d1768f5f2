"""A disk without room, at whatever byte: one message, nothing half, and with room all is well."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

from attacks.disks import CCLAB, Turn, turns
from attacks.kills import difference
from attacks.kind import Kind, Missed
from attacks.saying import Said, said
from attacks.writing import WRITINGS, Sources, left_in
from cclab.cli.exits import DONE, RUN_FAILED

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from attacks.kind import Strike

OF_ITS_RUNS = "index.sqlite"
"""What a results folder that grows has of its runs, as far as they are there."""


class Disk:
    """A disk to be filled, and what each command leaves on one with room."""

    def __init__(self, place: Path) -> None:
        self.place, self.disk, self.copies = place, place / "disk", place / "copies"
        self.sources = Sources(place / "sources")
        self.before: dict[str, dict[str, bytes]] = {}
        self.undisturbed: dict[str, dict[str, bytes]] = {}

    def prepare(self, name: str) -> None:
        """What the command leaves undisturbed is known from now on."""
        roomy = self.place / "roomy" / name
        roomy.mkdir(parents=True)
        self.sources.prepare(WRITINGS[name], roomy)
        self.before[name] = left_in(roomy)
        done = said(self.sources.words(WRITINGS[name], roomy))
        assert done.code == DONE, f"{name}: {done.err}"
        self.undisturbed[name] = left_in(roomy)

    def turns(self, name: str, kib: int) -> tuple[Turn, Turn]:
        """What comes of the command on a disk of so many KiB beyond what is there, and then."""
        whole = self.place / "disk.whole"
        for folder in (self.copies, whole):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        self.sources.prepare(WRITINGS[name], whole)
        if self.before[name]:
            kib += 4 + kib_of(self.before[name])
        command = [*CCLAB, *self.sources.words(WRITINGS[name], self.disk)]
        return turns(kib, self.disk, self.copies, command, command)

    def half(self, name: str, left: dict[str, bytes]) -> list[str]:
        """What the command left that is neither what it leaves nor what was there."""
        before, whole = self.before[name], self.undisturbed[name]
        if WRITINGS[name].grows:
            return [
                file
                for file, content in left.items()
                if content not in (before.get(file), whole.get(file))
                and not file.endswith(OF_ITS_RUNS)
            ]
        return sorted(f for f in left.keys() | before if left.get(f) != before.get(f))


def kib_of(files: dict[str, bytes]) -> int:
    """What the files take of a disk, in blocks of 4 KiB."""
    return sum((len(content) + 4095) // 4096 * 4 for content in files.values())


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    disk = Disk(place)
    names = [*WRITINGS]

    def strike(number: int, chance: random.Random) -> str | None:
        name = names[number % len(names)]
        if name not in disk.undisturbed:
            disk.prepare(name)
        whole = disk.undisturbed[name]
        kib = chance.randrange(4, kib_of(whole) + 64, 4)
        first, then = disk.turns(name, kib)
        if first.code == DONE:
            raise Missed(f"{name}: {kib} KiB were enough")
        faults = Said(first.code, first.out, first.err).faults([RUN_FAILED])
        if "No space left on device" not in first.err:
            faults.append(f"not told why: {first.err}")
        if left := disk.half(name, left_in(first.left)):
            faults.append(f"left half of it: {left}")
        if then.code != DONE:
            faults.append(f"with room, it ends with {then.code}: {then.err}")
        elif wrong := difference(left_in(then.left), whole):
            faults.append(f"with room, {wrong}")
        return f"{name} with {kib} KiB: {'; '.join(faults)}" if faults else None

    yield strike


FULL_DISK = Kind("the disk is full, at whatever byte", _bench, 8)
