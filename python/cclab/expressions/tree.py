"""From a text to a tree, and the message where a text is none."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

Node = dict[str, Any]
"""A part of an expression, as `cclab_spec::expression::Node` has it: `at`, the character of the
text that it begins with; `part`, what it is; and what that consists of."""

_SHOWN = 60
"""Characters of an expression that is too long to be shown whole."""


@dataclass(frozen=True)
class Expression:
    """A text that is an expression."""

    text: str
    tree: Node

    @property
    def names(self) -> list[str]:
        """The names in it, each once, from left to right; those of functions are not among them."""
        return list(dict.fromkeys(n["name"] for n in walk(self.tree) if n["part"] == "name"))

    @property
    def functions(self) -> list[str]:
        """The functions that it calls, each once."""
        return list(dict.fromkeys(n["function"] for n in walk(self.tree) if n["part"] == "call"))

    def part(self, node: Node) -> Expression:
        """The part of it that begins with `node`."""
        return Expression(self.text, node)


@lru_cache(maxsize=1024)
def parse(text: str, known: tuple[str, ...] = ()) -> Expression:
    """The expression that `text` is.

    `known` are the beginnings of names that have other characters in them than names have without
    back quotes (`flow.long-lived`). Raises `InputError`, with the place in the text, if it is none.
    """
    if not isinstance(text, str):
        raise InputError(f"an expression is a text, not {text!r}")
    if not text.strip():
        raise InputError("the expression is empty")
    shown = text.replace("\n", " ").strip()
    tree, at, why, too_deep = _core.expression(shown, list(known))
    if too_deep:
        beginning = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        raise InputError(f"the expression is nested too deeply: {beginning}")
    if tree is None:
        raise refusal(shown, at, why)
    return Expression(shown, json.loads(tree))


def refusal(text: str, at: int, why: str) -> InputError:
    """The error `why` at a character of `text`, with the text and a mark below the place."""
    at = min(at, len(text))
    # Of a long expression, what is around the place.
    first = max(at - _SHOWN, 0) if len(text) > 2 * _SHOWN else 0
    last = at + _SHOWN if len(text) - first > 2 * _SHOWN else len(text)
    shown = ("…" if first else "") + text[first:last]
    shown += "…" if last < len(text) else ""
    return InputError(f"column {at + 1}: {why}\n  {shown}\n  {' ' * (at - first + bool(first))}^")


def walk(node: Node) -> Iterator[Node]:
    """`node` and the parts within it, the outer before the inner, from left to right."""
    yield node
    for part in operands(node):
        yield from walk(part)


def operands(node: Node) -> list[Node]:
    """The parts directly within `node`, from left to right."""
    match node:
        case {"operand": operand}:
            return [operand]
        case {"parts": parts} | {"arguments": parts} | {"elements": parts}:
            return list(parts)
        case {"first": first, "rest": rest}:
            return [first, *(right for _, right in rest)]
        case {"left": left, "right": right}:
            return [left, right]
        case {"of": of, "index": index}:
            return [of, index]
    return []
