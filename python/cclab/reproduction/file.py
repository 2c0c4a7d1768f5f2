"""Reads `reproduction.toml`; an error in it has file, line and column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cclab import shown, written
from cclab.errors import InputError
from cclab.execute.backends import BACKENDS
from cclab.quantities import expressions
from cclab.reproduction import schema
from cclab.reproduction.schema import Check, Claim, Reproduction, Suspicion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab.reproduction.schema import Experiment

NAME = "reproduction.toml"

STUDIES = Path("studies")
"""Where the published studies are, from the folder at hand."""


@dataclass(frozen=True)
class Published:
    """A published study: its folder and what its file says."""

    name: str
    folder: Path
    text: str
    """The file as it is written."""
    says: Reproduction

    def experiment(self, name: str) -> Experiment:
        """The experiment called `name`, which the file has."""
        return next(e for e in self.says.experiment if e.name == name)


def names(studies: Path = STUDIES) -> list[str]:
    """The published studies of the folder `studies`."""
    return sorted(file.parent.name for file in studies.glob(f"*/{NAME}"))


def load(study: str | Path) -> Published:
    """Reads the published study called `study`, or the one whose folder it is.

    Raises `InputError` if there is none and `StudyError` if its file is wrong.
    """
    folder = Path(study)
    if not (folder / NAME).is_file():
        folder = STUDIES / study
    path = folder / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        known = ", ".join(names())
        there = f"there are: {known}" if known else f"give its folder, or go to that of {STUDIES}/"
        raise InputError(f"no published study {shown.quoted(study)}; {there}") from None
    says = written.decoded(path, text, Reproduction, schema)
    for place, problem in _problems(says, folder):
        raise written.wrong(path, text, place, problem)
    return Published(folder.resolve().name, folder, text, says)


def _problems(says: Reproduction, folder: Path) -> Iterator[tuple[str, str]]:
    """Errors that involve several keys: the place and the message of each."""
    experiments = {e.name for e in says.experiment}
    for kind in ("experiment", "table", "figure"):
        yield from written.repeated(kind, [entry.name for entry in getattr(says, kind)])
    for kind in ("claim", "suspicion"):
        yield from written.repeated(kind, [entry.id for entry in getattr(says, kind)])
    for index, experiment in enumerate(says.experiment):
        at = f".experiment[{index}]"
        files = [experiment.study, *(on.study for on in experiment.on.values() if on.study)]
        files += experiment.rows.data if experiment.rows else ()
        for name in files:
            if not (folder / name).is_file():
                yield f"{at}.study", f"{folder / name}: no such file"
        for key in ("backends", "repeat", "on"):
            for backend in getattr(experiment, key):
                if backend not in BACKENDS:
                    yield (
                        f"{at}.{key}",
                        f"no backend {shown.quoted(backend)}; one of {', '.join(BACKENDS)}",
                    )
    for kind in ("table", "figure"):
        for index, one in enumerate(getattr(says, kind)):
            if one.experiment not in experiments:
                yield (
                    f".{kind}[{index}].experiment",
                    f"no experiment {shown.quoted(one.experiment)}",
                )
    for place, check in located_checks(says):
        yield from _of_check(place, check, experiments)


def checks_of(subject: Claim | Suspicion) -> list[Check]:
    """The checks of a claim or a suspicion; a claim's own single one, if it has one."""
    own: list[Check] = []
    if isinstance(subject, Claim) and subject.value:
        own = [
            Check(
                each=subject.each,
                terms=subject.terms,
                value=subject.value,
                above=subject.above,
                below=subject.below,
                between=subject.between,
            )
        ]
    return [
        check if check.experiment else msgspec.structs.replace(check, experiment=subject.experiment)
        for check in (*own, *subject.checks)
    ]


def needs_of(claim: Claim) -> list[Check]:
    """The claim's needs of its set-up; a need without points has the points of the claim."""
    return [
        msgspec.structs.replace(
            need, experiment=need.experiment or claim.experiment, each=need.each or claim.each
        )
        for need in claim.needs
    ]


def located_checks(says: Reproduction) -> Iterator[tuple[str, Check]]:
    for index, claim in enumerate(says.claim):
        place = f".claim[{index}]"
        if not checks_of(claim):
            yield f"{place}.value", Check(terms={}, value="")
        for check in checks_of(claim):
            yield f"{place}.checks" if claim.checks else f"{place}.value", check
        for need in needs_of(claim):
            yield f"{place}.needs", need
    for index, suspicion in enumerate(says.suspicion):
        for check in checks_of(suspicion):
            yield f".suspicion[{index}].checks", check


def _of_check(place: str, check: Check, experiments: set[str]) -> Iterator[tuple[str, str]]:
    if not check.value:
        yield place, "a claim needs a check: `terms`, `value` and one of above, below, between"
        return
    bounds = [check.above, check.below, check.between]
    if sum(bound is not None for bound in bounds) != 1:
        yield place, "a check has exactly one of above, below and between"
    known = {*check.terms, *(f"{name}_x" for name, term in check.terms.items() if term.along)}
    for expression, names_known in (
        (check.value, known),
        *((term.value, None) for term in check.terms.values()),
    ):
        problem = expressions.problem(expression, names_known)
        if problem:
            yield place, f"in `{expression}`: {problem}"
    for name, term in check.terms.items():
        experiment = term.experiment or check.experiment
        if experiment not in experiments:
            yield place, f"term {name}: no experiment {shown.quoted(experiment)}"
