"""The axes of a sweep: which keys vary, in which order, and where each sweep point lies."""

from __future__ import annotations

import difflib
import fnmatch
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cclab import _core, shown
from cclab.errors import InputError
from cclab.plan import in_words, short_key, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)")


@dataclass(frozen=True)
class Axis:
    """A swept key, or several that advance together (`zip`), and the values in order.

    Numbers are in ascending order, names as the study lists them.
    """

    keys: tuple[str, ...]
    texts: tuple[str, ...]
    """The values as the study writes them."""
    numbers: tuple[float, ...] | None
    """The same in SI units (bdp and packets as they are); None where they are no numbers."""
    unit: str
    """The unit that all values are written in; empty if there is none or are several."""
    values: tuple[tuple[str, ...], ...]
    """Of each place on the axis, the text of each key."""

    @property
    def name(self) -> str:
        """The keys without the words that every study repeats."""
        return ", ".join(short_key(key) for key in self.keys)

    @property
    def label(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def ticks(self) -> tuple[str, ...]:
        """The values beside `label`: without the unit that stands there."""
        if not self.unit:
            return self.texts
        return tuple(value.removesuffix(self.unit).rstrip() for value in self.texts)

    @property
    def of_variants(self) -> bool:
        """Whether it is variants that it lists."""
        return all(key.rpartition(".")[2] == "cc" for key in self.keys)

    @cached_property
    def _places(self) -> dict[tuple[str, ...], int]:
        return {value: place for place, value in enumerate(self.values)}

    def place(self, params: Mapping[str, Any]) -> int:
        """Where on the axis a sweep point with these parameters lies."""
        return self._places[tuple(text(params[key]) for key in self.keys)]

    @staticmethod
    def names(key: str, pattern: str) -> bool:
        """Whether `pattern` means the swept key: in full or short, `*` for anything.

        `flow.rtt`, which is every flow's, is meant by `flow.*.rtt` too.
        """
        patterns = (pattern, pattern.replace(".*.", "."))
        names = (key, short_key(key))
        return any(fnmatch.fnmatchcase(name, meant) for name in names for meant in patterns)

    def called(self, pattern: str) -> bool:
        """Whether `pattern` means one of its keys."""
        return pattern == self.name or any(self.names(key, pattern) for key in self.keys)


def axes_of(points: Sequence[Mapping[str, Any]]) -> tuple[Axis, ...]:
    """The axes along which the parameters of sweep points vary, in the study's order.

    Keys of which each value goes with one value of the other advance together and are one axis.
    """
    if not points:
        return ()
    columns = {key: [text(params[key]) for params in points] for key in points[0]}
    groups: list[list[str]] = []
    for key, column in columns.items():
        values = len(set(column))
        if values < 2:
            continue
        for group in groups:
            fellow = columns[group[0]]
            if len(set(fellow)) == values == len(set(zip(fellow, column, strict=True))):
                group.append(key)
                break
        else:
            groups.append([key])
    return tuple(_axis(group, columns) for group in groups)


def _axis(keys: list[str], columns: Mapping[str, Sequence[str]]) -> Axis:
    values = list(dict.fromkeys(zip(*(columns[key] for key in keys), strict=True)))
    firsts = [value[0] for value in values]
    numbers, unit = _numbers(firsts)
    if numbers is not None:
        order = np.argsort(numbers, kind="stable").tolist()
        values = [values[place] for place in order]
        numbers = [numbers[place] for place in order]
    alike = all(len(set(value)) == 1 for value in values)
    return Axis(
        keys=tuple(keys),
        texts=tuple(value[0] if alike else ", ".join(value) for value in values),
        numbers=None if numbers is None else tuple(numbers),
        unit=unit if alike else "",
        values=tuple(values),
    )


def _numbers(texts: Sequence[str]) -> tuple[list[float] | None, str]:
    """What values of one dimension stand for, and the unit if they share it."""
    matches = [_QUANTITY.fullmatch(value) for value in texts]
    units = {match[2] for match in matches if match}
    numbers = [_core.number(value) for value in texts]
    known = [number for number in numbers if number is not None]
    if not all(matches) or len(known) < len(texts) or len({_dimension(u) for u in units}) > 1:
        return None, ""
    return known, units.pop() if len(units) == 1 else ""


def _dimension(unit: str) -> str:
    """What a unit measures: numbers of different dimensions have no common order."""
    ends = {"bit": "rate", "B": "size", "s": "time", "min": "time"}
    return next((measured for end, measured in ends.items() if unit.endswith(end)), unit)


def axis_called(axes: Sequence[Axis], pattern: str) -> Axis:
    """The axis that `pattern` names: a swept key, in full or short, `*` for anything.

    Raises `InputError` if there is none or it means several.
    """
    meant = [axis for axis in axes if axis.called(pattern)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        several = " and ".join(axis.name for axis in meant)
        raise InputError(f"the axis {shown.quoted(pattern)} means several: {several}")
    if not axes:
        raise InputError(f"no axis {shown.quoted(pattern)}: nothing is swept in this study")
    names = [key for axis in axes for key in axis.keys]
    near = difflib.get_close_matches(pattern, [*names, *map(short_key, names)], n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise InputError(
        f"no axis {shown.quoted(pattern)}{hint}; the swept keys are {', '.join(names)}"
    )


def beside(label: str, flow: str, keys: Iterable[str], params: Mapping[str, Any]) -> str:
    """`label` of `flow`, if it is one's, and each of `keys` that is not of its own variant.

    The variants of other flows are those beside which it ran.
    """
    own = (f"flow.{flow}.cc", "flow.cc") if flow else ()
    others = [key for key in keys if key not in own]
    if label and flow and others and all(key.endswith(".cc") for key in others):
        return f"{label} beside {', '.join(text(params[key]) for key in others)}"
    return ", ".join(filter(None, [label, *in_words({key: params[key] for key in others})]))
