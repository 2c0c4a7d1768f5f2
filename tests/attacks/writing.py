"""Commands that write where they are told, what they read, and what they leave there."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

import cclab
from attacks.saying import said
from cclab.cli.exits import DONE
from conftest import files_of

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """\
title    = "A flow and datagrams on a slow link"
question = "What is left of a sweep that is killed?"
duration = "1s"
seed     = 7

[network.bottleneck]
rate  = "2Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "10p" }

[[flow]]
name = "only"
cc   = "reno"
rtt  = "20ms"

[[traffic]]
name = "noise"
kind = "constant-rate"
rate = "1Mbit"
packet_size = "500B"
"""
"""Of each table that a store has it makes some rows, and few figures: these take the longest."""

CAPTURED = STUDY + '[trace]\ncapture = ["bottleneck"]\n'


class Writing(NamedTuple):
    """A command that writes: its words, where OUT is what it writes, and others what it reads."""

    words: tuple[str, ...]
    there: bool = False
    """Whether OUT is a results folder before, with a run that no plan needs."""
    grows: bool = False
    """Whether OUT keeps what is done until then: runs, each of them whole."""


WRITINGS: dict[str, Writing] = {
    "run": Writing(("run", "STUDY", "--out", "OUT", "--repeat", "4"), grows=True),
    "report": Writing(("report", "OUT"), there=True),
    "analyze": Writing(("analyze", "CAPTURE", "--out", "OUT", "--series", "csv", "--xplot")),
    "export": Writing(("store", "export", "STORE", "OUT")),
    "export to an archive": Writing(("store", "export", "STORE", "OUT.tar.gz")),
    "import": Writing(("store", "import", "STORE", "OUT"), grows=True),
    "query": Writing(("query", "STORE", "--parquet", "OUT.parquet")),
    "compare": Writing(("compare", "STORE", "STORE", "--figure", "OUT.svg")),
    "collect": Writing(("store", "gc", "OUT"), there=True, grows=True),
    "evaluate": Writing(
        ("evaluate", "cubic", "--suite", "SUITE", "--out", "OUT", "--quick"), grows=True
    ),
    "reproduce": Writing(("reproduce", "PUBLISHED", "--out", "OUT", "--short"), grows=True),
}

READING = {
    (("compare",), "--study"),
    (("evaluate",), "--cluster"),
    (("evaluate",), "--since"),
    (("evaluate",), "--suite"),
    (("run",), "--cluster"),
}
"""Options of verbs whose folder or file is only read."""

SUITE = """\
title     = "A suite"
source    = "nobody"
version   = 1
standards = ["reno"]

[[scenario]]
name    = "one"
title   = "A flow"
study   = "one.toml"
subject = ["flow.only.cc"]
repeat  = 2
quick   = { repeat = 2 }

[[criterion]]
id         = "loss"
clause     = "1"
obligation = "MUST"
text       = "loses little"
scenario   = "one"
measure    = "share of packets dropped"
value      = "bottleneck_drop_rate"
unit       = "share"
better     = "lower"
margin     = 1.0
slack      = 0.01
"""

PUBLISHED = """\
title    = "A flow, published"
source   = "nobody"
question = "What does it get?"

[[experiment]]
name   = "one"
study  = "study.toml"
repeat = { sim = 2 }
short  = { repeat = 1, set = ["duration=1s"] }

[[claim]]
id         = "some"
text       = "The flow gets something."
experiment = "one"
terms.it   = { flow = "only", value = "goodput_bps" }
value      = "it"
above      = 1.0
"""


class Sources:
    """What the commands read, in a folder, and a results folder that they change."""

    def __init__(self, place: Path) -> None:
        place.mkdir(exist_ok=True)
        self.study, self.store, self.there = place / "study.toml", place / "store", place / "there"
        self.study.write_text(CAPTURED)
        self.suite, self.published = place / "suite", place / "published"
        for folder, file, text, study in (
            (self.suite, "suite.toml", SUITE, "one.toml"),
            (self.published, "reproduction.toml", PUBLISHED, "study.toml"),
        ):
            folder.mkdir()
            (folder / file).write_text(text)
            (folder / study).write_text(STUDY)
        results = cclab.run(self.study, out=self.store)
        self.capture = min(results.store.captures.rglob("*.pcapng"))
        shutil.copytree(self.store, self.there)
        done = said(["run", str(self.study), "--out", str(self.there), "--seed", "99"])
        assert done.code == DONE, done.err
        store = cclab.load(self.there).store
        kept = store.place_of(store.plan())
        for plan in store.plans.iterdir():
            if plan != kept:
                plan.unlink()

    def prepare(self, writing: Writing, folder: Path) -> None:
        """Makes the empty `folder` what it is before the command writes to `folder`/out."""
        if writing.there:
            shutil.copytree(self.there, folder / "out")

    def words(self, writing: Writing, folder: Path) -> list[str]:
        """The command line of the command, as it writes to `folder`/out."""
        given = {
            "STUDY": self.study,
            "STORE": self.store,
            "CAPTURE": self.capture,
            "SUITE": self.suite,
            "PUBLISHED": self.published,
            "OUT": folder / "out",
        }
        words = [*writing.words]
        for word, path in given.items():
            words = [each.replace(word, str(path), 1) for each in words]
        return words


TIMED = ("timed.json", "reproduction.json")
"""What tells how long runs took."""


_WALL = re.compile(rb'<span class="wall">[^<]*</span>')
"""How pages tell the same."""


def left_in(folder: Path) -> dict[str, bytes]:
    """What a command left in `folder` for good: all but what stores set aside, their work, and what
    no two times are the same."""
    passing = {"aside", "tmp"}
    return {
        name: _WALL.sub(b"", text)
        for name, text in files_of(folder).items()
        if not (name.startswith("out/") and passing & {*name.split("/")})
        and not name.endswith(TIMED)
    }
