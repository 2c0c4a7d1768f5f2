"""A results folder that goes away at some step of a run, or can no longer be written."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.disks import CCLAB, turns
from attacks.inside.trying import call
from attacks.kind import Kind
from attacks.saying import Said
from attacks.stepping import stepping, steps_of
from attacks.writing import STUDY
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from conftest import kept

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from attacks.kind import Strike

MNT_DETACH = 2
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096

GONE = {"removed": "out", "its runs are removed": "out/runs", "its tmp is removed": "out/tmp"}
"""What is removed, by what it is called."""

WAYS = (*GONE, "read only", "detached")


def befalling(way: str, disk: str, last: int) -> Callable[[int], None]:
    """Does it at step `last` to the results folder `out` on the file system `disk`."""

    def befall(number: int) -> None:
        if number > last:
            return
        if way == "read only":
            # Over itself: what is open to be written keeps a file system from being made so.
            call("mount", disk, disk, None, ctypes.c_ulong(MS_BIND), None)
            flags = ctypes.c_ulong(MS_BIND | MS_REMOUNT | MS_RDONLY)
            call("mount", None, disk, None, flags, None)
        elif way == "detached":
            call("umount2", disk, MNT_DETACH)
        else:
            # At once: what a run makes there meanwhile would end a removal file by file.
            with contextlib.suppress(FileNotFoundError):
                Path(disk, GONE[way]).rename(Path(disk, "gone"))

    return befall


def sound(out: Path, undisturbed: dict[str, bytes]) -> bool:
    """Whether the results folder is as an undisturbed sweep leaves it."""
    return kept(out) == undisturbed


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    study, disk, copies = place / "study.toml", place / "disk", place / "copies"
    study.write_text(STUDY)
    words = ["run", str(study), "--jobs", "1", "--repeat", "3", "--out"]
    whole = place / "whole" / "out"
    steps = steps_of([*words, str(whole)], whole)
    undisturbed = kept(whole)
    # Before it begins a folder that cannot be written is wrong input, and after the last run is in
    # its place it is somebody's to remove.
    begins = min(number for number, path in steps if "work-" in path)
    landed = max(number for number, path in steps if path.startswith("runs/"))

    def strike(number: int, chance: random.Random) -> str | None:
        way = WAYS[number % len(WAYS)]
        last = chance.choice(steps)[0]
        for folder in (copies, disk):
            shutil.rmtree(folder, ignore_errors=True)
        copies.mkdir()
        command = [*words, str(disk / "out")]
        first, then = turns(
            400_000,
            disk,
            copies,
            [sys.executable, "-m", "attacks.vanishing_disk", way, str(disk), str(last), *command],
            [*CCLAB, *command],
        )
        told = "".join(line for line in first.err.splitlines(keepends=True) if line[:5] != "step ")
        early, late = last <= begins, last > landed
        codes = [DONE, RUN_FAILED, WRONG_INPUT] if early else [DONE, RUN_FAILED]
        faults = Said(first.code, first.out, told).faults(codes)
        if first.code == WRONG_INPUT and "cannot write" not in told:
            faults.append(f"not told why: {told}")
        if way == "read only" and first.code == RUN_FAILED and "Read-only file system" not in told:
            faults.append(f"not told why: {told}")
        if first.code == DONE and not late and not sound(first.left / "out", undisturbed):
            faults.append(f"it says that all is there, and it is not: {told}")
        if then.code != DONE:
            faults.append(f"the same command then ends with {then.code}: {then.err}")
        elif not sound(then.left / "out", undisturbed):
            faults.append("the same command then leaves something else")
        return f"{way} at step {last}: {'; '.join(faults)}" if faults else None

    yield strike


VANISHING_DISK = Kind("a results folder goes away during a run", _bench, 5)


if __name__ == "__main__":
    way, disk, last, *words = sys.argv[1:]
    sys.exit(stepping(f"{disk}/out", int(last), befalling(way, disk, int(last)), words))
