"""File systems of a try's own: what is mounted ends with the command, in a namespace of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PRIVATE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
"""In a namespace of its own: file systems mounted there end with the command."""

CCLAB = [sys.executable, "-m", "cclab"]

_SCRIPT = """\
mount -t tmpfs -o size="$1" tmpfs "$2" || exit 99
copies="$3"
place="$2"
shift 3
if [ -d "$place.whole" ]; then cp -a "$place.whole/." "$place" || exit 99; fi
"$@" >"$copies/first.out" 2>"$copies/first.err"
echo $? >"$copies/first.code"
cp -a "$place" "$copies/first" || exit 99
if [ "$(grep -cF " $place " /proc/self/mountinfo)" -gt 1 ]; then umount "$place" || exit 99; fi
mount -o remount,size=500M "$place" || mount -t tmpfs -o size=500M tmpfs "$place" || exit 99
sh "$copies/again" >"$copies/then.out" 2>"$copies/then.err"
echo $? >"$copies/then.code"
cp -a "$place" "$copies/then" || exit 99
"""


@dataclass(frozen=True)
class Turn:
    """What a command came to, and a copy of what the file system held then."""

    code: int
    out: str
    err: str
    left: Path


def turns(
    kib: int, place: Path, copies: Path, first: Sequence[str], then: Sequence[str]
) -> tuple[Turn, Turn]:
    """Has `first` work in a file system of so many KiB at `place`, and `then`, with room, after it.

    The file system holds what the folder `place`.whole has, if there is one. The copies are made in
    the empty folder `copies`.
    """
    (copies / "again").write_text(shlex.join(then) + "\n")
    place.mkdir(exist_ok=True)
    done = subprocess.run(
        [*PRIVATE, "sh", "-c", _SCRIPT, "sh", f"{kib}k", str(place), str(copies), *first],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, f"no file system of its own: {done.stderr}"
    made = [
        Turn(
            int((copies / f"{name}.code").read_text()),
            (copies / f"{name}.out").read_text(errors="backslashreplace"),
            (copies / f"{name}.err").read_text(errors="backslashreplace"),
            copies / name,
        )
        for name in ("first", "then")
    ]
    return made[0], made[1]
