"""Which outcomes of a comparison count as a failure: what a check in CI asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.comparison.margin import Margin
    from cclab.comparison.results import Compared, Comparison

Outcome = Literal["worse", "undecided", "different"]
"""What can be a failure. `worse`: by the verdict; with a margin, by more than it. `undecided`: with
a margin, the interval holds it. `different`: there is evidence of a difference to either side."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Fault:
    """A comparison that came out as it must not."""

    point: str
    """The sweep point in words; "over all sweep points" of what is tested over all of them."""
    subject: str
    """The flow or the traffic, or "whole run"."""
    metric: str
    outcome: str
    words: str

    def __str__(self) -> str:
        """In one line."""
        told = f"{self.subject}, {self.metric}: {self.outcome}, {self.words}"
        return told if self.point == "all runs" else f"{self.point}: {told}"


def outcomes(asked: Sequence[str], margin: Margin | None) -> tuple[Outcome, ...]:
    """The outcomes that `asked` names.

    Raises `InputError` if one is not known, or needs a margin.
    """
    found: list[Outcome] = []
    for name in asked:
        known = next((one for one in OUTCOMES if one == name), None)
        if known is None:
            raise InputError(f"--fail-if {name}: no such outcome; one of {', '.join(OUTCOMES)}")
        if known == "undecided" and margin is None:
            raise InputError(
                "--fail-if undecided: what is undecided, a margin says; add --margin 5%"
            )
        found.append(known)
    return tuple(dict.fromkeys(found))


def faults(compared: Comparison, asked: Sequence[Outcome]) -> list[Fault]:
    """The comparisons whose outcome is among `asked`.

    All at every sweep point count. So do those over all sweep points, but not against a margin:
    they have no interval.

    Raises `InputError` if the runs could not have shown any outcome.
    """
    if asked:
        _check_can_fail(compared, asked)
    margin = compared.margin is not None
    found = [
        Fault(point.match.label, name, c.metric.title, outcome, c.verdict.words)
        for point in compared.points
        for name, c in point.named
        if (outcome := _outcome(asked, c.verdict.code, c.standing, margin)) is not None
    ]
    return found + [
        Fault(
            "over all sweep points", one.subject or "whole run", one.metric.title, code, one.words
        )
        for one in compared.overall
        if (code := _outcome(asked, one.code, None, margin)) is not None
    ]


def _outcome(asked: Sequence[Outcome], code: str, standing: str | None, margin: bool) -> str | None:
    """What makes a comparison a failure, if anything does."""
    judged = standing if margin else code
    if judged is not None and judged in asked:
        return judged
    return code if "different" in asked and code != "no-evidence" else None


def _check_can_fail(compared: Comparison, asked: Sequence[Outcome]) -> None:
    """Raises `InputError` if nothing could be tested: a check that cannot fail says nothing."""
    if "undecided" in asked or any(_says_something(c) for c in compared.compared):
        return
    raise InputError(
        f"--fail-if {','.join(asked)}: nothing could be tested, so nothing could fail; compare "
        "several runs of each side that differ by their seeds (repeat = 10, and something random "
        "in the study)"
    )


def _says_something(c: Compared) -> bool:
    return c.p_adjusted is not None or c.verdict.untested == "equal"
