"""`cclab store`: what is damaged is named, what nobody needs goes, what is asked for is copied."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

import cclab
from cclab import _core
from cclab.errors import InputError, StoreError
from cclab.plan.outdated import outdated
from cclab.queries import query
from cclab.store import Store, gc, health, transfer
from cclab.store.index import Index
from conftest import STUDY, files_of, flip, forge

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cclab import Results
    from conftest import Cli


@pytest.fixture
def store(results: Results, tmp_path: Path) -> Store:
    """A copy of the shared results."""
    shutil.copytree(results.store.path, tmp_path / "copy")
    return Store(tmp_path / "copy")


def _lasting(store: Store) -> dict[str, bytes]:
    passing = ("tmp/", "report/")
    return {n: b for n, b in files_of(store.path).items() if not n.startswith(passing)}


def test_a_whole_store_is_whole(store: Store) -> None:
    found = health.examine(store)
    assert found.whole
    assert found.sound == len(store.ids())
    assert found.derived == []


def test_what_is_damaged_is_named_by_what_is_wrong(cli: Cli, store: Store) -> None:
    torn, copied, other, uncaptured = sorted(store.ids())
    flip(store.file(torn))
    shutil.copy(store.file(copied), store.file("0" * 20))
    (store.runs / "notes.txt").write_text("not a run")
    forge(store, other, _of_another_seed)
    (capture,) = (store.captures / uncaptured).iterdir()
    capture.unlink()
    flip(store.path / "index.sqlite")
    for plan in store.plans.glob("*.json"):
        plan.write_text(plan.read_text() + " ")
    told = cli("store", "verify", store.path, "--json")
    assert told.returncode == 3
    found = json.loads(told.stdout)
    assert found["torn"] == sorted([torn, uncaptured])
    assert found["foreign"] == sorted(["notes.txt", "0" * 20, other])
    assert found["sound"] == 1
    assert found["derived"] == ["index.sqlite"]
    assert len(found["plans"]) == 1
    assert f"{store.file(torn)}: torn" in told.stderr
    assert f"{capture}: torn" in told.stderr
    assert "is damaged" in told.stderr


def _of_another_seed(folder: Path) -> None:
    """Sound by its digest, and yet of another seed than the run's name says."""
    asked = folder / "run.json"
    text = asked.read_text()
    asked.write_text(text.replace('"seed":7', '"seed":9').replace('"seed":8', '"seed":9'))


def test_a_file_of_another_run_is_foreign(short_runs: Results, tmp_path: Path) -> None:
    shutil.copytree(short_runs.store.path, tmp_path / "copy")
    store = Store(tmp_path / "copy")
    shutil.copy(store.file(min(store.ids())), store.file("0" * 20))
    assert health.examine(store).foreign == ["0" * 20]
    # Sealed as the run that its name says, and yet it asked for another.
    forge(store, max(store.ids()), lambda _: None, "0" * 20)
    assert store.sound("0" * 20, contents=True)
    assert health.examine(store).foreign == ["0" * 20]


def test_what_can_be_made_again_is_no_damage(cli: Cli, store: Store) -> None:
    flip(store.path / "index.sqlite")
    told = cli("store", "verify", store.path)
    assert told.returncode == 0
    assert "index.sqlite: not of these runs" in told.stderr


def test_nothing_goes_that_a_plan_needs(store: Store) -> None:
    before = _lasting(store)
    assert gc.collect(store) == gc.Garbage()
    assert _lasting(store) == before


def test_what_no_plan_needs_goes(cli: Cli, store: Store, study: Path) -> None:
    before = _lasting(store)
    strange = cclab.run(study, out=store.path.parent / "other", set=["duration=600ms"]).store
    for run in strange.ids():
        shutil.copy(strange.file(run), store.file(run))
    # Of a writer that was killed before its run had its name.
    (store.captures / ("f" * 20)).mkdir()
    (store.captures / ("f" * 20) / "bottleneck.pcapng").write_bytes(b"packets")
    Index(store).refresh()
    (store.path / "aside/one").mkdir(parents=True)
    (store.path / "aside/one/file").write_text("damaged")
    (store.runs / "stray").write_text("no run")
    shown = json.loads(cli("store", "gc", store.path, "--dry-run", "--json").stdout)
    assert shown["runs"] == sorted(strange.ids())
    assert shown["captures"] == ["f" * 20]
    assert shown["aside"] == ["one"]
    assert shown["strays"] == ["stray"]
    assert strange.ids() < store.ids()
    went = cli("store", "gc", store.path)
    assert went.returncode == 0
    runs = f"{len(strange.ids())} run{'' if len(strange.ids()) == 1 else 's'}"
    assert went.stdout.splitlines()[-1].startswith(
        f"went: {runs}, 0 plans, 1 damaged run, 1 folder of captures, 1 file that is no run's, "
    )
    assert _lasting(store) == before


def test_nothing_goes_where_the_runs_cannot_be_listed(
    cli: Cli, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _lasting(store)
    with monkeypatch.context() as patched:
        failed = OSError(errno.EIO, os.strerror(errno.EIO))
        patched.setattr(_core, "run_names", Mock(side_effect=failed))
        with pytest.raises(StoreError, match=f"cannot read {store.runs}: Input/output error"):
            gc.collect(store)
    assert _lasting(store) == before
    store.runs.rename(store.path.parent / "runs")
    store.runs.write_text("no folder")
    for words in (["gc", "--dry-run"], ["verify"], ["ls"]):
        told = cli("store", *words, store.path)
        assert told.returncode == 2, words
        assert f"cannot read {store.runs}: Not a directory" in told.stderr
    store.runs.unlink()
    (store.path.parent / "runs").rename(store.runs)
    assert gc.collect(store) == gc.Garbage()
    assert _lasting(store) == before


def test_runs_of_other_versions_go_when_asked(
    store: Store, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cclab.run(study, out=store.path, set=["duration=600ms"])
    last = store.plan()
    assert gc.garbage(store, outdated) == gc.Garbage()
    determinants = _core.determinants
    with monkeypatch.context() as patched:
        patched.setattr(_core, "determinants", lambda *_: "core 0")
        found = gc.garbage(store, outdated)
        needed = gc.needed_by(last)
        assert set(found.runs) == store.ids() - needed
        assert len(found.plans) == 1

        def cubic_raised(
            scenario: str, backend: str, kernels: Mapping[str | None, str] | None = None
        ) -> str:
            return determinants(scenario, backend, kernels).replace("cubic 2", "cubic 3")

        # Half of a plan: what it has of versions at hand stays, and so does the plan.
        patched.setattr(_core, "determinants", cubic_raised)
        part = gc.garbage(store, outdated)
        assert part.plans == []
        assert set(part.runs) < set(found.runs)
        left = Index(store).connection().execute("SELECT run, version FROM runs").fetchall()
        gone = [version for run, version in left if run in part.runs]
        assert gone
        assert all("cubic 2" in version for version in gone)


def test_a_store_in_use_is_left_alone(store: Store) -> None:
    script = (
        "import sys, time\n"
        "from cclab.store import Store\n"
        "writer = Store(sys.argv[1]).writer().__enter__()\n"
        "print('ready', flush=True)\n"
        "time.sleep(3600)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(store.path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(StoreError, match="in use by another process"):
            gc.collect(store)
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    assert gc.collect(store) == gc.Garbage()


@pytest.mark.parametrize("last", [False, True])
def test_an_unreadable_plan_keeps_everything_until_its_study_runs_again(
    cli: Cli, store: Store, tmp_path: Path, last: bool
) -> None:
    before = _lasting(store)
    kept = store.place_of(store.plan())
    torn = store.path / "plan.json" if last else kept
    torn.write_bytes(torn.read_bytes()[:-100])
    with pytest.raises(StoreError, match=f"{torn.name} is damaged; "):
        gc.garbage(store)
    told = cli("store", "verify", store.path)
    assert told.returncode == 3
    assert f"{torn.name}: a plan that is not as it was written" in told.stderr
    again = f"cp {kept} {torn}` brings" if last else f"cclab run {store.path}` writes it again"
    assert f"{torn} is damaged; `{again}" in told.stderr
    brought = transfer.bring(store.path, Store(tmp_path / "target"))
    assert (brought.plans, brought.whole) == ([torn.name], False)
    assert Store(tmp_path / "target").read_plans()[1] == {}
    study = tmp_path / "two.toml"
    study.write_text(STUDY + '\n[trace]\nevents = ["ack", "drop"]\ncapture = ["bottleneck"]\n')
    cclab.run(study, out=store.path)
    assert _lasting(store) == before


def test_a_plan_that_was_changed_is_no_plan_of_the_store(store: Store) -> None:
    plan = store.path / "plan.json"
    plan.write_text(plan.read_text().replace("Who gets more?", "Who gets less?"))
    assert health.examine(store).plans == ["plan.json"]


@pytest.mark.parametrize("name", ["part", "part.tar", "part.tar.gz", "part.tar.zst"])
def test_chosen_runs_become_a_store_of_their_own(
    cli: Cli, store: Store, tmp_path: Path, name: str
) -> None:
    target = tmp_path / name
    chosen = "name == 'short' and cc == 'reno'"
    told = cli("store", "export", store.path, target, chosen)
    assert told.returncode == 0, told.stderr
    wanted = query(store.path, chosen)
    twice = tmp_path / f"again-{name}"
    assert cli("store", "export", store.path, twice, chosen).returncode == 0
    if transfer.is_archive(target):
        got = Store(tmp_path / "got")
        assert cli("store", "import", target, got.path).returncode == 0
    else:
        assert _lasting(Store(target)) == _lasting(Store(twice))
        got = Store(target)
    assert query(got.path, chosen).equals(wanted)
    assert {run.id for run in got.plan().runs} == set(wanted["run"])
    assert health.examine(got).whole
    assert len(cclab.load(got.path).points) == 1
    refused = cli("store", "export", store.path, target, chosen)
    assert refused.returncode == 2
    assert "is there already" in refused.stderr


def test_stores_are_merged(store: Store, study: Path, tmp_path: Path) -> None:
    one = cclab.run(study, out=tmp_path / "one", set=["duration=600ms"]).store
    two = cclab.run(study, out=tmp_path / "two", set=["duration=650ms"]).store
    cclab.run(study, out=tmp_path / "both", set=["duration=650ms"])
    cclab.run(study, out=tmp_path / "both", set=["duration=600ms"])
    assert transfer.bring(two.path, one).new == len(two.ids() - one.ids() | two.ids())
    Index(one).refresh()
    assert _lasting(one) == _lasting(Store(tmp_path / "both"))
    assert transfer.bring(two.path, one).new == 0


def test_what_is_damaged_is_brought_again(study: Path, tmp_path: Path) -> None:
    source = cclab.run(study, out=tmp_path / "source", set=["duration=600ms"]).store
    target = cclab.run(study, out=tmp_path / "target", set=["duration=600ms"]).store
    flip(target.file(min(target.ids())))
    done = transfer.bring(source.path, target)
    assert (done.new, done.whole) == (1, True)
    assert health.examine(target).whole
    assert len(list(target.aside.iterdir())) == 1


def test_plans_of_one_title_are_told_apart(cli: Cli, study: Path, tmp_path: Path) -> None:
    store = cclab.run(study, out=tmp_path / "two", set=["duration=600ms"]).store
    cclab.run(study, out=tmp_path / "two", set=["duration=650ms"])
    plans = json.loads(cli("store", "ls", store.path, "--json").stdout)["plans"]
    assert len({plan["title"] for plan in plans}) == 1
    for plan in plans:
        held = json.loads((store.path / plan["file"]).read_text())
        assert len(held["points"]) == plan["points"]
        assert sum(len(point["runs"]) for point in held["points"]) == plan["runs"]
        assert plan["file"] in cli("store", "ls", store.path).stdout
    assert len({plan["file"] for plan in plans}) == 2


def test_what_cannot_be_brought_is_named(store: Store, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tar.zst"
    bad.write_bytes(b"no archive")
    with pytest.raises(InputError, match="no archive"):
        transfer.bring(bad, store)
    with pytest.raises(InputError, match="no such file"):
        transfer.bring(tmp_path / "none.tar", store)
    with pytest.raises(InputError, match="no such folder or archive"):
        transfer.bring(tmp_path / "nowhere", store)


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".tar.zst"])
def test_an_archive_is_brought_whole_or_not_at_all(
    store: Store, tmp_path: Path, ending: str
) -> None:
    archive = tmp_path / f"all{ending}"
    assert transfer.export(store, store.ids(), archive).whole
    content = archive.read_bytes()
    target = Store(tmp_path / "target")
    header = content.index(b"/runs/") if ending == ".tar" else len(content) // 3
    flipped = content[:header] + bytes([content[header] ^ 0x20]) + content[header + 1 :]
    for damaged in (flipped, content[: len(content) * 2 // 3], content[: -10240 - 512]):
        archive.write_bytes(damaged)
        with pytest.raises(InputError, match="is damaged, or no archive"):
            transfer.bring(archive, target)
    assert not target.path.exists()
    archive.write_bytes(content)
    assert transfer.bring(archive, target) == transfer.Moved(len(store.ids()), [], [])
    assert target.ids() == store.ids()


def test_what_is_not_brought_is_told(cli: Cli, study: Path, tmp_path: Path) -> None:
    source = cclab.run(study, out=tmp_path / "source", set=["duration=600ms"]).store
    torn, gone, forged, *_ = (run.id for run in source.plan().runs)
    source.file(gone).unlink()
    # Sound by its digest, but of another run.
    strange = forged[:-1] + ("0" if forged[-1] != "0" else "1")
    source.file(forged).rename(source.file(strange))
    flip(source.file(torn))
    told = cli("store", "import", source.path, tmp_path / "target")
    assert told.returncode == 3
    assert "1 new run in" in told.stderr
    for left in (torn, strange):
        assert f"{left}: left out" in told.stderr
    for missing in (gone, forged):
        assert f"{missing}: missing" in told.stderr
    assert health.examine(Store(tmp_path / "target")).whole
    cclab.run(study, out=tmp_path / "target", set=["duration=600ms"])
    assert transfer.bring(source.path, Store(tmp_path / "target")).missing == []


def test_a_run_that_has_the_file_of_another_is_brought(store: Store, tmp_path: Path) -> None:
    shutil.copytree(store.path, tmp_path / "target")
    target = Store(tmp_path / "target")
    own, other, *_ = sorted(store.ids())
    shutil.copyfile(target.file(other), target.file(own))
    assert transfer.bring(store.path, target) == transfer.Moved(1, [], [])
    assert target.file(own).read_bytes() == store.file(own).read_bytes()
    (aside,) = target.aside.iterdir()
    assert (aside / target.file(own).name).read_bytes() == store.file(other).read_bytes()


def test_a_folder_is_exported_whole_or_not_at_all(
    cli: Cli, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note").write_text("mine")
    refused = cli("store", "export", store.path, tmp_path / "note")
    assert refused.returncode == 2
    assert f"{tmp_path / 'note'} is there already" in refused.stderr
    there = set(tmp_path.iterdir())
    with monkeypatch.context() as patched:
        patched.setattr(transfer, "_AT_A_TIME", 1)
        patched.setattr(transfer, "_sound", Mock(side_effect=[[], KeyboardInterrupt]))
        with pytest.raises(KeyboardInterrupt):
            transfer.export(store, store.ids(), tmp_path / "target")
    assert set(tmp_path.iterdir()) == there
    assert transfer.export(store, store.ids(), tmp_path / "target").whole
    assert _lasting(Store(tmp_path / "target")) == {
        name: content for name, content in _lasting(store).items() if "index" not in name
    }
