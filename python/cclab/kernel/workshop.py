"""Where a kernel is made: a temporary folder in the cache, one build at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, Self

from cclab.kernel import programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

WAITING = "waiting for another build to end"
"""The stage before a build has the cache for itself."""

_TICK_S = 0.2
"""How often one looks at a program that says nothing."""
_ENDS_WITHIN_S = 5.0
"""How long programs that are told to end may take."""


@dataclass(frozen=True)
class State:
    """How far a build is."""

    stage: str
    """What it does now, such as `compiling`."""
    fraction: float | None
    """Done part of the stage, from 0 to 1; None where it is not known."""
    detail: str
    """That part in words, such as `120/826 files`; may be empty."""
    elapsed_s: float
    """Real seconds since the start."""

    @property
    def works(self) -> bool:
        """Whether something is made, and not waited for."""
        return self.stage != WAITING


class Listener(Protocol):
    """Hears how a build goes on."""

    def __call__(self, state: State, /) -> None:
        """Called several times a second, and at the start of every stage."""


class StepError(Exception):
    """A program of the build failed; the last lines of what it said are in the log."""

    def __init__(self, output: list[str]) -> None:
        """The lines that the failed step printed."""
        super().__init__("\n".join(output))
        self.output = output


class Workshop:
    """A folder `CACHE/tmp/UNIQUE` for one build, under the cache's lock.

    The programs of the build hold the lock as well. When the build is killed they end at their
    next line of output, which nobody reads, and only then is the folder swept.
    """

    def __init__(self, cache: Path, listener: Listener | None) -> None:
        """A workshop in `cache`, not yet open."""
        self._cache = cache
        self._listener = listener
        self._began = time.monotonic()
        self._stage = ""
        self._held = contextlib.ExitStack()
        self._lock = -1
        self._log: IO[str] | None = None
        self._path: Path | None = None

    def __enter__(self) -> Self:
        """Waits for other builds and sweeps what dead ones left. Raises `OSError`."""
        with contextlib.ExitStack() as held:
            tmp = self._cache / "tmp"
            tmp.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._lock = os.open(self._cache / "lock", flags, 0o644)
            held.callback(os.close, self._lock)
            self._take_lock()
            for left in tmp.iterdir():
                shutil.rmtree(left, ignore_errors=True)
            self._path = Path(tempfile.mkdtemp(prefix="build-", dir=tmp))
            held.callback(shutil.rmtree, self._path, ignore_errors=True)
            self._log = held.enter_context(self.log.open("w", encoding="utf-8"))
            self._held = held.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Removes the folder and lets the next build go on."""
        self._held.close()

    @property
    def path(self) -> Path:
        """The folder."""
        assert self._path is not None, "the workshop is used outside its context"
        return self._path

    @property
    def log(self) -> Path:
        """What all programs said so far."""
        return self.path / "log"

    def begin(self, stage: str, detail: str = "") -> None:
        """A new stage begins; `detail` is what there is to say of it."""
        self._stage = stage
        self.tell(None, detail)

    def tell(self, fraction: float | None, detail: str = "") -> None:
        """The stage is done by `fraction`; `detail` says it in words."""
        if self._listener is not None:
            elapsed = time.monotonic() - self._began
            self._listener(State(self._stage, fraction, detail, elapsed))

    def run(
        self, command: Sequence[str | Path], *, each: Callable[[str], None] | None = None
    ) -> None:
        """Runs `command` in the folder to its end; `each` gets its lines as they come.

        Raises `StepError` if it fails.
        """
        with self._started(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as program:
            output = []
            assert program.stdout is not None
            for raw in program.stdout:
                line = raw.decode(errors="replace").rstrip("\n")
                output.append(line)
                self._write(line)
                if each is not None:
                    each(line)
            if program.wait() != 0:
                raise StepError(output)

    def pipe(
        self,
        first: Sequence[str | Path],
        second: Sequence[str | Path],
        source: IO[bytes],
        each: Callable[[], None],
    ) -> None:
        """Runs `first < source | second`; `each` is called now and then.

        Raises `StepError` if one of the two fails.
        """
        with (
            # In memory: a full disk, too, has to be told of.
            os.fdopen(os.memfd_create("said"), "w+b") as errors,
            self._started(first, stdin=source, stdout=subprocess.PIPE, stderr=errors) as reader,
            self._started(second, stdin=reader.stdout, stdout=errors, stderr=errors) as writer,
        ):
            assert reader.stdout is not None
            reader.stdout.close()
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    writer.wait(_TICK_S)
                    break
                each()
            # A writer that has what it wants need not hear the reader out.
            failed = writer.returncode != 0 or reader.wait() not in (0, -signal.SIGPIPE)
            errors.seek(0)
            output = errors.read().decode(errors="replace").splitlines()
        if failed:
            for line in output:
                self._write(line)
            raise StepError(output)

    @contextlib.contextmanager
    def _started(
        self,
        command: Sequence[str | Path],
        *,
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A program in a process group of its own, which does not outlive the context."""
        self._write(f"$ {' '.join(map(str, command))}")
        program = subprocess.Popen(
            command,
            cwd=self.path,
            env=programs.environment(),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=(self._lock,),
        )
        try:
            yield program
        finally:
            if program.poll() is None:
                _end(program)
            if program.stdout is not None:
                program.stdout.close()

    def _write(self, line: str) -> None:
        assert self._log is not None
        self._log.write(line + "\n")
        self._log.flush()

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.begin(WAITING)
            fcntl.flock(self._lock, fcntl.LOCK_EX)


def _end(program: subprocess.Popen[bytes]) -> None:
    """Ends a program and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(_ENDS_WITHIN_S)
            return
