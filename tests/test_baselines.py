"""Harm and friendliness, from runs that are made beside a study's own."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pytest

import cclab
from cclab import _core, sweep
from cclab.metrics import OF_SEVERAL
from cclab.plan import companions
from cclab.report.tables import table
from cclab.store.gc import garbage
from conftest import ROOT, flip

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from cclab.execute import State
    from conftest import Cli

PAIRS = """\
title    = "Who harms whom"
duration = "10s"
warmup   = "2s"
baselines = ["solo", "self"]

[network.bottleneck]
rate  = "10Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "3bdp" }

[[flow]]
name = "a"

[[flow]]
name = "b"
start = { at = "1s" }

[sweep]
"flow.a.cc" = ["reno", "vegas"]
"flow.b.cc" = ["reno", "vegas"]
"""
WARMUP_S, END_S = 2.0, 10.0


@pytest.fixture(scope="module")
def states() -> list[State]:
    """What the listener heard of the sweep over pairs."""
    return []


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, states: list[State]) -> Results:
    """Reno and Vegas in all pairs; the tests that share it only read."""
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "pairs.toml").write_text(PAIRS)
    return cclab.run(
        folder / "pairs.toml", out=folder / "store", listener=lambda state: states.append(state)
    )


def test_sweep_points_share_their_baselines(pairs: Results, states: list[State]) -> None:
    reasons = [why for _, why in companions.of(pairs.plan).reasons()]
    # Each variant alone as `a` and as `b`; among its own kind it is the diagonal.
    assert reasons.count("solo") == 4
    assert reasons.count("self") == 0
    assert states[-1].total == states[-1].done == len(pairs.plan.runs) + len(reasons)


def test_values_are_those_of_the_formulas_over_the_traces(pairs: Results) -> None:
    """The oracle reads the traces of the runs and of those beside them, with numpy."""
    beside = companions.of(pairs.plan).baselines
    compared = 0
    for run in pairs.runs:
        for index, flow in enumerate(run.metrics["flows"]):
            runs = beside[run.run.id][index]
            solo, own = runs["solo"].id, runs["self"].id
            y = _steady(pairs, run.run.id, flow["name"])
            x, among = _steady(pairs, solo, flow["name"]), _steady(pairs, own, flow["name"])
            assert flow["solo_goodput_bps"] == pytest.approx(x, rel=1e-9)
            assert flow["harm_goodput"] == pytest.approx((x - y) / x, abs=1e-9)
            assert flow["self_goodput_bps"] == pytest.approx(among, rel=1e-9)
            assert flow["friendliness"] == pytest.approx(y / among, rel=1e-9)
            lost, lost_alone = (_lost(pairs, i, flow["name"]) for i in (run.run.id, solo))
            harm = (lost - lost_alone) / lost if lost else None if lost_alone else 0.0
            assert flow["harm_loss"] == (None if harm is None else pytest.approx(harm, abs=1e-9))
            compared += 1
    assert compared == 8


def test_reno_harms_vegas_more_than_vegas_does_itself(pairs: Results) -> None:
    # The later of two Vegas flows takes the queue for a part of its path, and the most of the link:
    # what Vegas does to itself is told at its place.
    mixed = next(p for p in pairs.points if list(p.params.values()) == ["reno", "vegas"])
    reno, vegas = mixed.runs[0].metrics["flows"]
    to_itself = 1 - vegas["self_goodput_bps"] / vegas["solo_goodput_bps"]
    assert vegas["harm_goodput"] > to_itself + 0.2
    assert vegas["friendliness"] < 0.6
    assert reno["friendliness"] > 1.2
    assert vegas["harm_delay"] > 0.5  # alone, Vegas keeps the queue short
    for point in pairs.points:
        if len(set(point.params.values())) == 1:
            assert [f["friendliness"] for f in point.runs[0].metrics["flows"]] == [1.0, 1.0]


def test_two_equal_flows_take_half_of_each_other(tmp_path: Path) -> None:
    file = tmp_path / "fq.toml"
    fq = PAIRS.replace("droptail", "fq").replace('["reno", "vegas"]', '["reno"]')
    file.write_text(fq.replace('["solo", "self"]', '"solo"'))
    flows = cclab.run(file, out=tmp_path / "out").runs[0].metrics["flows"]
    assert [flow["harm_goodput"] for flow in flows] == pytest.approx([0.5, 0.5], abs=0.02)
    assert [flow["friendliness"] for flow in flows] == [None, None]


def test_a_check_has_its_baselines_made(cli: Cli, tmp_path: Path) -> None:
    text = PAIRS.partition("[sweep]")[0].replace('baselines = ["solo", "self"]\n', "")
    file = tmp_path / "checked.toml"
    text = text.replace('"10s"', '"3s"').replace('{ at = "1s" }', '"0s"')
    file.write_text(text.replace('name = "a"', 'name = "a"\nstart = "0s"'))
    none = cclab.run(file, out=tmp_path / "none")
    assert none.runs[0].metrics["flows"][0].keys() >= set(OF_SEVERAL)
    assert {none.runs[0].metrics["flows"][0][name] for name in OF_SEVERAL} == {None}
    assert not companions.of(none.plan).baselines
    with file.open("a") as stream:
        stream.write('[expect]\nharmless = "flow.b.harm_goodput < 0.1"\n')
    planned = cli("plan", file)
    assert "1 run and 5 beside them (2 of flows alone, 3 with shifted starts)" in planned.stdout
    done = cli("run", file, "--out", tmp_path / "out", "--json")
    assert done.returncode == 1, done.stderr
    assert "harmless: flow.b.harm_goodput < 0.1, but it is 0." in done.stderr
    assert "6 runs in" in done.stderr
    document = json.loads(done.stdout)
    assert document["study"]["baselines"] == ["solo"]
    assert 0.1 < document["runs"][0]["flows"][1]["harm_goodput"] < 0.9
    assert document["runs"][0]["flows"][1]["friendliness"] is None


def test_results_tell_them_in_all_forms(pairs: Results) -> None:
    schema = json.loads((ROOT / "docs" / "results.schema.json").read_text())
    jsonschema.validate(json.loads(json.dumps(pairs.document(), allow_nan=False)), schema)
    assert set(OF_SEVERAL) <= set(pairs.flows.columns)
    mean = pairs.summaries[1].flows[0].estimates["harm_goodput"]
    assert mean is not None
    assert mean.mean == pairs.points[1].runs[0].metrics["flows"][0]["harm_goodput"]
    same = cclab.compare(pairs, pairs, metrics=["harm_goodput", "friendliness"])
    assert {row.metric.name for row in same.compared} == {"harm_goodput", "friendliness"}


def test_the_table_has_columns_for_them_where_they_are_measured(
    pairs: Results, results: Results
) -> None:
    told = table(pairs)
    harm, friendly = told.headings.index("harm to it"), told.headings.index("friendliness")
    measured = pairs.points[1].runs[0].metrics["flows"][1]
    row = told.groups[1][1]
    assert row[harm] == f"{100 * measured['harm_goodput']:.1f}%"
    assert row[friendly] == f"{measured['friendliness']:.3g}"
    assert told.numeric[harm]
    assert not {"harm to it", "friendliness", "FCT (s)"} & set(table(results).headings)


def test_the_store_keeps_the_runs_but_no_number_of_several(pairs: Results, tmp_path: Path) -> None:
    shutil.copytree(pairs.store.path, tmp_path / "store")
    store = cclab.load(tmp_path / "store").store
    assert garbage(store).runs == []
    known = store.told(store.ids(), whole=True)
    assert len(known) == 8
    for told in known.values():
        assert told is not None
        metrics = json.loads(told.metrics)
        assert all(not flow.keys() & set(OF_SEVERAL) for flow in metrics["flows"])
    (store.path / "index.sqlite").unlink()
    assert cclab.load(store.path).document() == pairs.document()
    # What a flow is compared with is run again if it is gone; until then it is not measured.
    solo = next(run for run, why in companions.of(pairs.plan).reasons() if why == "solo")
    store.file(solo.id).unlink()
    without = [
        flow["harm_goodput"] for run in cclab.load(store.path).runs for flow in run.metrics["flows"]
    ]
    assert without.count(None) == 2
    heard: list[State] = []
    again = sweep.carry_out(pairs.plan, store, listener=lambda state: heard.append(state))
    assert heard[-1].total == 1
    assert again.document() == pairs.document()
    # So it is if its bytes are not as they were.
    torn = store.file(solo.id)
    whole = torn.read_bytes()
    flip(torn)
    assert [run.id for run in store.missing_of([solo], contents=True)] == [solo.id]
    sweep.carry_out(pairs.plan, store)
    assert torn.read_bytes() == whole


def test_names_are_those_of_the_core(pairs: Results) -> None:
    flow = json.dumps(pairs.runs[0].metrics["flows"][0])
    assert tuple(json.loads(_core.beside_others(flow))) == OF_SEVERAL


def _steady(pairs: Results, run: str, flow: str) -> float:
    """Goodput from the end of the warm-up to the end, in bit/s: no flow starts later here."""
    samples = pairs.store.trace(run).table("flow_samples")
    own = samples.filter(samples["flow"] == flow)
    received = np.interp(
        [WARMUP_S, END_S], own["time_s"].to_numpy(), own["received_bytes"].to_numpy()
    )
    return float(8 * (received[1] - received[0]) / (END_S - WARMUP_S))


def _lost(pairs: Results, run: str, flow: str) -> float:
    """The share of a flow's segments that were sent again, by the last sample."""
    samples = pairs.store.trace(run).table("flow_samples")
    last = samples.filter(samples["flow"] == flow).sort("time_s").tail(1)
    return float(last["retransmits"].item() / last["segments_sent"].item())


WAITING = """\
title     = "A change that waits for one of two kinds"
duration  = "4s"
baselines = ["solo"]

[network.bottleneck]
rate     = "10Mbit"
queue    = { limit = "2bdp" }
schedule = [{ when = { flow = "x", column = "phase", is = "drain" }, rate = "8Mbit" }]

[[flow]]
name = "x"
cc   = "bbr3"
rtt  = "40ms"

[[flow]]
name = "y"
cc   = "cubic"
rtt  = "40ms"
"""


@pytest.mark.parametrize("cc", ["cubic", "reno"])
def test_a_state_that_its_stand_in_would_not_tell_is_refused_before_any_run(
    tmp_path: Path, cli: Cli, cc: str
) -> None:
    study = tmp_path / "waiting.toml"
    for asked, line in (
        ('["solo", "self"]', 8),
        ('[]\nexpect = { fair = "flow.y.friendliness > 0" }', 9),
    ):
        study.write_text(WAITING.replace('["solo"]', asked).replace("cubic", cc))
        done = cli("run", "waiting.toml", "--out", "out")
        assert done.returncode == 2
        assert f"waiting.toml:{line}:" in done.stderr
        assert "in the run that y is compared with among its own kind" in done.stderr
        assert 'leave "self" out of `baselines`' in done.stderr
        assert not (tmp_path / "out").exists()
    # Alone, x has its change, and y has none; and flows of one kind tell the same.
    study.write_text(WAITING.replace("cubic", cc))
    assert cli("run", "waiting.toml", "--out", "solo").returncode == 0
    study.write_text(WAITING.replace('["solo"]', '"self"').replace("cubic", "bbr3"))
    assert cli("run", "waiting.toml", "--out", "self").returncode == 0
