"""What came of holding traces against captures."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.verification.declared import Value
    from cclab.verification.sides import Run

SCHEMA = "cclab-verify/2"
"""Name and version of the document; docs/verify.schema.json describes it."""


@dataclass(frozen=True)
class Subject:
    """Of what, and where."""

    run: Run = field(repr=False)
    flow: str | None
    """None: of all flows."""
    point: str
    """The capture's, or several in words."""


@dataclass(frozen=True)
class Compared:
    """A number of both sides."""

    number: str
    unit: str
    place: str
    relative: bool
    """Whether the difference and what is allowed are shares of the trace's value."""
    subject: Subject
    trace: Value
    """None: the trace does not tell it."""
    capture: Value
    """None: the capture does not."""
    allowed: tuple[float, float] | None
    """The least and the most that the difference may be; None: it is not judged."""

    @property
    def difference(self) -> float | None:
        """The capture's value less the trace's; None if a side lacks it."""
        if self.trace is None or self.capture is None:
            return None
        apart = self.capture - self.trace
        if not self.relative or apart == 0:
            return float(apart)
        return apart / self.trace if self.trace else math.inf

    @property
    def agrees(self) -> bool | None:
        """Whether the difference is as small as it must be; None if that is not judged."""
        if self.allowed is None:
            return None
        least, most = self.allowed
        return self.difference is not None and least <= self.difference <= most

    def document(self) -> dict[str, Any]:
        """As a `difference` of the document."""
        run = self.subject.run.measured.run
        least, most = self.allowed or (None, None)
        return {
            "number": self.number,
            "run": run.id,
            "seed": run.seed,
            "params": self.subject.run.params,
            "flow": self.subject.flow,
            "point": self.subject.point,
            "trace": self.trace,
            "capture": self.capture,
            "difference": _finite(self.difference),
            "least": _finite(least),
            "most": _finite(most),
        }


@dataclass(frozen=True)
class Skipped:
    """A number that could not be compared."""

    number: str
    place: str
    why: str


@dataclass(frozen=True)
class Line:
    """A number at one kind of point, over all runs and flows."""

    number: str
    unit: str
    place: str
    relative: bool
    judged: bool
    compared: list[Compared] = field(repr=False)

    @property
    def differing(self) -> list[Compared]:
        """Those that are further apart than they may be."""
        return [compared for compared in self.compared if compared.agrees is False]

    @cached_property
    def worst(self) -> Compared:
        """Where the two sides are furthest apart."""
        return max(self.compared, key=_apart)

    def document(self) -> dict[str, Any]:
        """As a `number` of the document."""
        return {
            "number": self.number,
            "unit": self.unit,
            "point": self.place,
            "relative": self.relative,
            "judged": self.judged,
            "compared": len(self.compared),
            "agree": len(self.compared) - len(self.differing) if self.judged else None,
            "worst": self.worst.document(),
        }


@dataclass(frozen=True)
class Verified:
    """The traces of a results folder beside its captures."""

    folder: Path
    runs: int
    """Runs that the folder holds."""
    absent: int
    """Runs of the plan that it does not."""
    without_captures: list[str]
    """Those that have no capture, by id."""
    altered: list[Path]
    """Captures that are not as they were written, and are compared as they are."""
    compared: list[Compared] = field(repr=False)
    skipped: list[Skipped] = field(repr=False)

    @cached_property
    def differing(self) -> list[Compared]:
        """Where the two sides contradict each other."""
        return [compared for compared in self.compared if compared.agrees is False]

    @property
    def agrees(self) -> bool:
        """Whether they nowhere do."""
        return not self.differing

    @cached_property
    def lines(self) -> list[Line]:
        """One for each number and kind of point."""
        groups: dict[tuple[str, str], list[Compared]] = {}
        for compared in self.compared:
            groups.setdefault((compared.number, compared.place), []).append(compared)
        return [
            Line(number, own[0].unit, place, own[0].relative, own[0].allowed is not None, own)
            for (number, place), own in groups.items()
        ]

    @cached_property
    def not_compared(self) -> list[tuple[Skipped, int]]:
        """What could not be compared, and how often."""
        return list(Counter(self.skipped).items())

    def document(self) -> dict[str, Any]:
        """What `cclab verify --json` prints."""
        return {
            "schema": SCHEMA,
            "folder": str(self.folder),
            "runs": self.runs,
            "runs_absent": self.absent,
            "runs_without_captures": self.without_captures,
            "captures_altered": [str(file.relative_to(self.folder)) for file in self.altered],
            "agrees": self.agrees,
            "numbers": [line.document() for line in self.lines],
            "differences": [compared.document() for compared in self.differing],
            "not_compared": [
                {
                    "number": compared.number,
                    "point": compared.place,
                    "why": compared.why,
                    "times": times,
                }
                for compared, times in self.not_compared
            ],
        }


def _apart(compared: Compared) -> tuple[bool, float]:
    """What contradicts is further apart than what agrees."""
    return compared.agrees is False, math.inf if compared.difference is None else abs(
        compared.difference
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
