"""Runs published studies again: their numbers beside ours, and a verdict on each claim.

A published study is a folder with `reproduction.toml`, study files and the printed numbers as CSV;
docs/reproduce.md describes the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab.errors import InputError
from cclab.execute import backends
from cclab.late import late
from cclab.reproduction import judge, printed, references, runs
from cclab.reproduction.file import load, names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cclab.execute import Listener
    from cclab.measure.results import Results
    from cclab.reproduction import document, figures
    from cclab.reproduction.figures import Drawn
    from cclab.reproduction.file import Published
    from cclab.reproduction.judge import Judged
    from cclab.reproduction.printed import Filled
    from cclab.reproduction.runs import Done, Planned
    from cclab.reproduction.schema import Claim, Suspicion
else:
    document = late("cclab.reproduction.document")
    figures = late("cclab.reproduction.figures")

__all__ = ["RESULTS", "SCHEMA", "Reproduced", "load", "names", "reproduce"]

SCHEMA = "cclab-reproduction/1"
"""Name and version of the document that `cclab reproduce --json` prints."""

RESULTS = Path("results/reproduce")
"""The default folder for results: one folder per published study."""


@dataclass(frozen=True, repr=False)
class Reproduced:
    """A published study that was run again."""

    published: Published
    short: bool
    """Whether it is the short form, which takes seconds: it shows that everything works, and no
    results."""
    done: list[Done]
    tables: list[Filled]
    claims: list[Judged]
    suspicions: list[Judged]

    @property
    def backends(self) -> list[str]:
        """Those that ran some of its experiments."""
        return list(dict.fromkeys(done.planned.backend for done in self.done))

    def results(self, experiment: str, backend: str = "sim") -> Results:
        """What an experiment measured on a backend. Raises `KeyError` if it was not run there."""
        return self.measured(backend)[experiment]

    def measured(self, backend: str) -> dict[str, Results]:
        """Results by experiment, of one backend."""
        return {
            done.planned.experiment.name: done.results
            for done in self.done
            if done.planned.backend == backend
        }

    def figures(self) -> list[Drawn]:
        """Every figure of the study, drawn anew."""
        drawn = []
        for figure in self.published.says.figure:
            by_backend = {b: self.measured(b) for b in self.backends}
            with_it = {
                b: m[figure.experiment] for b, m in by_backend.items() if figure.experiment in m
            }
            drawn += figures.draw(self.published, figure, with_it)
        return drawn

    def document(self) -> dict[str, Any]:
        """The document that `cclab reproduce --json` prints."""
        return document.of(self)

    def __repr__(self) -> str:
        """The verdicts in lines."""
        lines = [f"{self.published.name}: {self.published.says.title}"]
        if self.short:
            lines.append("  the short form: its numbers mean nothing, and it has no verdicts")
        lines += [f"  {j.verdict} ({j.backend}): {j.subject.text}" for j in self.claims]
        lines += [f"  {j.verdict} ({j.backend}): {j.subject.text}" for j in self.suspicions]
        return "\n".join(lines)


def reproduce(
    study: str | Path,
    *,
    out: str | Path | None = None,
    backend: str | None = None,
    short: bool = False,
    jobs: int | None = None,
    listener: Callable[[Planned], Listener | None] = lambda _: None,
) -> Reproduced:
    """Runs the missing runs of the published study with this name or folder, and judges it.

    `out` is the folder for results (`results/reproduce` if None), `backend` the only one to run on
    (results of others in the folder are judged too), `short` whether to run the form that takes
    seconds, `jobs` the number of runs at a time (one per CPU if None). Raises `StudyError` or
    `InputError` for wrong input and `RunError` if a run fails; finished runs stay in the folder.
    """
    published = load(study)
    if backend is not None:
        backends.backend(backend)
    folder = RESULTS if out is None else Path(out)
    planned = runs.plan(published, folder, short=short)
    if not short:  # which need not have all of the points
        references.check(published, planned)
    asked = [experiment for experiment in planned if backend in (None, experiment.backend)]
    if not asked:
        form = "the short form of " if short else ""
        has = ", ".join(dict.fromkeys(experiment.backend for experiment in planned))
        raise InputError(f"{form}{published.name} runs nothing on {backend}; it runs on {has}")
    ran = runs.carry_out(asked, jobs=jobs, listener=listener)
    # What earlier commands ran on other backends stands beside it.
    others = [
        experiment
        for experiment in planned
        if backend not in (None, experiment.backend) and experiment.whole
    ]
    kept = runs.carry_out(others, jobs=jobs)
    order = {id(experiment): index for index, experiment in enumerate(planned)}
    done = sorted([*ran, *kept], key=lambda experiment: order[id(experiment.planned)])
    return judged(published, done, short=short)


def judged(published: Published, done: list[Done], *, short: bool) -> Reproduced:
    """The tables and the verdicts that follow from what was measured; the `short` form has none."""
    by_backend: dict[str, dict[str, Results]] = {}
    for finished in done:
        results = by_backend.setdefault(finished.planned.backend, {})
        results[finished.planned.experiment.name] = finished.results
    tables = [
        printed.fill(published, table, measured[table.experiment], backend)
        for table in published.says.table
        for backend, measured in by_backend.items()
        if table.experiment in measured
    ]
    claims = _verdicts(judge.claim, published.says.claim, by_backend)
    suspicions = _verdicts(judge.suspicion, published.says.suspicion, by_backend)
    if short:
        # What is true of shorter runs and transfers shows nothing of the study.
        claims, suspicions = (
            [verdict.withheld() for verdict in verdicts] for verdicts in (claims, suspicions)
        )
    return Reproduced(published, short, done, tables, claims, suspicions)


def _verdicts(
    judged_by: Callable[..., Judged],
    subjects: Sequence[Claim | Suspicion],
    by_backend: dict[str, dict[str, Results]],
) -> list[Judged]:
    """The verdict on each subject by each backend that ran its points.

    If no backend did, one verdict says so.
    """
    chosen: list[Judged] = []
    for subject in subjects:
        verdicts = [judged_by(subject, b, m) for b, m in by_backend.items()]
        chosen += [v for v in verdicts if v.outcomes] or verdicts[:1]
    return chosen
