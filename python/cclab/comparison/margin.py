"""Whether B is better than A, no worse, worse or undecided, against a margin (non-inferiority).

The position of the whole interval decides. Turned so that more is better, an interval above zero is
`better`; above the margin's lower end, `no-worse`; below it, `worse`; an interval that contains
that end decides nothing (Piaggio et al. 2012, JAMA 308:2594, figure 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from cclab import _core
from cclab.errors import InputError
from cclab.measure import findings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab.comparison.difference import Difference
    from cclab.comparison.matching import Row
    from cclab.comparison.metric import Metric
    from cclab.measure.stats import Estimate

Standing = Literal["better", "no-worse", "worse", "undecided"]
"""B against A, where being worse by less than the margin does not matter."""

STANDINGS: tuple[Standing, ...] = ("better", "no-worse", "worse", "undecided")

_STANDING: dict[findings.Finding, Standing] = {
    "holds": "no-worse",
    "fails": "worse",
    "open": "undecided",
}
"""Where B stands if it is not better, by whether it is above the margin's lower end."""

_POINTS = "pp"

_WRITTEN = (
    "a part of A's mean in per cent, such as 5%; or of fractions, points of per cent, such as 1pp; "
    "or both, as 5%,1pp"
)


@dataclass(frozen=True)
class Margin:
    """How much worse B may be and still be no worse."""

    share: float | None
    """Of the mean of A; None where only points were given."""
    points: float | None = None
    """For a metric that is a fraction or an index up to 1: the absolute margin, 0.01 a point. None
    if `share` holds for these metrics too."""

    @classmethod
    def of(cls, given: str | float) -> Margin:
        """The margin that `given` spells: `"5%"` or 0.05; `"1pp"` for fractions; or `"5%,1pp"`.

        Raises `InputError` if `given` is no margin.
        """
        if not isinstance(given, str):
            return cls(_part(f"{given!r}", f"{given!r}"))
        parts = [part.strip() for part in given.split(",")]
        points = [part for part in parts if part.endswith(_POINTS)]
        shares = [part for part in parts if not part.endswith(_POINTS)]
        if len(points) > 1 or len(shares) > 1:
            raise InputError(f"margin {given}: {_WRITTEN}")
        for share in shares:
            number = _core.number(share)
            if not share.endswith("%") and number is not None and _core.dimension(share) is None:
                meant = f"{share}%" if number >= 1 else f"{100 * number:g}%"
                raise InputError(f"margin {given}: in per cent of A's mean; is {meant} meant?")
        return cls(
            _part(shares[0], given) if shares else None,
            _part(f"{points[0].removesuffix(_POINTS).strip()}%", given) if points else None,
        )

    def __str__(self) -> str:
        """As a user writes it."""
        told = [] if self.share is None else [f"{100 * self.share:g}%"]
        return ",".join(told + ([] if self.points is None else [f"{100 * self.points:g}{_POINTS}"]))

    def check(self, metrics: Iterable[Metric]) -> None:
        """Raises `InputError` if the margin covers only some of the `metrics`."""
        if self.share is not None:
            return
        others = dict.fromkeys(m.path for m in metrics if m.better is not None and not m.bounded)
        if others:
            more = f" and {len(others) - 3} more" if len(others) > 3 else ""
            raise InputError(
                f"margin {self}: points are of fractions, and {', '.join([*others][:3])}{more} are "
                f"none; add a part of A's mean, as 5%,{self}, or choose with --metric"
            )

    def in_points(self, metric: Metric) -> bool:
        """Whether the margin bounds the absolute difference, not its share of A."""
        return metric.bounded and self.points is not None

    def bound(self, metric: Metric, mean_a: float) -> float:
        """By how much B may be worse, in the unit of the metric."""
        if metric.bounded and self.points is not None:
            return self.points
        return (self.share or 0.0) * max(mean_a, 0.0)

    def shifted(self, row: Row) -> Row:
        """The row with A made worse by the margin: if B is worse than that, it is worse by more
        than the margin."""
        sign = -1.0 if row.metric.better == "higher" else 1.0
        if row.metric.bounded and self.points is not None:
            add, factor = sign * self.points, 1.0
        else:
            add, factor = 0.0, 1.0 + sign * (self.share or 0.0)
        return replace(row, a=[None if v is None else v * factor + add for v in row.a])

    def standing(
        self, metric: Metric, difference: Difference | None, repeated: bool
    ) -> Standing | None:
        """Where B stands; None if the metric has no better direction, or was not measured.

        `repeated`: the runs of each side are one run, repeated, and say nothing about other runs.
        """
        if metric.better is None or difference is None:
            return None
        estimate, bound = self._scaled(metric, difference)
        ends = _ends(estimate, difference, repeated)
        if ends is None:
            return "undecided"
        low, high = ends if metric.better == "higher" else (-ends[1], -ends[0])
        if low > 0:
            return "better"
        return _STANDING[findings.between(low, high, least=-bound, closed=True)]

    def _scaled(self, metric: Metric, difference: Difference) -> tuple[Estimate, float]:
        """The difference to compare with the margin, and the margin in its unit.

        If A's mean is zero in some resamples, no difference is relative to A: then the absolute
        difference and that share of A's mean.
        """
        relative = difference.relative
        if (
            not self.in_points(metric)
            and relative is not None
            and (relative.low is not None or difference.absolute.low is None)
        ):
            return relative, self.share or 0.0
        return difference.absolute, self.bound(metric, difference.a.mean)


def _part(text: str, given: str) -> float:
    """A part of something, in per cent or as a plain number."""
    part = _core.number(text)
    if part is None or _core.dimension(text) not in ("share", None) or not 0 < part < 1:
        raise InputError(f"margin {given}: {_WRITTEN}; above 0 and below 100")
    return part


def _ends(estimate: Estimate, difference: Difference, repeated: bool) -> tuple[float, float] | None:
    """The ends of the interval; None if the runs give none.

    If several runs differ by the same, both ends are that difference.
    """
    if estimate.low is not None and estimate.high is not None:
        return estimate.low, estimate.high
    several = difference.absolute.n > 1
    equal = several and difference.p is None
    if equal or (several and difference.constant and not repeated):
        return estimate.mean, estimate.mean
    return None
