"""`cclab show`: the page of a results folder, in whatever browser there is."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab
from attacks.disks import CCLAB, PRIVATE
from browser import Chromium
from cclab import report, whole
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError, StoreError
from cclab.report import explore, stamp
from cclab.report.explore import series
from conftest import files_of
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli


@pytest.fixture
def folder(results: Results, tmp_path: Path) -> Path:
    """A results folder of four runs, without a report."""
    shutil.copytree(results.store.path, tmp_path / "kept")
    shutil.rmtree(tmp_path / "kept" / "report", ignore_errors=True)
    return tmp_path / "kept"


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the user's browser is told to open, in a file."""
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> {tmp_path}/opened\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    return tmp_path / "opened"


def test_it_writes_the_report_and_opens_the_page(cli: Cli, folder: Path, browser: Path) -> None:
    done = cli("show", folder)
    assert done.returncode == DONE, done.stderr
    page = folder / "report" / report.EXPLORE
    assert done.stdout == f"{page}\n"
    assert done.stderr == ""
    assert browser.read_text() == f"{page.as_uri()}\n"
    assert stamp.current(cclab.load(folder), folder / "report")
    # What is current stays as it is.
    before = {file.name: file.stat().st_ino for file in (folder / "report").iterdir()}
    assert cli("show", folder).stdout == done.stdout
    assert {file.name: file.stat().st_ino for file in (folder / "report").iterdir()} == before
    # What is not is written again.
    (folder / "report" / "index.html").write_text("")
    assert cli("show", folder, "--no-open").returncode == DONE
    assert stamp.current(cclab.load(folder), folder / "report")
    assert len(browser.read_text().splitlines()) == 2


def test_runs_are_chosen_by_how_their_ids_begin(
    cli: Cli, folder: Path, browser: Path, results: Results, tmp_path: Path
) -> None:
    first, *_, last = (run.run.id for run in results.runs)
    done = cli("show", folder, "--run", last, "--with", first[:9])
    page = (folder / "report" / report.EXPLORE).as_uri()
    assert done.stdout == f"{page}#run={last}&with={first}\n"
    # A desktop opens the file and loses the rest of the address: another page has it.
    opened = browser.read_text().strip()
    leading = folder / "report" / "show.html"
    assert opened == leading.as_uri()
    with Chromium(tmp_path / "chromium") as chromium, chromium.opened(leading) as tab:
        assert tab.value("location.href") == f"{page}#run={last}&with={first}"
        told = tab.value("document.getElementById('run').textContent")
        assert told.startswith("A: short.cc = cubic, seed 8 – B: short.cc = reno, seed 7")
        assert tab.complaints() == []
    assert cli("show", folder, "--run", last, "--no-open").stdout == f"{page}#run={last}\n"
    assert len(browser.read_text().splitlines()) == 1


def test_from_python_it_is_the_same_page(
    folder: Path, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setenv("BROWSER", "one")  # What this process has begun with is kept by the library.

    def opens(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", opens)
    first, *_, last = (run.run.id for run in results.runs)
    page = folder / "report" / report.EXPLORE
    assert cclab.show(folder, open=False) == str(page)
    assert not opened
    assert cclab.load(folder).show() == str(page)
    assert opened == [page.as_uri()]
    assert cclab.show(folder, last, first) == f"{page.as_uri()}#run={last}&with={first}"
    assert opened[1:] == [(folder / "report" / "show.html").as_uri()]
    with pytest.raises(InputError, match="name that too"):
        cclab.show(folder, beside=first)
    with pytest.raises(InputError):
        cclab.show(folder, run="nosuch")


def test_from_python_a_display_that_is_not_there_is_warned_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.warns(UserWarning, match="no display to open it on") as warned:
        cclab.load(folder).show()
    assert warned[0].filename == __file__


def test_it_only_prints_without_a_display_or_a_browser(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    page = folder / "report" / report.EXPLORE
    done = cli("show", folder)
    assert (done.returncode, done.stdout) == (DONE, f"{page}\n")
    assert done.stderr == "there is no display to open it on; open it in a browser\n"
    monkeypatch.setenv("BROWSER", "/nowhere/browser %s")
    monkeypatch.setenv("PATH", "/nowhere")
    done = cli("show", folder)
    assert (done.returncode, done.stdout) == (DONE, f"{page}\n")
    assert "no browser could be started" in done.stderr


def shown_read_only(folder: Path, elsewhere: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`cclab show` of a folder on a file system that is mounted to be read alone; temporary files
    go elsewhere."""
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 99\n"$@"\n'
    return subprocess.run(
        [*PRIVATE, "sh", "-c", script, str(folder), *CCLAB, "show", str(folder), *words],
        env={**os.environ, "TMPDIR": str(elsewhere)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("reported", [True, False])
def test_a_folder_that_can_only_be_read_is_shown_from_elsewhere(
    reported: bool,
    folder: Path,
    browser: Path,
    results: Results,
    tmp_path: Path,
) -> None:
    if reported:
        report.write(cclab.load(folder), folder / "report")
    before = files_of(folder)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run = results.runs[2].run.id
    done = shown_read_only(folder, elsewhere, "--run", run[:8])
    assert done.returncode == DONE, done.stderr
    address = done.stdout.strip()
    assert address.endswith(f"/{report.EXPLORE}#run={run}")
    kept = folder / "report" if reported else elsewhere
    assert address.startswith(kept.as_uri())
    if reported:
        assert done.stderr == ""
    else:
        assert done.stderr.startswith(f"{folder} can only be read: the page is in {elsewhere}/")
    assert files_of(folder) == before
    # What the browser was told to open leads there.
    leading = Path(browser.read_text().strip().removeprefix("file://"))
    assert leading.is_relative_to(elsewhere)
    with Chromium(tmp_path / "chromium") as chromium, chromium.opened(leading) as tab:
        assert tab.value("location.href") == address
        assert "cubic" in tab.value("document.getElementById('run').textContent")
        assert tab.value("document.querySelectorAll('#series figure').length") > 3
        assert tab.complaints() == []


def test_that_no_temporary_folder_can_be_made_is_told(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(*_: object, **__: object) -> None:
        refused = StoreError("cannot write: Read-only file system")
        refused.errno = errno.EROFS
        raise refused

    monkeypatch.setattr(whole, "files", refuse)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert invoke(["show", str(folder), "--no-open"]) == WRONG_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        "error: cannot make a temporary folder: No such file or directory; set TMPDIR to one\n"
    )


def test_a_run_for_which_there_was_no_room_is_put_into_the_page(
    folder: Path,
    results: Results,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(series, "BUDGET", series._size(results.runs[0]))
    loaded = cclab.load(folder)
    out = folder / "report"
    page = report.write(loaded, out, set="figure.width=9")
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    last = results.runs[-1].run.id
    assert explore.with_series((out / report.EXPLORE).read_text()) == {results.runs[0].run.id}
    assert invoke(["show", str(folder), "--run", last[:8], "--no-open"]) == DONE
    assert explore.with_series((out / report.EXPLORE).read_text()) == {last}
    assert stamp.current(loaded, out)
    # Nothing else is written again: figures look as they were asked for.
    after = {file.name: file.read_bytes() for file in out.iterdir()}
    assert {name for name in after if after[name] != before.get(name)} == {
        report.EXPLORE,
        stamp.FILE,
    }
    assert page.read_bytes() == before[report.PAGE]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere"], "nowhere is not a results folder: no such folder"),
        (["kept/plan.json"], "kept/plan.json is a file in a results folder: name kept"),
        (["kept", "--run", "zz"], "0 runs have an id that begins with 'zz'"),
        (["kept", "--run", ""], "4 runs have an id that begins with ''"),
        (["kept", "--with", "ab"], "--with lays a run beside another: give --run too"),
        (["kept", "--run"], "requires an argument"),
        ([], "Missing argument 'DIR'"),
    ],
)
def test_wrong_input_is_one_message_and_writes_nothing(
    words: list[str],
    complaint: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder.parent)
    assert invoke(["show", *words]) == WRONG_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    [line] = told.err.splitlines()
    assert line.startswith("error: ")
    assert complaint in line
    assert not (folder / "report").exists()


def test_damaged_and_absent_runs_are_told(
    folder: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = (folder / "runs" / f"{run.run.id}.zip" for run in results.runs)
    first.unlink()
    assert invoke(["show", str(folder), "--no-open"]) == DONE
    assert "1 of 4 runs missing" in capsys.readouterr().err
    second.write_bytes(b"")
    assert invoke(["show", str(folder), "--no-open"]) == RUN_FAILED
    assert second.stem in capsys.readouterr().err


def test_runs_without_samples_are_told(
    tmp_path: Path, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with study.open("a") as stream:
        stream.write('\n[trace]\ninterval = "0s"\n')
    out = tmp_path / "out"
    made = cclab.run(study, out=out, repeat=1)
    run = made.runs[0].run.id
    assert invoke(["show", str(out), "--run", run, "--no-open"]) == DONE
    told = capsys.readouterr()
    assert told.out.endswith(f"#run={run}\n")
    assert f"run {run} recorded no samples" in told.err
    with Chromium(tmp_path / "chromium") as chromium:
        page = Path(out / "report" / report.EXPLORE)
        with chromium.opened(page) as tab:
            assert "none were recorded" in tab.value("document.getElementById('about').textContent")
            assert tab.value("document.querySelectorAll('#series figure').length") == 0
            assert tab.complaints() == []
