"""The metrics that can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.metrics import Better, Metric, named, near, of, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

__all__ = ["DEFAULT", "METRICS", "Better", "Metric", "follows_window", "metric_names"]


def _share(subject: str) -> list[Metric]:
    """The share of a subject: made of the flows of a run together, it is not in `of`."""
    share = named(subject, "share")
    return [] if share is None else [share]


METRICS = (
    *of("flow"),
    *_share("flow"),
    *of("traffic"),
    *of("probe"),
    *of("bottleneck"),
    *of("run"),
    *of("group"),
    *_share("group"),
    *of("band"),
)
"""Every metric that can be compared."""

DEFAULT = tuple(
    sorted((metric for metric in METRICS if metric.compared), key=lambda metric: metric.compared)
)
"""What is compared if nothing is chosen; `elapsed_s` where a flow has a transfer, of cross traffic
what its kind has."""


_MOST_NAMES = 8

_FIRST = ("flow", "bottleneck", "run")
"""Whose a name without its subject is, whatever else has one so called."""


def metric_names(names: Sequence[str], has: Callable[[Metric], bool] | None = None) -> list[Metric]:
    """The metrics called `names`, with their subject before them or without; `DEFAULT` if none.

    A name without its subject is the flow's, or else that of the bottleneck or the run; or else it
    is of whatever else has it in the results that are compared, as `has` says of a metric. Before
    there are any, it is of the first. What is short for the number that tables show (`goodput`,
    `jain`) is the whole run's here; see `follows_window`.

    Raises `InputError` if there is none of that name, or if several in the results have it.
    """
    known = _by_words()
    for name in names:
        if name not in known:
            raise InputError(f"no metric {name!r} to compare{_hint(name, known)}")
    return list(dict.fromkeys(_meant(name, known[name], has) for name in names)) or list(DEFAULT)


def _by_words() -> dict[str, list[Metric]]:
    """The metrics that each word may mean, those that it means before others first."""
    paths = {metric.path: metric for metric in METRICS}
    meanings = {path: [metric] for path, metric in paths.items()}
    for metric in sorted(METRICS, key=lambda metric: metric.subject not in _FIRST):
        meant = metric
        if metric.short is not None:
            meant = paths[f"{metric.subject}.{metric.window_of}".removeprefix("run.")]
            meanings.setdefault(f"{metric.subject}.{metric.short}", [meant])
        for word, one in ((metric.name, metric), (metric.short, meant)):
            if word is not None and one not in meanings.setdefault(word, []):
                meanings[word].append(one)
        if len(metric.keys) > 1:
            # As documents have it: flow.datagrams.loss.
            spelt = ".".join(metric.keys)
            meanings.setdefault(f"{metric.subject}.{spelt}", [metric])
            meanings.setdefault(spelt, [metric])
    return meanings


def _meant(name: str, may: list[Metric], has: Callable[[Metric], bool] | None) -> Metric:
    """The one of `may` that `name` means in results that have what `has` says."""
    there = may if has is None or len(may) == 1 else [metric for metric in may if has(metric)]
    if has is not None and len(there) > 1 and there[0].subject not in _FIRST:
        listed = " or ".join(metric.path for metric in there)
        raise InputError(f"several in these results have {name}: write {listed}")
    return there[0] if there else may[0]


def _hint(name: str, known: Collection[str]) -> str:
    """What somebody may mean who writes `name`."""
    subject, dot, word = name.rpartition(".")
    owner, _, one = subject.partition(".")
    if one:
        rest = f"{one}.{word}".split(".")[1:]
        meant = next(
            (w for w in (f"{owner}.{'.'.join(rest)}", f"{owner}.{word}") if w in known), None
        )
        if meant is not None:
            return f": every {owner} that both sides have has a row of its own; write {meant}"
    whose = [metric.path for metric in METRICS if dot and metric.name == word]
    if whose:
        hint = near(name, known, most=1)
        told = f" (did you mean {hint[0]}?)" if hint else ""
        return f"{told}: {subject} has none; there is {', '.join(whose[:_MOST_NAMES])}"
    hints = near(
        name, [m.name if m.subject in _FIRST else m.path for m in METRICS], most=_MOST_NAMES
    )
    if not hints:
        return "; `cclab list metrics` has them"
    others = f"; near are {', '.join(hints[1:])}" if hints[1:] else ""
    return f" (did you mean {hints[0]}?){others}; `cclab list metrics` has all"


def follows_window(metric: Metric, names: Sequence[str]) -> bool:
    """Whether `metric` stands for what tables show: after a warm-up, its like of the time after it.

    So it is with what is compared if nothing is chosen, and with what is asked for by a short name.
    """
    twin = shown(metric, warm=True)
    short = twin.short
    if twin is metric or short is None:
        return False
    return not names or short in names or f"{metric.subject}.{short}" in names
