"""Where a comparison may not show what it seems to show."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from cclab import versions
from cclab.comparison import permutation
from cclab.comparison.correction import LEVEL
from cclab.measure.summary import Raised, warnings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cclab.comparison.correction import Correction
    from cclab.comparison.matching import Match
    from cclab.comparison.results import Kind
    from cclab.measure.results import Results
    from cclab.plan import Plan
    from cclab.plan.changes import Change

_ENOUGH_RUNS = 10
"""With fewer runs, more than about one interval in ten excludes zero where there is no difference,
instead of one in twenty (measured in docs/compare.md)."""

_WINDOWS = ("duration", "warmup", "flow.*.duration", "flow.*.transfer", "flow.*.start.*")
"""Keys that say over which time and which work a metric is taken."""

_FEW_TOGETHER = 0.1
"""A doubt is raised if a verdict needs more than this share of all comparisons to differ."""

_MOST_KEYS = 6


@dataclass(frozen=True)
class Doubt(Raised):
    """A doubt about the comparison itself, not about some runs."""

    runs: list[str] = field(default_factory=list)
    """Empty: the doubt is about all runs together."""

    @property
    def extent(self) -> str:
        """Nothing: the message says it."""
        return ""


def of_comparison(
    kind: Kind, points: Sequence[Match], meant: Sequence[str], a: Plan, b: Plan
) -> list[Raised]:
    """The doubts about comparing `points`, whose sides differ on purpose in the keys `meant`."""
    changes = {change.key: change for point in points for change in point.changes}
    raised: list[Doubt | None] = [
        _different_windows(changes.values()),
        _several_changes(kind, [c for c in changes.values() if not _among(c.key, meant)]),
        _versions(a, b),
        _same_runs(points),
        _runs(points),
        _unfinished(points),
    ]
    return [doubt for doubt in raised if doubt is not None]


def of_tests(
    points: Sequence[Match], tested: int, correction: Correction, *, told: bool = False
) -> list[Raised]:
    """The doubt that the runs are too few for a verdict in `tested` tests, or for one unless many
    comparisons differ. There is no such doubt if a verdict is `told`."""
    if tested == 0:
        return []
    least = [permutation.smallest(len(p.seeds_a), len(p.seeds_b), paired=p.paired) for p in points]
    alone = LEVEL / tested
    # By Holm's method the smallest p-value of all has to be that small; once one is, others may be
    # larger. Above the level none ever tells anything.
    bound = alone if correction == "holm" and min(least) > alone else LEVEL
    without = sum(p > bound for p in least)
    # By Benjamini and Hochberg, so many p-values must be that small for any to be accepted.
    together = math.ceil(min(least) * tested / LEVEL)
    over_all = "; over all points together they may" if len(points) > 1 else ""
    if without:
        where = "" if without == len(points) else f" at {without} of {len(points)} sweep points"
        said = f"runs are too few for any verdict but `no evidence`{where}: the smallest p-value "
        said += f"that they can give is {max(least):.2g}, and at most {bound:.2g} is asked"
    elif correction == "fdr" and not told and together > max(1, _FEW_TOGETHER * tested):
        said = f"runs are too few to tell what differs unless {together} of {tested} comparisons "
        said += f"do: the smallest p-value that they can give is {min(least):.2g}"
    else:
        return []
    for_one = permutation.enough_pairs(alone)
    for_any = permutation.enough_pairs(bound) if without else for_one
    remedy = f"compare fewer metrics (--metric) or points: {tested} are too many for any number"
    if for_any is not None:
        remedy = f"repeat the runs with the same seeds on both sides (--repeat {for_any} or more"
        if for_one is not None and for_one > for_any:
            remedy += f"; {for_one} to see one difference among {tested}"
        remedy += ")"
    return [Doubt("too-few-runs-to-tell", said + over_all, remedy)]


def of_sides(a: Results, b: Results) -> list[Raised]:
    """The warnings of the results on each side, saying whose they are; each kind once."""
    of_a = {doubt.code: doubt for doubt in warnings(a.points)}
    of_b = {doubt.code: doubt for doubt in warnings(b.points)}
    raised = []
    for code, doubt in (of_b | of_a).items():
        own = [side[code] for side in (of_a, of_b) if code in side]
        runs = [run for warning in own for run in warning.runs]
        points = sum(warning.points for warning in own)
        whose = "A and B" if code in of_a and code in of_b else "A" if code in of_a else "B"
        said = f"{whose}: {doubt.message}"
        raised.append(replace(doubt, message=said, runs=runs, points=points))
    return raised


def _among(key: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def _different_windows(changes: Iterable[Change]) -> Doubt | None:
    windows = [change for change in changes if _among(change.key, _WINDOWS)]
    if not windows:
        return None
    return Doubt(
        "measured-differently",
        f"A and B are measured over different times or transfers: {_listed(windows)}",
        "give both sides the same duration, warm-up, starts and transfers",
    )


def _several_changes(kind: Kind, changes: list[Change]) -> Doubt | None:
    if kind != "stores" and changes:
        return Doubt(
            "differs-elsewhere",
            f"the {kind} are not all that differs: {_listed(changes)}",
            "what is seen is the effect of all of it; set these keys in the study",
        )
    if len(changes) < 2:
        return None
    return Doubt(
        "several-differences",
        f"A and B differ in {len(changes)} keys: {_listed(changes)}",
        "what is seen is the effect of all of them; unless one follows from another, as a queue "
        "of 1bdp from the rate, compare studies that differ in one",
    )


def _listed(changes: Sequence[Change]) -> str:
    more = f" and {len(changes) - _MOST_KEYS} more" if len(changes) > _MOST_KEYS else ""
    return ", ".join(map(str, changes[:_MOST_KEYS])) + more


def _versions(a: Plan, b: Plan) -> Doubt | None:
    of_a, of_b = (versions.together(run.version for run in plan.runs) for plan in (a, b))
    # What one side alone uses is what is compared, not another version of it.
    both = of_a.keys() & of_b.keys() or of_a.keys() | of_b.keys()
    differ = sorted(name for name in both if of_a.get(name) != of_b.get(name))
    if a.backend != b.backend or not differ:
        return None
    told = (
        ", ".join(f"{name} {number}" for name in differ for number in side.get(name, []))
        for side in (of_a, of_b)
    )
    return Doubt(
        "different-versions",
        f"backend {a.backend} had another version on each side: {' | '.join(told)}",
        "run both studies again with one version, unless the versions are what is compared",
    )


def _same_runs(points: Sequence[Match]) -> Doubt | None:
    if not any(point.same_runs for point in points):
        return None
    return Doubt(
        "same-runs",
        "some runs are on both sides: same scenario, seed, backend and version",
        "nothing is learnt from a run beside itself; give one side other seeds (--seed)",
    )


def _runs(points: Sequence[Match]) -> Doubt | None:
    least = min(map(_compared, points))
    if least >= _ENOUGH_RUNS:
        return None
    # More repeats of other seeds would not help.
    cut = any(p.left_out_a or p.left_out_b for p in points if _compared(p) == least)
    repeat = "repeat the runs with the same seeds on both sides" if cut else "repeat the runs"
    if least == 1:
        single = "A and B have a single seed in common" if cut else "a side has a single run"
        return Doubt(
            "single-runs",
            f"{single} at a sweep point: its difference has no interval, and may be chance",
            f"{repeat} (--repeat {_ENOUGH_RUNS})",
        )
    runs = f"{least} runs whose seeds A and B have in common" if cut else f"{least} runs"
    return Doubt(
        "few-runs",
        f"intervals from {runs} are too narrow: they show a difference that is none more "
        "often than the one time in twenty that 95% promises",
        f"{repeat} (--repeat {_ENOUGH_RUNS} or more); docs/compare.md says how often",
    )


def _compared(point: Match) -> int:
    """The runs of the side that has fewer."""
    return min(len(point.seeds_a), len(point.seeds_b))


def _unfinished(points: Sequence[Match]) -> Doubt | None:
    cut = [(name, counts) for point in points for name, counts in point.unfinished.items()]
    if not cut:
        return None
    name, (of_a, of_b) = cut[0]
    more = f"; and the like in {len(cut) - 1} more" if len(cut) > 1 else ""
    return Doubt(
        "unfinished-transfers",
        f"the transfer of {name} did not end in {of_a} runs of A and {of_b} of B, so that "
        f"elapsed_s is of the others only{more}",
        "give the run time to end the transfers (a longer duration, or none)",
    )
