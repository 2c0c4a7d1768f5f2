"""`cclab verify`: nothing is said to agree that could not have been found to differ."""

from __future__ import annotations

import random
import struct
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

import cclab
from cclab.captures.capture import read
from cclab.verification import sides
from cclab.verification.sides import Captured, Run, Seen
from conftest import only_trace
from lossy import study_of_two

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Verified
    from cclab.verification.sides import Flow

POINTS = ("bottleneck", "short.sender", "short.receiver", "long.sender", "long.receiver")

LONG_WAY = """
duration = "2s"

[network.bottleneck]
rate  = "100Mbit"
delay = "50ms"
queue = { limit = "1000p" }

[[flow]]
name = "narrow"
rtt  = "100ms"
rwnd = "100kB"

[trace]
capture = ["bottleneck"]
"""
"""On a wire that has room for more acknowledgements than there are."""


def ran(folder: Path, study: str) -> Path:
    """The store of `study`, run on the simulator."""
    (folder / "study.toml").write_text(study)
    cclab.run(folder / "study.toml", out=folder / "store")
    return folder / "store"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with captures at all hosts and at the bottleneck."""
    return ran(tmp_path, study_of_two(POINTS))


def capture_in(store: Path, point: str) -> Path:
    """That of its only run."""
    return only_trace(store).capture(point)


def without(capture: Path, which: pl.Expr) -> int:
    """Takes packets out of a capture; how many there were."""
    series = capture.parent.parent.parent.parent / "series"
    cclab.analyze(capture, series=series)
    segments = pl.read_parquet(series / "segments.parquet").with_row_index("frame", 1)
    frames = segments.filter(which)["frame"].to_list()
    shorter = series / "shorter.pcapng"
    subprocess.run(["editcap", capture, shorter, *map(str, frames)], check=True)
    shorter.rename(capture)
    return len(frames)


def whys(verified: Verified, number: str, place: str) -> set[str]:
    """Why it was not compared there."""
    return {x.why for x in verified.skipped if (x.number, x.place) == (number, place)}


def compared(verified: Verified, number: str, place: str) -> int:
    """How often it was compared there."""
    return sum((x.number, x.place) == (number, place) for x in verified.compared)


def test_rates_over_times_too_short_to_tell_are_not_compared(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = cclab.verify(store)
    for number, place in (("throughput_bps", "sender"), ("goodput_bps", "receiver")):
        assert compared(measured, number, place) > 0
    assert compared(measured, "jain", "receivers") == 1
    # As if an agent noted each time up to ten seconds late.
    monkeypatch.setattr(Run, "on_kernel", True)
    monkeypatch.setattr(Run, "slack_ns", 10_000_000_000)
    late = cclab.verify(store)
    for number, place in (("throughput_bps", "sender"), ("goodput_bps", "receiver")):
        assert compared(late, number, place) == 0
        assert any("notes times too late" in why for why in whys(late, number, place))
    assert compared(late, "jain", "receivers") == compared(late, "jain", "bottleneck") == 0


def test_jains_index_is_not_compared_where_any_would_do(store: Path, tmp_path: Path) -> None:
    assert compared(cclab.verify(store), "jain", "receivers") == 1
    # A flow that ends within its first round trips has most of its data in flight at once.
    brief = study_of_two(POINTS).replace('"2000003B"', '"20kB"')
    (tmp_path / "brief").mkdir()
    verified = cclab.verify(ran(tmp_path / "brief", brief))
    assert compared(verified, "jain", "receivers") == 1
    assert compared(verified, "jain", "bottleneck") == 0
    [why] = whys(verified, "jain", "bottleneck")
    assert "any shares" in why
    (tmp_path / "alone").mkdir()
    alone = cclab.verify(ran(tmp_path / "alone", LONG_WAY))
    [why] = whys(alone, "jain", "bottleneck")
    assert "there is one flow" in why


def test_data_missing_from_a_captures_end_are_found_at_a_sample(store: Path) -> None:
    capture = capture_in(store, "short.sender")
    last = (pl.col("sender") == 0) & (pl.col("seq") + pl.col("payload") == 2_000_004)
    assert without(capture, last & (pl.col("payload") > 0)) > 0
    found = {(x.number, x.subject.point) for x in cclab.verify(store).differing}
    assert ("bytes_acked at a sample", "short.sender") in found


def test_missing_acknowledgements_are_found_on_a_long_wire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "on_kernels_network", True)
    store = ran(tmp_path, LONG_WAY)
    number, place = "delivered_packets back", "bottleneck"
    assert compared(cclab.verify(store), number, place) == 1
    early = pl.col("time_ns").is_between(500_000_000, 1_500_000_000)
    assert without(capture_in(store, "bottleneck"), (pl.col("sender") == 1) & early) > 200
    verified = cclab.verify(store)
    assert [x.place for x in verified.differing if x.number == number] == [place]
    monkeypatch.setattr("cclab.verification.whole._on_the_wire_back", lambda *_: 1e6)
    [why] = whys(cclab.verify(store), number, place)
    assert "may have been on its wire" in why


def test_a_capture_whose_connections_were_given_up_is_not_compared(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sides, "read", partial(read, max_connections=1))
    verified = cclab.verify(store)
    assert verified.agrees, [one.document() for one in verified.differing]
    places = {one.place for one in verified.compared}
    assert "bottleneck" not in places
    assert "sender" in places, "where there is one connection, none is given up"
    for number in ("dequeued_packets", "unique_bytes", "ecn_marks", "jain"):
        [why] = whys(verified, number, "bottleneck")
        assert "given up" in why


@pytest.mark.parametrize(
    ("change", "why"), [("link", "link layer that is not known"), ("snap", "cuts TCP headers")]
)
def test_a_capture_that_cannot_be_counted_is_not_compared(
    store: Path, tmp_path: Path, change: str, why: str
) -> None:
    capture = capture_in(store, "short.receiver")
    if change == "snap":
        cut = tmp_path / "cut.pcapng"
        subprocess.run(["editcap", "-s", "30", capture, cut], check=True)
        cut.rename(capture)
    else:
        content = bytearray(capture.read_bytes())
        # The interface's description follows the section's header; 147 is for private use.
        at = struct.unpack_from("<I", content, 4)[0]
        assert struct.unpack_from("<I", content, at)[0] == 1
        struct.pack_into("<H", content, at + 8, 147)
        capture.write_bytes(content)
    verified = cclab.verify(store)
    assert verified.agrees, [one.document() for one in verified.differing]
    assert not [x for x in verified.compared if x.subject.point == "short.receiver"]
    assert any(why in told for told in whys(verified, "bytes_received", "receiver"))
    [told] = whys(verified, "jain", "receivers")
    assert why in told
    assert compared(verified, "bytes_received", "receiver") == 1, "that of the other flow"


Sent = tuple[int, int, int]
"""When, from which byte, how many."""


def seen(sent: list[Sent]) -> Seen:
    """A connection with these data, of no flow."""
    rows = [
        {"connection": 1, "sender": 0, "time_ns": t, "seq": seq, "payload": length}
        for t, seq, length in sent
    ]
    schema = {
        "connection": pl.UInt32, "sender": pl.UInt32, "time_ns": pl.UInt64,
        "seq": pl.Int64, "payload": pl.UInt32,
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    row: dict[str, Any] = {"connection": 1}
    return Seen(cast("Flow", None), Captured("a.receiver", 0, [], [row, row], frame), [0])


@pytest.mark.parametrize(
    ("sent", "arrived"),
    [
        ([], (0, None, None)),
        ([(5, 11, 10)], (0, None, None)),
        ([(5, 1, 10), (9, 1, 10)], (10, 5, 5)),
        # A kernel that sends small segments again makes one of them.
        ([(5, 1, 10), (6, 31, 10), (9, 1, 30)], (40, 5, 9)),
        ([(5, 1, 10), (6, 11, 10), (9, 1, 20)], (20, 5, 6)),
        # What was sent again may be less, or begin within.
        ([(5, 1, 30), (9, 11, 5), (10, 25, 10)], (34, 5, 10)),
        ([(5, 1, 10), (6, 12, 10)], (10, 5, 5)),
        # A byte before the first, as a keep-alive has it, is none of the data.
        ([(4, 0, 1), (5, 1, 10)], (10, 5, 5)),
    ],
)
def test_what_arrived_by_hand(
    sent: list[Sent], arrived: tuple[int, int | None, int | None]
) -> None:
    assert seen(sent).arrived == arrived


def test_what_arrived_is_what_byte_after_byte_says() -> None:
    dice = random.Random(5)
    for _ in range(200):
        sent = [(t, dice.randint(1, 40), dice.randint(1, 12)) for t in range(dice.randint(1, 12))]
        first: dict[int, int] = {}
        for time, seq, length in sent:
            for byte in range(seq, seq + length):
                first.setdefault(byte, time)
        end = next(byte for byte in range(1, 60) if byte not in first)
        times = [first[byte] for byte in range(1, end)]
        told = (end - 1, times[0], max(times)) if times else (0, None, None)
        assert seen(sent).arrived == told, sent
