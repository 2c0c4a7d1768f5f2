"""The file `suite.toml` of an evaluation suite: scenarios, criteria and margins. The only schema of
it; docs/evaluate.md explains every key."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 (msgspec reads the annotations)
from typing import Any, Literal

from msgspec import Struct

from cclab.metrics import Better  # noqa: TC001 (msgspec reads the annotations)

Obligation = Literal["MUST", "SHOULD", "ought", "own"]
"""What the source says of a criterion: `ought` of a wish in lower case, `own` of one that the suite
adds."""

Unit = Literal["bit/s", "s", "share", "1"]


class Quick(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What differs in the short form of the suite."""

    repeat: int | None = None
    set: Sequence[str] = ()
    skip: bool = False
    """Whether the short form leaves the scenario out."""


class Scenario(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study file that is run with the variant under test and with each standard in its place."""

    name: str
    title: str
    study: str
    subject: Sequence[str]
    """The keys that the variant under test is put in; the study sweeps them, all together."""
    standards: Sequence[str] | None = None
    """Those of this scenario, if they are others than the suite's."""
    repeat: int = 10
    set: Sequence[str] = ()
    despite: Sequence[str] = ()
    """More of them, in this one: what they tell is what the scenario is for."""
    quick: Quick = Quick()


class Criterion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the card."""

    id: str
    clause: str
    obligation: Obligation
    text: str
    scenario: str
    measure: str
    """The value in words: `95th percentile of the queueing delay`."""
    value: str
    """An expression over the metrics of the flow and of the run."""
    flow: str = ""
    """The flow whose metrics `value` names; empty where it names those of the run."""
    at: dict[str, Any] = {}
    """Values by sweep key: only these points are judged."""
    unit: Unit = "1"
    better: Better
    margin: float | None = None
    """By what part of the standard's value the subject may be worse and still be no worse."""
    slack: float = 0.0
    """By how much, in the unit, if that is more than the margin's part."""
    below: float | None = None
    above: float | None = None
    """The bound that the whole interval of the subject has to keep."""
    whose: str = "this suite"
    """Who set the margin or the bound."""
    despite: Sequence[str] = ()
    """As of a scenario, for this line alone."""


class Absent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A criterion of the source that the suite does not evaluate."""

    id: str
    clause: str
    obligation: Obligation
    text: str
    why: str


class Suite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    title: str
    source: str
    version: int
    """Rises with each change of a scenario, a criterion or a margin."""
    question: str = ""
    note: str = ""
    """What of its source the suite does not do, and whose the numbers are."""
    standards: Sequence[str] = ("cubic", "reno")
    despite: Sequence[str] = ()
    """Warnings that do not make a line undecided, in all of its scenarios."""
    scenario: Sequence[Scenario]
    criterion: Sequence[Criterion]
    absent: Sequence[Absent] = ()
