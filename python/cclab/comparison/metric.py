"""The metrics that can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.metrics import Better, Metric, named, near, of, shown
from cclab.shown import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

__all__ = ["DEFAULT", "METRICS", "Better", "Metric", "follows_window", "metric_names"]


def _share(subject: str) -> list[Metric]:
    """The share of a subject. `of` lacks it, because it needs all flows of a run."""
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
"""The metrics compared by default; `elapsed_s` only of transfers, those of cross traffic as its
kind has them."""


_MOST_NAMES = 8

_FIRST = ("flow", "bottleneck", "run")
"""Whose a name without its subject is, whatever else has one so called."""


def metric_names(names: Sequence[str], has: Callable[[Metric], bool] | None = None) -> list[Metric]:
    """The metrics called `names`, with their subject before them or without; `DEFAULT` if none.

    A name without its subject is the flow's, else the bottleneck's or the run's, else that of the
    subject which has it in the compared results, as `has` says. Before there are results, the first
    subject counts. A short name of a number in tables (`goodput`, `jain`) is the whole run's here;
    see `follows_window`.

    Raises `InputError` if no metric has that name, or several subjects in the results have it.
    """
    known = _by_words()
    for name in names:
        if name not in known:
            raise InputError(f"no metric {quoted(name)} to compare{_hint(name, known)}")
    return list(dict.fromkeys(_meant(name, known[name], has) for name in names)) or list(DEFAULT)


def _by_words() -> dict[str, list[Metric]]:
    """The metrics that each word may mean, in the order of precedence."""
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
    """The metric among `may` that `name` means in results with the metrics that `has` confirms."""
    there = may if has is None or len(may) == 1 else [metric for metric in may if has(metric)]
    if has is not None and len(there) > 1 and there[0].subject not in _FIRST:
        listed = " or ".join(metric.path for metric in there)
        raise InputError(f"several in these results have {name}: write {listed}")
    return there[0] if there else may[0]


def _hint(name: str, known: Collection[str]) -> str:
    """What somebody may mean who writes `name`."""
    subject, dot, word = name.rpartition(".")
    owner, _, of_owner = subject.partition(".")
    if of_owner:
        rest = f"{of_owner}.{word}".split(".")[1:]
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
    """Whether `metric` stands for the number in tables, after a warm-up that of the time after it.

    Metrics compared by default do, and so do those asked for by a short name.
    """
    twin = shown(metric, warm=True)
    short = twin.short
    if twin is metric or short is None:
        return False
    return not names or short in names or f"{metric.subject}.{short}" in names
