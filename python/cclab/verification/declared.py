"""How a number that a trace and a capture both tell is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.verification.sides import Flow, Seen

Value = float | int | None


@dataclass(frozen=True)
class Bound:
    """How far the capture's value may be from the trace's, and why."""

    why: str
    """In words, for the documentation and the document."""
    least: Callable[[Flow, Seen], float]
    """The least that capture - trace may be."""
    most: Callable[[Flow, Seen], float]
    """The most."""


@dataclass(frozen=True)
class Condition:
    """What must hold for a flow and its capture to make a number comparable."""

    unless: str
    """Why it is not compared where it does not hold."""
    holds: Callable[[Flow, Seen], bool]


@dataclass(frozen=True)
class Number:
    """A number that both sides tell."""

    name: str
    unit: str
    at: tuple[str, ...]
    """The capture points where it can be compared: `sender`, `receiver`, `bottleneck`."""
    trace: Callable[[Flow, Seen], Value]
    capture: Callable[[Flow, Seen], Value]
    of_trace: str
    """Where the trace has it."""
    of_capture: str
    """What of the capture it is."""
    bound: Bound | None
    """None: both numbers are shown and not judged, because one is an estimate."""
    conditions: tuple[Condition, ...] = ()
    relative: bool = False
    """Whether the bound and differences are shares of the trace's value."""
