"""A field that is compared: a column of cclab's and what a judge calls the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Value = float | str | None

UNTOLD = "untold"
"""What a judge says that says nothing: there is nothing to compare."""


class Placed(Protocol):
    """What both say something about: a direction of a connection, or a segment."""

    @property
    def place(self) -> str:
        """Where in a capture it is."""


Subject = TypeVar("Subject", bound=Placed)


@dataclass(frozen=True)
class Field(Generic[Subject]):
    """One column against one judge."""

    column: str
    """cclab's."""
    judge: str
    """`tcptrace` or `tshark`."""
    name: str
    """What the judge calls it."""
    ours: Callable[[Subject], Value]
    """cclab's, converted to what the judge counts and in which unit."""
    theirs: Callable[[Subject], Value]
    """The judge's."""
    how: str = ""
    """What the conversion is; nothing if there is none."""
    rounding: float = 0.0
    """Half the last digit that the judge prints."""

    def agrees(self, subject: Subject) -> bool:
        """Whether the two are equal, but for the judge's rounding."""
        ours, theirs = self.ours(subject), self.theirs(subject)
        if isinstance(ours, int) and isinstance(theirs, int):
            return ours == theirs
        if isinstance(ours, float | int) and isinstance(theirs, float | int):
            # The least of a binary fraction is no digit of either.
            return abs(ours - theirs) <= self.rounding + 1e-9 * max(1.0, abs(theirs))
        return ours == theirs
