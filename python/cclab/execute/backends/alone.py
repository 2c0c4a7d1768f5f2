"""Runs with code of users', each in a process of its own.

What that code does to its process (a crash, a loop, an end) ends that run, and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cclab._core import Progress
    from cclab.documents.scenario import Scenario, VariantFile
    from cclab.plan import Run

HOOK_S = 30.0
"""Seconds of a processor that one call of users' code may take, its import too: a compiler may be
among what it calls."""

PATIENCE = 40
"""So many times longer may one take on a clock: who sleeps, or waits, uses no processor, and a busy
machine gives little of it."""

_END_S = 2.0
"""Seconds in which a process ends that has said how it went: what users' code still does then, in
threads of its own, is of no use to the run."""

_TICK_S = 0.1
"""How often a run is asked whether it was cancelled."""

_TAIL = 2_000
"""Characters of what users' code printed that a failure shows."""

_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from cclab.execute.backends import child; "
    "child.main(*map(int, sys.argv[2:]))"
)


def is_alone(run: Run) -> bool:
    """Whether `run` has code of users'."""
    return bool(run.scenario.get("variant_files"))


def execute(run: Run, directory: Path, progress: Progress) -> str | None:
    """Writes the trace of `run` into a folder in `directory`, as `Backend.execute` does.

    Gives None, or why it failed or that it was cancelled. The first run of each set of files is
    done a second time, and the run says what was other then.
    """
    failed = _executed(run, directory, progress)
    if failed is None and _is_first(run):
        with tempfile.TemporaryDirectory(dir=directory) as again:
            if _executed(run, Path(again), progress) is None:
                differs = _differing(directory / run.id, Path(again) / run.id)
                if differs:
                    (directory / run.id / _DIFFERS).write_text(json.dumps(differs) + "\n")
            elif progress.cancelled:
                return _cancelled(progress)
            else:
                # It cannot be said what differs; that it does is certain.
                (directory / run.id / _DIFFERS).write_text(json.dumps(["all files"]) + "\n")
    if failed is None:
        progress.tell(progress.now_s, 1.0)
    return failed


_DIFFERS = "differs.json"
"""As crates/metrics reads it."""

_tried: set[str] = set()
"""The files of which a run was done twice by this process, by their hashes."""
_trying = threading.Lock()


def _is_first(run: Run) -> bool:
    """Whether no run with the files of `run` was done by this process. C files call nothing of the
    system's: they have neither its clock nor its random numbers."""
    hashes = sorted(file["sha256"] for file in _files([run]) if file["language"] != "c")
    key = " ".join(hashes)
    with _trying:
        first = bool(hashes) and key not in _tried
        _tried.add(key)
    return first


def _differing(first: Path, second: Path) -> list[str]:
    """The names of the files that are not the same in both folders."""
    names = sorted({file.name for folder in (first, second) for file in folder.iterdir()})

    def content(folder: Path, name: str) -> bytes | None:
        file = folder / name
        return file.read_bytes() if file.exists() else None

    return [name for name in names if content(first, name) != content(second, name)]


def _cancelled(progress: Progress) -> str:
    return f"cancelled at {progress.now_s:.3f} s of virtual time"


def _executed(run: Run, directory: Path, progress: Progress) -> str | None:
    """Does `run` once; None, or why it failed or that it was cancelled."""
    work = {"run": run.to_json(), "directory": str(directory), "languages": _languages([run])}

    def heard(line: dict[str, Any]) -> None:
        if "now_s" in line:
            # The end is told once all is over.
            progress.tell(line["now_s"], min(line["fraction"], 0.99))

    answer, died = _done(work, heard, lambda: progress.cancelled)
    if died == _CANCELLED:
        return _cancelled(progress)
    if died is not None:
        return _naming([file["file"] for file in _files([run])], died)
    failed: str | None = answer["over"]
    return failed


def wrong_files(runs: Sequence[Run]) -> list[str]:
    """What is wrong with the files of `runs`, each once with each set of parameters: they are
    looked at in another process."""
    scenarios = {id(run.scenario): run.scenario for run in runs if is_alone(run)}
    if not scenarios:
        return []
    # Most of a sweep differs in what the files are not told of.
    check = [*{_asked(scenario): scenario for scenario in scenarios.values()}.values()]
    work = {"check": check, "languages": _languages(runs)}
    answer, died = _done(work, lambda line: None, lambda: False)
    if died is not None:
        return [_naming([file["file"] for file in _files(runs)], died)]
    wrong: list[str] = answer["wrong"]
    return wrong


def parameters(path: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameters of the variant in the file at `path`, as its own code says in another process;
    `row` is `_core.variant_file`'s.

    Raises `InputError` if it cannot be.
    """
    work = {"path": path, "describe": row, "languages": [row["language"].lower()]}
    answer, died = _done(work, lambda line: None, lambda: False)
    if died is not None:
        raise InputError(_naming([row["file"]], died))
    if wrong := answer["wrong"]:
        raise InputError("\n".join(wrong))
    taken: list[dict[str, Any]] = answer["params"]
    return taken


def _asked(scenario: Scenario) -> str:
    """What decides whether the files of `scenario` can be used: they, and their parameters."""
    files = [
        [file["label"], file["language"], file["file"], file["name"], file["sha256"]]
        for file in scenario.get("variant_files", [])
    ]
    users = [*scenario["flows"], *scenario.get("traffic", [])]
    given = [[user.get("cc"), user.get("cc_params")] for user in users]
    return json.dumps([files, given], sort_keys=True)


def _naming(files: Sequence[str], died: str) -> str:
    """`died`, with the names of `files` where it names none."""
    if _NAMES_FILE.match(died):
        return died
    return f"{', '.join(dict.fromkeys(files))}: {died}"


def _languages(runs: Sequence[Run]) -> list[str]:
    """What the files of `runs` are written in."""
    return sorted({file["language"] for file in _files(runs)})


def _files(runs: Sequence[Run]) -> list[VariantFile]:
    """The files of the scenarios of `runs`."""
    return [file for run in runs for file in run.scenario.get("variant_files", [])]


_CANCELLED = "cancelled"


def _done(
    work: dict[str, Any], heard: Callable[[dict[str, Any]], None], cancelled: Callable[[], bool]
) -> tuple[dict[str, Any], str | None]:
    """What a process says at the end of `work`; or how it died, `_CANCELLED` if it was ended as
    `cancelled` held."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as asked,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as crash,
    ):
        json.dump({**work, "limit_s": HOOK_S, "wall_s": HOOK_S * PATIENCE}, asked)
        asked.flush()
        asked.seek(0)
        with _process(asked, output, crash) as (process, told):
            try:
                for line in _lines(process, told, cancelled):
                    if "over" in line or "wrong" in line:
                        _ended(process, _END_S)
                        return line, None
                    if "stuck" in line:
                        return {}, f"{line['stuck']} did not come back within {line['limit']}"
                    heard(line)
            except _ForeignError:
                return {}, "it writes to descriptors of its process that are not its own"
            if cancelled():
                return {}, _CANCELLED
            if not _ended(process, _END_S):
                return {}, "it closes descriptors of its process that are not its own"
            if _is_stopped(process):
                return {}, "its process was stopped, and nobody lets it go on"
        return {}, _death(process.returncode, _tail(crash), _tail(output))


class _ForeignError(Exception):
    """What came in is not of the child's."""


@contextlib.contextmanager
def _process(
    asked: IO[str], output: IO[str], crash: IO[str]
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The process, and where it tells how it goes; it ends with the context."""
    told, tells = os.pipe()
    descriptors = (asked.fileno(), tells, crash.fileno())
    root = Path(__file__).parent.parent.parent.parent
    words = [sys.executable, "-P", "-c", _CODE, str(root), *map(str, (os.getpid(), *descriptors))]
    try:
        # In a group of its own: Ctrl-C is for whoever watches it.
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=descriptors,
            process_group=0,
            # The order of sets is that of hashes.
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
    except BaseException:
        os.close(told)
        raise
    finally:
        os.close(tells)
    try:
        yield process, told
    finally:
        os.close(told)
        # With its group: a compiler that it has started, or another process of users' code. The
        # group has this number as long as nobody has waited for the process.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _lines(
    process: subprocess.Popen[bytes], told: int, cancelled: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """What comes in from `process`, until it closes its end, ends, stands still, or `cancelled`
    holds. Raises `_ForeignError` if it is none of what the child says."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(told, selectors.EVENT_READ)
        while not cancelled():
            # Whoever else has the pipe may keep it open: all that the process itself said is there
            # once it has ended.
            over = _ended(process, 0)
            if not selector.select(0 if over else _TICK_S):
                if over:
                    return
                continue
            chunk = os.read(told, 1 << 16)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from map(_said, lines)


_SAID = {"now_s", "stuck", "over", "wrong"}


def _said(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        raise _ForeignError from None
    if not isinstance(said, dict) or not _SAID & said.keys():
        raise _ForeignError
    return said


def _state(process: subprocess.Popen[bytes]) -> int | None:
    """How `process` ended or was stopped, as `CLD_` of `os`; None: it runs. It stays a zombie."""
    flags = os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT
    ended = os.waitid(os.P_PID, process.pid, flags)
    return ended.si_code if ended else None


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether `process` ends, or stands still, within so many seconds."""
    until = time.monotonic() + seconds
    while _state(process) is None:
        if time.monotonic() >= until:
            return False
        time.sleep(_TICK_S / 10)
    return True


def _is_stopped(process: subprocess.Popen[bytes]) -> bool:
    return _state(process) == os.CLD_STOPPED


def _tail(file: IO[str]) -> str:
    file.seek(0)
    return file.read()[-_TAIL:].strip()


_GUARDED = 86
"""How a process ends that its guard has ended (crates/module/src/guard.rs)."""

_NAMES_FILE = re.compile(r"\S+?\.(c|py|rs):")

_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')

_TIMEOUT = "Timeout ("
"""How a crash begins that is the end of the child's patience with an import."""


def _death(code: int, crash: str, output: str) -> str:
    """How to say that a process died: where it was, as far as that is known."""
    if code == _GUARDED and crash:
        return crash.splitlines()[-1]
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            why = f"ended by {name} ({signal.strsignal(-code)})"
            # The interpreter's own frames, and ours, are no place in users' files.
            frames = [f for f in _FRAME.findall(crash) if not Path(f[0]).is_absolute()]
            if frames and frames[0][0] != "<string>":
                file, line, hook = frames[0]
                return f"{file}:{line}: {hook}: {why}"
            memory = code == -signal.SIGKILL
            return f"its process was {why}{', as where memory runs out' if memory else ''}"
    if crash.startswith(_TIMEOUT):
        frames = [f for f in _FRAME.findall(crash) if not Path(f[0]).is_absolute()]
        place = f"{frames[0][0]}:{frames[0][1]}: " if frames and frames[0][0] != "<string>" else ""
        return f"{place}its import did not come back within {HOOK_S * PATIENCE:g} s"
    last = f": {output.splitlines()[-1]}" if output else ""
    return f"its process ended with exit code {code}{last}"
