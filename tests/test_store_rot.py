"""What a disk does to a store: bits that flip, and what it has not kept when the power fails."""

from __future__ import annotations

import errno
import os
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import cclab
import cclab.whole
from cclab import _core
from cclab.errors import DamagedRunsError, RunError, StoreError
from cclab.queries import query
from cclab.store import Store, health
from cclab.store.trace import columns_of
from conftest import STUDY, flip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab import Results
    from conftest import Cli

PLACES = 48
"""Where in a file a bit is flipped, one at a time, evenly over its length."""


@pytest.fixture
def store(short_runs: Results, tmp_path: Path) -> Store:
    """A copy of the store of `short_runs`."""
    shutil.copytree(short_runs.store.path, tmp_path / "copy")
    return Store(tmp_path / "copy")


def _flipped(content: bytes) -> Iterator[bytes]:
    """`content` with one bit the other way, at each of the places."""
    for turn in range(PLACES):
        at = len(content) * (2 * turn + 1) // (2 * PLACES)
        yield content[:at] + bytes([content[at] ^ 1 << turn % 8]) + content[at + 1 :]


def test_no_bit_of_a_run_can_flip_unseen(store: Store) -> None:
    """Nor be believed: neither what is listed, nor what was measured, nor a row of the trace."""
    plan, told = store.plan(), query(store.path)
    file = max((store.file(run) for run in store.ids()), key=lambda found: found.stat().st_size)
    whole = file.read_bytes()
    for rotten in _flipped(whole):
        file.write_bytes(rotten)
        assert health.examine(store).torn == [file.stem]
        assert [run.id for run in store.survey(plan).damaged] == [file.stem]
        with pytest.raises(DamagedRunsError, match=file.stem):
            cclab.load(store.path)
        index = store.path / "index.sqlite"
        index.unlink()
        assert query(store.path).equals(told.filter(pl.col("run") != file.stem))
        file.write_bytes(whole)
        assert query(store.path).equals(told)


def test_no_bit_of_a_run_is_believed_that_is_read_at_a_glance(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many runs the digests of their files are not compared, but all that is shown has a
    checksum: also by which definitions it was measured."""
    monkeypatch.setattr("cclab.store.folder.CHECKED", 1)
    monkeypatch.setattr("cclab.measure.results.CHECKED", 1)

    def shown() -> list[Any]:
        return [run.metrics for run in cclab.load(store.path).runs]

    told, seen = shown(), 0
    file = store.file(min(store.ids()))
    whole = file.read_bytes()
    comment = whole.rindex(b"cclab-run/")
    version = whole.index(b"metrics ", comment) + len(b"metrics ")
    ends = [
        whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
        for at in range(comment, len(whole))
    ]
    versions = [
        whole[:version] + bytes([whole[version] ^ 1 << bit]) + whole[version + 1 :]
        for bit in range(8)
    ]
    for rotten in [*ends, *versions, *_flipped(whole)]:
        file.write_bytes(rotten)
        damaged: tuple[str, ...] = ()
        try:
            assert shown() == told
        except DamagedRunsError as error:
            damaged = error.damaged
            seen += 1
        assert damaged in ((), (file.stem,))
    assert seen >= len(ends) + len(versions)


def test_no_bit_of_a_capture_can_flip_unseen(results: Results, tmp_path: Path) -> None:
    shutil.copytree(results.store.path, tmp_path / "copy")
    store = Store(tmp_path / "copy")
    run = min(store.ids())
    (capture,) = (store.captures / run).iterdir()
    for rotten in _flipped(capture.read_bytes()):
        capture.write_bytes(rotten)
        assert health.examine(store).torn == [run]
        assert [one.id for one in store.survey(store.plan()).damaged] == [run]


def test_no_bit_of_the_index_can_flip_unseen(store: Store, cli: Cli) -> None:
    told, index = query(store.path), store.path / "index.sqlite"
    whole = index.read_bytes()
    for rotten in _flipped(whole):
        index.write_bytes(rotten)
        assert health.examine(store).derived == ["index.sqlite"]
        assert query(store.path).equals(told)
        assert index.read_bytes() == whole
    index.write_bytes(rotten)
    checked = cli("store", "verify", store.path)
    assert checked.returncode == 0
    assert "index.sqlite: not of these runs" in checked.stderr


def test_a_row_of_a_trace_whose_bits_flipped_is_not_read(store: Store) -> None:
    """Also where the digest was compared before: each table has a checksum of its own."""
    loaded = cclab.load(store.path)
    file, samples = loaded.runs[0].trace.file, loaded.samples(0)
    content = file.read_bytes()
    name = b"flow_samples.parquet"
    at, seen = content.index(name) + len(name), 0
    for turn in range(100):
        flip(file, at + turn)
        try:
            read = loaded.samples(0)
        except RunError:
            seen += 1
        else:
            # A bit that says that no more follows may flip: the rows are then as they were.
            assert read.equals(samples)
        file.write_bytes(content)
    assert seen > 95


def test_columns_of_many_traces_are_those_of_the_tables(store: Store) -> None:
    traces = [run.trace for run in cclab.load(store.path).runs]
    asked = {"flow_samples": ("time_ns", "cwnd_bytes", "srtt_ns"), "flows": ("name", "ended_ns")}
    for trace, read in zip(traces, columns_of(traces, asked), strict=True):
        for table, wanted in asked.items():
            rows, columns = trace.rows(table, wanted), read[table]
            assert columns is not None
            for name in wanted:
                told = [None if value != value else value for value in columns[name].tolist()]
                assert told == rows[name].to_list(), name
    assert columns_of(traces, {"transfers": ("source",)}) == [{"transfers": None}] * len(traces)


def test_columns_of_a_trace_whose_bits_flipped_are_not_read(store: Store) -> None:
    trace = cclab.load(store.path).runs[0].trace
    asked = {"flow_samples": ("time_ns", "cwnd_bytes")}
    [read] = columns_of([trace], asked)
    content = trace.file.read_bytes()
    name = b"flow_samples.parquet"
    at, seen = content.index(name) + len(name), 0
    for turn in range(100):
        flip(trace.file, at + turn)
        try:
            [again] = columns_of([trace], asked)
        except RunError:
            seen += 1
        else:
            assert str(again) == str(read)
        trace.file.write_bytes(content)
    assert seen > 95


def test_columns_of_the_trace_of_another_run_are_not_read(store: Store) -> None:
    trace, other = (run.trace for run in cclab.load(store.path).runs[:2])
    asked = {"flow_samples": ("time_ns",)}
    assert len(columns_of([trace, other], asked)) == 2
    shutil.copyfile(other.file, trace.file)
    with pytest.raises(RunError, match=f"{trace.file.name}: .* of another run"):
        columns_of([trace, other], asked)


class _Disk:
    """Follows what is flushed, and what is moved."""

    def __init__(self, watch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[Path, ...]] = []
        """Of what is flushed, the path; of what is moved, from where and to where."""

        def follow(owner: Any, name: str, paths: int) -> None:
            original = getattr(owner, name)

            def followed(*arguments: Any, **words: Any) -> Any:
                done = original(*arguments, **words)
                self.events.append(tuple(Path(one) for one in arguments[:paths]))
                return done

            watch.setattr(owner, name, followed)

        follow(cclab.whole, "sync", 1)
        follow(os, "rename", 2)
        follow(os, "replace", 2)
        original = _core.sync

        def sync(paths: list[str | os.PathLike[str]]) -> None:
            original(paths)
            self.events += [(Path(path),) for path in paths]

        watch.setattr(_core, "sync", sync)

    def moves(self) -> Iterator[tuple[int, Path, Path]]:
        """When, from where and to where each thing was moved."""
        for index, event in enumerate(self.events):
            if len(event) > 1:
                yield index, event[0], event[1]

    def flushed(self, path: Path, *, after: int = 0, before: int | None = None) -> bool:
        return (path,) in self.events[after:before]


def test_what_takes_a_name_is_on_the_disk_and_its_name_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "short.toml"
    study.write_text(STUDY + '[trace]\ncapture = ["bottleneck"]\n')
    followed = _Disk(monkeypatch)
    results = cclab.run(study, out=tmp_path / "out", set=["duration=600ms"])
    root = results.store.path
    lasting = [
        (when, source, to)
        for when, source, to in followed.moves()
        if to.is_relative_to(root) and "tmp" not in to.relative_to(root).parts
    ]
    files = [to.stem for _, _, to in lasting if to.parent == results.store.runs]
    assert sorted(files) == sorted(results.store.ids())
    captured = [to.name for _, _, to in lasting if to.parent == results.store.captures]
    assert sorted(captured) == sorted(results.store.ids())
    assert root / "index.sqlite" in [to for _, _, to in lasting]
    for when, source, to in lasting:
        if to.is_relative_to(root / "report"):
            continue  # Lost, they are made again.
        assert followed.flushed(source, before=when), to
        assert followed.flushed(to.parent, after=when), to


def test_what_the_system_refuses_is_no_damage(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full /tmp, where runs of older definitions are unpacked, throws no sound run out."""
    before = {run: store.file(run).read_bytes() for run in store.ids()}

    def refuse(archive: object, folder: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_core, "METRICS_VERSION", "0")
    monkeypatch.setattr(zipfile.ZipFile, "extractall", refuse)
    with pytest.raises(StoreError, match="No space left on device"):
        cclab.load(store.path)
    with pytest.raises(StoreError, match="No space left on device"):
        cclab.run(store.path)
    assert {run: store.file(run).read_bytes() for run in store.ids()} == before
    assert not store.aside.exists()


def test_a_run_that_cannot_be_read_is_named_by_whoever_asks(
    cli: Cli, store: Store, tmp_path: Path
) -> None:
    """With the index or without: no mean is of fewer runs without a word."""
    run = sorted(store.ids())[0]
    whole = store.file(run).read_bytes()
    store.file(run).write_bytes(whole[: len(whole) // 2])
    (store.path / "index.sqlite").unlink()
    for _ in range(2):
        asked = cli("query", store.path, "--group-by", "cc", "--csv")
        assert asked.returncode == 3
        assert run in asked.stderr
        assert "they have no rows" in asked.stderr
        assert asked.stdout.startswith("cc,n,")
    exported = cli("store", "export", store.path, tmp_path / "part")
    assert exported.returncode == 3
    assert run in exported.stderr
    store.file(run).write_bytes(whole)
    assert cli("query", store.path, "--group-by", "cc").returncode == 0


def test_an_archive_of_another_kind_is_no_folder(cli: Cli, store: Store, tmp_path: Path) -> None:
    refused = cli("store", "export", store.path, tmp_path / "part.zip")
    assert refused.returncode == 2
    assert "an archive's name ends in .tar, .tar.gz, .tar.zst" in refused.stderr
    assert not (tmp_path / "part.zip").exists()
