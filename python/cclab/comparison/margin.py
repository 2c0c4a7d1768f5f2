"""Whether B is better than A, no worse, worse or undecided, against a margin (non-inferiority).

The whole interval has to lie where the verdict says. Turned so that more is better, an interval
above zero is `better`; above the margin's lower end, `no-worse`; below it, `worse`; one that holds
that end decides nothing (Piaggio et al. 2012, JAMA 308:2594, figure 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cclab import _core
from cclab.errors import InputError

if TYPE_CHECKING:
    from cclab.comparison.difference import Difference
    from cclab.comparison.metric import Metric
    from cclab.stats import Estimate

Standing = Literal["better", "no-worse", "worse", "undecided"]
"""B against A, where being worse by less than the margin does not matter."""

STANDINGS: tuple[Standing, ...] = ("better", "no-worse", "worse", "undecided")


@dataclass(frozen=True)
class Margin:
    """How much worse B may be and still be no worse."""

    share: float
    """Of the mean of A; of a metric that is a fraction, the difference itself."""

    @classmethod
    def of(cls, given: str | float) -> Margin:
        """The margin that `given` says: `"5%"`, or 0.05. Raises `InputError` if it is none."""
        text = given.strip() if isinstance(given, str) else f"{given!r}"
        share = _core.number(text)
        if share is None or _core.dimension(text) not in ("share", None) or not share > 0:
            raise InputError(f"margin {text}: a part of A's mean above 0 in per cent, such as 5%")
        if isinstance(given, str) and not text.endswith("%"):
            raise InputError(f"margin {text}: in per cent of A's mean; {100 * share:g}% is meant?")
        return cls(share)

    def __str__(self) -> str:
        """As a user writes it."""
        return f"{100 * self.share:g}%"

    def standing(self, metric: Metric, found: Difference | None, repeated: bool) -> Standing | None:
        """Where B stands; None of a metric of which neither way is better, or not measured.

        `repeated`: the runs of each side are one run, so that they tell nothing of others.
        """
        if metric.better is None or found is None:
            return None
        estimate, bound = self._scaled(metric, found)
        ends = _ends(estimate, found, repeated)
        if ends is None:
            return "undecided"
        low, high = ends if metric.better == "higher" else (-ends[1], -ends[0])
        if low > 0:
            return "better"
        if low >= -bound:
            return "no-worse"
        return "worse" if high < -bound else "undecided"

    def _scaled(self, metric: Metric, found: Difference) -> tuple[Estimate, float]:
        """The difference that is held against the margin, and the margin in its unit.

        Where nothing can be relative to A, because its mean is zero in some resamples, the absolute
        difference against that part of A's mean.
        """
        if metric.bounded:
            return found.absolute, self.share
        relative = found.relative
        if relative is not None and (relative.low is not None or found.absolute.low is None):
            return relative, self.share
        return found.absolute, self.share * max(found.a.mean, 0.0)


def _ends(estimate: Estimate, found: Difference, repeated: bool) -> tuple[float, float] | None:
    """The ends of the interval; None if the runs give none.

    Of several runs whose difference does not vary it is that difference alone.
    """
    if estimate.low is not None and estimate.high is not None:
        return estimate.low, estimate.high
    several = found.absolute.n > 1
    equal = several and found.p is None
    if equal or (several and found.constant and not repeated):
        return estimate.mean, estimate.mean
    return None
