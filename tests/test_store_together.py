"""A store that another process changes at the worst moment: nothing is missed without a word."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import threading
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from cclab.catalog import Catalog

import cclab
from cclab import Study, _core, api, report, trace
from cclab.cli.main import invoke
from cclab.errors import RunsFailedError, StoreError
from cclab.queries import query
from cclab.results import metrics_of
from cclab.store import Store, compact, disk, gc, health, moving, packs, transfer
from conftest import STUDY, files_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cclab import Results


@pytest.fixture(scope="session")
def short_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a study of four short runs without captures."""
    file = tmp_path_factory.mktemp("together") / "short.toml"
    file.write_text(STUDY.replace('"2s"', '"800ms"'))
    return file


@pytest.fixture(scope="session")
def short_runs(short_study: Path) -> Results:
    """Their results; the tests that share them only read."""
    return cclab.run(short_study, out=short_study.parent / "store")


@pytest.fixture
def store(short_runs: Results, tmp_path: Path) -> Store:
    """A copy of their store."""
    shutil.copytree(short_runs.store.path, tmp_path / "copy")
    return Store(tmp_path / "copy")


def _once_after(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, other: Callable[[], object]
) -> None:
    """Has `other` happen right after the first call of `owner.name` has got its answer."""
    _once(monkeypatch, owner, name, other, first=False)


def _once_before(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, other: Callable[[], object]
) -> None:
    """Has `other` happen right before the first call of `owner.name`."""
    _once(monkeypatch, owner, name, other, first=True)


def _once(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    other: Callable[[], object],
    *,
    first: bool,
) -> None:
    real = getattr(owner, name)
    happened = threading.Lock()  # taken when it has; the calls may be those of several threads

    def call(*arguments: object, **named: object) -> object:
        turn = happened.acquire(blocking=False)
        if turn and first:
            other()
        answer = real(*arguments, **named)
        if turn and not first:
            other()
        return answer

    monkeypatch.setattr(owner, name, call)


def _elsewhere(store: Store, verb: str) -> Callable[[], object]:
    """What another process does: it compacts `store`, or unpacks it."""
    return lambda: getattr(compact, verb)(Store(store.path))


def test_what_gc_removes_between_the_look_and_the_plan_is_run_again(
    store: Store,
    short_runs: Results,
    short_study: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The plan of the runs is gone, so that until it is saved again none needs them.
    kept = store.place_of(store.plan())
    cclab.run(short_study, out=store.path, seed=500, repeat=1)
    kept.unlink()
    _once_after(monkeypatch, Store, "survey", lambda: gc.collect(Store(store.path)))
    assert invoke(["run", str(short_study), "--out", str(store.path)]) == 0
    assert store.ids() >= short_runs.store.ids()
    assert cclab.load(store.path).document() == short_runs.document()


def test_a_run_that_goes_before_it_is_measured_is_done_again(
    store: Store, short_runs: Results
) -> None:
    # The plan is the one last run here: nothing is to be written, if the look still holds.
    shutil.rmtree(store.entry(short_runs.runs[0].run.id))
    again = api.carry_out(store.plan(), store, missing=[])
    assert again.document() == short_runs.document()


def test_a_run_that_goes_while_others_are_done_is_said_to_have_failed(
    store: Store, short_study: Path
) -> None:
    gone, absent, *_ = store.plan().runs
    shutil.rmtree(store.entry(absent.id))
    plan = Study.load(short_study).plan()
    with pytest.raises(RunsFailedError, match="its entry was removed") as raised:
        api.carry_out(
            plan,
            store,
            listener=lambda state: shutil.rmtree(store.entry(gone.id), ignore_errors=True),
        )
    assert [run for run, _ in raised.value.failed] == [gone]
    assert len(raised.value.results.runs) == len(plan.runs) - 1


def test_what_is_unpacked_between_two_looks_is_seen(
    store: Store, short_runs: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact.compact(store)
    with monkeypatch.context() as patch:
        _once_after(patch, Store, "loose", _elsewhere(store, "unpack"))
        assert store.ids() == short_runs.store.ids()
    compact.compact(store)
    with monkeypatch.context() as patch:
        _once_after(patch, _core, "check_entries", _elsewhere(store, "unpack"))
        assert store.survey(store.plan()).missing == []
    compact.compact(store)
    with monkeypatch.context() as patch:
        _once_after(patch, _core, "check_entries", _elsewhere(store, "unpack"))
        assert cclab.load(store.path).document() == short_runs.document()


def test_what_is_compacted_while_it_is_looked_at_is_not_damaged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, looks = _core.check_entries, []

    def check(folder: Path, runs: list[str], contents: bool) -> list[str]:
        looks.append(len(runs))
        if len(looks) > 1:
            return [*real(folder, runs, contents)]
        # The manifests were read, and then the folders went.
        compact.compact(Store(store.path))
        return ["damaged"] * len(runs)

    monkeypatch.setattr(_core, "check_entries", check)
    assert store.survey(store.plan()).missing == []
    assert len(looks) > 1


def test_a_damaged_run_stays_damaged_however_often_it_is_looked_at(store: Store) -> None:
    damaged, *_ = store.plan().runs
    (store.entry(damaged.id) / "flows.parquet").write_bytes(b"torn")
    assert store.survey(store.plan()).damaged == [damaged]
    shutil.rmtree(store.entry(damaged.id))
    assert store.survey(store.plan()).absent == [damaged]


def test_a_trace_that_is_compacted_while_it_is_read_is_read_again(
    store: Store, short_runs: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = cclab.load(store.path)
    _once_after(monkeypatch, trace, "_in_seconds", _elsewhere(store, "compact"))
    assert loaded.samples(0).equals(short_runs.samples(0))
    assert store.loose() == set()


@pytest.mark.parametrize("reads", ["has", "table", "columns"])
def test_a_report_shows_what_is_compacted_while_it_is_made(
    store: Store, short_runs: Results, tmp_path: Path, reads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report.write(short_runs, tmp_path / "undisturbed")
    loaded = cclab.load(store.path)
    _once_before(monkeypatch, trace, reads, _elsewhere(store, "compact"))
    report.write(loaded, tmp_path / "beside")
    assert store.loose() == set()
    assert files_of(tmp_path / "beside") == files_of(tmp_path / "undisturbed")


@pytest.mark.parametrize("verb", ["compact", "unpack"])
def test_a_run_that_moves_before_it_is_measured_is_measured(
    store: Store, short_runs: Results, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if verb == "unpack":
        compact.compact(store)
    shutil.rmtree(store.path / "catalog")
    with monkeypatch.context() as patch:
        _once_before(patch, _core, "measure", _elsewhere(store, verb))
        found = metrics_of(store, store.plan().runs)
    assert found.keys() == short_runs.store.ids()
    getattr(compact, "compact" if verb == "unpack" else "unpack")(store)
    with monkeypatch.context() as patch:
        _once_before(patch, _core, "measure", _elsewhere(store, verb))
        assert query(store.path).equals(query(short_runs.store.path))


def test_a_pack_that_goes_before_it_is_read_costs_the_catalog_no_row(
    store: Store, short_runs: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact.compact(store)
    shutil.rmtree(store.path / "catalog")
    _once_after(monkeypatch, Catalog, "_packed", _elsewhere(store, "unpack"))
    assert query(store.path).equals(query(short_runs.store.path))


@pytest.mark.parametrize("verb", ["compact", "unpack"])
def test_what_moves_while_it_is_copied_is_copied(
    store: Store, tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if verb == "unpack":
        compact.compact(store)
    owner, name = (shutil, "copytree") if verb == "compact" else (packs.Packs, "each")
    _once_before(monkeypatch, owner, name, _elsewhere(store, verb))
    done = transfer.bring(store.path, Store(tmp_path / "target"))
    assert done == transfer.Moved(len(store.ids()), [], [])
    assert health.examine(Store(tmp_path / "target")).sound == len(store.ids())


def test_nobody_compacts_a_store_while_it_is_verified(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def try_it() -> None:
        with (
            pytest.raises(BlockingIOError),
            disk.locked(store.path / "tmp/compact-lock", wait=False),
        ):
            pass
        tried.append(True)

    tried: list[bool] = []
    _once_after(monkeypatch, _core, "check_entries", try_it)
    assert health.examine(store).whole
    assert tried
    assert not (store.path / "tmp/compact-lock").exists()


@pytest.mark.parametrize(
    ("verb", "owner", "name"),
    [
        ("compact", _core, "check_entries"),
        ("unpack", _core, "check_entries"),
        ("compact", packs.Packs, "every"),
        ("unpack", packs.Packs, "unreadable"),
        ("unpack", Catalog, "differing"),
    ],
)
def test_a_store_that_is_compacted_all_the_same_is_verified_again(
    store: Store, verb: str, owner: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who may not write there cannot keep others from it.
    if verb == "unpack":
        compact.compact(store)
    monkeypatch.setattr(moving, "held_still", lambda folder: contextlib.nullcontext())
    _once_after(monkeypatch, owner, name, _elsewhere(store, verb))
    assert health.examine(store) == health.Health(sound=len(store.ids()))


def test_a_store_that_never_stands_still_is_not_called_sound(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamps = (((f"{n}.parquet", n, n, n),) for n in itertools.count())
    monkeypatch.setattr(moving, "stamp", Mock(side_effect=stamps))
    with pytest.raises(StoreError, match="move while they are read; try again later"):
        health.examine(store)
