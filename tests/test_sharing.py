"""What several processes of the tests share is made once, and gone once none needs it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# It makes a folder with its number in it, says what it found there, and waits to be let go.
USER = """
import os, sys
from pathlib import Path
from sharing import shared

def make(folder):
    (folder / "by").write_text(str(os.getpid()))

with shared(Path(sys.argv[1]), make) as folder:
    print((folder / "by").read_text(), flush=True)
    sys.stdin.read()
"""


def user(place: Path) -> subprocess.Popen[str]:
    """A process that needs what is shared at `place`."""
    return subprocess.Popen(
        [sys.executable, "-c", USER, place],
        cwd=ROOT / "tests",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str]) -> int:
    """Which process made what it has."""
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_it_is_made_once_and_the_last_removes_it(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with user(place) as first, user(place) as second:
        maker = told(first)
        assert told(second) == maker
        assert maker in (first.pid, second.pid)
        first.communicate()
        assert (place / "folder" / "by").exists()
        second.communicate()
        assert (first.returncode, second.returncode) == (0, 0)
    assert not (place / "folder").exists()


def test_who_was_killed_needs_it_no_more(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with user(place) as killed, user(place) as other:
        told(killed)
        told(other)
        killed.kill()
        killed.wait()
        other.communicate()
        assert other.returncode == 0
    assert not (place / "folder").exists()
    with user(place) as anew:
        assert told(anew) == anew.pid
        anew.communicate()
