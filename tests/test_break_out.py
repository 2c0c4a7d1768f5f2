"""What programs of a guest, and a guest's kernel that was taken over, can do to the host.

All tries of the kind `break-outs` of `make attack`: on each kernel, and each told by its name.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from attacks.break_outs import SCENES, TESTS, has_ended, inside, taken_kernel, victim_in
from waiting import await_that

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", SCENES)
def test_nothing_gets_out_and_what_is_needed_works(name: str, tmp_path: Path) -> None:
    scene, least = SCENES[name]
    judged = scene(tmp_path).judged()
    assert [why for why in judged.values() if why is not None] == []
    assert len(judged) > least


def test_what_a_guest_left_behind_ends_with_whoever_started_the_guest(tmp_path: Path) -> None:
    """Also if that is killed, which the guest's own children are not told of."""
    victim = victim_in(tmp_path)
    folder, memory = tmp_path / "records", tmp_path / "memory"
    folder.mkdir()
    memory.mkdir()
    tries = inside("from_a_taken_kernel", victim, folder, memory, 99, "stays")
    guest = shlex.join([*taken_kernel(folder, memory, "PARENT"), *tries])
    starter = subprocess.Popen(
        # What follows keeps the shell from becoming the guest itself.
        ["sh", "-c", guest.replace("PARENT", '"$$"') + "; exit 1"],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        cwd=folder,
    )
    with starter:
        assert starter.stdout is not None
        left = json.loads(starter.stdout.readline())["left"]
        assert not has_ended(left)
        starter.kill()
    await_that(lambda: has_ended(left), "the end of what a guest left behind")
