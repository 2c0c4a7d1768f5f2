"""A disk without room, at whatever byte: one message, nothing half, and with room all is well."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

import cclab
from attacks.disks import CCLAB, Turn, turns
from attacks.kind import Kind, Missed
from attacks.saying import Said, said
from attacks.writing import STUDY
from cclab.cli.exits import DONE, RUN_FAILED
from conftest import files_of, kept

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from attacks.kind import Strike

VERBS: dict[str, tuple[str, ...]] = {
    "run": ("run", "STUDY", "--out", "DISK/out", "--repeat", "4"),
    "report": ("report", "DISK/store"),
    "analyze": ("analyze", "CAPTURE", "--out", "DISK/out", "--series", "csv", "--xplot"),
    "export": ("store", "export", "STORE", "DISK/out"),
    "export to an archive": ("store", "export", "STORE", "DISK/out.tar.gz"),
    "import": ("store", "import", "STORE", "DISK/out"),
    "query": ("query", "STORE", "--parquet", "DISK/out.parquet"),
    "compare": ("compare", "STORE", "STORE", "--figure", "DISK/out.svg"),
}
"""Each verb that writes, and what it writes to a disk."""

KEEPS = ("run", "import")
"""Verbs that keep what is done: runs, each of them whole."""

ON_THE_DISK = ("report",)
"""Verbs whose results folder is on the disk already."""


class Disk:
    """A disk to be filled, and what each verb leaves on one with room."""

    def __init__(self, place: Path) -> None:
        self.place, self.disk, self.copies = place, place / "disk", place / "copies"
        (place / "study.toml").write_text(STUDY + '[trace]\ncapture = ["bottleneck"]\n')
        results = cclab.run(place / "study.toml", out=place / "store")
        self.capture = min(results.store.captures.rglob("*.pcapng"))
        self.undisturbed: dict[str, dict[str, bytes]] = {}
        self.before: dict[str, dict[str, bytes]] = {}
        self.needs_kib: dict[str, int] = {}
        for verb in VERBS:
            roomy = place / "roomy" / verb
            roomy.mkdir(parents=True)
            if verb in ON_THE_DISK:
                shutil.copytree(place / "store", roomy / "store")
            self.before[verb] = files_of(roomy)
            done = said(self.words(verb, roomy))
            assert done.code == DONE, f"{verb}: {done.err}"
            self.undisturbed[verb] = held(verb, roomy)
            sizes = [(len(text) + 4095) // 4096 * 4 for text in self.undisturbed[verb].values()]
            self.needs_kib[verb] = sum(sizes)

    def words(self, verb: str, disk: Path) -> list[str]:
        """The command line of the verb, as it writes to `disk`."""
        given = {
            "STUDY": self.place / "study.toml",
            "STORE": self.place / "store",
            "CAPTURE": self.capture,
            "DISK": disk,
        }
        words = [*VERBS[verb]]
        for name, path in given.items():
            words = [word.replace(name, str(path), 1) for word in words]
        return words

    def turns(self, verb: str, kib: int) -> tuple[Turn, Turn]:
        """What comes of the verb on a disk of so many KiB beyond what is there, and then."""
        for folder in (self.copies, self.place / "disk.whole"):
            shutil.rmtree(folder, ignore_errors=True)
        self.copies.mkdir()
        if verb in ON_THE_DISK:
            shutil.copytree(self.place / "store", self.place / "disk.whole" / "store")
            kib += 4 + sum(
                (file.lstat().st_size + 4095) // 4096 * 4 for file in self.place.glob("store/**/*")
            )
        command = [*CCLAB, *self.words(verb, self.disk)]
        return turns(kib, self.disk, self.copies, command, command)


def held(verb: str, disk: Path) -> dict[str, bytes]:
    """What the verb has made of the disk."""
    return kept(disk / "out") if verb in KEEPS else files_of(disk)


def half(verb: str, left: Path, whole: dict[str, bytes], before: dict[str, bytes]) -> list[str]:
    """What a verb left that is neither what it leaves nor nothing."""
    there = files_of(left)
    if verb in KEEPS:
        return [
            name
            for name, content in there.items()
            if "/runs/" in name and content != whole.get(name.removeprefix("out/"))
        ]
    return [name for name in there if name not in before]


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    disk = Disk(place)
    verbs = [*VERBS]

    def strike(number: int, chance: random.Random) -> str | None:
        verb = verbs[number % len(verbs)]
        kib = chance.randrange(4, disk.needs_kib[verb] + 64, 4)
        first, then = disk.turns(verb, kib)
        if first.code == DONE:
            raise Missed(f"{verb}: {kib} KiB were enough")
        faults = Said(first.code, first.out, first.err).faults([RUN_FAILED])
        if "No space left on device" not in first.err:
            faults.append(f"not told why: {first.err}")
        if left := half(verb, first.left, disk.undisturbed[verb], disk.before[verb]):
            faults.append(f"left half of it: {left}")
        if then.code != DONE:
            faults.append(f"with room, it ends with {then.code}: {then.err}")
        else:
            made = held(verb, then.left)
            whole = disk.undisturbed[verb]
            names = sorted(n for n in made.keys() | whole if made.get(n) != whole.get(n))
            if names:
                faults.append(f"with room, not as on a disk with room: {names}")
        return f"{verb} with {kib} KiB: {'; '.join(faults)}" if faults else None

    yield strike


FULL_DISK = Kind("the disk is full, at whatever byte", _bench, 4)
