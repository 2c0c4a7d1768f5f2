"""The names that arguments and options take, as a shell completes them: those of `cclab list`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import _core
from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cclab import evaluation, kernel, reproduction
    from cclab.execute import backends as every_backend
    from cclab.plan import ready
    from cclab.report import figures as every_figure
else:
    evaluation = late("cclab.evaluation")
    reproduction = late("cclab.reproduction")
    kernel = late("cclab.kernel")
    every_backend = late("cclab.execute.backends")
    every_figure = late("cclab.report.figures")
    ready = late("cclab.plan.ready")


def of(source: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completes one of the names that `source` gives."""

    def completed(incomplete: str) -> list[str]:
        return [name for name in source() if name.startswith(incomplete)]

    return completed


def listed(source: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completes the last of the names of `source` that stand with commas between."""

    def completed(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        wanted = (name for name in source() if name.startswith(last) and name not in given)
        return [f"{before}{comma}{name}" for name in wanted]

    return completed


def variants() -> list[str]:
    """The variants."""
    return _named(_core.variants())


def metrics() -> list[str]:
    """The metrics, each without its subject, as people write them."""
    return [*dict.fromkeys(name.rpartition(".")[2] for name in _named(_core.metrics()))]


def backends() -> Iterable[str]:
    """What studies run on."""
    return every_backend.BACKENDS


def figures() -> list[str]:
    """The figures of a report."""
    return [kind.name for kind in every_figure.FIGURES]


def formats() -> Iterable[str]:
    """What figures are written as."""
    return every_figure.FORMATS


def kernels() -> list[str]:
    """The kernels of the linux backend that are here."""
    return [found.name for found in kernel.listed()]


def suites() -> list[str]:
    """The suites."""
    return evaluation.names()


def published() -> list[str]:
    """The published studies of the folder at hand."""
    return [*reproduction.names(), "all"]


def studies(incomplete: str) -> list[str]:
    """Completes a ready study by its name, beside the study files and folders at hand.

    A shell completes files by itself only where it is given nothing: without a ready study of such
    a name it is left to do so.
    """
    names = [name for name in ready.names() if name.startswith(incomplete)]
    if not names:
        return []
    # Names have no slash: what begins so is in the folder at hand.
    places = sorted(place for place in Path().iterdir() if place.name.startswith(incomplete))
    files = [place.name for place in places if place.suffix == ".toml"]
    return [*names, *files, *(f"{place.name}/" for place in places if place.is_dir())]


def _named(rows: str) -> list[str]:
    return [row["name"] for row in json.loads(rows)]
