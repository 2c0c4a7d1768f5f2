"""Sweeps on a Dask cluster: the same store, whatever happens to workers and scheduler."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import distributed
import pytest

from cclab import starts
from cclab.cli.exits import DONE, INTERRUPTED, RUN_FAILED, WRONG_INPUT
from cclab.execute.address import Scheduler
from cclab.execute.backends import backend as backend_called
from cclab.execute.cluster import Cluster, client_of
from conftest import files_of
from waiting import PATIENCE_S, await_that

if TYPE_CHECKING:
    from collections.abc import Iterator

REPEATS = 100
SWEEP = ("--set", "duration=60s", "--repeat", REPEATS)
"""Some seconds of work for two workers."""

LONG_S = 10_000_000
"""Virtual seconds that take a worker longer than anything here is waited for."""


def cclab(*words: object) -> list[str]:
    """The words of a command."""
    return [sys.executable, "-m", "cclab", *map(str, words)]


@contextlib.contextmanager
def cluster(workers: int = 2, **options: Any) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Workers on this machine: the file that tells of their scheduler, and its process.

    Whatever the test does, none of them outlives it.
    """
    process: subprocess.Popen[str] = subprocess.Popen(
        cclab("cluster", "local", "--workers", workers),
        **{"stderr": subprocess.DEVNULL, **options},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    numbers: list[int] = []
    try:
        address = process.stdout.readline().strip()
        numbers = workers_of(process.pid)
        yield address, process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        finally:
            process.kill()
            process.stdout.close()
        for worker in numbers:
            # Those of a scheduler that was killed.
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def workers_of(parent: int) -> list[int]:
    """The processes of the workers that the process `parent` has."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            words = (place / "stat").read_text().rsplit(")", 1)[1].split()
            is_worker = b"spawn_main" in (place / "cmdline").read_bytes()
            if int(words[1]) == parent and is_worker:
                found.append(int(place.name))
    return found


def used_s(workers: list[int]) -> float:
    """Seconds of processors that `workers` have used, all together."""
    texts = [Path(f"/proc/{worker}/stat").read_text() for worker in workers]
    words = [text.rsplit(")", 1)[1].split() for text in texts]
    return sum(int(of_one[11]) + int(of_one[12]) for of_one in words) / os.sysconf("SC_CLK_TCK")


def await_entries(out: Path, child: subprocess.Popen[str], least: int) -> None:
    """Returns once the sweep of `child` has `least` entries in `out`."""

    def there() -> bool:
        assert child.poll() is None, "the sweep ended before it could be disturbed"
        return (out / "runs").is_dir() and len(list((out / "runs").iterdir())) >= least

    await_that(there, f"{least} entries")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """The study, and the store of a sweep on this machine."""
    from conftest import STUDY

    folder = tmp_path_factory.mktemp("undisturbed")
    study = folder / "study.toml"
    study.write_text(STUDY)
    out = folder / "out"
    done = subprocess.run(
        cclab("run", study, "--out", out, *SWEEP),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == DONE, done.stderr
    return study, files_of(out)


def sweep(study: Path, out: Path, address: str) -> subprocess.Popen[str]:
    """A sweep on the cluster at `address`."""
    return subprocess.Popen(
        cclab("run", study, "--out", out, *SWEEP, "--cluster", address),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_cluster_leaves_the_same_store_though_a_worker_is_killed(
    undisturbed: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    study, expected = undisturbed
    out = tmp_path / "out"
    with cluster() as (address, process):
        child = sweep(study, out, address)
        await_entries(out, child, 20)
        victim, other = workers_of(process.pid)
        os.kill(victim, signal.SIGKILL)
        _, told = child.communicate(timeout=PATIENCE_S)
        assert child.returncode == DONE, told
        assert other in workers_of(process.pid)
        # Rounds that follow each other.
        rule = ("--repeat", "until ci95 < 3%, at least 3, at most 7")
        stores = tmp_path / "here", tmp_path / "there"
        for store, words in zip(stores, ([], ["--cluster", address]), strict=True):
            done = subprocess.run(
                cclab("run", study, "--out", store, *rule, *words),
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            assert done.returncode == DONE, done.stderr
    assert files_of(out) == expected
    assert len(list((stores[0] / "runs").iterdir())) > 6
    assert files_of(stores[1]) == files_of(stores[0])


def test_a_scheduler_that_dies_is_told_and_the_sweep_goes_on_with_another(
    undisturbed: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    study, expected = undisturbed
    out = tmp_path / "out"
    with cluster() as (address, process):
        child = sweep(study, out, address)
        await_entries(out, child, 20)
        process.kill()
        _, told = child.communicate(timeout=PATIENCE_S)
        assert child.returncode == RUN_FAILED, told
        assert "Traceback" not in told
        assert "error: the Dask scheduler is gone" in told
    kept = len(list((out / "runs").iterdir()))
    assert 20 <= kept < 200
    with cluster() as (address, _):
        child = sweep(study, out, address)
        _, told = child.communicate(timeout=PATIENCE_S)
        assert child.returncode == DONE, told
        assert f"{kept} of 200 runs are in" in told
    assert files_of(out) == expected


def test_an_interrupt_ends_a_sweep_on_a_cluster_and_keeps_what_is_done(
    undisturbed: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    study, expected = undisturbed
    out = tmp_path / "out"
    with cluster() as (address, _):
        child = sweep(study, out, address)
        await_entries(out, child, 20)
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=PATIENCE_S)
        assert child.returncode == INTERRUPTED, told
        assert "Traceback" not in told
        child = sweep(study, out, address)
        _, told = child.communicate(timeout=PATIENCE_S)
        assert child.returncode == DONE, told
    assert files_of(out) == expected


def test_an_interrupt_ends_a_long_run_on_a_cluster_and_its_worker_is_free_again(
    undisturbed: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    study, _ = undisturbed
    words = (
        "--set",
        f"duration={LONG_S}s",
        "--repeat",
        "1",
        "--set",
        'sweep.flow.short.cc=["reno"]',
    )
    with cluster() as (address, process):
        child = subprocess.Popen(
            cclab("run", study, "--out", tmp_path / "out", *words, "--cluster", address),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        workers = workers_of(process.pid)
        with client_of(Scheduler.of(address)) as client:
            await_that(lambda: any(client.processing().values()), "a worker that has the run")
            before = used_s(workers)
            await_that(lambda: used_s(workers) > before + 2, "a worker that is at it")
            child.send_signal(signal.SIGINT)
            _, told = child.communicate(timeout=PATIENCE_S)
            assert child.returncode == INTERRUPTED, told
            assert "Traceback" not in told
            # Each does so on the only thread that it has.
            say = [client.submit(os.getpid, workers=[w], pure=False) for w in client.nthreads()]
            assert sorted(said.result(PATIENCE_S) for said in say) == sorted(workers)
        assert workers_of(process.pid) == workers


@pytest.mark.parametrize("every", [False, True])
def test_what_a_worker_fails_at_others_do_and_it_is_told_of(
    undisturbed: tuple[Path, dict[str, bytes]], tmp_path: Path, every: bool
) -> None:
    study, expected = undisturbed
    out = tmp_path / "out"

    def misplace(folder: str) -> None:
        tempfile.tempdir = folder

    with cluster() as (address, _):
        with client_of(Scheduler.of(address)) as client:
            broken = sorted(client.nthreads())[: 2 if every else 1]
            client.run(misplace, str(tmp_path / "gone"), workers=broken)
        done = subprocess.run(
            cclab("run", study, "--out", out, *SWEEP, "--cluster", address),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert "the Dask scheduler is gone" not in done.stderr
    # What is told of the first runs may be of one worker alone.
    assert any(f"worker {worker}: FileNotFoundError" in done.stderr for worker in broken)
    assert str(tmp_path / "gone") in done.stderr
    told = done.stderr.count("it gets no more of them")
    if every:
        assert (done.returncode, told) == (RUN_FAILED, 0), done.stderr
        assert f"error: {2 * REPEATS} runs of {2 * REPEATS} failed" in done.stderr
        assert list((out / "runs").iterdir()) == []
    else:
        assert (done.returncode, told) == (DONE, 1), done.stderr
        assert files_of(out) == expected


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_cluster_ends_without_noise_when_its_whole_group_is_signalled(by: signal.Signals) -> None:
    with cluster(
        stderr=subprocess.PIPE,
        start_new_session=True,  # As Ctrl-C on a terminal does.
    ) as (address, process):
        assert process.stderr is not None
        ready = process.stderr.readline().strip()
        hint = f"from another terminal: cclab run STUDY.toml --cluster {address}"
        assert ready == f"2 workers; {hint}"
        workers = workers_of(process.pid)
        assert len(workers) == 2
        os.killpg(process.pid, by)
        _, told = process.communicate(timeout=PATIENCE_S)
        assert told == "the cluster has ended\n"
        assert process.returncode == DONE
        assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_every_thread_of_every_worker_has_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = distributed.Client.scheduler_info

    def five(client: distributed.Client) -> dict[str, Any]:
        """As in versions from dask/distributed#9045 to #9308."""
        info = dict(whole(client))
        return info | {"workers": dict([*info["workers"].items()][:5])}

    monkeypatch.setattr(distributed.Client, "scheduler_info", five)
    with (
        distributed.LocalCluster(
            n_workers=7,
            threads_per_worker=2,
            processes=False,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as made,
        Cluster.at(Scheduler(made.scheduler_address), backend_called("sim"), []) as crew,
    ):
        assert crew.slots == 14


def test_a_worker_that_lacks_what_a_study_needs_is_named_before_anything_runs(
    undisturbed: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    study, _ = undisturbed
    words = ("run", study, "--out", tmp_path / "out", "--backend", "linux")
    without = {**os.environ, "CCLAB_AGENT": "/nowhere/agent"}
    with cluster(1, env=without) as (address, _):
        done = subprocess.run(
            cclab(*words, "--cluster", address),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == WRONG_INPUT, done.stderr
    assert "error: worker tls://127.0.0.1:" in done.stderr
    assert "/nowhere/agent: no such program" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def of_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose flow has the variant of a file in each language, and of the simulator."""
    folder = tmp_path_factory.mktemp("of-files")
    paths = ["cubic"]
    for name, language in [("soft", "c"), ("slow", "python"), ("mild", "rust")]:
        for file, text in starts.texts(name, language).items():
            (folder / file).write_text(text)
        paths.append(starts.path_of(name, language))
    study = folder / "study.toml"
    flow = f'cc   = "{paths[-1]}"'
    text = study.read_text()
    assert flow in text
    swept = f'"flow.mine.cc" = ["{paths[-1]}", "cubic", "reno"]'
    assert swept in text
    study.write_text(text.replace(swept, f'"flow.mine.cc" = {json.dumps(paths)}'))
    return study


FEW = ("--set", "duration=30s", "--set", "warmup=5s", "--repeat", 3, "--set", "expect={}")


def test_files_of_variants_travel_to_workers(of_files: Path, tmp_path: Path) -> None:
    """Those of each language, and what comes back is what this machine does itself."""
    here, there = tmp_path / "here", tmp_path / "there"

    def done(out: Path, *more: object) -> None:
        ended = subprocess.run(
            cclab("run", of_files, "--out", out, *FEW, *more),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ended.returncode == DONE, ended.stderr

    done(here)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with cluster(2, cwd=elsewhere) as (address, _):
        done(there, "--cluster", address)
    assert len([name for name in files_of(here) if name.startswith("runs/")]) >= 12
    assert files_of(there) == files_of(here)


def test_a_worker_without_a_compiler_is_named_before_anything_runs(
    of_files: Path, tmp_path: Path
) -> None:
    # Of one file: with its cache, the worker lacks what was compiled of the others.
    few = (*FEW, "--set", f'sweep.flow.mine.cc=["cubic", "{starts.path_of("soft", "c")}"]')
    without = {**os.environ, "CC": "/nowhere/cc", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with cluster(1, env=without) as (address, _):
        ended = subprocess.run(
            cclab("run", of_files, "--out", tmp_path / "out", *few, "--cluster", address),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert ended.returncode == WRONG_INPUT, ended.stderr
    told = "compiling soft.c needs a C compiler, and `/nowhere/cc` is none: install one"
    assert f"{told} (Debian: apt install gcc libc6-dev)" in ended.stderr
    assert "error: worker tls://127.0.0.1:" in ended.stderr
    assert not (tmp_path / "out").exists()
