"""Comparing: matching, differences and their intervals, verdicts, doubts, and the command."""

from __future__ import annotations

import itertools
import json
import math
import random
import shutil
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cclab
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.comparison import sides
from cclab.comparison.difference import difference
from cclab.comparison.metric import METRICS, metric_names
from cclab.comparison.verdict import words
from cclab.errors import InputError
from cclab.plan.changes import changes
from cclab.plan.study import Study
from conftest import ROOT, STUDY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab import Comparison
    from cclab.documents.scenario import Scenario

_SHORT = ["--set", "duration=1s", "--set", "warmup=0s"]

_finite = st.floats(min_value=0, max_value=1e9, allow_nan=False)
_pairs = st.lists(st.tuples(_finite, _finite), min_size=2, max_size=9)


def _words(a: Sequence[float | None], b: Sequence[float | None], name: str, paired: bool) -> str:
    """The difference of runs of the metric `name`, in words."""
    (metric,) = metric_names([name])
    measured = (any(v is not None for v in a), any(v is not None for v in b))
    return words(metric, difference(a, b, paired=paired), measured)


def _codes(compared: Comparison) -> list[str]:
    return [warning.code for warning in compared.warnings]


# Differences over runs.


@given(_pairs)
def test_paired_differences_are_those_of_the_pairs(pairs: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    found = difference(a, b, paired=True)
    assert found is not None
    apart = [y - x for x, y in pairs]
    largest = max(a + b)
    assert found.absolute.mean == pytest.approx(math.fsum(apart) / len(apart), abs=1e-9 * largest)
    if found.absolute.low is not None and found.absolute.high is not None:
        assert found.absolute.low <= found.absolute.mean <= found.absolute.high
        assert found.absolute.low >= min(apart) - 1e-9 * largest
        assert found.absolute.high <= max(apart) + 1e-9 * largest
    else:
        assert found.constant


@given(_pairs)
def test_swapping_the_sides_of_pairs_turns_the_difference_round(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    here, there = difference(a, b, paired=True), difference(b, a, paired=True)
    assert here is not None
    assert there is not None
    assert here.constant == there.constant
    assert here.absolute.mean == -there.absolute.mean
    if here.absolute.low is not None and there.absolute.high is not None:
        largest = max(a + b)
        assert here.absolute.low == pytest.approx(-there.absolute.high, abs=1e-9 * largest)


def test_intervals_are_those_of_the_normal_law_for_many_runs() -> None:
    chance = random.Random(3)
    common = [chance.gauss(100, 10) for _ in range(400)]
    a = [c + chance.gauss(0, 1) for c in common]
    b = [c + chance.gauss(5, 1) for c in common]
    paired, apart = difference(a, b, paired=True), difference(a, b, paired=False)
    assert paired is not None
    assert apart is not None
    # What both sides share cancels out in pairs, and only there.
    assert paired.absolute.half_width == pytest.approx(1.96 * math.sqrt(2 / 400), rel=0.1)
    assert apart.absolute.half_width == pytest.approx(1.96 * math.sqrt(202 / 400), rel=0.1)
    assert paired.absolute.mean == apart.absolute.mean == pytest.approx(5, abs=0.2)
    assert paired.relative is not None
    assert paired.relative.mean == pytest.approx(0.05, abs=0.002)
    assert paired.relative.low is not None
    assert paired.relative.low == pytest.approx(0.0486, abs=0.001)


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_are_those_of_every_resample_there_is(paired: bool) -> None:
    a, b = [10.0, 11.0, 12.5, 11.2], [10.2, 11.3, 12.9, 11.7]
    places = list(itertools.product(range(4), repeat=4))
    both = ((p, p) for p in places) if paired else itertools.product(places, repeat=2)
    means = [(sum(a[i] for i in p) / 4, sum(b[i] for i in q) / 4) for p, q in both]
    found = difference(a, b, paired=paired)
    assert found is not None
    assert found.relative is not None
    for estimate, exact in (
        (found.absolute, [y - x for x, y in means]),
        (found.relative, [(y - x) / x for x, y in means]),
    ):
        low, high = np.percentile(exact, [2.5, 97.5])
        # 10,000 drawn resamples against all 4^4, or 4^8.
        assert estimate.low == pytest.approx(low, abs=0.03 * (high - low))
        assert estimate.high == pytest.approx(high, abs=0.03 * (high - low))


def test_intervals_from_few_runs_are_as_narrow_as_the_docs_say() -> None:
    chance = random.Random(1)
    trials, wrong = 400, {True: 0, False: 0}
    for _ in range(trials):
        a, b = ([chance.gauss(100, 1) for _ in range(5)] for _ in "ab")
        for paired in wrong:
            found = difference(a, b, paired=paired)
            assert found is not None
            assert found.absolute.low is not None
            assert found.absolute.high is not None
            wrong[paired] += found.absolute.low > 0 or found.absolute.high < 0
    # Four standard errors of 400 trials.
    assert wrong[True] / trials == pytest.approx(0.15, abs=0.072)
    assert wrong[False] / trials == pytest.approx(0.11, abs=0.063)


def test_pairs_that_one_side_did_not_measure_are_left_out_on_both() -> None:
    found = difference([1.0, None, 5.0, math.nan], [2.0, 100.0, 7.0, 100.0], paired=True)
    assert found is not None
    assert (found.a.mean, found.b.mean, found.absolute.n) == (3.0, 4.5, 2)
    assert difference([1.0, None], [None, 2.0], paired=True) is None
    with pytest.raises(ValueError, match="longer"):
        difference([1.0], [1.0, 2.0], paired=True)


def test_nothing_is_relative_to_nothing() -> None:
    none = difference([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], paired=True)
    assert none is not None
    assert none.relative is None
    # A resample of A may be all zeros: the ratio has no interval, the difference has.
    some = difference([0.0, 0.0, 3.0], [1.0, 2.0, 3.0], paired=False)
    assert some is not None
    assert some.relative is not None
    assert (some.relative.mean, some.relative.low) == (1.0, None)
    assert some.absolute.low is not None


# Verdicts.


def test_differences_in_words() -> None:
    a = [10e6, 11e6, 12e6, 11e6]
    more = [x + d for x, d in zip(a, (0.2e6, 0.3e6, 0.4e6, 0.5e6), strict=True)]
    assert _words(a, more, "goodput_bps", True) == "+3.2% (2.4 to 4.1)"
    assert _words(more, a, "goodput_bps", True) == "-3.1% (-3.9 to -2.3)"
    assert _words(a, more, "goodput_bps", False).startswith("+3% (-")
    assert _words(a, a, "goodput_bps", True) == "equal in every run"
    assert _words([4, 9], [6, 11], "retransmits", True) == "+30.8% in every run"
    assert _words([4, 4], [4, 4], "retransmits", False) == "equal in every run"
    assert _words([0, 0, 0], [2, 4, 6], "retransmits", True) == "+4 (2 to 6)"
    assert (
        _words([0.9, 0.9, 0.9], [0.92, 0.93, 0.94], "utilization", True)
        == "+3.0 points (2.0 to 4.0)"
    )
    assert _words([0.5, 0.5], [0.9, 0.8], "jain", False) == "+0.35 (0.30 to 0.40)"
    assert _words([10, 30], [30.2, 9.9], "retransmits", True) == "0% (-67 to 202)"


def test_no_end_of_an_interval_is_rounded_to_a_zero_that_it_excludes() -> None:
    a = [100e6] * 5
    b = [x - d for x, d in zip(a, (0.1e6, 0.1e6, 0.3e6, 0.1e6, 9e6), strict=True)]
    assert _words(a, b, "goodput_bps", True) == "-1.9% (-5.5 to -0.1)"


def test_a_single_run_has_no_interval_and_says_so() -> None:
    assert _words([10.0], [11.0], "srtt_mean_s", True) == "+10.0%, one run each"
    assert _words([10.0], [9.0, 9.2], "srtt_mean_s", False) == "-9.00%, one run of A"
    assert _words([0.0], [0.0], "drops", True) == "equal, one run each"


def test_what_was_not_measured_is_not_compared() -> None:
    assert _words([None], [1.0], "srtt_mean_s", True) == "measured in B only"
    assert _words([1.0], [None], "srtt_mean_s", True) == "measured in A only"
    assert _words([None], [None], "srtt_mean_s", True) == "not measured"
    assert _words([None, 1.0], [1.0, None], "rtos", True) == "not measured on both sides"


def test_metrics_are_named_with_their_subject_or_without() -> None:
    assert metric_names(["bottleneck.drops", "drops", "jain"]) == metric_names(["drops", "jain"])
    paths = [metric.path for metric in METRICS]
    assert len(set(paths)) == len(paths)
    # What flows and traffic both have is the flow's where nobody says whose.
    assert metric_names(["rtt_p95_s"]) == metric_names(["flow.rtt_p95_s"])
    assert metric_names(["fct_p95_s"]) == metric_names(["traffic.fct_p95_s"])
    # Without its unit it is short for what tables show.
    assert metric_names(["goodput"]) == metric_names(["goodput_bps"])
    with pytest.raises(InputError, match=r"'srtt' to compare \(did you mean srtt_mean_s\?\)"):
        metric_names(["srtt"])


# What differs between scenarios.


def _scenario(study: Path, *values: str) -> Scenario:
    return Study.load(study).plan(set=list(values)).points[0].scenario


def test_keys_in_which_scenarios_differ_are_named_in_words(study: Path) -> None:
    here = _scenario(study)
    assert changes(here, here) == []
    other = _scenario(
        study, "duration=4s", "flow.long.transfer=1MB", "network.bottleneck.rate=1Gbit"
    )
    found = {change.key: (change.a, change.b) for change in changes(here, other)}
    assert found["duration"] == ("2 s", "4 s")
    assert found["network.bottleneck.rate"] == ("10 Mbit/s", "1 Gbit/s")
    assert found["flow.long.transfer"] == ("none", "1000000")
    # The queue is one bandwidth-delay product of the rate that is set.
    assert set(found) == {
        *("duration", "network.bottleneck.rate", "network.bottleneck.queue.limit.bytes"),
        "flow.long.transfer",
    }


def test_a_change_of_every_flow_is_told_once_and_what_is_recorded_does_not_matter(
    study: Path,
) -> None:
    here = _scenario(study, "flow.cc=reno", "flow.short.cc=reno", 'trace.events=["ack"]')
    assert [str(c) for c in changes(here, _scenario(study, "flow.short.cc=cubic"))] == [
        "flow.short.cc (reno | cubic)"
    ]
    there = _scenario(study, "flow.long.cc=cubic", "flow.short.cc=cubic")
    assert [str(c) for c in changes(here, there)] == ["flow.*.cc (reno | cubic)"]


# Two results folders.


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two stores of one study, in which the long flow's variant differs."""
    folder = tmp_path_factory.mktemp("compared")
    file = folder / "two.toml"
    file.write_text(STUDY)
    for name, cc in (("a", "reno"), ("b", "cubic")):
        cclab.run(file, out=folder / name, repeat=3, set=[f"flow.long.cc={cc}"])
    return folder / "a", folder / "b"


def test_points_flows_and_numbers_of_two_folders(folders: tuple[Path, Path]) -> None:
    compared = cclab.compare(*folders)
    assert compared.kind == "stores"
    assert [point.params for point in compared.points] == [
        {"flow.short.cc": "reno"},
        {"flow.short.cc": "cubic"},
    ]
    a, b = map(cclab.load, folders)
    for index, point in enumerate(compared.points):
        assert point.paired
        assert [str(change) for change in point.changes] == ["flow.long.cc (reno | cubic)"]
        assert [flow.name for flow in point.flows] == ["short", "long"]
        assert (point.flows[1].cc_a, point.flows[1].cc_b) == ("reno", "cubic")
        for place, flow in enumerate(point.flows):
            found = {c.metric.name: c.difference for c in flow.metrics}
            assert "elapsed_s" not in found
            for name, apart in found.items():
                of_a = a.summaries[index].flows[place].estimates[name]
                of_b = b.summaries[index].flows[place].estimates[name]
                assert apart is not None
                assert of_a is not None
                assert of_b is not None
                assert (apart.a, apart.b) == (of_a, of_b)
                assert apart.absolute.mean == of_b.mean - of_a.mean
        whole = {c.metric.name for c in point.whole}
        # The study has a warm-up.
        assert whole == {
            "utilization",
            "window_queue_delay_mean_s",
            "drop_rate",
            "window_jain",
        }
    assert "few-runs" in _codes(compared)
    assert not {"several-differences", "measured-differently", "same-runs"} & set(_codes(compared))
    again = cclab.compare(a, b, metrics=["jain"])
    assert [c.metric.name for c in again.compared] == ["window_jain", "window_jain"]


def test_document_fits_its_schema(folders: tuple[Path, Path]) -> None:
    schema = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for metrics in ((), ("jain",), ("elapsed_s", "rtt_min_s")):
        document = cclab.compare(*folders, metrics=metrics).document()
        document = json.loads(json.dumps(document, allow_nan=False))
        jsonschema.validate(document, schema)
    document["points"][0]["flows"][0]["speed"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_other_seeds_are_not_paired(study: Path, folders: tuple[Path, Path]) -> None:
    other = cclab.run(study, out=study.parent / "c", seed=70, set=["flow.long.cc=cubic"])
    compared = cclab.compare(folders[0], other)
    assert [point.paired for point in compared.points] == [False, False]
    assert (compared.points[0].match.seeds_a, compared.points[0].match.seeds_b) == (
        [7, 8, 9],
        [70, 71],
    )


def test_points_and_flows_of_one_side_are_listed(study: Path, folders: tuple[Path, Path]) -> None:
    study.write_text(STUDY.replace('name = "long"', 'name = "far"'))
    values = ['sweep.flow.short.cc=["cubic", "sack"]']
    other = cclab.run(study, out=study.parent / "c", set=values)
    compared = cclab.compare(folders[0], other)
    assert [point.params for point in compared.points] == [{"flow.short.cc": "cubic"}]
    assert compared.only_a == [{"flow.short.cc": "reno"}]
    assert compared.only_b == [{"flow.short.cc": "sack"}]
    (point,) = compared.points
    assert [flow.name for flow in point.flows] == ["short"]
    assert (point.match.flows_only_a, point.match.flows_only_b) == (["long"], ["far"])


def test_folders_without_a_point_in_common_are_refused(
    study: Path, folders: tuple[Path, Path]
) -> None:
    other = cclab.run(study, out=study.parent / "c", repeat=1, set=["flow.short.cc=sack"])
    with pytest.raises(InputError, match=r"(?s)no sweep point.*A \(.*short.cc = reno; .*all runs"):
        cclab.compare(folders[0], other)


def test_studies_that_differ_in_more_are_doubted(study: Path, folders: tuple[Path, Path]) -> None:
    values = ["duration=3s", "flow.long.cc=cubic"]
    other = cclab.run(study, out=study.parent / "c", repeat=1, set=values)
    compared = cclab.compare(folders[0], other)
    messages = {warning.code: warning.message for warning in compared.warnings}
    assert "duration (2 s | 3 s)" in messages["measured-differently"]
    assert "2 keys: duration (2 s | 3 s), flow.long.cc" in messages["several-differences"]
    assert "single-runs" in messages
    assert all("-1 more" not in warning.extent for warning in compared.warnings)


def test_a_folder_beside_its_copy_is_equal_and_doubted(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folders[0], copy)
    compared = cclab.compare(folders[0], copy)
    assert {c.verdict.untested for c in compared.compared} == {"equal"}
    assert {c.verdict.code for c in compared.compared} == {"no-evidence"}
    assert {one.p for one in compared.overall} == {None}
    assert "same-runs" in _codes(compared)


def test_repeats_that_do_not_vary_give_no_interval(tmp_path: Path) -> None:
    file = tmp_path / "same.toml"
    text = STUDY.replace('cc   = "cubic"', 'cc   = "cubic"\nstart = "0s"')
    file.write_text(text.replace('cc   = "reno"', 'cc   = "reno"\nstart = "100ms"'))
    a, b = (
        cclab.run(file, out=tmp_path / cc, set=[f"flow.long.cc={cc}"]) for cc in ("reno", "cubic")
    )
    compared = cclab.compare(a, b)
    for found in compared.compared:
        assert found.verdict.untested in ("equal", "no-variance")
        assert found.verdict.code == "no-evidence"
        assert found.difference is not None
        assert found.difference.absolute.low is None
        assert (found.p, found.p_adjusted) == (None, None)
    # Two points, and in each a single pair: two labellings of four are as far apart.
    assert {one.p for one in compared.overall} <= {None, 0.5, 1.0}


def test_a_transfer_that_did_not_end_has_no_elapsed_time(study: Path, tmp_path: Path) -> None:
    values = ["flow.short.transfer=500kB", "flow.short.cc=reno"]
    whole = cclab.run(study, out=tmp_path / "a", set=values)
    cut = cclab.run(study, out=tmp_path / "b", set=[*values, "duration=300ms", "warmup=0s"])
    compared = cclab.compare(whole, cut)
    short, long = compared.points[0].flows
    (elapsed,) = [c for c in short.metrics if c.metric.name == "elapsed_s"]
    assert (elapsed.difference, elapsed.verdict.words) == (None, "measured in A only")
    assert "elapsed_s" not in [c.metric.name for c in long.metrics]
    messages = {warning.code: warning.message for warning in compared.warnings}
    assert "short did not end in 0 runs of A and 2 of B" in messages["unfinished-transfers"]


# A study with two variants or on two backends.


def test_two_variants_of_one_flow(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(study.parent)
    command = ["compare", "cubic", "sack", "--study", str(study), "--flow", "long", *_SHORT]
    assert invoke([*command, "--json"]) == DONE
    first = capsys.readouterr()
    document = json.loads(first.out)
    assert document["compared"] == "variants"
    assert (document["a"]["label"], document["b"]["label"]) == ("cubic", "sack")
    for point in document["points"]:
        assert point["paired"]
        assert [change["key"] for change in point["changes"]] == ["flow.long.cc"]
        assert [(f["cc_a"], f["cc_b"]) for f in point["flows"]][1] == ("cubic", "sack")
    assert "differs-elsewhere" not in [w["code"] for w in document["warnings"]]
    folder = study.parent / "results" / "study file.cubic"
    assert len(list((folder / "runs").iterdir())) == 4
    assert invoke([*command, "--json"]) == DONE
    again = capsys.readouterr()
    assert again.out == first.out
    assert "A, cubic: 4 of 4 runs in results/study file.cubic already" in again.err


def test_variants_replace_those_of_every_flow_if_none_is_named(study: Path) -> None:
    study.write_text(STUDY.replace('name = "long"', 'name = "long"\ncount = 2'))
    pair = sides.plan_pair("cubic", "sack", study, out=study.parent / "out")
    for side in (pair.a, pair.b):
        (point,) = side.plan.points
        assert [f["cc"] for f in point.scenario["flows"]] == [side.label] * 3
        assert side.store.path == study.parent / "out" / side.label
    compared = cclab.compare("cubic", "sack", study=study, out=study.parent / "out", repeat=1)
    assert [str(c) for c in compared.points[0].changes] == ["flow.*.cc (cubic | sack)"]
    assert "differs-elsewhere" not in _codes(compared)


def test_a_sweep_that_would_undo_the_choice_of_variant_is_refused(study: Path) -> None:
    study.write_text(STUDY.replace('"flow.short.cc"', '"flow.cc"'))
    with pytest.raises(InputError, match=r"the sweep of flow\.cc gives flow 'short' the variant"):
        sides.plan_pair("cubic", "sack", study)


def test_two_backends_are_two_plans_of_the_same_seeds(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cclab.execute.backends import BACKENDS

    monkeypatch.setitem(BACKENDS, "netns", BACKENDS["sim"])
    pair = sides.plan_pair("sim", "netns", study, set=["duration=1s"])
    assert pair.kind == "backends"
    assert [side.plan.backend for side in (pair.a, pair.b)] == ["sim", "netns"]
    assert [[run.seed for run in side.plan.runs] for side in (pair.a, pair.b)] == [[7, 8] * 2] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a"], "B"),
        (["a", "nowhere"], "nowhere is not a results folder: no such folder"),
        (["sim", "linux"], "no results folder 'sim' here; two backends, two variants or"),
        (["a", "a", "--repeat", "3"], "--repeat: only with a study to run"),
        (["a", "a", "--flow", "long", "--out", "o"], "--flow, --out: only with a study"),
        (["a", "a", "--metric", "drop"], "no metric 'drop' to compare (did you mean drops?)"),
        (["a", "a", "--correction", "none"], "no correction 'none'; one of fdr, holm"),
        (["cubic", "cubic", "--study", "ok.toml"], "A and B are both 'cubic'"),
        (["cubic", "sim", "--study", "ok.toml"], "either two backends (sim, linux, netns), two"),
        (["cubic", "cubik", "--study", "ok.toml"], "did you mean `cubic`?"),
        (["cubic", "nv", "--study", "ok.toml"], "flow.short.cc: variant nv"),
        (["cubic", "reno", "--study", "ok.toml", "--flow", "shrt"], "no flow 'shrt'; it has short"),
        (["sim", "netns", "--study", "ok.toml", "--flow", "long"], "--flow: only where two"),
        (["cubic", "reno", "--study", "nowhere.toml"], "nowhere.toml: no such file"),
    ],
)
def test_wrong_input_is_refused(
    tmp_path: Path,
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.toml").write_text(STUDY)
    (tmp_path / "a").symlink_to(folders[0])
    assert invoke(["compare", *arguments]) == WRONG_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert said in told.err
    assert not (tmp_path / "results").exists()


# The table.


def test_the_table_fits_100_columns_and_says_all(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["compare", *map(str, folders)]) == DONE
    told = capsys.readouterr()
    shown = told.out.partition("A and B differ in: flow.long.cc (reno | cubic)\n")[2]
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 100
    assert "short.cc = reno: 3 runs each, paired by seed" in lines
    of_points, of_all = shown.split("over all 2 sweep points")
    # Two sweep points, in each two flows and one whole run.
    for word in ("goodput (Mbit/s)", "srtt mean (ms)"):
        assert of_points.count(word) == 4
    for word in ("long (reno | cubic)", "drop rate (%)", "Jain"):
        assert of_points.count(word) == 2
    for word in ("  short ", "  long ", "drop rate", "Jain"):
        assert of_all.count(word) == 1
    assert "comparisons: no evidence in any; corrected (fdr)" in lines[-1]
    assert "too-few-runs-to-tell: runs are too few for any verdict" in told.err
    assert "few-runs: intervals from 3 runs are too narrow" in told.err


def test_missing_runs_are_counted_and_damaged_ones_end_it(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = tmp_path / "a", str(folders[1])
    shutil.copytree(folders[0], a)
    gone, hurt, *_ = (run.run.id for run in cclab.load(a).runs)
    (a / "runs" / f"{gone}.zip").unlink()
    assert invoke(["compare", str(a), b]) == DONE
    told = capsys.readouterr()
    assert "1 of 6 runs of A missing: not compared" in told.err
    # What one side lacks costs its pair alone: the others stay pairs.
    left_out = "left out: 1 run of B, of seeds that A has no run of"
    assert f"short.cc = reno: 2 runs each, paired by seed; {left_out}\n" in told.out
    assert "short.cc = cubic: 3 runs each, paired by seed\n" in told.out
    assert f"left out at 1 of 2 sweep points{left_out.removeprefix('left out')}\n" in told.out
    file = a / "runs" / f"{hurt}.zip"
    file.write_bytes(file.read_bytes()[:-1])
    assert invoke(["compare", str(a), b]) == RUN_FAILED
    assert f"error: 1 damaged run in {a}" in capsys.readouterr().err
