"""All kinds of captures, all fields: what is equal, what is explained, and what is neither."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agreement import tcptrace, tshark, tshark_segments
from agreement.conversation import CLIENT
from agreement.directions import testimonies
from agreement.explained import EXPLAINED
from agreement.field import UNTOLD
from agreement.kinds import KINDS
from agreement.runs import emulated, simulated

if TYPE_CHECKING:
    from pathlib import Path

    from agreement.directions import Row, Testimony
    from agreement.explained.explanation import Explanation
    from agreement.field import Field, Subject, Value

JUDGES = ("tcptrace", "tshark")


@dataclass(frozen=True)
class Difference:
    """One direction or segment of one kind on which cclab and a judge disagree."""

    judge: str
    column: str
    kind: str
    place: str
    """The direction or the segment in the capture."""
    ours: Value
    """cclab's, converted as the judge counts."""
    theirs: Value

    def is_explained_by(self, explanation: Explanation) -> bool:
        """Whether it is about this field and kind, and says what is the case."""
        return (
            explanation.judge == self.judge
            and self.column in explanation.columns
            and self.kind in explanation.kinds
            and (explanation.theirs == "other" or self._theirs_are(explanation.theirs))
        )

    def _theirs_are(self, more_or_less: str) -> bool:
        """Whether the judge's number is that beside cclab's; words are neither."""
        ours, theirs = (0 if value is None else value for value in (self.ours, self.theirs))
        if isinstance(ours, str) or isinstance(theirs, str):
            return True
        return more_or_less == ("more" if theirs > ours else "less")


@dataclass
class Score:
    """How a column fares with a judge."""

    name: str = ""
    """What the judge calls it."""
    how: str = ""
    """How the column is converted."""
    compared: int = 0
    """Directions, segments or SACK blocks."""
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> int:
        """Those on which both say the same."""
        return self.compared - len(self.differences)


@dataclass
class Comparison:
    """All fields on all kinds."""

    rows: dict[str, list[Row]]
    """Of each kind, what cclab says of its directions."""
    scores: dict[tuple[str, str], Score]
    """By column and judge."""

    @property
    def columns(self) -> list[str]:
        """All that cclab has of a direction."""
        return list(next(iter(self.rows.values()))[0])

    def alone(self) -> list[str]:
        """Columns that neither judge has. The ends are those by which rows are matched."""
        ends = {"source", "source_port", "destination", "destination_port"}
        compared = {column for column, _ in self.scores} | ends
        return [column for column in self.columns if column not in compared]

    @property
    def differences(self) -> list[Difference]:
        """All of them."""
        return [found for score in self.scores.values() for found in score.differences]

    def unexplained(self) -> list[Difference]:
        """Those that no explanation is about, or more than one."""
        return [
            found
            for found in self.differences
            if sum(found.is_explained_by(explanation) for explanation in EXPLAINED) != 1
        ]

    def idle(self) -> list[tuple[str, str, str]]:
        """What is explained and does not occur: judge, column, kind (`runs`: on none of them)."""
        met = {(found.judge, found.column, found.kind) for found in self.differences}
        missing = []
        for explanation in EXPLAINED:
            runs = [kind for kind in explanation.kinds if kind not in KINDS]
            for column in explanation.columns:
                about = explanation.judge, column
                missing += [
                    (*about, kind)
                    for kind in explanation.kinds
                    if kind in KINDS and (*about, kind) not in met
                ]
                if runs and not any((*about, run) in met for run in runs):
                    missing.append((*about, "runs"))
        return missing


def made(folder: Path) -> dict[str, Path]:
    """The captures of all kinds that are written by hand, each on a port of its own."""
    found = {}
    for number, (name, kind) in enumerate(KINDS.items()):
        found[name] = folder / f"{name.replace('/', ' ')}.pcap"
        kind().write(found[name], port=CLIENT.port + number)
    return found


def compare(captures: dict[str, Path], folder: Path) -> Comparison:
    """Compares `captures`, and those of the simulator and the kernel, which run in `folder`."""
    found = testimonies(captures, folder)
    for name, capture in (simulated(folder) | emulated(folder)).items():
        # Runs share addresses and ports.
        found |= testimonies({name: capture}, folder)
    return scored(found)


def scored(found: dict[str, Testimony]) -> Comparison:
    """How all fields compare, by what is said of each kind."""
    scores: dict[tuple[str, str], Score] = {}
    for kind, testimony in found.items():
        count = len(testimony.rows) // 2
        for judge in JUDGES:
            score = scores.setdefault(("connection", judge), Score("connections", "how many"))
            score.compared += 2 * count
            if (theirs := testimony.connections(judge)) != count:
                score.differences += [
                    Difference(judge, "connection", kind, f"{number}{side}", count, theirs)
                    for number in range(1, count + 1)
                    for side in "ab"
                ]
        _score(tcptrace.FIELDS, kind, testimony.directions("tcptrace"), scores)
        _score(tshark.FIELDS, kind, testimony.directions("tshark"), scores)
        _score(tshark_segments.SEGMENTS, kind, testimony.pairs(), scores)
        _score(tshark_segments.SACKS, kind, testimony.sacked(), scores)
    return Comparison({kind: testimony.rows for kind, testimony in found.items()}, scores)


def _score(
    fields: tuple[Field[Subject], ...],
    kind: str,
    subjects: list[Subject],
    scores: dict[tuple[str, str], Score],
) -> None:
    """Adds to `scores` how `fields` of the `subjects` in a capture of that kind compare."""
    for it in fields:
        score = scores.setdefault((it.column, it.judge), Score(it.name, it.how))
        for subject in subjects:
            if it.theirs(subject) == UNTOLD:
                continue
            score.compared += 1
            if not it.agrees(subject):
                ours, theirs = it.ours(subject), it.theirs(subject)
                score.differences.append(
                    Difference(it.judge, it.column, kind, subject.place, ours, theirs)
                )
