"""Captures for tests of series: two flows of the simulator, and tables made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

import cclab
from cclab.captures.series.flows import Flows
from cclab.captures.series.tables import SACKS, SEGMENTS, Tables
from cclab.captures.series.talks import DATAGRAMS, Talks
from lossy import study_of_two

if TYPE_CHECKING:
    from pathlib import Path

POINTS = ("bottleneck", "short.sender", "short.receiver", "long.sender")


def two_flows(folder: Path) -> dict[str, Path]:
    """The captures of two flows with losses and an outage, by the point of capture."""
    (folder / "study.toml").write_text(study_of_two(POINTS))
    trace = cclab.run(folder / "study.toml", out=folder / "store").runs[0].trace
    return {point: trace.capture(point) for point in POINTS}


SEGMENT = {
    "connection": pl.UInt32,
    "sender": pl.UInt32,
    "time_ns": pl.UInt64,
    "seq": pl.Int64,
    "payload": pl.UInt32,
    "flags": pl.String,
    "kind": pl.String,
    "ack": pl.Int64,
    "window_bytes": pl.UInt64,
    "outstanding_bytes": pl.UInt64,
    "rtt_ns": pl.UInt64,
}
BLOCK = {
    "connection": pl.UInt32,
    "sender": pl.UInt32,
    "time_ns": pl.UInt64,
    "start": pl.Int64,
    "end": pl.Int64,
    "duplicate": pl.Boolean,
}
SECOND = 1_000_000_000


def tables_of(folder: Path, segments: list[dict[str, Any]], sacks: list[dict[str, Any]]) -> Tables:
    """Tables with these segments, each of 100 ms after the one before unless it says otherwise."""
    rows = []
    for place, segment in enumerate(segments):
        plain = {"connection": 1, "sender": 0, "time_ns": place * SECOND // 10, "payload": 0}
        rows.append(dict.fromkeys(SEGMENT) | plain | {"flags": ".", "kind": "ack"} | segment)
    frame = pl.DataFrame(rows, schema=SEGMENT, orient="row")
    frame.write_parquet(folder / SEGMENTS)
    pl.DataFrame(sacks, schema=BLOCK, orient="row").write_parquet(folder / SACKS)
    directions = []
    for number in frame["connection"].unique().sort():
        own = frame.filter(connection=number)
        began, ended = int(own["time_ns"][0]), int(own["time_ns"][-1])
        for sender in (0, 1):
            data = own.filter((pl.col("sender") == sender) & (pl.col("payload") > 0))
            sent = own.filter(sender=sender)["time_ns"]
            directions.append(
                {
                    "connection": number,
                    "source": f"10.0.0.{1 + sender}",
                    "source_port": 1000 + number,
                    "destination": f"10.0.0.{2 - sender}",
                    "destination_port": 2000 + number,
                    "started_ns": began,
                    "elapsed_s": (ended - began) / SECOND,
                    "last_packet_s": (int(sent[-1]) - began) / SECOND if len(sent) else None,
                    "unique_bytes": int(data["payload"].sum()),
                    "total_bytes": int(data["payload"].sum()),
                    "throughput_bps": 1.0,
                    "retransmitted_packets": 0,
                    "out_of_order_packets": 0,
                    "window_scaling": False,
                    "rtt_mean_s": None,
                    "limited_by": None,
                    "limited_because": None,
                }
            )
    table = pl.DataFrame(directions)
    epoch_ns = table["started_ns"].min()
    assert isinstance(epoch_ns, int)
    return Tables(table, folder, epoch_ns)


def without_udp(tables: Tables) -> Flows:
    """These connections as the only flows."""
    schema = {
        "conversation": pl.UInt32,
        "started_ns": pl.UInt64,
        "last_packet_s": pl.Float64,
        "total_bytes": pl.UInt64,
        "packets": pl.UInt64,
    }
    datagrams = {name: schema[name] for name in ("conversation",)} | {
        "sender": pl.UInt32, "time_ns": pl.UInt64, "payload": pl.UInt32
    }  # fmt: skip
    pl.DataFrame(schema=datagrams).write_parquet(tables.folder / DATAGRAMS)
    return Flows(tables, Talks(pl.DataFrame(schema=schema), tables.folder, tables.epoch_ns))


def data(at: int, payload: int, kind: str = "new", **more: Any) -> dict[str, Any]:
    """A segment of the first end."""
    return {"seq": at, "payload": payload, "kind": kind, "ack": 1, "window_bytes": 9000} | more


def ack(number: int, kind: str = "ack", window: int = 1000, **more: Any) -> dict[str, Any]:
    """An acknowledgement of the other end."""
    return {
        "sender": 1, "seq": 1, "ack": number, "kind": kind, "window_bytes": window
    } | more  # fmt: skip


def block(time_ns: int, start: int, end: int, *, duplicate: bool = False) -> dict[str, Any]:
    """A SACK block of the other end."""
    return {
        "connection": 1, "sender": 1, "time_ns": time_ns,
        "start": start, "end": end, "duplicate": duplicate,
    }  # fmt: skip
