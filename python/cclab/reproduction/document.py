"""A reproduction as plain data: for `--json`, and for the page over all studies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cclab.reproduction import SCHEMA, printed

if TYPE_CHECKING:
    from cclab.reproduction import Reproduced
    from cclab.reproduction.judge import Judged, Outcome
    from cclab.reproduction.printed import Filled
    from cclab.reproduction.runs import Done


def of(reproduced: Reproduced) -> dict[str, Any]:
    """The document; null where nothing was measured."""
    published = reproduced.published
    return {
        "schema": SCHEMA,
        "study": {
            "name": published.name,
            "title": published.says.title,
            "source": published.says.source,
            "question": published.says.question,
        },
        "short": reproduced.short,
        "backends": reproduced.backends,
        "experiments": [_experiment(done) for done in reproduced.done],
        "tables": [_table(filled) for filled in reproduced.tables],
        "cells": {b: _cells(reproduced, b) for b in reproduced.backends},
        "claims": [_judged(judged) for judged in reproduced.claims],
        "suspicions": [_judged(judged) for judged in reproduced.suspicions],
    }


def _experiment(done: Done) -> dict[str, Any]:
    planned = done.planned
    return {
        "name": planned.experiment.name,
        "title": planned.experiment.title or planned.plan.title,
        "backend": planned.backend,
        "points": len(planned.plan.points),
        "runs": len(planned.plan.runs),
        "runs_now": done.ran,
        "runs_timed": done.timed.runs,
        "wall_s": done.timed.wall_s,
        "store": str(planned.store.path),
    }


def _cells(reproduced: Reproduced, backend: str) -> dict[str, Any]:
    """How many printed numbers ours match, and how closely."""
    differences = [
        difference
        for filled in reproduced.tables
        if filled.backend == backend and not filled.table.printed_by
        for difference in filled.compared
    ]
    within = {f"{bound:g}": count for bound, count in printed.within(differences).items()}
    return {"compared": len(differences), "within": within}


def _table(filled: Filled) -> dict[str, Any]:
    return {
        "name": filled.table.name,
        "title": filled.table.title,
        "printed_by": filled.table.printed_by or None,
        "backend": filled.backend,
        "rows": [
            {
                "label": row.labels,
                "cells": [
                    {
                        "title": cell.column.title,
                        "printed": cell.printed,
                        "ours": None if cell.ours is None else cell.ours.document(),
                        "difference": _finite(cell.difference),
                    }
                    for cell in row.cells
                ],
            }
            for row in filled.rows
        ],
    }


def _judged(judged: Judged) -> dict[str, Any]:
    return {
        "id": judged.subject.id,
        "text": judged.subject.text,
        "backend": judged.backend,
        "verdict": judged.verdict,
        "preview": judged.preview,
        "seeds": judged.seeds,
        "why": judged.why,
        "checks_elsewhere": judged.elsewhere,
        "checks": [_outcome(outcome) for outcome in judged.outcomes],
        "needs": [_outcome(outcome) for outcome in judged.needs],
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "text": outcome.check.text,
        "value": outcome.check.value,
        "at": outcome.bindings,
        "asked": outcome.bound,
        "measured": None if outcome.estimate is None else outcome.estimate.document(),
        "seeds": outcome.seeds,
        "finding": outcome.finding,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
