"""Figures of series. One file per kind; this is the list of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.captures.series.figures import across, curves, time_sequence
from cclab.drawing.style import styled, svg
from cclab.drawing.ticks import settled
from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.captures.series.figures.curves import Between
    from cclab.captures.series.flows import Flows
    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk
    from cclab.drawing.style import Drawing

__all__ = [
    "ACROSS",
    "FIGURES",
    "TALKS",
    "Across",
    "Kind",
    "OfTalk",
    "figure",
    "figure_of_talk",
    "svg",
]


@dataclass(frozen=True)
class Kind:
    """A kind of figure of one direction of a connection; named like its series."""

    name: str
    title: str
    """What it shows, as a heading."""
    caption: str
    """How to read it."""
    draw: Callable[[Direction, Between], Drawing | None]
    """Makes it, of a stretch of time; None where there is nothing to show."""


@dataclass(frozen=True)
class Across:
    """A kind of figure across flows; named like its series."""

    name: str
    title: str
    """What it shows, as a heading."""
    caption: str
    """How to read it."""
    draw: Callable[[Flows], Drawing | None]
    """Makes it; None where there is nothing to show."""


@dataclass(frozen=True)
class OfTalk:
    """A kind of figure of one direction of a conversation over UDP; named like its series."""

    name: str
    title: str
    """What it shows, as a heading."""
    caption: str
    """How to read it."""
    draw: Callable[[Talk, Between], Drawing | None]
    """Makes it, of a stretch of time; None where there is nothing to show."""


FIGURES: tuple[Kind, ...] = (
    Kind("time-sequence", time_sequence.TITLE, time_sequence.CAPTION, time_sequence.draw),
    *(Kind(*curve) for curve in curves.CURVES),
)
"""Every kind of a direction, in the order of a page."""

TALKS: tuple[OfTalk, ...] = tuple(OfTalk(*curve) for curve in curves.TALKS)
"""Every kind of a direction of a conversation."""

ACROSS: tuple[Across, ...] = (
    Across("share", across.SHARE, across.SHARE_CAPTION, across.share),
    Across("jain", across.JAIN, across.JAIN_CAPTION, across.fairness),
)
"""Every kind across flows."""


def figure(
    flows: Flows,
    name: str,
    *,
    connection: int | None = None,
    sender: int | None = None,
    between: Between = None,
) -> Drawing | None:
    """The figure of the series called `name`; None where there is nothing to show in it.

    `connection` and `sender` choose the direction, as they do for `series`, and `between` the
    seconds from which and to which it is shown; None is all of its time. Raises `InputError`
    if there is no such figure or connection, or if they do not go together.
    """
    kind = next((k for k in FIGURES if k.name == name), None)
    over = next((k for k in ACROSS if k.name == name), None)
    if over is not None:
        if connection is not None:
            raise InputError(f"{name} is across all flows: leave the connection out")
        if between is not None:
            raise InputError(f"{name} is of the whole capture: leave between out")
        with styled():
            return laid_out(over.draw(flows))
    if kind is None:
        known = ", ".join([k.name for k in FIGURES] + [k.name for k in ACROSS])
        raise InputError(f"no figure called {name!r}; the figures are {known}")
    if connection is None:
        raise InputError(f"{name} is of one connection: which?")
    if between is not None and not between[0] < between[1]:
        raise InputError(f"between is {between[0]} and {between[1]} s; it must end after it begins")
    return drawn(kind, flows.tables.direction(connection, sender), between)


def figure_of_talk(talk: Talk, name: str, between: Between = None) -> Drawing | None:
    """The figure called `name` of a direction of a conversation, as `figure` gives one of TCP."""
    kind = next((k for k in TALKS if k.name == name), None)
    if kind is None:
        known = ", ".join(k.name for k in TALKS)
        raise InputError(f"no figure called {name!r} of a conversation; the figures are {known}")
    if between is not None and not between[0] < between[1]:
        raise InputError(f"between is {between[0]} and {between[1]} s; it must end after it begins")
    with styled():
        return laid_out(kind.draw(talk, between))


def drawn(kind: Kind, direction: Direction, between: Between = None) -> Drawing | None:
    """The figure of `kind` of `direction`; None where there is nothing to show."""
    with styled():
        return laid_out(kind.draw(direction, between))


def laid_out(made: Drawing | None) -> Drawing | None:
    """The figure, laid out for good."""
    return None if made is None else settled(made)
