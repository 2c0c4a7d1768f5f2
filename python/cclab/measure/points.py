"""Sweep points, and what the runs of each measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cclab.measure import numbers

if TYPE_CHECKING:
    import polars as pl

    from cclab.measure.numbers import Numbers
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

    @cached_property
    def numbers(self) -> Numbers:
        """Every number of the metrics, by its name."""
        return numbers.of(self.metrics)

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

    @cached_property
    def transfers(self) -> pl.DataFrame | None:
        """The transfers of its cross traffic, read once; None where its trace has none."""
        return self.trace.table("transfers") if self.trace.has("transfers") else None

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

    @cached_property
    def flows(self) -> list[dict[str, Any]]:
        """The metrics of each flow in the first run that has traffic of it.

        A program may send something in one run and nothing in another: what the flow is, such as
        its variant, is known of the former. Where no run has any, they are those of the first.
        """
        of_runs = [run.metrics["flows"] for run in self.runs]
        return [
            next((flow for flow in of_flow if flow["cc"] or flow["transport"]), of_flow[0])
            for of_flow in zip(*of_runs, strict=True)
        ]
