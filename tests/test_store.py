"""The store: runs whole or absent, by any number of processes."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cclab import _core
from cclab.cli.exits import WRONG_INPUT
from cclab.errors import DamageError, RunError, StoreError
from cclab.measure.results import measure
from cclab.plan import Plan, Point, Run
from cclab.store import Store, disk
from conftest import files_of, flip, save
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab import Results
    from conftest import Cli


LINK = {"queue": {"kind": "droptail"}}
SCENARIO: Any = {"flows": [], "network": {"bottleneck": LINK, "access": LINK}}
"""What of a scenario is read where runs are kept."""


def _run(name: str = "a") -> Run:
    return Run(name * 16, 1, "sim", "1", SCENARIO)


def _fill(content: bytes = b"trace") -> Any:
    def produce(directory: Path) -> None:
        (directory / "flows.parquet").write_bytes(content)
        (directory / "run.json").write_text("{}")

    return produce


def _plan(*runs: Run) -> Plan:
    return Plan(
        "n",
        "t",
        "q",
        "sim",
        1,
        len(runs),
        [],
        [Point({}, SCENARIO, [], list(runs))],
    )


def _saved(folder: Path, run: Run, content: bytes = b"trace") -> Store:
    store = Store(folder)
    with store.writer() as writer:
        save(writer, run, _fill(content))
    return store


def _captured(packets: bytes) -> Any:
    def produce(directory: Path) -> None:
        _fill()(directory)
        (directory / "bottleneck.pcapng").write_bytes(packets)

    return produce


def test_a_saved_run_is_no_longer_missing(tmp_path: Path) -> None:
    first, second = _run("a"), _run("b")
    store = _saved(tmp_path, first)
    assert store.missing(_plan(first, second)) == [second]


def test_a_failed_run_leaves_nothing(tmp_path: Path) -> None:
    def fail(directory: Path) -> None:
        (directory / "half").write_bytes(b"half of it")
        raise RunError("no")

    store = Store(tmp_path)
    with store.writer() as writer, pytest.raises(RunError):
        save(writer, _run(), fail)
    assert list(store.runs.iterdir()) == []
    assert [p.name for p in (tmp_path / "tmp").iterdir()] == ["lock"]


@pytest.mark.parametrize(
    "damage", ["truncate", "empty", "no middle", "no comment", "of another run", "a folder"]
)
def test_a_damaged_run_is_missing_and_is_replaced(tmp_path: Path, damage: str) -> None:
    run = _run()
    store = _saved(tmp_path, run)
    file = store.file(run.id)
    whole = file.read_bytes()
    match damage:
        case "truncate":
            os.truncate(file, 100)
        case "empty":
            os.truncate(file, 0)
        case "no middle":
            file.write_bytes(whole[: len(whole) // 3] + whole[len(whole) // 2 :])
        case "of another run":
            other = _saved(tmp_path / "other", _run("b"))
            (strange,) = other.runs.iterdir()
            shutil.copyfile(strange, file)
        case "no comment":
            file.write_bytes(whole.replace(b"cclab-run", b"other-run"))
        case _:
            file.unlink()
            (file / "within").mkdir(parents=True)
    assert store.missing(_plan(run)) == [run]
    _saved(tmp_path, run)
    assert store.missing(_plan(run)) == []
    assert file.read_bytes() == whole
    (aside,) = store.aside.iterdir()
    assert (aside / file.name).exists()


@pytest.mark.parametrize("ask", [Store.ids, Store.count, Store.names, Store.names_digest])
def test_a_folder_of_runs_that_cannot_be_read_is_not_empty(
    tmp_path: Path, ask: Callable[[Store], object]
) -> None:
    store = Store(tmp_path)
    ask(store)
    assert store.ids() == set()
    store.runs.write_text("no folder")
    with pytest.raises(StoreError) as raised:
        ask(store)
    assert str(raised.value) == f"cannot read {store.runs}: Not a directory"


def test_the_comment_of_a_run_says_what_it_is_of(tmp_path: Path) -> None:
    run = _run()
    file = _saved(tmp_path, run).file(run.id)
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        form, *lines = archive.comment.decode().split("\n")
    assert form == "cclab-run/2"
    assert dict(line.split(" ") for line in lines) == {
        "run": run.id,
        "bytes": f"{len(whole):020}",
        "metrics": _core.METRICS_VERSION,
        "captures": "0",
        "sha256": hashlib.sha256(whole[:-79]).hexdigest(),
        "crc32": f"{zlib.crc32(archive.comment[:-15]):08x}",
    }


def test_changed_contents_of_the_same_length_are_found_on_request(tmp_path: Path) -> None:
    run = _run()
    store = _saved(tmp_path, run)
    flip(store.file(run.id))
    assert store.sound(run.id)
    assert not store.sound(run.id, contents=True)


def test_a_survey_tells_damaged_runs_from_absent_ones(tmp_path: Path) -> None:
    good, bad, absent = _run("a"), _run("b"), _run("c")
    store = _saved(tmp_path, good)
    _saved(tmp_path, bad)
    flip(store.file(bad.id))
    found = store.survey(_plan(good, bad, absent))
    assert (found.sound, found.damaged, found.absent) == ([good], [bad], [absent])
    assert found.missing == [bad, absent]
    _saved(tmp_path, bad)
    assert store.survey(_plan(good, bad)).missing == []


def test_runs_that_cannot_be_read_are_all_named(tmp_path: Path) -> None:
    # Whole by their digests, and yet nothing that was measured is in them.
    runs = [_run("a"), _run("b")]
    store = Store(tmp_path)
    with store.writer() as writer:
        for run in runs:
            save(writer, run, _fill(), metrics="not measured")
    with pytest.raises(DamageError, match="2 damaged runs in") as raised:
        measure(store, _plan(*runs))
    assert all(run.id in str(raised.value) for run in runs)


def test_a_sound_run_stays_when_another_writer_comes_second(tmp_path: Path) -> None:
    run = _run()
    store = _saved(tmp_path, run)
    whole = store.file(run.id).read_bytes()
    _saved(tmp_path, run, b"other")
    assert store.file(run.id).read_bytes() == whole
    assert store.trace(run.id).bytes("flows.parquet") == b"trace"


def test_a_run_says_nothing_of_when_and_where(tmp_path: Path) -> None:
    run = _run()
    first, second = _saved(tmp_path / "one", run), _saved(tmp_path / "two", run)
    assert first.file(run.id).read_bytes() == second.file(run.id).read_bytes()
    assert [path.name for path in first.runs.iterdir()] == [f"{run.id}.zip"]


def test_captures_lie_beside_the_run_that_lists_them(tmp_path: Path) -> None:
    run, store = _run(), Store(tmp_path)
    with store.writer() as writer:
        save(writer, run, _captured(b"packets"))
    capture = store.trace(run.id).capture("bottleneck")
    assert capture.read_bytes() == b"packets"
    assert store.sound(run.id, contents=True)
    capture.write_bytes(b"pAckets")
    assert store.sound(run.id)
    assert store.survey(_plan(run)).damaged == [run]
    capture.unlink()
    assert not store.sound(run.id)
    with store.writer() as writer:
        save(writer, run, _captured(b"packets"))
    assert store.survey(_plan(run)).sound == [run]
    assert capture.read_bytes() == b"packets"


@pytest.mark.parametrize("left", [b"packets", b"pack", None])
def test_captures_of_a_writer_that_was_killed_before_the_run_had_its_name(
    tmp_path: Path, left: bytes | None
) -> None:
    run, store = _run(), Store(tmp_path)
    folder = store.captures / run.id
    folder.mkdir(parents=True)
    (folder / "bottleneck.pcapng").write_bytes(b"packets" if left is None else left)
    if left is None:
        (folder / "other.pcapng").write_bytes(b"packets")
    with store.writer() as writer:
        save(writer, run, _captured(b"packets"))
    assert store.survey(_plan(run)).sound == [run]
    assert [file.name for file in folder.iterdir()] == ["bottleneck.pcapng"]
    # What is the very same stays where it is.
    assert store.aside.exists() == (left != b"packets")


def test_what_a_killed_writer_left_is_swept_and_a_living_one_is_spared(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from cclab.store import Store\n"
        "writer = Store(sys.argv[1]).writer().__enter__()\n"
        "(writer._inside('half')).write_bytes(b'x' * 100)\n"
        "print('ready', flush=True)\n"
        "time.sleep(3600)\n"
    )
    corners = tmp_path / "tmp"
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with Store(tmp_path).writer():
            pass
        assert len([c for c in corners.iterdir() if c.is_dir()]) == 1
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    with Store(tmp_path).writer():
        pass
    assert [c for c in corners.iterdir() if c.is_dir()] == []


def _save_all(folder: str, names: str) -> None:
    store = Store(folder)
    with store.writer() as writer:
        for name in names:
            save(writer, _run(name), _fill(name.encode() * 1000))
            time.sleep(0.002)


def test_processes_that_save_the_same_runs_do_not_spoil_them(tmp_path: Path) -> None:
    names = "abcdefghij"
    context = multiprocessing.get_context("spawn")
    orders = (names, names[::-1], names[5:] + names[:5])
    workers = [context.Process(target=_save_all, args=(str(tmp_path), o)) for o in orders]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE_S)
        assert worker.exitcode == 0
    store = Store(tmp_path)
    assert store.missing(_plan(*(_run(n) for n in names))) == []
    assert all(store.sound(_run(n).id, contents=True) for n in names)
    assert len(list(store.runs.iterdir())) == len(names)


def test_a_lock_that_leaves_no_file_lets_one_in_at_a_time(tmp_path: Path) -> None:
    lock, counter = tmp_path / "lock", tmp_path / "counter"
    lock.touch()  # of one who was killed while holding it
    counter.write_text("0")

    def count(times: int) -> None:
        for _ in range(times):
            with disk.alone(lock):
                before = int(counter.read_text())
                time.sleep(0.0002)
                counter.write_text(str(before + 1))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(count, [50] * 6))
    assert counter.read_text() == "300"
    assert not lock.exists()


def test_a_plan_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    plan = _plan(_run("a"), _run("b"))
    store = Store(tmp_path)
    with store.writer() as writer:
        writer.save_plan(plan)
    assert store.plan() == plan


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"schema": "other"}', '{"schema": "cclab-plan/2"}']
)
def test_a_damaged_plan_is_said_to_be_damaged(tmp_path: Path, content: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(StoreError, match=r"plan\.json is damaged"):
        Store(tmp_path).plan()


def test_a_folder_that_is_no_store_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a results folder"):
        Store(tmp_path).plan()
    with pytest.raises(StoreError, match="no such folder"):
        Store(tmp_path / "nowhere").plan()


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(StoreError, match="cannot write"), Store(file).writer():
        pass


def test_any_program_that_reads_zip_archives_reads_a_run(tmp_path: Path) -> None:
    run = _run()
    store = _saved(tmp_path, run)
    with zipfile.ZipFile(store.file(run.id)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["run.json", "metrics.json", "flows.parquet"]
        assert archive.read("flows.parquet") == b"trace"


@pytest.mark.parametrize(("wrote", "names"), [(1, "older"), (3, "newer")])
def test_a_folder_of_another_version_is_refused_with_the_version_that_wrote_it(
    results: Results, tmp_path: Path, cli: Cli, study: Path, wrote: int, names: str
) -> None:
    out = tmp_path / names
    shutil.copytree(results.store.path, out)
    for plan in (out / "plan.json", *(out / "plans").iterdir()):
        plan.write_text(plan.read_text().replace("cclab-plan/2", f"cclab-plan/{wrote}"))
    before = files_of(out)
    for words in (
        ["run", study, "--out", out],
        ["run", out],
        ["report", out],
        ["query", out],
        ["store", "ls", out],
        ["store", "verify", out],
        ["store", "gc", out],
        ["store", "import", out, tmp_path / "into"],
        ["store", "import", results.store.path, out],
        ["store", "export", out, tmp_path / "from"],
    ):
        refused = cli(*words)
        assert refused.returncode == WRONG_INPUT, words
        [complaint] = [x for x in refused.stderr.splitlines() if x.startswith("error: ")]
        assert complaint == (
            f"error: {out} was written by a cclab of another version, with plans of "
            f"cclab-plan/{wrote}; this one has cclab-plan/2: run the study again into another "
            f"folder, or read this one with a cclab that has cclab-plan/{wrote}"
        )
    assert files_of(out) == before
    assert not (tmp_path / "into").exists()
