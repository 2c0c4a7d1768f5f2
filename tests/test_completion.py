"""Shells complete command lines: what a real shell makes of a line that somebody types."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from cclab import _core, starts
from cclab.cli import shells
from cclab.cli.exits import DONE, WRONG_INPUT
from cclab.cli.listing import What
from cclab.cli.main import VERBS, invoke
from cclab.cli.shells import Shell
from cclab.evaluation import names as suites
from cclab.evaluation.file import SHIPPED
from cclab.execute.backends import BACKENDS
from cclab.plan import ready
from conftest import ROOT
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

VARIANTS = [row["name"] for row in json.loads(_core.variants())]

# Each prints a line for each of the words that the shell offers where `LINE` ends.
BASH = """
read -ra COMP_WORDS <<< "$LINE"
[[ $LINE != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p cclab | sed 's/.*-F \\([^ ]*\\).*/\\1/') cclab "${COMP_WORDS[COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
# What is offered goes to a function of zsh's: here it is printed.
_arguments() { printf '%s\\n' "$@"; }
_files() { :; }
words=(${(z)LINE}); [[ $LINE != *' ' ]] || words+=('')
CURRENT=${#words}
$_comps[cclab]
"""
ZSH_BEGINS = 'autoload -Uz compinit; compinit -u -d "$HOME/dump"'
FISH = 'complete --do-complete "$LINE"'
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@pytest.fixture(scope="module", params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    """Each of the shells, all of which are here."""
    name: str = request.param
    assert shutil.which(name) is not None, f"apt-get install {name}"
    return name


def completed(shell: str, line: str, home: Path, cwd: Path = ROOT) -> list[str]:
    """The words that `shell` offers where `line` ends."""
    programs = home / "bin"
    if not programs.exists():
        programs.mkdir()
        cclab = programs / "cclab"
        cclab.write_text(f"#!{sys.executable}\nfrom cclab.__main__ import main\nmain()\n")
        cclab.chmod(0o755)
    before = ZSH_BEGINS if shell == "zsh" else ""
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *options, "-c", f"{before}\n{shells.script(Shell(shell))}\n{SHELLS[shell]}"],
        env={
            **{k: v for k, v in os.environ.items() if k != "XDG_CONFIG_HOME"},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(home),
            "LINE": line,
        },
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stderr == ""
    if shell == "zsh":  # `*: :(("run":"Run a study" "plan":"Show what would run"))`
        return [word for word, _ in re.findall(r'"([^"]+)"(:"[^"]*")?', done.stdout)]
    return [word for line in done.stdout.splitlines() if (word := line.partition("\t")[0])]


def test_verbs_are_completed(shell: str, tmp_path: Path) -> None:
    assert set(completed(shell, "cclab ", tmp_path)) == set(VERBS)


def test_options_of_a_verb_are_completed(shell: str, tmp_path: Path) -> None:
    assert completed(shell, "cclab run x.toml --b", tmp_path) == ["--backend"]


def test_names_are_those_that_cclab_lists(shell: str, tmp_path: Path) -> None:
    for line, names in (
        ("cclab run x.toml --backend ", [*BACKENDS]),
        ("cclab evaluate b", [name for name in VARIANTS if name.startswith("b")]),
    ):
        assert sorted(completed(shell, line, tmp_path)) == sorted(names), line


def test_where_no_name_fits_the_shell_completes_files(shell: str, tmp_path: Path) -> None:
    if shell == "fish":
        assert "examples/quickstart.toml" in completed(shell, "cclab run examples/q", tmp_path)
    else:  # These are given nothing, which is how they were told to go on by themselves.
        assert completed(shell, "cclab run examples/q", tmp_path) == []


def of_line(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """The words that bash is given for `line`."""
    words = line.split(" ")
    monkeypatch.setenv("_CCLAB_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setattr(sys, "argv", ["cclab"])
    with pytest.raises(SystemExit) as left:
        invoke()
    assert left.value.code == 0
    return capsys.readouterr().out.split()


def lines_of(suite: str, beginning: str, after: str = "") -> list[str]:
    """The ids in the suite's file, read without what completes them."""
    written = tomllib.loads((SHIPPED / suite / "suite.toml").read_text())
    ids = [criterion["id"] for criterion in written["criterion"]]
    return [f"{after}{line}" for line in ids if line.startswith(beginning)]


def test_every_kind_of_name_is_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    for line, names in (
        ("cclab re", ["report", "reproduce"]),
        ("cclab kernel build --f", ["--force"]),
        ("cclab list ", [*What]),
        ("cclab evaluate bbr --suite ", suites()),
        ("cclab evaluate x --against cubic,re", ["cubic,reno"]),
        ("cclab evaluate x --against reno,ren", []),
        ("cclab new variant mine --language ", [*starts.LANGUAGES]),
        ("cclab report d --figure heat", ["heatmap"]),
        ("cclab report d --format svg,p", ["svg,pdf", "svg,png"]),
        ("cclab report d --format fl", ["flent"]),
        ("cclab compare a b --metric goodput_b", ["goodput_bps"]),
        ("cclab compare a b --correction ", ["fdr", "holm"]),
        ("cclab compare a b --fail-if worse,u", ["worse,undecided"]),
        ("cclab compare a b --study rrul_", ["rrul_be"]),
        ("cclab query d --table f", ["flows"]),
        ("cclab reproduce tahoe", ["tahoe-reno-192"]),
        ("cclab completion z", ["zsh"]),
        ("cclab evaluate x --only 5.2,5.1.3", lines_of("rfc9743", "5.1.3", after="5.2,")),
        ("cclab evaluate x --suite bbr --only A.1-", lines_of("bbr", "A.1-")),
        ("cclab evaluate x --suite nosuch --only A", []),
        ("cclab list suites bb", ["bbr"]),
        ("cclab list variants bb", []),
    ):
        assert of_line(line, monkeypatch, capsys) == names, line


def test_a_study_is_a_ready_one_or_a_file_or_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("rrul_of_mine.toml", "mine.toml", "rrul.md"):
        (tmp_path / name).touch()
    (tmp_path / "results").mkdir()
    offered = of_line("cclab run r", monkeypatch, capsys)
    assert offered == ["rrul", "rrul_be", "rtt_fair", "rrul_of_mine.toml", "results/"]
    assert of_line("cclab run mi", monkeypatch, capsys) == []
    offered = of_line("cclab run ", monkeypatch, capsys)
    assert offered == [*ready.names(), "mine.toml", "rrul_of_mine.toml", "results/"]


@pytest.mark.parametrize(
    "line",
    [
        "show ",
        "report ",
        "query ",
        "verify ",
        "store gc ",
        "store import x ",
        "compare ",
        "compare a ",
    ],
)
def test_results_folders_are_completed(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("results/one", "results/other", "older"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "plan.json").touch()
    (tmp_path / "results" / "no-results").mkdir()
    (tmp_path / ".hidden").mkdir()
    both = ["results/one", "results/other"]
    assert of_line(f"cclab {line}", monkeypatch, capsys) == [*both, "older/"]
    assert of_line(f"cclab {line}results/o", monkeypatch, capsys) == both
    assert of_line(f"cclab {line}results/ot", monkeypatch, capsys) == both[1:]
    # The shell completes what is no results folder here.
    assert of_line(f"cclab {line}ol", monkeypatch, capsys) == []


def test_folders_of_earlier_cards_are_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    card = tmp_path / "results" / "evaluate" / "rfc9743-quick" / "bbr"
    card.mkdir(parents=True)
    (card / "card.json").touch()
    (card.parent / "cubic").mkdir()
    offered = of_line("cclab evaluate bbr --since ", monkeypatch, capsys)
    assert offered == ["results/evaluate/rfc9743-quick/bbr"]


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["completion", "tcsh"]) == WRONG_INPUT
    assert "one of bash, zsh, fish" in capsys.readouterr().err
    assert invoke(["completion", "bash"]) == DONE
