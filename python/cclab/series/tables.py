"""The tables of a capture: rows of connections, and every segment and SACK block of them.

Their columns are defined in docs/analyze-tables.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

SEGMENTS = "segments.parquet"
SACKS = "sacks.parquet"


@dataclass(frozen=True)
class Direction:
    """What one end of a connection sent, and what the other answered."""

    connection: int
    """Its number, from 1."""
    sender: int
    """0 for the end that sent the connection's first packet, 1 for the other."""
    row: dict[str, Any]
    """This direction's row of `connections`."""
    peer: dict[str, Any]
    """The other direction's."""
    epoch_ns: int
    """What times in seconds are since: the first packet of the capture's first connection."""
    segments: pl.DataFrame
    """Segments of both ends, in the order of the capture, with `time_s`."""
    sacks: pl.DataFrame
    """The SACK blocks about this direction's data, with `time_s`."""

    @property
    def name(self) -> str:
        """Its ends by tcptrace's letters: `a2b` and `b2a` are those of the first connection."""
        return name_of(self.connection, self.sender)

    @property
    def title(self) -> str:
        """Its ends by address and port."""
        row = self.row
        source = endpoint(row["source"], row["source_port"])
        return f"{source} → {endpoint(row['destination'], row['destination_port'])}"

    @cached_property
    def sent(self) -> pl.DataFrame:
        """The segments that this end sent."""
        return self.segments.filter(sender=self.sender)

    @cached_property
    def answers(self) -> pl.DataFrame:
        """The other end's segments that acknowledge, RSTs excepted."""
        of_other = (pl.col("sender") != self.sender) & pl.col("ack").is_not_null()
        return self.segments.filter(of_other & ~pl.col("flags").str.contains("R"))

    @property
    def began_s(self) -> float:
        """When the connection's first packet was captured."""
        return float(self.row["started_ns"] - self.epoch_ns) * 1e-9


class Tables:
    """The connections of a capture, and the tables of its segments on disk."""

    def __init__(self, connections: pl.DataFrame, folder: Path) -> None:
        """Those of which `connections` has the rows and `folder` the files."""
        self.connections = connections
        self.folder = folder
        self._directions: dict[tuple[int, int], Direction] = {}

    @property
    def segments(self) -> pl.LazyFrame:
        """One row per segment, in the order of the capture."""
        return pl.scan_parquet(self.folder / SEGMENTS)

    @property
    def sacks(self) -> pl.LazyFrame:
        """One row per SACK block."""
        return pl.scan_parquet(self.folder / SACKS)

    @cached_property
    def epoch_ns(self) -> int:
        """What times in seconds are since: the first packet of the first connection."""
        earliest = self.connections["started_ns"].min()
        return earliest if isinstance(earliest, int) else 0

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of all connections."""
        return self.connections["connection"][::2].to_list()

    def row(self, connection: int, sender: int) -> dict[str, Any]:
        """The row of a direction. Raises `InputError` if there is no such connection."""
        return self.connections.row(2 * self._place(connection) + sender, named=True)

    def main_sender(self, connection: int) -> int:
        """The end of `connection` that sent more data, each byte counted once."""
        there, back = (self.row(connection, sender)["unique_bytes"] for sender in (0, 1))
        return int(back > there)

    def carrying(self, connection: int) -> list[int]:
        """The ends of `connection` that sent data, the one that sent more first."""
        main = self.main_sender(connection)
        return [s for s in (main, 1 - main) if self.row(connection, s)["total_bytes"] > 0]

    def largest(self, most: int) -> list[int]:
        """The `most` connections with the most data, in the order of their numbers."""
        totals = self.connections.group_by("connection").agg(pl.col("unique_bytes").sum())
        with_data = totals.filter(pl.col("unique_bytes") > 0)
        by_size = with_data.sort(["unique_bytes", "connection"], descending=[True, False])
        return sorted(by_size["connection"].head(most).to_list())

    @property
    def with_data(self) -> int:
        """How many connections carry data."""
        carrying = self.connections.filter(pl.col("total_bytes") > 0)
        return int(carrying["connection"].n_unique())

    def load(self, connections: Sequence[int]) -> None:
        """Reads the segments of `connections` in one pass over the files."""
        missing = [c for c in connections if (c, 0) not in self._directions]
        for number in missing:
            self._place(number)
        if not missing:
            return
        chosen = pl.col("connection").is_in(missing)
        timed = (pl.col("time_ns").cast(pl.Int64) - self.epoch_ns) * 1e-9
        segments, sacks = (
            lazy.filter(chosen).with_columns(timed.alias("time_s")).collect()
            for lazy in (self.segments, self.sacks)
        )
        for number in missing:
            both = segments.filter(connection=number)
            blocks = sacks.filter(connection=number)
            for sender in (0, 1):
                self._directions[number, sender] = Direction(
                    number,
                    sender,
                    self.row(number, sender),
                    self.row(number, 1 - sender),
                    self.epoch_ns,
                    both,
                    blocks.filter(pl.col("sender") != sender),
                )

    def direction(self, connection: int, sender: int | None = None) -> Direction:
        """What the end `sender` of `connection` sent; the end that sent more if None.

        Raises `InputError` if there is no such connection.
        """
        if sender not in (0, 1, None):
            raise InputError(f"sender is {sender}; it is 0 (began the connection) or 1")
        self.load([connection])
        which = self.main_sender(connection) if sender is None else sender
        return self._directions[connection, which]

    def _place(self, connection: int) -> int:
        try:
            return self.numbers.index(connection)
        except ValueError:
            count = len(self.numbers)
            known = f"they are 1 to {count}" if count else "there are none"
            raise InputError(f"no connection {connection} in the capture; {known}") from None


def name_of(connection: int, sender: int) -> str:
    """tcptrace's name of a direction: `a2b`, `b2a`, then `c2d`, ... `y2z`, `aa2ab`, ..."""
    ends = (_letters(2 * connection - 2), _letters(2 * connection - 1))
    return f"{ends[sender]}2{ends[1 - sender]}"


def _letters(number: int) -> str:
    """a to z, then aa, ab, ... as tcptrace numbers ends."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


def endpoint(address: str, port: int) -> str:
    """An address and a port in one."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
