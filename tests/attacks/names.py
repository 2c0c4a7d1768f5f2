"""Names that are any bytes, at every verb and in each place that takes one: what comes of it is
what comes of a plain name."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab
from attacks.kind import Kind, Missed
from attacks.saying import Said, said
from conftest import STUDY
from verbs import VERBS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from attacks.kind import Strike
    from verbs import Verb

ENDINGS = ("", ".toml", ".pcapng", ".c", ".tar.gz", ".store", ".svg", ".parquet")

PIECES = (
    *(b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf0\x9f\x99", b"\xc2\x9b2J", b"\xe2\x80\xae"),
    *(b"\x1b[2J", b"\x1b]0;x\x07", b"\r", b"\n", b"\t", b"\x7f", b"\xe2\x81\xa6", b"\xe6\x97\xa5"),
    *(b" ", b"'", b'"', b"`", b"$(x)", b"\\", b"#", b"*", b"?", b";", b"|", b"~", b"&lt;", b"<b>"),
    *(b"%s", b"%", b"{x}", b"{", b"[red]", b"[b", b"a", b"B", b"0", b"_", b"e\xcc\x81"),
)
"""Of names: bytes that are no text, orders to terminals, and what shells and formats read."""

FITTING: dict[tuple[str, ...], str] = {
    ("plan",): ".toml",
    ("run",): ".toml",
    ("explain",): ".toml",
    ("report",): ".store",
    ("compare",): ".store",
    ("analyze",): ".pcapng",
    ("query",): ".store",
    ("store", "ls"): ".store",
    ("store", "verify"): ".store",
    ("store", "gc"): ".store",
    ("store", "import"): ".store",
    ("store", "export"): ".store",
}
"""What a verb takes first, by the ending: any name of it is as good as another."""

NEW = {("store", "import"): "", ("store", "export"): ".tar.zst"}
"""Of these verbs, the ending of what they write, which they take last."""

READ_ALONE = (("compare",),)
"""Verbs that write to `--out` only where they run something, too."""

TAKEN = {("cluster", "local", "--file")}
"""Of verbs that go on, an option that takes any name."""


def odd_name(chance: random.Random) -> str:
    """A name of a file, as the command line gets it, that no plain name begins like."""
    pieces = [b"o", *chance.choices(PIECES, k=chance.choice([1, 1, 2, 4, 8]))]
    if chance.random() < 0.05:
        pieces.append(b"x" * 200)
    return os.fsdecode(b"".join(pieces)[:230])


class Names:
    """A folder with what verbs take, by a plain name and, in a try, by an odd one."""

    def __init__(self, place: Path) -> None:
        self.whole = place / "whole"
        self.whole.mkdir()
        self.here = place / "here"
        short = STUDY.replace('"2s"', '"600ms"').replace("repeat   = 2", "repeat = 1")
        (self.whole / "plain.toml").write_text(short)
        (self.whole / "traced.toml").write_text(short + '\n[trace]\ncapture = ["bottleneck"]\n')
        results = cclab.run(self.whole / "traced.toml", out=self.whole / "plain.store")
        capture = next(results.store.captures.rglob("*.pcapng"))
        shutil.copy(capture, self.whole / "plain.pcapng")
        (self.whole / "plain.c").write_text("int nothing;\n")
        (self.whole / "plain.tar.gz").write_bytes(b"no archive")

    def said(self, words: list[str], name: str, encoding: str) -> Said:
        """What is said of `words` in a folder that has all by `name`, too."""
        shutil.rmtree(self.here, ignore_errors=True)
        shutil.copytree(self.whole, self.here)
        for file in self.whole.glob("plain*"):
            other = self.here / file.name.replace("plain", name, 1)
            shutil.copytree(file, other) if file.is_dir() else shutil.copy(file, other)
        with contextlib.chdir(self.here):
            return said(words, encoding)


def asked(verb: Verb, name: str, chance: random.Random) -> list[str]:
    """The verb with the name in one place; plain ones are in the others."""
    given = name + chance.choice(ENDINGS)
    fitting = f"plain{chance.choice(['.toml', '.store', '.pcapng'])}"
    required = [fitting] * verb.required
    places = verb.required + verb.optional + 2 * len(verb.options)
    if places == 0:
        raise Missed("it takes no name")
    at = chance.randrange(places)
    if at < verb.required:
        required[at] = given
        return [*verb.words, *required]
    if at < verb.required + verb.optional:
        return [*verb.words, *required, *[given] * (at - verb.required + 1)]
    option, values = chance.choice(verb.options)
    if (*verb.words, option) in TAKEN or verb.goes_on:
        raise Missed("it goes on")
    value = chance.choice([given, f"a={given}", f"title={given}", f"{given}=1"])
    return [*verb.words, *required, option, *[value] * values]


def fitting(words: tuple[str, ...], name: str, chance: random.Random) -> list[str]:
    """The verb with what it takes, by the name in one place or in each."""
    verb = next(verb for verb in VERBS if verb.words == words)
    ending = FITTING[words]
    places = [ending] * max(1, verb.required)
    if words in NEW:
        places[-1] = NEW[words]
    given = [f"plain{end}" for end in places]
    if words in NEW:
        given[-1] = f"new{places[-1]}"
    for at in chance.choice([[chance.randrange(len(places))], range(len(places))]):
        given[at] = f"new-{name}{places[at]}" if given[at][:3] == "new" else f"{name}{places[at]}"
    out = [option for option, values in verb.options if option == "--out" and values == 1]
    if out and words not in READ_ALONE and chance.random() < 0.5:
        given += ["--out", f"new-{name}"]
    return [*words, *given]


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    names = Names(place)

    def strike(number: int, chance: random.Random) -> str | None:
        name, encoding = odd_name(chance), chance.choice(["utf-8", "utf-8", "ascii", "latin-1"])
        fits = number % 3 == 0
        if fits:
            words = fitting([*FITTING][number // 3 % len(FITTING)], name, chance)
        else:
            words = asked(VERBS[number % len(VERBS)], name, chance)
        done = names.said(words, name, encoding)
        faults = done.faults([0, 1, 2, 3])
        if r"\udc" in done.out + done.err:
            faults.append(f"a byte is told as a surrogate: {done.out}{done.err}")
        if fits or done.code in (0, 3):
            # What is no text, or no condition, may be refused where a plain word is not.
            plain = names.said([word.replace(name, "even") for word in words], "even", encoding)
            assert not fits or plain.code == 0, f"{words} with a plain name: {plain.err}"
            if plain.code != done.code:
                why = f"ends with {done.code}, and {plain.code} by a plain name"
                faults.append(f"{why}: {done.err}")
        return f"{words}: {'; '.join(faults)}" if faults else None

    with pytest.MonkeyPatch.context() as patched:
        # Nothing is fetched, and nothing made in the user's own cache.
        for variable in ("http_proxy", "https_proxy"):
            patched.setenv(variable, "http://127.0.0.1:9")
        patched.setenv("XDG_CACHE_HOME", str(place / "cache"))
        patched.delenv("CCLAB_KERNEL", raising=False)
        yield strike


NAMES = Kind("names of files are any bytes, at every verb", _bench, 36)
