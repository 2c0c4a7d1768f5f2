"""From a tree to a value: kinds, quantities and operators, over whatever the caller computes with.

A comparison with nothing is neither true nor false, and a ratio to nothing is nothing.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Protocol

from cclab import _core
from cclab.errors import InputError
from cclab.expressions.terms import WORDS, Term
from cclab.expressions.tree import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cclab.expressions.tree import Expression, Node

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPUTE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_JOIN: dict[str, Callable[[Any, Any], Any]] = {"&": operator.and_, "|": operator.or_}


class Values(Protocol):
    """What expressions are computed with."""

    def constant(self, value: float | str | bool | None) -> Any:
        """A number, a text, a truth value or nothing that is written out."""

    def named(self, name: str) -> Term | None:
        """What `name` stands for; None if nothing is called so."""

    def unknown(self, name: str) -> str:
        """The complaint that nothing is called `name`."""

    def divided(self, value: Any, by: Any) -> Any:
        """A ratio; nothing where `by` is 0."""

    def every(self, conditions: list[Any]) -> Any:
        """Whether all of `conditions` hold; of none, that is so."""

    def some(self, conditions: list[Any]) -> Any:
        """Whether at least one of `conditions` holds."""

    def negated(self, condition: Any) -> Any:
        """Whether `condition` does not hold."""

    def is_nothing(self, value: Any) -> Any:
        """Whether `value` was not measured, or not said."""

    def contains(self, text: Any, part: Any) -> Any:
        """Whether a text has a part."""

    def matches(self, text: Any, pattern: str) -> Any:
        """Whether a text has a part that `pattern` describes. Raises `ValueError` if it is none."""

    def called(self, call: Call) -> Term:
        """What a function gives.

        Raises `ValueError` with the complaint, if there is no such function or it takes other
        arguments.
        """

    def element(self, vector: Any, index: int) -> Any:
        """One of a vector. Raises `ValueError` if there are no vectors, or not so many."""


class Call:
    """A function with its arguments."""

    def __init__(self, evaluation: Evaluation, node: Node, arguments: list[Term]) -> None:
        self.function: str = node["function"]
        self.arguments = arguments
        self._evaluation = evaluation
        self._node = node

    def numbers(self) -> list[Term]:
        """The arguments, all of which have to be numbers. Raises `InputError` if one is not."""
        return [
            self._evaluation.as_number(term, node)
            for term, node in zip(self.arguments, self._node["arguments"], strict=True)
        ]

    def common(self) -> frozenset[str]:
        """What all its arguments are quantities of. Raises `InputError` if they do not agree."""
        return self._evaluation.common(self.numbers(), self._node)


class Evaluation:
    """An expression on its way to a value."""

    def __init__(self, expression: Expression, values: Values) -> None:
        self._text = expression.text
        self._tree = expression.tree
        self._values = values

    def term(self) -> Term:
        """What the expression comes to.

        Raises `InputError`, with the place in the text, if it names what there is not, or combines
        what cannot be combined.
        """
        return self._visit(self._tree)

    def _visit(self, node: Node) -> Term:
        match node["part"]:
            case "number":
                return self._quantity(node["value"], node["dimension"])
            case "text":
                text = node["text"]
                return Term(self._values.constant(text), "text", text)
            case "name":
                return self._named(node)
            case "not":
                return Term(self._values.negated(self._condition(node["operand"])), "condition")
            case "negative":
                number = self._number(node["operand"])
                return Term(-number.value, "number", dimensions=number.dimensions)
            case "and":
                conditions = [self._condition(part) for part in node["parts"]]
                return Term(self._values.every(conditions), "condition")
            case "or":
                conditions = [self._condition(part) for part in node["parts"]]
                return Term(self._values.some(conditions), "condition")
            case "comparison":
                return self._comparison(node)
            case "arithmetic":
                return self._arithmetic(node)
            case "call":
                return self._call(node)
            case "element":
                return self._element(node)
        raise self._refusal("a list stands on the right of `in` alone", node)

    def _quantity(self, value: float, dimension: str | None) -> Term:
        dimensions = frozenset({dimension} if dimension else ())
        constant = self._values.constant(value)
        return Term(constant, "number", dimensions=dimensions, constant=True)

    def _named(self, node: Node) -> Term:
        name = node["name"]
        term = self._values.named(name)
        if term is None and name.lower() in ("true", "false"):
            return Term(self._values.constant(name.lower() == "true"), "condition")
        if term is None and name.lower() in ("null", "none"):
            return Term(self._values.constant(None), "nothing")
        if term is None:
            raise self._refusal(self._values.unknown(name), node)
        return term

    def _comparison(self, node: Node) -> Term:
        relations = []
        left = node["first"]
        for relation, right in node["rest"]:
            relations.append(self._related(left, relation, right))
            left = right
        return Term(
            relations[0] if len(relations) == 1 else self._values.every(relations), "condition"
        )

    def _related(self, left: Node, relation: str, right: Node) -> Any:
        if relation == "matches":
            return self._matches(left, right)
        if relation in ("in", "not in"):
            within = self._member(left, right)
            return within if relation == "in" else self._values.negated(within)
        a = self._visit(left)
        b = self._beside(a, right)
        equality = relation in ("==", "is")
        if "nothing" in (a.kind, b.kind):
            if not equality and relation not in ("!=", "is not"):
                raise self._refusal("`None` is only equal (`is`) or not (`is not`)", right)
            absent = self._values.is_nothing(a.value if b.kind == "nothing" else b.value)
            return absent if equality else self._values.negated(absent)
        if relation in ("is", "is not"):
            raise self._refusal("`is` compares with `None` alone; write `==`", right)
        a, b = self._alike(a, b, right)
        self._check_part(left, a, right)
        self._check_part(right, b, left)
        if a.kind == "condition" and relation not in ("==", "!="):
            raise self._refusal("true and false have no order", right)
        return _COMPARE[relation](a.value, b.value)

    def _check_part(self, node: Node, term: Term, beside: Node) -> None:
        """Refuses a plain number of 2 or more beside a part of a whole: percent are meant, and
        written so."""
        if node["part"] != "name" or not term.part or beside["part"] != "number":
            return
        value = beside["value"]
        if beside["dimension"] is None and value >= 2:
            raise self._refusal(
                f"`{node['name']}` is a part of 1; for {value:g} percent of it write {value:g}% "
                f"or {value / 100:g}",
                beside,
            )

    def _beside(self, term: Term, node: Node) -> Term:
        """What is compared with `term`: beside a text, a word may lack its quotes."""
        try:
            return self._visit(node)
        except InputError as error:
            if term.kind == "text" and node["part"] == "name" and not node["name"].count("."):
                word = node["name"]
                raise self._refusal(
                    f"{self._values.unknown(word)}; a text stands in quotes: '{word}'", node
                ) from error
            raise

    def _member(self, left: Node, right: Node) -> Any:
        term = self._visit(left)
        if right["part"] == "list":
            same = []
            for element in right["elements"]:
                a, b = self._alike(term, self._visit(element), element)
                same.append(a.value == b.value)
            return self._values.some(same)
        within = self._visit(right)
        if term.kind == within.kind == "text":
            return self._values.contains(within.value, term.value)
        raise self._refusal("`in` needs a list such as [1, 2], or a text within a text", right)

    def _matches(self, left: Node, right: Node) -> Any:
        term, pattern = self._visit(left), self._visit(right)
        if term.name is not None:
            term = Term(term.name, "text")
        if term.kind != "text":
            raise self._refusal(f"`matches` needs a text on its left, this is a {term.kind}", left)
        if pattern.literal is None:
            raise self._refusal("`matches` needs a quoted pattern on its right", right)
        try:
            return self._values.matches(term.value, pattern.literal)
        except ValueError:
            raise self._refusal(f"{pattern.literal!r} is no pattern", right) from None

    def _arithmetic(self, node: Node) -> Term:
        sign = node["operator"]
        if sign in _JOIN:
            conditions = [self._condition(node["left"]), self._condition(node["right"])]
            return Term(_JOIN[sign](*conditions), "condition")
        left, right = self._number(node["left"]), self._number(node["right"])
        dimensions: frozenset[str] = frozenset()
        if sign in ("+", "-"):
            dimensions = self.common([left, right], node["right"])
        elif right.constant and not right.dimensions:
            dimensions = left.dimensions  # Twice or half of a time is a time.
        elif sign == "*" and left.constant:
            dimensions = frozenset() if left.dimensions else right.dimensions
        if sign == "/":
            value = self._values.divided(left.value, right.value)
        else:
            value = _COMPUTE[sign](left.value, right.value)
        return Term(value, "number", dimensions=dimensions)

    def _call(self, node: Node) -> Term:
        arguments = [self._visit(argument) for argument in node["arguments"]]
        try:
            return self._values.called(Call(self, node, arguments))
        except ValueError as error:
            raise self._refusal(str(error), node) from None

    def _element(self, node: Node) -> Term:
        vector, index = self._number(node["of"]), node["index"]
        if index["part"] != "number" or index["value"] != int(index["value"]):
            raise self._refusal("an element is asked for by a whole number", index)
        try:
            return Term(self._values.element(vector.value, int(index["value"])), "number")
        except ValueError as error:
            raise self._refusal(str(error), node) from None

    def _alike(self, a: Term, b: Term, node: Node) -> tuple[Term, Term]:
        """Both as the same kind: a quoted quantity beside a number is a number."""
        if a.name is not None and b.kind == "text" and not b.says_number:
            a = Term(a.name, "text")
        elif b.name is not None and a.kind == "text" and not a.says_number:
            b = Term(b.name, "text")
        if a.kind == "number" and b.kind == "text":
            b = self._quoted(b, node)
        elif b.kind == "number" and a.kind == "text":
            a = self._quoted(a, node)
        if a.kind != b.kind:
            raise self._refusal(f"a {a.kind} cannot be compared with a {b.kind}", node)
        self.common([a, b], node)
        return a, b

    def common(self, terms: Sequence[Term], node: Node) -> frozenset[str]:
        """What numbers are quantities of that belong together. Plain ones go with all."""
        common: frozenset[str] = frozenset()
        for term in terms:
            if common and term.dimensions and not common & term.dimensions:
                a, b = (
                    " or ".join(sorted(WORDS[name] for name in names))
                    for names in (common, term.dimensions)
                )
                raise self._refusal(f"{a} does not go with {b}", node)
            common = common & term.dimensions or common | term.dimensions
        return common

    def _quoted(self, term: Term, node: Node) -> Term:
        """A quoted quantity as the number that it says."""
        if term.literal is None or not term.says_number:
            raise self._refusal("a number cannot be compared with a text", node)
        value = _core.number(term.literal)
        assert value is not None
        return self._quantity(value, _core.dimension(term.literal))

    def _condition(self, node: Node) -> Any:
        term = self._visit(node)
        if term.kind != "condition":
            raise self._refusal(f"this is a {term.kind}, not a condition", node)
        return term.value

    def _number(self, node: Node) -> Term:
        return self.as_number(self._visit(node), node)

    def as_number(self, term: Term, node: Node) -> Term:
        """`term` as a number, if it is one or says one. Raises `InputError` if it does neither."""
        if term.literal is not None:
            term = self._quoted(term, node)
        if term.kind != "number":
            raise self._refusal(f"this is a {term.kind}, not a number", node)
        return term

    def _refusal(self, why: str, node: Node) -> InputError:
        """The error, with the expression and a mark below the place."""
        return refusal(self._text, node["at"], why)
