"""What a results folder holds, for the verbs that run nothing."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from cclab import shell
from cclab.cli.console import count, note
from cclab.errors import DamagedRunsError, InputError
from cclab.measure.results import measure
from cclab.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.measure.results import Results


def measured_in(folder: Path) -> Results:
    """What the plan of a results folder came to; runs that are missing are told.

    Raises `StoreError` if it is none, `DamagedRunsError` if runs in it cannot be read, and
    `InputError` if it holds none.
    """
    store = Store(folder)
    plan = store.plan()
    seen = store.seen(plan)
    if seen.damaged:
        raise DamagedRunsError(folder, [run.id for run in seen.damaged])
    planned = count(len(plan.runs), "run")
    if not seen.sound:
        raise InputError(f"{folder} holds none of its {planned}; run the study first")
    if seen.absent:
        again = shell.command("cclab", "run", folder)
        note(f"{len(seen.absent)} of {planned} missing; {again} does them")
    measured = measure(store, plan)
    # All of it is needed to the end: no search for what is not looks at it again and again.
    gc.freeze()
    return measured
