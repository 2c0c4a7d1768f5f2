"""The catalog: derived from the entries, never a reason to fail, the same bytes whoever made it."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import shutil
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import cclab
from cclab import _core
from cclab.catalog import Catalog, frames
from cclab.catalog.columns import of_scenario
from cclab.queries import query
from cclab.store import Sealed, Store
from conftest import ROOT, files_of
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli


@pytest.fixture
def store(results: Results, tmp_path: Path) -> Store:
    """A copy of the shared results, whose catalog is settled."""
    shutil.copytree(results.store.path, tmp_path / "copy", symlinks=True)
    copy = Store(tmp_path / "copy")
    Catalog(copy).settle()
    return copy


def _catalog_of(store: Store) -> dict[str, bytes]:
    return files_of(store.path / "catalog")


def _sealed(store: Store) -> list[Sealed]:
    """What a writer knows of the runs of a store that it has just saved."""
    table = Catalog(store).tables().runs.collect()
    runs = {run.id: run for run in store.plan().runs}
    columns = ("run", "manifest_sha256", "bytes", "metrics")
    return [
        Sealed(runs[run], digest, size, metrics)
        for run, digest, size, metrics in table.select(columns).iter_rows()
        if run in runs
    ]


def test_a_sweep_leaves_a_settled_catalog(results: Results) -> None:
    catalog = Catalog(results.store)
    assert catalog.is_settled()
    assert catalog.differing() == []
    tables = catalog.tables()
    runs, flows = tables.runs.collect(), tables.flows.collect()
    assert set(runs["run"]) == results.store.ids()
    assert flows.height == 2 * runs.height
    assert runs["metrics_version"].unique().to_list() == [_core.METRICS_VERSION]
    for run in results.runs:
        row = runs.filter(run=run.run.id).row(0, named=True)
        assert row["bottleneck.utilization"] == run.metrics["bottleneck"]["utilization"]
        assert row["bottleneck.rate"] == 10_000_000
        assert row["bottleneck.delay"] == 0.005
        assert row["bottleneck.queue.limit_bdp"] == pytest.approx(1.0, rel=1e-4)
        assert json.loads(row["metrics"])["jain"] == row["jain"] == run.metrics["jain"]
        assert json.loads(row["scenario"]) == run.run.scenario
        of_run = flows.filter(run=run.run.id).to_dicts()
        assert [f["rtt"] for f in of_run] == [0.02, 0.06]
        assert [f["goodput_bps"] for f in of_run] == [
            f["goodput_bps"] for f in run.metrics["flows"]
        ]


@pytest.mark.parametrize("lost", ["", "/runs.parquet", "/flows.parquet", "/digests.json"])
def test_what_is_lost_is_made_again_with_the_same_bytes(store: Store, lost: str) -> None:
    before, told = _catalog_of(store), query(store.path)
    place = store.path / f"catalog{lost}"
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    assert query(store.path).equals(told)
    assert _catalog_of(store) == before


@pytest.mark.parametrize("table", ["runs", "flows", "traffic"])
@pytest.mark.parametrize("damage", ["empty", "truncated", "garbage", "overwritten"])
def test_a_torn_table_is_made_again_with_the_same_bytes(
    store: Store, table: str, damage: str
) -> None:
    before, told = _catalog_of(store), query(store.path)
    file = store.path / "catalog" / f"{table}.parquet"
    whole = file.read_bytes()
    torn = {
        "empty": b"",
        "truncated": whole[: len(whole) // 2],
        "garbage": b"PAR1" + b"\xff" * 200 + b"PAR1",
        "overwritten": whole[:8] + b"\xa5" * 200 + whole[208:],
    }[damage]
    file.write_bytes(torn)
    assert query(store.path).equals(told)
    assert _catalog_of(store) == before


def test_a_torn_part_is_left_out_and_removed(store: Store) -> None:
    before = _catalog_of(store)
    parts = store.path / "catalog/parts"
    parts.mkdir(exist_ok=True)
    (parts / "torn.parquet").write_bytes(b"PAR1 half of")
    assert not Catalog(store).is_settled()
    Catalog(store).settle()
    assert _catalog_of(store) == before


def test_rows_whose_entry_is_gone_do_not_count(store: Store) -> None:
    gone = sorted(run.id for run in store.plan().runs)[0]
    shutil.rmtree(store.entry(gone))
    assert gone not in query(store.path)["run"]
    assert gone not in Catalog(store).tables().runs.collect()["run"]
    assert Catalog(store).metrics([gone]) == {}


def test_the_row_of_an_entry_that_was_replaced_is_made_anew(cli: Cli, store: Store) -> None:
    before = _catalog_of(store)
    run = store.plan().runs[0].id
    # Another sound entry of the same run, as another build of this version would make it.
    asked = store.entry(run) / "run.json"
    asked.write_text(asked.read_text() + " ")
    listing = store.entry(run) / "manifest.json"
    listed = json.loads(listing.read_text())
    content = asked.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    listed["files"]["run.json"] = {"bytes": len(content), "sha256": digest}
    listing.write_text(json.dumps(listed))
    assert store.sound(run, contents=True)
    told = cli("store", "verify", store.path)
    assert told.returncode == 0
    remedy = f"`cclab store gc {store.path}`"
    assert f"catalog/runs.parquet: not of these entries; {remedy} makes it again" in told.stderr
    assert cli("store", "gc", store.path).returncode == 0
    assert Catalog(store).differing() == []
    assert _catalog_of(store) != before
    known = Catalog(store).tables().runs.filter(run=run).collect()
    assert known["manifest_sha256"].to_list() == [hashlib.sha256(listing.read_bytes()).hexdigest()]
    # A catalog that is of its entries stays as it is.
    after = _catalog_of(store)
    assert cli("store", "gc", store.path).returncode == 0
    assert _catalog_of(store) == after


def test_a_foreign_entry_has_no_row(store: Store) -> None:
    before = _catalog_of(store)
    first = store.entry(store.plan().runs[0].id)
    shutil.copytree(first, store.entry("f" * 20))
    (store.runs / "notes.txt").write_text("not an entry")
    Catalog(store).settle()
    assert _catalog_of(store) == before
    assert Catalog(store).is_settled()


def test_metrics_of_another_version_are_measured_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _catalog_of(store)
    monkeypatch.setattr(_core, "METRICS_VERSION", "another")
    assert Catalog(store).metrics(store.ids()) == {}
    Catalog(store).settle()
    table = pl.read_parquet(store.path / "catalog/runs.parquet")
    assert table["metrics_version"].unique().to_list() == ["another"]
    monkeypatch.undo()
    Catalog(store).settle()
    assert _catalog_of(store) == before


def test_parts_in_whatever_order_settle_to_the_same_bytes(store: Store, tmp_path: Path) -> None:
    before, sealed = _catalog_of(store), _sealed(store)
    for order in (sealed, sealed[::-1]):
        shutil.rmtree(store.path / "catalog")
        for one in order:
            Catalog(store).add([one], tmp_path)
            if one is order[1]:
                Catalog(store).settle()
        Catalog(store).add(sealed[:2], tmp_path)  # a run twice
        found = Catalog(store).metrics([one.run.id for one in sealed])
        assert found == {one.run.id: json.loads(one.metrics) for one in sealed}
        Catalog(store).settle()
        assert _catalog_of(store) == before


def _add_and_settle(folder: str, scratch: str, sealed: list[Any]) -> None:
    catalog = Catalog(Store(folder))
    with catalog.store.writer() as writer:
        for one in sealed:
            with writer.workspace() as place:
                catalog.add([one], place)
            catalog.settle()


def test_two_writers_at_once_leave_the_same_bytes(store: Store, tmp_path: Path) -> None:
    before, sealed = _catalog_of(store), _sealed(store)
    shutil.rmtree(store.path / "catalog")
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=_add_and_settle, args=(str(store.path), str(tmp_path), part))
        for part in (sealed[:3], sealed[1:])
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE_S)
        assert worker.exitcode == 0
    assert _catalog_of(store) == before


@pytest.fixture
def read_only(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store in which nothing can be written, whoever runs the test."""
    from cclab.errors import StoreError
    from cclab.store.writer import Writer

    def refuse(writer: Writer) -> None:
        raise StoreError("cannot write: Read-only file system")

    monkeypatch.setattr(Writer, "__enter__", refuse)
    return store


def test_a_store_that_can_only_be_read_is_asked_all_the_same(read_only: Store) -> None:
    told = query(read_only.path)
    shutil.rmtree(read_only.path / "catalog")
    assert query(read_only.path).equals(told)
    assert not (read_only.path / "catalog").exists()
    assert cclab.load(read_only.path).flows.height == told.height


def test_columns_of_mixed_kinds_do_not_depend_on_how_they_came_together() -> None:
    rows: list[dict[str, Any]] = [{"a": None}, {"a": 1}, {"a": 1.5, "b": True}, {"b": None}]
    whole = frames.tabulate(rows)
    assert whole.schema == {"a": pl.Float64, "b": pl.Boolean}
    mixed = frames.tabulate([{"a": 1}, {"a": "x"}, {"a": None}, {"a": True}])
    assert mixed["a"].to_list() == ["1", "x", None, "true"]
    assert frames.tabulate([{"a": 2**64}])["a"].dtype == pl.Float64


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
