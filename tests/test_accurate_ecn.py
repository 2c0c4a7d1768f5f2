"""Counts of marks (RFC 9768) between simulated hosts, as other programs read them in captures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cclab
import judges

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

STUDY = """
duration = "4s"
[network.bottleneck]
rate = "20Mbit"
delay = "5ms"
{bottleneck}
queue = {{ kind = "dualpi2", limit = "1000p" }}
[[flow]]
name = "a"
cc = "{cc}"
ecn = {ecn}
[trace]
capture = ["a.sender", "a.receiver"]
"""


def run(folder: Path, *, cc: str = "prague", ecn: str = '"accecn"', bottleneck: str = "") -> Path:
    study = folder / "study.toml"
    study.write_text(STUDY.format(cc=cc, ecn=ecn, bottleneck=bottleneck))
    cclab.run(study, out=folder / "out")
    (capture,) = (folder / "out/captures").glob("*/a.sender.pcapng")
    return capture


CE = "3"
ECT1 = "1"
NOT_ECT = "0"


def test_tshark_counts_the_marks_that_the_receiver_told(tmp_path: Path) -> None:
    at_sender = run(tmp_path)
    at_receiver = at_sender.with_name("a.receiver.pcapng")
    data = judges.packets(at_receiver, "ip.dsfield.ecn", "tcp.len", only="tcp.srcport==40000")
    marked = [int(length) for codepoint, length in data if codepoint == CE]
    assert len(marked) > 20
    assert {codepoint for codepoint, _ in data} == {ECT1, CE}
    syn = ("tcp.flags.ae", "tcp.flags.cwr", "tcp.flags.ece", "ip.dsfield.ecn")
    assert judges.packets(at_sender, *syn, only="tcp.flags.syn==1 && tcp.flags.ack==0") == [
        ["1", "1", "1", ECT1]
    ]
    told = judges.packets(
        at_receiver,
        "tcp.flags.ace",
        "tcp.options.acc_ecn.eceb",
        only="tcp.srcport==5001 && tcp.flags.syn==0",
    )
    assert int(told[-1][0]) == (5 + len(marked)) % 8
    assert int([counted for _, counted in told if counted][-1]) == sum(marked)
    malformed = judges.packets(at_sender, "frame.number", only="_ws.malformed")
    assert malformed == []


def test_analyze_and_verify_know_counts_from_echoes(tmp_path: Path, cli: Cli) -> None:
    for cc, ecn in (("prague", '"accecn"'), ("cubic", '"accecn"'), ("cubic", "true")):
        folder = tmp_path / f"{cc} {ecn.strip(chr(34))}"
        folder.mkdir()
        capture = run(folder, cc=cc, ecn=ecn)
        verified = json.loads(cli("verify", folder / "out", "--json").stdout)
        (echoes,) = [row for row in verified["numbers"] if row["number"] == "ecn_echoes"]
        assert (echoes["compared"], echoes["agree"]) == (1, 1)
        there, back = cclab.analyze(capture).connections.rows(named=True)
        assert there["ecn"] is True
        assert back["ece_packets"] > 0
        assert (there["cwr_packets"] > 0) == (ecn == "true")
        assert there["ece_packets"] == 0


@pytest.mark.parametrize("backend", ["linux", "netns"])
def test_kernels_that_do_not_count_say_so(tmp_path: Path, cli: Cli, backend: str) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(cc="cubic", ecn='"accecn"', bottleneck='remark = "bleach"'))
    told = cli("plan", study, "--backend", backend).stderr
    assert 'ecn "accecn" (Linux counts marks from 6.18 on); --backend sim has it' in told
    assert ("codepoints of ECN that are changed" in told) == (backend == "netns")
    prague = cli("plan", study, "--backend", backend, "--set", "flow.a.cc=prague").stderr
    assert "variant prague (the kernel has: " in prague


def test_a_path_that_bleaches_is_one_without_marks(tmp_path: Path) -> None:
    capture = run(tmp_path, bottleneck='remark = "bleach"')
    sent = judges.packets(capture, "ip.dsfield.ecn", only="tcp.srcport==40000")
    assert [codepoint for [codepoint] in sent[:2]] == [ECT1, NOT_ECT]
    assert {codepoint for [codepoint] in sent[1:]} == {NOT_ECT}
