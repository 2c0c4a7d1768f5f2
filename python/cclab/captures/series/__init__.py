"""Series of a capture, pure functions of its tables. One file per kind; this is their list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import shown
from cclab.captures.series import (
    inter_arrival,
    jain,
    outstanding,
    rtt,
    share,
    talks,
    throughput,
    time_sequence,
    window,
)
from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from cclab.captures.series.flows import Flows
    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk

__all__ = ["ACROSS", "SERIES", "TALKS", "Across", "Kind", "OfTalk", "series", "series_of_talk"]


@dataclass(frozen=True)
class Kind:
    """A kind of series of one direction of a connection."""

    name: str
    """Its name in the API and of its files."""
    columns: dict[str, str]
    """What each of its columns is; names carry the unit."""
    compute: Callable[[Direction], pl.DataFrame]
    """Makes it."""
    binned: Callable[[Direction, float | None], pl.DataFrame] | None = None
    """Makes it with bins of so many seconds, if it has bins."""


@dataclass(frozen=True)
class Across:
    """A kind of series across all flows of a capture."""

    name: str
    """Its name in the API and of its files."""
    columns: dict[str, str]
    """What each of its columns is; names carry the unit."""
    compute: Callable[[Flows, float | None], pl.DataFrame]
    """Makes it, with bins of so many seconds (a length that suits the capture if None)."""


@dataclass(frozen=True)
class OfTalk:
    """A kind of series of one direction of a conversation over UDP."""

    name: str
    """Its name in the API and of its files."""
    columns: dict[str, str]
    """What each of its columns is; names carry the unit."""
    compute: Callable[[Talk], pl.DataFrame]
    """Makes it."""
    binned: Callable[[Talk, float | None], pl.DataFrame] | None = None
    """Makes it with bins of so many seconds, if it has bins."""


SERIES: tuple[Kind, ...] = (
    Kind("time-sequence", time_sequence.COLUMNS, time_sequence.compute),
    Kind("outstanding", outstanding.COLUMNS, outstanding.compute),
    Kind("window", window.COLUMNS, window.compute),
    Kind("throughput", throughput.COLUMNS, throughput.compute, throughput.compute),
    Kind("rtt", rtt.COLUMNS, rtt.compute),
    Kind("inter-arrival", inter_arrival.COLUMNS, inter_arrival.compute),
)
"""Every kind of a direction."""

TALKS: tuple[OfTalk, ...] = (
    OfTalk(
        "throughput",
        talks.THROUGHPUT,
        lambda talk: talk.throughput(),
        lambda talk, bin_s: talk.throughput(bin_s),
    ),
    OfTalk("inter-arrival", inter_arrival.COLUMNS, inter_arrival.compute),
    OfTalk("size", talks.SIZE, lambda talk: talk.size()),
)
"""Every kind of a direction of a conversation."""

ACROSS: tuple[Across, ...] = (
    Across("share", share.COLUMNS, share.compute),
    Across("jain", jain.COLUMNS, jain.compute),
)
"""Every kind across flows."""


def series(
    flows: Flows,
    name: str,
    *,
    connection: int | None = None,
    sender: int | None = None,
    bin_s: float | None = None,
) -> pl.DataFrame:
    """The series called `name` of a direction of `connection`, or across all of them.

    `sender` is the end whose data it is about: 0 began the connection, and None is the one that
    sent more. `bin_s` is the length of bins in seconds, where there are bins. Times are seconds
    since the capture's first packet. Raises `InputError` if there is no
    such series or connection, or if they do not go together.
    """
    kind = next((k for k in SERIES if k.name == name), None)
    over = next((k for k in ACROSS if k.name == name), None)
    if over is not None:
        if connection is not None:
            raise InputError(f"{name} is across all flows: leave the connection out")
        return over.compute(flows, bin_s)
    if kind is None:
        known = ", ".join([k.name for k in SERIES] + [k.name for k in ACROSS])
        raise InputError(f"no series called {shown.quoted(name)}; the series are {known}")
    if connection is None:
        raise InputError(f"{name} is of one connection: which?")
    direction = flows.tables.direction(connection, sender)
    if bin_s is None:
        return kind.compute(direction)
    if kind.binned is None:
        raise InputError(f"{name} has no bins")
    return kind.binned(direction, bin_s)


def series_of_talk(talk: Talk, name: str, bin_s: float | None = None) -> pl.DataFrame:
    """The series called `name` of a direction of a conversation, as `series` gives one of TCP."""
    kind = next((k for k in TALKS if k.name == name), None)
    if kind is None:
        known = ", ".join(k.name for k in TALKS)
        raise InputError(
            f"no series called {shown.quoted(name)} of a conversation; the series are {known}"
        )
    if bin_s is None:
        return kind.compute(talk)
    if kind.binned is None:
        raise InputError(f"{name} has no bins")
    return kind.binned(talk, bin_s)
