"""What users' Python code does to its process: it ends its run with a message, or harms none."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.errors import InputError
from cclab.execute.backends import alone
from cclab.sweep import RunsFailedError
from test_python_variants import FIXED, traces, written

if TYPE_CHECKING:
    from cclab import Results

SOON_S = 60.0
"""Long before what users' code waits for, 600 s, would be over, on a busy machine, too."""


def ran(folder: Path, body: str, fixed: str = FIXED) -> Results:
    """The results of a class with `body` in its on_ack, which is called on line 10."""
    file = written(folder, "./fixed.py:Fixed", fixed=fixed.replace("BODY", body))
    return cclab.run(file, out=folder / "out")


def why(folder: Path, body: str) -> str:
    """Why that run fails."""
    with pytest.raises(RunsFailedError) as raised:
        ran(folder, body)
    ((_, reason),) = raised.value.failed
    return reason


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the class records where it does nothing beside."""
    return traces(ran(tmp_path_factory.mktemp("calm"), "pass"))


ONCE = "import os, sys, threading, time, subprocess\n        if ack.delivered == 50: "


@pytest.mark.parametrize(
    "body",
    [
        ONCE + "threading.Thread(target=time.sleep, args=(600,)).start()",
        ONCE + "threading.Thread(target=sys.exit).start()",
        ONCE + "os.fork()",
        ONCE + "os.fork() or time.sleep(600)",
        ONCE + "os.fork() or (os.setsid(), time.sleep(600))",
        ONCE + "subprocess.Popen(['sleep', '600'], close_fds=False)",
        ONCE + "print('{\"over\": null}', flush=True)",
        ONCE + "sys.stdout.close(); sys.stderr.close()",
        ONCE + "os.close(0)",
        ONCE + "os.chdir('/')",
        "import signal\n        signal.signal(signal.SIGALRM, signal.SIG_IGN)",
        "import atexit\n        atexit.register(print)",
    ],
)
def test_what_harms_nobody_changes_nothing(
    tmp_path: Path, calm: dict[str, bytes], body: str
) -> None:
    began = time.monotonic()
    results = ran(tmp_path, body)
    assert time.monotonic() - began < SOON_S
    assert traces(results) == calm
    assert not [one for one in results.warnings if one.code == "not-repeatable"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "import os\n        for fd in range(3, 40):\n"
            "            try: os.write(fd, b'noise\\n')\n            except OSError: pass",
            "fixed.py: it writes to descriptors of its process that are not its own",
        ),
        ("import os; os.closerange(3, 100)", "fixed.py"),
        ("import os; os._exit(0)", "fixed.py: its process ended with exit code 0"),
        ("import os; os.kill(os.getpid(), 15)", "fixed.py: its process was ended by SIGTERM"),
        (
            "import os; os.kill(os.getpid(), 9)",
            "fixed.py: its process was ended by SIGKILL (Killed), as where memory runs out",
        ),
        # The first that the system ends then.
        (
            "raise ValueError(open('/proc/self/oom_score_adj').read().strip())",
            "fixed.py:10:9: on_ack: ValueError: 1000",
        ),
        (
            "import os; os.kill(os.getpid(), 19)",
            "fixed.py: its process was stopped, and nobody lets it go on",
        ),
        ("import os; os.abort()", "fixed.py:10: on_ack: ended by SIGABRT"),
        ("raise KeyboardInterrupt", "fixed.py:10:9: on_ack: KeyboardInterrupt"),
        ("raise SystemExit('done')", "fixed.py:10:9: on_ack: SystemExit: done"),
        ("raise GeneratorExit", "fixed.py:10:9: on_ack: GeneratorExit"),
        ("input()", "fixed.py:10:9: on_ack: EOFError"),
        ("self.on_ack(ack)", "fixed.py:10:9: on_ack: RecursionError"),
        ("bytearray(1 << 60)", "fixed.py:10:9: on_ack: MemoryError"),
        (
            "import signal; signal.alarm(1)\n        while True: pass",
            "fixed.py: its process was ended by SIGALRM",
        ),
    ],
)
def test_what_ends_a_process_ends_its_run_with_one_message(
    tmp_path: Path, body: str, told: str
) -> None:
    began = time.monotonic()
    reason = why(tmp_path, body)
    assert reason.startswith(told)
    assert "\n" not in reason
    assert time.monotonic() - began < SOON_S


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import os; os._exit(0)", "fixed.py: its process ended with exit code 0"),
        ("raise KeyboardInterrupt", "fixed.py:1:1: import Fixed: KeyboardInterrupt"),
        ("import sys; sys.exit(3)", "fixed.py:1:13: import Fixed: SystemExit: 3"),
        ("import os; os.kill(os.getpid(), 19)", "fixed.py: its process was stopped"),
        (
            "import os\nfor fd in range(3, 40):\n    try: os.write(fd, b'x\\n')\n"
            "    except OSError: pass",
            "fixed.py: it writes to descriptors of its process that are not its own",
        ),
    ],
)
def test_an_import_that_ends_its_process_is_refused_with_one_message(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(InputError) as raised:
        ran(tmp_path, "", f"{text}\nclass Fixed:\n    def on_ack(self, ack): pass\n")
    assert str(raised.value).startswith(told)


def test_a_fork_in_an_import_is_no_second_run(tmp_path: Path, calm: dict[str, bytes]) -> None:
    fixed = "import os; os.fork()\n" + FIXED.replace("BODY", "pass")
    assert traces(ran(tmp_path, "", fixed)) == calm


def test_who_sleeps_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "HOOK_S", 3.0)
    monkeypatch.setattr(alone, "PATIENCE", 2)
    waiting = "import threading; one = threading.Lock(); one.acquire(); one.acquire()"
    # No line of Python comes to its turn: the C library waits for ever.
    stuck = "import ctypes, signal\n        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 60))"
    stuck += "\n        ctypes.PyDLL(None).pause()"
    began = time.monotonic()
    # All at once: none of them needs a processor.
    with ThreadPoolExecutor(4) as pool:
        asleep = "import time; time.sleep(600)"
        imported = pool.submit(ran, tmp_path / "d", "", f"{asleep}\nclass Fixed: pass")
        slept, waited, hung = pool.map(
            why, [tmp_path / name for name in "abc"], [asleep, waiting, stuck]
        )
        with pytest.raises(InputError, match=r"^fixed.py:1:14: import Fixed: did not come back"):
            imported.result()
    assert time.monotonic() - began < SOON_S
    assert slept == "fixed.py:10:22: on_ack: did not come back within 6 s"
    assert waited.endswith(": on_ack: did not come back within 6 s")
    assert hung == "fixed.py: on_ack did not come back within 6 s"


def test_what_a_class_started_ends_with_its_run(tmp_path: Path) -> None:
    body = f"""import pathlib, subprocess
        if ack.delivered == 50:
            one = subprocess.Popen(['sleep', '600'])
            pathlib.Path({str(tmp_path)!r}, str(one.pid)).touch()"""
    ran(tmp_path / "run", body)
    pids = [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]
    assert pids
    assert [pid for pid in pids if runs(pid)] == []


def runs(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(") ")[2][0] not in "ZX"
