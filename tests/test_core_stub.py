"""The description of the core for type checkers says what the core is."""

from __future__ import annotations

import subprocess
import sys


def test_stub_and_module_agree() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "cclab._core"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
