"""Study files that are changed at random, token by token and byte by byte: what is wrong about one
is told in one message with its place, and nothing is written."""

from __future__ import annotations

import contextlib
import re
import shutil
from typing import TYPE_CHECKING

from attacks.kind import Kind
from attacks.saying import said
from cclab.cli.exits import DONE, WRONG_INPUT
from conftest import ROOT

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from attacks.kind import Strike

TOKENS = re.compile(
    rb'"(?:[^"\\\n]|\\.)*"|#[^\n]*|[A-Za-z0-9_.+-]+|\[\[|\]\]|[^\sA-Za-z0-9_]|\n|[ \t]+'
)

EXTREMES = (
    *(b"0", b"-1", b"1", b"2", b"0.0", b"-0.0", b"1e308", b"1e-308", b"1e999", b"nan", b"inf"),
    *(b"-inf", b"9223372036854775807", b"-9223372036854775808", b"18446744073709551616"),
    *(b"1000000000", b"9" * 400, b"0x7f", b"1_000", b"1__0", b"01", b"true", b"false"),
    *(b"[]", b"{}", b"[[]]", b"[1, 'a']", b"[0, 1, 1, 2]", b'["a", "b"]', b"''", b'""', b"'" * 3),
    *(b'"0bit"', b'"0ms"', b'"-1ms"', b'"1ns"', b'"1e9s"', b'"99999999999999999999Gbit"'),
    *(b'"0%"', b'"100%"', b'"101%"', b'"nan%"', b'"0bdp"', b'"1e30bdp"', b'"0p"', b'"1B"', b'"1"'),
    *(b'"inf"', b'"reno"', b'"linux"', b'"sim"', b'"./nothing.c"', b'"../../etc/passwd"'),
    *(b'"/dev/zero"', b'"\\u001b[2J"', b'"\\u0000"', b'"\\ud800"', b'"\\u202e"', b'"\\u009b2J"'),
    *(b"1979-05-27T07:32:00Z", b"07:32:00", b'"until ci95 < 1%"', b'"' + b"x" * 5000 + b'"'),
    b'"until ci95 < 0%, at least 9, at most 2"',
    b'{ from = "1", to = "9", steps = 99999999 }',
)
"""Values, as TOML has them or does not."""

BYTES = tuple(
    bytes.fromhex(byte)
    for byte in ("ff", "00", "1b5b324a", "c3", "eda080", "e280ae", "c29b", "0d", "7f", "0b")
)
"""What no text file has, or no terminal may get."""

PLACED = re.compile(r"study\.toml:\d+:\d+: ")

OF_THIS_MACHINE = re.compile(r"error: the kernel \S+ is not built; please run: cclab kernel build")
"""Of a study without a mistake."""


def _extreme(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> None:
    """A value, most likely: what stands behind a sign of equality."""
    values = [at for at in range(2, len(tokens)) if b"=" in tokens[at - 2 : at]]
    tokens[chance.choice(values or [0])] = chance.choice(EXTREMES)


def _any_extreme(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> None:
    tokens[chance.randrange(len(tokens))] = chance.choice(EXTREMES)


def _removed(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(tokens))
    del tokens[at : at + chance.choice([1, 1, 2, 5, 50])]


def _twice(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> None:
    begins, at = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[at:at] = tokens[begins : begins + chance.choice([1, 2, 5, 50])]


def _of_another(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> None:
    """A token that some study has, such as a key in a table where it is not known."""
    tokens[chance.randrange(len(tokens))] = chance.choice(all_tokens)


def _lines_of_another(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> None:
    begins, at = chance.randrange(len(all_tokens)), chance.randrange(len(tokens))
    tokens[at:at] = [b"\n", *all_tokens[begins : begins + 40], b"\n"]


def _bytes(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(tokens))
    token, within = tokens[at], chance.randrange(len(tokens[at]) + 1)
    tokens[at] = token[:within] + chance.choice(BYTES) + token[within:]


def _deep(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> None:
    """Brackets in brackets, or a key of many parts."""
    depth = chance.choice([50, 200, 5000, 100_000])
    tokens.insert(
        chance.randrange(len(tokens)),
        chance.choice(
            [
                b"\nx = " + b"[" * depth + b"]" * depth + b"\n",
                b"\nx = " + b"{ a = " * depth + b"1" + b" }" * depth + b"\n",
                b"\n[" + b"a." * depth + b"a]\n",
                b"\nx = " + b"[" * depth,
                b"\n" + b"a." * depth + b"a = 1\n",
            ]
        ),
    )


CHANGES: tuple[Callable[[list[bytes], list[bytes], random.Random], None], ...] = (
    *(_extreme, _extreme, _extreme, _any_extreme, _removed, _twice),
    *(_of_another, _lines_of_another, _bytes, _deep),
)


def study_files() -> list[Path]:
    """The studies of the repository."""
    return sorted([*ROOT.glob("examples/*.toml"), *ROOT.glob("studies/*/study.toml")])


def changed(tokens: list[bytes], all_tokens: list[bytes], chance: random.Random) -> bytes:
    """A study file with one or a few changes."""
    tokens = [*tokens]
    for change in chance.choices(CHANGES, k=chance.choice([1, 1, 1, 2, 5])):
        change(tokens, all_tokens, chance)
        tokens = tokens or [b"\n"]
    return b"".join(tokens)


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    files = study_files()
    # Beside what they name: traces, and variants in files.
    folders = {file: place / str(number) for number, file in enumerate(files)}
    for file, folder in folders.items():
        shutil.copytree(file.parent, folder, symlinks=True)
    tokens = {file: TOKENS.findall(file.read_bytes()) for file in files}
    all_tokens = [token for file in files for token in tokens[file]]

    def strike(number: int, chance: random.Random) -> str | None:
        file = chance.choice(files)
        study = folders[file] / "study.toml"
        whole = study.read_bytes() if study.exists() else None
        before = {path.name for path in study.parent.rglob("*")} | {study.name}
        study.write_bytes(changed(tokens[file], all_tokens, chance))
        try:
            faults = []
            for verb in ("plan", "explain"):
                done = said([verb, str(study)])
                faults += done.faults([DONE, WRONG_INPUT])
                if done.code == WRONG_INPUT:
                    faults += _of_message(done.err)
            written = {path.name for path in study.parent.rglob("*")} - before - {"__pycache__"}
            if written := {name for name in written if not name.endswith(".pyc")}:
                faults.append(f"written: {sorted(written)}")
            return "; ".join(faults) or None
        finally:
            study.unlink()
            if whole is not None:
                study.write_bytes(whole)

    yield strike


def _of_message(err: str) -> Iterator[str]:
    """What is wrong about the message that refuses a study."""
    if not PLACED.search(err) and not OF_THIS_MACHINE.match(err):
        yield f"no place in {err!r}"
    if err.count("\nerror: "):
        yield f"several messages: {err!r}"


STUDIES = Kind("a study file is changed, and planned and explained", _bench, 60)
