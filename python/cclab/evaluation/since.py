"""A card beside an earlier one: what became worse."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cclab import shown
from cclab.comparison.correction import LEVEL, adjusted
from cclab.errors import InputError
from cclab.evaluation import judge, told
from cclab.evaluation.evidence import FAULTS, NOT_EVALUATED, VERDICTS, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cclab.evaluation.card import Card
    from cclab.evaluation.evidence import Beside, Line, Setting

CARD = "card.json"

ABSENT = "not on the card"
"""What stands for the verdict of a line that the earlier card lacks."""


@dataclass(frozen=True)
class Change:
    """A line, since an earlier card."""

    id: str
    before: str
    """The verdict of the earlier card."""
    now: str
    worse: bool
    """Whether the verdict fell to `fails` or `worse than standard`, or the value is worse by more
    than the margin."""
    lost: bool
    """Whether it was evaluated then and is not now, though its runs are there: they do not tell
    what it asks."""
    why: str

    @property
    def speaks_against(self) -> bool:
        """Whether the variant, or what it was measured by, is to be looked at."""
        return self.worse or self.lost

    def document(self) -> dict[str, Any]:
        """As the card's document spells it."""
        return {
            "id": self.id,
            "before": self.before,
            "now": self.now,
            "worse": self.worse,
            "lost": self.lost,
            "why": self.why,
        }


def read(folder: Path, form: Mapping[str, Any]) -> dict[str, Any]:
    """The earlier card in `folder`, which has in common with this one what `form` says.

    Raises `InputError` if there is none that can be compared.
    """
    path = folder / CARD if folder.is_dir() else folder
    try:
        earlier: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        nearby = sorted(str(card.parent) for card in folder.glob(f"**/{CARD}"))
        hint = f"; there are cards in {', '.join(nearby)}" if nearby else ""
        raise InputError(f"no card to compare with: {path}: {error.strerror}{hint}") from None
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{path} is no card: {error}") from None
    if not isinstance(earlier.get("lines"), list):
        raise InputError(f"{path} is no card: it has no lines")
    for key, value in form.items():
        if earlier.get(key) != value:
            raise InputError(
                f"{path}: `{key}` is {shown.line(str(earlier.get(key)))} there, {value} here: "
                "these cards cannot be compared"
            )
    return earlier


def changes(card: Card, earlier: dict[str, Any]) -> list[Change]:
    """What became of each line that both cards have, and the faults of those that the earlier one
    lacks."""
    before = {line["id"]: line for line in earlier["lines"]}
    both = [line for line in card.lines if line.criterion.id in before]
    worse = _worse(both, before)
    worse_of = dict(zip((line.criterion.id for line in both), worse, strict=True))
    return [
        _change(line, before[line.criterion.id]["verdict"], worse_of[line.criterion.id])
        if line.criterion.id in before
        else Change(line.criterion.id, ABSENT, line.verdict, True, False, told.why(line))
        for line in card.lines
        if line.criterion.id in before or line.verdict in FAULTS
    ]


def _change(line: Line, verdict: str, told_worse: str) -> Change:
    rank: dict[str, int] = {name: place for place, name in enumerate(VERDICTS)}
    fell = line.verdict in FAULTS and rank[line.verdict] < rank.get(verdict, len(rank))
    lost = line.verdict == NOT_EVALUATED and line.done and verdict != NOT_EVALUATED
    because = told_worse or (told.why(line) if fell or lost else "")
    worse = bool(told_worse) or fell
    return Change(line.criterion.id, verdict, line.verdict, worse, lost, because)


def _worse(lines: Sequence[Line], before: dict[str, Any]) -> list[str]:
    """Of each line, where its value is worse than before by more than the margin, if it is.

    A line without a margin is none that compares: its verdict alone can become worse.
    """
    compared = [_compared(line, before[line.criterion.id]["settings"]) for line in lines]
    p_values = [judge.somewhere([b.p for _, b in pairs]) for pairs in compared]
    q_values = iter(adjusted([p for p in p_values if p is not None], "fdr"))
    said = []
    for line, pairs, p in zip(lines, compared, p_values, strict=True):
        q = 1.0 if p is None else next(q_values)
        worse = [(setting, beside) for setting, beside in pairs if beside.standing == "worse"]
        if not worse or q > LEVEL:
            said.append("")
            continue
        setting, beside = max(worse, key=lambda pair: judge.beyond_margin(pair[1]))
        renamed = replace(beside, standard=replace(beside.standard, variant="before"))
        beside_itself = replace(setting, besides=[renamed])
        said.append(f"{line.criterion.measure}: {told.told(line.criterion, beside_itself)}")
    return said


def _compared(line: Line, earlier: list[dict[str, Any]]) -> list[tuple[Setting, Beside]]:
    """The line beside itself before, at each setting that both cards have without doubt."""
    if line.criterion.margin is None:
        return []
    subject_of = {_key(setting["params"]): setting["subject"] for setting in earlier}
    pairs = []
    for setting in line.settings:
        was = subject_of.get(_key(setting.params))
        if was is None or setting.subject.doubts or was["warnings"]:
            continue
        before = Sample(
            was["variant"], was["seeds"], was["values"], was["runs"], unended=tuple(was["unended"])
        )
        seeds = [seed for seed in setting.subject.seeds if seed in before.seeds]
        both = (setting.subject.of(seeds), before.of(seeds))
        pairs.append((setting, judge.compared(line.criterion, *both)))
    return pairs


def _key(params: dict[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)
