"""What an analysis says held a flow back, against the sender's own account of it.

Every scenario runs on the simulator and on the kernel, which both know; `cclab analyze` sees
captures at the sender, behind the bottleneck's queue, and at the receiver.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import cclab
from cclab.verification.sides import Run, captured

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.verification.sides import Flow

    Row = dict[str, Any]

BACKENDS = ["sim", "linux"]
POINTS = ["sender", "bottleneck", "receiver"]


@dataclass(frozen=True)
class Scenario:
    """A network, its flows, and what holds them back."""

    study: str
    limits: frozenset[str]
    """What `limited_by` may be."""


def network(rate: str = "20Mbit", queue: str = '{ limit = "1bdp" }', more: str = "") -> str:
    """A bottleneck."""
    return f'[network.bottleneck]\nrate = "{rate}"\ndelay = "5ms"\nqueue = {queue}\n{more}\n'


def flow(*keys: str, name: str = "a", cc: str = "cubic", rtt: str = "40ms", at: str = "0s") -> str:
    """A flow."""
    head = f'[[flow]]\nname = "{name}"\ncc = "{cc}"\nrtt = "{rtt}"\nstart = "{at}"\n'
    return head + "".join(f"{key}\n" for key in keys)


def scenario(study: str, *limits: str) -> Scenario:
    """A scenario."""
    return Scenario(study, frozenset(limits))


SCENARIOS = {
    "rwnd": scenario(network("50Mbit") + flow('rwnd = "64kB"'), "receiver-window"),
    "small rwnd": scenario(network("50Mbit") + flow('rwnd = "9kB"'), "receiver-window"),
    "rwnd and losses": scenario(
        network("50Mbit", more='loss = "0.2%"') + flow('rwnd = "64kB"'), "congestion"
    ),
    "small writes": scenario(
        network() + flow('write_size = "1000B"', "writes_per_second = 50"), "application"
    ),
    "bursts of writes": scenario(
        network() + flow('write_size = "20kB"', "writes_per_second = 10"), "application"
    ),
    # Half of the time there is something to send.
    "large writes": scenario(
        network() + flow('write_size = "500kB"', "writes_per_second = 2"),
        "application",
        "congestion",
    ),
    # Three round trips, the last of them without anything left to send.
    "short": scenario(network() + flow('transfer = "30kB"'), "opportunity", "application"),
    # Its last rounds fill the queue, but without a loss.
    "medium": scenario(network() + flow('transfer = "300kB"'), "opportunity", "bandwidth"),
    "two": scenario(network() + flow() + flow(name="b", cc="reno", rtt="60ms"), "congestion"),
    "four": scenario(
        network()
        + flow()
        + flow(name="b", cc="reno", at="1s")
        + flow(name="c", at="2s")
        + flow(name="d", cc="htcp", at="3s"),
        "congestion",
    ),
    "deep queue": scenario(network(queue='{ limit = "2000p" }') + flow(), "bandwidth"),
    "vegas": scenario(network(queue='{ limit = "500p" }') + flow(cc="vegas"), "bandwidth"),
    "bbr": scenario(network(queue='{ limit = "500p" }') + flow(cc="bbr"), "bandwidth"),
    "sndbuf": scenario(
        network("50Mbit") + flow('sysctl = { "net.ipv4.tcp_wmem" = "4096 65536 65536" }'),
        "sender-window",
    ),
    "losses": scenario(network(more='loss = "1%"') + flow(), "congestion"),
    "many losses": scenario(network(more='loss = "8%"') + flow(), "congestion"),
    "outage": scenario(
        network(more='outage = [{ start = "3s", duration = "1500ms" }]') + flow(), "congestion"
    ),
    "short outages": scenario(
        network(
            more='outage = [{ start = "3s", duration = "250ms" }, '
            '{ start = "6s", duration = "300ms" }]'
        )
        + flow(rtt="20ms"),
        "congestion",
    ),
    "ecn": scenario(
        network(queue='{ kind = "codel", limit = "1000p", ecn = true }') + flow("ecn = true"),
        "congestion",
    ),
    "dctcp": scenario(
        network(
            queue='{ kind = "red", limit = "400kB", min = 30000, max = 90000, ecn = true, '
            "burst = 30, probability = 1.0 }"
        )
        + flow("ecn = true", cc="dctcp")
        + flow("ecn = true", name="b", cc="dctcp"),
        "congestion",
    ),
    "an ACK per segment": scenario(network() + flow("delayed_ack = 1"), "congestion"),
    "longer path": scenario(
        network(more='schedule = [{ at = "4s", delay = "405ms" }]') + flow(rtt="20ms"),
        "congestion",
    ),
    "reordering": scenario(
        network(more='reorder = { probability = "1%", delay = "10ms" }') + flow(), "congestion"
    ),
}

PAIRS = [
    (name, backend)
    for name in SCENARIOS
    for backend in BACKENDS
    if (name, backend) != ("sndbuf", "linux")
]
"""Scenarios and backends; in the kernel's send buffer the window shows between writes."""

AT_SENDER = 0.05
"""How far a share may be from the sender's own at the sender's capture point, where it is all but
the same moment that an acknowledgement comes and that the data leave which it lets go."""
BEHIND = 0.2
"""The same behind the sender: while segments that were let go are on the link before the capture
point, one after the other, nothing tells that they were. At most the share of the time in which
that link is busy with one flow's segments beyond the first of each acknowledgement's."""

SHARES = ("limited_application", "limited_cwnd")
ALL = ("limited_by", *SHARES)
NAGLE = (
    "Nagle's algorithm joins writes to full segments and holds the rest until an acknowledgement:"
    " data come when acknowledgements do, as from a sender with a small window"
)
DEVIATES = {
    (scenario, backend, place, column): why
    for scenario, backend, places, columns, why in (
        ("small writes", "sim", POINTS, SHARES, NAGLE),
        ("small writes", "linux", POINTS, SHARES[:1], NAGLE),
        *(
            (
                "outage",
                backend,
                ["bottleneck", "receiver"],
                columns,
                "all that passed the point was acknowledged, and what is sent again after the"
                " silence of a timeout is new there",
            )
            for backend, columns in (("sim", SHARES), ("linux", SHARES[:1]))
        ),
    )
    for place in places
    for column in columns
}
"""Where an estimate is further off, by scenario, backend, flow's point and column, and why."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs are."""
    return tmp_path_factory.mktemp("causes")


@cache
def run_of(folder: Path, name: str, backend: str) -> Run:
    """The run of a scenario, captured everywhere."""
    study = SCENARIOS[name].study
    flows = [line.split('"')[1] for line in study.splitlines() if line.startswith("name = ")]
    points = ["bottleneck", *(f"{flow}.{end}" for flow in flows for end in ("sender", "receiver"))]
    file = folder / f"{name} {backend}.toml"
    head = f'backend = "{backend}"\nduration = "10s"\nseed = 3\n'
    if (name, backend) == ("sndbuf", "sim"):
        # A buffer of payload: Linux's is one of memory, and the window shows between its writes.
        head += 'stack = "rfc"\n'
    trace = f'[trace]\ncapture = {str(points).replace(chr(39), chr(34))}\nevents = ["ack"]\n'
    file.write_text(head + study + trace)
    [run] = cclab.run(file, out=folder / f"{name} {backend}").runs
    return Run(run, {})


@cache
def rows_of(run: Run) -> list[tuple[Flow, str, Row, Row]]:
    """Each flow at each kind of point: the direction of its data, and the way back."""
    captures = {point: captured(run, point) for point in run.points}
    return [
        (flow, place, seen.only, seen.back[0])
        for flow in run.flows
        for place in POINTS
        for seen in [
            captures["bottleneck" if place == "bottleneck" else f"{flow.name}.{place}"].of(flow)
        ]
    ]


@pytest.fixture
def rows(
    request: pytest.FixtureRequest, folder: Path, name: str, backend: str
) -> list[tuple[Flow, str, Row, Row]]:
    """What each point shows of the flows of the scenario `name` on `backend`."""
    if backend == "linux":
        request.getfixturevalue("kernel")
    return rows_of(run_of(folder, name, backend))


def off(flow: Flow, place: str, row: Row, limits: frozenset[str]) -> dict[str, Any]:
    """Columns that say something else than the sender's own account, with both values."""
    within = AT_SENDER if place == "sender" else BEHIND
    found: dict[str, Any] = {}
    if row["limited_by"] not in limits:
        found["limited_by"] = (row["limited_by"], sorted(limits))
    # An analysis begins with the first data: of the handshake nothing is held back.
    shaking_s = row["handshake_rtt_s"]
    lasted_s = float(flow.metrics["elapsed_s"] - shaking_s)

    def share(*limits: str) -> float:
        held: int = sum(flow.row[f"limited_{limit}_ns"] for limit in limits)
        return held / 1e9 / lasted_s

    shares = {"limited_rwnd": share("rwnd")}
    if not flow.run.on_kernel:
        shares["limited_application"] = share("application")
        # What a sender does not send by itself, be it by its window, its pacing or its buffer.
        shares["limited_cwnd"] = share("cwnd", "pacing", "sndbuf")
    else:
        # A kernel counts the time in which anything is in flight as busy, whether or not there
        # is more to send: what it calls idle is the least that the application can be blamed for.
        least = share("application") - shaking_s / lasted_s - within
        bulk = flow.written["write_size"] is None and flow.written["transfer"] is None
        most = within if bulk else 1.0
        if not least <= row["limited_application"] <= most:
            found["limited_application"] = (row["limited_application"], least, most)
    for column, own in shares.items():
        if abs(row[column] - own) > within:
            found[column] = (row[column], own)
    return found


@pytest.mark.parametrize(("name", "backend"), PAIRS)
def test_the_estimate_is_what_the_sender_knows(
    rows: list[tuple[Flow, str, Row, Row]], name: str, backend: str
) -> None:
    found: dict[tuple[str, str, str, str], Any] = {}
    for flow, place, row, _ in rows:
        for column, values in off(flow, place, row, SCENARIOS[name].limits).items():
            found[name, backend, place, column] = (flow.name, *values)
    known = {where for where in DEVIATES if where[:2] == (name, backend)}
    new = {where: values for where, values in found.items() if where not in known}
    assert not new, "estimates that are further off than they may be"
    assert known <= set(found), "explained, but no longer so: take it out of DEVIATES"


@pytest.mark.parametrize(("name", "backend"), PAIRS)
def test_timeouts_and_duplicates_are_those_that_happened(
    rows: list[tuple[Flow, str, Row, Row]], name: str, backend: str
) -> None:
    for flow, place, row, back in rows:
        rtos, probes = flow.row["rtos"], flow.row["tail_loss_probes"]
        if place == "sender":
            # A tail loss probe may come as late as a timeout.
            assert rtos <= row["rto_events"] <= rtos + probes, (flow.name, rtos, probes)
            assert row["spurious_retransmits"] == 0, "acknowledged before it was sent again"
        else:
            # What was lost before the point is no repetition there.
            assert row["rto_events"] <= rtos + probes
        if place == "receiver":
            # RFC 2883: the receiver tells of what it got twice. Of what it had only out of
            # order it may have let go, and then it does not.
            assert row["spurious_retransmits"] <= back["dsacks"] <= row["retransmitted_packets"]
        if flow.row["undos"] > 0 and place == "sender":
            assert back["dsacks"] > 0
        if flow.row["retransmits"] == 0:
            assert row["rto_events"] == back["dsacks"] == row["retransmitted_packets"] == 0
    del name, backend


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_scenarios_have_what_is_to_be_told(
    request: pytest.FixtureRequest, folder: Path, backend: str
) -> None:
    if backend == "linux":
        request.getfixturevalue("kernel")

    def of(name: str) -> Row:
        return run_of(folder, name, backend).flows[0].row

    assert of("outage")["rtos"] >= 2, "backed off"
    assert of("short outages")["rtos"] == 2
    assert of("longer path")["undos"] > 0
    assert of("reordering")["undos"] > 0
    assert of("many losses")["retransmits"] > 40
    assert of("ecn")["ecn_echoes"] > 100
    assert of("rwnd")["limited_rwnd_ns"] > 9e9
    assert of("bbr")["limited_pacing_ns"] > 9e9
    if backend == "sim":
        assert of("small writes")["limited_application_ns"] > 9e9
    # A kernel counts a full send buffer until a third of it is free and the writer is woken.
    assert of("sndbuf")["limited_sndbuf_ns"] > (9e9 if backend == "sim" else 4e9)
