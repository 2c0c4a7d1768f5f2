"""Flows of several bottlenecks: shares and Jain's index are of each of them, never of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import cclab
from cclab import metrics
from cclab.plan import Named
from cclab.plan.measures import value_of
from cclab.queries import query
from cclab.report import tables

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

LOT = """\
title = "A flow across all links, and groups of flows on each"
duration = "4s"
repeat = 2
[network]
topology = "parking-lot"
bottlenecks = 3
[network.bottleneck]
rate = "10Mbit"
delay = "2ms"
queue = { limit = "1bdp" }
[[flow]]
name = "long"
[[flow]]
name = "first"
group = "short"
crosses = [1, 1]
[[flow]]
name = "second"
group = "short"
crosses = [2, 2]
[[flow]]
name = "third"
group = "short"
crosses = [3, 3]
[[flow]]
name = "last"
group = "pair"
count = 2
crosses = [3, 3]
[sweep]
"flow.cc" = ["reno", "cubic"]
"""

APART = """\
title = "Two flows on each of two links, one on a third"
duration = "3s"
[network]
topology = "parking-lot"
bottlenecks = 3
[network.bottleneck]
rate = "10Mbit"
delay = "2ms"
queue = { limit = "1bdp" }
[[flow]]
name = "first"
count = 2
crosses = [1, 1]
[[flow]]
name = "second"
count = 2
crosses = [2, 2]
[[flow]]
name = "alone"
crosses = [3, 3]
[trace]
interval = "0s"
[sweep]
"flow.cc" = ["reno", "cubic"]
"""


@pytest.fixture(scope="module")
def lot(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("lot")
    file = folder / "lot.toml"
    file.write_text(LOT)
    return cclab.run(file, out=folder / "out")


def test_shares_of_different_links_do_not_add_up(lot: Results) -> None:
    for point in lot.summaries:
        shares = {group.name: group.estimates["share"] for group in point.groups}
        assert shares["short"] is None
        own = [flow.share.mean for flow in point.flows if flow.share and flow.group == "pair"]
        assert len(own) == 2
        assert shares["pair"] is not None
        assert shares["pair"].mean == pytest.approx(sum(own))
        assert 0 < shares["pair"].mean < 1
    shown = tables.groups(lot)
    assert shown is not None
    column = shown.headings.index("share")
    assert all(row[column] == "–" for row in shown.groups[0] if "short" in row)
    for run in lot.runs:
        assert value_of(run.metrics, Named("", {"group": "short"}, "share")) is None
        of_pair = value_of(run.metrics, Named("", {"group": "pair"}, "share"))
        assert of_pair == metrics.group_share(run.metrics, "pair")


def test_a_query_and_a_comparison_have_the_share_of_a_group(lot: Results) -> None:
    told = {
        (run.run.id, group): metrics.group_share(run.metrics, group)
        for run in lot.runs
        for group in ("short", "pair")
    }
    asked = query(lot.store.path, table="groups", columns=["run", "name", "group.share"])
    assert {(run, name): share for run, name, share in asked.rows()} == told
    compared = cclab.compare(lot, lot, metrics=["group.share"])
    of_groups = {group.name: group.metrics for match in compared.points for group in match.groups}
    assert of_groups["short"] == []
    (row,) = of_groups["pair"]
    assert row.metric.path == "group.share"
    assert row.difference is not None
    assert 0 < row.difference.a.mean < 1


def test_jains_index_is_of_the_flows_of_each_link_without_samples_too(tmp_path: Path) -> None:
    file = tmp_path / "apart.toml"
    file.write_text(APART)
    results = cclab.run(file, out=tmp_path / "out")
    [axes] = results.figure("jain").axes
    assert [text.get_text() for text in axes.texts] == ["1/2 = 0.5: one flow has all"]
    drawn = [line for line in axes.lines if line.get_marker() in ("o", "s", "^")]
    # The flow that is alone on the third link has no index.
    assert len(drawn) == 4
    own = {
        flow["bottleneck_jain"]
        for run in results.runs
        for flow in run.metrics["flows"]
        if flow["name"] != "alone"
    }
    assert {float(np.asarray(line.get_ydata())[0]) for line in drawn} == own
