"""The user's choices for a figure (metric, axes, values), and the error for too large a figure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cclab import shown
from cclab.errors import InputError
from cclab.plan import text
from cclab.report.swept import axes_of, axis_called

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from cclab.measure.results import Results
    from cclab.report.swept import Axis


@dataclass(frozen=True)
class Asked:
    """The choices of a caller; the sweep determines the others."""

    metrics: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    """Swept keys, in full or short; `*` stands for anything."""
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Swept keys and those of their values that are kept."""

    def __bool__(self) -> bool:
        """Whether anything was chosen."""
        return bool(self.metrics or self.axes or self.where)


NOTHING = Asked()
"""Everything is inferred."""


class TooMuchError(InputError):
    """A figure would be unreadable; the message says what it has too many of."""


OF_VARIANTS = "keep some values of the swept variants (--where KEY=VALUE,...)"
ONE_FLOW = f"draw a metric of one flow (flow.NAME.METRIC) or {OF_VARIANTS}"
SOME_VALUES = "keep some values (--where KEY=VALUE,...)"
"""What can be done about too much."""


def at_most(most: int, number: int, would: str, be: str, remedy: str = "") -> None:
    """Raises `TooMuchError` if `number` is more than can `be` told apart, read or seen.

    `would` says, with `{}` for the number, what the figure would have.
    """
    if number > most:
        told = f"{would.format(f'{number:,}')}, and {most:,} is the most that can be {be}"
        raise TooMuchError(f"{told}; {remedy}" if remedy else told)


def divided(results: Results, asked: Asked) -> tuple[list[Axis], list[Axis]]:
    """The swept axes that stand apart in a panel, those of variants or those asked for, and the
    others."""
    axes = axes_of([point.params for point in results.plan.points])
    apart = [axis for axis in axes if axis.of_variants]
    if asked.axes:
        apart = [axis_called(axes, pattern) for pattern in asked.axes]
    return apart, [axis for axis in axes if axis not in apart]


def narrowed(results: Results, asked: Asked) -> Results:
    """The results of the sweep points that `asked.where` keeps.

    Raises `InputError` if there is no such key or value, or no point has all of them.
    """
    if not asked.where:
        return results
    axes = axes_of([point.params for point in results.plan.points])
    kept = [_kept(axes, pattern, values) for pattern, values in asked.where]

    def holds(params: Mapping[str, Any]) -> bool:
        return all(text(params[axis.keys[nth]]) in wanted for axis, nth, wanted in kept)

    points = [point for point in results.points if holds(point.params)]
    if not points:
        raise InputError("no sweep point has all of these values together")
    planned = [point for point in results.plan.points if holds(point.params)]
    return replace(results, plan=replace(results.plan, points=planned), points=points)


def _kept(
    axes: tuple[Axis, ...], pattern: str, values: tuple[str, ...]
) -> tuple[Axis, int, set[str]]:
    """The axis that is meant, which of its keys, and the values of that key that are kept."""
    axis = axis_called(axes, pattern)
    nth = next((n for n, key in enumerate(axis.keys) if axis.names(key, pattern)), 0)
    known = list(dict.fromkeys(value[nth] for value in axis.values))
    for value in values:
        if value not in known:
            if "=" in value and not value.startswith("{"):
                own = ",".join(v for v in values if v in known) or known[0]
                raise InputError(
                    f"{axis.keys[nth]} is never {shown.quoted(value)}: the commas of --where are "
                    f"between values of one key; give each key its own: --where {pattern}={own} "
                    f"--where {value}"
                )
            near = difflib.get_close_matches(value, known, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise InputError(
                f"{axis.keys[nth]} is never {shown.quoted(value)}{hint}; its values are "
                f"{', '.join(known)}"
            )
    return axis, nth, set(values)
