"""Runs that another cclab, or another kernel, would do otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cclab import _core, kernel, versions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab.plan import Run


def outdated(runs: Iterable[Run]) -> dict[str, tuple[Run, str]]:
    """Those of `runs` that this cclab would do otherwise, by their ids; for each, the version that
    it would give them."""
    named, runs = kernel.keys(), [*runs]  # A list: none goes while its scenario is known by its id.
    known: dict[tuple[str, int], str] = {}
    differing = {}
    for run in runs:
        # Runs of one scenario share it, and it is large.
        key = (run.backend, id(run.scenario))
        if key not in known:
            known[key] = _version_here(run, named.get(run.backend))
        if run.version != known[key]:
            differing[run.id] = (run, known[key])
    return differing


def _version_here(run: Run, kernels: dict[str | None, str] | None) -> str:
    """The version that this cclab would give `run`; all that is at hand where it does not know the
    form of the run's scenario, which another cclab wrote."""
    try:
        return _core.determinants(json.dumps(run.scenario), run.backend, kernels)
    except _core.StudyError:
        return versions.AT_HAND
