"""What programs of a guest, and a guest's kernel that was taken over, can do to the host."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cclab.execute.backends import linux
from cclab.kernel import installed
from conftest import files_of
from guests import LINK, results_of
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parent
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

Outcomes = dict[str, dict[str, tuple[str, str]]]
"""By the kind of what was tried, and its name: "done" or an error's name, and what was told."""


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the host in a folder of its own."""
    file = tmp_path_factory.mktemp("victim") / "file"
    file.write_text(SECRET)
    return file


def attack(name: str, *arguments: object) -> list[str]:
    """The command of one of `attacks`."""
    return [sys.executable, "-m", f"attacks.{name}", *map(str, arguments)]


def assert_untouched(victim: Path, before: os.stat_result) -> None:
    """The victim, and its folder, are as they were."""
    assert victim.read_text() == SECRET
    after = victim.stat()
    for field in ("st_mode", "st_uid", "st_gid", "st_nlink", "st_mtime_ns", "st_ctime_ns"):
        assert getattr(after, field) == getattr(before, field), field
    assert [file.name for file in victim.parent.iterdir()] == [victim.name]


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """Where somebody listens on the host: a local socket, and a port of the loopback."""
    place = tmp_path_factory.mktemp("listening") / "socket"
    with socket.socket(socket.AF_UNIX) as local, socket.socket() as loopback:
        local.bind(str(place))
        loopback.bind(("127.0.0.1", 0))
        for listener in (local, loopback):
            listener.listen()
        yield place, loopback.getsockname()[1]


@pytest.fixture(scope="module")
def from_inside(
    kernel: None,
    victim: Path,
    listening: tuple[Path, int],
    tmp_path_factory: pytest.TempPathFactory,
) -> Outcomes:
    """What came of each try of a program in a guest."""
    before = victim.stat()
    words = ["env", f"PYTHONPATH={TESTS}", *attack("from_a_guest", victim, *listening)]
    results = results_of(
        tmp_path_factory.mktemp("break-out"),
        f"""
        duration = "2s"
        {LINK}
        [[flow]]
        name = "attack"
        command = {json.dumps(words)}
        """,
    )
    assert_untouched(victim, before)
    told: Outcomes = json.loads(results.runs[0].trace.text("attack.stdout"))
    return told


def others(outcomes: Outcomes, refusals: set[str]) -> dict[str, tuple[str, str]]:
    """Of what was tried, what was not refused in one of these ways."""
    return {name: came for name, came in outcomes["tries"].items() if came[0] not in refusals}


def test_a_program_cannot_change_the_host_or_the_run(from_inside: Outcomes) -> None:
    assert len(from_inside["tries"]) > 80
    left = others(from_inside, {"EPERM", "EACCES", "EROFS"})
    assert {name: came for name, (came, _) in left.items()} == OTHER_REFUSALS


def test_a_program_has_what_it_needs(from_inside: Outcomes) -> None:
    uses = from_inside["uses"]
    assert {name: told for name, (came, told) in uses.items() if came != "done"} == {}
    assert uses["read a file"][1] == repr(SECRET)


@pytest.fixture(scope="module")
def from_the_kernel(victim: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What came of each try of a guest's process on the host, as if its kernel were taken over."""
    before = victim.stat()
    folder, memory = (tmp_path_factory.mktemp(name) for name in ("records", "memory"))
    (folder / "link").symlink_to(victim.parent)
    with victim.open("r+b") as left_open:
        number = left_open.fileno()
        told = subprocess.run(
            [
                *(linux.agent(), "--tied-guest", str(os.getpid()), folder, memory, "-"),
                *attack("from_a_taken_kernel", victim, folder, memory, number),
            ],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            pass_fds=[number],
        )
    assert told.returncode == 0, told.stderr
    assert_untouched(victim, before)
    (folder / "link").unlink()
    assert files_of(folder) == {"mine/record": b"x"}
    assert files_of(memory) == {}
    outcomes: Outcomes = json.loads(told.stdout)
    return outcomes


def test_a_guest_that_was_taken_over_cannot_change_the_host(from_the_kernel: Outcomes) -> None:
    assert len(from_the_kernel["tries"]) > 50
    left = others(from_the_kernel, {"EPERM", "EACCES", "EXDEV"})
    assert {name: came for name, (came, _) in left.items()} == {
        "a file left open": "EBADF",
        "clone, the other call": "ENOSYS",
        "of the other form": "ENOSYS",
        "an image of its memory": "ValueError",
    }


def test_a_guest_has_what_it_needs(from_the_kernel: Outcomes) -> None:
    uses = from_the_kernel["uses"]
    assert {name: told for name, (came, told) in uses.items() if came != "done"} == {}


@pytest.mark.usefixtures("kernel")
def test_hostfs_changes_one_folder(victim: Path, tmp_path: Path) -> None:
    """The guest's root may be written to, its first process may do all, and nothing confines it."""
    made = installed()
    assert made is not None
    before = victim.stat()
    folder = tmp_path / "records"
    folder.mkdir()
    first = tmp_path / "first"
    first.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        f"sys.path.insert(0, {str(TESTS)!r})\n"
        "from attacks import from_hostfs\n"
        f"from_hostfs.main({str(victim)!r}, {str(folder)!r})\n"
    )
    first.chmod(0o700)
    subprocess.run(
        [
            *(made.path, "mem=256M", "time-travel=inf-cpu", "quiet", "panic=-1"),
            *("root=hostfs", "rootfstype=hostfs", "rootflags=/", "rw", f"init={first}"),
            *(f"uml_dir={tmp_path}", "con=null", "con0=fd:0,fd:1", f"hostfs_writes={folder}/"),
        ],
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=PATIENCE_S,
    )
    assert_untouched(victim, before)
    assert not Path(f"{folder}.new").exists()
    left = files_of(folder)
    outcomes: Outcomes = json.loads(left.pop("outcomes"))
    assert left == {"renamed": b"x", "through": b"x"}
    assert {name: came for name, (came, _) in others(outcomes, {"EROFS"}).items()} == {}
    assert {name for name, (came, _) in outcomes["uses"].items() if came != "done"} == set()
