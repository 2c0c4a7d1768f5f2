"""Captures at links: what crosses them, on the simulator and under a kernel's hosts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cclab
from judges import packets

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli

STUDY = """
duration = "3s"
[network]
topology = "graph"
[[network.link]]
name = "first"
from = "s"
to = "m"
rate = "100Mbit"
delay = "1ms"
[[network.link]]
name = "wan"
from = "m"
to = "n"
rate = "8Mbit"
delay = "6ms"
loss = "0.5%"
corrupt = "0.5%"
duplicate = "0.5%"
queue = { kind = "fq_codel", limit = "1000p" }
bottleneck = true
[[network.link]]
name = "last"
from = "n"
to = "d"
rate = "50Mbit"
delay = "2ms"
[[flow]]
name = "a"
from = "s"
to = "d"
ecn = true
[[flow]]
name = "u"
from = "d"
to = "s"
transport = "udp"
application = { kind = "constant-rate", rate = "1Mbit", payload = "700B" }
[[probe]]
name = "p"
from = "m"
to = "d"
interval = "50ms"
[[traffic]]
name = "web"
kind = "poisson"
load = 0.1
sizes = { kind = "pareto", mean = "30kB", shape = 1.5 }
from = "s"
to = "n"
[[traffic]]
name = "back"
kind = "constant-rate"
rate = "500kbit"
packet_size = "400B"
from = "n"
to = "m"
[trace]
capture = ["first", "wan", "wan.reverse", "last.reverse", "bottleneck", "a.sender"]
snaplen = "64KiB"
"""
LINKS = ("first", "wan", "wan.reverse", "last.reverse")


@pytest.fixture(scope="module", params=["sim", "linux"])
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp(request.param)
    return _results(folder, f'backend = "{request.param}"\n{STUDY}')


def _results(folder: Path, study: str) -> Results:
    file = folder / "study.toml"
    file.write_text(study)
    return cclab.run(file, out=folder / "store", jobs=1)


def _capture(results: Results, point: str) -> Path:
    return results.runs[0].trace.capture(point)


def test_checksums_hold_in_every_packet_of_a_link(captured: Results) -> None:
    """As tshark judges them, of both transports, echoes and IP, simulated or not."""
    protocols = ("ip", "tcp", "udp", "icmp")
    options = [word for one in protocols[:3] for word in ("-o", f"{one}.check_checksum:TRUE")]
    for point in (*LINKS, "bottleneck"):
        fields = [f"{one}.checksum.status" for one in protocols]
        rows = packets(_capture(captured, point), *fields, only="ip", options=options)
        assert {state for row in rows for state in row if state} == {"1"}, point
        carried = {sum(bool(state) for state in row) for row in rows}
        assert carried == {2}, point  # IP, and what it carries
        for index in range(4):
            seen = sum(bool(row[index]) for row in rows)
            # The probe begins behind the first link.
            assert (seen > 0) == (point != "first" or protocols[index] != "icmp"), point


def test_a_link_delivers_what_its_far_end_sees(captured: Results) -> None:
    links = {link["name"]: link for link in captured.samples(0, "links").to_dicts()}
    arrived = {
        name: link["delivered_packets"] + link["corrupt_drops"] for name, link in links.items()
    }
    for point in LINKS:
        there = point.removesuffix(".reverse")
        other = f"{there}.reverse" if there == point else there
        seen = len(packets(_capture(captured, point), "frame.len", only="frame"))
        left = seen - arrived[other]
        assert arrived[point] <= left <= arrived[point] + links[point]["in_flight_packets"], point
        assert left > 50


def test_cross_traffic_has_addresses_of_its_own_at_a_link(captured: Results) -> None:
    """Behind those of flows and probes, which a kernel's hosts have."""
    rows = packets(_capture(captured, "wan"), "ip.src", "ip.dst", "ip.proto", only="ip")
    of_flows = {("10.0.0.1", "10.1.0.1"), ("10.0.0.2", "10.1.0.2")}
    pairs: dict[tuple[str, ...], set[str]] = {}
    for source, target, protocol in rows:
        pairs.setdefault(tuple(sorted((source, target))), set()).add(protocol)
    assert all(len(protocols) == 1 for protocols in pairs.values())
    assert of_flows < set(pairs)
    kinds = sorted(next(iter(protocols)) for protocols in pairs.values())
    # One probe, one flow and one source over UDP, many connections.
    assert (kinds.count("1"), kinds.count("17")) == (1, 2)
    assert kinds.count("6") > 3


def test_the_link_under_study_has_two_names(captured: Results) -> None:
    fields = ("frame.time_epoch", "ip.src", "ip.id", "frame.len")
    both = [packets(_capture(captured, point), *fields) for point in ("wan", "bottleneck")]
    assert both[0] == both[1]


def test_analyze_reads_a_capture_at_a_link(captured: Results) -> None:
    at_host, at_link = (
        cclab.analyze(_capture(captured, point)) for point in ("a.sender", "last.reverse")
    )
    assert at_link.problems == []
    [sent] = at_host.connections.filter(source="10.0.0.1").to_dicts()
    [here] = at_link.connections.filter(source="10.0.0.1").to_dicts()
    assert here["destination"] == sent["destination"]
    assert 0 < here["data_packets"] <= sent["data_packets"]
    assert at_link.other_packets.keys() == {"icmp"}
    # The flow over UDP, both ways; that of cross traffic ends before this link.
    assert set(at_link.conversations["source"]) == {"10.0.0.2", "10.1.0.2"}


def test_captures_at_links_come_out_the_same_again(captured: Results, tmp_path: Path) -> None:
    backend = captured.runs[0].run.backend
    again = _results(tmp_path, f'backend = "{backend}"\n{STUDY}')
    for point in (*LINKS, "bottleneck"):
        assert _capture(again, point).read_bytes() == _capture(captured, point).read_bytes()


def test_capturing_at_links_changes_nothing_else(captured: Results, tmp_path: Path) -> None:
    backend = captured.runs[0].run.backend
    study = STUDY.split("[trace]")[0]
    bare = _results(tmp_path, f'backend = "{backend}"\n{study}')
    for table in ("flows", "links", "flow_samples", "queue_samples", "traffic", "transfers"):
        assert bare.samples(0, table).equals(captured.samples(0, table)), table


ON_TC = """duration = "1s"
[network]
{by}
[network.bottleneck]
rate = "10Mbit"
queue = {{ limit = "100p" }}
[[flow]]
name = "a"
[trace]
capture = ["a.sender", "bottleneck",
           "a.left.access"]
"""


@pytest.mark.parametrize(
    ("backend", "by"), [("linux", 'by = "kernel"'), ("netns", "")], ids=["kernel", "netns"]
)
def test_a_network_of_the_kernels_own_refuses_other_links(
    cli: Cli, tmp_path: Path, backend: str, by: str
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(ON_TC.format(by=by))
    for command in ("plan", "run"):
        done = cli(command, study, "--backend", backend)
        assert done.returncode == 2
        assert "study.toml:11:12" in done.stderr
        assert "a capture at a.left.access" in done.stderr
        assert done.stderr.count("capture at") == 1


def test_verify_holds_nothing_against_a_link_called_sender(cli: Cli, tmp_path: Path) -> None:
    study = STUDY.replace('name = "last"', 'name = "sender"').replace('"last.reverse"', '"sender"')
    results = _results(tmp_path, study)
    document = json.loads(cli("verify", results.store.path, "--json").stdout)
    assert document["differences"] == []
    assert document["agrees"]


def test_verify_takes_the_link_under_study_by_its_own_name(tmp_path: Path) -> None:
    """What is known of the bottleneck was compared only where it was called so."""
    compared = []
    for point in ("wan", "bottleneck"):
        study = STUDY[: STUDY.index("capture =")] + f'capture = ["{point}"]\nsnaplen = "64KiB"\n'
        (tmp_path / point).mkdir()
        results = _results(tmp_path / point, f'backend = "sim"\n{study}')
        verified = cclab.verify(results.store.path)
        compared.append([(one.number, one.trace, one.capture) for one in verified.compared])
    assert "ecn_marks" in {number for number, _, _ in compared[0]}
    assert compared[0] == compared[1]
