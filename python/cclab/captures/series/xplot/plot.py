"""The language of xplot (Shepard's, http://www.xplot.org): one file, one graph.

Its commands are those of `demo.0` in xplot's own distribution. Times are `timeval`, seconds and
microseconds since 1970; xplot knows no shorter ones, and the rest is cut off, as tcptrace does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk

COLUMNS = ("place", "colour", "commands")
"""What is drawn: its place in the order of drawing, its colour, and its commands, whole lines."""


def graph(title: str, ylabel: str, parts: Sequence[pl.DataFrame]) -> bytes:
    """The file of a graph of all `parts`, which have `COLUMNS`; later things lie over earlier."""
    # `unsigned`, the other choice for sequence numbers, ends at 4 GiB.
    head = f"timeval double\ntitle\n{title}\nxlabel\ntime\nylabel\n{ylabel}\n"
    drawn = pl.concat([part.select(COLUMNS) for part in parts]).sort("place", maintain_order=True)
    new = pl.col("colour") != pl.col("colour").shift(1)
    colour = pl.when(new.fill_null(True)).then(pl.col("colour") + "\n").otherwise(pl.lit(""))
    body = drawn.select((colour + pl.col("commands")).str.join("")).item()
    return f"{head}{body}go\n".encode()


def placed(direction: Direction | Talk, frame: pl.DataFrame) -> pl.DataFrame:
    """A series with its order as `place` and its times as xplot's text `t`."""
    nanoseconds = (pl.col("time_s") * 1e9).round().cast(pl.Int64) + direction.epoch_ns
    microseconds = nanoseconds // 1000
    rest = (microseconds % 1_000_000).cast(pl.String).str.zfill(6)
    text = pl.format("{}.{}", microseconds // 1_000_000, rest)
    # In one piece: polars 2.1 panics over texts of frames some of whose chunks are empty.
    return frame.rechunk().with_row_index("place").with_columns(t=text)


def stairs(points: pl.DataFrame, y: str, colour: str, tick: str = "") -> pl.DataFrame:
    """A line that keeps each value until the next; with a `tick` where it stays as it was."""
    before = points.with_columns(t0=pl.col("t").shift(1), y0=pl.col(y).shift(1))
    level = pl.format("line {} {} {} {}\n", "t0", "y0", "t", "y0")
    step = pl.format("line {} {} {} {}\n", "t", "y0", "t", y)
    mark = pl.format(tick + " {} {}\n", "t", y) if tick else pl.lit("")
    changed = pl.when(pl.col(y) == pl.col("y0")).then(mark).otherwise(step)
    commands = pl.when(pl.col("t0").is_null()).then(mark).otherwise(level + changed)
    return before.with_columns(commands=commands, colour=pl.lit(colour))


def curve(points: pl.DataFrame, y: str, colour: str, label: str) -> pl.DataFrame:
    """Dots joined by lines, with the curve's name at the first."""
    before = points.with_columns(t0=pl.col("t").shift(1), y0=pl.col(y).shift(1))
    first = pl.format(f"ltext {{}} {{}}\n{label}\n", "t", y)
    joined = pl.format("line {} {} {} {}\n", "t0", "y0", "t", y)
    start = pl.when(pl.col("t0").is_null()).then(first).otherwise(joined)
    dot = pl.format("dot {} {}\n", "t", y)
    return before.with_columns(commands=start + dot, colour=pl.lit(colour))


def titled(direction: Direction | Talk) -> str:
    """The ends of a direction as tcptrace writes them: xplot knows ASCII alone."""
    return direction.title.replace(" → ", "_==>_")
