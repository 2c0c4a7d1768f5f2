"""A study all of whose runs are there: what is drawn again, and what is not even loaded."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cclab.cli.main import invoke
from cclab.report.told import Told
from cclab.tabular import Table

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

HEAVY = ("jinja2", "matplotlib", "numpy", "polars", "pydantic", "scipy")
RAN = "import sys; from cclab.cli.main import invoke; code = invoke(sys.argv[1:])\n"


def without_progress(err: str) -> list[str]:
    return [line for line in err.splitlines() if " runs in " not in line and "already" not in line]


def written(folder: Path) -> dict[str, tuple[int, int]]:
    """When, and into which place of the disk, each file of a report was written."""
    stats = {file.name: file.stat() for file in folder.iterdir()}
    return {name: (stat.st_mtime_ns, stat.st_ino) for name, stat in stats.items()}


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_run_that_is_there_is_told_as_before_and_loads_nothing_that_draws(
    study: Path, cli: Cli, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = cli("run", study, "--out", out)
    before = written(out / "report")
    program = (
        f"{RAN}print(*(name for name in {HEAVY} if name in sys.modules), code, file=sys.stderr)"
    )
    ran = [sys.executable, "-c", program, "run", str(study), "--out", str(out)]
    done = subprocess.run(ran, check=True, capture_output=True, text=True)
    told, loaded = done.stderr.splitlines()[:-1], done.stderr.splitlines()[-1]
    assert loaded == "0"
    assert done.stdout == first.stdout
    assert told[0] == f"4 of 4 runs are in {out} already"
    assert without_progress("\n".join(told)) == without_progress(first.stderr)
    assert written(out / "report") == before


@pytest.mark.parametrize("change", ["deleted", "another byte", "the whole folder", "told.json"])
def test_what_was_deleted_or_changed_by_hand_is_drawn_again(
    study: Path, tmp_path: Path, change: str
) -> None:
    report = tmp_path / "out/report"
    assert invoke(["run", str(study), "--out", str(tmp_path / "out")]) == 0
    before = content(report)
    figure = report / "goodput.svg"
    if change == "deleted":
        figure.unlink()
    elif change == "another byte":
        figure.write_bytes(figure.read_bytes() + b" ")
    elif change == "told.json":
        (report / "told.json").write_bytes(b"{}")
    else:
        for file in report.iterdir():
            file.unlink()
        report.rmdir()
    assert invoke(["run", str(study), "--out", str(tmp_path / "out")]) == 0
    assert content(report) == before


def test_another_study_version_or_run_draws_again(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", str(study), "--out", str(tmp_path / "out")]
    report = tmp_path / "out/report"

    def is_drawn(*more: str) -> bool:
        before = written(report)
        assert invoke([*command, *more]) == 0
        return written(report) != before

    assert invoke(command) == 0
    assert not is_drawn()
    # The same runs under another title, then more of them.
    text = study.read_text(encoding="utf-8")
    study.write_text(text.replace("Two flows on a slow link", "Of another name"))
    capsys.readouterr()
    assert is_drawn()
    assert "Of another name" in capsys.readouterr().out
    assert not is_drawn()
    assert is_drawn("--repeat", "3")
    assert is_drawn()
    monkeypatch.setattr("cclab._core.METRICS_VERSION", "of another day")
    assert is_drawn()
    assert not is_drawn()


def test_a_run_that_is_done_again_draws_again(study: Path, tmp_path: Path) -> None:
    """In real time it has other numbers and the same id."""
    command = ["run", str(study), "--out", str(tmp_path / "out")]
    report = tmp_path / "out/report"
    assert invoke(command) == 0
    before = written(report)
    next((tmp_path / "out/runs").iterdir()).unlink()
    assert invoke(command) == 0
    assert written(report) != before


def test_expectations_that_are_not_met_are_told_again_and_exit_so(
    study: Path, cli: Cli, tmp_path: Path
) -> None:
    text = study.read_text(encoding="utf-8")
    study.write_text(f'{text}\n[expect]\n"no loss" = "bottleneck.utilization > 2"\n')
    first = cli("run", study, "--out", tmp_path / "out")
    again = cli("run", study, "--out", tmp_path / "out")
    assert (first.returncode, again.returncode) == (1, 1)
    assert "expectation not met: no loss" in again.stderr
    assert without_progress(again.stderr) == without_progress(first.stderr)


def test_every_row_is_there_where_groups_are_folded(cli: Cli, study: Path, tmp_path: Path) -> None:
    text = study.read_text(encoding="utf-8")
    many = text.replace('name = "short"\n', 'name = "short"\ncount = 20\n')
    study.write_text(many.replace("repeat   = 2", "repeat   = 1"))
    command = ("run", study, "--out", tmp_path / "out")
    firsts = [cli(*command, *more).stdout for more in ((), ("--all",))]
    again = [cli(*command, *more).stdout for more in ((), ("--all",))]
    assert firsts == again
    assert len(again[0].splitlines()) < len(again[1].splitlines())


def test_what_is_told_comes_back_as_it_was() -> None:
    table = Table(["a", "b"], [False, True], [[["x", "1 ± 2"]], []], 1, 0)
    told = Told("title", None, table, table, [("beside", table)], "", "w", "b", [], [], [])
    assert Told.read(told.text()) == told
    with pytest.raises(ValueError, match="required field"):
        Told.read(b"{}")
