"""The cells of tables: numbers in the unit that suits their column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.measure import grouped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab.measure.stats import Estimate
    from cclab.metrics import Metric

NONE = "–"
"""What stands where there is no number."""


@dataclass(frozen=True)
class Cells:
    """A column of numbers."""

    metric: Metric
    largest: float
    """The unit suits it."""
    heading: str

    @classmethod
    def of(cls, metric: Metric, estimates: Iterable[Estimate | None]) -> Cells:
        """The column of `metric`, in the unit that suits the largest of `estimates`."""
        largest = max(
            (estimate.mean for estimate in estimates if estimate is not None), default=0.0
        )
        _, unit, _ = metric.unit(largest)
        # A percentage bears its sign in each cell.
        bare = not unit or metric.is_percentage
        return cls(metric, largest, metric.heading if bare else f"{metric.heading} ({unit})")

    def text(self, value: Estimate | None) -> str:
        """The cell of `value`."""
        if value is None:
            return NONE
        if self.metric.subject == "group" and self.metric.name in grouped.POOLED:
            return self._with_ends(value)
        told = self.metric.told(value.mean, value.half_width, largest=self.largest)
        return f"{told}%" if self.metric.is_percentage else told

    def _with_ends(self, value: Estimate) -> str:
        """A percentile and the ends of its interval, which is seldom even on both sides."""
        ends = () if value.low is None or value.high is None else (value.low, value.high)
        mean, *told = (self.metric.told(v, None, largest=self.largest) for v in (value.mean, *ends))
        return f"{mean} ({'–'.join(told)})" if told else mean


def only_measured(metric: Metric) -> bool:
    """Whether `metric` has a column only where something in it was measured."""
    return metric.column is not None and metric.column.if_measured
