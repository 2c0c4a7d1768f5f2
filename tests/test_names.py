"""Names of files may be any bytes, and a stream may lack letters: no verb stumbles over either.

The verbs and what they take come from the parser itself: a new one is tested without a line.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cclab.cli import doctor, main
from cclab.cli.console import prepare
from cclab.cli.exits import DONE, EXPECTATION_FAILED, WRONG_INPUT
from conftest import STUDY
from verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab import Results
    from conftest import Cli
    from verbs import Verb

ODD = os.fsdecode(b"odd\xff\xc3(")
SHOWN = r"odd\xff\xc3("

_ENCODINGS = ("utf-8", "ascii", "latin-1")


@pytest.fixture
def odd(tmp_path: Path, results: Results, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Odd names in the working folder: of nothing, and of what verbs take, which is there by other
    names, too."""
    monkeypatch.chdir(tmp_path)
    # Nothing is fetched, and nothing made in the user's own cache.
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    short = STUDY.replace('"2s"', '"600ms"').replace("repeat   = 2", "repeat = 1")
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


def _fitting(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> str:
    """A name of something that the verb does what it does with; any if it takes none."""
    names = ("plain.toml", "plain.store", "plain.pcapng")
    if verb.required:
        for name in names:
            words = [*verb.words, *[name] * verb.required]
            if _said(words, "utf-8", monkeypatch)[0] != WRONG_INPUT:
                return name
    return names[0]


def _asked(verb: Verb, odd: list[str], fitting: str) -> Iterator[list[str]]:
    """The verb with odd names in each place, one by one; elsewhere are plain ones."""
    filled = verb.required + verb.optional
    for name in odd:
        for count in range(max(1, verb.required), filled + 1):
            yield [name] * count
        for at in range(verb.required if verb.required > 1 else 0):
            yield [fitting] * at + [name] + [fitting] * (verb.required - at - 1)
    for option, values in verb.options:
        if verb.words == ("cluster", "local") and option == "--file":
            continue  # It is taken whatever it is called, and the cluster goes on.
        for name in (odd[0], f"a={odd[0]}", odd[5]):
            yield [*[fitting] * verb.required, option, *[name] * values]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: "-".join(verb.words))
def test_a_verb_takes_any_name(verb: Verb, odd: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    encodings = cycle(_ENCODINGS)
    for words in _asked(verb, odd, _fitting(verb, monkeypatch)):
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


@pytest.mark.parametrize("encoding", _ENCODINGS[1:])
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: "-".join(verb.words))
def test_a_verb_says_the_same_in_every_encoding(
    verb: Verb, encoding: str, odd: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert odd
    if verb.goes_on:
        return
    words = [*verb.words, *[_fitting(verb, monkeypatch)] * verb.required]
    before = {*Path().iterdir()}
    code, *told = _said(words, "utf-8", monkeypatch)
    for made in {*Path().iterdir()} - before:
        shutil.rmtree(made)
    again, *said = _said(words, encoding, monkeypatch)
    assert again == code
    for text in said:
        shown = text.decode(encoding)
        assert "\\xb1" not in shown  # ± has letters of its own
        assert "\\u25" not in shown  # and so have boxes
    assert [bool(text) for text in said] == [bool(text) for text in told]


@pytest.mark.parametrize("study", ["..toml", "...toml"])
def test_a_study_whose_name_leads_elsewhere_makes_no_results_folder_of_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    study: str,
) -> None:
    """`results/..` is the folder that the user stands in."""
    monkeypatch.chdir(tmp_path)
    Path(study).write_text(STUDY.replace('"2s"', '"600ms"').replace("repeat   = 2", "repeat = 1"))
    assert main.invoke(["run", study]) == WRONG_INPUT
    assert f"'{Path(study).stem}' is no name of a folder in results" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == [study]
    assert main.invoke(["run", study, "--out", "out"]) == DONE


def test_bytes_of_names_are_kept_and_documents_hold_them_as_they_are_shown(
    odd: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, out, archive, brought = odd[1], f"{ODD}.out", f"{ODD}.tar.zst", f"{ODD}.in"
    for words in (
        ["run", study, "--out", out],
        ["run", study],
        ["store", "export", out, archive],
        ["store", "import", archive, brought],
        ["query", out, "--parquet", f"{ODD}.parquet"],
        ["analyze", odd[2], "--out", f"{ODD}.analysis", "--series", "csv", "--xplot"],
        ["report", out, "--format", "svg,pdf,png"],
        ["report", out, "--format", "flent"],
        ["compare", out, brought, "--figure", f"{ODD}.svg"],
        ["reproduce", odd[0], "--out", out],
    ):
        code, _, told = _said(words, "utf-8", monkeypatch)
        assert code == (WRONG_INPUT if words[0] == "reproduce" else DONE), told
    names = {os.fsencode(entry.name) for entry in tmp_path.iterdir()}
    for name in (out, archive, brought, f"{ODD}.parquet", f"{ODD}.analysis", f"{ODD}.svg"):
        assert os.fsencode(name) in names
    assert (tmp_path / "results" / SHOWN / "plan.json").exists()
    assert json.loads((tmp_path / out / "plan.json").read_text("utf-8"))["name"] == SHOWN
    texts = (".json", ".html", ".md", ".csv", ".svg", ".flent")
    read = 0
    for folder, _, files in os.walk(tmp_path):
        for name in files:
            if name.endswith(texts):
                text = Path(folder, name).read_bytes().decode("utf-8")
                assert r"\udc" not in text, name
                read += 1
    assert read > 20
    document = json.loads((tmp_path / f"{ODD}.analysis" / "analysis.json").read_text("utf-8"))
    assert document["connections"]


def test_a_variant_in_a_folder_of_any_name_runs(
    odd: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert odd
    made = _said(
        ["new", "variant", "mine", "--language", "c", "--out", f"{ODD}.new"], "utf-8", monkeypatch
    )
    assert made[0] == DONE, made
    study = f"{ODD}.new/study.toml"
    short = ["--set", "duration=1s", "--set", "warmup=0s", "--repeat", "1"]
    code, _, told = _said(["run", study, "--out", "o", *short], "utf-8", monkeypatch)
    assert code in (DONE, EXPECTATION_FAILED), told
    shutil.copy(tmp_path / f"{ODD}.new" / "mine.c", tmp_path / f"{ODD}.c")
    code, listed, told = _said(["list", "variants", f"{ODD}.c"], "ascii", monkeypatch)
    assert code == DONE, told
    assert f"file: {SHOWN}.c" in listed.decode("ascii")


def test_an_argument_that_no_study_can_hold_is_refused_by_name(
    odd: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for option in ("--set", "--backend", "--repeat"):
        code, out, told = _said(["run", odd[1], option, f"title={ODD}"], "utf-8", monkeypatch)
        assert (code, out) == (WRONG_INPUT, b"")
        assert told.decode() == (
            f"error: title={SHOWN}: not UTF-8 text, as the keys and values of a study are\n"
        )


def test_text_that_is_no_argument_and_cannot_be_written_is_a_fault_of_the_program(
    odd: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message would hide it, with all of a document in it."""

    def encoding(_: Path) -> None:
        f"a document that names {ODD}".encode()

    monkeypatch.setattr(doctor, "doctor", lambda: encoding(Path(odd[1])))
    with pytest.raises(UnicodeEncodeError):
        main.invoke(["doctor"])


def test_an_expression_that_is_no_text_is_refused_by_name(
    odd: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _said(["run", odd[1], "--out", "o"], "utf-8", monkeypatch)[0] == DONE
    code, out, told = _said(["query", "o", f'flow == "{ODD}"'], "utf-8", monkeypatch)
    assert (code, out) == (WRONG_INPUT, b"")
    assert told.decode() == (
        f'error: flow == "{SHOWN}": not UTF-8 text; only names of files may be other bytes\n'
    )


_PLAIN_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    "environment",
    [
        _PLAIN_LOCALE,
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONUTF8": "0"},
    ],
    ids=lambda environment: "-".join(environment.values()),
)
def test_a_locale_without_letters_changes_no_result(
    cli: Cli, tmp_path: Path, environment: dict[str, str]
) -> None:
    short = STUDY.replace('"2s"', '"600ms"').replace("two flows", "±2 flows")
    (tmp_path / "é.toml").write_text(short, encoding="utf-8")
    (tmp_path / "e.toml").write_text(short, encoding="utf-8")
    done = cli("run", "é.toml", "--set", "title=é ± → ─", **environment, encoding="latin-1")
    assert "Traceback" not in done.stderr
    assert done.returncode == DONE, done.stderr
    assert cli("run", "e.toml", "--set", "title=é ± → ─").returncode == DONE
    there, here = (
        json.loads((tmp_path / "results" / name / "plan.json").read_text("utf-8"))
        for name in ("é", "e")
    )
    assert there == here | {"name": "é"}
    for words in (["query", "results/é"], ["report", "results/é"], ["store", "ls", "results/é"]):
        shown = cli(*words, **environment, encoding="latin-1")
        assert shown.returncode == DONE, shown.stderr
        assert "Traceback" not in shown.stderr
