"""Questions that name the keys of a sweep as the study writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.errors import InputError
from cclab.queries import kinds, query

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from cclab.queries.question import Table

STUDY = """
duration = "2s"

[network.bottleneck]
rate  = "5Mbit"
queue = { limit = "20p" }

[[flow]]
name  = "my-flow"
cc    = "reno"
count = 2

[[flow]]
name  = "x"
start = "100ms"

[sweep]
"flow.x.cc"          = ["bbr", "cubic"]
"flow.rtt"           = ["20ms", "40ms"]
"flow.my-flow.count" = [1, 2]
"network.bottleneck.queue.limit" = ["1bdp", "20p"]
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("swept")
    (folder / "swept.toml").write_text(STUDY)
    return cclab.run(folder / "swept.toml", out=folder / "store")


def _planned(results: Results, **wanted: object) -> set[str]:
    """The runs that the plan's own file has at points of these values."""
    points = json.loads((results.store.path / "plan.json").read_text())["points"]
    keys = {"cc": "flow.x.cc", "rtt": "flow.rtt", "count": "flow.my-flow.count"}
    return {
        run["id"]
        for point in points
        for run in point["runs"]
        if all(point["params"][keys[key]] == value for key, value in wanted.items())
    }


@pytest.mark.parametrize("table", ["runs", "flows"])
def test_swept_keys_choose_runs_as_the_plan_has_them(swept: Results, table: Table) -> None:
    store = swept.store.path
    for condition, wanted in (
        ("flow.x.cc == 'bbr'", {"cc": "bbr"}),
        ("x.cc == 'bbr'", {"cc": "bbr"}),
        ("x.cc == 'bbr' and `flow.my-flow.count` > 1", {"cc": "bbr", "count": 2}),
    ):
        rows = query(store, condition, columns="run", table=table)
        assert set(rows["run"]) == _planned(swept, **wanted), condition
    rows = query(store, "flow.rtt > 30ms", columns="run", table=table)
    assert set(rows["run"]) == _planned(swept, rtt="40ms")


def test_swept_keys_are_columns_and_groups(swept: Results) -> None:
    store = swept.store.path
    rows = query(store, columns="run,flow.x.cc,flow.rtt,`flow.my-flow.count`", table="runs")
    assert rows.columns == ["run", "flow.x.cc", "flow.rtt", "flow.my-flow.count"]
    for run, cc, rtt, count in rows.rows():
        of_point = {"cc": cc, "rtt": f"{1000 * rtt:g}ms", "count": count}
        assert run in _planned(swept, **of_point)
    groups = query(store, group_by="flow.x.cc,flow.rtt", columns="jain", table="runs")
    assert [(cc, rtt, n) for cc, rtt, n, *_ in groups.rows()] == [
        (cc, rtt, 4) for cc in ("bbr", "cubic") for rtt in (0.02, 0.04)
    ]


def test_a_swept_key_with_a_column_of_its_own_is_that_column(swept: Results) -> None:
    """The limit in bytes is what the run had, whatever the study called it."""
    columns = "queue.limit,network.bottleneck.queue.limit,bottleneck.queue.limit,x.cc"
    for a, b, c, _ in query(swept.store.path, columns=columns).rows():
        assert a == b == c


def test_swept_keys_are_listed_and_named_where_they_are_misspelt(swept: Results) -> None:
    store = swept.store.path
    listed = kinds(store)
    assert listed["flow.x.cc"] == "text"
    assert listed["flow.my-flow.count"] == "number"
    assert kinds(store, "runs")["flow.rtt"] == "number, seconds"
    with pytest.raises(InputError, match=r"no column `flow\.x\.c`; did you mean `flow\.x\.cc`"):
        query(store, "flow.x.c == 'bbr'")
    with pytest.raises(InputError, match="a time does not go with a rate"):
        query(store, "flow.rtt > 1Mbit and x.cc == 'bbr'", table="runs")


def test_a_run_in_no_plan_has_none_of_its_keys(swept: Results, tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text(STUDY[: STUDY.index("[sweep]")] + '[sweep]\n"flow.x.cc" = ["vegas", "lp"]\n')
    cclab.run(file, out=tmp_path / "store")
    cclab.run(file, out=tmp_path / "store", set=["duration=1s", 'sweep.flow.rtt=["9ms", "99ms"]'])
    store = tmp_path / "store"
    rows = query(store, columns="run,flow.x.cc,flow.rtt,duration", table="runs", pool=True)
    assert {rtt for _, _, rtt, duration in rows.rows() if duration == 2} == {None}
    assert {rtt for _, _, rtt, duration in rows.rows() if duration == 1} == {0.009, 0.099}
    assert {cc for _, cc, *_ in rows.rows()} == {"vegas", "lp"}


def test_keys_that_differ_in_capitals_are_two(tmp_path: Path) -> None:
    study = STUDY.replace('name  = "x"', 'name  = "A"').replace('"my-flow"', '"a"')
    swept = '[sweep]\n"flow.A.cc" = ["bbr", "cubic"]\n"flow.a.cc" = ["reno", "vegas"]\n'
    (tmp_path / "two.toml").write_text(study[: study.index("[sweep]")] + swept)
    store = cclab.run(tmp_path / "two.toml", out=tmp_path / "store").store.path
    runs = query(store, "flow.A.cc == 'bbr' and flow.a.cc == 'vegas'", table="runs")
    assert runs.height == 1
    assert {"flow.A.cc", "flow.a.cc"} <= {*kinds(store)}
