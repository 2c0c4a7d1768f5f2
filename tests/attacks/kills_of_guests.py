"""Guests of a cclab that is killed, at whatever moment: no process and no memory of one is left,
and its folder serves the next command."""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from typing import TYPE_CHECKING

from attacks.kind import Kind, Missed
from attacks.saying import said
from cclab.cli.exits import DONE
from guests import (
    LINK,
    assert_nothing_is_left,
    every_process,
    memory_files,
    memory_of,
    processes_in,
    start,
)
from waiting import await_that

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from attacks.kind import Strike

BUSY = f"""
backend = "linux"
duration = "60s"
{LINK}
[[flow]]
name = "one"
command = ["sh", "-c", "while :; do /bin/true; done"]
[[flow]]
name = "two"
command = ["sh", "-c", "while :; do (/bin/true | /bin/true); done"]
"""
"""Programs that start others without end: a guest's process starts one for each on the host."""

OF_PROGRAMS = 3
"""So many processes there are once programs run in the guest."""


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    study, out = place / "study.toml", place / "out"
    study.write_text(BUSY)

    def strike(number: int, chance: random.Random) -> str | None:
        """Half of them are killed from a guest's first step on, half while programs run."""
        least = OF_PROGRAMS if number % 2 else 1
        child = start("run", study, "--out", out, cwd=place)
        try:
            await_that(
                lambda: len(processes_in(out)) >= least or child.poll() is not None, "a guest"
            )
            time.sleep(chance.uniform(0.0, 1.0))
            there = processes_in(out)
            memory, names = memory_of(there), memory_files()
        finally:
            child.send_signal(signal.SIGKILL)
            _, err = child.communicate()
        if child.returncode != -signal.SIGKILL:
            raise Missed(f"it had ended with {child.returncode}: {err}")
        if len(there) >= OF_PROGRAMS:
            assert memory, "the memory of the guests is not seen"
        await_that(lambda: not processes_in(out), f"the end of {len(there)} processes")
        await_that(lambda: not memory & memory_of(every_process()), f"the end of {memory}")
        # Other guests of this machine may just be starting.
        await_that(lambda: not names & memory_files(), f"the end of {names}")
        done = said(["run", str(study), "--out", str(out), "--set", "duration=20ms"])
        if done.code != DONE:
            return f"in the same folder, a run ends with {done.code}: {done.err}"
        assert_nothing_is_left(out)
        shutil.rmtree(out)
        return None

    yield strike


KILLS_OF_GUESTS = Kind("cclab is killed while guests run", _bench, 8, kernel=True)
