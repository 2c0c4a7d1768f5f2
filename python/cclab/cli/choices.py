"""The names that arguments and options take, as a shell completes them: those of `cclab list`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer  # noqa: TC002 (it looks at what functions of completion take)

from cclab import _core
from cclab.errors import InputError, StudyError
from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cclab import evaluation, kernel, reproduction
    from cclab.execute import backends as every_backend
    from cclab.plan import ready
    from cclab.report import figures as every_figure
    from cclab.store import folder as store_folder
else:
    evaluation = late("cclab.evaluation")
    reproduction = late("cclab.reproduction")
    kernel = late("cclab.kernel")
    every_backend = late("cclab.execute.backends")
    every_figure = late("cclab.report.figures")
    ready = late("cclab.plan.ready")
    store_folder = late("cclab.store.folder")


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


def lines(context: typer.Context, incomplete: str) -> list[str]:
    """Completes the last of the ids of a suite's lines that stand with commas between: of the suite
    that the line names before them."""
    suite = context.params.get("suite") or evaluation.DEFAULT_SUITE
    return listed(lambda: _lines_of(suite))(incomplete)


def second_of_list(context: typer.Context, incomplete: str) -> list[str]:
    """Completes what `cclab list suites` takes; a file of a variant the shell completes."""
    return of(suites)(incomplete) if context.params.get("what") == "suites" else []


def folders(incomplete: str) -> list[str]:
    """Completes a results folder in `results/`, beside the folders at hand.

    As of studies, a shell completes by itself where no results folder begins so.
    """
    results = store_folder.RESULTS
    try:
        stores = [str(plan.parent) for plan in results.glob(f"*/{store_folder.PLAN}")]
        beside = [place.name for place in Path().iterdir() if place.is_dir()]
    except OSError:
        return []
    # What cannot be printed cannot be read back either.
    names = sorted(n for n in stores if n.startswith(incomplete) and n.isprintable())
    if not names:
        return []
    rest = sorted(n for n in beside if n.startswith(incomplete) and n.isprintable())
    return [*names, *(f"{n}/" for n in rest if n != str(results) and not n.startswith("."))]


def cards(incomplete: str) -> list[str]:
    """Completes the folder of a card in `results/evaluate/`."""
    try:
        written = sorted(store_folder.RESULTS.glob("evaluate/*/*/card.json"))
    except OSError:
        return []
    return of(lambda: (str(card.parent) for card in written))(incomplete)


def _lines_of(suite: str) -> list[str]:
    """The ids of a suite's lines; none if it cannot be read."""
    try:
        return [criterion.id for criterion in evaluation.load(suite).says.criterion]
    except (InputError, StudyError, OSError):
        return []


def _named(rows: str) -> list[str]:
    return [row["name"] for row in json.loads(rows)]
