"""What a suite says where nothing differs: a standard under two names, each with seeds of its own.

Every card judges the lines anew, with seeds for the variant and others for the standard, drawn from
one pool. `python -m nulls` does it for a whole suite; `make null` calls it.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from cclab import evaluation
from cclab.evaluation import judge, runs
from cclab.evaluation.evidence import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cclab.evaluation.evidence import Line, Sample, Setting


ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Said:
    """What a card says of the lines that compare."""

    lines: int
    worse: list[str]


def pool(
    suite: str | Path, variant: str, out: Path, seeds: int, only: Sequence[str] = ()
) -> list[Line]:
    """The lines of a suite's short form that compare, with `seeds` runs of the variant each."""
    loaded = evaluation.load(suite)
    subject = Subject(variant, variant, variant, None)
    planned = runs.plan(
        loaded, subject, [variant], out, quick=True, backend=None, repeat=seeds, seed=None
    )
    lines: list[Line] = []
    for each in planned:
        criteria = [
            criterion
            for criterion in loaded.criteria(each.scenario.name)
            if criterion.margin is not None and (not only or criterion.id.startswith(tuple(only)))
        ]
        if criteria and each.scenario.standards is None and not each.refusals:
            done = runs.carry_out(each)
            lines += judge.lines(
                criteria, each.scenario, loaded.says.despite, done, subject, [variant]
            )
    return lines


def cards(lines: Sequence[Line], number: int, *, strict: bool) -> Iterator[Said]:
    """So many cards, each with half of the pool's seeds for the variant and half for the standard.

    `strict` takes the margins away, so that chance alone is between the two.
    """
    dice = random.Random(9743)
    for _ in range(number):
        judged = judge.corrected([_redrawn(line, dice, strict=strict) for line in lines])
        worse = [line.criterion.id for line in judged if line.verdict == "worse than standard"]
        yield Said(len(judged), worse)


def _redrawn(line: Line, dice: random.Random, *, strict: bool) -> Line:
    criterion = structs.replace(line.criterion, below=None, above=None)
    if strict:
        criterion = structs.replace(criterion, margin=0.0, slack=0.0)
    settings: list[Setting] = []
    for setting in line.settings:
        pool = [*setting.subject.seeds]
        dice.shuffle(pool)
        half = len(pool) // 2
        ours, theirs = (
            _renumbered(setting.subject.of(seeds)) for seeds in (pool[:half], pool[half : 2 * half])
        )
        theirs = replace(theirs, variant="the standard")
        beside = judge.compared(criterion, ours, theirs)
        settings.append(judge.at_setting(criterion, setting.params, ours, [beside]))
    return judge.line(criterion, settings)


def _renumbered(sample: Sample) -> Sample:
    """As if the seeds were those of the other half, which pairs them."""
    return replace(sample, seeds=[*range(len(sample.seeds))])


def main() -> None:
    """Prints what cards of a standard beside itself say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="rfc9743")
    parser.add_argument("--variant", default="cubic")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "null")
    parser.add_argument("--seeds", type=int, default=40, help="in the pool; half are of each name")
    parser.add_argument("--cards", type=int, default=20)
    parser.add_argument("--only", default="", help="lines whose ids begin so, as 5.1.3,5.2")
    given = parser.parse_args()
    only = [beginning for beginning in given.only.split(",") if beginning]
    lines = pool(given.suite, given.variant, given.out / given.suite, given.seeds, only)
    for strict in (False, True):
        said = list(cards(lines, given.cards, strict=strict))
        worse = [id for card in said for id in card.worse]
        judged = sum(card.lines for card in said)
        margins = "no margins" if strict else "the suite's margins"
        called = f": {', '.join(sorted(worse))}" if worse else ""
        print(f"{given.suite}, {margins}: {len(worse)} of {judged} lines called worse{called}")


if __name__ == "__main__":
    main()
