"""What the plans of a results folder differ in, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cclab import versions
from cclab.plan.changes import changes
from cclab.store.planned import planned

if TYPE_CHECKING:
    from collections.abc import Collection

    from cclab.documents.scenario import Scenario
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


def _apart(last: Planned, other: Planned) -> str:
    (a, run_a), (b, run_b) = ((p.points[0], p.points[0].runs[0]) for p in (last, other))
    scenarios: list[Scenario] = [msgspec.json.decode(point.scenario) for point in (a, b)]
    found = [f"{change.key} = {change.b}, not {change.a}" for change in changes(*scenarios)]
    if run_a.backend != run_b.backend:
        found.insert(0, f"backend = {run_b.backend}, not {run_a.backend}")
    elif run_a.version != run_b.version:
        here, there = versions.apart(run_a.version, run_b.version)
        found.append(f"made by {there or 'fewer parts'}, not {here or 'more'}")
    if not found:
        return "another sweep"
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return ", ".join(found[:_MOST]) + more
