"""Groups of flows: one row each, from the study file to tables, checks, queries and figures."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import cclab
from cclab import compare
from cclab.cli.exits import EXPECTATION_FAILED, WRONG_INPUT
from cclab.errors import InputError, StudyError
from cclab.measure import grouped, pooled
from cclab.measure.stats import resamples
from cclab.queries import query
from cclab.report import figures, tables

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli

INCAST = """
title = "Incast"
{more}
[network.bottleneck]
rate = "1Gbit"
delay = "20us"
queue = {{ limit = "200p" }}
[network.access]
rate = "1Gbit"
[[flow]]
name = "s"
cc = "{cc}"
count = 12
transfer = "100kB"
start = {{ at = "0s", spread = "100us" }}
{flow}
[[flow]]
name = "other"
transfer = "200kB"
[trace]
interval = "100us"
"""


def written(folder: Path, *, flow: str = "", more: str = "", cc: str = "cubic") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "incast.toml"
    file.write_text(INCAST.format(flow=flow, more=more, cc=cc))
    return file


@pytest.fixture(scope="module")
def incast(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("incast")
    return cclab.run(written(folder), out=folder / "out", repeat=3)


def test_a_percentile_is_of_the_values_of_all_runs_together() -> None:
    # 20 values: the 10th, the 19th and the 20th. Means over runs would be 10, 14.5 and 15.
    runs = [[float(n) for n in range(1, 11)], [float(n) for n in range(11, 21)]]
    found = {share: pooled.percentile(runs, share) for share in (0.5, 0.95, 0.99)}
    assert [one.mean for one in found.values() if one is not None] == [10.0, 19.0, 20.0]
    # A resample of two runs has one of them twice, or each once.
    half = found[0.5]
    assert half is not None
    assert (half.low, half.high, half.n) == (5.0, 15.0, 2)
    alone = pooled.percentile([[3.0, 1.0, 2.0], []], 0.5)
    assert alone is not None
    assert (alone.mean, alone.low, alone.n) == (2.0, None, 1)
    assert pooled.percentile([[], []], 0.5) is None


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 0.99])
def test_a_percentile_and_its_interval_are_numpys_of_each_resample(share: float) -> None:
    chance = np.random.default_rng(3)
    # Ties, and runs of different lengths.
    runs = [chance.lognormal(size=size).round(1) for size in (7, 40, 1, 23, 12)]
    found = pooled.percentile([run.tolist() for run in runs], share)
    assert found is not None
    values, owner = np.concatenate(runs), np.repeat(np.arange(5), [len(run) for run in runs])
    drawn = resamples(5)
    assert drawn.times is not None
    weighed = [
        np.quantile(values, share, method="inverted_cdf", weights=counts[owner])
        for counts in drawn.counts.T
    ]
    ends = np.percentile(np.repeat(weighed, drawn.times), [2.5, 97.5])
    assert found.mean == np.quantile(values, share, method="inverted_cdf")
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-12)


def test_the_flows_of_a_count_are_a_group(incast: Results) -> None:
    for run in incast.runs:
        (group,) = run.metrics["groups"]
        flows = [flow for flow in run.metrics["flows"] if flow["group"] == "s"]
        assert (group["name"], group["flows"], group["ended"]) == ("s", 12, 12)
        assert group["variants"] == ["cubic"]
        rates = [flow["goodput_bps"] for flow in flows]
        assert group["goodput_mean_bps"] == pytest.approx(math.fsum(rates) / 12)
        assert group["jain"] == pytest.approx(
            math.fsum(rates) ** 2 / (12 * math.fsum(rate**2 for rate in rates))
        )
        # What they had together, whatever each had in its own time.
        told = run.table("flows").head(12)
        seconds = max(told["last_byte_s"].to_list()) - min(told["first_byte_s"].to_list())
        assert group["goodput_sum_bps"] == pytest.approx(8 * 12 * 100_000 / seconds)
        times = sorted(flow["fct_s"] for flow in flows)
        assert [group["fct_p50_s"], group["fct_p95_s"]] == [times[5], times[11]]
        assert group["retransmits"] == sum(flow["retransmits"] for flow in flows)
        assert run.metrics["flows"][-1]["group"] is None


def test_percentiles_of_a_summary_are_over_the_flows_of_all_runs(incast: Results) -> None:
    (point,) = incast.summaries
    (group,) = point.groups
    times = sorted(
        flow["fct_s"] for run in incast.runs for flow in run.metrics["flows"] if flow["group"]
    )
    assert len(times) == 36
    found = group.estimates["fct_p95_s"]
    assert found is not None
    assert found.mean == times[34]  # the 35th: 0.95 of 36 is 34.2
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.mean <= found.high
    document = incast.document()["summary"][0]["groups"][0]
    assert document["fct_p95_s"]["mean"] == times[34]
    shares = [flow.share.mean for flow in point.flows if flow.share and flow.group == "s"]
    share = group.estimates["share"]
    assert share is not None
    assert share.mean == pytest.approx(math.fsum(shares))


def test_many_flows_are_one_row_unless_all_are_asked_for(
    incast: Results, cli: Cli, tmp_path: Path
) -> None:
    folded = tables.table(incast)
    assert [row[0] for row in folded.groups[0]] == ["s (mean of 12)", "other"]
    assert len(tables.table(incast, every=True).groups[0]) == 13
    groups = tables.groups(incast)
    assert groups is not None
    assert groups.headings[:3] == ["group", "flows", "variant"]
    assert {"Jain within"} <= set(groups.headings)
    assert sum("FCT p" in heading for heading in groups.headings) == 3
    assert groups.groups[0][0][:3] == ["s", "12", "cubic"]
    file = written(tmp_path)
    shown = cli("run", file, "--out", tmp_path / "out")
    assert "s.7" not in shown.stdout
    assert shown.stdout.index("Jain within") < shown.stdout.index("s (mean of 12)")
    assert "--all" in shown.stderr
    every = cli("report", tmp_path / "out", "--all")
    assert all(f"s.{number} " in every.stdout for number in range(1, 13))
    markdown = (tmp_path / "out/report/table.md").read_text()
    assert "| s.12 |" in markdown
    page = (tmp_path / "out/report/index.html").read_text()
    assert "<summary>Every flow</summary>" in page
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out/report/groups.csv").read_text())))
    assert [(row["name"], row["flows"]) for row in rows] == [("s", "12")]


def test_the_mean_of_a_group_is_that_of_its_flows(incast: Results) -> None:
    (point,) = incast.summaries
    (one,) = point.groups[0].each
    each = one.estimate("srtt_mean_s")
    of_flows = [f.estimates["srtt_mean_s"] for f in point.flows if f.group == "s"]
    known = [one.mean for one in of_flows if one is not None]
    assert each is not None
    assert each.mean == pytest.approx(math.fsum(known) / 12)


def test_a_group_joins_flows_of_either_direction(tmp_path: Path) -> None:
    more = 'group = "web"\n[[flow]]\nname = "back"\ndirection = "reverse"\ntransfer = "50kB"\n'
    file = written(tmp_path, flow=more + 'group = "web"')
    found = cclab.run(file, out=tmp_path / "out", repeat=1)
    (group,) = found.runs[0].metrics["groups"]
    assert (group["name"], group["flows"]) == ("web", 13)
    assert grouped.members(found.runs[0].metrics, "web") == list(range(13))


def test_no_row_of_a_table_is_of_flows_of_both_directions(tmp_path: Path) -> None:
    back = (
        'group = "web"\n[[flow]]\nname = "back"\ncc = "reno"\ncount = 2\n'
        'direction = "reverse"\ntransfer = "50kB"\ngroup = "web"\n[[flow]]\nname = "lone"\n'
        'direction = "reverse"\ntransfer = "50kB"\ngroup = "few"\n[[flow]]\nname = "there"\n'
        'transfer = "50kB"\ngroup = "few"'
    )
    file = written(tmp_path, flow=back)
    found = cclab.run(file, out=tmp_path / "out", repeat=1, set="trace.interval=1ms")
    shown = tables.table(found)
    rows = shown.groups[0]
    direction = shown.headings.index("direction")
    # Those of a direction that is a single flow's are that flow.
    assert [row[0] for row in rows] == [
        "web (mean of 12)", "there", "other", "web (mean of 2)", "lone"
    ]  # fmt: skip
    assert [row[direction] for row in rows] == ["forward", "", "", "reverse", ""]
    assert [row[1] for row in rows if "web" in row[0]] == ["cubic", "reno"]
    (point,) = found.summaries
    for each in point.groups[0].each:
        flows = [flow for flow in point.flows if flow.name in each.names]
        assert {flow.direction for flow in flows} == {each.direction}
        for name in ("srtt_mean_s", "share"):
            known = [one.mean for flow in flows if (one := flow.estimate(name)) is not None]
            mean = each.estimate(name)
            assert mean is not None
            assert mean.mean == pytest.approx(math.fsum(known) / len(known))
    groups = tables.groups(found)
    assert groups is not None
    told = groups.headings.index("direction")
    assert [row[told] for row in groups.groups[0]] == ["forward and reverse"] * 2


def test_a_group_changes_no_packet(tmp_path: Path, incast: Results) -> None:
    named = cclab.run(written(tmp_path, flow='group = "all"'), out=tmp_path / "out", repeat=1)

    def numbers(results: Results) -> list[dict[str, object]]:
        return [{**flow, "group": None} for flow in results.runs[0].metrics["flows"]]

    assert numbers(named) == numbers(incast)
    # What nobody groups by name is called what it always was.
    assert "group" not in json.dumps(incast.runs[0].run.scenario)


def test_checks_and_rules_know_groups(tmp_path: Path, cli: Cli) -> None:
    more = '[expect]\nsoon = "group.s.fct_p99_s < 1e-6"\nfair = "group.s.jain > 0.1"'
    file = written(tmp_path, more='repeat = "until ci95(group.s.jain) < 90%, at least 2"')
    file.write_text(file.read_text() + more)
    shown = cli("run", file, "--out", tmp_path / "out")
    assert shown.returncode == EXPECTATION_FAILED
    assert "group.s.fct_p99_s < 1e-6, but it is 0." in shown.stderr
    assert "fair" not in shown.stderr
    file.write_text(written(tmp_path).read_text() + '[expect]\nx = "flow.s.jain > 1"')
    with pytest.raises(StudyError, match=r"is a group of flows; write `group\.s\.METRIC`"):
        cclab.Study.load(file).plan()


def test_query_knows_groups(incast: Results) -> None:
    folder = incast.store.path
    rows = query(folder, table="groups", columns="name, group.flows, fct_p99_s, group.variants")
    assert rows["name"].to_list() == ["s"] * 3
    assert rows["group.flows"].to_list() == [12] * 3
    assert rows["group.variants"][0] == "cubic"
    means = query(folder, group_by="group", columns="goodput_bps", where="group == 's'")
    assert means["n"].to_list() == [3]
    assert query(folder, "fct_p99_s < 1us", table="groups").height == 0


def test_compare_has_a_row_for_a_group_and_none_for_each_of_many(
    incast: Results, tmp_path: Path, cli: Cli
) -> None:
    other = cclab.run(written(tmp_path, cc="reno"), out=tmp_path / "out", repeat=3)
    found = compare(incast, other)
    (point,) = found.points
    assert [flow.name for flow in point.flows] == ["other"]
    (group,) = point.groups
    assert (group.name, group.variants_a, group.variants_b) == ("s", "cubic", "reno")
    names = [one.metric.path for one in group.metrics]
    assert {"group.goodput_sum_bps", "group.jain", "group.fct_p99_s"} <= set(names)
    assert found.document()["points"][0]["groups"][0]["name"] == "s"
    asked = compare(incast, other, metrics="flow.goodput_bps")
    assert len(asked.points[0].flows) == 13
    shown = cli("compare", incast.store.path, other.store.path)
    assert "s (group: cubic | reno)" in shown.stdout
    assert "s.3" not in shown.stdout


def test_a_short_name_is_of_what_the_results_have(
    incast: Results, tmp_path: Path, cli: Cli
) -> None:
    other = cclab.run(written(tmp_path, cc="reno"), out=tmp_path / "out", repeat=3)
    found = compare(incast, other, metrics="fct_p99_s")
    assert [c.metric.path for c in found.compared] == ["group.fct_p99_s"]
    shown = cli("compare", incast.store.path, other.store.path, "--metric", "traffic.fct_p99_s")
    assert shown.returncode == WRONG_INPUT
    assert "no run measured traffic.fct_p99_s on both sides; both have group.fct_p99_s" in (
        shown.stderr
    )
    # Transfers of cross traffic have one too: then the name alone says too little.
    more = '[[traffic]]\nname = "web"\nkind = "poisson"\nload = 0.2\ntransfer = "20kB"\n'
    both = [
        cclab.run(file, out=tmp_path / cc, repeat=2, set=["duration=1s", "trace.interval=0s"])
        for cc in ("cubic", "reno")
        for file in [written(tmp_path, cc=cc, flow=more)]
    ]
    with pytest.raises(InputError, match=r"write traffic\.fct_p99_s or group\.fct_p99_s"):
        compare(*both, metrics="fct_p99_s")
    with pytest.raises(InputError, match=r"bottleneck has none; there is traffic\.fct_p99_s, gro"):
        compare(*both, metrics="bottleneck.fct_p99_s")


def test_explain_expects_a_share_of_the_link_for_each_of_a_group(tmp_path: Path, cli: Cli) -> None:
    file = written(tmp_path)
    (told,) = cclab.Study.load(file).explain()
    # Twelve of thirteen flows, of what of 1 Gbit/s is payload.
    payload = max(limit.bps for limit in told.flows[0].limits if limit.name == "link")
    assert told.flows[0].expected_bps == pytest.approx(payload / 13)
    assert (told.flows[0].binds, told.flows[0].bottleneck) == ("share", "bottleneck")
    assert 0.9e9 < payload < 1e9
    (group,) = told.groups
    assert group.expected_sum_bps == pytest.approx(12 * payload / 13)
    shown = cli("explain", file)
    assert "each of 12 of s" in shown.stdout
    assert "s.7" not in shown.stdout
    assert "more links" not in shown.stdout
    assert "(12 links)" in shown.stdout
    assert "s.12.left.access" in cli("explain", file, "--all").stdout


def test_figures_of_groups(incast: Results) -> None:
    names = [kind.name for kind in figures.FIGURES if figures.draw(incast, kind.name) is not None]
    assert {"completion", "groups"} <= set(names)
    drawn = figures.draw(incast, "completion")
    assert drawn is not None
    lines = [np.asarray(line.get_xdata()) for line in drawn.axes[0].get_lines()]
    line = max(lines, key=len)
    seconds = [flow["fct_s"] for run in incast.runs for flow in run.metrics["flows"][:12]]
    assert line.max() == pytest.approx(1e3 * max(seconds))
    assert len(line) == 36 + 1
    bars = figures.draw(incast, "groups")
    assert bars is not None
    found = incast.summaries[0].groups[0].estimates["goodput_sum_bps"]
    assert found is not None
    bar = bars.axes[0].patches[0]
    assert isinstance(bar, Rectangle)
    assert bar.get_height() == pytest.approx(found.mean / 1e6)


def test_what_is_no_group_is_refused(tmp_path: Path, cli: Cli) -> None:
    file = written(tmp_path, flow='group = "other"')
    shown = cli("run", file, "--out", tmp_path / "out")
    assert shown.returncode == WRONG_INPUT
    assert "incast.toml:16:9" in shown.stderr
    assert "the group `other` has the name of a flow that is not in it" in shown.stderr


LOT = """
duration = "3s"
network.topology = "parking-lot"
network.bottlenecks = 2
network.bottleneck = { rate = "5Mbit", delay = "5ms", queue = { limit = "50p" } }
flow = [
    { name = "both", crosses = [1, 2] },
    { name = "left", crosses = [1, 1], group = "ONE" },
    { name = "right", crosses = [2, 2], group = "TWO" },
    { name = "again", crosses = [2, 2], group = "TWO" },
]
"""


def test_shares_of_different_bottlenecks_do_not_add_up(tmp_path: Path) -> None:
    def shares(one: str, two: str) -> list[float | None]:
        file = tmp_path / "study.toml"
        file.write_text(LOT.replace("ONE", one).replace("TWO", two))
        (point,) = cclab.run(file, out=tmp_path / f"{one}-{two}").summaries
        estimates = [group.estimates["share"] for group in point.groups]
        return [None if one is None else one.mean for one in estimates]

    # Each of the two has most of its own bottleneck.
    assert shares("ends", "ends") == [None]
    left, right = shares("left", "right")
    assert left is not None
    assert right is not None
    assert max(left, right) <= 1
