"""What others wrote is shown, never obeyed: a terminal gets no order from a study or a file."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

import pytest
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cclab import shown
from cclab.cli import progress
from cclab.cli.drawn import Grid, Output, line_of, styled
from cclab.cli.exits import EXPECTATION_FAILED, RUN_FAILED, WRONG_INPUT
from conftest import STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from conftest import Cli

_EVIL = "\x1b[2J\x1b]0;x\x07\x7f\x9b2J\u202egood\u2066\u061c\u200e\u200f"
_TOLD = r"\x1b[2J\x1b]0;x\x07\x7f\x9b2J\u202egood\u2066\u061c\u200e\u200f"
_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_OF_RICH = re.compile(r"\x1b\[[\d;]*m|\x1b\[\?25[lh]|\x1b\[\d?[KA]|\r")


def test_of_all_characters_only_orders_and_lone_surrogates_are_escaped() -> None:
    for character in map(chr, range(0x10000)):
        # The ends of lines and of paragraphs that few terminals know are told, too.
        unsafe = "\ud800" <= character <= "\udfff" or character in "\n\u2028\u2029"
        unsafe = unsafe or _OBEYED.search(character) is not None
        assert (shown.line(character) != character) == unsafe, hex(ord(character))
        in_lines = unsafe and character != "\n"
        assert (shown.lines(character) != character) == in_lines, hex(ord(character))
        in_document = in_lines and character != "\t"
        assert (shown.document(character) != character) == in_document, hex(ord(character))


def test_controls_are_escaped_and_letters_stay() -> None:
    assert shown.line(_EVIL) == _TOLD
    assert shown.line("a\nb\tc\r") == r"a\nb\tc\r"
    assert shown.lines("a\nb\tc") == "a\nb\\tc"
    assert shown.document("a\n\tb\x1b") == "a\n\tb\\x1b"
    assert shown.line("Grüße ± → 日本 🙂") == "Grüße ± → 日本 🙂"
    assert shown.quoted("odd\udcff") == r"'odd\xff'"
    assert shown.line("\ud800") == r"\ud800"


def test_a_text_that_looks_as_a_byte_is_spelled_stays_what_it_is() -> None:
    for text in (r"a literal \udc80", r"\\udcff", r"'\udc80'"):
        assert shown.line(text) == shown.lines(text) == shown.document(text) == text
        assert json.loads(shown.json_text(text)) == text
        assert shown.quoted(text) == repr(text)
    assert shown.quoted("\\\udc80") == r"'\\\x80'"


def test_json_holds_what_was_written_and_sends_nothing() -> None:
    document = {"text": _EVIL + "\n\t\\", "name": "odd\udcff"}
    for ascii_only in (False, True):
        text = shown.json_text(document, ascii_only=ascii_only)
        assert not _OBEYED.search(text)
        text.encode("ascii" if ascii_only else "utf-8")
        assert json.loads(text) == {"text": _EVIL + "\n\t\\", "name": r"odd\xff"}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_that_is_drawn_reaches_a_terminal_as_an_order(
    encoding: str, terminal: bool
) -> None:
    table, grid = Table(_EVIL), Grid(title=_EVIL)
    table.add_row(_EVIL)
    grid.add_column(_EVIL)
    grid.add_row(_EVIL, styled(_EVIL, "red"))
    drawn: list[RenderableType] = [
        _EVIL,
        Text(_EVIL),
        Text.assemble((_EVIL, "bold"), _EVIL),
        styled(_EVIL, "bold"),
        line_of((_EVIL, "bold"), _EVIL),
        Padding(_EVIL, (0, 2)),
        Panel(_EVIL, title=_EVIL),
        table,
        grid,
    ]
    for renderable in drawn:
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding, write_through=True)
        Output(file=stream, force_terminal=terminal, width=200).print(renderable)
        said = _OF_RICH.sub("", raw.getvalue().decode(encoding))
        assert "good" in said
        assert not _OBEYED.search(said), (renderable, said)


def test_the_live_line_shows_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii", write_through=True)
    console = Output(file=stream, force_terminal=True, width=400)
    monkeypatch.setattr(progress, "terminal", lambda: console)
    with progress.Display(_EVIL) as display:
        display.show(1.0, f"{_EVIL} odd\udcff ±", 0.5, "50%", (_EVIL,), ())
    said = _OF_RICH.sub("", raw.getvalue().decode("ascii"))
    assert r"odd\xff +-" in said
    assert not _OBEYED.search(said)


def test_columns_of_a_table_stand_below_each_other_whatever_is_in_it() -> None:
    raw = io.StringIO()
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("first")
    grid.add_column("second")
    for cell in (_EVIL, "a\nb", "odd\udcff", "plain"):
        grid.add_row(cell, "|")
    Output(file=raw, width=200).print(grid)
    lines = [line for line in raw.getvalue().splitlines() if "|" in line]
    assert len(lines) == 4
    assert len({line.index("|") for line in lines}) == 1


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A study that says to a terminal what it can, where it may."""
    told = json.dumps(f"{_EVIL}\nnext")
    text = STUDY.replace('"Two flows on a slow link"', told).replace('"Who gets more?"', told)
    file = tmp_path / f"{_EVIL}.toml"
    file.write_text(text.replace('"2s"', '"600ms"') + f"\n[expect]\n{told} = 'jain > 2'\n")
    return file


def test_no_verb_sends_what_a_study_says(cli: Cli, evil: Path, tmp_path: Path) -> None:
    out = tmp_path / f"out{_EVIL}"
    for words, code in (
        (["plan", evil], 0),
        (["explain", evil], 0),
        (["run", evil, "--out", out], EXPECTATION_FAILED),
        (["run", evil, "--out", out, "--json"], EXPECTATION_FAILED),
        (["report", out], 0),
        (["store", "ls", out], 0),
        (["store", "ls", out, "--json"], 0),
        (["store", "verify", out], 0),
        (["query", out], 0),
        (["query", out, "--csv"], 0),
        (["compare", out, out], 0),
        (["run", f"nowhere{_EVIL}"], WRONG_INPUT),
        (["run", evil, "--set", f"{_EVIL}=1"], WRONG_INPUT),
        (["run", evil, "--backend", _EVIL], WRONG_INPUT),
        (["query", out, f"cc == {_EVIL}"], WRONG_INPUT),
        ([_EVIL], WRONG_INPUT),
        (["run", f"--{_EVIL}"], WRONG_INPUT),
        (["list", _EVIL], WRONG_INPUT),
    ):
        done = cli(*words)
        assert done.returncode == code, (words, done.stderr)
        for said in (done.stdout, done.stderr):
            assert not _OBEYED.search(said), (words, said)
    for name in ("index.html", "sweep.html", "table.md", "flows.csv", "goodput.svg"):
        text = (out / "report" / name).read_text("utf-8")
        assert not _OBEYED.search(text.replace("\t", "")), name


def test_names_in_stores_and_archives_are_shown(cli: Cli, evil: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli("run", evil, "--out", out).returncode == EXPECTATION_FAILED
    (out / "runs" / f"{_EVIL}.zip").write_bytes(b"none")
    (out / "plans" / f"{_EVIL}.json").write_bytes(b"none")
    done = cli("store", "verify", out)
    assert done.returncode == RUN_FAILED
    assert _TOLD in done.stderr
    for words in (["store", "gc", out, "--dry-run"], ["store", "gc", out]):
        done = cli(*words)
        assert not _OBEYED.search(done.stdout + done.stderr)
        assert _TOLD in done.stdout + done.stderr


def test_what_a_variant_and_its_compiler_print_is_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "evil.c").write_text(f'#error "{_EVIL}"\n')
    (tmp_path / "evil.py").write_text(
        "from cclab import Variant\n\n\nclass Evil(Variant):\n"
        f"    def on_ack(self, *more):\n        print({_EVIL!a})\n"
        f"        raise ValueError({_EVIL!a})\n"
    )
    for cc in ("./evil.c", "./evil.py:Evil"):
        study = tmp_path / "study.toml"
        study.write_text(STUDY.replace('"cubic"\n', f'"{cc}"\n').partition("[sweep]")[0])
        done = cli("run", study, "--out", tmp_path / "out")
        assert done.returncode in (WRONG_INPUT, RUN_FAILED), done.stderr
        assert "evil." in done.stderr
        assert not _OBEYED.search(done.stdout + done.stderr)
