"""What the process of a kind tells, line by line, and how long it may tell nothing."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

AT_ONCE = 1 << 16


class Silent(Exception):  # noqa: N818 - the process is at fault
    """The process told nothing for longer than it may."""


def told_by(
    child: subprocess.Popen[bytes], first_s: float, patience_s: float
) -> Iterator[dict[str, Any]]:
    """The lines of JSON on its standard output, until it closes that.

    Raises `Silent` if none comes for `patience_s`, or no first one for `first_s`, whatever the
    process does meanwhile: sleeping and waiting take none of the processor's time.
    """
    assert child.stdout is not None
    number = child.stdout.fileno()
    rest = b""
    within_s, began = first_s, time.monotonic()
    while True:
        left_s = within_s - (time.monotonic() - began)
        ready, _, _ = select.select([number], [], [], max(0.0, left_s))
        if not ready:
            raise Silent(f"it told nothing for {within_s:g} s")
        content = os.read(number, AT_ONCE)
        if not content:
            return
        *lines, rest = (rest + content).split(b"\n")
        for line in lines:
            yield json.loads(line)
        if lines:
            within_s, began = patience_s, time.monotonic()


def end(child: subprocess.Popen[bytes]) -> None:
    """Ends it and all that it started in its group, which it leads."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
