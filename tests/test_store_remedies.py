"""What `cclab store verify` says of a damaged store mends it, as it says it: a shell takes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab import shell
from cclab.cli.exits import DONE, RUN_FAILED
from cclab.errors import DamagedPlanError, StoreError
from cclab.queries import query
from cclab.store import Store, gc, health
from cclab.store.index import Index
from damaged_store import mend

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli
    from damaged_store import Bench


def test_runs_that_are_gone_are_told_by_an_index_that_knows_them(bench: Bench, cli: Cli) -> None:
    """Nothing else tells them from runs that are not done yet."""
    store = bench.store
    gone = sorted(run.id for run in store.plan().runs)[:2]
    for run in gone:
        store.file(run).unlink()
    told = cli("store", "verify", store.path)
    assert told.returncode == RUN_FAILED
    assert "2 runs are missing that were there" in told.stderr
    assert f"`cclab run {store.path}` does 2 runs again" in told.stderr
    assert health.examine(store).gone == gone
    mend(bench)


def test_runs_that_no_plan_needs_may_be_gone_and_runs_may_be_still_to_come(bench: Bench) -> None:
    store = bench.store
    earlier = next(file for file in store.plan_files() if "earlier" in file.read_text())
    needed = {run.id for run in store.plan().runs}
    unneeded = store.ids() - needed
    assert unneeded
    earlier.unlink()
    for run in unneeded:
        store.file(run).unlink()
    assert health.examine(store).gone == []
    for run in needed:
        store.file(run).unlink()
    (store.path / "index.sqlite").unlink()
    assert health.examine(store).whole, "as in a sweep that has not come to them"


@pytest.mark.parametrize("damage", ["gone", "torn", "a folder", "a pipe"])
def test_a_plan_that_is_kept_is_brought_back(bench: Bench, cli: Cli, damage: str) -> None:
    store = bench.store
    file = store.path / "plan.json"
    kept, whole = store.place_of(store.plan()), file.read_bytes()
    for other in store.plans.iterdir():
        os.utime(other, ns=(0, 10**18 + (other == kept)))
    file.unlink()
    match damage:
        case "torn":
            file.write_bytes(whole[:-5])
        case "a folder":
            file.mkdir()
        case "a pipe":
            os.mkfifo(file)
    told = cli("store", "verify", store.path)
    assert told.returncode == RUN_FAILED
    state = "missing" if damage == "gone" else "damaged"
    remedy = f"`cp {kept} {file}` brings back"
    if damage in ("a folder", "a pipe"):
        remedy = f"`cclab run STUDY.toml --out {store.path}`, with the options of before, writes"
    assert f"{file} is {state}; {remedy}" in told.stderr
    with pytest.raises(DamagedPlanError, match=re.escape(remedy)):
        cclab.load(store.path)
    mend(bench)
    assert file.read_bytes() == whole


def test_runs_without_any_plan_are_said_to_be_those_of_a_study(bench: Bench) -> None:
    (bench.store.path / "plan.json").unlink()
    shutil.rmtree(bench.store.plans)
    with pytest.raises(DamagedPlanError, match=r"json is missing; `cclab run STUDY\.toml --out"):
        bench.store.plan()


def test_a_command_that_is_named_can_be_given_to_a_shell(results: Results, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b'it\'s a \\ "store" \n$(false) \xff')
    shutil.copytree(results.store.path, odd)
    store = Store(odd)
    whole = (odd / "plan.json").read_bytes()
    (odd / "plan.json").write_bytes(whole[:-5])
    [remedy, *_] = health.examine(store).remedies
    [command] = re.findall(r"`(.*)`", remedy)
    assert command.startswith("cp ")
    subprocess.run(["bash", "-c", command], check=True)
    assert (odd / "plan.json").read_bytes() == whole
    letters = ("\u202e", "\u202eab", "it's\x85 \\", "\x1b[2J", "\x1bab", "é\n")
    for path in (odd, tmp_path / "plain", tmp_path / "a b", *letters):
        said = shell.command("printf", "%s", path)
        assert said.isprintable()
        for locale in ("C", "C.UTF-8"):
            printed = subprocess.run(
                ["bash", "-c", said.strip("`")],
                env={**os.environ, "LC_ALL": locale},
                capture_output=True,
                check=True,
            )
            assert printed.stdout == os.fsencode(path)


def test_what_is_no_file_in_a_report_is_named_and_goes(bench: Bench, cli: Cli) -> None:
    places = [bench.store.report / name for name in ("a pipe", "link")]
    os.mkfifo(places[0])
    places[1].symlink_to("nowhere")
    told = cli("store", "verify", bench.store.path)
    assert told.returncode == DONE, "no number is of it"
    for place in places:
        assert f"report/{place.name}: nothing that cclab wrote there" in told.stderr
        assert f"`rm {shell.word(place)}` removes" in told.stderr
    for remedy in health.examine(bench.store).remedies:
        subprocess.run(re.findall("`(.*)`", remedy)[0], shell=True, check=True)
    assert health.examine(bench.store).strays == []


def test_what_is_read_for_the_index_is_said_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the index cannot be written, it is made once more, in memory."""
    (bench.store.path / "index.sqlite").unlink()
    runs = len(bench.store.ids())

    def full(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr("cclab.store.index.index.whole.sync", full)
    heard: list[int] = []
    Index(bench.store).connection(heard.append)
    assert heard == [runs]


def test_a_damaged_plan_of_old_is_named_with_what_mends_it(bench: Bench) -> None:
    """Whoever asks for rows, or for what nobody needs, has no answer that may be wrong."""
    store = bench.store
    earlier = next(file for file in store.plan_files()[1:] if "earlier" in file.read_text())
    earlier.write_bytes(earlier.read_bytes()[:-5])
    for read in (gc.garbage, lambda store: query(store.path)):
        (store.path / "index.sqlite").unlink(missing_ok=True)
        with pytest.raises(DamagedPlanError) as refused:
            read(store)
        assert f"run its study again with `--out {store.path}`" in str(refused.value)
        assert f"or `rm {earlier}`: its runs are then needed by no plan" in str(refused.value)
    subprocess.run(["rm", earlier], check=True)
    assert query(store.path).height


def test_what_is_of_no_run_among_the_captures_is_named_and_goes(bench: Bench, cli: Cli) -> None:
    kept = min(bench.store.captures.rglob("*.pcapng"))
    before = bench.content()
    places = [kept.with_name("mine.pcapng"), kept.with_name("a folder"), bench.store.captures / "x"]
    for place in (places[0], places[2]):
        place.write_bytes(kept.read_bytes())
    places[1].mkdir()
    (places[1] / "mine").write_text("mine")
    told = cli("store", "verify", bench.store.path)
    assert told.returncode == DONE, "every run is as it was written"
    for place in places:
        name = place.relative_to(bench.store.path)
        assert f"{name}: nothing that cclab wrote there" in told.stderr
    for remedy in health.examine(bench.store).remedies:
        subprocess.run(re.findall("`(.*)`", remedy)[0], shell=True, check=True)
    assert health.examine(bench.store).strays == []
    assert bench.content() == before


def test_a_folder_in_the_place_of_a_figure_goes_before_the_report_is_made_again(
    bench: Bench, cli: Cli
) -> None:
    figure = next(file for file in sorted(bench.store.report.iterdir()) if file.suffix == ".svg")
    figure.unlink()
    figure.mkdir()
    (figure / "inside").write_text("something\n")
    told = cli("store", "verify", bench.store.path)
    assert f"`rm -r {figure}` removes" in told.stderr
    mend(bench)
    assert figure.read_bytes() == (bench.whole / "report" / figure.name).read_bytes()
