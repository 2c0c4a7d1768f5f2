"""The index: derived from the runs, never a reason to fail, the same bytes whoever made it."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import cclab
from cclab import _core
from cclab.errors import StoreError
from cclab.queries import query
from cclab.store import Store
from cclab.store.index import Index, tables
from cclab.store.index.columns import of_scenario
from cclab.store.writer import Writer
from conftest import ROOT, flip, forge
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli


@pytest.fixture
def store(results: Results, tmp_path: Path) -> Store:
    """A copy of the shared results, with its index."""
    shutil.copytree(results.store.path, tmp_path / "copy", symlinks=True)
    return Store(tmp_path / "copy")


@pytest.fixture
def read_only(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store in which nothing can be written, whoever runs the test."""

    def refuse(writer: Writer) -> None:
        raise StoreError("cannot write: Read-only file system")

    monkeypatch.setattr(Writer, "__enter__", refuse)
    return store


def _file(store: Store) -> Path:
    return store.path / "index.sqlite"


def _rows(store: Store, question: str) -> list[tuple[Any, ...]]:
    """What any program that reads SQLite is told."""
    with closing(sqlite3.connect(_file(store))) as connection:
        return connection.execute(question).fetchall()


def test_a_sweep_leaves_an_index_of_its_runs(results: Results) -> None:
    store = results.store
    assert _file(store).exists()
    connection = Index(store).connection()
    runs, flows = (
        pl.read_database(f"SELECT * FROM {table}", connection, infer_schema_length=None)
        for table in ("runs", "flows")
    )
    assert set(runs["run"]) == store.ids()
    assert runs["run"].is_sorted()
    assert flows.height == 2 * runs.height
    told = store.told(store.ids(), whole=True)
    for run in results.runs:
        row = runs.filter(run=run.run.id).row(0, named=True)
        said = told[run.run.id]
        assert said is not None
        assert (row["sha256"], row["bytes"]) == (said.sha256, said.bytes)
        assert row["bottleneck.utilization"] == run.metrics["bottleneck"]["utilization"]
        assert row["bottleneck.rate"] == 10_000_000
        assert row["bottleneck.delay"] == 0.005
        assert row["bottleneck.queue.limit_bdp"] == pytest.approx(1.0, rel=1e-4)
        assert row["jain"] == run.metrics["jain"]
        of_run = flows.filter(run=run.run.id).to_dicts()
        assert [f["rtt"] for f in of_run] == [0.02, 0.06]
        assert [f["goodput_bps"] for f in of_run] == [
            f["goodput_bps"] for f in run.metrics["flows"]
        ]


@pytest.mark.parametrize(
    "damage", ["gone", "empty", "truncated", "garbage", "overwritten", "a bit", "its digest"]
)
def test_what_is_lost_or_torn_is_made_again_with_the_same_bytes(store: Store, damage: str) -> None:
    told, file = query(store.path), _file(store)
    whole = file.read_bytes()
    match damage:
        case "gone":
            file.unlink()
        case "a bit":
            flip(file, len(whole) // 3)
        case "its digest":
            flip(file, len(whole) - 1)
        case _:
            torn = {
                "empty": b"",
                "truncated": whole[: len(whole) // 2],
                "garbage": b"SQLite format 3\0" + b"\xff" * 200,
                "overwritten": whole[:8000] + b"\xa5" * 200 + whole[8200:],
            }[damage]
            file.write_bytes(torn)
    assert query(store.path).equals(told)
    assert file.read_bytes() == whole


@pytest.mark.parametrize("key", ["form", "metrics"])
def test_an_old_one_is_made_anew_with_the_same_bytes(
    store: Store, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _file(store).read_bytes()
    about = Index._about
    with monkeypatch.context() as patch:
        patch.setattr(Index, "_about", lambda index: about(index) | {key: "older"})
        _file(store).unlink()
        Index(store).refresh()
        assert dict(_rows(store, "SELECT * FROM about"))[key] == "older"
    Index(store).refresh()
    assert _file(store).read_bytes() == whole


def test_metrics_of_another_version_are_measured_again(
    store: Store, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, told = _file(store).read_bytes(), query(store.path)
    plan = store.plan()
    for run in plan.runs:
        # What another cclab took them to be.
        forge(store, run.id, lambda folder: _write(folder / "metrics.json", '{"flows": []}'))
    assert query(store.path).equals(told)
    monkeypatch.setattr(_core, "METRICS_VERSION", "another")
    assert query(store.path).equals(told)
    assert dict(_rows(store, "SELECT * FROM about"))["metrics"] == "another"
    assert cclab.load(store.path).document() == results.document()
    monkeypatch.undo()
    for run in plan.runs:
        shutil.copy(results.store.file(run.id), store.file(run.id))
    Index(store).refresh()
    assert _file(store).read_bytes() == whole


def _write(file: Path, text: str) -> None:
    file.write_text(text)


def test_runs_that_are_gone_do_not_count(store: Store) -> None:
    gone = min(store.ids())
    store.file(gone).unlink()
    assert gone not in query(store.path)["run"]
    assert _rows(store, f"SELECT run FROM runs WHERE run = '{gone}'") == []


def test_the_row_of_a_run_that_was_replaced_is_made_anew(cli: Cli, store: Store) -> None:
    before = _file(store).read_bytes()
    run = store.plan().runs[0].id

    # Another sound file of the same run, as another build of this version would make it.
    def change(folder: Path) -> None:
        asked = folder / "run.json"
        asked.write_text(asked.read_text() + " ")

    forge(store, run, change)
    assert store.sound(run, contents=True)
    told = cli("store", "verify", store.path)
    assert told.returncode == 0
    remedy = f"`cclab store gc {store.path}`"
    assert f"{remedy} makes the index again" in told.stderr
    assert cli("store", "gc", store.path).returncode == 0
    after = _file(store).read_bytes()
    assert after != before
    said = store.told([run], whole=True)[run]
    assert said is not None
    assert _rows(store, f"SELECT sha256 FROM runs WHERE run = '{run}'") == [(said.sha256,)]
    # An index that is of its runs stays as it is.
    assert cli("store", "gc", store.path).returncode == 0
    assert _file(store).read_bytes() == after


def test_foreign_and_damaged_runs_have_no_row(store: Store) -> None:
    before, told = _file(store).read_bytes(), query(store.path)
    first = store.plan().runs[0].id
    shutil.copy(store.file(first), store.file("f" * 20))
    (store.runs / "notes.txt").write_text("not a run")
    store.file("e" * 20).write_bytes(b"torn")
    assert query(store.path).equals(told)
    assert _file(store).read_bytes() == before
    flip(store.file(first))
    _file(store).unlink()
    assert first not in query(store.path)["run"]


def test_runs_that_come_in_whatever_order_give_the_same_bytes(store: Store, tmp_path: Path) -> None:
    before = _file(store).read_bytes()
    runs = sorted(store.ids())
    for order in (runs, runs[::-1]):
        for run in runs:
            shutil.move(store.file(run), tmp_path / f"{run}.zip")
        _file(store).unlink()
        for run in order:
            shutil.move(tmp_path / f"{run}.zip", store.file(run))
            Index(store).refresh()
            assert _rows(store, "SELECT count(*) FROM runs") == [(order.index(run) + 1,)]
        assert _file(store).read_bytes() == before


def test_columns_grow_with_the_studies_of_a_folder(study: Path, tmp_path: Path) -> None:
    """Each adds columns, and kinds of numbers to those that there are."""
    keys = [
        ["duration=500ms", "network.bottleneck.queue={ kind = 'codel', limit = '1bdp' }"],
        ["duration=600ms", "flow.long.cc=bbr"],
        ["duration=500ms", "network.bottleneck.loss=1%", "trace.events=['drop']"],
    ]
    for place, order in (("there", keys), ("back", keys[::-1])):
        for chosen in order:
            cclab.run(study, out=tmp_path / place, set=["warmup=0s", *chosen], repeat=1)
    there, back = Store(tmp_path / "there"), Store(tmp_path / "back")
    shutil.copy(there.path / "plan.json", back.path / "plan.json")
    Index(back).refresh()
    kinds = {kind for _, kind in _rows(there, "SELECT name, type FROM pragma_table_info('runs')")}
    assert {"TEXT", "INTEGER", "REAL", "NUMERIC"} <= kinds
    assert _file(back).read_bytes() == _file(there).read_bytes()
    _file(back).unlink()
    Index(back).refresh()
    assert _file(back).read_bytes() == _file(there).read_bytes()


def _add(folder: str, source: str, runs: list[str]) -> None:
    store = Store(folder)
    with store.writer() as writer:
        for run in runs:
            with writer.workspace() as place:
                shutil.copy(Store(source).file(run), place / f"{run}.zip")
                captures = Store(source).captures / run
                shutil.copytree(captures, place / run)
                writer.land(place, [run])
            Index(store).refresh()


def test_two_writers_at_once_leave_the_same_bytes(results: Results, store: Store) -> None:
    before, runs = _file(store).read_bytes(), sorted(store.ids())
    for place in (store.runs, store.captures):
        shutil.rmtree(place)
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=_add, args=(str(store.path), str(results.store.path), part))
        for part in (runs[:3], runs[1:])
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE_S)
        assert worker.exitcode == 0
    Index(store).refresh()
    assert _file(store).read_bytes() == before
    assert not store.aside.exists()


def test_a_store_that_can_only_be_read_is_asked_all_the_same(read_only: Store) -> None:
    told = query(read_only.path)
    _file(read_only).unlink()
    assert query(read_only.path).equals(told)
    assert not _file(read_only).exists()
    assert cclab.load(read_only.path).flows.height == told.height


def test_nobody_who_reads_locks_or_writes(store: Store) -> None:
    """A folder on NFS, or of somebody else, is read as any other."""
    before = {path.name: path.stat().st_mtime_ns for path in store.path.iterdir()}
    # What is read is a copy: nothing that is done with it reaches the file.
    Index(store).connection().execute("DELETE FROM runs")
    assert query(store.path).height > 0
    assert {path.name: path.stat().st_mtime_ns for path in store.path.iterdir()} == before


def test_the_row_of_a_run_that_was_done_again_is_of_what_it_measured_then(
    store: Store, tmp_path: Path
) -> None:
    """As in real time, where no run is like the one before."""
    run = store.plan().runs[0].id

    def otherwise(folder: Path) -> None:
        measured = json.loads((folder / "metrics.json").read_text())
        measured |= {"jain": 0.123, "window_jain": 0.123}
        (folder / "metrics.json").write_text(json.dumps(measured))

    shutil.copytree(store.path, tmp_path / "second", symlinks=True)
    second = Store(tmp_path / "second")
    forge(second, run, otherwise)
    assert query(store.path, f"run == '{run}'", columns=["jain"], table="runs")["jain"][0] != 0.123
    store.file(run).unlink()
    with store.writer() as writer, writer.workspace() as workspace:
        shutil.copy(second.file(run), workspace)
        shutil.copytree(second.captures / run, workspace / run)
        shutil.rmtree(store.captures / run)
        writer.land(workspace, [run])
    assert query(store.path, f"run == '{run}'", columns=["jain"], table="runs")["jain"][0] == 0.123


def test_parameters_of_users_that_differ_in_case_are_two_columns(tmp_path: Path) -> None:
    """SQLite does not tell their names apart."""
    (tmp_path / "large.py").write_text(
        "class Large:\n"
        "    def __init__(self, C=4.0): self.C = C\n"
        "    def on_ack(self, ack): self.cwnd = self.C\n"
    )
    study = tmp_path / "study.toml"
    study.write_text(
        'title = "Two"\nduration = "1s"\n'
        '[network.bottleneck]\nrate = "5Mbit"\ndelay = "5ms"\n'
        'queue = { kind = "droptail", limit = "50p" }\n'
        '[[flow]]\nname = "a"\ncc = "./large.py:Large"\ncc_params = { C = 6.0 }\n'
        '[[flow]]\nname = "b"\ncc = "cubic"\ncc_params = { c = 0.5 }\n'
    )
    results = cclab.run(study, out=tmp_path / "out")
    rows = query(tmp_path / "out", columns=["name", "cc_params.C", "cc_params.c"], sort="name")
    assert rows.rows() == [("a", 6.0, None), ("b", None, 0.5)]
    assert query(tmp_path / "out", "cc_params.C > 5", columns=["name"])["name"].to_list() == ["a"]
    assert len(results.runs) == 1


def test_whole_numbers_that_grow_too_large_are_others(results: Results) -> None:
    rows = query(results.store.path, columns=["big = seed * 9000000000000000000 * 4"])
    assert rows["big"].dtype == pl.Float64


def test_how_runs_come_together_says_nothing_in_the_index(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One column is of numbers in some runs and of a text in another: in parts or at once."""
    run = store.plan().runs[0].id

    def otherwise(folder: Path) -> None:
        measured = json.loads((folder / "metrics.json").read_text())
        measured["jain"] = "none"
        (folder / "metrics.json").write_text(json.dumps(measured))

    forge(store, run, otherwise)
    _file(store).unlink()
    Index(store).refresh()
    at_once = _file(store).read_bytes()
    assert _rows(store, f"SELECT jain FROM runs WHERE run = '{run}'") == [("none",)]
    monkeypatch.setattr("cclab.store.index.index._AT_A_TIME", 1)
    _file(store).unlink()
    Index(store).refresh()
    assert _file(store).read_bytes() == at_once


def test_columns_of_mixed_kinds_are_of_a_kind_that_holds_all() -> None:
    rows: list[dict[str, Any]] = [{"a": None}, {"a": 1}, {"a": 1.5, "b": True}, {"b": None}]
    made = tables.tabulate([{"run": str(n), **row} for n, row in enumerate(rows)], "runs")
    assert (made.types["a"], made.types["b"]) == ("REAL", "BOOLEAN")
    mixed = tables.tabulate([{"a": 1}, {"a": "x"}, {"a": None}, {"a": True}], "runs")
    place = [*mixed.types].index("a")
    assert (mixed.types["a"], [row[place] for row in mixed.rows]) == (
        "TEXT",
        ["1", "x", None, "true"],
    )
    large = tables.tabulate([{"a": 2**64, "seed": 2**64 - 1}], "runs")
    assert (large.types["a"], large.types["seed"]) == ("REAL", "REAL")


def test_a_column_that_becomes_one_of_two_kinds_is_made_of_all_runs() -> None:
    common = tables.common
    first = tables.first_columns("runs")
    assert common(first | {"a": "INTEGER"}, {"a": "REAL"}, "runs") == first | {"a": "REAL"}
    assert common(first | {"a": tables.VOID}, {"b": "TEXT"}, "runs") == first | {
        "a": tables.VOID,
        "b": "TEXT",
    }
    with pytest.raises(tables.MixedError):
        common({"a": "INTEGER"}, {"a": "TEXT"}, "runs")


def test_a_scenario_is_told_in_si_units_under_the_names_of_the_study_file(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(
        'duration = "3s"\n[network.bottleneck]\nrate = "10Mbit"\ndelay = "5ms"\nloss = "1%"\n'
        'queue = { kind = "codel", limit = "100p", target = "7ms" }\n'
        'jitter = { max = "2ms", distribution = "normal" }\n'
        'outage = { start = "1s", duration = "10ms" }\n'
        '[[flow]]\nname = "a"\ncc = "bbr"\nrtt = "40ms"\nstart = "1s"\nrwnd = "64kB"\n'
        'application = { kind = "on-off", on = "1s", off = "1s", rate = "1Mbit" }\n'
        '[[flow]]\nname = "b"\ncc = "vegas"\nrtt = "30ms"\ncc_params = { alpha = 3 }\n'
        '[[traffic]]\nname = "t"\nkind = "constant-rate"\nrate = "1Mbit"\n'
    )
    cells = of_scenario(cclab.Study.load(file).plan().points[0].scenario)
    run, flows, traffic = cells.run, cells.flows, cells.traffic
    for name, value in {
        "duration": 3.0,
        "bottleneck.loss": 0.01,
        "bottleneck.queue.kind": "codel",
        "bottleneck.queue.limit": None,
        "bottleneck.queue.limit_packets": 100,
        "bottleneck.queue.target": 0.007,
        "bottleneck.jitter.max": 0.002,
        "flows": 2,
        "variants": "bbr,vegas",
    }.items():
        assert run[name] == value, name
    assert json.loads(run["bottleneck.outage"])[0]["duration"] == 10_000_000
    first, second = flows
    assert (first["start"], first["rtt"], first["rwnd"]) == (1.0, 0.04, 64000)
    assert (first["application.on"], first["application.rate"]) == (1.0, 1_000_000)
    assert second["cc_params.alpha"] == 3
    assert traffic[0]["rate"] == 1_000_000


@pytest.mark.parametrize("study", sorted((ROOT / "examples").glob("*.toml")), ids=lambda f: f.stem)
def test_every_example_has_its_cells(study: Path) -> None:
    for point in cclab.Study.load(study).plan().points:
        levels = of_scenario(point.scenario)
        flows = levels.flows
        cells = [levels.run, *flows, *levels.traffic, *levels.probes]
        assert all(
            isinstance(value, str | int | float | None) for row in cells for value in row.values()
        )
        assert len(flows) == len(point.scenario["flows"])
        assert all(flow["rtt"] is None or flow["rtt"] > 0 for flow in flows)
