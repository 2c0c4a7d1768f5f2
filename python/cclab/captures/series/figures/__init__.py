"""Figures of series. One file per kind; this is the list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import shown
from cclab.captures.series.figures import across, curves, time_sequence
from cclab.drawing.kind import Kind
from cclab.drawing.style import svg
from cclab.drawing.ticks import finished
from cclab.errors import InputError

if TYPE_CHECKING:
    from cclab.captures.series.figures.curves import Between
    from cclab.captures.series.flows import Flows
    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk
    from cclab.drawing.style import Drawing

__all__ = [
    "ACROSS",
    "FIGURES",
    "TALKS",
    "figure",
    "figure_of_talk",
    "svg",
]


FIGURES: tuple[Kind[[Direction, Between]], ...] = (
    Kind("time-sequence", time_sequence.TITLE, time_sequence.CAPTION, time_sequence.draw),
    *curves.CURVES,
)
"""Every kind of a direction of a connection, in the order of a page; named like its series."""

TALKS = curves.TALKS
"""Every kind of a direction of a conversation over UDP."""

ACROSS: tuple[Kind[[Flows]], ...] = (
    Kind("share", across.SHARE, across.SHARE_CAPTION, across.share),
    Kind("jain", across.JAIN, across.JAIN_CAPTION, across.fairness),
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
        return finished(lambda: over.draw(flows))
    if kind is None:
        known = ", ".join([k.name for k in FIGURES] + [k.name for k in ACROSS])
        raise InputError(f"no figure called {shown.quoted(name)}; the figures are {known}")
    if connection is None:
        raise InputError(f"{name} is of one connection: which?")
    _check(between)
    return drawn(kind, flows.tables.direction(connection, sender), between)


def figure_of_talk(talk: Talk, name: str, between: Between = None) -> Drawing | None:
    """The figure called `name` of a direction of a conversation, as `figure` gives one of TCP."""
    kind = next((k for k in TALKS if k.name == name), None)
    if kind is None:
        known = ", ".join(k.name for k in TALKS)
        raise InputError(
            f"no figure called {shown.quoted(name)} of a conversation; the figures are {known}"
        )
    _check(between)
    return finished(lambda: kind.draw(talk, between))


def drawn(
    kind: Kind[[Direction, Between]], direction: Direction, between: Between = None
) -> Drawing | None:
    """The figure of `kind` of `direction`; None where there is nothing to show."""
    return finished(lambda: kind.draw(direction, between))


def _check(between: Between) -> None:
    if between is not None and not between[0] < between[1]:
        raise InputError(f"between is {between[0]} and {between[1]} s; it must end after it begins")
