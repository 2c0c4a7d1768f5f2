"""What the plans of a results folder differ in, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import versions
from cclab.plan.changes import changes
from cclab.store.planned import planned

if TYPE_CHECKING:
    from collections.abc import Collection

    from cclab.store import Store
    from cclab.store.planned import Planned

_MOST = 3
"""Keys that are named."""


def told(store: Store, contents: Collection[str]) -> list[str]:
    """A line for each plan of `store` in `contents`: how it differs from the last one run there.

    Plans are told apart by their first sweep points.
    """
    plans: dict[str, Planned] = {}
    for plan in planned(store).values():
        if plan.points and plan.points[0].runs:
            plans.setdefault(plan.content, plan)
    if not plans:
        return []
    last, lines = next(iter(plans)), []
    for content, plan in plans.items():
        if content in contents:
            how = "the last one run" if content == last else _apart(plans[last], plan)
            lines.append(f"{content}: {how}")
    return lines


def _apart(last: Planned, earlier: Planned) -> str:
    a, b = last.points[0], earlier.points[0]
    differences = [
        f"{change.key} = {change.b}, not {change.a}"
        for change in changes(last.scenario(a), earlier.scenario(b))
    ]
    if a.backend != b.backend:
        differences.insert(0, f"backend = {b.backend}, not {a.backend}")
    elif a.version != b.version:
        here, there = versions.apart(a.version, b.version)
        differences.append(f"made by {there or 'fewer parts'}, not {here or 'more'}")
    if not differences:
        return "another sweep"
    more = f" and {len(differences) - _MOST} more" if len(differences) > _MOST else ""
    return ", ".join(differences[:_MOST]) + more
