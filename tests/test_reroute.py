"""Routes of a graph that change during a run: what takes which way, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import cclab
from cclab import verification
from cclab.errors import InputError, StudyError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from cclab.measure.points import Measured

STUDY = """
duration = "9s"
trace    = { interval = "10ms", events = ["ack"] }

[network]
topology = "graph"
reroute  = [
  { at = "3s", without = ["short"] },
  { at = "6s" },
]

[[network.link]]
from = "host"
to   = "a"

[[network.link]]
name       = "short"
from       = "a"
to         = "b"
rate       = "50Mbit"
delay      = "5ms"
queue      = { limit = "200p" }
bottleneck = true

[[network.link]]
name  = "long"
from  = "a"
to    = "b"
rate  = "10Mbit"
delay = "40ms"
queue = { limit = "200p" }

[[network.link]]
from = "b"
to   = "peer"

[[flow]]
name = "x"
cc   = "cubic"
from = "host"
to   = "peer"
rwnd = "40kB"
EXTRA
"""


def run(tmp_path: Path, extra: str = "", study: str = STUDY) -> Measured:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "study.toml").write_text(study.replace("EXTRA", extra))
    return cclab.run(tmp_path / "study.toml", out=tmp_path / "out").points[0].runs[0]


def srtt_ms(measured: Measured, flow: str, from_s: float, until_s: float) -> NDArray[np.float64]:
    samples = measured.trace.samples_of(flow)
    there = samples.filter((pl.col("time_s") >= from_s) & (pl.col("time_s") < until_s))
    return there["srtt_s"].drop_nulls().to_numpy() * 1e3


def test_round_trips_are_those_of_the_way(tmp_path: Path) -> None:
    """40 kB in flight fill neither way: 5 ms each way are 10 ms, 40 ms are 80, and a segment takes
    0.24 ms at 50 Mbit/s and 1.2 ms at 10."""
    measured = run(tmp_path)
    for from_s, until_s, least, most in ((1, 3, 10, 17), (4.5, 6, 80, 120), (7.5, 9, 10, 17)):
        seen = srtt_ms(measured, "x", from_s, until_s)
        assert least < seen.min() <= seen.max() < most, (from_s, seen.min(), seen.max())
    # Nothing is lost where a way changes: what is on the one of before still arrives.
    links = measured.trace.table("links").filter(pl.col("name").is_in(["short", "long"]))
    for link in links.iter_rows(named=True):
        assert link["delivered_packets"] > 500
        assert link["offered_packets"] == link["delivered_packets"] + link["in_flight_packets"]


def test_a_longer_way_is_a_longer_delay(tmp_path: Path) -> None:
    """Where links have no rate, to change from one to another is to change the delay of one."""
    wires = """
[[network.link]]
name  = "near"
from  = "b"
to    = "peer"
delay = "1ms"
SCHEDULE
[[network.link]]
name  = "far"
from  = "b"
to    = "peer"
delay = "30ms"
"""
    text = STUDY.replace("EXTRA", "").replace(
        '[[network.link]]\nfrom = "b"\nto   = "peer"\n', wires
    )
    changes = text[text.index("reroute") : text.index("[[network.link]]")]
    rerouted = text.replace(changes, 'reroute = [{ at = "3s", without = ["near"] }]\n')
    scheduled = text.replace(changes, "")
    schedule = 'schedule = { at = "3s", delay = "30ms" }'
    seen = [
        run(tmp_path / name, study=study).trace.samples_of("x")
        for name, study in (
            ("rerouted", rerouted.replace("SCHEDULE", "")),
            ("scheduled", scheduled.replace("SCHEDULE", schedule)),
        )
    ]
    assert seen[0].equals(seen[1])
    assert seen[0]["srtt_s"].drop_nulls().to_numpy().max() > 0.04


def test_a_shorter_way_overtakes_and_a_longer_one_does_not(tmp_path: Path) -> None:
    acks = run(tmp_path).trace.table("acks")
    recovering = acks.filter("in_recovery")["time_s"].to_numpy()
    # Back from 40 ms to 5 what follows comes first, which looks like a loss. From 5 to 40 ms
    # nothing does, and nothing is lost.
    assert len(recovering) > 0
    assert 6 < recovering.min() <= recovering.max() < 6.2


def test_cross_traffic_and_probes_go_the_way_of_the_time(tmp_path: Path) -> None:
    extra = """
[[traffic]]
name             = "web"
kind             = "poisson"
from             = "host"
to               = "peer"
flows_per_second = 20
transfer         = "2kB"

[[probe]]
name = "ping"
from = "host"
to   = "peer"
"""
    measured = run(tmp_path, extra)
    transfers = measured.trace.table("transfers").drop_nulls("end_s")
    took = transfers.with_columns(took=pl.col("end_s") - pl.col("start_s"))

    def median_ms(from_s: float, until_s: float) -> float:
        there = took.filter((pl.col("start_s") > from_s) & (pl.col("end_s") < until_s))
        assert there.height > 10
        value = there["took"].median()
        assert isinstance(value, float)
        return value * 1e3

    # A round trip for the handshake, and half a one for the two segments.
    assert 15 < median_ms(0.5, 3) < 20
    assert 120 < median_ms(3.1, 6) < 130
    assert 15 < median_ms(6.2, 9) < 20
    [ping] = measured.metrics["probes"]
    assert ping["rtt_min_s"] < 0.013
    assert ping["rtt_max_s"] > 0.08


def test_the_same_seed_gives_the_same_trace(tmp_path: Path) -> None:
    one, two = (run(tmp_path / name) for name in ("one", "two"))
    assert one.metrics == two.metrics
    assert one.trace.samples_of("x").equals(two.trace.samples_of("x"))


@pytest.mark.parametrize(
    ("change", "place", "problem"),
    [
        (('["short"]', '["shirt"]'), "8:26", "unknown link `shirt`; did you mean `short`?"),
        (('["short"]', '["short", "long"]'), "41:8", "from 3s on there is no way"),
        (
            ('at = "6s"', 'at = "9s"'),
            "9:10",
            "a change of routes begins at 9s, but the run ends at 9s",
        ),
        (('at = "6s"', 'when = "6s"'), "9:5", "unknown"),
    ],
)
def test_routes_that_cannot_be_are_refused(
    tmp_path: Path, change: tuple[str, str], place: str, problem: str
) -> None:
    text = STUDY.replace("EXTRA", "").replace(*change, 1)
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(StudyError) as raised:
        cclab.Study.load(tmp_path / "study.toml").plan()
    assert problem in str(raised.value)
    assert f"study.toml:{place}" in str(raised.value)


def test_a_network_with_one_way_has_no_routes_to_change(tmp_path: Path) -> None:
    text = """
duration = "1s"
[network]
reroute = { at = "1ms" }
[network.bottleneck]
rate  = "1Mbit"
queue = { limit = "1bdp" }
[[flow]]
rtt = "10ms"
"""
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(StudyError, match=r"study\.toml:4:.*no routes change"):
        cclab.Study.load(tmp_path / "study.toml").plan()


def test_kernels_refuse_routes_that_change(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("EXTRA", ""))
    with pytest.raises(InputError, match="routes that change"):
        cclab.run(tmp_path / "study.toml", backend="linux", out=tmp_path / "out")


def test_explain_tells_that_routes_change(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("EXTRA", ""))
    [point] = cclab.Study.load(tmp_path / "study.toml").explain()
    assert any(note.startswith("routes change at 3 s, 6 s: ") for note in point.notes)


def test_one_link_needs_no_list(tmp_path: Path) -> None:
    listed, named = (
        run(tmp_path / name, study=STUDY.replace('["short"]', without))
        for name, without in (("listed", '["short"]'), ("named", '"short"'))
    )
    assert listed.run.id == named.run.id


def test_captures_at_a_link_that_routes_leave_contradict_nothing(tmp_path: Path) -> None:
    text = STUDY.replace("EXTRA", "").replace(
        'events = ["ack"] }', 'events = ["ack"], capture = ["bottleneck"] }'
    )
    (tmp_path / "study.toml").write_text(text)
    cclab.run(tmp_path / "study.toml", out=tmp_path / "out")
    verified = verification.verify(tmp_path / "out")
    assert verified.agrees
    assert any("routes change" in skipped.why for skipped in verified.skipped)
