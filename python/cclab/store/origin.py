"""Whether a packet capture is that of a run, and then as it was written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cclab.errors import DamagedRunsError, RunError
from cclab.late import late

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.store import trace as traces
else:
    traces = late("cclab.store.trace")


def check_origin(capture: Path) -> None:
    """Raises `DamageError` if the file `capture` is that of a run in a results folder and not as it
    was written with the run."""
    place = capture.absolute()
    run, captures = place.parent, place.parent.parent
    file = captures.parent / "runs" / f"{run.name}.zip"
    if captures.name != "captures" or not os.path.lexists(file):
        return
    try:
        traces.Trace(file, run).check_capture(place.name)
    except RunError as error:
        raise DamagedRunsError(captures.parent, [run.name], str(error)) from error
