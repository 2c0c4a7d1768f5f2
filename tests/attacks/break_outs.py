"""What programs of a guest, and a guest's kernel that was taken over, try on the host."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from attacks.kind import Kind, Missed, Through
from cclab.execute.backends import linux
from cclab.kernel import installed, not_built
from conftest import files_of
from guests import LINK, results_of
from waiting import PATIENCE_S, await_that

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from attacks.kind import Strike

TESTS = Path(__file__).resolve().parent.parent
SECRET = "what stands here stays here\n"

NOT_THERE = {
    "ENOENT": ("core_pattern", "modprobe", "ptrace of everybody", "memory"),
    "ENOSYS": (
        *("ports", "iopl", "a module", "a module's file", "another kernel"),
        *("events of the processor", "swap", "open by handle"),
    ),
}
"""Of tries from inside, those at what a guest's kernel has not."""

OTHER_REFUSALS = {
    **{name: error for error, names in NOT_THERE.items() for name in names},
    "remount by the program": "exit 32",
    "a discipline of its own": "exit 2",
    "an address": "exit 2",
    "a large file": "EFBIG",
    "its bound on files": "ValueError",
    "more open files": "ValueError",
    "the host's loopback": "ECONNREFUSED",
    "a local socket of the host": "ECONNREFUSED",
}
"""Of tries from inside that are not refused by EPERM, EACCES or EROFS, what they came to."""

Outcomes: TypeAlias = dict[str, dict[str, tuple[str, str]]]
"""By the kind of what was tried, and its name: "done" or an error's name, and what was told."""

FROM_A_TAKEN_KERNEL = {
    "a file left open": "EBADF",
    "clone, the other call": "ENOSYS",
    "of the other form": "ENOSYS",
    "an image of its memory": "ValueError",
    # What its list of calls refuses it: a right that it has not either would hide a missing line.
    **dict.fromkeys(
        (
            *("internet", "internet 6", "local", "packets", "netlink", "vsock"),
            *("io_uring", "bpf", "perf", "userfaultfd", "keys", "open by handle"),
            *("mount", "unmount", "open a mount", "make a mount", "pivot_root", "chroot"),
            *("unshare users", "unshare mounts", "clone"),
            *("a module", "another kernel", "restart"),
        ),
        "EACCES",
    ),
}
"""Of tries on the host by a guest's process that was taken over, the same."""


@dataclass(frozen=True)
class Scene:
    """Where some tries are made, and how those are refused that are."""

    outcomes: Outcomes
    refusals: frozenset[str]
    others: dict[str, str]
    """By name, what is refused in another way."""
    not_there: frozenset[str] = frozenset()
    """Errors of what is not there, or no call of this kernel: such a try proves nothing."""

    def proves_nothing(self) -> list[str]:
        """The tries at what is not there, as was known."""
        judged = self._judged()
        tries = self.outcomes["tries"].items()
        return [name for name, (came, _) in tries if came in self.not_there and not judged[name]]

    def judged(self) -> dict[str, str | None]:
        """Of each try that proves something, and each use, what is wrong about what came of it."""
        nothing = {*self.proves_nothing()}
        return {name: why for name, why in self._judged().items() if name not in nothing}

    def _judged(self) -> dict[str, str | None]:
        judged: dict[str, str | None] = {
            name: f"{name}: not tried"
            for name in self.others.keys() - self.outcomes["tries"].keys()
        }
        for name, (came, told) in self.outcomes["tries"].items():
            wanted = [self.others[name]] if name in self.others else sorted(self.refusals)
            right = came in wanted
            judged[name] = None if right else f"{name}: {came} ({told}), not {' or '.join(wanted)}"
        for name, (came, told) in self.outcomes["uses"].items():
            judged[f"use: {name}"] = None if came == "done" else f"{name}: {came} ({told})"
        return judged


def victim_in(folder: Path) -> Path:
    """A file of the host in a folder of its own."""
    file = folder / "victim" / "file"
    file.parent.mkdir(parents=True)
    file.write_text(SECRET)
    return file


def inside(name: str, *arguments: object) -> list[str]:
    """The command of one of `attacks.inside`."""
    return [sys.executable, "-m", f"attacks.inside.{name}", *map(str, arguments)]


@contextlib.contextmanager
def untouched(victim: Path) -> Iterator[None]:
    """The victim, and its folder, are afterwards as they were."""
    before = victim.stat()
    yield
    assert victim.read_text() == SECRET
    after = victim.stat()
    for field in ("st_mode", "st_uid", "st_gid", "st_nlink", "st_mtime_ns", "st_ctime_ns"):
        assert getattr(after, field) == getattr(before, field), field
    assert [file.name for file in victim.parent.iterdir()] == [victim.name]


@contextlib.contextmanager
def _listening(place: Path) -> Iterator[int]:
    """Somebody listens on the host at the local socket `place`, and at a port of the loopback."""
    with socket.socket(socket.AF_UNIX) as local, socket.socket() as loopback:
        # The address of a socket is short, and the path of a bench is not.
        with contextlib.chdir(place.parent):
            local.bind(place.name)
        loopback.bind(("127.0.0.1", 0))
        for listener in (local, loopback):
            listener.listen()
        yield loopback.getsockname()[1]


def from_inside(folder: Path) -> Scene:
    """What came of each try of a program in a guest."""
    victim = victim_in(folder)
    place = folder / "socket"
    with untouched(victim), _listening(place) as port:
        tries = inside("from_a_guest", victim, place, port)
        results = results_of(
            folder / "study",
            f"""
            duration = "2s"
            {LINK}
            [[flow]]
            name = "attack"
            command = {json.dumps(["env", f"PYTHONPATH={TESTS}", *tries])}
            """,
        )
    outcomes: Outcomes = json.loads(results.runs[0].trace.text("attack.stdout"))
    refusals = frozenset({"EPERM", "EACCES", "EROFS"})
    return Scene(outcomes, refusals, OTHER_REFUSALS, frozenset(NOT_THERE))


def from_the_kernel(place: Path) -> Scene:
    """What came of each try of a guest's process on the host, as if its kernel were taken over."""
    victim = victim_in(place)
    folder, memory = place / "records", place / "memory"
    folder.mkdir()
    memory.mkdir()
    (folder / "link").symlink_to(victim.parent)
    with untouched(victim), victim.open("r+b") as left_open:
        number = left_open.fileno()
        told = subprocess.run(
            [
                *taken_kernel(folder, memory, os.getpid()),
                *inside("from_a_taken_kernel", victim, folder, memory, number),
            ],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            pass_fds=[number],
        )
    assert told.returncode == 0, told.stderr
    (folder / "link").unlink()
    assert files_of(folder) == {"mine/record": b"x"}
    assert files_of(memory) == {}
    came = json.loads(told.stdout)
    await_that(lambda: has_ended(came["left"]), "the end of what a guest left behind")
    outcomes: Outcomes = came["outcomes"]
    calls = outcomes.pop("calls")
    outcomes["tries"] |= calls
    others = dict.fromkeys(calls, "EACCES") | FROM_A_TAKEN_KERNEL
    return Scene(outcomes, frozenset({"EPERM", "EACCES", "EXDEV"}), others)


def taken_kernel(folder: Path, memory: Path, parent: int | str) -> list[str]:
    """How a guest's kernel is started by the process `parent`; its command follows."""
    return [str(linux.agent()), "--tied-guest", str(parent), str(folder), str(memory), "-"]


def has_ended(process: int) -> bool:
    """Whether the process runs no more, though nobody may have asked how it ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return "State:\tZ" in status


def from_hostfs(place: Path) -> Scene:
    """The guest's root may be written to, its first process may do all, and nothing confines it."""
    made = installed()
    assert made is not None, not_built(None)
    victim = victim_in(place)
    folder, first = place / "records", place / "first"
    folder.mkdir()
    first.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        f"sys.path.insert(0, {str(TESTS)!r})\n"
        "from attacks.inside import from_hostfs\n"
        f"from_hostfs.main({str(victim)!r}, {str(folder)!r})\n"
    )
    first.chmod(0o700)
    with untouched(victim):
        subprocess.run(
            [
                *(made.path, "mem=256M", "time-travel=inf-cpu", "quiet", "panic=-1"),
                *("root=hostfs", "rootfstype=hostfs", "rootflags=/", "rw", f"init={first}"),
                *(f"uml_dir={place}", "con=null", "con0=fd:0,fd:1", f"hostfs_writes={folder}/"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
            timeout=PATIENCE_S,
        )
    assert not Path(f"{folder}.new").exists()
    left = files_of(folder)
    outcomes: Outcomes = json.loads(left.pop("outcomes"))
    assert left == {"renamed": b"x", "through": b"x"}
    return Scene(outcomes, frozenset({"EROFS"}), {})


SCENES = {
    "a guest's program": (from_inside, 80),
    "a guest's process that was taken over": (from_the_kernel, 95),
    "hostfs": (from_hostfs, 20),
}
"""Each with how many tries it has at least that prove something."""


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    """All of them are made at once; a try asks what came of one."""
    judged: list[tuple[str, str | None]] = []
    nothing: list[str] = []
    for name, (scene, least) in SCENES.items():
        folder = place / scene.__name__
        folder.mkdir()
        came = scene(folder)
        told = came.judged()
        assert len(told) > least, f"{name}: {len(told)} tries"
        judged += [(f"{name}: {tried}", why) for tried, why in told.items()]
        nothing += [f"{name}: {tried}" for tried in came.proves_nothing()]

    def strike(number: int, chance: random.Random) -> str | None:
        if number >= len(judged) + len(nothing):
            raise Through
        if number >= len(judged):
            raise Missed(f"{nothing[number - len(judged)]}: it is not there")
        name, why = judged[number]
        return why and f"{name}: {why}"

    yield strike


BREAK_OUTS = Kind(
    "a guest, and its kernel that was taken over, try to change the host",
    _bench,
    short=None,
    kernel=True,
)
