"""A store that another process changes at the worst moment: nothing is missed without a word."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab import Study, api
from cclab.cli.main import invoke
from cclab.errors import RunsFailedError
from cclab.store import Store, gc
from conftest import STUDY

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
    real = getattr(owner, name)
    happened: list[bool] = []

    def call(*arguments: object, **named: object) -> object:
        answer = real(*arguments, **named)
        if not happened:
            happened.append(True)
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
