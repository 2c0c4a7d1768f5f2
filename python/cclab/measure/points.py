"""Sweep points, and what the runs of each measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from cclab.plan import Run
    from cclab.store import Store
    from cclab.store.trace import Trace


@dataclass(frozen=True)
class Measured:
    """A run in the store and its metrics."""

    run: Run
    store: Store = field(repr=False)
    metrics: dict[str, Any] = field(repr=False)
    """`flows`, `bottleneck`, `jain`, `warnings`, and `fidelity` of runs in real time, as
    docs/metrics.md defines them."""

    @property
    def trace(self) -> Trace:
        """Its trace, and the packet captures beside it."""
        return self.store.trace(self.run.id)

    @property
    def is_sampled(self) -> bool:
        """Whether samples were taken in between; those at the edges of what is measured, which
        are in any trace, show no course."""
        return bool(self.run.scenario["trace"]["interval"])

    def records(self, table: str) -> bool:
        """Whether its trace has rows of `table`, and shows the course of what it samples."""
        if table.endswith("_samples") and not self.is_sampled:
            return False
        return self.trace.has(table)

    def table(self, name: str) -> pl.DataFrame:
        """The table `name` of its trace; see `trace.table`."""
        return self.trace.table(name)


@dataclass(frozen=True)
class Point:
    """A sweep point and those of its runs that are in the store."""

    index: int
    params: dict[str, Any]
    label: str
    """The point in words; the study's title if nothing is swept."""
    short_label: str
    """The values alone."""
    runs: list[Measured]
