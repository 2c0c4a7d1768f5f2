"""The graphs of a direction over UDP, in the manner of those of a connection: tcptrace has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.captures.series.xplot import curves
from cclab.captures.series.xplot.plot import graph, placed, titled

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.captures.series.talks import Talk


def sequence(talk: Talk) -> bytes:
    """Datagrams as bars with arrows, from the payload before each to that with it."""
    rows = placed(talk, talk.size())
    end = pl.col("payload_bytes").cum_sum()
    bars = rows.with_columns(low=end - pl.col("payload_bytes"), high=end)
    arrows = pl.format("darrow {} {}\nuarrow {} {}\n", "t", "low", "t", "high")
    line = pl.format("line {} {} {} {}\n", "t", "low", "t", "high")
    parts = [bars.with_columns(commands=arrows + line, colour=pl.lit("white"))]
    return graph(f"{titled(talk)} (time sequence graph)", "payload so far (bytes)", parts)


def rates(talk: Talk) -> bytes:
    """Throughput in bins (red) and since the beginning (blue), in bits per second."""
    return curves.rated(talk, talk.throughput())


SUFFIXES: dict[str, Callable[[Talk], bytes]] = {
    "tsg": sequence,
    "tput": rates,
    "iat": curves.gaps,
}
"""By the end of their files' names."""
