"""What parts of expressions are: their kinds, and what their numbers are quantities of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cclab import _core

Kind = Literal["number", "text", "condition", "nothing", "list"]

WORDS = {
    "time": "a time",
    "rate": "a rate",
    "size": "a size",
    "share": "a share",
    "packets": "a number of packets",
    "bdp": "a number of bandwidth-delay products",
}
"""What a number is, by its dimension."""


@dataclass(frozen=True, eq=False)
class Term:
    """A part of an expression: how to compute it, and what it is.

    `==` of what polars computes is another expression: terms are not compared by it.
    """

    value: Any
    """An expression of polars, or a number or a vector of NumPy."""
    kind: Kind
    literal: str | None = None
    """What a quoted text says: it may be meant as a quantity."""
    dimensions: frozenset[str] = frozenset()
    """What a number can be a quantity of; none where that is not known."""
    name: Any = None
    """Of a number that stands for something with a name, the name: beside a text it is that."""
    constant: bool = False
    """Whether it is a number that is written out."""
    part: bool = False
    """Whether it is a part of a whole, and so never more than 1."""

    @property
    def says_number(self) -> bool:
        """Whether it is a quoted text that says a quantity."""
        return self.literal is not None and _core.number(self.literal) is not None
