"""Links where verbs write, and where they might on the way: what they lead to stays as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.disks import CCLAB
from attacks.kind import Kind
from attacks.saying import Said, said
from attacks.writing import WRITINGS, Sources, Writing
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from waiting import PATIENCE_S

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from attacks.kind import Strike

FORMS: dict[str, Writing] = {
    **WRITINGS,
    "report of figures": Writing(("report", "OUT", "--format", "svg,pdf,png"), there=True),
    "report of one figure": Writing(("report", "OUT", "--figure", "goodput"), there=True),
    "report for flent": Writing(("report", "OUT", "--format", "flent"), there=True),
    "compare on a study": Writing(
        ("compare", "reno", "cubic", "--flow", "only", "--study", "STUDY", "--out", "OUT")
    ),
    "new": Writing(("new", "variant", "slow", "--language", "c", "--out", "OUT")),
    "new labs": Writing(("new", "labs", "--out", "OUT")),
    "cluster": Writing(("cluster", "local", "--workers", "1", "--file", "OUT.json")),
}
"""Each command that writes where it is told."""

UNTIL_STOPPED = {"cluster": ["out.json"]}
"""Commands that go on until they are stopped, and what they write until then."""

TRIED_ALONE = {(("doctor",), "--out")}
"""Options for what is made and removed at once, to try whether it can be."""

BESIDE = ("", ".part", ".tmp", ".work", ".new", "~", ".lock", f".{os.getpid()}")


class Links:
    """A working folder of commands, and what each writes there undisturbed."""

    def __init__(self, place: Path) -> None:
        self.here, self.home = place / "here", place / "home"
        self.sources = Sources(place / "sources")
        self.written: dict[str, list[str]] = {**UNTIL_STOPPED}

    def written_by(self, form: str) -> list[str]:
        """What the command writes undisturbed."""
        if form not in self.written:
            self.restore(form)
            before = self.names()
            self.told(form)
            new = sorted(self.names() - before)
            self.written[form] = new or sorted(name for name in before if name.startswith("out"))
            assert self.written[form], f"{form} wrote nothing"
        return self.written[form]

    def words(self, form: str) -> list[str]:
        """The command line of the command, as it is told in its working folder."""
        return self.sources.words(FORMS[form], self.here)

    def told(self, form: str) -> Said:
        """What the command says, told in its working folder; stopped if it goes on."""
        if form not in UNTIL_STOPPED:
            with contextlib.chdir(self.here):
                return said(self.words(form))
        child = subprocess.Popen(
            [*CCLAB, *self.words(form)],
            cwd=self.here,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        first = child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=PATIENCE_S)
        return Said(child.returncode, first + out, err)

    def names(self) -> set[str]:
        """What there is in the working folder."""
        return {str(path.relative_to(self.here)) for path in self.here.rglob("*")}

    def restore(self, form: str) -> None:
        """The working folder before the command, and a home with somebody's files."""
        for folder in (self.here, self.home):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        self.sources.prepare(FORMS[form], self.here)
        (self.home / "thesis").mkdir()
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
    forms = [*FORMS]

    def strike(number: int, chance: random.Random) -> str | None:
        form = forms[number % len(forms)]
        names = links.written_by(form)
        links.restore(form)
        planted = []
        for _ in range(chance.choice([1, 1, 2, 5])):
            planted.append(links.plant(chance.choice(names) + chance.choice(BESIDE), chance))
        before = links.at_home()
        done = links.told(form)
        faults = done.faults([DONE, WRONG_INPUT, RUN_FAILED])
        after = links.at_home()
        if after != before:
            other = sorted(n for n in after.keys() | before if after.get(n) != before.get(n))
            faults.append(f"changed at somebody's: {other}")
        return f"{form}, with {planted}: {'; '.join(faults)}" if faults else None

    yield strike


LINKS = Kind("links stand where verbs write", _bench, len(FORMS))
