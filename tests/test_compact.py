"""Compacted stores: the same runs in few files, byte for byte, and nothing lost on the way."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import polars as pl
import pytest

import cclab
from cclab.catalog import Catalog
from cclab.queries import query
from cclab.store import Store, compact, health, packs
from conftest import files_of

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli

_KILLED_AT = """
import os, signal, sys
from cclab.store import Store, compact
from cclab import catalog
store, verb, moment = Store(sys.argv[1]), sys.argv[2], int(sys.argv[3])
seen = 0
def hook(event, arguments):
    global seen
    if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"):
        seen += 1
        if seen == moment:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
getattr(compact, verb)(store)
print(seen)
"""


@pytest.fixture
def store(short_runs: Results, tmp_path: Path) -> Store:
    """A copy of the store of `short_runs`."""
    shutil.copytree(short_runs.store.path, tmp_path / "copy")
    return Store(tmp_path / "copy")


def _lasting(store: Store) -> dict[str, bytes]:
    """The files of a store that are not there for a time only."""
    passing = ("tmp/", "report/", "aside/")
    return {n: b for n, b in files_of(store.path).items() if not n.startswith(passing)}


def _all_sound(store: Store) -> bool:
    found = Store(store.path).survey(store.plan())
    return len(found.sound) == len(store.plan().runs)


def test_a_compacted_store_is_the_same_store_in_fewer_files(
    store: Store, short_runs: Results
) -> None:
    before, ids = _lasting(store), store.ids()
    done = compact.compact(store)
    assert done.moved == len(ids)
    assert list(store.runs.iterdir()) == []
    assert store.ids() == ids
    assert _all_sound(store)
    again = cclab.load(store.path)
    assert again.document() == short_runs.document()
    assert again.samples(0).equals(short_runs.samples(0))
    assert again.runs[0].entry != store.entry(again.runs[0].run.id)
    assert query(store.path).equals(query(short_runs.store.path))
    shutil.rmtree(store.path / "catalog")
    assert query(store.path).equals(query(short_runs.store.path))
    once = _lasting(store)
    assert compact.compact(store).moved == 0
    assert _lasting(store) == once
    assert compact.unpack(store).moved == len(ids)
    assert _lasting(store) == before


def test_each_pack_is_read_once_for_the_catalog(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _lasting(store)
    compact.compact(store)
    shutil.rmtree(store.path / "catalog")
    read = Mock(wraps=packs.Packs.each)
    monkeypatch.setattr(packs.Packs, "each", lambda held, pack: read(held, pack))
    monkeypatch.setattr(packs.Packs, "files", Mock(side_effect=AssertionError))
    Catalog(store).settle()
    assert read.call_count == len(list((store.path / "packs").iterdir()))
    assert {n: b for n, b in before.items() if n.startswith("catalog/")} == {
        n: b for n, b in _lasting(store).items() if n.startswith("catalog/")
    }


def test_the_tables_hold_what_the_runs_recorded(store: Store, short_runs: Results) -> None:
    compact.compact(store)
    tables = {folder.name for folder in (store.path / "tables").iterdir()}
    assert {"flow_samples", "queue_samples", "flows", "links", "histograms"} <= tables
    for table in sorted(tables):
        whole = pl.read_parquet(store.path / "tables" / table / "*.parquet")
        assert whole["run"].is_sorted()
        assert set(whole["run"]) == short_runs.store.ids()
        for run in short_runs.runs[:3]:
            own = pl.read_parquet(short_runs.store.entry(run.run.id) / f"{table}.parquet")
            assert whole.filter(run=run.run.id).drop("run").equals(own)


@pytest.mark.parametrize("wrong", ["torn", "another's", "gone", "nobody's"])
def test_a_table_that_is_not_of_the_packs_is_named_and_made_again(store: Store, wrong: str) -> None:
    compact.compact(store)
    before = _lasting(store)
    table, other = sorted((store.path / "tables/flows").iterdir())[:2]
    match wrong:
        case "torn":
            content = table.read_bytes()
            table.write_bytes(
                content[:4] + bytes(len(content) // 2 - 4) + content[len(content) // 2 :]
            )
        case "another's":
            shutil.copy(other, table)
        case "gone":
            table.unlink()
        case _:
            table = table.with_stem("nobody")
            shutil.copy(other, table)
    found = health.examine(Store(store.path))
    assert found.derived == [str(table.relative_to(store.path))]
    compact.compact(Store(store.path))
    assert _lasting(store) == before


def test_the_bytes_depend_on_the_runs_alone(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    shutil.copytree(store.path, other.path)
    compact.compact(store)
    late = sorted(other.loose())[::2]
    for run in late:
        other.entry(run).rename(tmp_path / run)
    compact.compact(other)
    for run in late:
        (tmp_path / run).rename(other.entry(run))
    compact.compact(other)
    assert _lasting(other) == _lasting(store)


def test_large_packs_are_split_by_more_digits(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _lasting(store)
    compact.compact(store)
    whole = _lasting(store)
    monkeypatch.setattr(packs, "MOST_BYTES", 40_000)
    sizes = {run: one.bytes for run, one in packs.Packs(store.path / "packs").runs().items()}
    parts = packs.partition(sizes)
    assert sorted(run for runs in parts.values() for run in runs) == sorted(sizes)
    assert all(run.startswith(prefix) for prefix, runs in parts.items() for run in runs)
    assert all(len(r) == 1 or sum(sizes[x] for x in r) <= 40_000 for r in parts.values())
    monkeypatch.setattr(packs, "MOST_BYTES", 1)
    compact.compact(store)
    assert len(list((store.path / "packs").iterdir())) == len(sizes)
    assert _all_sound(store)
    monkeypatch.undo()
    compact.compact(store)
    assert _lasting(store) == whole
    compact.unpack(store)
    assert _lasting(store) == before


def test_captures_large_and_damaged_entries_stay_as_they_are(
    results: Results, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured = Store(tmp_path / "captured")
    shutil.copytree(results.store.path, captured.path)
    assert compact.compact(captured).moved == 0
    assert captured.loose() == results.store.ids()
    first, second, *_ = sorted(store.loose())
    (store.entry(first) / "flows.parquet").write_bytes(b"torn")
    (store.entry(second) / "more").write_text("not listed")
    assert compact.compact(store).kept == 2
    assert store.loose() == {first, second}
    monkeypatch.setattr(compact, "SMALL", 10)
    compact.unpack(store)
    assert compact.compact(store).moved == 0


def test_a_run_that_is_done_again_replaces_its_compacted_entry(
    store: Store, short_runs: Results
) -> None:
    compact.compact(store)
    before = _lasting(store)
    run = short_runs.runs[0].run.id
    pack = next(p for p in (store.path / "packs").iterdir() if run.startswith(p.stem))
    whole = pack.read_bytes()
    pack.write_bytes(whole[:100] + b"\xff" * 40 + whole[140:])
    damaged = Store(store.path).survey(store.plan()).missing
    assert run in {one.id for one in damaged}
    for one in damaged:
        shutil.copytree(short_runs.store.entry(one.id), store.entry(one.id))
    assert _all_sound(store)
    compact.compact(Store(store.path))
    assert _lasting(store) == before


def test_a_damaged_pack_that_can_be_read_gives_way_to_the_folder_of_a_run(
    store: Store, short_runs: Results
) -> None:
    compact.compact(store)
    before = _lasting(store)
    pack = max((store.path / "packs").iterdir(), key=lambda one: one.stat().st_size)
    damaged = _damage_what_it_holds(pack)
    for run in damaged:
        shutil.copytree(short_runs.store.entry(run), store.entry(run))
    found = health.examine(Store(store.path))
    assert found.whole
    assert found.sound == len(short_runs.store.ids())
    compact.compact(Store(store.path))
    assert _all_sound(store)
    assert _lasting(store) == before


def _damage_what_it_holds(pack: Path) -> list[str]:
    """Flips one byte so that `pack` can still be read; the runs that are then not sound."""
    whole = pack.read_bytes()
    for at in range(len(whole) // 3, len(whole)):
        pack.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        held = packs.Packs(pack.parent)
        read = list(held.each(pack))
        if [run for run, _ in read] == [r for r, one in held.runs().items() if one.pack == pack]:
            damaged = [run for run, files in read if files is None]
            if damaged:
                return damaged
    raise AssertionError("there is no such byte")


@pytest.mark.parametrize("name", ["../../out.parquet", "/{}/out.parquet", ".."])
def test_a_pack_writes_nowhere_but_into_the_folder_of_a_run(
    store: Store, tmp_path: Path, name: str
) -> None:
    before = _lasting(store)
    run = min(store.ids())
    content = (store.entry(run) / "flows.parquet").read_bytes()
    _write_evil(store, run, {name.format(tmp_path): content})
    shutil.rmtree(store.entry(run))
    assert health.examine(Store(store.path)).torn == [run]
    # As `cclab report` and `import` open it.
    assert not store.trace(run).exists()
    with store.opened(run) as entry:
        assert not entry.exists()
    for verb in (compact.compact, compact.unpack):
        verb(Store(store.path))
    assert not list(tmp_path.rglob("out.parquet"))
    assert set(before.keys() - _lasting(store).keys()) == {
        file for file in before if file.startswith(f"runs/{run}/")
    }


@pytest.mark.parametrize("run", ["../../out", ""])
def test_what_is_no_id_in_a_pack_is_no_run(store: Store, tmp_path: Path, run: str) -> None:
    ids, before = store.ids(), _lasting(store)
    content = (store.entry(min(ids)) / "flows.parquet").read_bytes()
    _write_evil(store, run, {"flows.parquet": content})
    assert store.ids() == ids
    assert health.examine(Store(store.path)).foreign == [run]
    compact.compact(Store(store.path))
    assert [file.name for file in store.aside.glob("*/*.parquet")] == ["evil.parquet"]
    compact.unpack(Store(store.path))
    assert _lasting(store) == before
    assert not list(tmp_path.rglob("out"))


def _write_evil(store: Store, run: str, files: dict[str, bytes]) -> None:
    """A pack with a run whose manifest lists `files`, whatever they are called."""
    listed = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
    }
    manifest = json.dumps({"run": run, "files": listed}).encode()
    held = {**files, "manifest.json": manifest}
    packs.write(store.path / "packs/evil.parquet", [(run, held)], store.path)


@pytest.mark.parametrize("verb", ["compact", "unpack"])
@pytest.mark.parametrize("torn", [b"", b"none", b"\xff" * 40])
def test_a_pack_that_cannot_be_read_is_set_aside_and_the_others_serve(
    store: Store, short_runs: Results, verb: str, torn: bytes
) -> None:
    compact.compact(store)
    before = _lasting(store)
    run = short_runs.runs[0].run.id
    pack = next(p for p in (store.path / "packs").iterdir() if run.startswith(p.stem))
    held = packs.Packs(pack.parent).runs()
    within = {one for one, at in held.items() if at.pack == pack}
    whole = pack.read_bytes()
    # Nothing of it; no Parquet at all; some bytes within a file that it holds.
    damaged = whole[:100] + torn + whole[140:] if len(torn) == 40 else torn
    pack.write_bytes(damaged)
    getattr(compact, verb)(Store(store.path))
    assert [file.read_bytes() for file in store.aside.glob("*/*.parquet")] == [damaged]
    lost = {one.id for one in Store(store.path).survey(store.plan()).missing}
    assert run in lost <= within
    for one in lost:
        shutil.copytree(short_runs.store.entry(one), store.entry(one))
    compact.compact(Store(store.path))
    assert _lasting(store) == before


@pytest.mark.parametrize("verb", ["compact", "unpack"])
@pytest.mark.parametrize("part", [0.05, 0.3, 0.6, 0.9])
def test_a_kill_at_any_moment_loses_nothing(
    store: Store, short_runs: Results, tmp_path: Path, verb: str, part: float
) -> None:
    loose = _lasting(store)
    compact.compact(store)
    packed = _lasting(store)
    if verb == "compact":
        compact.unpack(store)
    trial = tmp_path / "trial"
    shutil.copytree(store.path, trial)
    command = [sys.executable, "-c", _KILLED_AT, str(trial), verb]
    steps = int(subprocess.run([*command, "0"], check=True, capture_output=True).stdout)
    moment = max(1, int(part * steps))
    shutil.rmtree(trial)
    shutil.copytree(store.path, trial)
    killed = subprocess.run([*command, str(moment)], capture_output=True, check=False)
    assert killed.returncode == -9
    assert _all_sound(Store(trial))
    assert cclab.load(trial).document() == short_runs.document()
    compact.compact(Store(trial))
    assert _lasting(Store(trial)) == packed
    compact.unpack(Store(trial))
    assert _lasting(Store(trial)) == loose
    shutil.rmtree(trial)


def test_the_command_line_lists_verifies_compacts_and_unpacks(cli: Cli, store: Store) -> None:
    before = _lasting(store)
    runs = len(store.ids())
    told = cli("store", "ls", store.path)
    assert told.stdout.startswith(f"{store.path}: {runs} runs, ")
    assert "plan short: Two flows on a slow link: 4 of 4 runs here" in told.stdout
    assert cli("store", "compact", store.path).returncode == 0
    told = cli("store", "ls", store.path, "--json", "--runs")
    listed = json.loads(told.stdout)
    assert listed["compacted"] == runs == len(listed["runs"])
    assert {run["form"] for run in listed["runs"]} == {"compacted"}
    assert cli("store", "verify", store.path).stdout == f"{runs} sound runs in {store.path}\n"
    assert cli("store", "unpack", store.path).returncode == 0
    assert _lasting(store) == before


def test_running_a_compacted_study_again_runs_nothing(
    cli: Cli, short_runs: Results, store: Store, tmp_path: Path
) -> None:
    compact.compact(store)
    before = _lasting(store)
    study = tmp_path / "short.toml"
    study.write_text((short_runs.store.path.parent / "short.toml").read_text())
    done = cli("run", study, "--out", store.path)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 runs are in" in done.stderr
    assert _lasting(store) == before
