"""What there is to say of a kind of figure, whatever it is drawn of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.drawing.style import Drawing

Of = ParamSpec("Of")
"""What a figure is drawn of."""


@dataclass(frozen=True)
class Kind(Generic[Of]):
    """A kind of figure."""

    name: str
    """Its name for its users, and of its file."""
    title: str
    """What it shows, as a heading."""
    caption: str
    """How to read it."""
    draw: Callable[Of, Drawing | None]
    """Makes it; None where there is nothing to show."""
