"""The conversations over UDP of a capture: their rows, and every datagram of them.

Their columns are defined in docs/analyze-tables.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cclab.captures.series import bins
from cclab.captures.series.tables import endpoint, reached
from cclab.captures.words import spoken
from cclab.errors import InputError

DATAGRAMS = "datagrams.parquet"

THROUGHPUT = {
    "time_s": "the bin's beginning",
    "bin_s": "its length",
    "throughput_bps": "payload captured in it, in bits per second",
    "mean_bps": (
        "payload captured from the conversation's first datagram to the bin's end (or the last "
        "datagram, if that is earlier), over that time"
    ),
}
SIZE = {
    "time_s": "when the datagram was captured",
    "payload_bytes": "what it carries",
    "quic_long": "the type of the long header of QUIC that it begins with; null without one",
}


@dataclass(frozen=True)
class Talk:
    """What one end of a conversation sent."""

    conversation: int
    """Its number, from 1."""
    sender: int
    """0 for the end that sent the conversation's first datagram, 1 for the other."""
    row: dict[str, Any]
    """This direction's row of `conversations`."""
    epoch_ns: int
    """What times in seconds are since."""
    sent: pl.DataFrame
    """The datagrams that this end sent, in the order of the capture, with `time_s`."""

    @property
    def name(self) -> str:
        """Its name in files and on the page."""
        return name_of(self.conversation, self.sender)

    @property
    def title(self) -> str:
        """Its ends by address and port, and what they speak."""
        row = self.row
        source = endpoint(row["source"], row["source_port"])
        return f"{source} → {endpoint(row['destination'], row['destination_port'])}, {spoken(row)}"

    @property
    def began_s(self) -> float:
        """When the conversation's first datagram was captured."""
        return float(self.row["started_ns"] - self.epoch_ns) * 1e-9

    def throughput(self, bin_s: float | None = None) -> pl.DataFrame:
        """A row for each bin of the conversation's time; the columns are those of `THROUGHPUT`."""
        began, elapsed = self.began_s, self.row["elapsed_s"]
        length = bins.asked(bin_s, elapsed)
        number = int(elapsed / length) + 1
        times, payload = (self.sent[c].to_numpy() for c in ("time_s", "payload"))
        sums = bins.totals(times, payload.astype(np.float64), began, length, number)
        beginnings = np.arange(number) * length
        # The last bin goes beyond the last datagram.
        passed = np.minimum(beginnings + length, elapsed)
        mean = np.divide(np.cumsum(sums) * 8, passed, out=np.full(number, np.nan), where=passed > 0)
        return pl.DataFrame(
            {
                "time_s": began + beginnings,
                "bin_s": np.full(number, length),
                "throughput_bps": sums * 8 / length,
                "mean_bps": pl.Series(mean).fill_nan(None),
            }
        )

    def size(self) -> pl.DataFrame:
        """A row for each datagram; the columns are those of `SIZE`."""
        payload = pl.col("payload").cast(pl.Int64).alias("payload_bytes")
        return self.sent.select("time_s", payload, "quic_long")


class Talks:
    """The conversations of a capture, and the table of its datagrams on disk."""

    def __init__(self, conversations: pl.DataFrame, folder: Path, epoch_ns: int) -> None:
        """Those of which `conversations` has the rows and `folder` the file.

        Times are seconds since `epoch_ns`, when the capture's first packet was seen.
        """
        self.conversations = conversations
        self._folder = folder
        self.epoch_ns = epoch_ns

    def __len__(self) -> int:
        """How many there are."""
        return len(self.conversations) // 2

    @cached_property
    def _reached(self) -> Path:
        return reached(self._folder, self)

    @property
    def datagrams(self) -> pl.LazyFrame:
        """One row per datagram, in the order of the capture."""
        return pl.scan_parquet(self._reached / DATAGRAMS)

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of all conversations."""
        return self.conversations["conversation"][::2].to_list()

    @cached_property
    def _places(self) -> dict[int, int]:
        return {number: place for place, number in enumerate(self.numbers)}

    @cached_property
    def _total_bytes(self) -> list[int]:
        return self.conversations["total_bytes"].to_list()

    def main_sender(self, conversation: int) -> int:
        """The end of `conversation` that sent more payload."""
        place = 2 * self._place(conversation)
        return int(self._total_bytes[place + 1] > self._total_bytes[place])

    def row(self, conversation: int, sender: int) -> dict[str, Any]:
        """The row of a direction. Raises `InputError` if there is no such conversation."""
        return self.conversations.row(2 * self._place(conversation) + sender, named=True)

    def carrying(self, conversation: int) -> list[int]:
        """The ends of `conversation` that sent datagrams, the one that sent more bytes first."""
        sent = [self.row(conversation, sender) for sender in (0, 1)]
        by_size = sorted((0, 1), key=lambda sender: -sent[sender]["total_bytes"])
        return [sender for sender in by_size if sent[sender]["packets"]]

    def largest(self, most: int) -> list[int]:
        """The `most` conversations with the most payload, in the order of their numbers."""
        totals = self.conversations.group_by("conversation").agg(pl.col("total_bytes").sum())
        by_size = totals.sort(["total_bytes", "conversation"], descending=[True, False])
        return sorted(by_size["conversation"].head(most).to_list())

    def talk(self, conversation: int, sender: int | None = None) -> Talk:
        """What the end `sender` of `conversation` sent; the end that sent more if None.

        Raises `InputError` if there is no such conversation.
        """
        if sender not in (0, 1, None):
            raise InputError(f"sender is {sender}; it is 0 (began the conversation) or 1")
        which = self.carrying(conversation)[0] if sender is None else sender
        row = self.row(conversation, which)
        timed = (pl.col("time_ns").cast(pl.Int64) - self.epoch_ns) * 1e-9
        of_it = (pl.col("conversation") == conversation) & (pl.col("sender") == which)
        rows = self.datagrams.filter(of_it)
        sent = rows.drop("conversation", "sender").with_columns(timed.alias("time_s")).collect()
        return Talk(conversation, which, row, self.epoch_ns, sent)

    def _place(self, conversation: int) -> int:
        try:
            return self._places[conversation]
        except KeyError:
            count = len(self)
            known = f"they are 1 to {count}" if count else "there are none"
            raise InputError(f"no conversation {conversation} in the capture; {known}") from None


def name_of(conversation: int, sender: int) -> str:
    """A direction's name: `udp1` is what began the first conversation, `udp1-back` its answer."""
    return f"udp{conversation}" + "-back" * sender
