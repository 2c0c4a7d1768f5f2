"""What would take more memory, time or disk than there is, is bounded, and is told."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import tarfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

import cclab
from cclab import _core, machine
from cclab.cli.exits import DONE, INTERRUPTED, WRONG_INPUT
from cclab.errors import InputError
from cclab.execute.backends import BACKENDS
from cclab.plan import Plan, Run
from cclab.plan.runs import Runs
from cclab.plan.study import Study
from cclab.store import Store, expansion, transfer
from conftest import ROOT
from test_whole import EMPTY
from waiting import PATIENCE_S, await_that

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.captures import Capture
    from conftest import Cli

MIB = 1 << 20

GIGABYTE_KB = 1_000_000

PAIR = """
duration = "1s"
warmup = "0s"
repeat = {repeat}
[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = {{ kind = "droptail", limit = "100p" }}
[[flow]]
name = "a"
cc = "reno"
[[flow]]
name = "b"
cc = "cubic"
{more}
"""


def study(folder: Path, repeat: int, more: str = "") -> Path:
    """A study of so many runs at each point."""
    file = folder / "many.toml"
    file.write_text(PAIR.format(repeat=repeat, more=more))
    return file


@pytest.mark.parametrize(("repeat", "points"), [(1_000_000, 1), (1_000, 1_000)])
def test_a_plan_of_a_million_runs_fits_into_a_gigabyte(
    tmp_path: Path, repeat: int, points: int
) -> None:
    rates = json.dumps([f"{n}Mbit" for n in range(1, points + 1)])
    file = study(tmp_path, repeat, f'[sweep]\n"network.bottleneck.rate" = {rates}')
    child = subprocess.Popen(
        [sys.executable, "-m", "cclab", "plan", file],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout is not None
    with child.stdout:
        told = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == DONE, told
    assert "1000000 runs" in told
    assert used.ru_maxrss < GIGABYTE_KB


def test_a_million_runs_begin_within_a_gigabyte(tmp_path: Path) -> None:
    file, out = study(tmp_path, 1_000_000), tmp_path / "out"
    child = subprocess.Popen(
        [sys.executable, "-m", "cclab", "run", file, "--out", out, "--jobs", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )

    def begun() -> bool:
        assert child.poll() is None, "it ended before its first run was over"
        return (out / "runs").is_dir() and any((out / "runs").iterdir())

    try:
        await_that(begun, "a run that is over")
        status = Path(f"/proc/{child.pid}/status").read_text()
        assert int(status.split("VmHWM:")[1].split()[0]) < GIGABYTE_KB
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=PATIENCE_S)
    finally:
        child.kill()
    assert child.returncode == INTERRUPTED
    # The whole plan is there, whatever came of it.
    assert len(Store(out).plan().runs) == 1_000_000


@pytest.mark.parametrize("name", sorted(BACKENDS))
def test_a_backend_is_asked_about_a_scenario_once_whatever_the_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked = []
    for function in ("needs_of", "kernels", "modules"):
        real = getattr(_core, function)

        def counted(*words: Any, real: Callable[..., Any] = real) -> Any:
            asked.append(words)
            return real(*words)

        monkeypatch.setattr(_core, function, counted)
    plan = Study.load(study(tmp_path, 500)).plan(backend=name)
    try:
        BACKENDS[name].check(plan.runs)
    except InputError:
        assert name != "sim"  # This machine may lack what it needs.
    assert len(plan.runs) == 500
    assert len(asked) <= 2


def test_runs_made_when_asked_for_are_those_that_the_core_names_one_by_one(tmp_path: Path) -> None:
    plan = Study.load(study(tmp_path, 30)).plan(seed=95)
    runs = plan.points[0].runs
    assert isinstance(runs, Runs)
    text = json.dumps(plan.points[0].scenario)
    expected = [
        Run(
            _core.run_id(text, seed, "sim", runs[0].version),
            seed,
            "sim",
            runs[0].version,
            plan.points[0].scenario,
        )
        for seed in range(95, 125)
    ]
    assert [*runs] == expected == plan.runs
    assert (runs[-1], runs[3:7], runs[::-9]) == (expected[-1], expected[3:7], expected[::-9])
    assert runs.ids == [run.id for run in expected]
    assert [*Runs.counted(runs[0], 30)] == expected
    assert len({run.id for run in expected}) == 30
    with pytest.raises(IndexError):
        runs[30]


def test_a_plan_is_written_as_one_document_of_dictionaries_would_be(tmp_path: Path) -> None:
    """Its name is the digest of its bytes."""
    more = (
        '[sweep]\n"flow.a.cc" = ["reno", "bic"]\n"flow.b.rwnd" = ["64kB", "1MB"]\n'
        '[expect]\nfair = "jain > 0.5"'
    )
    plan = Study.load(study(tmp_path, 3, more)).plan(set=['title="Ü \\" ]"'])
    read = json.loads(plan.to_json())
    assert list(read) == ["schema", "name", "title", "question", "expectations", "points"]
    assert plan.to_json() == (json.dumps(read, ensure_ascii=False, separators=(",", ":")) + "\n")
    for point, kept in zip(plan.points, read["points"], strict=True):
        assert list(kept)[-4:] == ["unsupported", "backend", "version", "runs"]
        assert kept["runs"] == [{"id": run.id, "seed": run.seed} for run in point.runs]
    again = Plan.from_json(plan.to_json())
    assert again.runs == plan.runs
    assert [asdict(e) | {"place": None} for e in plan.expectations] == [
        asdict(e) for e in again.expectations
    ]


def test_sweep_points_share_what_is_the_same_in_their_scenarios(tmp_path: Path) -> None:
    rates = '[sweep]\n"network.bottleneck.rate" = ["1Mbit", "2Mbit", "3Mbit"]'
    first, *others = Study.load(study(tmp_path, 2, rates)).plan().points
    for point in others:
        assert point.scenario != first.scenario
        assert point.scenario["flows"] is first.scenario["flows"]
        assert point.scenario["network"]["access"] is first.scenario["network"]["access"]


def capture(folder: Path, name: str, zeros: int) -> Path:
    """A compressed capture that has a header, and zeros behind it."""
    file = folder / name
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
    with file.open("wb") as raw:
        packer = (
            zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
            if name.endswith(".zst")
            else gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=9)
        )
        with packer as out:
            out.write(header)
            for _ in range(zeros // MIB):
                out.write(bytes(MIB))
            out.write(bytes(zeros % MIB))
    return file


def problems(of: Capture) -> set[str]:
    """The names of what is wrong with a capture."""
    return {problem["code"] for problem in of.document["problems"]}


@pytest.mark.parametrize("ending", ["zst", "gz"])
def test_a_capture_of_few_bytes_that_become_many_is_read_to_a_bound_and_told(
    tmp_path: Path, ending: str
) -> None:
    file = capture(tmp_path, f"zeros.pcap.{ending}", 600 * MIB)
    assert file.stat().st_size < MIB
    told = {p["code"]: p["message"] for p in cclab.analyze(file).document["problems"]}
    assert "--max-decompressed SIZE allows more" in told["decompression-bound"]
    assert f"{256 * MIB - 24} bytes were passed over" in told["lost-track"]
    assert "decompression-bound" not in problems(cclab.analyze(file, max_decompressed=1 << 30))


@pytest.mark.parametrize("ending", ["zst", "gz"])
def test_what_is_just_allowed_is_not_too_much(tmp_path: Path, ending: str) -> None:
    file = capture(tmp_path, f"zeros.pcap.{ending}", MIB)
    whole = MIB + 24
    assert "decompression-bound" not in problems(cclab.analyze(file, max_decompressed=whole))
    assert "decompression-bound" in problems(cclab.analyze(file, max_decompressed=whole - 1))
    assert "decompression-bound" not in problems(cclab.analyze(file))


class _Zeros(io.RawIOBase):
    """So many zeros."""

    def __init__(self, left: int) -> None:
        self._left = left

    def read(self, size: int = -1) -> bytes:
        given = min(size, self._left)
        self._left -= given
        return bytes(given)


def archive(file: Path, size: int) -> Path:
    """A compressed archive of a folder whose plan is so many zeros."""
    with (
        file.open("wb") as raw,
        (
            zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
            if file.name.endswith(".zst")
            else gzip.GzipFile(fileobj=raw, mode="wb")
        ) as out,
        tarfile.open(fileobj=out, mode="w|") as tar,
    ):
        folder, plan = tarfile.TarInfo("store"), tarfile.TarInfo("store/plan.json")
        folder.type, folder.mode, plan.size = tarfile.DIRTYPE, 0o755, size
        tar.addfile(folder)
        tar.addfile(plan, _Zeros(size))
    return file


@pytest.mark.parametrize("ending", ["tar.zst", "tar.gz"])
def test_an_archive_of_few_bytes_that_become_many_is_refused(tmp_path: Path, ending: str) -> None:
    file = archive(tmp_path / f"store.{ending}", expansion.FREE + MIB)
    assert file.stat().st_size < MIB
    with pytest.raises(InputError, match="--max-decompressed SIZE allows more"):
        transfer.bring(file, Store(tmp_path / "into"))
    assert not (tmp_path / "into").exists()
    # With leave it is read, and found to be none.
    with pytest.raises(InputError, match=r"not a results folder|no plan"):
        transfer.bring(file, Store(tmp_path / "into"), 1 << 30)


def test_an_archive_with_a_file_of_holes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "store.tar"
    holes = tmp_path / "holes"
    with holes.open("wb") as out:
        out.truncate(1 << 40)
    subprocess.run(
        ["tar", "--sparse", "-cf", file, "-C", tmp_path, "--transform", "s,^,store/,", "holes"],
        check=True,
    )
    assert file.stat().st_size < MIB
    with pytest.raises(InputError, match="neither a folder nor a plain file"):
        transfer.bring(file, Store(tmp_path / "into"))


def test_a_pipe_is_no_archive(tmp_path: Path) -> None:
    pipe = tmp_path / "store.tar.gz"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="no plain file"):
        transfer.bring(pipe, Store(tmp_path / "into"))


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "/dev/zero"),
        ("run", "/dev/zero"),
        ("analyze", "/dev/zero"),
        ("store", "import", "/dev/zero", "into"),
    ],
)
def test_files_without_end_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cclab", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == WRONG_INPUT
    assert "/dev/zero" in done.stderr
    assert "Traceback" not in done.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("verb", ["plan", "run", "explain"])
def test_a_pipe_is_no_study(tmp_path: Path, cli: Cli, verb: str) -> None:
    """Nobody writes into it: whoever opens it waits for ever."""
    pipe = tmp_path / "study.toml"
    os.mkfifo(pipe)
    link = tmp_path / "link.toml"
    link.symlink_to(pipe)
    for file in (pipe, link):
        told = cli(verb, file)
        assert told.returncode == WRONG_INPUT
        assert f"'{file}' is a pipe, and a study is a file" in told.stderr


def test_a_study_through_a_pipe_of_the_shell_is_read(tmp_path: Path, study: Path) -> None:
    words = f"{shlex.quote(sys.executable)} -m cclab plan <(cat {shlex.quote(str(study))})"
    planned = subprocess.run(["bash", "-c", words], cwd=tmp_path, check=False)
    assert planned.returncode == DONE


def test_what_an_analysis_of_a_pipe_waits_for_is_told(tmp_path: Path) -> None:
    pipe = tmp_path / "capture.pcap"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [sys.executable, "-m", "cclab", "analyze", pipe, "--json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as waiting:
        pipe.write_bytes(EMPTY)
        told = waiting.communicate(timeout=PATIENCE_S)[1]
    assert told.splitlines()[0] == f"waiting for a program that writes a capture into {pipe}"
    assert waiting.returncode == DONE


def test_connections_that_would_not_fit_into_memory_are_refused(tmp_path: Path) -> None:
    file = capture(tmp_path, "zeros.pcap.gz", MIB)
    most = machine.memory() // _core.analyze_memory(1)
    cclab.analyze(file, max_connections=most)
    with pytest.raises(InputError, match=f"GB of memory.*at most {most}"):
        cclab.analyze(file, max_connections=most + 1)
    assert 5_000 < _core.analyze_memory(1) < 50_000


def test_what_may_be_decompressed_is_told_as_it_is() -> None:
    """Captures and the files of runs have one bound."""
    times = f"{_core.most_of_file(10**12) // 10**12} times"
    least = f"{_core.most_of_file(0) >> 20} MiB"
    for file in ("docs/analyze.md", "docs/store.md", "crates/trace/src/captured/fault.rs"):
        text = (ROOT / file).read_text()
        assert times in text, file
        assert least in text, file


@pytest.mark.parametrize(
    ("root", "group_of_process", "file", "unbounded"),
    [
        ("", "0::/a/b\n", "memory.max", "max"),
        ("memory", "9:cpu,cpuacct:/c\n8:memory:/a/b\n", "memory.limit_in_bytes", str(2**63 - 4096)),
        ("memory", "8:hugetlb,memory:/a/b\n0::/\n", "memory.limit_in_bytes", str(2**63 - 4096)),
    ],
)
def test_a_control_group_or_a_limit_bounds_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    root: str,
    group_of_process: str,
    file: str,
    unbounded: str,
) -> None:
    """Of version 2, of version 1, and where a system has both."""
    whole = machine.memory()
    group = tmp_path / root / "a" / "b"
    group.mkdir(parents=True)
    (tmp_path / "of-process").write_text(group_of_process)
    (group / file).write_text(f"{unbounded}\n")
    (group.parent / file).write_text("12345678\n")
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.setattr(machine, "_OF_PROCESS", tmp_path / "of-process")
    assert machine.memory() == 12345678 < whole


@pytest.mark.parametrize("jobs", [0, machine.MOST_JOBS + 1, 100_000])
def test_jobs_are_bounded_from_python_too(tmp_path: Path, jobs: int) -> None:
    with pytest.raises(InputError, match=f"jobs is {jobs}; it must be at"):
        cclab.run(study(tmp_path, 1), out=tmp_path / "out", jobs=jobs)
    assert not (tmp_path / "out").exists()
