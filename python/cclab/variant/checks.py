"""What is wrong with a class before any flow has it."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from cclab._core import TAKEN_COLUMNS, Ack, Congestion, Report, Window
from cclab.variant import HOOKS, Variant

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOLD = {"on_ack": "ack", "on_congestion": "event", "on_report": "report", "on_timer": "now"}
"""What each hook is told."""

_SWITCHES = ("own_recovery", "needs_ecn")


def wrong(file: str, cls: type[Variant]) -> str | None:
    """What is wrong with `cls` of `file`, with its place; None: nothing that shows."""
    name = cls.__name__
    own = dict(_own(cls))
    for attribute in own:
        if attribute in vars(Window):
            return (
                f"{place(file, own[attribute])}: {name}.{attribute} hides what the stack reads: "
                f"set self.{attribute} in __init__"
            )
    for switch in _SWITCHES:
        if not isinstance(getattr(cls, switch), bool):
            return f"{file}: {name}.{switch} = {getattr(cls, switch)!r}: it is True or False"
    traced = cls.traced
    if isinstance(traced, str) or not all(
        isinstance(name, str) and name.isidentifier() for name in traced
    ):
        return f'{file}: {name}.traced = {traced!r}: it is a tuple of names, as ("alpha", "bw_bps")'
    for index, column in enumerate(traced):
        if column in traced[:index] or column in TAKEN_COLUMNS:
            problem = (
                "is there twice" if column in traced[:index] else "is a name of the table's own"
            )
            return f"{file}: {name}.traced = {traced!r}: {column} {problem}; give each its own"
    for hook in HOOKS:
        why = _wrong_hook(hook, own[hook]) if hook in own else None
        if why:
            return f"{place(file, own[hook])}: {name}.{hook} {why}"
    named = _named(own.values())
    for attribute, value in own.items():
        if attribute.startswith("on_") and attribute not in {*HOOKS, *named} and callable(value):
            near = get_close_matches(attribute, HOOKS, 1)
            meant = f"did you mean {near[0]}?" if near else f"the hooks are {', '.join(HOOKS)}"
            return f"{place(file, value)}: nobody calls {name}.{attribute}: {meant}"
    if not {"on_ack", "on_report"} & own.keys():
        near = [
            attribute
            for attribute in own
            if get_close_matches(attribute.lower(), ("on_ack", "onack"), 1)
        ]
        meant = f"; {near[0]} is called on_ack" if near else ""
        return f"{file}: {name} defines neither on_ack nor on_report: its window never grows{meant}"
    return None


def _own(cls: type[Variant]) -> Iterator[tuple[str, Any]]:
    """What `cls` and its bases of users' have, by name."""
    seen = set()
    for base in cls.__mro__:
        if base in (Variant, Window, object):
            continue
        for name, value in vars(base).items():
            if name not in seen and not name.startswith("__"):
                seen.add(name)
                yield name, value


def _wrong_hook(hook: str, value: Any) -> str | None:
    told = _TOLD.get(hook)
    wanted = f"def {hook}(self{f', {told}' if told else ''})"
    function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    if not callable(function):
        return f"is no function: write {wanted}"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return f"is asynchronous, and nobody awaits it: write {wanted}"
    if inspect.isgeneratorfunction(function):
        return "yields, and so does nothing when it is called"
    given = [None] * ((told is not None) + (not isinstance(value, staticmethod)))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*given)
    except TypeError:
        return f"takes {signature}: write {wanted}"
    return None


def _named(values: Any) -> set[str]:
    """The names in the code of these functions."""
    codes = [inspect.unwrap(value).__code__ for value in values if inspect.isfunction(value)]
    return {name for code in codes for name in code.co_names}


def place(file: str, value: object) -> str:
    """Where `value` of `file` is, as far as it says so."""
    function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else file


def meant(error: BaseException) -> str:
    """What is right where a class asks for what it is not told."""
    if not isinstance(error, AttributeError):
        return ""
    for told in (Ack, Congestion, Report):
        if isinstance(error.obj, told):
            known = [name for name in vars(told) if not name.startswith("_")]
            near = get_close_matches(str(error.name), known, 1)
            return f"; did you mean {near[0]}?" if near else f"; it has {', '.join(known)}"
    return ""
