"""Runs that end before their time: nonsense, full disks, interrupts, readers that leave."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import _core
from cclab.cli.exits import DONE, INTERRUPTED, RUN_FAILED
from cclab.cli.main import invoke
from cclab.store import Store
from waiting import PATIENCE_S

if TYPE_CHECKING:
    import pytest


def test_a_variant_that_returns_nonsense_is_a_failed_run_with_its_name(
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The core's tests have such variants; from here none can be registered.
    what = "flow one: its variant mine returned a congestion window of 0 bytes"

    def execute(*_: object) -> None:
        raise _core.RunError(what)

    monkeypatch.setattr(_core, "execute", execute)
    assert invoke(["run", str(study), "--out", str(tmp_path / "out")]) == RUN_FAILED
    assert what in capsys.readouterr().err


def test_a_full_disk_is_a_failed_run_with_one_message(study: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, 16_000))

    command = [sys.executable, "-B", "-m", "cclab", "run", str(study)]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out"), "--set", "duration=20s"],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == RUN_FAILED
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert "File too large" in done.stderr
    assert list((tmp_path / "out" / "runs").iterdir()) == []


def test_an_interrupt_keeps_finished_runs_and_stops_soon(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # One of them takes hours: the test would hang if it were waited for.
    durations = [*(f"{40_000 + n}ms" for n in range(399)), "10000000s"]
    child = subprocess.Popen(
        [
            *(sys.executable, "-m", "cclab", "run", study, "--out", out, "--jobs", "2"),
            *("--set", f"sweep.duration={durations}", "--set", 'sweep.flow.short.cc=["reno"]'),
            *("--repeat", "1"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    runs = out / "runs"
    while not (runs.is_dir() and len(list(runs.iterdir())) >= 2):
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    told, complaint = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == INTERRUPTED
    assert told == ""
    assert "Traceback" not in complaint
    assert "error: interrupted; finished runs are kept" in complaint
    kept = sorted(path.name for path in runs.iterdir())
    assert 2 <= len(kept) < 400
    assert Store(out).names() == {f"{run}.zip" for run in Store(out).ids()}


def test_an_interrupt_while_a_library_executes_text_gives_the_code_of_interrupts(
    tmp_path: Path,
) -> None:
    """`python -m` died of SIGINT after its message: a dataclass is made of such text."""
    (tmp_path / "interrupted.py").write_text(
        "from cclab.cli import main\n"
        "main.app = lambda *_, **__: exec('raise KeyboardInterrupt')\n"
        "main.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "error: interrupted" in done.stderr
    assert done.returncode == INTERRUPTED


def test_a_reader_that_leaves_early_ends_the_command_quietly(study: Path) -> None:
    command = f"'{sys.executable}' -m cclab plan '{study}' --json | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode in (DONE, 128 + signal.SIGPIPE)
    assert done.stderr == ""
