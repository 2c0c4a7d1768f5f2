"""Numbers and vectors of NumPy as what expressions are computed with."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab.expressions.terms import Kind, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cclab.expressions.evaluation import Call


class Numbers:
    """Named numbers and vectors, and functions over them. What is not a number is nothing.

    Vectors are combined element by element.
    """

    def __init__(
        self,
        names: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]],
        dimensions: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        """`dimensions` has what named numbers are quantities of, where that is known."""
        self._names = names
        self._functions = functions
        self._dimensions = dimensions or {}

    def constant(self, value: float | str | bool | None) -> Any:
        return np.nan if value is None else value

    def named(self, name: str) -> Term | None:
        try:
            value = self._names[name]
        except KeyError:
            return None
        return _term(value, self._dimensions.get(name, frozenset()))

    def unknown(self, name: str) -> str:
        return f"nothing is called '{name}'"

    def divided(self, value: Any, by: Any) -> Any:
        return np.divide(value, np.where(np.equal(by, 0), np.nan, by))

    def every(self, conditions: list[Any]) -> Any:
        return reduce(np.logical_and, conditions, True)

    def some(self, conditions: list[Any]) -> Any:
        return reduce(np.logical_or, conditions, False)

    def negated(self, condition: Any) -> Any:
        return np.logical_not(condition)

    def is_nothing(self, value: Any) -> Any:
        return np.isnan(value)

    def contains(self, text: str, part: str) -> bool:
        return part in text

    def matches(self, text: str, pattern: str) -> bool:
        raise ValueError(f"{text!r} is not looked through for {pattern!r} here")

    def called(self, call: Call) -> Term:
        function = self._functions.get(call.function)
        if function is None:
            there = ", ".join(self._functions)
            raise ValueError(f"no function '{call.function}'; there are {there}")
        try:
            return _term(function(*(term.value for term in call.arguments)))
        except (ArithmeticError, IndexError, TypeError) as error:
            raise ValueError(str(error)) from error

    def element(self, vector: Any, index: int) -> Any:
        if np.ndim(vector) != 1 or index >= len(vector):
            raise ValueError(f"there is no element {index}")
        return vector[index]


def _term(value: Any, dimensions: frozenset[str] = frozenset()) -> Term:
    if isinstance(value, str):
        return Term(value, "text", value)
    kind: Kind = "condition" if np.asarray(value).dtype == bool else "number"
    return Term(value, kind, dimensions=dimensions)
