"""The metrics that can be compared."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.metrics import Better, Metric, of, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEFAULT", "METRICS", "Better", "Metric", "follows_window", "metric_names"]

METRICS = (
    *of("flow"),
    *of("group"),
    *of("traffic"),
    *of("probe"),
    *of("bottleneck"),
    *of("run"),
)
"""Every metric that can be compared."""

DEFAULT = tuple(
    sorted((metric for metric in METRICS if metric.compared), key=lambda metric: metric.compared)
)
"""What is compared if nothing is chosen; `elapsed_s` where a flow has a transfer, of cross traffic
what its kind has."""


def metric_names(names: Sequence[str]) -> list[Metric]:
    """The metrics called `names`, with their subject before them or without; `DEFAULT` if none.

    A name without its subject that several subjects have is the flow's. What is short for the
    number that tables show (`goodput`, `jain`) is the whole run's here; see `follows_window`.

    Raises `InputError` if there is none of that name.
    """
    known = {metric.path: metric for metric in METRICS}
    for metric in METRICS:
        known.setdefault(metric.name, metric)
    for metric in METRICS:
        if metric.short is not None:
            whole = known[f"{metric.subject}.{metric.window_of}".removeprefix("run.")]
            known.setdefault(metric.short, whole)
            known.setdefault(f"{metric.subject}.{metric.short}", whole)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
            # A name without its unit is nearer than one that only looks like it.
            near = near or [metric for metric in known if metric.startswith(f"{name}_")]
            near = near or difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            every = ", ".join(metric.name for metric in METRICS)
            raise InputError(f"no metric {name!r} to compare{hint}; one of {every}")
    return list(dict.fromkeys(known[name] for name in names)) or list(DEFAULT)


def follows_window(metric: Metric, names: Sequence[str]) -> bool:
    """Whether `metric` stands for what tables show: after a warm-up, its like of the time after it.

    So it is with what is compared if nothing is chosen, and with what is asked for by a short name.
    """
    twin = shown(metric, warm=True)
    short = twin.short
    if twin is metric or short is None:
        return False
    return not names or short in names or f"{metric.subject}.{short}" in names
