"""The tables of a capture: rows of connections, and every segment and SACK block of them.

Their columns are defined in docs/analyze-tables.md.
"""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from cclab.errors import InputError

SEGMENTS = "segments.parquet"
SACKS = "sacks.parquet"

CONTROLS = ("syn", "fin", "rst")
"""Control bits of segments; the first letter of each is the one among their flags."""


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
    """What times in seconds are since: the capture's first packet."""
    segments: pl.DataFrame
    """Segments of both ends, in the order of the capture, with `time_s`, and a column of each of
    the `CONTROLS` in place of the flags.
    """
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
        return self.segments.filter(of_other & ~pl.col("rst"))

    @property
    def began_s(self) -> float:
        """When the connection's first packet was captured."""
        return float(self.row["started_ns"] - self.epoch_ns) * 1e-9


class Tables:
    """The connections of a capture, and the tables of its segments on disk."""

    def __init__(self, connections: pl.DataFrame, folder: Path, epoch_ns: int) -> None:
        """The tables of the rows `connections` and of the files in `folder`.

        Times are seconds since `epoch_ns`, when the capture's first packet was seen.
        """
        self.connections = connections
        self.folder = folder
        self.epoch_ns = epoch_ns
        self._loaded: tuple[Direction, Direction] | None = None

    @cached_property
    def _reached(self) -> Path:
        return reached(self.folder, self)

    @property
    def segments(self) -> pl.LazyFrame:
        """One row per segment, in the order of the capture."""
        return pl.scan_parquet(self._reached / SEGMENTS)

    @property
    def sacks(self) -> pl.LazyFrame:
        """One row per SACK block."""
        return pl.scan_parquet(self._reached / SACKS)

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of all connections."""
        return self.connections["connection"][::2].to_list()

    @cached_property
    def _places(self) -> dict[int, int]:
        return {number: place for place, number in enumerate(self.numbers)}

    @cached_property
    def _unique_bytes(self) -> list[int]:
        return self.connections["unique_bytes"].to_list()

    @cached_property
    def _total_bytes(self) -> list[int]:
        return self.connections["total_bytes"].to_list()

    def unique_bytes(self, connection: int, sender: int) -> int:
        """Payload that the end `sender` sent, each byte counted once."""
        return self._unique_bytes[2 * self._place(connection) + sender]

    def row(self, connection: int, sender: int) -> dict[str, Any]:
        """The row of a direction. Raises `InputError` if there is no such connection."""
        return self.connections.row(2 * self._place(connection) + sender, named=True)

    def main_sender(self, connection: int) -> int:
        """The end of `connection` that sent more data, each byte counted once."""
        place = 2 * self._place(connection)
        return int(self._unique_bytes[place + 1] > self._unique_bytes[place])

    def carrying(self, connection: int) -> list[int]:
        """The ends of `connection` that sent data, the one that sent more first."""
        main = self.main_sender(connection)
        place = 2 * self._place(connection)
        return [sender for sender in (main, 1 - main) if self._total_bytes[place + sender] > 0]

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

    def direction(self, connection: int, sender: int | None = None) -> Direction:
        """What the end `sender` of `connection` sent; the end that sent more if None.

        Raises `InputError` if there is no such connection.
        """
        if sender not in (0, 1, None):
            raise InputError(f"sender is {sender}; it is 0 (began the connection) or 1")
        which = self.main_sender(connection) if sender is None else sender
        return self._both(connection)[which]

    def _both(self, connection: int) -> tuple[Direction, Direction]:
        """Both directions. Only one connection stays in memory: the next may be as large."""
        if self._loaded is not None and self._loaded[0].connection == connection:
            return self._loaded
        self._loaded = None
        chosen = pl.col("connection") == connection
        timed = (pl.col("time_ns").cast(pl.Int64) - self.epoch_ns) * 1e-9
        own = self.segments.filter(chosen).drop("connection", "outstanding_bytes")
        bits = {control: pl.col("flags").str.contains(control[0].upper()) for control in CONTROLS}
        segments = own.with_columns(timed.alias("time_s"), **bits).drop("flags")
        both = segments.collect()
        blocks = self.sacks.filter(chosen).with_columns(timed.alias("time_s")).collect()
        there, back = (
            Direction(
                connection,
                sender,
                self.row(connection, sender),
                self.row(connection, 1 - sender),
                self.epoch_ns,
                both,
                blocks.filter(pl.col("sender") != sender),
            )
            for sender in (0, 1)
        )
        self._loaded = (there, back)
        return self._loaded

    def _place(self, connection: int) -> int:
        try:
            return self._places[connection]
        except KeyError:
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


def reached(folder: Path, owner: object) -> Path:
    """`folder` by a name that polars takes, which is UTF-8, as long as there is `owner`."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(owner, os.close, handle)
        return Path(f"/proc/self/fd/{handle}")
    return folder
