"""The table of metrics, and what is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import cclab
from cclab import _core, metrics
from cclab.comparison.metric import DEFAULT, METRICS
from cclab.plan.study import Study
from cclab.queries import query
from cclab.report import tables
from cclab.report.quantities import Quantity

if TYPE_CHECKING:
    from cclab.measure.results import Results

ROOT = Path(__file__).parent.parent

STUDY = """
duration = "3s"
[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { limit = "1bdp" }
[[flow]]
name = "a"
group = "both"
[[flow]]
name = "b"
group = "both"
[[traffic]]
name = "web"
kind = "poisson"
load = 0.1
transfer = "30kB"
[[probe]]
name = "p"
"""
OWNERS = {
    "flow": "flow.a.",
    "group": "group.both.",
    "traffic": "traffic.web.",
    "probe": "probe.p.",
    "bottleneck": "bottleneck.",
    "run": "",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "study.toml").write_text(STUDY)
    return cclab.run(folder / "study.toml", out=folder / "out")


def _numbers(value: Any, path: str = "") -> set[str]:
    """The paths of the numbers in a document, members of lists below the list's own."""
    if isinstance(value, dict):
        joint = f"{path}." if path else ""
        return {one for key, inner in value.items() for one in _numbers(inner, joint + key)}
    if isinstance(value, list):
        return {one for inner in value for one in _numbers(inner, path.removesuffix("s"))}
    return {path} if isinstance(value, int | float) and not isinstance(value, bool) else set()


def test_every_number_of_a_run_has_a_row(results: Results) -> None:
    rows = json.loads(_core.metrics())
    known = {row["name"] for row in rows if not row["numbers"] or not row["numbers"][0]["told"]}
    known |= {
        f"{row['name']}.{one['told']}" for row in rows for one in row["numbers"] if one["told"]
    }
    lists = tuple(row["name"].removesuffix("s") for row in rows if row["quantity"] == "list")
    found = {path for path in _numbers(results.runs[0].metrics) if not path.startswith(lists)}
    assert found
    assert found <= known


def test_a_summary_has_exactly_the_estimates_of_the_table(results: Results) -> None:
    [point] = results.document()["summary"]
    other = {"name", "cc", "kind", "limited", "share"}
    names = {subject: {one.name for one in metrics.of(subject)} for subject in ("flow", "traffic")}
    assert point["flows"][0].keys() - other == names["flow"]
    assert point["traffic"][0].keys() - other == names["traffic"]
    assert point["bottleneck"].keys() == set(metrics.BOTTLENECK_METRICS)
    assert point.keys() >= set(metrics.RUN_METRICS)


def test_the_schema_is_the_published_one_and_holds(results: Results) -> None:
    schema = json.loads(_core.results_schema())
    assert schema == json.loads((ROOT / "docs" / "results.schema.json").read_text())
    jsonschema.validate(json.loads(json.dumps(results.document())), schema)
    document = json.loads(json.dumps(results.document()))
    del document["runs"][0]["flows"][0]["power"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


OF_STUDY = [one for one in METRICS if one.subject in OWNERS and not one.of_summary]
"""Without those of named queues, which the study has none of, and what is made of several flows."""


def test_whatever_is_estimated_can_be_expected(results: Results) -> None:
    checks = [
        f'm{nth} = "{OWNERS[metric.subject]}{metric.name} > 0"'
        for nth, metric in enumerate(OF_STUDY)
    ]
    text = STUDY + "[expect]\n" + "\n".join(checks) + "\n"
    file = results.store.path.parent / "expects.toml"
    file.write_text(text)
    plan = Study.load(file).plan()
    assert len(plan.expectations) == len(OF_STUDY)
    assert plan.baselines == ["solo", "self"]


def test_what_is_compared_by_default_has_an_order() -> None:
    places = [metric.compared for metric in DEFAULT]
    assert places == sorted(set(places))


def test_one_list_says_what_is_a_percentage() -> None:
    for metric in OF_STUDY:
        figure = Quantity(OWNERS[metric.subject] + metric.name).unit(1.0)
        assert figure[:2] == metric.unit(1.0)[:2], metric.path


def test_in_a_parking_lot_a_share_is_of_the_links_that_a_flow_crosses(tmp_path: Path) -> None:
    results = cclab.run(
        ROOT / "examples/parking-lot.toml",
        out=tmp_path / "out",
        repeat=1,
        set=["duration=12s", "warmup=4s"],
    )
    asked = query(results.store.path, table="flows", columns=["name", "share"])
    told: list[tuple[str, float | None]] = []
    for run in results.runs:
        goodput = {one["name"]: one["window_goodput_bps"] for one in run.metrics["flows"]}
        shares = dict(zip(goodput, metrics.shares(run.metrics), strict=True))
        with_long = {name: goodput["long"] + goodput[name] for name in ("first", "second", "third")}
        for name, of_all in with_long.items():
            assert shares[name] == pytest.approx(goodput[name] / of_all)
        assert shares["long"] == pytest.approx(goodput["long"] / max(with_long.values()))
        told += shares.items()
    rows = dict(enumerate(sorted(asked.rows())))
    for place, (name, share) in enumerate(sorted(told)):
        assert rows[place] == (name, pytest.approx(share))
    assert "Jain there" in tables.plain(results)
