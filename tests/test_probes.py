"""Probes from the study file to the document, the tables, the figures and the trace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest

import cclab
from cclab.cli.exits import DONE, EXPECTATION_FAILED
from cclab.cli.main import invoke
from cclab.explain import explain
from cclab.report import page, tables, write
from conftest import ROOT
from drawing import told_in
from guests import results_of

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli

PACKET = 98
"""Bytes of an echo on a link: 56 of data, 28 of headers, 14 of Ethernet."""

STUDY = """\
title    = "A ping on a link that fills"
duration = "12s"
warmup   = "2s"
repeat   = 2

[network.bottleneck]
rate  = "10Mbit"
delay = "10ms"
queue = { limit = "100p" }

[[flow]]
name  = "bulk"
cc    = "cubic"
count = 1

[[probe]]
name     = "there"
interval = "50ms"

[[probe]]
name      = "back"
kind      = "udp"
direction = "reverse"
rtt       = "80ms"

[sweep]
"flow.bulk.count" = [0, 1]
"""

IDLE = """\
duration = "3s"
[network.bottleneck]
rate = "10Mbit"
delay = "20ms"
queue = { limit = "100p" }
reverse = { rate = "2Mbit" }
[[probe]]
name = "ping"
[[probe]]
name = "udp"
kind = "udp"
rtt = "60ms"
direction = "reverse"
"""


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Four runs: two on an idle path, two beside a flow."""
    folder = tmp_path_factory.mktemp("probes")
    (folder / "study.toml").write_text(STUDY)
    return cclab.run(folder / "study.toml", out=folder / "store")


def probe(results: Results, name: str, run: int = 0) -> dict[str, Any]:
    """The metrics of a probe in a run."""
    found: dict[str, Any] = next(
        one for one in results.runs[run].metrics["probes"] if one["name"] == name
    )
    return found


def test_the_document_is_as_its_schema_says(probed: Results) -> None:
    schema = json.loads((ROOT / "docs" / "results.schema.json").read_text())
    document = json.loads(json.dumps(probed.document()))
    jsonschema.validate(document, schema)
    there = document["runs"][0]["probes"][0]
    assert (there["name"], there["kind"], there["packet_bytes"]) == ("there", "ping", PACKET)
    assert there["load_bps"] == pytest.approx(PACKET * 8 / 0.05)
    assert there["load_share"] == pytest.approx(PACKET * 8 / 0.05 / 10e6)
    assert document["summary"][0]["probes"][1]["rtt_p50_s"]["n"] == 2


def test_an_idle_path_is_the_closed_form_that_explain_tells(probed: Results) -> None:
    explained = probed.plan.points[0].scenario
    found = explain(explained).probes
    for one in found:
        measured = probe(probed, one.name)
        assert measured["rtt_min_s"] == pytest.approx(one.idle_rtt_s, abs=1e-9)
        assert measured["rtt_max_s"] == pytest.approx(one.idle_rtt_s, abs=1e-9)
        assert (measured["lost"], measured["jitter_s"]) == (0, 0)
        assert (one.packet_bytes, one.bottleneck_share) == (PACKET, measured["load_share"])
    assert [one.base_rtt_s for one in found] == pytest.approx([0.02, 0.08])


def test_what_was_sent_in_the_warm_up_does_not_count(probed: Results) -> None:
    samples = probed.samples(2, "probe_samples").filter(probe="there")
    counted = samples.filter(samples["sent_s"] >= 2.0)
    measured = probe(probed, "there", 2)
    known = counted.drop_nulls("rtt_s")
    assert len(samples) == 240
    assert measured["sent"] - measured["lost"] == len(known)
    assert measured["rtt_mean_s"] == pytest.approx(known["rtt_s"].mean())
    # It is one of them, to the nanosecond in which either is told.
    assert (known["rtt_s"] - measured["rtt_p50_s"]).abs().min() < 1e-9
    # A queue of 100 full packets, and the one that is being sent.
    full = 0.02 + 101 * 1514 * 8 / 10e6
    assert 0.5 * full < measured["rtt_p99_s"] <= full + 1e-3


def test_tables_pages_and_figures_have_probes(probed: Results, tmp_path: Path) -> None:
    shown = tables.probes(probed)
    assert shown is not None
    assert shown.headings[:3] == ["bulk.count", "probe", "kind"]
    assert [row[1] for group in shown.groups for row in group] == ["there", "back"] * 2
    assert "| there | ping |" in tables.markdown(probed)
    written = write(probed, tmp_path)
    text = written.read_text()
    assert "<h2>Probes</h2>" in text
    for name in ("probe-rtt", "probe-cdf"):
        assert (tmp_path / f"{name}.svg").is_file()
        assert f'id="{name}' in text or f"{name}-" in text
    assert (tmp_path / "probes.csv").read_text().count("\n") == 1 + 4 * 2
    assert page.html(probed, page.draw(probed)).count("Probes") > 1


def test_the_cdf_is_of_all_runs_after_the_warm_up(probed: Results) -> None:
    figure = probed.figure("probe-cdf")
    # Both sweep points lie in one panel: two probes of the first, then those of the second.
    [axes] = figure.axes
    assert told_in(figure)[2] == "there, bulk.count = 1"
    line = np.asarray(axes.lines[2].get_xydata())
    rtts = [probe(probed, "there", run) for run in (2, 3)]
    assert line[:, 0].max() == pytest.approx(1e3 * max(one["rtt_max_s"] for one in rtts))
    answered = sum(one["sent"] - one["lost"] for one in rtts) / sum(one["sent"] for one in rtts)
    assert line[:, 1].max() == pytest.approx(answered)


def test_round_trips_of_a_sweep_have_one_scale(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    sweep = '[sweep]\n"network.bottleneck.queue.limit" = ["2p", "100p"]\n'
    file.write_text(STUDY.split("[sweep]")[0].replace("80ms", "20ms") + sweep)
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    quick, slow = results.figure("probe-rtt").axes
    assert slow.get_ylim() == quick.get_ylim()
    assert slow.get_yscale() == quick.get_yscale() == "log"
    [cdf] = results.figure("probe-cdf").axes
    assert cdf.get_xscale() == "log"


def test_round_trips_are_drawn_in_the_unit_of_their_scale(tmp_path: Path) -> None:
    file = tmp_path / "near.toml"
    file.write_text(IDLE.replace("20ms", "20us").replace("60ms", "600us").replace("2Mbit", "1Gbit"))
    near = cclab.run(file, out=tmp_path / "out", repeat=1, set="network.bottleneck.rate=1Gbit")
    longest = max(one["rtt_max_s"] for one in near.runs[0].metrics["probes"])
    over_time, cdf = near.figure("probe-rtt").axes[0], near.figure("probe-cdf").axes[0]
    assert over_time.get_ylabel() == cdf.get_xlabel() == "round trip (µs)"
    drawn = max(np.asarray(line.get_ydata(), dtype=float).max() for line in over_time.lines)
    assert drawn == pytest.approx(1e6 * longest)


def test_queries_and_comparisons_know_probes(probed: Results, tmp_path: Path) -> None:
    folder = probed.store.path
    slow = cclab.query(folder, "probe.rtt_p99_s > 50ms and kind == 'ping'", table="probes")
    assert slow["name"].to_list() == ["there", "there"]
    assert "rtt_p95_s" in slow.columns
    file = tmp_path / "short.toml"
    file.write_text(STUDY.replace('"100p"', '"20p"'))
    other = cclab.run(file, out=tmp_path / "short")
    found = cclab.compare(probed, other, metrics=["probe.rtt_p50_s"])
    rows = found.points[1].probes
    assert [row.name for row in rows] == ["there", "back"]
    changes = [row.metrics[0].difference for row in rows]
    assert all(change is not None and change.absolute.mean < 0 for change in changes)
    schema = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    jsonschema.validate(json.loads(json.dumps(found.document())), schema)


def test_expectations_and_rules_of_repeats_name_probes(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    checks = '[expect]\nlow = "probe.ping.rtt_p95_s < 0.0405"\nhigh = "probe.udp.rtt_p50_s > 1"\n'
    file.write_text(IDLE + checks)
    done = cli(
        "run",
        file,
        "--out",
        tmp_path / "out",
        "--repeat",
        "until ci95(probe.ping.rtt_mean_s) < 2%, at most 3, at least 2",
    )
    assert done.returncode == EXPECTATION_FAILED
    assert "high: probe.udp.rtt_p50_s > 1" in done.stderr
    assert "low: probe" not in done.stderr


@pytest.mark.parametrize(
    ("wrong", "place", "message"),
    [
        ('interval = "1us"', "9:12", "a probe every 1us is a flood"),
        ('payload = "2kB"', "9:11", "does not fit one packet"),
        ('kind = "udp"\npayload = "2B"', "10:11", "cannot say which echo it is"),
        ('stop = "0s"', "9:8", "stops at"),
        ('start = "9s"', "9:9", "begins at 9s, but the run ends at 3s"),
        ('kind = "tcp"', "9:8", "tcp"),
        ('rtt = "1ms"', "9:7", "shorter than the path's own"),
        ("crosses = [1, 2]", "9:11", "belongs to a parking lot"),
        ('cc = "bbr"', "9:1", "cc"),
    ],
)
def test_wrong_probes_are_refused_at_their_place(
    cli: Cli, tmp_path: Path, wrong: str, place: str, message: str
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(IDLE.replace('name = "ping"\n', f'name = "ping"\n{wrong}\n'))
    told = cli("plan", file)
    assert told.returncode == 2
    assert f"{file}:{place}:" in told.stderr, told.stderr
    assert message in told.stderr
    assert "Traceback" not in told.stderr


def test_a_name_is_unique_among_flows_and_probes(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(IDLE + '[[flow]]\nname = "ping"\n')
    told = cli("plan", file)
    assert told.returncode == 2
    assert "the name `ping` is taken" in told.stderr
    file.write_text(IDLE + '[expect]\nx = "probe.pnig.rtt_p50_s < 1"\n')
    assert "did you mean `ping`" in cli("plan", file).stderr


def test_explain_tells_what_a_probe_adds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(IDLE)
    assert invoke(["explain", str(file)]) == DONE
    told = capsys.readouterr().out
    assert "3.92 kbit/s" in told  # 98 bytes every 200 ms
    assert "40.4704 ms" in told  # 40 ms, 78.4 us at 10 Mbit/s and 392 us at 2 Mbit/s
    assert "0.20%" in told  # of the slower direction


# On the kernel


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("topology", ["dumbbell", "chain", "parking-lot"])
def test_the_kernel_measures_an_idle_path_as_the_simulator_does(
    tmp_path: Path, topology: str
) -> None:
    # A parking lot has three such links in a row.
    study = IDLE.replace('rtt = "60ms"', 'rtt = "160ms"') + f'[network]\ntopology = "{topology}"\n'
    kernel = results_of(tmp_path, study)
    simulated = cclab.run(tmp_path / "study.toml", out=tmp_path / "sim", backend="sim")
    for name in ("ping", "udp"):
        real, model = probe(kernel, name), probe(simulated, name)
        assert (real["sent"], real["lost"]) == (model["sent"], 0)
        # The kernel's delays are whole multiples of 64 ns.
        assert real["rtt_min_s"] == pytest.approx(model["rtt_min_s"], abs=1e-6)
        assert real["rtt_max_s"] == pytest.approx(model["rtt_max_s"], abs=1e-6)
        assert real["packet_bytes"] == model["packet_bytes"]
    samples = kernel.samples(0, "probe_samples").filter(probe="ping")
    assert samples["sent_s"].to_list()[:3] == pytest.approx([0, 0.2, 0.4])


LOADED = """\
duration = "60s"
[network.bottleneck]
rate = "10Mbit"
delay = "20ms"
queue = { limit = "200p" }
[[flow]]
name = "a"
cc = "reno"
start = "0s"
"""
PROBES = (
    '[[probe]]\nname = "there"\ninterval = "20ms"\n[[probe]]\nname = "back"\nkind = "udp"\n'
    + ('direction = "reverse"\ninterval = "20ms"\n')
)


@pytest.mark.usefixtures("kernel")
def test_a_probe_on_the_kernel_takes_no_more_than_its_own_bytes(tmp_path: Path) -> None:
    alone = results_of(tmp_path / "alone", LOADED)
    beside = results_of(tmp_path / "beside", LOADED + PROBES)
    before, after = (r.runs[0].metrics["flows"][0]["bytes_received"] for r in (alone, beside))
    # Each puts a packet on the bottleneck every 20 ms, as a request or as an answer.
    taken = 2 * PACKET * 60 / 0.02
    # An echo that finds the queue full has a segment lost beside it sooner or later; the queue is
    # deep enough for the link never to be idle, but a loss more or less moves one window's bytes.
    assert before - after < taken + 300 * 1448
    there = probe(beside, "there")
    waited = beside.runs[0].metrics["bottleneck"]["queue_delay_mean_s"]
    idle = 0.04 + 2 * PACKET * 8 / 10e6
    assert there["rtt_mean_s"] - idle == pytest.approx(waited, rel=0.1)


@pytest.mark.usefixtures("kernel")
def test_the_kernel_has_ways_back_of_another_rate_and_delay(tmp_path: Path) -> None:
    study = (
        'duration = "4s"\n[network.bottleneck]\nrate = "20Mbit"\ndelay = "5ms"\n'
        'queue = { limit = "50ms" }\nschedule = { at = "2s", delay = "10ms" }\n'
        'reverse = { rate = "4Mbit", delay = "30ms" }\n'
        '[[flow]]\nname = "up"\n[[flow]]\nname = "down"\ndirection = "reverse"\n'
        '[[probe]]\nname = "ping"\ninterval = "100ms"\nstop = "300ms"\n'
    )
    kernel = results_of(tmp_path, study)
    simulated = cclab.run(tmp_path / "study.toml", out=tmp_path / "sim", backend="sim")
    for name, most in (("up", 20e6), ("down", 4e6)):
        for results in (kernel, simulated):
            flow = next(f for f in results.runs[0].metrics["flows"] if f["name"] == name)
            assert 0.5 * most < flow["throughput_bps"] < most, (name, flow["throughput_bps"])
    first = [r.samples(0, "probe_samples")["rtt_s"][0] for r in (kernel, simulated)]
    assert first[0] == pytest.approx(first[1], abs=2e-6)
    links = {row["name"]: row for row in kernel.samples(0, "links").iter_rows(named=True)}
    assert links["bottleneck.reverse"]["rate_bps"] == 4_000_000
