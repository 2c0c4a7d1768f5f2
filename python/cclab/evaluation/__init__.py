"""Whether a variant meets the criteria of a suite, such as those of RFC 9743: a card with evidence.

schema   the file of a suite
file     reads it
runs     each scenario with the variant under test and with every standard in its place
evidence what runs say of a criterion: of a variant, beside standards, in all
judge    verdicts, from the runs
told     lines in words
card     the card, as values and as one document
since    what became worse since an earlier card
figure   a criterion drawn
page     the card as files: HTML, JSON, Markdown and JUnit XML
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from cclab import _core, api, shown
from cclab.errors import InputError
from cclab.evaluation import judge, page, runs
from cclab.evaluation import since as earlier_cards
from cclab.evaluation.card import SCHEMA, Card
from cclab.evaluation.evidence import Line, Subject
from cclab.evaluation.file import load, names
from cclab.execute.address import Scheduler
from cclab.execute.backends import backend as backend_called
from cclab.store.folder import RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cclab.evaluation.file import Loaded
    from cclab.evaluation.runs import Planned
    from cclab.evaluation.schema import Criterion
    from cclab.execute import Listener

__all__ = ["DEFAULT_SUITE", "SCHEMA", "Card", "evaluate", "load", "names"]

DEFAULT_SUITE = "rfc9743"

_OF_FILES = (".c", ".rs", ".py")
"""Endings of files of variants."""


def evaluate(
    variant: str,
    *,
    suite: str | Path = DEFAULT_SUITE,
    against: str | Sequence[str] = (),
    quick: bool = False,
    only: str | Sequence[str] = (),
    since: str | Path | None = None,
    out: str | Path | None = None,
    backend: str | None = None,
    repeat: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    cluster: str | Scheduler | None = None,
    listener: Callable[[Planned], Listener | None] = lambda _: None,
    announce: Callable[[Sequence[Planned]], None] = lambda _: None,
) -> Card:
    """Runs what is missing of a suite for `variant`, and judges each criterion.

    `variant` is a name or the path of a variant's file, `suite` the name or the folder of a suite,
    `against` the standards that it is compared with (the suite's own if empty), `quick` whether to
    run the short form, `only` the beginnings of the ids of lines to judge (all if empty). `since`
    is the folder of an earlier card: the card then says what became worse. `out` is the folder for
    runs and card (`results/evaluate/SUITE/VARIANT` if None).
    `backend`, `repeat` and `seed` replace what the suite says, `jobs` and `cluster` are as in
    `cclab.run`. The card is written into the folder: `index.html`, `card.json`, `card.md` and
    `junit.xml`; with `only`, into `only/` of it. `announce` is told what is to run before it does.

    Raises `StudyError` or `InputError` for wrong input and `RunError` if a run fails; finished
    runs stay in the folder.
    """
    whole = load(suite)
    loaded = _only(whole, api.each(only))
    scheduler = cluster if isinstance(cluster, Scheduler) else api.scheduler_of(cluster)
    if backend is not None:
        backend_called(backend)
    standards = [*api.each(against)] or [*loaded.says.standards]
    for name in standards:
        _check_name(name, "to compare with")
    if [*dict.fromkeys(standards)] == [variant] and against:
        raise InputError(f"{variant} would be compared with itself alone; name another --against")
    subject = _subject(variant)
    name = subject.name.replace(" ", "-") + ("" if backend in (None, "sim") else f"-{backend}")
    folder = Path(out) if out is not None else folder_of(loaded, name, quick=quick)
    planned = runs.plan(
        loaded,
        subject,
        standards,
        folder,
        quick=quick,
        backend=backend,
        repeat=repeat,
        seed=seed,
    )
    if not planned:
        raise InputError("the short form leaves out every scenario of these lines; run without it")
    _check(planned)
    runs.check(whole, planned, quick=quick)
    written_to = folder / "only" / "-".join(api.each(only)) if only else folder
    earlier = None
    if since is not None:  # before hours of runs
        if Path(since).resolve() in (
            written_to.resolve(),
            (written_to / earlier_cards.CARD).resolve(),
        ):
            raise InputError(
                f"{shown.quoted(since)} is where this card is written to: name another --out, or "
                "a copy of the earlier card"
            )
        form = {
            "schema": SCHEMA,
            "suite": loaded.name,
            "suite_version": loaded.says.version,
            "suite_sha256": loaded.sha256,
            "quick": quick,
            "backend": planned[0].plan.backend,
        }
        earlier = earlier_cards.read(Path(since), form)
        there = {line["id"] for line in earlier["lines"]}
        if not there & {criterion.id for criterion in loaded.says.criterion}:
            raise InputError(f"{shown.quoted(since)}: that card has none of these lines")
    compared = {each.scenario.name: _compared(loaded, each, subject) for each in planned}
    # Nothing is run of which no line would tell.
    announce([each for each in planned if compared[each.scenario.name]])
    lines = []
    for each in planned:
        if each.refusals:
            lines += _unavailable(loaded, each)
            continue
        criteria = compared[each.scenario.name]
        lines += [
            Line(criterion, [], unavailable=judge.ITSELF, done=False)
            for criterion in loaded.criteria(each.scenario.name)
            if criterion not in criteria
        ]
        if not criteria:
            continue
        done = runs.carry_out(each, jobs=jobs, cluster=scheduler, listener=listener)
        despite = loaded.says.despite
        lines += judge.lines(
            criteria, each.scenario, despite, done, subject, each.standards, each.left_out
        )
    if quick:
        lines += _left_out(loaded, planned)
    order = {criterion.id: place for place, criterion in enumerate(loaded.says.criterion)}
    lines.sort(key=lambda line: order[line.criterion.id])
    ran = [each for each in planned if compared[each.scenario.name] and not each.refusals]
    repeats = [each.plan.repeat for each in ran or planned]
    card = Card(
        suite=loaded,
        quick=quick,
        subject=subject,
        backend=planned[0].plan.backend,
        standards=standards,
        seeds=(min(repeats), max(repeats)),
        lines=judge.corrected(lines),
        folder=written_to,
        runs=folder,
    )
    if earlier is not None:
        card = page.with_changes(card, earlier_cards.changes(card, earlier))
    page.write(card)
    return card


def _only(suite: Loaded, only: Sequence[str]) -> Loaded:
    """The suite with those lines alone whose ids begin so, and their scenarios.

    Raises `InputError` if one of `only` is the beginning of none.
    """
    if not only:
        return suite
    says = suite.says
    lines = [criterion.id for criterion in says.criterion]
    for beginning in only:
        if not _beginning(lines, beginning):
            absent = [each for each in says.absent if each.id.startswith(beginning)]
            if absent:
                raise InputError(f"{suite.name} does not evaluate {absent[0].id}: {absent[0].why}")
            near = difflib.get_close_matches(beginning, lines, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(lines)}"
            asked = shown.quoted(beginning)
            raise InputError(f"no line of {suite.name} begins with {asked}; {hint}")
    kept_lines = {line for beginning in only for line in _beginning(lines, beginning)}
    criteria = [criterion for criterion in says.criterion if criterion.id in kept_lines]
    used = {criterion.scenario for criterion in criteria}
    scenarios = [scenario for scenario in says.scenario if scenario.name in used]
    absent = [a for a in says.absent if a.id.startswith(tuple(only))]
    kept = structs.replace(says, criterion=criteria, scenario=scenarios, absent=absent)
    return replace(suite, says=kept)


def _beginning(lines: Sequence[str], beginning: str) -> list[str]:
    """The lines whose ids begin so: those of the clause that it names, and where it names none,
    those with these characters first, so that 7.1 is not 7.11."""
    of_clause = [line for line in lines if re.match(rf"{re.escape(beginning)}($|[.-])", line)]
    return of_clause or [line for line in lines if line.startswith(beginning)]


def folder_of(suite: Loaded, variant: str, *, quick: bool) -> Path:
    """The default folder for the runs and the card of a variant."""
    form = f"{suite.name}-quick" if quick else suite.name
    return RESULTS / "evaluate" / form / variant


def _subject(variant: str) -> Subject:
    """Raises `InputError` or `StudyError` if there is no such file; a name is looked up later."""
    path, colon, called = variant.partition(".py:")
    if not ("/" in variant or colon or Path(variant).suffix in _OF_FILES):
        _check_name(variant, "to evaluate")
        return Subject(variant, variant, variant, None)
    declared = json.loads(_core.variant_file(variant))
    file = Path(path + colon.removesuffix(":")).absolute()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    name = declared["name"]
    if name in _names():  # A changed copy of a standard stands beside that standard.
        name = f"{name} of {file.name}"
    return Subject(variant, f"{file}{f':{called}' if colon else ''}", name, digest)


def _names() -> list[str]:
    return [variant["name"] for variant in json.loads(_core.variants())]


def _check_name(name: str, what_for: str) -> None:
    """Raises `InputError` if cclab has no variant called so."""
    known = _names()
    if name not in known:
        nearest = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else "`cclab list variants` has them all"
        raise InputError(f"no variant {shown.quoted(name)} {what_for}; {hint}")


def _check(planned: Sequence[Planned]) -> None:
    """Raises `InputError` if nothing can be run until a kernel is built.

    What backend and variant cannot do for good is no wrong input: the card says so of each line.
    """
    absent = [each for each in planned if each.refusals and not each.plan.unsupported]
    if absent and all(each.refusals for each in planned):
        raise InputError(
            f"backend {absent[0].plan.backend} can do no scenario of the suite: "
            f"{absent[0].refusals[0]}"
        )


def _compared(suite: Loaded, planned: Planned, subject: Subject) -> list[Criterion]:
    """The lines of a scenario but for those that would compare the subject with itself alone."""
    return [
        criterion
        for criterion in suite.criteria(planned.scenario.name)
        if not judge.only_beside_itself(criterion, subject, planned.standards)
    ]


def _unavailable(suite: Loaded, planned: Planned) -> list[Line]:
    why = f"it cannot run on backend {planned.plan.backend}: {planned.refusals[0]}"
    criteria = suite.criteria(planned.scenario.name)
    return [Line(criterion, [], unavailable=why, done=False) for criterion in criteria]


def _left_out(suite: Loaded, planned: Sequence[Planned]) -> list[Line]:
    there = {each.scenario.name for each in planned}
    return [
        Line(criterion, [], unavailable=runs.SHORT, done=False)
        for criterion in suite.says.criterion
        if criterion.scenario not in there
    ]
