"""Series of captures: what they add up to, and what they are by hand."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import cclab
from agreement.comparison import made
from captured import POINTS, SECOND, ack, block, data, tables_of, two_flows, without_udp
from cclab.captures.series import figures, page, series
from cclab.captures.series.tables import name_of

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.captures import Capture


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The captures of two flows with losses and an outage, by the point of capture."""
    return two_flows(tmp_path_factory.mktemp("captures"))


@pytest.fixture(scope="module")
def analyzed(captures: dict[str, Path]) -> dict[str, Capture]:
    """The same, analyzed."""
    return {point: cclab.analyze(file) for point, file in captures.items()}


def test_series_add_up_for_every_kind_of_connection(tmp_path: Path) -> None:
    for name, file in made(tmp_path).items():
        capture = cclab.analyze(file)
        for place, row in enumerate(capture.connections.iter_rows(named=True)):
            peer = capture.connections.row(place ^ 1, named=True)

            def of(kind: str, capture: Capture = capture, place: int = place) -> pl.DataFrame:
                return capture.series(kind, connection=place // 2 + 1, sender=place % 2)

            rate = of("throughput")
            what = of("time-sequence")["what"]
            assert {
                "unique_bytes": round(rate["throughput_bps"].sum() * rate["bin_s"][0] / 8, 6),
                "total_bytes": round(rate["sent_bps"].sum() * rate["bin_s"][0] / 8, 6),
                "rtt_samples": len(of("rtt")),
                "packets": len(of("inter-arrival")) + (row["packets"] > 0),
                "retransmitted_packets": what.is_in(["retransmit", "spurious"]).sum(),
                "out_of_order_packets": (what == "out-of-order").sum(),
                "duplicate_acks": (what == "duplicate-ack").sum(),
                "syns": (what == "syn").sum(),
                "fins": (what == "fin").sum(),
                "rsts": (what == "rst").sum(),
            }.items() <= row.items(), name
            assert of("window")["window_bytes"].max() == peer["window_max_bytes"], name


@pytest.mark.parametrize("point", POINTS)
def test_series_add_up_to_the_row_of_their_direction(
    analyzed: dict[str, Capture], point: str
) -> None:
    capture = analyzed[point]
    for number in capture.tables.numbers:
        row = capture.connections.row(2 * (number - 1), named=True)
        peer = capture.connections.row(2 * (number - 1) + 1, named=True)

        def of(name: str, number: int = number) -> pl.DataFrame:
            return capture.series(name, connection=number, sender=0)

        rate = of("throughput")
        bits = rate["throughput_bps"].sum() * rate["bin_s"][0]
        assert bits == pytest.approx(8 * row["unique_bytes"], rel=1e-12)
        all_bits = rate["sent_bps"].sum() * rate["bin_s"][0]
        assert all_bits == pytest.approx(8 * row["total_bytes"], rel=1e-12)
        assert rate["mean_bps"][-1] == pytest.approx(row["throughput_bps"], rel=1e-9)
        assert len(rate) <= 201

        rtt = of("rtt")["rtt_s"]
        assert len(rtt) == row["rtt_samples"]
        assert rtt.mean() == pytest.approx(row["rtt_mean_s"], rel=1e-9)
        assert rtt.max() == pytest.approx(row["rtt_max_s"], rel=1e-9)

        flight = of("outstanding")
        assert flight["outstanding_bytes"].max() == row["outstanding_max_bytes"]

        window = of("window")["window_bytes"]
        assert window.max() == peer["window_max_bytes"]
        assert window.mean() == pytest.approx(peer["window_mean_bytes"], rel=1e-12)

        gaps = of("inter-arrival")
        assert len(gaps) == row["packets"] - 1
        span = row["last_packet_s"] - row["first_packet_s"]
        assert gaps["gap_s"].sum() == pytest.approx(span, rel=1e-9)

        what = of("time-sequence")["what"]
        again = what.is_in(["retransmit", "spurious"]).sum()
        assert again == row["retransmitted_packets"]
        assert (what == "out-of-order").sum() == row["out_of_order_packets"]
        assert (what == "duplicate-ack").sum() == row["duplicate_acks"]
        assert (what == "syn").sum() == row["syns"]
        assert (what == "fin").sum() == row["fins"]


def test_series_across_connections_add_up(analyzed: dict[str, Capture]) -> None:
    capture = analyzed["bottleneck"]
    share = capture.series("share")
    jain = capture.series("jain")
    sent = share.group_by("connection").agg(pl.col("throughput_bps").sum()).sort("connection")
    bits = (sent["throughput_bps"] * share["bin_s"][0]).to_list()
    unique = capture.connections["unique_bytes"].to_list()[::2]
    assert bits == pytest.approx([8 * u for u in unique], rel=1e-12)
    sums = share.group_by("time_s").agg(pl.col("share").sum())["share"].to_list()
    assert sums == pytest.approx([1] * len(sums))
    total = share["throughput_bps"].sum()
    assert jain["throughput_bps"].sum() == pytest.approx(total, rel=1e-12)
    assert {1, 2} <= set(jain["flows"].to_list()) <= {0, 1, 2}
    # With one connection active, whatever it sends is fair.
    alone = jain.filter(pl.col("flows") == 1)["jain"].drop_nulls()
    assert len(alone) > 1
    assert alone.to_list() == [1.0] * len(alone)


def test_a_small_capture_gives_the_series_computed_by_hand(tmp_path: Path) -> None:
    segments = [
        {"seq": 0, "flags": "S", "kind": "syn", "window_bytes": 9000},
        {"sender": 1, "seq": 0, "flags": "S.", "kind": "syn", "ack": 1, "window_bytes": 1000},
        data(1, 100),
        data(201, 100),
        ack(101, rtt_ns=SECOND // 5),
        data(101, 100, "out-of-order"),
        data(101, 100, "retransmit"),
        ack(301, window=0),
        data(301, 1, "probe"),
        ack(301, "duplicate-ack", window=500),
        data(301, 50, "fin", flags="F."),
        ack(352),
    ]
    sacks = [
        block(SECOND * 4 // 10, 201, 301),
        block(SECOND * 7 // 10, 101, 201, duplicate=True),
    ]
    tables = tables_of(tmp_path, segments, sacks)
    direction = tables.direction(1)
    assert (direction.name, direction.title) == ("a2b", "10.0.0.1:1001 → 10.0.0.2:2001")

    flows = without_udp(tables)

    def rows(name: str, **more: Any) -> list[tuple[Any, ...]]:
        frame = series(flows, name, connection=1, **more)
        return [
            tuple(round(v, 9) if isinstance(v, float) else v for v in row) for row in frame.rows()
        ]

    assert rows("time-sequence") == [
        (0.0, "syn", 0, 1),
        (0.1, "ack", 1, 1),
        (0.1, "window", 1, 1001),
        (0.2, "new", 1, 101),
        (0.3, "new", 201, 301),
        (0.4, "ack", 1, 101),
        (0.4, "window", 101, 1101),
        (0.4, "sack", 201, 301),
        (0.5, "out-of-order", 101, 201),
        (0.6, "retransmit", 101, 201),
        (0.7, "ack", 101, 301),
        (0.7, "zero-window", 301, 301),
        (0.7, "duplicate-sack", 101, 201),
        (0.8, "probe", 301, 302),
        (0.9, "duplicate-ack", 301, 301),
        (0.9, "window", 301, 801),
        (1.0, "new", 301, 351),
        (1.0, "fin", 351, 352),
        (1.1, "ack", 301, 352),
        (1.1, "window", 352, 1352),
    ]
    assert rows("outstanding") == [
        (0.2, 100, 1000),
        (0.3, 300, 1000),
        (0.4, 200, 1000),
        (0.7, 0, 0),
        (0.8, 1, 0),
        (0.9, 1, 500),
        (1.0, 50, 500),
        (1.1, 0, 1000),
    ]
    assert rows("window") == [(0.1, 1000), (0.4, 1000), (0.7, 0), (0.9, 500), (1.1, 1000)]
    assert rows("rtt") == [(0.4, 0.2)]
    # 100, 100, 100, 1 and 49 bytes are new; 100 and 1 are repeated.
    assert rows("throughput", bin_s=0.5) == [
        (0.0, 0.5, 3200.0, 3200.0, 3200.0),
        (0.5, 0.5, 1616.0, 3216.0, 2408.0),
        (1.0, 0.5, 784.0, 800.0, round(2800 / 1.1, 9)),
    ]
    gaps = [
        (round(0.1 * n, 9), gap)
        for n, gap in ((2, 0.2), (3, 0.1), (5, 0.2), (6, 0.1), (8, 0.2), (10, 0.2))
    ]
    assert [row[:2] for row in rows("inter-arrival")] == gaps


def test_fairness_counts_connections_from_their_first_data_to_their_last(tmp_path: Path) -> None:
    def at(second: float, connection: int, seq: int, payload: int) -> dict[str, Any]:
        return data(seq, payload) | {"time_ns": int(second * SECOND), "connection": connection}

    tables = tables_of(
        tmp_path,
        [
            at(0.0, 1, 1, 300),
            at(1.1, 1, 301, 300),
            at(1.2, 2, 1, 100),
            at(2.0, 1, 601, 100),
            at(2.5, 2, 1, 100),  # sent again
            at(3.5, 2, 101, 100),
        ],
        [],
    )
    flows = without_udp(tables)
    jain = series(flows, "jain", bin_s=1.0)
    assert jain["flows"].to_list() == [1, 2, 2, 1]
    assert jain["jain"].to_list() == pytest.approx(
        [1.0, 400**2 / (2 * (300**2 + 100**2)), 0.5, 1.0]
    )
    assert jain["throughput_bps"].to_list() == [2400.0, 3200.0, 800.0, 800.0]
    share = series(flows, "share", bin_s=1.0)
    assert share.select("time_s", "connection", "share").rows() == [
        (0.0, 1, 1.0), (1.0, 1, 0.75), (1.0, 2, 0.25), (2.0, 1, 1.0), (3.0, 2, 1.0)
    ]  # fmt: skip


def test_directions_have_the_names_of_tcptrace() -> None:
    assert [name_of(n, 0) for n in (1, 2, 13, 14, 27)] == ["a2b", "c2d", "y2z", "aa2ab", "ba2bb"]
    assert name_of(2, 1) == "d2c"


def test_a_long_transfer_loses_no_retransmission(tmp_path: Path) -> None:
    count = 150_000
    segments = [data(1 + 1000 * n, 1000) | {"time_ns": n * 20_000} for n in range(count)]
    again = (40_000, 90_001, 90_003)
    for n in again:
        segments[n] |= {"kind": "retransmit", "seq": 1 + 1000 * (n - 30_000)}
    tables = tables_of(tmp_path, segments, [])
    together = dict.fromkeys(("whole", "overlap", "congested", "asked"))
    document = {
        "packets": count, "tcp_packets": count, "udp_packets": 0, "other_packets": {},
        "problems": [], "together": together,
    }  # fmt: skip
    flows = without_udp(tables)
    figure = figures.figure(flows, "time-sequence", connection=1)
    assert figure is not None
    svg = figures.svg(figure)
    assert len(svg) < 1_000_000
    marks = next(line for line in figure.axes[0].lines if line.get_marker() == "x")
    # The last two fall on one dot.
    assert np.size(marks.get_xdata()) == 2
    html = page.html("long", document, flows, [page.drawn(tables.direction(1))])
    assert len(html) < 3_000_000
    content = json.loads(re.findall(r'id="data">(.*?)</script>', html, re.DOTALL)[0])
    [direction] = content["directions"]
    assert direction["kept"] < 60_000 < direction["all"]
    [layer] = [x for x in direction["panels"][0]["layers"] if x["label"] == "retransmission"]
    assert len(layer["x"]) == 3 * 8 / 3 * 4
