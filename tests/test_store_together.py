"""A store that another process changes at the worst moment: nothing is missed without a word."""

from __future__ import annotations

import functools
import shutil
import threading
from typing import TYPE_CHECKING

import polars as pl
import pytest

import cclab
from cclab import Study, _core, sweep, whole
from cclab.cli.main import invoke
from cclab.measure.results import metrics_of
from cclab.queries import query
from cclab.store import Store, gc, health
from cclab.store.index import Index
from cclab.sweep import RunsFailedError
from conftest import STUDY, flip

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
    store.file(short_runs.runs[0].run.id).unlink()
    again = sweep.carry_out(store.plan(), store, missing=[])
    assert again.document() == short_runs.document()


def test_a_run_that_goes_while_others_are_done_is_said_to_have_failed(
    store: Store, short_study: Path
) -> None:
    gone, absent, *_ = store.plan().runs
    store.file(absent.id).unlink()
    plan = Study.load(short_study).plan()
    with pytest.raises(RunsFailedError, match="it was removed") as raised:
        sweep.carry_out(
            plan,
            store,
            listener=lambda state: store.file(gone.id).unlink(missing_ok=True),
        )
    assert [run for run, _ in raised.value.failed] == [gone]
    assert len(raised.value.results.runs) == len(plan.runs) - 1


def test_a_damaged_run_stays_damaged_however_often_it_is_looked_at(store: Store) -> None:
    damaged, *_ = store.plan().runs
    flip(store.file(damaged.id))
    for _ in range(2):
        assert store.survey(store.plan()).damaged == [damaged]
    store.file(damaged.id).unlink()
    assert store.survey(store.plan()).absent == [damaged]


def test_a_run_that_goes_while_it_is_read_is_not_damaged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = store.plan().runs[0]
    go = store.file(gone.id).unlink
    with monkeypatch.context() as patch:
        _once_before(patch, _core, "read_runs", go)
        found = metrics_of(store, store.plan().runs)
    assert found.keys() == store.ids()
    assert gone.id not in found
    left = store.plan().runs[1]
    _once_before(monkeypatch, _core, "check_runs", store.file(left.id).unlink)
    assert health.examine(store).torn == []


def test_a_question_while_runs_come_and_go_is_of_what_is_there_afterwards(
    store: Store, short_runs: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, run = query(store.path), store.plan().runs[0].id
    (store.path / "index.sqlite").unlink()
    with monkeypatch.context() as patch:
        _once_after(patch, _core, "read_runs", store.file(run).unlink)
        query(store.path)
    assert query(store.path).equals(told.filter(pl.col("run") != run))
    back = functools.partial(shutil.copy, short_runs.store.file(run), store.file(run))
    (store.path / "index.sqlite").unlink()
    with monkeypatch.context() as patch:
        _once_after(patch, _core, "read_runs", back)
        query(store.path)
    assert query(store.path).equals(told)


def test_a_reader_keeps_the_index_that_it_opened(store: Store, short_study: Path) -> None:
    opened = Index(store).connection()
    before = query(store.path, table="runs").height
    cclab.run(short_study, out=store.path, seed=500)
    assert opened.execute("SELECT count(*) FROM runs").fetchall() == [(before,)]
    assert query(store.path, table="runs").height > before


def test_nothing_is_left_of_what_a_writer_had_that_was_killed_while_it_made_the_index(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = query(store.path)
    (store.path / "index.sqlite").unlink()
    with monkeypatch.context() as patch:
        _once_before(patch, whole, "sync", _killed)
        with pytest.raises(KeyboardInterrupt):
            Index(store).refresh()
    assert not (store.path / "index.sqlite").exists()
    assert query(store.path).equals(told)
    assert [path.name for path in (store.path / "tmp").iterdir()] == ["lock"]


def _killed() -> None:
    raise KeyboardInterrupt
