"""Links where verbs write, and where they might on the way: what they lead to stays as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import cclab
from attacks.kind import Kind
from attacks.saying import said
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from conftest import STUDY

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from attacks.kind import Strike

OUTPUTS: dict[str, tuple[str, ...]] = {
    "run": ("run", "study.toml", "--out", "OUT"),
    "report": ("report", "OUT"),
    "report of figures": ("report", "OUT", "--format", "svg,pdf,png"),
    "report of one figure": ("report", "OUT", "--figure", "goodput"),
    "report for flent": ("report", "OUT", "--format", "flent"),
    "analyze": ("analyze", "capture.pcapng", "--out", "OUT", "--series", "csv", "--xplot"),
    "export to a folder": ("store", "export", "store", "OUT"),
    "export to an archive": ("store", "export", "store", "OUT.tar.zst"),
    "import": ("store", "import", "store", "OUT"),
    "collect": ("store", "gc", "OUT"),
    "query": ("query", "store", "--parquet", "OUT.parquet"),
    "compare": ("compare", "store", "store", "--figure", "OUT.svg"),
    "new": ("new", "variant", "out", "--language", "c"),
}
"""Each verb that writes where it is told, as OUT says; `new` writes where it is called."""

OF_A_STORE = ("report", "report of figures", "report of one figure", "report for flent", "collect")
"""Verbs whose OUT is a results folder already."""

BESIDE = ("", ".part", ".tmp", ".work", ".new", "~", ".lock", f".{os.getpid()}")


class Links:
    """A working folder for each verb, and what the verb writes there undisturbed."""

    def __init__(self, place: Path) -> None:
        self.whole, self.here, self.home = place / "whole", place / "here", place / "home"
        self.whole.mkdir()
        short = STUDY.replace('"2s"', '"600ms"').replace("repeat   = 2", "repeat = 1")
        study = self.whole / "study.toml"
        study.write_text(short + '\n[trace]\ncapture = ["bottleneck"]\n')
        store = cclab.run(study, out=self.whole / "store").store
        shutil.copy(next(store.captures.rglob("*.pcapng")), self.whole / "capture.pcapng")
        self.written: dict[str, list[str]] = {}
        for verb in OUTPUTS:
            self.restore(verb)
            before = self.names()
            with contextlib.chdir(self.here):
                said(self.words(verb))
            new = sorted(self.names() - before)
            self.written[verb] = new or sorted(name for name in before if name.startswith("out"))
            assert self.written[verb], f"{verb} wrote nothing"

    def words(self, verb: str) -> list[str]:
        """The command line of the verb, as it is told in its working folder."""
        out = str(self.here / "out")
        return [word.replace("OUT", out) for word in OUTPUTS[verb]]

    def names(self) -> set[str]:
        """What there is in the working folder."""
        return {str(path.relative_to(self.here)) for path in self.here.rglob("*")}

    def restore(self, verb: str) -> None:
        """The working folder before the verb, and a home with somebody's files."""
        for folder in (self.here, self.home):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.whole, self.here)
        if verb in OF_A_STORE:
            shutil.copytree(self.whole / "store", self.here / "out")
        (self.home / "thesis").mkdir(parents=True)
        (self.home / "victim").write_text("mine")
        (self.home / "thesis" / "text").write_text("years")
        # What is there by another name, too, and is to have no more and no fewer.
        (self.home / "thesis" / "index.html").hardlink_to(self.home / "victim")

    def plant(self, name: str, chance: random.Random) -> str:
        """Puts a link in the place of `name`: says which."""
        place = self.here
        for part in Path(name).parts:
            place /= part
            if place.is_symlink() or not place.is_dir():
                break  # A part of the way leads elsewhere.
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        leads_to = chance.choice(["victim", "hard", "itself", "thesis", "nowhere", "home"])
        if place == self.here / "out" and leads_to in ("thesis", "nowhere", "home"):
            # A results folder may stand elsewhere: who names it means what the link leads to.
            leads_to = "victim"
        if leads_to == "hard":
            place.hardlink_to(self.home / "victim")
        elif leads_to == "itself":
            place.symlink_to(place.name)
        else:
            place.symlink_to(self.home if leads_to == "home" else self.home / leads_to)
        return f"{place.relative_to(self.here)} to {leads_to}"

    def at_home(self) -> dict[str, tuple[int, bytes]]:
        """What somebody has there."""
        return {
            str(path.relative_to(self.home)): (
                path.lstat().st_mode,
                path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
            )
            for path in self.home.rglob("*")
        }


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    links = Links(place)
    verbs = [*OUTPUTS]

    def strike(number: int, chance: random.Random) -> str | None:
        verb = verbs[number % len(verbs)]
        links.restore(verb)
        names = links.written[verb]
        planted = []
        for _ in range(chance.choice([1, 1, 2, 5])):
            planted.append(links.plant(chance.choice(names) + chance.choice(BESIDE), chance))
        before = links.at_home()
        with contextlib.chdir(links.here):
            done = said(links.words(verb))
        faults = done.faults([DONE, WRONG_INPUT, RUN_FAILED])
        after = links.at_home()
        if after != before:
            other = sorted(n for n in after.keys() | before if after.get(n) != before.get(n))
            faults.append(f"changed at somebody's: {other}")
        return f"{verb}, with {planted}: {'; '.join(faults)}" if faults else None

    yield strike


LINKS = Kind("links stand where verbs write", _bench, 28)
