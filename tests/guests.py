"""Studies on the kernel, and what they leave of processes and files."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cclab
from cclab import _core
from cclab.execute.backends import linux
from cclab.store import Store
from conftest import files_of
from waiting import await_that

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab import Results


LINK = """
[network.bottleneck]
rate = "20Mbit"
delay = "5ms"
queue = { limit = "100p" }
"""
"""A bottleneck of 20 Mbit/s and a round trip of 10 ms."""


def results_of(folder: Path, study: str, jobs: int | None = None) -> Results:
    """The results of `study`, the text of a study file, run on the kernel in `folder`."""
    folder.mkdir(exist_ok=True)
    file = folder / "study.toml"
    file.write_text('backend = "linux"\n' + study)
    return cclab.run(file, out=folder / "store", jobs=jobs)


def flows(results: Results) -> dict[str, dict[str, Any]]:
    """The rows of `flows.parquet` of the only run, by name."""
    return {row["name"]: row for row in results.samples(0, "flows").iter_rows(named=True)}


def assert_windows_change_nothing(results: Results, folder: Path, window_ns: int) -> None:
    """The only run leaves the same bytes if its guests run ahead no further than `window_ns`.

    `folder` is where it is run again.
    """
    run = results.runs[0]
    folder.mkdir()
    _core.execute_on_kernel(
        run.run.to_json(),
        str(folder),
        _core.Progress(),
        str(linux.agent()),
        linux.kernels_of(run.run.scenario),
        linux.limits(),
        window_ns,
    )
    tables = {name: run.trace.bytes(name) for name in run.trace.names() if ".parquet" in name}
    kept = tables | files_of(run.trace.captures)
    assert len(kept) > 5
    differ = [name for name, content in kept.items() if content != (folder / name).read_bytes()]
    assert differ == []


def start(*arguments: object, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """Starts `cclab` with `arguments` in the folder `cwd`; its output is read by communicate()."""
    return subprocess.Popen(
        [sys.executable, "-m", "cclab", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def processes_in(folder: Path) -> list[int]:
    """Processes whose working folder lies in `folder`, the oldest first: guests and their like."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        # Those that end meanwhile, and those that are none of ours to look at.
        with contextlib.suppress(OSError):
            if (place / "cwd").readlink().is_relative_to(folder):
                stat = (place / "stat").read_text()
                # The 22nd word; the second is a name that may hold spaces.
                began = int(stat.rsplit(")", 1)[1].split()[19])
                found.append((began, int(place.name)))
    return [number for _, number in sorted(found)]


def records_of_runs(out: Path) -> list[Path]:
    """Where the agents of the store `out` write while runs are under way: one per guest.

    It begins with the run's time.
    """
    return list(out.glob("tmp/*/*/*/raw/**/samples.jsonl"))


def guest_of(out: Path) -> int:
    """The first process of a guest that runs for the store `out`, once it is under way."""

    def under_way() -> bool:
        return bool(records_of_runs(out)) and bool(processes_in(out))

    await_that(under_way, "a guest")
    return processes_in(out)[0]


def memory_files() -> set[str]:
    """Names of guests' memory in the folders where it may lie. It has none but for an instant."""
    names = set()
    for folder in (Path("/dev/shm"), Path("/tmp")):
        for place in folder.glob("cclab-*"):
            # Others remove theirs meanwhile.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                names |= {str(file) for file in place.iterdir() if file.match("vm_file-*")}
    return names


def memory_of(processes: Iterable[int]) -> set[tuple[str, str]]:
    """The memory of guests that these processes have mapped, by device and number of its file: it
    has no name."""
    mapped = set()
    for process in processes:
        # Those that end meanwhile, and those that are none of ours to look at.
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines():
                if "/cclab-" in line and line.endswith("(deleted)"):
                    _, _, _, device, number, _ = line.split(maxsplit=5)
                    mapped.add((device, number))
    return mapped


def every_process() -> list[int]:
    """The number of each process of this machine."""
    return [int(place.name) for place in Path("/proc").glob("[0-9]*")]


def assert_nothing_is_left(out: Path) -> None:
    """No process works in the store `out`, and nothing but whole runs lies there."""
    await_that(lambda: not processes_in(out), f"the end of {processes_in(out)}")
    here = [file.name for file in (out / "tmp").iterdir()]
    assert here == ["lock"]
    runs = sorted(Store(out).ids())
    assert {f"{run}.zip" for run in runs} == Store(out).names()
    assert set(Store(out).states(runs, contents=True)) <= {"sound"}
    assert not list(out.rglob("raw"))
    kinds = [file for file in out.rglob("*") if not file.is_file() and not file.is_dir()]
    assert not kinds, "sockets or pipes"
    names = memory_files()
    # Other guests of this machine may just be starting.
    await_that(lambda: not names & memory_files(), f"the end of {names}")
