"""Whatever goes wrong with a guest: one clear message, nothing left behind, the sweep goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab.kernel
from cclab.cli.exits import DONE, INTERRUPTED, RUN_FAILED, WRONG_INPUT
from guests import assert_nothing_is_left, guest_of, processes_in, records_of_runs, start
from waiting import PATIENCE_S, await_that

if TYPE_CHECKING:
    from conftest import Cli

pytestmark = pytest.mark.usefixtures("kernel")

NETWORK = """\
backend  = "linux"
duration = "2s"

[network.bottleneck]
rate  = "10Mbit"
delay = "5ms"
queue = { limit = "100p" }
"""

FLOW = """
[[flow]]
name = "one"
"""

LONG = ["--set", "duration=600s", "--set", "network.bottleneck.rate=200Mbit"]
"""A run that takes longer than a test waits for it."""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A results folder that is not there yet."""
    return tmp_path / "out"


def written(folder: Path, flow: str = FLOW, network: str = NETWORK) -> Path:
    """The study file of `network` with `flow`."""
    file = folder / "study.toml"
    file.write_text(network + flow)
    return file


def command(*words: str) -> str:
    """A flow that is a program."""
    return f"{FLOW}command = {list(words)!r}\n"


def unlearned_cache(folder: Path) -> Path:
    """A cache that has the kernels, and none of what runs were learned to cost."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    kernels = (Path(base) if base else Path.home() / ".cache") / "cclab" / "kernel"
    cache = folder / "cache"
    (cache / "cclab").mkdir(parents=True)
    (cache / "cclab" / "kernel").symlink_to(kernels)
    return cache


def failed(told: subprocess.CompletedProcess[str], code: int = RUN_FAILED) -> str:
    """The message of a command that ended with `code`, without a traceback."""
    assert told.returncode == code, told.stderr
    assert told.stdout == ""
    assert "Traceback" not in told.stderr
    assert "error: " in told.stderr
    return told.stderr


def test_a_guest_that_is_killed_is_told_and_the_sweep_goes_on(
    cli: Cli, tmp_path: Path, out: Path
) -> None:
    sweep = '[sweep]\nduration = ["600s", "1s"]\n'
    study = written(tmp_path, FLOW + sweep)
    run = ["run", study, "--out", out, "--jobs", "1"]
    # The long one is begun with: nothing that other tests took has taught otherwise.
    unlearned = str(unlearned_cache(tmp_path))
    rate = ["--set", "network.bottleneck.rate=200Mbit"]
    child = start(*run, *rate, cwd=tmp_path, XDG_CACHE_HOME=unlearned)
    os.kill(guest_of(out), signal.SIGKILL)
    told, complaint = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == RUN_FAILED, complaint
    assert [line.split()[0] for line in told.splitlines()[4:5]] == ["1s"]
    assert "1 run of 2 failed; the others are done" in complaint
    assert "--only " in complaint
    assert "Traceback" not in complaint
    assert "the guest of kernel 6.12 ended with signal: 9 (SIGKILL) at " in complaint
    assert "its last lines:" in complaint
    assert_nothing_is_left(out)
    # The same sweep, its long run made a short one.
    file = study.read_text().replace("600s", "1500ms")
    study.write_text(file)
    resumed = cli(*run, "--set", "network.bottleneck.rate=200Mbit")
    assert resumed.returncode == DONE, resumed.stderr
    assert "1 of 2 runs are in" in resumed.stderr
    assert_nothing_is_left(out)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_guest_outlives_its_parent(
    cli: Cli, tmp_path: Path, out: Path, how: signal.Signals
) -> None:
    run = ["run", written(tmp_path), "--out", out, "--repeat", "2", "--jobs", "2"]
    child = start(*run, *LONG, cwd=tmp_path)
    guest_of(out)
    await_that(lambda: len(records_of_runs(out)) == 2, "the second guest")
    assert len(processes_in(out)) >= 2
    child.send_signal(how)
    told, complaint = child.communicate(timeout=PATIENCE_S)
    if how == signal.SIGINT:
        assert child.returncode == INTERRUPTED
        assert "interrupted" in complaint
        assert "Traceback" not in complaint
    else:
        assert child.returncode == -how
    assert told == ""
    await_that(lambda: not processes_in(out), "the end of the guests")
    resumed = cli(*run)
    assert resumed.returncode == DONE, resumed.stderr
    assert_nothing_is_left(out)


def processors_of(process: int) -> str:
    """Where a process may run, as the kernel lists it."""
    status = Path(f"/proc/{process}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("Cpus_allowed_list:")]
    return line.split()[1]


def test_a_guest_and_what_it_runs_have_one_processor(tmp_path: Path, out: Path) -> None:
    child = start("run", written(tmp_path), "--out", out, *LONG, cwd=tmp_path)
    found = {processors_of(process) for process in [guest_of(out), *processes_in(out)]}
    # The processes of one guest, all on one.
    (only,) = found
    assert int(only) in os.sched_getaffinity(0)
    # The process that waits for it, but for the thread that does, is where it was.
    assert processors_of(child.pid) == processors_of(os.getpid())
    child.kill()
    child.communicate(timeout=PATIENCE_S)
    await_that(lambda: not processes_in(out), "the end of the guest")


def test_a_guest_is_within_the_processors_that_cclab_may_use(tmp_path: Path, out: Path) -> None:
    allowed = max(os.sched_getaffinity(0))
    run = ["run", written(tmp_path), "--out", out, "--repeat", "2", "--jobs", "2", *LONG]
    child = subprocess.Popen(
        ["taskset", "-c", str(allowed), sys.executable, "-m", "cclab", *map(str, run)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    guest_of(out)
    await_that(lambda: len(records_of_runs(out)) == 2, "the second guest")
    assert {processors_of(process) for process in processes_in(out)} == {str(allowed)}
    child.kill()
    child.wait(PATIENCE_S)
    await_that(lambda: not processes_in(out), "the end of the guests")


def test_a_full_disk_is_told_and_the_sweep_goes_on(cli: Cli, tmp_path: Path, out: Path) -> None:
    """The results folder is a file system of 1 MiB in a mount namespace of its own."""
    study = written(tmp_path)
    out.mkdir()
    full = ["--set", 'trace.capture=["bottleneck"]', "--set", "duration=20s"]
    inside = (
        f"mount -t tmpfs -o size=1M tmpfs {out} || exit 99\n"
        f'"$@" --set \'trace.capture=["bottleneck"]\' --set duration=20s; code=$?\n'
        f"find {out}/tmp {out}/runs -mindepth 1 >&2\n"
        "exit $code\n"
    )
    private = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    run = [sys.executable, "-m", "cclab", "run", str(study), "--out", str(out)]
    done = subprocess.run(
        [*private, "sh", "-c", inside, "sh", *run],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    complaint = failed(done)
    assert "No space left on device" in complaint
    # What is left of the folder's content, which no longer exists.
    assert [line for line in complaint.splitlines() if line.startswith(str(out))] == [
        f"{out}/tmp/lock"
    ]
    assert cli("run", study, "--out", out, *full).returncode == DONE
    assert_nothing_is_left(out)


NO_PTRACE = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
# Loads the number of the system call; if it is ptrace (101), says EPERM, else allows it.
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(filters))
assert libc.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
assert libc.prctl(22, 2, program) == 0  # seccomp, filter
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_where_ptrace_is_refused_the_remedy_is_told(tmp_path: Path, out: Path) -> None:
    study = written(tmp_path)
    run = [sys.executable, "-m", "cclab", "run", str(study), "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", NO_PTRACE, *run],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    complaint = failed(done, WRONG_INPUT)
    assert "ptrace" in complaint
    assert "seccomp" in complaint
    assert "--cap-add SYS_PTRACE" in complaint
    assert not list(out.glob("runs/*"))


def test_without_a_kernel_the_command_that_makes_it_is_told(
    cli: Cli, tmp_path: Path, out: Path
) -> None:
    run = ["run", written(tmp_path), "--out", out]
    cache = tmp_path / "empty"
    cache.mkdir()
    told = cli(*run, XDG_CACHE_HOME=str(cache), CCLAB_KERNEL="")
    assert "the kernel 6.12 is not built" in failed(told, WRONG_INPUT)
    assert "cclab kernel build" in told.stderr
    told = cli(*run, CCLAB_KERNEL=str(tmp_path / "none"))
    assert "none: no such file" in failed(told, WRONG_INPUT)
    told = cli(*run, CCLAB_KERNEL="/bin/sh")
    assert "is not a User Mode Linux kernel" in failed(told, WRONG_INPUT)
    assert not list(out.glob("runs/*"))


FORKS = """
import ctypes, os, sys
import cclab
forks = []
prepare = ctypes.CFUNCTYPE(None)(lambda: forks.append(1))
assert ctypes.CDLL(None).__register_atfork(prepare, None, None, None) == 0
cclab.run(sys.argv[1], out=sys.argv[2])
told = len(forks)
if os.fork() == 0:
    os._exit(0)
os.wait()
print(told, len(forks))
"""


def test_no_librarys_fork_handlers_run_when_a_guest_starts(tmp_path: Path, out: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(written(tmp_path)), str(out)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    # The handler is there: a fork runs it.
    assert done.stdout.split() == ["0", "1"]


def test_a_program_that_never_sleeps_is_told_as_such(cli: Cli, tmp_path: Path, out: Path) -> None:
    study = written(tmp_path, command("sh", "-c", "while :; do :; done"))
    told = failed(cli("run", study, "--out", out, CCLAB_STALL_S="3"))
    assert "the guest of kernel 6.12 stopped moving: its time stood at 0" in told
    assert "for 3s of real time" in told
    assert "polls without sleeping" in told
    assert_nothing_is_left(out)


def memory_of(folder: Path, *words: object) -> tuple[subprocess.CompletedProcess[str], int]:
    """cclab with `words`, and the most memory that it or a child of it had, in KiB."""
    # A process begins with the largest memory of the one that started it: a small one does.
    watched = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'cclab', *sys.argv[1:]])\n"
        "_, status, used = os.wait4(child.pid, 0)\n"
        "open('memory', 'w').write(str(used.ru_maxrss))\n"
        "sys.exit(os.waitstatus_to_exitcode(status))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", watched, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    return done, int((folder / "memory").read_text())


def test_a_program_that_sends_without_end_is_told_as_such(tmp_path: Path, out: Path) -> None:
    """What it sends is not kept until memory is full: gigabytes were."""
    flood = (
        "import socket; to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        'to.connect(("{dst}", 9)); any(to.send(b"x" * 8800) < 0 for _ in iter(int, 1))'
    )
    large = command("python3", "-c", flood) + 'mss = "8900B"\n'
    done, used = memory_of(tmp_path, "run", written(tmp_path, large), "--out", out)
    told = failed(done)
    assert "the guest of kernel" in told
    assert "sent packets without end at" in told
    assert "sends without sleeping" in told
    assert used < 700 << 10
    assert_nothing_is_left(out)


def test_what_a_program_sends_ahead_of_the_network_has_a_bound(tmp_path: Path, out: Path) -> None:
    """It reads the clock, so that time passes: all that it sent within a window was kept."""
    flood = (
        "import socket, time; to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        'to.connect(("{dst}", 9)); '
        'any(to.send(b"x" * 8800) < 0 or time.time() < 0 for _ in iter(int, 1))'
    )
    ahead = NETWORK.replace('"5ms"', '"200ms"').replace('duration = "2s"', 'duration = "30ms"')
    large = command("python3", "-c", flood) + 'mss = "8900B"\nstart = "0s"\n'
    done, used = memory_of(tmp_path, "run", written(tmp_path, large, ahead), "--out", out)
    assert done.returncode == DONE, done.stderr
    assert used < 700 << 10


def test_a_run_has_its_limit_of_real_time(cli: Cli, tmp_path: Path, out: Path) -> None:
    told = failed(cli("run", written(tmp_path), "--out", out, *LONG, CCLAB_LIMIT_S="1.5"))
    assert "after 1.5s of real time, the limit (CCLAB_LIMIT_S)" in told
    assert_nothing_is_left(out)
    wrong = cli("run", written(tmp_path), "--out", out, CCLAB_LIMIT_S="-1")
    assert "CCLAB_LIMIT_S=-1: not a number of seconds above 0" in failed(wrong, WRONG_INPUT)


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        pytest.param(
            command("sh", "-c", "echo heard; echo not so >&2; exit 7"),
            ["program of flow one", "exit status: 7", "heard", "not so"],
            id="a program that fails",
        ),
        pytest.param(
            command("no-such-program"),
            ["program of flow one", "cannot run no-such-program", "No such file"],
            id="a program that does not exist",
        ),
        pytest.param(
            FLOW + 'sysctl = { "net.ipv4.tcp_no_such_thing" = 1 }\n',
            ["net.ipv4.tcp_no_such_thing", "No such file"],
            id="a setting that does not exist",
        ),
        pytest.param(
            FLOW + 'sysctl = { "net.ipv4.tcp_sack" = "perhaps" }\n',
            ["net.ipv4.tcp_sack", "perhaps", "Invalid argument"],
            id="a value that the kernel does not take",
        ),
    ],
)
def test_a_step_that_fails_ends_the_run_in_its_own_words(
    cli: Cli, tmp_path: Path, out: Path, flow: str, words: list[str]
) -> None:
    told = failed(cli("run", written(tmp_path, flow), "--out", out))
    for word in words:
        assert word in told
    assert_nothing_is_left(out)


def test_what_tc_refuses_is_told_in_its_words(cli: Cli, tmp_path: Path, out: Path) -> None:
    queue = 'network.bottleneck.queue={ kind = "sfq", limit = "100p", divisor = 1000 }'
    told = failed(
        cli("run", written(tmp_path), "--out", out, "--set", queue, "--set", "network.by=kernel")
    )
    assert "queueing disciplines of r1: tc failed at `tc qdisc add dev next" in told
    assert "divisor" in told
    assert_nothing_is_left(out)


def test_any_user_can_run_it(tmp_path: Path, out: Path) -> None:
    """A user without a home, privileges or a place to write but the results folder.

    Root becomes such a user in a user namespace; another user is one already.
    """
    found = cclab.kernel.installed()
    assert found is not None
    kernel = tmp_path / "linux"
    shutil.copy(found.path, kernel)
    study = written(tmp_path)
    become = ["unshare", "--user", "--map-user=1234"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*become, sys.executable, "-m", "cclab", "run", str(study), "--out", str(out)],
        cwd="/",
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "CCLAB_KERNEL": str(kernel)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == DONE, done.stderr
    assert_nothing_is_left(out)
