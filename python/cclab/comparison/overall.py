"""A metric over all sweep points: many points together show what few seeds cannot show at one.

At each point the difference of each pair (or of the two sides' means) is divided by the mean of
all runs of both sides there, which stays the same when labels are swapped; fractions are left as
they are. What is tested is the mean of that over the points, by a permutation test in which labels
are swapped only within a point (Edgington and Onghena 2007, Randomization Tests, chapter 6): points
may differ from each other in anything.

Pairs are swapped at each point by themselves. Runs that are not paired are not: the same seed draws
the same starts at every point, so that its runs have something in common, and a seed bears one
label at all points together: there, only seeds count that a side has at all such points, and
without any nothing is tested. In differences of pairs that cancels out (docs/compare.md, measured).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab.comparison import permutation
from cclab.comparison.correction import Correction, adjusted
from cclab.comparison.difference import TINY
from cclab.comparison.verdict import Code, code_of
from cclab.measure.stats import SEED, weighed_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.comparison.matching import Match, Row
    from cclab.comparison.metric import Metric
    from cclab.measure.stats import Floats


@dataclass(frozen=True)
class Overall:
    """A metric of a flow, of traffic or of the whole run, over the points that measured it."""

    subject: str
    """The flow, group, traffic, probe or named queue, `NAME.*` for all copies of one (`count`);
    empty for the whole run."""
    metric: Metric
    points: int
    higher: int
    """Sweep points at which B is higher."""
    lower: int
    """Sweep points at which B is lower."""
    difference: float
    """The mean over the points of B - A, relative to the mean of both; of a fraction, as it is."""
    p: float | None
    """The p-value of the permutation test; None if A and B are equal at every point."""
    p_adjusted: float | None
    """`p`, corrected for the number of metrics and subjects tested over all points."""

    @property
    def code(self) -> Code:
        """The verdict."""
        return code_of(self.metric, self.difference, self.p_adjusted)

    @property
    def words(self) -> str:
        """The difference in words."""
        if self.p is None:
            return "equal"
        if not self.metric.bounded:
            share = 100 * self.difference
            return f"{share:+.0f}%" if abs(share) >= 10 else f"{share:+.2g}%"
        divisor, unit, digits = self.metric.unit(1.0)
        return f"{self.difference / divisor:+.{digits}f}{' points' if unit == '%' else ''}"

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        return {
            "subject": self.metric.subject,
            "name": self.subject or None,
            "metric": self.metric.name,
            "points": self.points,
            "higher": self.higher,
            "lower": self.lower,
            "difference": self.difference,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "verdict": self.code,
            "words": self.words,
        }


def overall(points: Sequence[Match], correction: Correction) -> list[Overall]:
    """Each metric of each subject over all of `points`; nothing from a single one."""
    if len(points) < 2:
        return []
    everywhere = _of_seeds_everywhere(points)
    points = everywhere or points
    gathered: dict[tuple[str, Metric], int] = {}
    strata = [_stratum(point, gathered) for point in points]
    differences = np.array([_filled(s.differences, len(gathered)) for s in strata])
    measured = np.isfinite(differences)
    sums = np.where(measured, differences, 0.0).sum(axis=0)
    counts = measured.sum(axis=0)
    p_values = _p_values(strata, sums) if everywhere else [None] * len(gathered)
    tested = [k for k, p in enumerate(p_values) if p is not None]
    corrected = dict(
        zip(tested, adjusted([p for p in p_values if p is not None], correction), strict=True)
    )
    return [
        Overall(
            subject=subject,
            metric=metric,
            points=int(counts[k]),
            higher=int((differences[:, k] > 0).sum()),
            lower=int((differences[:, k] < 0).sum()),
            difference=float(sums[k] / counts[k]),
            p=p_values[k],
            p_adjusted=corrected.get(k),
        )
        for (subject, metric), k in gathered.items()
        if counts[k]
    ]


def _of_seeds_everywhere(points: Sequence[Match]) -> list[Match]:
    """The points, without unpaired runs of a seed that another unpaired point lacks.

    Empty if that leaves a side without runs. If a run were missing at one point, the other runs of
    its seed would be free of their common label.
    """
    apart = [p for p in points if not p.paired and not any(row.repeated for row in p.rows)]
    if not apart:
        return [*points]
    of_a = set.intersection(*(set(point.seeds_a) for point in apart))
    of_b = set.intersection(*(set(point.seeds_b) for point in apart))
    if not of_a or not of_b:
        return []
    chosen = {id(point) for point in apart}
    return [_without(p, of_a, of_b) if id(p) in chosen else p for p in points]


def _without(point: Match, of_a: set[int], of_b: set[int]) -> Match:
    """The point with the runs of these seeds alone."""
    in_a = [place for place, seed in enumerate(point.seeds_a) if seed in of_a]
    in_b = [place for place, seed in enumerate(point.seeds_b) if seed in of_b]

    def kept(rows: list[Row]) -> list[Row]:
        return [replace(r, a=[r.a[k] for k in in_a], b=[r.b[k] for k in in_b]) for r in rows]

    return replace(
        point,
        seeds_a=[point.seeds_a[place] for place in in_a],
        seeds_b=[point.seeds_b[place] for place in in_b],
        groups=[replace(subject, rows=kept(subject.rows)) for subject in point.groups],
        flows=[replace(subject, rows=kept(subject.rows)) for subject in point.flows],
        traffic=[replace(subject, rows=kept(subject.rows)) for subject in point.traffic],
        probes=[replace(subject, rows=kept(subject.rows)) for subject in point.probes],
        bands=[replace(subject, rows=kept(subject.rows)) for subject in point.bands],
        whole=kept(point.whole),
    )


@dataclass(frozen=True)
class _Stratum:
    """A sweep point: a row for each of what is gathered over the points, as far as it is known.

    The difference is the sum over the columns of `parts`: with a label's sign each if they are
    pairs, else with -1/n for A and 1/n for B.
    """

    parts: Floats
    size_a: int
    """Columns that are A's; 0 if they are pairs."""
    seeds: tuple[int, ...] | None
    """Whose runs the columns are, where they are runs: those of A, then those of B. None of pairs,
    and where the runs of each side are one run, whatever the seed."""
    differences: Floats
    """NaN where it was not measured."""


def _stratum(point: Match, gathered: dict[tuple[str, Metric], int]) -> _Stratum:
    repeated = any(row.repeated for row in point.rows)
    size_a, size_b = (1 if repeated else len(seeds) for seeds in (point.seeds_a, point.seeds_b))
    columns = size_a if point.paired else size_a + size_b
    by_key: dict[int, list[Floats]] = {}
    for subject, row in _named_rows(point):
        key = gathered.setdefault((subject, row.metric), len(gathered))
        contributions = _parts(row, repeated)
        by_key.setdefault(key, []).append(
            np.full(columns, np.nan) if contributions is None else contributions
        )
    parts = np.full((len(gathered), columns), np.nan)
    for key, copies in by_key.items():
        known = [copy for copy in copies if np.isfinite(copy).all()]
        if known:
            parts[key] = np.mean(known, axis=0)
    if point.paired:
        return _Stratum(np.nan_to_num(parts), 0, None, parts.sum(axis=1))
    apart = parts[:, size_a:].mean(axis=1) - parts[:, :size_a].mean(axis=1)
    seeds = None if repeated else (*point.seeds_a, *point.seeds_b)
    return _Stratum(np.nan_to_num(parts), size_a, seeds, apart)


def _named_rows(point: Match) -> list[tuple[str, Row]]:
    """The rows of a point, with the subject that they are gathered under."""
    subjects = [
        (_of_any_copy(subject.name), row) for subject in point.subjects for row in subject.rows
    ]
    return subjects + [("", row) for row in point.whole]


def _of_any_copy(name: str) -> str:
    stem, dot, number = name.rpartition(".")
    return f"{stem}.*" if dot and number.isdigit() else name


def _parts(row: Row, repeated: bool) -> Floats | None:
    """What each pair, or each run of A and then of B, contributes to the difference; None if
    unknown."""
    a, b = (np.array(side, dtype=np.float64) for side in (row.a, row.b))
    if row.paired:
        known = np.isfinite(a) & np.isfinite(b)
        if not known.any():
            return None
        scale = _scale(row.metric, a[known], b[known])
        pairs = np.where(known, (b - a) / scale, 0.0) / known.sum()
        # Repeats of one run are one pair, not several that agree.
        return np.array([pairs.sum()]) if repeated else pairs
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    both = np.concatenate([a[:1], b[:1]] if repeated else [a, b])
    centred: Floats = (both - both.mean()) / _scale(row.metric, a, b)
    return centred


def _scale(metric: Metric, a: Floats, b: Floats) -> float:
    if metric.bounded:
        return 1.0
    mean = float((a.mean() + b.mean()) / 2)
    return mean if mean > TINY else 1.0


def _filled(values: Floats, length: int) -> Floats:
    """With NaN for what was gathered first at a later point."""
    return np.concatenate([values, np.full(length - len(values), np.nan)])


def _p_values(strata: list[_Stratum], sums: Floats) -> list[float | None]:
    """How often labels at random, within each stratum, set the sums at least as far from zero."""
    strata = _of_one_label(strata, len(sums))
    sizes = np.sum([np.abs(stratum.parts).sum(axis=1) for stratum in strata], axis=0)
    whole = np.concatenate([stratum.parts for stratum in strata], axis=1)
    if len(strata) == 1 and strata[0].size_a > 0:
        p_values = permutation.of_groups(whole[:, : strata[0].size_a], whole[:, strata[0].size_a :])
    elif not any(s.size_a for s in strata) and 2 ** whole.shape[1] <= permutation.EXACT_UP_TO:
        p_values = permutation.of_pairs(whole)
    else:
        random = np.random.Generator(np.random.PCG64(SEED))
        drawn = np.zeros((len(sums), permutation.DRAWN))
        for stratum in strata:
            drawn += weighed_sums(stratum.parts, _labels(stratum, random))
        bounds = np.abs(sums) - permutation.ROUNDING * sizes
        reached = np.count_nonzero(np.abs(drawn) >= bounds[:, None], axis=1)
        p_values = (reached + 1) / (permutation.DRAWN + 1)
    return [
        float(p) if size > 0 else None for p, size in zip(p_values, sizes.tolist(), strict=True)
    ]


def _of_one_label(strata: list[_Stratum], rows: int) -> list[_Stratum]:
    """The strata with a row for every metric. Points whose runs have the same seeds, and so the
    same labels, are added up."""
    by_label: dict[object, _Stratum] = {}
    for number, stratum in enumerate(strata):
        missing = np.zeros((rows - len(stratum.parts), stratum.parts.shape[1]))
        parts = np.concatenate([stratum.parts, missing])
        key = number if stratum.seeds is None else (stratum.size_a, stratum.seeds)
        if key in by_label:
            parts = by_label[key].parts + parts
        by_label[key] = replace(stratum, parts=parts)
    return list(by_label.values())


def _labels(stratum: _Stratum, random: np.random.Generator) -> Floats:
    """The weight of each column of `stratum.parts` under each labelling drawn, a column each."""
    columns = stratum.parts.shape[1]
    if stratum.size_a == 0:
        return permutation.draw_signs(random, columns).T
    weights, _ = permutation.labellings(stratum.size_a, columns - stratum.size_a)
    return weights[:, random.integers(0, weights.shape[1], size=permutation.DRAWN)]
