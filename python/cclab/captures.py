"""Packet captures of any origin: what each TCP connection in them did.

What each column means, and how it compares to tcptrace's numbers, is in docs/analyze.md.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

COLUMNS = {
    "connection": "count",
    "source": "text",
    "source_port": "count",
    "destination": "text",
    "destination_port": "count",
    "end": "text",
    "started_ns": "count",
    "elapsed_s": "real",
    "first_packet_s": "real",
    "last_packet_s": "real",
    "packets": "count",
    "data_packets": "count",
    "pure_acks": "count",
    "total_bytes": "count",
    "unique_bytes": "count",
    "throughput_bps": "real",
    "retransmitted_packets": "count",
    "retransmitted_bytes": "count",
    "retransmitted_syn_fin": "count",
    "timer_retransmits": "count",
    "out_of_order_packets": "count",
    "duplicate_acks": "count",
    "window_probes": "count",
    "syns": "count",
    "fins": "count",
    "rsts": "count",
    "mss_announced_bytes": "count",
    "window_scale_announced": "count",
    "window_scaling": "flag",
    "sack_permitted": "flag",
    "timestamps": "flag",
    "segment_min_bytes": "count",
    "segment_max_bytes": "count",
    "window_min_bytes": "count",
    "window_mean_bytes": "real",
    "window_max_bytes": "count",
    "zero_windows": "count",
    "outstanding_mean_bytes": "real",
    "outstanding_max_bytes": "count",
    "initial_window_bytes": "count",
    "initial_window_packets": "count",
    "rtt_samples": "count",
    "rtt_ambiguous": "count",
    "rtt_min_s": "real",
    "rtt_mean_s": "real",
    "rtt_max_s": "real",
    "rtt_stdev_s": "real",
}
"""What `Capture.connections` has in each row, and whether it is text, a flag, a count or real."""


@dataclass(frozen=True)
class Problem:
    """What was skipped of a capture, or is in doubt."""

    code: str
    """Its name."""
    count: int
    """How often it was met."""
    message: str
    """What it means, and what would help."""


class Capture:
    """The numbers of a capture."""

    def __init__(self, document: dict[str, Any]) -> None:
        """The capture that `document`, as the core writes it, describes."""
        self.document = document
        """All of it, as `cclab analyze --json` prints it."""

    @property
    def packets(self) -> int:
        """Packets that were read."""
        return int(self.document["packets"])

    @property
    def tcp_packets(self) -> int:
        """Packets that are TCP segments, and whole enough to be counted."""
        return int(self.document["tcp_packets"])

    @property
    def problems(self) -> list[Problem]:
        """What was skipped or is in doubt."""
        return [Problem(**problem) for problem in self.document["problems"]]

    @cached_property
    def connections(self) -> pl.DataFrame:
        """One row for each direction of each connection, in the order of first packets."""
        # It takes longer to load than many commands to run.
        import polars as pl

        types = {"text": pl.String, "flag": pl.Boolean, "count": pl.UInt64, "real": pl.Float64}
        schema = {column: types[kind] for column, kind in COLUMNS.items()}
        return pl.DataFrame(self.document["connections"], schema=schema, orient="row")


def analyze(path: str | Path, *, max_connections: int | None = None) -> Capture:
    """Analyses the packet capture at `path`: pcap or pcapng, compressed by gzip or zstd or not.

    At most `max_connections` are kept (100,000 if None): where there are more, those that were
    idle longest are not shown. Raises `CaptureError` if the file is no capture or cannot be read;
    what cannot be read of one that is begun is among its `problems`.
    """
    if max_connections is not None and max_connections < 1:
        raise InputError(f"max_connections is {max_connections}; it must be at least 1")
    return Capture(json.loads(_core.analyze(os.fspath(path), max_connections)))
