"""The process that does a run alone: what it is asked for, it reads; how it went, it tells.

Descriptors that the parent opens carry both: nothing that users' code prints comes between.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cclab import _core
from cclab.variant.files import FileError, Files, StuckError, parameters

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from cclab.documents.scenario import Scenario


def main(parent: int, asked: int, told: int, crash: int) -> None:
    """Does what `asked` says and tells `told`; a crash of the interpreter is written to `crash`."""
    _core.end_with(parent)
    _go_first()
    faulthandler.enable(file=crash, all_threads=False)
    with open(asked, closefd=False, encoding="utf-8") as lines:
        work = json.load(lines)
    languages = set(work["languages"])
    if languages - {"python"}:
        # What it does not know is left to what was there before it.
        _core.guard(crash, work["limit_s"], work["wall_s"])
    sys.unraisablehook = _unraisable
    own = os.getpid()
    os.register_at_fork(after_in_child=_core.forked)
    answer = _answer(work, told, crash, own)
    if os.getpid() == own:
        os.write(told, (json.dumps(answer) + "\n").encode())


def _go_first() -> None:
    """Where memory runs out, the system ends this process, and none that has done nothing amiss."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _answer(work: dict[str, Any], told: int, crash: int, own: int) -> dict[str, Any]:
    """What to say at the end of `work`: an execution, or looking at files."""
    files = Files()
    limits = work["limit_s"], work["wall_s"]
    try:
        with _patience(*limits, crash):
            if "check" in work:
                return {"wrong": _wrong(files, work["check"])}
            if "describe" in work:
                return {"wrong": [], "params": _parameters(files, work)}
            run = json.loads(work["run"])
            classes = files.of_flows(run["scenario"])
        if os.getpid() != own:
            os._exit(0)  # users' code forked: the run is its parent's
    except FileError as wrong:
        return {"over": str(wrong), "wrong": [str(wrong)]}
    except _core.StudyError as wrong:
        return {"wrong": [str(wrong)]}
    failed, raised = _core.execute_alone(work["run"], work["directory"], classes, told, *limits)
    if raised is not None:
        label, hook, error = raised
        file = next(f for f in run["scenario"]["variant_files"] if f["label"] == label)
        failed = files.told(file["file"], hook, error)
    return {"over": failed}


def _unraisable(raised: sys.UnraisableHookArgs) -> None:
    """What compiled code raises ends its hook; all else is as it was."""
    error = raised.exc_value
    if error is None or not _core.raised_compiled(error):
        sys.__unraisablehook__(raised)


def _parameters(files: Files, work: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameters of a variant, as the rows of `_core.variants` have them."""
    row = work["describe"]
    if row["language"] != "Python":
        declared: list[dict[str, Any]] = json.loads(_core.declared_params(work["path"]))
        return declared
    taken = parameters(files.load({**row, "label": row["name"]})) or []
    return [{"name": parameter.name, **_default(parameter.default)} for parameter in taken]


def _default(value: object) -> dict[str, Any]:
    """What a parameter is by default: `cc_params` are numbers, and switches are written as such."""
    plain = isinstance(value, bool | int | float)
    measure = {bool: "true or false", int: "whole number"}.get(type(value))
    needed = "needed" if value is inspect.Parameter.empty else None
    return {"measure": needed or measure, "meaning": None, "default": value if plain else None}


def _wrong(files: Files, scenarios: list[Scenario]) -> list[str]:
    """What is wrong with the files of `scenarios`."""
    wrong = []
    for scenario in scenarios:
        try:
            files.tried(scenario)
        except FileError as error:
            wrong.append(str(error))
        if said := _core.wrong_files(json.dumps(scenario)):
            wrong.append(said)
    return list(dict.fromkeys(wrong))


@contextlib.contextmanager
def _patience(limit_s: float, wall_s: float, crash: int) -> Iterator[None]:
    """Has code within that does not come back raise an exception where it is, and later hooks that
    `execute_alone` finds."""

    def stuck(number: int, frame: FrameType | None) -> NoReturn:
        del frame
        asleep = number in (signal.SIGALRM, signal.SIGUSR2)
        within = f"{wall_s:g} s" if asleep else f"{limit_s:g} s of the processor"
        raise StuckError(f"did not come back within {within}")

    for number in (signal.SIGALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGUSR2):
        signal.signal(number, stuck)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    signal.setitimer(signal.ITIMER_REAL, wall_s)
    # Where Python does not get its turn to raise anything.
    faulthandler.dump_traceback_later(wall_s * 1.1, exit=True, file=crash)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        # From now on these are users' own.
        for number in (signal.SIGALRM, signal.SIGPROF):
            if signal.getsignal(number) is stuck:
                signal.signal(number, signal.SIG_DFL)
