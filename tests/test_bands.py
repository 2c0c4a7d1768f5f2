"""Named queues of a discipline: each has numbers of its own, in traces, tables and checks."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import polars as pl
import pytest

import cclab
from cclab.cli.exits import WRONG_INPUT
from cclab.queries import query
from cclab.report import figures, tables
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli

# Of docs/queues/dualpi2.md: a flow in either queue.
STUDY = """
duration = "10s"
[network.bottleneck]
rate = "40Mbit"
delay = "10ms"
queue = { kind = "KIND", limit = "10000p" }
[[flow]]
name = "scalable"
cc = "dctcp"
cc_params = { ect1 = 1 }
ecn = true
start = "0s"
[[flow]]
name = "classic"
cc = "cubic"
start = "0s"
[expect]
quick = "bottleneck.BAND.queue_delay_p99_s < 0.005"
"""


def written(folder: Path, kind: str = "dualpi2", band: str = "band.L") -> Path:
    file = folder / "two.toml"
    file.write_text(STUDY.replace("KIND", kind).replace("BAND", band))
    return file


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("bands")
    return cclab.run(written(folder), out=folder / "out", repeat=2)


def test_each_queue_counts_its_own_packets(results: Results) -> None:
    for run in results.runs:
        bottleneck = run.metrics["bottleneck"]
        low, classic = bottleneck["bands"]
        assert [low["name"], classic["name"]] == ["L", "C"]
        assert low["ecn_marks"] + classic["ecn_marks"] == bottleneck["ecn_marks"]
        assert low["drops"] + classic["drops"] == bottleneck["drops"]
        # CUBIC sends without ECN here: it loses, and DCTCP is marked.
        assert low["ecn_marks"] > 100
        assert (classic["ecn_marks"], low["drops"]) == (0, 0)
        assert classic["drops"] > 0
        assert low["mark_rate"] == low["ecn_marks"] / low["packets"]
        packets = low["packets"] + classic["packets"]
        waited = math.fsum(band["packets"] * band["queue_delay_mean_s"] for band in (low, classic))
        assert bottleneck["queue_delay_mean_s"] == pytest.approx(waited / packets)
        # The thresholds are 1 ms and 15 ms.
        assert low["queue_delay_mean_s"] < 0.002 < 0.01 < classic["queue_delay_mean_s"] < 0.03


def test_the_trace_has_a_row_for_each_queue(results: Results) -> None:
    bands = results.samples(0, "bands")
    ahead = bands.filter(pl.col("link") == "bottleneck")
    assert ahead["name"].to_list() == ["L", "C"]
    found = results.runs[0].metrics["bottleneck"]["bands"]
    assert ahead["packets"].to_list() == [band["packets"] for band in found]


def test_the_delay_of_each_queue_is_drawn(results: Results) -> None:
    figure = figures.draw(results, "queue-cdf")
    assert figure is not None
    (axes,) = figure.axes
    lines = dict(zip(("L", "C"), axes.get_lines(), strict=False))
    assert [text.get_text() for one in figure.legends for text in one.get_texts()] == [
        "queue L",
        "queue C",
    ]
    for place, line in enumerate(lines.values()):
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        runs = [run.metrics["bottleneck"]["bands"][place] for run in results.runs]
        ends = sorted(1e3 * run["queue_delay_p95_s"] for run in runs)
        # The axis is in milliseconds; of both runs together it is between those of either.
        found = x[np.searchsorted(y, 0.95)]
        assert 0.97 * ends[0] <= found <= 1.03 * ends[-1]
        assert y[-1] == pytest.approx(1)


def test_queues_are_compared_each_with_its_like(results: Results, tmp_path: Path, cli: Cli) -> None:
    other = cclab.run(written(tmp_path), out=tmp_path / "out", repeat=2, set="flow.classic.cc=reno")
    found = cclab.compare(results, other, metrics=["band.queue_delay_p99_s", "drops"])
    (point,) = found.points
    assert [band.name for band in point.bands] == ["L", "C"]
    for place, band in enumerate(point.bands):
        (compared,) = band.metrics
        assert compared.difference is not None
        runs = [run.metrics["bottleneck"]["bands"][place] for run in results.runs]
        mean = sum(run["queue_delay_p99_s"] for run in runs) / len(runs)
        assert compared.difference.a.mean == pytest.approx(mean)
    # What a queue and the bottleneck both have is the bottleneck's where nobody says whose.
    assert [c.metric.path for c in point.whole] == ["bottleneck.drops"]
    schema = json.loads((ROOT / "docs/compare.schema.json").read_text())
    jsonschema.validate(found.document(), schema)
    shown = cli(
        "compare", results.store.path, other.store.path, "--metric", "band.queue_delay_p99_s"
    )
    assert "queue L (dualpi2)" in shown.stdout
    assert not cclab.compare(results, other).points[0].bands


def test_tables_queries_and_checks_tell_them_apart(results: Results) -> None:
    shown = tables.queues(results)
    assert shown is not None
    assert [row[0] for row in shown.groups[0]] == ["L", "C"]
    assert "queue" in shown.headings
    assert "| L |" in tables.markdown(results)
    assert not results.failures
    summary = results.document()["summary"][0]["bottleneck"]["bands"]
    assert summary[0]["queue_delay_p99_s"]["mean"] < 0.005
    columns = ["bottleneck.band.L.queue_delay_mean_s", "bottleneck.band.C.queue_delay_mean_s"]
    rows = query(results.store.path, "`bottleneck.band.C.drops` > 0", table="runs", columns=columns)
    assert rows.shape == (2, 2)
    assert (rows[columns[0]] < rows[columns[1]]).all()
    assert columns[0].replace("bottleneck.", "") in results.bottlenecks.columns


def test_after_a_warm_up_each_queue_is_told_of_the_time_after_it(tmp_path: Path) -> None:
    text = written(tmp_path).read_text()
    (tmp_path / "two.toml").write_text(f'warmup = "4s"\n{text}')
    results = cclab.run(tmp_path / "two.toml", out=tmp_path / "out", repeat=1)
    bottleneck = results.runs[0].metrics["bottleneck"]
    for band in bottleneck["bands"]:
        assert 0 < band["window_packets"] < band["packets"]
        assert band["window_queue_delay_mean_s"] != band["queue_delay_mean_s"]
    packets = math.fsum(band["window_packets"] for band in bottleneck["bands"])
    waited = math.fsum(
        band["window_packets"] * band["window_queue_delay_mean_s"] for band in bottleneck["bands"]
    )
    assert bottleneck["window_queue_delay_mean_s"] == pytest.approx(waited / packets)
    shown = tables.queues(results)
    assert shown is not None
    marks = shown.headings.index("marks")
    assert [row[marks] for row in shown.groups[0]] == [
        str(band["window_ecn_marks"]) for band in bottleneck["bands"]
    ]
    assert "all numbers of the bottleneck's queues are those after 4 s" in tables.window(results)


def test_a_single_queue_has_no_bands(tmp_path: Path, cli: Cli) -> None:
    file = written(tmp_path, kind="codel")
    shown = cli("run", file)
    assert shown.returncode == WRONG_INPUT
    assert "the bottleneck's discipline has no named queues" in shown.stderr
    file.write_text(file.read_text().partition("[expect]")[0])
    plain = cclab.run(file, out=tmp_path / "out", repeat=1, set=["duration=1s"])
    assert plain.runs[0].metrics["bottleneck"]["bands"] == []
    assert tables.queues(plain) is None
    assert figures.draw(plain, "queue-cdf") is None
