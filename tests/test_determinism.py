"""Equal input, equal bytes: whatever the number of jobs, and whoever was killed on the way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import cclab
from conftest import STUDY, files_of
from waiting import PATIENCE_S

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from conftest import Cli

EVERYTHING = '\n[trace]\nevents = ["ack", "queue", "drop"]\ncapture = ["bottleneck"]\n'


def test_one_job_and_two_leave_the_same_store(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY + EVERYTHING)
    for jobs in (1, 2):
        cclab.run(file, out=tmp_path / str(jobs), jobs=jobs)
    one, two = files_of(tmp_path / "1"), files_of(tmp_path / "2")
    assert len([name for name in one if name.startswith("runs/")]) == 4
    assert len([name for name in one if name.endswith(".pcapng")]) == 4
    assert one == two


def test_a_report_made_again_has_the_same_bytes(cli: Cli, study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli("run", study, "--out", out).returncode == 0
    first = files_of(out / "report")
    assert {"index.html", "table.md", "flows.csv", "cwnd.svg"} <= set(first)
    for name in first:
        (out / "report" / name).unlink()
    assert cli("report", out).returncode == 0
    assert files_of(out / "report") == first


def test_another_seed_gives_other_results(study: Path, tmp_path: Path) -> None:
    here = cclab.run(study, out=tmp_path / "a", repeat=1)
    there = cclab.run(study, out=tmp_path / "b", repeat=1, seed=8)
    assert here.flows["goodput_bps"].to_list() != there.flows["goodput_bps"].to_list()


def test_kill_in_the_middle_of_a_sweep_leaves_no_mark(study: Path, tmp_path: Path) -> None:
    """SIGKILL several times during a sweep of 100 runs, then the same command once more."""
    options = ["--set", "duration=10s", "--repeat", "50", "--jobs", "2"]

    def command(out: Path) -> list[str | os.PathLike[str]]:
        return [sys.executable, "-m", "cclab", "run", study, "--out", out, *options]

    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    subprocess.run(command(undisturbed), check=True, capture_output=True, timeout=PATIENCE_S)

    runs = disturbed / "runs"
    killed_at: list[int] = []
    for beyond in (1, 25, 60):
        child = subprocess.Popen(
            command(disturbed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not runs.is_dir() or len(list(runs.iterdir())) < beyond:
            assert child.poll() is None, "the sweep ended before it could be killed"
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.wait()
        killed_at.append(len(list(runs.iterdir())))
    assert killed_at[-1] < 100
    assert [path for path in (disturbed / "tmp").iterdir() if path.is_dir()]

    done = subprocess.run(
        command(disturbed), check=True, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert f"{killed_at[-1]} of 100 runs are in" in done.stderr
    expected = files_of(undisturbed)
    assert len([name for name in expected if name.startswith("runs/")]) == 100
    assert files_of(disturbed) == expected


def test_two_processes_on_one_store_leave_what_one_leaves(study: Path, tmp_path: Path) -> None:
    def command(out: Path) -> list[str | os.PathLike[str]]:
        return [
            *(sys.executable, "-m", "cclab", "run", study, "--out", out),
            *("--set", "duration=10s", "--repeat", "10", "--jobs", "1"),
        ]

    subprocess.run(command(tmp_path / "one"), check=True, capture_output=True, timeout=PATIENCE_S)
    both = [
        subprocess.Popen(
            command(tmp_path / "two"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in both:
        _, told = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, told
    assert files_of(tmp_path / "two") == files_of(tmp_path / "one")
