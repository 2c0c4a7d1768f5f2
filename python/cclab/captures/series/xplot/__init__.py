"""Graphs for xplot, in files named as tcptrace names them: `a2b_tsg.xpl`, `a2b_rtt.xpl`, ..."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab.captures.series.xplot import curves, datagrams, time_sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk

__all__ = ["files", "files_of_talk"]

_GRAPHS = {time_sequence.SUFFIX: time_sequence.plot, **curves.SUFFIXES}


def files(direction: Direction) -> Iterator[tuple[str, bytes]]:
    """The graphs of a direction, with the names of their files."""
    for suffix, plot in _GRAPHS.items():
        yield f"{direction.name}_{suffix}.xpl", plot(direction)


def files_of_talk(talk: Talk) -> Iterator[tuple[str, bytes]]:
    """The graphs of a direction over UDP, likewise."""
    for suffix, plot in datagrams.SUFFIXES.items():
        yield f"{talk.name}_{suffix}.xpl", plot(talk)
