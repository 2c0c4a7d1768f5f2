"""Repeats until the results are sure: how many runs a point gets, and that nothing else decides."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest

import cclab
from cclab import execute as execution
from cclab.cli.main import invoke
from cclab.errors import StudyError
from cclab.measure.repeats import Growth, relative_width, warning
from cclab.measure.stats import estimate
from cclab.metrics import OF_SEVERAL, TRAFFIC_METRICS
from cclab.plan import Plan
from cclab.plan.measures import value_of
from cclab.plan.study import Study
from cclab.queries import query
from cclab.store import Store, gc, holdings, transfer
from cclab.sweep import RunsFailedError
from conftest import ROOT, STUDY, files_of
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from cclab.execute import State
    from cclab.plan import Run

RULE = "until ci95 < 4%, at least 3, at most 9"


def _metrics(value: float) -> dict[str, Any]:
    return {"flows": [{"name": n, "goodput_bps": value} for n in ("short", "long")]}


def _grown(plan: Plan, values: list[float], done: int) -> Plan:
    """What `plan` comes to if the first `done` runs of each point measured `values`."""

    def measured(runs: list[Run]) -> dict[str, dict[str, Any]]:
        first = plan.seed
        return {r.id: _metrics(values[r.seed - first]) for r in runs if r.seed - first < done}

    return Growth(plan.first, measured).grow()


def _width(values: list[float]) -> float:
    width = relative_width(estimate(values))
    assert width is not None
    return width


def test_a_point_has_the_fewest_runs_that_are_sure_enough(study: Path) -> None:
    plan = Study.load(study).plan(repeat="until ci95 < 2%, at least 4, at most 12")
    assert [len(point.runs) for point in plan.points] == [4, 4]
    chance = np.random.default_rng(5)
    counts = set()
    for spread in (0.001, 0.03, 0.04, 0.5):
        values = chance.normal(100, 100 * spread, 12).tolist()
        widths = [_width(values[:n]) for n in range(4, 13)]
        needed = next((n for n, w in enumerate(widths, start=4) if w < 0.02), 12)
        counts.add(needed)
        for point in _grown(plan, values, 12).points:
            assert [run.seed for run in point.runs] == [7 + k for k in range(needed)]
            assert len(point.runs) + len(point.spare) == 12
    assert len(counts) >= 3


def test_a_point_waits_for_the_run_that_it_needs_next(study: Path) -> None:
    plan = Study.load(study).plan(repeat="until ci95 < 2%, at least 4, at most 12")
    values = np.random.default_rng(2).normal(100, 20, 12).tolist()
    assert len(_grown(plan, values, 3).points[0].runs) == 4
    assert len(_grown(plan, values, 4).points[0].runs) == 5
    assert len(_grown(plan, values, 9).points[0].runs) == 10
    assert len(_grown(plan, values, 12).points[0].runs) == 12


def test_what_does_not_vary_is_sure_and_what_was_not_measured_is_not() -> None:
    assert relative_width(estimate([5.0, 5.0])) == 0
    assert relative_width(estimate([0.0, 0.0])) == 0
    assert relative_width(estimate([-1.0, 1.0])) is None
    assert relative_width(estimate([])) is None
    assert relative_width(estimate([3.0])) is None


def test_the_longest_plan_has_the_runs_that_the_study_may_come_to(study: Path) -> None:
    plan = Study.load(study).plan(repeat=RULE)
    kept = Plan.from_json(plan.to_json())
    assert {run.id for run in kept.longest.runs} == {run.id for run in plan.possible}
    assert [len(point.runs) for point in kept.longest.points] == [9, 9]
    assert kept.longest.first.to_json() == plan.to_json()


def test_a_plan_that_grew_comes_back_from_its_file(study: Path) -> None:
    plan = Study.load(study).plan(repeat=RULE)
    assert plan.until is not None
    assert [m.expression for m in plan.until.measures] == [
        "flow.short.goodput_bps",
        "flow.long.goodput_bps",
    ]
    grown = plan.with_more_runs({1})
    assert [len(point.runs) for point in grown.points] == [3, 4]
    again = Plan.from_json(grown.to_json())
    assert again.to_json() == grown.to_json()
    assert [len(point.runs) for point in again.points] == [3, 4]
    assert again.first.to_json() == plan.to_json()
    assert again.description()["repeat"] == RULE


def test_rules_are_refused_with_their_place(study: Path) -> None:
    study.write_text(STUDY.replace("repeat   = 2", 'repeat   = "until ci95(jian) < 2%"'))
    with pytest.raises(StudyError, match=r"study file\.toml:\d+:\d+: .*`jian`.*`jain`"):
        Study.load(study).plan()
    study.write_text(STUDY)
    with pytest.raises(StudyError, match=r"--repeat:1:1: .*has no width such as `2%`"):
        Study.load(study).plan(repeat="until ci95 < two")


def test_the_schema_of_studies_has_rules(study: Path) -> None:
    repeat = json.loads(cclab._core.schema())["properties"]["repeat"]
    for good in (1, 20, RULE, "until ci95(flow.a.goodput_bps, jain) < 0.5%"):
        jsonschema.validate(good, repeat)
    for bad in (0, "5", "until ci95 < 2", "until ci95 < 2%, about 7"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, repeat)


# Runs.


def test_whatever_can_be_expected_can_be_sure(results: Results) -> None:
    """Rules and checks know the same metrics, and find each of them in every run.

    But those that compare several runs: no run has them by itself.
    """
    text = (ROOT / "docs" / "metrics.md").read_text().split("## Names in checks")[1]
    # The short names, which stand in a second table, are not in a run's document.
    first = text.split("| written | short names |")[0]
    rows = dict(
        line.strip("| ").split(" | ") for line in first.splitlines() if line.startswith("| `")
    )
    of_run, of_bottleneck, of_flow, of_traffic = (
        re.findall("`([a-z0-9_]+)`", r)
        for r in (
            rows["`NAME`"],
            rows["`bottleneck.NAME`"],
            rows["`flow.FLOW.NAME`"],
            rows["`traffic.SOURCE.NAME`"],
        )
    )
    names = [
        *of_run,
        *(f"bottleneck.{name}" for name in of_bottleneck),
        *(f"flow.short.{name}" for name in of_flow if name not in OF_SEVERAL),
    ]
    rule = f"until ci95({', '.join(names)}) < 2%"
    plan = Study.load(results.store.path.parent / "two.toml").plan(repeat=rule)
    assert plan.until is not None
    assert [m.expression for m in plan.until.measures] == names
    run, point = results.runs[0], results.summaries[0]
    for measure in plan.until.measures:
        value_of(run.metrics, measure.metrics[0])
    assert set(of_run) == point.whole.keys()
    assert set(of_bottleneck) == point.bottleneck.keys()
    assert set(of_flow) == point.flows[0].estimates.keys() | {"share"}
    assert set(of_traffic) == set(TRAFFIC_METRICS)


def test_what_was_measured_in_too_few_runs_is_not_sure(study: Path) -> None:
    rule = "until ci95(flow.short.slowdown) < 2%, at least 3, at most 9"
    plan = Study.load(study).plan(repeat=rule)
    assert plan.until is not None

    def runs(*values: float | None) -> list[dict[str, Any]]:
        return [{"flows": [{"name": "short", "slowdown": value}]} for value in values]

    assert warning(plan.until, runs(5, 5, None, 5)) is None
    raised = warning(plan.until, runs(5, 5, None, None))
    assert raised is not None
    assert raised["message"].endswith("of the mean of flow.short.slowdown (measured in 2)")
    assert raised["remedy"] == "run the study again: it goes on"
    raised = warning(plan.until, runs(*range(1, 10)))
    assert raised is not None
    assert "flow.short.slowdown (33.3%)" in raised["message"]
    assert "more than 9 runs" in raised["remedy"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a study with a rule: the study beside it."""
    folder = tmp_path_factory.mktemp("repeats")
    (folder / "study.toml").write_text(STUDY)
    cclab.run(folder / "study.toml", out=folder / "out", repeat=RULE, jobs=2)
    return folder


def test_every_point_stops_by_its_own_runs(folder: Path) -> None:
    results = cclab.load(folder / "out")
    assert results.plan.until is not None
    for point, summary in zip(results.points, results.summaries, strict=True):
        runs = len(point.runs)
        assert summary.n == runs
        for n in range(3, runs + 1):
            widths = [
                _width([run.metrics["flows"][flow]["goodput_bps"] for run in point.runs[:n]])
                for flow in (0, 1)
            ]
            assert (max(widths) < 0.04) == (n == runs) or n == 9
    # The rule makes a difference here.
    assert any(len(point.runs) > 3 for point in results.points)
    raised = [w for w in results.warnings if w.code == "ci-not-reached"]
    given_up = [p for p in results.summaries if p.n == 9 and _widest(p) >= 0.04]
    assert bool(raised) == bool(given_up)
    schema = json.loads((ROOT / "docs" / "results.schema.json").read_text())
    jsonschema.validate(json.loads(json.dumps(results.document())), schema)


def _widest(summary: Any) -> float:
    widths = [relative_width(flow.estimates["goodput_bps"]) for flow in summary.flows]
    return max(width for width in widths if width is not None)


def test_the_runs_do_not_depend_on_jobs_or_on_what_was_there(folder: Path, tmp_path: Path) -> None:
    expected = _contents(folder / "out")
    study = folder / "study.toml"
    one = cclab.run(study, out=tmp_path / "one", repeat=RULE, jobs=1)
    assert _contents(tmp_path / "one") == expected
    # More runs than are needed are there, and others are gone.
    cclab.run(study, out=tmp_path / "more", repeat=9, jobs=2)
    for file in sorted((tmp_path / "more" / "runs").iterdir())[::3]:
        file.unlink()
    more = cclab.run(study, out=tmp_path / "more", repeat=RULE, jobs=2)
    assert [p.n for p in more.summaries] == [p.n for p in one.summaries]
    assert (tmp_path / "more" / "plan.json").read_bytes() == expected["plan.json"]
    # Again, nothing is run, nothing written.
    before = files_of(folder / "out")
    heard: list[State] = []

    def hear(state: State) -> None:
        heard.append(state)

    cclab.run(study, out=folder / "out", repeat=RULE, listener=hear)
    assert not heard
    assert files_of(folder / "out") == before


def _entries(store: Path) -> int:
    """How many runs there are."""
    return len(list((store / "runs").iterdir())) if (store / "runs").is_dir() else 0


def _contents(store: Path) -> dict[str, bytes]:
    """What a store holds for good: all but what was set aside and what is under way."""
    passing = ("aside/", "tmp/")
    return {name: text for name, text in files_of(store).items() if not name.startswith(passing)}


def test_a_sweep_that_was_killed_goes_on_to_the_same_store(folder: Path, tmp_path: Path) -> None:
    """SIGKILL in the first round, and twice in later ones."""
    rule = "until ci95 < 0.01%, at least 3, at most 15"
    script = (
        "import sys, cclab; study, rule, out = sys.argv[1:]; "
        "cclab.run(study, repeat=rule, out=out, set=['duration=4s'], jobs=2)"
    )
    words = [sys.executable, "-c", script, str(folder / "study.toml"), rule]
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    subprocess.run([*words, str(undisturbed)], capture_output=True, timeout=PATIENCE_S, check=True)
    assert _entries(undisturbed) == 30
    for least in (1, 8, 14):
        child = subprocess.Popen(
            [*words, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while _entries(killed) < least:
                assert child.poll() is None, "the sweep ended before it could be killed"
                time.sleep(0.001)
        finally:
            child.kill()
            child.wait()
        assert _entries(killed) < 30
    subprocess.run([*words, str(killed)], capture_output=True, timeout=PATIENCE_S, check=True)
    assert _contents(killed) == _contents(undisturbed)


@pytest.mark.parametrize("passing", [False, True])
def test_what_a_killed_sweep_has_done_stays_and_is_found(
    folder: Path, tmp_path: Path, passing: bool
) -> None:
    """Its runs beyond the fewest are in no plan that is kept."""
    shutil.copytree(folder / "out", tmp_path / "out")
    store = Store(tmp_path / "out")
    plan, ids = store.plan(), store.ids()
    own = len(plan.runs)
    beside = len(ids) - own
    assert [file for file in store.plans.iterdir() if file != store.place_of(plan)]
    # The plan that says how many runs it came to is not there yet.
    store.place_of(plan).unlink()
    with store.writer() as writer:
        # Killed in the first round; or failed after some.
        grown = plan if passing else plan.first
        writer.save_plan(grown, passing=passing)
    assert plan.runs[-1].id not in {run.id for run in plan.first.runs}
    assert gc.garbage(store).runs == []
    assert holdings.holdings(store).unplanned == beside
    assert query(store.path, table="runs").height == own
    copied = Store(tmp_path / "copied")
    assert transfer.bring(store.path, copied).whole
    assert gc.garbage(copied).runs == []
    assert not copied.place_of(plan).exists()
    assert transfer.export(store, ids, tmp_path / "exported").whole
    assert Store(tmp_path / "exported").ids() == ids
    assert gc.garbage(Store(tmp_path / "exported")).runs == []
    # What the rule cannot come to, nobody needs.
    spare = store.file("0" * 20)
    shutil.copy(store.file(plan.runs[0].id), spare)
    assert gc.garbage(store).runs == [spare.stem]
    # And what it did not come to, when it is known what it came to.
    spare.unlink()
    *points, point = plan.points
    with store.writer() as writer:
        writer.save_plan(replace(plan, points=[*points, replace(point, runs=point.runs[:-1])]))
    assert gc.garbage(store).runs == [point.runs[-1].id]


def test_a_point_with_a_failed_run_waits_and_the_others_do_not(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = cclab.load(folder / "out").plan
    doomed = plan.points[0].runs[0]
    execute = execution.execute

    def failing(runs: list[Run], *others: Any) -> list[tuple[Run, str]]:
        failed = execute([run for run in runs if run.id != doomed.id], *others)
        return [*failed, *((run, "broken") for run in runs if run.id == doomed.id)]

    with monkeypatch.context() as patched:
        patched.setattr("cclab.sweep.execute", failing)
        with pytest.raises(RunsFailedError) as caught:
            cclab.run(folder / "study.toml", out=tmp_path / "out", repeat=RULE)
    assert [run.id for run, _ in caught.value.failed] == [doomed.id]
    counts = [len(point.runs) for point in caught.value.results.plan.points]
    assert counts == [3, len(plan.points[1].runs)]
    cclab.run(folder / "study.toml", out=tmp_path / "out", repeat=RULE)
    assert _contents(tmp_path / "out") == _contents(folder / "out")


def test_runs_are_counted_over_all_rounds(folder: Path, tmp_path: Path) -> None:
    heard: list[State] = []

    def hear(state: State) -> None:
        heard.append(state)

    results = cclab.run(folder / "study.toml", out=tmp_path / "out", repeat=RULE, listener=hear)
    assert heard[-1].done == heard[-1].total == len(results.runs)
    assert all(a.done <= b.done for a, b in itertools.pairwise(heard))


def test_the_command_takes_a_rule(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "until ci95(bottleneck.queue_delay_mean_s) < 0.001%, at least 2, at most 3"
    assert invoke(["plan", str(study), "--repeat", rule]) == 0
    shown = capsys.readouterr().out
    assert "2 to 3" in shown
    assert f"{rule}: at most 6 runs" in shown
    out = tmp_path / "out"
    command = ["run", str(study), "--out", str(out), "--repeat", rule, "--json"]
    assert invoke(command) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document["study"]["repeat"] == rule
    assert [point["n"] for point in document["summary"]] == [3, 3]
    warning = next(w for w in document["runs"][0]["warnings"] if w["code"] == "ci-not-reached")
    assert warning["message"].startswith(
        "after 3 runs half the interval is not below 0.001% of the mean of "
        "bottleneck.queue_delay_mean_s ("
    )
    [line] = [line for line in told.err.splitlines() if "ci-not-reached" in line]
    assert line.endswith("; and the like at 1 more sweep point")
    assert rule.replace("<", "&lt;") in (out / "report" / "index.html").read_text()
