"""Packet captures of any origin: what each TCP connection and conversation over UDP in them did.

What each column means is in docs/analyze-tables.md, how it compares to tcptrace's numbers in
docs/analyze.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab import _core, machine
from cclab.errors import InputError, RunError
from cclab.late import late
from cclab.store import origin

if TYPE_CHECKING:
    import tempfile
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from cclab import whole
    from cclab.captures import series as all_series
    from cclab.captures.series import figures, flows, tables, talks
    from cclab.captures.series import folder as folders
    from cclab.captures.series.flows import Flows
    from cclab.captures.series.tables import Tables
    from cclab.captures.series.talks import Talks
    from cclab.drawing.style import Drawing
else:
    all_series = late("cclab.captures.series")
    figures = late("cclab.captures.series.figures")
    flows = late("cclab.captures.series.flows")
    folders = late("cclab.captures.series.folder")
    tables = late("cclab.captures.series.tables")
    talks = late("cclab.captures.series.talks")
    whole = late("cclab.whole")
    tempfile = late("tempfile")
    pl = late("polars")

_LONGEST_S = 2**64 / 1e9


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

    def __init__(
        self,
        head: dict[str, Any],
        connections: _core.Rows,
        conversations: _core.Rows,
        again: Callable[[Path], object],
        series: Path | None = None,
    ) -> None:
        """The capture that `head` describes, without its `connections` and `conversations`.

        The tables of its segments and datagrams are in the folder
        `series`; if that is None, `again` writes them into a folder that it is given.
        """
        self._head = head
        self._connections = connections
        self._conversations = conversations
        self._again = again
        self._series = series

    def __repr__(self) -> str:
        """How many packets, connections and conversations there are."""
        tcp, udp = (len(rows) // 2 for rows in self.rows)
        return f"<Capture: {self.packets} packets; {tcp} TCP connections, {udp} over UDP>"

    @property
    def rows(self) -> tuple[_core.Rows, _core.Rows]:
        """The rows of `connections` and `conversations`, for whoever needs no frame of them."""
        return self._connections, self._conversations

    @property
    def packets(self) -> int:
        """Packets that were read."""
        return int(self._head["packets"])

    @property
    def tcp_packets(self) -> int:
        """Packets that are TCP segments, and whole enough to be counted."""
        return int(self._head["tcp_packets"])

    @property
    def udp_packets(self) -> int:
        """Packets that are UDP datagrams, and whole enough to be counted."""
        return int(self._head["udp_packets"])

    @property
    def other_packets(self) -> dict[str, int]:
        """How many packets carry what else, by its name: `icmp`, `sctp`, `not-ip`, ..."""
        return dict(self._head["other_packets"])

    @property
    def started_ns(self) -> int:
        """When its first packet was seen, whatever it carries: times in seconds are since then."""
        return int(self._head["started_ns"])

    @property
    def problems(self) -> list[Problem]:
        """What was skipped or is in doubt."""
        return [Problem(**problem) for problem in self._head["problems"]]

    @property
    def together(self) -> dict[str, Any]:
        """The flows beside each other: shares, Jain's index, overlap and the time of congestion.

        See "Flows beside each other" in docs/analyze.md.
        """
        together: dict[str, Any] = self._head["together"]
        return together

    @cached_property
    def connections(self) -> pl.DataFrame:
        """One row for each direction of each connection, in the order of first packets.

        docs/analyze-tables.md says what each column is.
        """
        return pl.read_parquet(self._connections.parquet())

    @cached_property
    def conversations(self) -> pl.DataFrame:
        """One row for each direction of each conversation over UDP, in the order of first packets.

        docs/analyze-tables.md says what each column is.
        """
        return pl.read_parquet(self._conversations.parquet())

    @cached_property
    def document(self) -> dict[str, Any]:
        """All of it, as `cclab analyze --json` prints it."""
        document = {**self._head, "connections": _dicts(self._connections)}
        document["conversations"] = _dicts(self._conversations)
        document["problems"] = document.pop("problems")
        return document

    @cached_property
    def tables(self) -> Tables:
        """The tables of its segments and SACK blocks, on disk."""
        return tables.Tables(self.connections, self._folder, self.started_ns)

    @cached_property
    def talks(self) -> Talks:
        """The conversations, and the table of their datagrams on disk."""
        return talks.Talks(self.conversations, self._folder, self.started_ns)

    @cached_property
    def flows(self) -> Flows:
        """The connections and conversations beside each other."""
        return flows.Flows(self.tables, self.talks)

    @cached_property
    def _folder(self) -> Path:
        folder = self._series
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="cclab-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._again(folder)
        return folder

    def series(
        self,
        name: str,
        *,
        connection: int | None = None,
        conversation: int | None = None,
        sender: int | None = None,
        bin_s: float | None = None,
    ) -> pl.DataFrame:
        """The series called `name` of a direction of `connection`, or across all of them.

        With a `conversation` over UDP it is of that. `sender` is the end whose data it is about: 0
        began the connection, and None is the one that sent more. `bin_s` is the length of bins in
        seconds, where there are bins. Times are seconds since the capture's first packet. What
        the names and columns are is in docs/analyze.md. Raises `InputError` if there is no such
        series.
        """
        if conversation is None:
            return all_series.series(
                self.flows, name, connection=connection, sender=sender, bin_s=bin_s
            )
        if connection is not None:
            raise InputError(f"{name} is of a connection or of a conversation: leave one out")
        return all_series.series_of_talk(self.talks.talk(conversation, sender), name, bin_s)

    def figure(
        self,
        name: str,
        *,
        connection: int | None = None,
        conversation: int | None = None,
        sender: int | None = None,
        between: tuple[float, float] | None = None,
    ) -> Drawing | None:
        """The figure of the series called `name`; None where there is nothing to show in it.

        `between` are the seconds from which and to which it is shown; None is all of its time.
        Notebooks show it by themselves. The rest is as for `series`.
        """
        if conversation is not None:
            if connection is not None:
                raise InputError(f"{name} is of a connection or of a conversation: leave one out")
            return figures.figure_of_talk(self.talks.talk(conversation, sender), name, between)
        return figures.figure(
            self.flows, name, connection=connection, sender=sender, between=between
        )

    def write(
        self,
        out: str | Path,
        *,
        connections: Sequence[int] | None = None,
        formats: Sequence[str] = (),
        title: str = "Packet capture",
    ) -> Path:
        """Fills the folder `out` as `cclab analyze --out` does, and gives the path of its page.

        `connections` are those whose series are in it (the five with the most data if None);
        `formats`, of "csv", "parquet" and "xplot", are what series are written as beside the
        figures. Raises `InputError` if `out` holds anything that no analysis wrote, and
        `StoreError` if it cannot be written: it is as it was then.
        """
        with folders.folder(Path(out)) as place:
            folders.fill(place, self, title, connections, formats)
        return Path(out) / folders.PAGE


def analyze(
    path: str | Path,
    *,
    max_connections: int | None = None,
    interval: tuple[float, float] | None = None,
    series: str | Path | None = None,
    max_decompressed: int | None = None,
) -> Capture:
    """Analyses the packet capture at `path`: pcap or pcapng, compressed by gzip or zstd or not.

    At most `max_connections` are kept (50,000 if None): where there are more, those that were
    idle longest are not shown. `interval` is one in seconds since the first packet:
    `together["asked"]` says what each flow got in it. Into the folder `series`, which is made if
    need be, go the tables `segments`, `sacks` and `datagrams`. `max_decompressed` is what a
    compressed file may become, in bytes (if None, what docs/analyze.md says is plausible).
    Raises `CaptureError` if the file is no capture or cannot be read, and `StoreError` or
    `RunError` if `series` cannot be written; what cannot be read of one that is begun is among its
    `problems`. Raises `DamageError` if it is that of a run in a results folder and not as it was
    written.
    """
    if os.fspath(path) != "-":
        origin.check_origin(Path(path))
    return read(
        path,
        max_connections=max_connections,
        interval=interval,
        series=series,
        max_decompressed=max_decompressed,
    )


def read(
    path: str | Path,
    *,
    max_connections: int | None = None,
    interval: tuple[float, float] | None = None,
    series: str | Path | None = None,
    max_decompressed: int | None = None,
) -> Capture:
    """As `analyze`, whatever became of the file since it was written."""
    if max_connections is not None and max_connections < 1:
        raise InputError(f"max_connections is {max_connections}; it must be at least 1")
    _check_memory(max_connections)
    nanoseconds = None
    if interval is not None:
        try:
            from_s, to_s = (float(border) for border in interval)
        except (TypeError, ValueError):
            raise InputError(f"interval is {interval!r}; it is two numbers, of seconds") from None
        if not 0 <= from_s < to_s < _LONGEST_S:
            raise InputError(
                f"interval is {from_s} to {to_s}; it begins at 0 or later and ends after that"
            )
        nanoseconds = (round(from_s * 1e9), round(to_s * 1e9))
    file = os.fspath(path)

    def again(folder: Path) -> object:
        if file == "-":
            raise InputError("standard input is read once: series=FOLDER keeps its segments")
        return _core.analyze(file, max_connections, nanoseconds, folder, max_decompressed)

    with contextlib.nullcontext() if series is None else _kept(Path(series)) as place:
        told, connections, conversations = _core.analyze(
            file, max_connections, nanoseconds, place, max_decompressed
        )
        head = json.loads(told)
        if interval is not None and head["packets"] and head["together"]["asked"] is None:
            raise InputError(
                f"interval begins at {interval[0]} s, and the capture ends at "
                f"{head['lasted_s']:.3f} s"
            )
    return Capture(
        head, connections, conversations, again, None if series is None else Path(series)
    )


def _dicts(rows: _core.Rows) -> list[dict[str, Any]]:
    """Each row by the names of its columns."""
    columns = rows.columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@contextlib.contextmanager
def _kept(series: Path) -> Iterator[Path]:
    """A folder for the tables of packets, which are in `series` afterwards, or none of them."""
    with whole.into(series) as place:
        try:
            yield place
        except RunError as error:
            why = str(error).removeprefix(f"{place}/")
            raise RunError(f"cannot write {series}: {why}; nothing there was changed") from error


def _check_memory(max_connections: int | None) -> None:
    """Raises `InputError` if so many connections could take more memory than there is."""
    each, there = _core.analyze_memory(1), machine.memory()
    if max_connections is not None and max_connections * each > there:
        asked = max_connections * each
        raise InputError(
            f"max_connections is {max_connections}: they may take {asked / 1e9:.3g} GB of memory, "
            f"and there are {there / 1e9:.3g} GB: at most {there // each}"
        )
