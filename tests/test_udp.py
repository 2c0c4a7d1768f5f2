"""Flows over UDP from the study file to the document, the tables, the pages and the captures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

import cclab
import judges
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from cclab.explain import explain
from cclab.report import tables, write
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

STUDY = """\
duration = "10s"

[network.bottleneck]
rate  = "10Mbit"
delay = "10ms"
queue = { limit = "60kB" }

[[flow]]
name = "bulk"
cc   = "reno"

[[flow]]
name        = "call"
transport   = "udp"
application = { kind = "video", i_frame = "24kB", p_frame = "6kB" }
start       = "0s"

[[flow]]
name        = "back"
transport   = "udp"
direction   = "reverse"
application = { kind = "constant-rate", rate = "1Mbit", payload = "1000B" }
start       = "0s"

[trace]
capture = ["back.receiver", "bottleneck"]
snaplen = "1500B"
events  = ["drop"]

[expect]
still = "flow.back.datagrams_goodput_bps > 9e5"
seen  = "flow.call.frames_sent > 250"
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A run of TCP, a video, and datagrams the other way."""
    folder = tmp_path_factory.mktemp("udp")
    study = folder / "study.toml"
    study.write_text(STUDY)
    return cclab.run(study, out=folder / "out")


def test_a_document_has_of_datagrams_what_they_have(mixed: Results) -> None:
    document = mixed.document()
    jsonschema.validate(document, json.loads((ROOT / "docs/results.schema.json").read_text()))
    bulk, call, back = document["runs"][0]["flows"]
    assert [flow["transport"] for flow in (bulk, call, back)] == ["tcp", "udp", "udp"]
    for flow in (call, back):
        absent = ("cc", "cc_in_force", "bytes_acked", "segments_sent", "retransmits", "rtos")
        assert {flow[key] for key in (*absent, "srtt_mean_s", "rtt_min_s")} == {None}
        assert flow["limited"] is None
    assert bulk["datagrams"] is bulk["frames"] is back["frames"] is None
    # 8,000 bits of payload and 42 bytes beside them take 0.8336 ms, the way 10 ms; then it waits
    # for acknowledgements of the other way, of 66 bytes.
    delays = back["datagrams"]
    assert 0.0108336 <= delays["delay_mean_s"] < 0.0110
    assert back["goodput_bps"] == pytest.approx(1e6, rel=2e-3)
    frames = call["frames"]
    assert frames["sent"] in (300, 301)
    assert frames["complete"] <= frames["sent"] - frames["lost"]
    assert call["bytes_received"] == call["datagrams"]["bytes_received"]
    assert all(check["met"] for check in document["expectations"])


def test_tables_have_columns_for_datagrams_and_none_of_tcp_for_them(mixed: Results) -> None:
    rows = mixed.flows.to_dicts()
    assert [row["datagrams_loss"] is None for row in rows] == [True, False, False]
    assert [row["limited_cwnd"] is None for row in rows] == [False, True, True]
    summary = mixed.summaries[0]
    assert [flow.kind for flow in summary.flows] == ["reno", "udp", "udp"]
    assert [flow.limited_by is None for flow in summary.flows] == [False, True, True]


def test_after_a_warm_up_tables_tell_of_datagrams_that_left_after_it(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(f'warmup = "4s"\n{STUDY}'.partition("[expect]")[0])
    results = cclab.run(study, out=tmp_path / "out", repeat=1)
    document = results.document()
    jsonschema.validate(document, json.loads((ROOT / "docs/results.schema.json").read_text()))
    bulk, call, back = document["runs"][0]["flows"]
    assert bulk["window_datagrams"] is None
    # Of 10 s of 125 datagrams and 30 frames a second, 6 s.
    assert back["datagrams"]["sent"] == pytest.approx(1_250, abs=1)
    assert back["window_datagrams"]["sent"] == pytest.approx(750, abs=1)
    assert call["window_frames"]["sent"] in (180, 181)
    row = results.summaries[0].flows[1]
    loss = row.estimate("datagrams_loss")
    assert loss is not None
    assert loss.mean == call["window_datagrams"]["loss"]
    assert "loss and delay of datagrams" in tables.window(results)
    told = results.samples(0, "datagrams").filter(flow="back")
    assert told["sent"].to_list() == [back[of]["sent"] for of in ("datagrams", "window_datagrams")]


def test_the_report_and_the_command_line_show_them(
    mixed: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(mixed, tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    assert "one-way delay" in page
    assert "freezes" in page
    assert invoke(["query", str(mixed.store.path), "--json"]) == DONE
    assert "datagrams_loss" in capsys.readouterr().out


def test_explain_expects_what_the_source_sends(mixed: Results) -> None:
    found = explain(mixed.plan.points[0].scenario)
    _, call, back = found.flows
    assert (back.cc, back.binds) == ("udp", "application")
    assert back.expected_bps == pytest.approx(1e6)
    # (24 kB + 29 * 6 kB) / 30, thirty times a second.
    assert call.expected_bps == pytest.approx(198_000 * 8)
    assert back.rwnd_bytes is None


def test_a_capture_has_headers_of_udp(mixed: Results) -> None:
    [capture] = mixed.store.path.rglob("back.receiver.pcapng")
    rows = judges.packets(capture, "ip.proto", "udp.length", "udp.dstport", "frame.len", only="udp")
    received = mixed.runs[0].metrics["flows"][2]["datagrams"]["received"]
    assert rows == [["17", "1008", "5003", "1028"]] * received


def test_what_tcp_alone_has_is_refused_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace('start       = "0s"', 'rwnd = "1MB"', 1))
    assert invoke(["plan", str(study)]) == 2
    told = capsys.readouterr().err
    assert "study.toml:16:8: `rwnd` of a flow over UDP; leave it out: only TCP has it" in told
