"""The card: every criterion with its evidence, as values and as one document."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.evaluation.evidence import FAULTS, VERDICTS, Line, Sample, Setting, Subject
from cclab.evaluation.runs import SHORT
from cclab.evaluation.told import margin_in_words, told, why

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.evaluation.evidence import Beside, Beyond
    from cclab.evaluation.file import Loaded
    from cclab.evaluation.since import Change
    from cclab.measure.stats import Estimate

SCHEMA = "cclab-scorecard/4"
"""Name and version of the card's document; docs/scorecard.schema.json describes it."""


@dataclass(frozen=True)
class Card:
    """How a variant does in a suite: no overall score, but a verdict for each criterion."""

    suite: Loaded
    quick: bool
    subject: Subject
    backend: str
    standards: list[str]
    seeds: tuple[int, int]
    """Of a scenario, the fewest and the most."""
    lines: list[Line]
    """In the order of the suite."""
    folder: Path
    """Where the card is."""
    runs: Path
    """Where the runs are, one results folder for each scenario."""
    changes: list[Change] | None = None
    """What became of each line since an earlier card; None without one."""

    @property
    def counts(self) -> dict[str, int]:
        """Lines by verdict, and criteria that the suite leaves out."""
        counted = Counter(line.verdict for line in self.lines)
        counted["not evaluated"] += len(self.suite.says.absent)
        return {verdict: counted[verdict] for verdict in VERDICTS}

    @property
    def faults(self) -> list[Line]:
        """The lines that fail or are worse than standard."""
        return [line for line in self.lines if line.verdict in FAULTS]

    @property
    def seeds_in_words(self) -> str:
        """How many seeds there are of each scenario."""
        fewest, most = self.seeds
        return f"{most} seeds" if fewest == most else f"{fewest} to {most} seeds"

    @property
    def standards_in_words(self) -> str:
        """What the variant stands beside, and where scenarios name others."""
        own: dict[str, list[str]] = {}
        used = {line.criterion.scenario for line in self.lines}
        for scenario in self.suite.says.scenario:
            if scenario.name in used and scenario.standards is not None:
                own.setdefault(", ".join(scenario.standards), []).append(scenario.name)
        others = (f"; beside {beside} in {', '.join(names)}" for beside, names in own.items())
        return ", ".join(self.standards) + "".join(others)

    @property
    def remarks(self) -> list[str]:
        """What a reader would take otherwise, in sentences."""
        remarks = []
        if self.suite.is_own:
            remarks.append(
                f"The suite is that of {self.suite.folder}, not the one called so that comes with "
                "cclab."
            )
        if self.subject.key in self.standards:
            remarks.append(
                f"{self.subject.name} is one of the standards, and so no worse than standard."
            )
        if self.not_in_short:
            number = len(self.not_in_short)
            lines, them = ("a line", "it") if number == 1 else (f"{number} lines", "them")
            remarks.append(
                f"The short form leaves out {lines}: {', '.join(self.not_in_short)}; the full form "
                f"(without --quick) judges {them}."
            )
        return remarks

    @property
    def not_in_short(self) -> list[str]:
        """The ids of the lines that the short form does not judge."""
        return [line.criterion.id for line in self.lines if line.unavailable == SHORT]

    @property
    def met(self) -> bool:
        """Whether nothing speaks against it: with an earlier card, whether nothing became worse,
        or was lost."""
        if self.changes is not None:
            return not any(change.speaks_against for change in self.changes)
        return not self.faults

    def line(self, identity: str) -> Line:
        """The line of the criterion called so. Raises `KeyError` if there is none."""
        for line in self.lines:
            if line.criterion.id == identity:
                return line
        raise KeyError(identity)

    def document(self) -> dict[str, Any]:
        """The document that `cclab evaluate --json` prints."""
        says = self.suite.says
        return {
            "schema": SCHEMA,
            "cclab": _core.VERSION,
            "suite": self.suite.name,
            "suite_version": says.version,
            "suite_sha256": self.suite.sha256,
            "title": says.title,
            "source": says.source,
            "quick": self.quick,
            "variant": self.subject.document(),
            "backend": self.backend,
            "standards": self.standards,
            "seeds": [*self.seeds],
            "counts": self.counts,
            "lines": [_line(line) for line in self.lines],
            "not_evaluated": [
                {
                    "id": absent.id,
                    "clause": absent.clause,
                    "obligation": absent.obligation,
                    "text": absent.text,
                    "why": absent.why,
                }
                for absent in says.absent
            ],
            "since": None if self.changes is None else [c.document() for c in self.changes],
        }

    def __repr__(self) -> str:
        """The verdicts in lines."""
        form = ", short form" if self.quick else ""
        head = f"{self.subject.name} by {self.suite.name}{form} on {self.backend}:"
        listed = [f"  {line.verdict}: {line.criterion.id}, {why(line)}" for line in self.lines]
        return "\n".join([head, *listed])


def _line(line: Line) -> dict[str, Any]:
    criterion = line.criterion
    first = line.deciding[0] if line.deciding else None
    return {
        "id": criterion.id,
        "clause": criterion.clause,
        "obligation": criterion.obligation,
        "text": criterion.text,
        "scenario": criterion.scenario,
        "measure": criterion.measure,
        "unit": criterion.unit,
        "better": criterion.better,
        "margin": criterion.margin,
        "slack": criterion.slack,
        "below": criterion.below,
        "above": criterion.above,
        "whose": criterion.whose,
        "margin_in_words": margin_in_words(criterion),
        "verdict": line.verdict,
        "why": why(line),
        "left_out": [*line.left_out],
        "more_seeds": line.more_seeds,
        "p": line.p,
        "q": line.q,
        "bound_p": line.bound_p,
        "bound_q": line.bound_q,
        "decided_at": None if first is None else first.params,
        "settings": [_setting(line, setting) for setting in line.settings],
    }


def _setting(line: Line, setting: Setting) -> dict[str, Any]:
    return {
        "params": setting.params,
        "subject": _sample(setting.subject),
        "standards": [_beside(beside) for beside in setting.besides],
        "bound": setting.kept,
        "beyond": _beyond(setting.beyond),
        "standing": setting.standing,
        "told": told(line.criterion, setting),
    }


def _beside(beside: Beside) -> dict[str, Any]:
    return _sample(beside.standard) | {
        "difference": _estimate(beside.difference),
        "excess": _beyond(beside.excess),
        "standing": beside.standing,
    }


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "variant": sample.variant,
        "estimate": _estimate(sample.estimate),
        "seeds": sample.seeds,
        "values": sample.values,
        "runs": sample.runs,
        "warnings": [*sample.doubts],
        "let_pass": [*sample.let_pass],
        "unended": [*sample.unended],
    }


def _beyond(value: Beyond | None) -> dict[str, object] | None:
    if value is None:
        return None
    return value.estimate.document() | {"beyond_p": value.beyond_p, "within_p": value.within_p}


def _estimate(value: Estimate | None) -> dict[str, object] | None:
    return None if value is None else value.document()
