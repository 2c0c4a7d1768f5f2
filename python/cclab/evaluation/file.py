"""Reads `suite.toml`; an error in it has file, line and column."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import _core, shown, written
from cclab.errors import InputError
from cclab.evaluation import schema
from cclab.evaluation.schema import Suite
from cclab.quantities import expressions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab.evaluation.schema import Criterion, Scenario

NAME = "suite.toml"

SHIPPED = Path(__file__).parent / "suites"
"""The suites that come with cclab."""

_PLAIN = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]*")

_TAKEN = ("figures", "only")
"""Folders beside those of the scenarios."""

SUITES = Path("suites")
"""Where a user's own suites are, from the folder at hand; they go before those that come along."""


@dataclass(frozen=True)
class Loaded:
    """A suite: its folder and what its file says."""

    name: str
    folder: Path
    text: str
    """The file as it is written."""
    says: Suite

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / NAME

    @cached_property
    def sha256(self) -> str:
        """Of the suite: its file and all others beside it, with their names."""
        digest = hashlib.sha256()
        for file in sorted(self.folder.iterdir()):
            if file.is_file():
                digest.update(
                    f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode()
                )
        return digest.hexdigest()

    @property
    def is_own(self) -> bool:
        """Whether it is called as one that comes with cclab, and is another."""
        shipped = SHIPPED / self.name
        return shipped.is_dir() and not shipped.samefile(self.folder)

    def scenario(self, name: str) -> Scenario:
        """The scenario called `name`, which the file has."""
        return next(scenario for scenario in self.says.scenario if scenario.name == name)

    def criteria(self, scenario: str) -> list[Criterion]:
        """The lines that a scenario decides."""
        return [c for c in self.says.criterion if c.scenario == scenario]


def names() -> list[str]:
    """The suites of the folder at hand and those that come with cclab."""
    files = [*SUITES.glob(f"*/{NAME}"), *SHIPPED.glob(f"*/{NAME}")]
    return sorted({file.parent.name for file in files})


def load(suite: str | Path) -> Loaded:
    """Reads the suite called `suite`, or the one whose folder it is.

    Raises `InputError` if there is none and `StudyError` if its file is wrong.
    """
    places = (Path(suite), SUITES / suite, SHIPPED / suite)
    folder = next((place for place in places if (place / NAME).is_file()), None)
    if folder is None:
        if "/" in str(suite) or Path(suite).is_dir():
            raise InputError(f"{shown.quoted(suite)} is no suite: there is no {NAME} in it")
        near = difflib.get_close_matches(str(suite), names(), 1)
        meant = f"did you mean {near[0]}? There are" if near else "there are"
        raise InputError(f"no suite {shown.quoted(suite)}; {meant}: {', '.join(names())}")
    path = folder / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    says = written.decoded(path, text, Suite, schema)
    for place, problem in _problems(says, folder):
        raise written.wrong(path, text, place, problem)
    return Loaded(folder.resolve().name, folder, text, says)


def _problems(says: Suite, folder: Path) -> Iterator[tuple[str, str]]:
    """Errors that involve several keys: the place and the message of each."""
    yield from written.repeated("scenario", [scenario.name for scenario in says.scenario])
    lines = [criterion.id for criterion in says.criterion]
    yield from written.repeated("criterion", lines)
    yield from written.repeated("absent", [absent.id for absent in says.absent])
    for index, absent in enumerate(says.absent):
        if absent.id in lines:
            yield f".absent[{index}].id", f"a criterion is called {shown.quoted(absent.id)}, too"
    names = [(f".scenario[{n}].name", each.name) for n, each in enumerate(says.scenario)]
    names += [(f".criterion[{n}].id", each.id) for n, each in enumerate(says.criterion)]
    for place, name in names:
        if not _PLAIN.fullmatch(name):
            yield place, "it names a file: letters, digits and `.+_-` alone, and no `.` first"
    for index, scenario in enumerate(says.scenario):
        if scenario.name in _TAKEN:
            yield f".scenario[{index}].name", "a card has a folder of its own that is called so"
    despite = [(".despite", says.despite)]
    despite += [(f".scenario[{n}].despite", each.despite) for n, each in enumerate(says.scenario)]
    despite += [(f".criterion[{n}].despite", each.despite) for n, each in enumerate(says.criterion)]
    for place, codes in despite:
        for code in codes:
            if code not in _core.WARNINGS:
                near = difflib.get_close_matches(code, _core.WARNINGS, 1)
                meant = (
                    f"did you mean {shown.quoted(near[0])}?" if near else "docs/metrics.md has all"
                )
                yield place, f"no warning is called {shown.quoted(code)}; {meant}"
    if not says.standards:
        yield ".standards", "a suite compares with at least one standard"
    scenarios = {scenario.name for scenario in says.scenario}
    for index, scenario in enumerate(says.scenario):
        if not (folder / scenario.study).is_file():
            yield f".scenario[{index}].study", f"{folder / scenario.study}: no such file"
        for key, repeat in ((".repeat", scenario.repeat), (".quick", scenario.quick.repeat)):
            if repeat is not None and repeat < 1:
                yield f".scenario[{index}]{key}", f"{repeat} runs of a setting show nothing: from 1"
        if not scenario.subject:
            yield f".scenario[{index}].subject", "the variant under test is put nowhere"
    for index, criterion in enumerate(says.criterion):
        at = f".criterion[{index}]"
        if criterion.scenario not in scenarios:
            near = difflib.get_close_matches(criterion.scenario, scenarios, 1)
            meant = f"; did you mean {shown.quoted(near[0])}?" if near else ""
            yield f"{at}.scenario", f"no scenario {shown.quoted(criterion.scenario)}{meant}"
        yield from ((f"{at}.{key}", problem) for key, problem in _of_criterion(criterion))


def _of_criterion(criterion: Criterion) -> Iterator[tuple[str, str]]:
    problem = expressions.problem(criterion.value, None)
    if problem:
        yield "value", f"in `{criterion.value}`: {problem}"
    if criterion.margin is None and criterion.below is None and criterion.above is None:
        yield "id", "a criterion has a margin, a bound (below, above), or both"
    if criterion.below is not None and criterion.above is not None:
        yield "above", "a criterion is bounded on one side"
    if criterion.margin is not None and criterion.margin < 0:
        yield "margin", "a margin is not negative"
    if criterion.slack < 0:
        yield "slack", "a margin is not negative"
