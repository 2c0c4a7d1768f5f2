"""The process that does a run alone: what it is asked for, it reads; how it went, it tells.

Descriptors that the parent opens carry both: nothing that users' code prints comes between.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
from typing import TYPE_CHECKING, Any, NoReturn

from cclab import _core
from cclab.variant.files import FileError, Files, StuckError

if TYPE_CHECKING:
    from types import FrameType


def main(parent: int, asked: int, told: int, crash: int) -> None:
    """Does what `asked` says and tells `told`; a crash of the interpreter is written to `crash`."""
    _core.end_with(parent)
    faulthandler.enable(file=crash, all_threads=False)
    with open(asked, closefd=False, encoding="utf-8") as lines:
        work = json.load(lines)
    languages = set(work["languages"])
    if languages - {"python"}:
        # What it does not know is left to what was there before it.
        _core.guard(crash, work["limit_s"])
    answer = _answer(work, told)
    os.write(told, (json.dumps(answer) + "\n").encode())


def _answer(work: dict[str, Any], told: int) -> dict[str, Any]:
    """What to say at the end of `work`: an execution, or looking at files."""
    files = Files()
    limit = work["limit_s"]
    _alarm(limit)
    try:
        signal.setitimer(signal.ITIMER_PROF, limit)
        if "check" in work:
            return {"wrong": _wrong(files, work["check"])}
        run = json.loads(work["run"])
        classes = files.of_flows(run["scenario"])
        signal.setitimer(signal.ITIMER_PROF, 0)
    except FileError as wrong:
        return {"over": str(wrong)}
    failed, raised = _core.execute_alone(work["run"], work["directory"], classes, told, limit)
    if raised is not None:
        label, hook, error = raised
        file = next(f for f in run["scenario"]["variant_files"] if f["label"] == label)
        failed = files.told(file["file"], hook, error)
    return {"over": failed}


def _wrong(files: Files, scenarios: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the files of `scenarios`."""
    wrong = []
    for scenario in scenarios:
        try:
            files.of_flows(scenario)
        except FileError as error:
            wrong.append(str(error))
        if said := _core.wrong_files(json.dumps(scenario)):
            wrong.append(said)
    return list(dict.fromkeys(wrong))


def _alarm(limit: float) -> None:
    """Has code that does not come back raise an exception where it is."""

    def stuck(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise StuckError(f"did not come back within {limit:g} s of the processor")

    signal.signal(signal.SIGALRM, stuck)
    signal.signal(signal.SIGPROF, stuck)
