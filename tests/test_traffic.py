"""Cross traffic from the study file to the document, the tables, the page and the trace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

import cclab
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from cclab.report import page, tables, write
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

STUDY = """\
title    = "Short transfers and a ping on a slow link"
duration = "5s"
repeat   = 2

[network.bottleneck]
rate  = "10Mbit"
delay = "10ms"
queue = { limit = "1bdp" }

[[flow]]
name = "bulk"
cc   = "reno"

[[traffic]]
name  = "web"
kind  = "poisson"
load  = 0.2
sizes = { kind = "empirical", file = "sizes.csv" }

[[traffic]]
name = "ping"
kind = "ping-flood"

[trace]
events = ["drop"]

[sweep]
"traffic.web.load" = [0, 0.2]

[expect]
small = "traffic.ping.rtt_mean_s < 1"
"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Four runs, two of them with transfers of two sizes."""
    folder = tmp_path_factory.mktemp("traffic")
    (folder / "sizes.csv").write_text("size,cdf\n5000,0.9\n5001,0.9\n50000,1\n")
    (folder / "study.toml").write_text(STUDY)
    return cclab.run(folder / "study.toml", out=folder / "out")


def test_the_document_fits_its_schema(busy: Results) -> None:
    schema = json.loads((ROOT / "docs" / "results.schema.json").read_text())
    document = json.loads(json.dumps(busy.document(), allow_nan=False))
    jsonschema.validate(document, schema)
    without, with_web = document["runs"][0], document["runs"][2]
    # A load of zero is no traffic.
    assert [source["name"] for source in without["traffic"]] == ["ping"]
    assert [source["name"] for source in with_web["traffic"]] == ["web", "ping"]
    web, ping = with_web["traffic"]
    assert web["transfers"]["started"] >= web["transfers"]["ended"] > 20
    assert web["transfers"]["slowdown"]["median"] >= 1
    assert [c["up_to_bytes"] for c in web["transfers"]["classes"]] == [10_000, 100_000]
    assert web["delay_mean_s"] is None
    assert ping["transfers"] is None
    assert 0.020 < ping["rtt_mean_s"] < 0.100
    assert not busy.failures


def test_every_transfer_is_in_the_trace(busy: Results) -> None:
    transfers = busy.samples(2, "transfers")
    ended = transfers.drop_nulls("end_s")
    counted = busy.document()["runs"][2]["traffic"][0]["transfers"]
    assert (transfers.height, ended.height) == (counted["started"], counted["ended"])
    assert (ended["end_s"] - ended["start_s"]).mean() == pytest.approx(counted["fct_s"]["mean"])
    assert set(transfers["source"]) == {"web"}
    lost = set(busy.samples(2, "drops")["flow"])
    assert lost <= {"bulk", "web", "ping"}
    assert {"bulk", "web"} <= lost
    assert busy.samples(2, "traffic")["name"].to_list() == ["web", "ping"]


def test_tables_and_page_show_it(busy: Results, tmp_path: Path) -> None:
    shown = tables.traffic(busy)
    assert shown is not None
    assert [row[1] for group in shown.groups for row in group] == ["ping", "web", "ping"]
    assert "poisson" in tables.markdown(busy)
    assert "ping-flood" in tables.plain(busy)
    # Its rate is the path's answer, not the study's.
    note = "A ping flood has no rate of its own"
    assert note in tables.plain(busy)
    assert note in tables.markdown(busy)
    html = page.html(busy, page.Drawn([], []))
    assert "<h2>Cross traffic</h2>" in html
    assert note in html
    assert "Flow completion time" in html
    write(busy, tmp_path)
    assert "fct_p99_s" in (tmp_path / "traffic.csv").read_text()


def test_results_without_traffic_show_none(results: Results) -> None:
    assert tables.traffic(results) is None
    assert not tables.floods(results)
    assert "traffic" not in results.document()["runs"][0]
    assert "<h2>Cross traffic</h2>" not in page.html(results, page.Drawn([], []))


def test_traffic_alone_is_a_study(tmp_path: Path) -> None:
    study = tmp_path / "alone.toml"
    study.write_text(
        "duration = '2s'\n"
        "network.bottleneck = { rate = '10Mbit', queue = { limit = '100p' } }\n"
        "[[traffic]]\nkind = 'random'\nload = 0.5\n"
    )
    alone = cclab.run(study, out=tmp_path / "out").document()["runs"][0]
    assert alone["flows"] == []
    assert alone["jain"] is None
    assert alone["bottleneck"]["utilization"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("name", ["second-gateway", "parking-lot"])
def test_examples_run_as_written(name: str, tmp_path: Path) -> None:
    measured = cclab.run(ROOT / "examples" / f"{name}.toml", out=tmp_path / "out", repeat=1)
    assert not measured.failures
    if name == "second-gateway":
        far = [
            flow.estimates["srtt_mean_s"]
            for point in measured.summaries
            for flow in point.flows
            if flow.name == "to-amps2"
        ]
        means = [estimate.mean for estimate in far if estimate is not None]
        # Larger floods lengthen the path behind the second gateway, and that of amps1 not at all.
        assert means == sorted(means)
        assert means[-1] > means[0] + 0.001


def test_the_note_on_the_window_names_completion_times_only_of_transfers(tmp_path: Path) -> None:
    """Datagrams at a constant rate have none."""
    flow, _ = STUDY.split("[[traffic]]", 1)
    steady = '[[traffic]]\nname = "steady"\nkind = "constant-rate"\nrate = "1Mbit"\n'
    web = '[[traffic]]\nname = "web"\nkind = "poisson"\nload = 0.2\ntransfer = "20kB"\n'
    for name, more, named in (("steady", steady, False), ("web", web, True)):
        file = tmp_path / f"{name}.toml"
        file.write_text(flow.replace("repeat ", 'warmup = "1s"\nrepeat ') + more)
        results = cclab.run(file, out=tmp_path / name, repeat=1)
        told = tables.window(results)
        assert "after 1 s of warm-up" in told
        assert ("completion times of cross traffic" in told) == named


def test_a_comparison_has_cross_traffic(
    busy: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    (tmp_path / "sizes.csv").write_text("size,cdf\n5000,0.9\n5001,0.9\n50000,1\n")
    compared = cclab.compare("cubic", "reno", study=file, flows=["bulk"], out=tmp_path / "out")
    without, beside = compared.points
    # Traffic of no load is absent.
    assert [source.name for source in without.traffic] == ["ping"]
    web, ping = beside.traffic
    assert (web.name, web.kind_a, ping.name) == ("web", "poisson", "ping")
    names = [c.metric.path for c in web.metrics]
    assert names[:3] == ["traffic.fct_mean_s", "traffic.fct_median_s", "traffic.fct_p99_s"]
    # B is the study of the fixture: reno, the same seeds.
    measured = busy.summaries[1].traffic[0].estimates["fct_mean_s"]
    (fct,) = (c for c in web.metrics if c.metric.name == "fct_mean_s")
    assert measured is not None
    assert fct.difference is not None
    assert fct.difference.b.mean == measured.mean
    assert fct.difference.a.mean != measured.mean
    # Each kind has what it has.
    assert [c.metric.name for c in ping.metrics] == ["delay_mean_s", "loss_rate", "rtt_mean_s"]
    document = json.loads(json.dumps(compared.document()))
    jsonschema.validate(document, json.loads((ROOT / "docs/compare.schema.json").read_text()))
    assert document["points"][1]["traffic"][0]["metrics"]["slowdown_mean"]["b"]["n"] == 2

    folders = [str(tmp_path / "out" / side) for side in ("cubic", "reno")]
    capsys.readouterr()
    assert invoke(["compare", *folders, "--metric", "traffic.rtt_p95_s"]) == DONE
    told = capsys.readouterr().out
    assert told.count("rtt p95 (ms)") == 2  # of the ping, at either point, and of no flow
