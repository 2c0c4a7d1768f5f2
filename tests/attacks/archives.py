"""Archives that are damaged, or that somebody made to do harm, and are imported: what comes of one
is sound, and nothing is written elsewhere."""

from __future__ import annotations

import contextlib
import gzip
import io
import shutil
import tarfile
from typing import TYPE_CHECKING

import pytest
import zstandard

import damage as befalling
from attacks.kind import Kind
from cclab.errors import InputError
from cclab.store import Store, health, transfer
from damage import files_in
from damaged_store import Bench, two_studies

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from attacks.kind import Strike

BOMB = 300 << 20
"""Bytes of zeros, more than an archive of its size may become."""


def _of_type(kind: bytes) -> Callable[[str, str], tarfile.TarInfo]:
    def member(name: str, leads_to: str) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, leads_to
        info.devmajor, info.devminor = 1, 5
        return info

    return member


TYPES = {
    "link": _of_type(tarfile.SYMTYPE),
    "hard link": _of_type(tarfile.LNKTYPE),
    "device": _of_type(tarfile.CHRTYPE),
    "block device": _of_type(tarfile.BLKTYPE),
    "pipe": _of_type(tarfile.FIFOTYPE),
    "sparse file": _of_type(tarfile.GNUTYPE_SPARSE),
    "unknown": _of_type(b"Z"),
}
"""Members that are neither a folder nor a plain file."""


FIELDS = {
    "path": [f"store/{'a/' * 3000}a", f"store/{'a/' * 100_000}a", "store/plans/a\0b", "a" * 5000],
    "size": ["-1", "-512", f"-{1 << 70}"],
    "GNU.sparse.map": ["x,y", "0", "0,-5", f"0,{1 << 62}", ","],
    "GNU.sparse.size": ["zz", "1e9", "nan", "-1"],
    "GNU.sparse.realsize": ["zz", "inf", ""],
    "mtime": ["1e300", "-1e300", "inf", "nan", str(1 << 80)],
}
"""Fields of extended headers, and what no archive of a store has in them."""

HARMLESS = {f"mtime={value}" for value in FIELDS["mtime"]}
"""Times are of no account."""


class Archives:
    """Whole archives of a store, and what is made of them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.bench: Bench = two_studies(place)
        self.whole: dict[str, bytes] = {}
        for ending in transfer.ARCHIVES:
            archive = place / f"whole{ending}"
            assert transfer.export(self.bench.store, self.bench.store.ids(), archive).whole
            self.whole[ending] = archive.read_bytes()
        self.victim = place / "outside" / "file"
        self.victim.parent.mkdir()
        self.victim.write_text("mine")

    def strike(self, number: int, chance: random.Random) -> str | None:
        """Imports one: of four, two are damaged and two made to do harm."""
        ending = chance.choice([*self.whole])
        archive, target = self.place / f"try{ending}", self.place / "target"
        archive.write_bytes(self.whole[ending])
        before = self.around()
        try:
            if number % 4 == 0:
                damage = befalling.flip([archive], chance)
                damage.strike()
                said = damage.name
            elif number % 4 == 1:
                damage = befalling.cut([archive], chance, empty=number % 40 == 1)
                damage.strike()
                said = damage.name
            else:
                tar, said = self.forged(chance, ending)
                archive.write_bytes(compressed(tar, ending))
            harmful = number % 4 >= 2 and said not in HARMLESS
            failed = self.brought(archive, Store(target), harmful=harmful)
            elsewhere = [name for name, _ in set(self.around()) ^ set(before)]
            if elsewhere or self.victim.read_text() != "mine":
                failed = f"{failed or 'refused'}; written elsewhere: {elsewhere}"
            return failed and f"{said}: {failed}"
        finally:
            shutil.rmtree(target, ignore_errors=True)
            archive.unlink()

    def check_control(self) -> None:
        """What is forged is taken without its harmful member: nothing else in it is refused."""
        target = self.place / "target"
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            content = io.BytesIO()
            with tarfile.open(fileobj=content, mode="w", format=form) as tar:
                tar.add(self.bench.whole, "store")
            for ending in self.whole:
                archive = self.place / f"try{ending}"
                archive.write_bytes(compressed(content.getvalue(), ending))
                assert transfer.bring(archive, Store(target)).whole
                assert Store(target).ids() == self.bench.store.ids()
                shutil.rmtree(target)
                archive.unlink()

    def around(self) -> list[tuple[str, int]]:
        """What is there but for the target and the archive."""
        passing = ("target", "try")
        return sorted(
            (str(file), 0 if file.is_dir() else file.lstat().st_nlink)
            for file in [*self.place.parent.iterdir(), *self.place.rglob("*")]
            if not str(file.relative_to(self.place.parent)).startswith(
                tuple(f"{self.place.name}/{name}" for name in passing)
            )
        )

    def brought(self, archive: Path, target: Store, *, harmful: bool) -> str | None:
        """Imports the archive: what is wrong about what came of it."""
        try:
            done = transfer.bring(archive, target)
        except InputError:
            return "a target that nothing was written to" if target.path.exists() else None
        if harmful:
            return "taken as it is"
        if not health.examine(target).whole:
            return "what came of it is damaged"
        if done.whole and target.ids() != self.bench.store.ids():
            return "called whole, and it is not"
        for file in files_in(target.path):
            if file.suffix in (".zip", ".pcapng"):
                there = self.bench.whole / file.relative_to(target.path)
                if file.read_bytes() != there.read_bytes():
                    return f"{file.name} is another"
        return None

    def forged(self, chance: random.Random, ending: str) -> tuple[bytes, str]:
        """A tar of the store with a member more that is to do harm, before or behind it; and what
        that is."""
        content = io.BytesIO()
        form = chance.choice([0, 1, 2])
        harmful = self.member(chance, ending)
        if harmful[0].pax_headers:
            form = tarfile.PAX_FORMAT
        elif harmful[0].size >= 8**11:  # The oldest form has no number for it.
            form = tarfile.GNU_FORMAT
        with tarfile.open(fileobj=content, mode="w", format=form) as tar:
            first = chance.random() < 0.5
            if first:
                tar.addfile(*harmful)
            tar.add(self.bench.whole, "store")
            if not first:
                tar.addfile(*harmful)
        info = harmful[0]
        if info.pax_headers:
            ((field, value),) = info.pax_headers.items()
            return content.getvalue(), f"{field}={value[:40]}"
        return content.getvalue(), f"{info.name} of type {info.type!r} to {info.linkname!r}"

    def member(
        self, chance: random.Random, ending: str
    ) -> tuple[tarfile.TarInfo, io.BytesIO | None]:
        """One that is to do harm: at a place elsewhere, of a type that is no file, large, or with
        a field that is forged."""
        inside = [f"store/{f.relative_to(self.bench.whole)}" for f in files_in(self.bench.whole)]
        drawn = chance.randrange(13)
        if drawn >= 10:
            name = chance.choice(inside)
            content = (self.bench.whole / name.removeprefix("store/")).read_bytes()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            field = chance.choice([*FIELDS])
            info.pax_headers = {field: chance.choice(FIELDS[field])}
            return info, io.BytesIO(content)
        if drawn == 0:
            info = tarfile.TarInfo("store/large")
            if ending == ".tar":
                info.size = 1 << 40
                return info, None
            info.size = BOMB
            return info, io.BytesIO(bytes(BOMB))
        if drawn < 4:
            name = chance.choice(
                [
                    "../" * chance.randrange(1, 5) + "outside/new",
                    str(self.victim),
                    str(self.victim.with_name("new")),
                    f"store/{'../' * chance.randrange(2, 6)}outside/file",
                    f"./store/./runs/../../..{'/..' * chance.randrange(3)}/new",
                ]
            )
            info = tarfile.TarInfo(name)
            info.size = 1
            return info, io.BytesIO(b"x")
        name = chance.choice([*inside, "store/runs/new.zip", "store/new", "new", "store/captures"])
        leads_to = chance.choice(
            [str(self.victim), "../../outside/file", str(self.victim.parent), "/etc/passwd", name]
        )
        return TYPES[chance.choice([*TYPES])](name, leads_to), None


def compressed(tar: bytes, ending: str) -> bytes:
    """The archive with this ending."""
    if ending == ".tar.gz":
        return gzip.compress(tar, 1)
    if ending == ".tar.zst":
        return zstandard.compress(tar)
    return tar


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    with pytest.MonkeyPatch.context() as patched:
        befalling.without_waiting_for_the_disk(patched)
        archives = Archives(place)
        archives.check_control()
        yield archives.strike


ARCHIVES = Kind("an archive is damaged, or made to do harm, and imported", _bench, 30)
