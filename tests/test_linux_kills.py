"""Guests of a cclab that is killed, at whatever moment: none is left."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING

import pytest

from guests import LINK, processes_in, start
from waiting import await_that

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("kernel")

KILLS, KILLS_OF_AN_ATTACK = 8, 300
"""How often cclab is killed, in the tests and by `make attack`."""

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


def test_no_process_of_a_guest_outlives_a_killed_cclab(tmp_path: Path, attack: bool) -> None:
    dice = random.Random(22)
    study = tmp_path / "study.toml"
    study.write_text(BUSY)
    out = tmp_path / "out"
    moments = {}
    for number in range(KILLS_OF_AN_ATTACK if attack else KILLS):
        child = start("run", study, "--out", out, cwd=tmp_path)
        await_that(lambda: processes_in(out), "a guest")
        # From a guest's first step on to programs that are long under way.
        time.sleep(dice.uniform(0.0, 1.0))
        moments[number] = len(processes_in(out))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        await_that(lambda: not processes_in(out), f"the end of the guest of kill {number}")
    # Some were hit while programs ran.
    assert max(moments.values()) > 2, moments
