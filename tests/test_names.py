"""Names of files may be any bytes, and a stream may lack letters: no verb stumbles over either.

The verbs and what they take come from the parser itself: a new one is tested without a line.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import typer

from cclab.cli import main
from cclab.cli.console import prepare
from conftest import STUDY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cclab import Results

ODD = os.fsdecode(b"odd\xff\xc3(")
SHOWN = r"odd\xff\xc3("

_ENCODINGS = ("utf-8", "ascii", "latin-1")


class _Verb(NamedTuple):
    """A verb, what must be given to it, and the options that take something."""

    words: tuple[str, ...]
    required: int
    optional: int
    options: tuple[tuple[str, int], ...]


def _verbs() -> Iterator[_Verb]:
    for name, (module, _) in main._VERBS.items():
        verbs = typer.Typer()
        verbs.callback()(main.cclab)
        main._add(verbs, name, module)
        yield from _leaves((), typer.main.get_command(verbs))


def _leaves(words: tuple[str, ...], command: Any) -> Iterator[_Verb]:
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from _leaves((*words, name), below)
        return
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    yield _Verb(
        words,
        sum(p.required for p in arguments),
        sum(max(1, p.nargs) for p in arguments if not p.required),
        tuple((p.opts[-1], p.nargs) for p in options if not p.is_flag),
    )


VERBS = list(_verbs())


@pytest.fixture
def odd(tmp_path: Path, results: Results, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Odd names in the working folder: of nothing, and of what verbs take, which is there by other
    names, too."""
    monkeypatch.chdir(tmp_path)
    # Nothing is fetched, and nothing made in the user's own cache.
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    short = STUDY.replace('"2s"', '"300ms"').replace("repeat   = 2", "repeat = 1")
    capture = next(results.store.captures.rglob("*.pcapng"))
    for stem in (ODD, "even", "plain"):
        (tmp_path / f"{stem}.toml").write_text(short)
        shutil.copy(capture, tmp_path / f"{stem}.pcapng")
        (tmp_path / f"{stem}.c").write_text("int nothing;\n")
        (tmp_path / f"{stem}.tar.gz").write_bytes(b"no archive")
        shutil.copytree(results.store.path, tmp_path / f"{stem}.store")
    return [f"{ODD}{end}" for end in ("", ".toml", ".pcapng", ".c", ".tar.gz", ".store")]


def _said(
    words: list[str], encoding: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, bytes, bytes]:
    """The exit code of the command line and the bytes on its two streams."""
    streams = io.BytesIO(), io.BytesIO()
    with monkeypatch.context() as patched:
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            patched.setattr(sys, name, io.TextIOWrapper(stream, encoding, write_through=True))
        prepare()
        code = main.invoke(words)
        sys.stdout.flush()
        sys.stderr.flush()
        return code, streams[0].getvalue(), streams[1].getvalue()


def _asked(verb: _Verb, odd: list[str]) -> Iterator[list[str]]:
    """The verb with odd names in each place, one by one; elsewhere are plain ones."""
    filled = verb.required + verb.optional
    for name in odd:
        for count in range(max(1, verb.required), filled + 1):
            yield [name] * count
        for at in range(verb.required if verb.required > 1 else 0):
            for other in ("plain.toml", "plain.store"):
                yield [other] * at + [name] + [other] * (verb.required - at - 1)
    for option, values in verb.options:
        for name in (odd[0], f"a={odd[0]}", odd[5]):
            for other in ("plain.toml", "plain.store"):
                yield [*[other] * verb.required, option, *[name] * values]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: "-".join(verb.words))
def test_a_verb_takes_any_name(
    verb: _Verb, odd: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    encodings = cycle(_ENCODINGS)
    for words in _asked(verb, odd):
        encoding = next(encodings)
        code, *said = _said([*verb.words, *words], encoding, monkeypatch)
        even = [word.replace(ODD, "even") for word in words]
        # That a kernel cannot be called so is another mistake than that none is.
        if b"cannot be a kernel's name" not in said[1]:
            assert code == _said([*verb.words, *even], encoding, monkeypatch)[0], (words, said)
        for text in said:
            decoded = text.decode(encoding)
            assert "\x1b" not in decoded
            assert "Traceback" not in decoded
            assert "not allowed" not in decoded, words
            assert r"\udc" not in decoded, words
