"""What this machine has, and the most that is asked of it."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

MOST_JOBS = 4096
"""Runs at a time: each has a thread, and some have processes and memory of their own."""

_CGROUP = Path("/sys/fs/cgroup")
_OF_PROCESS = Path("/proc/self/cgroup")


def memory() -> int:
    """Bytes of memory that this process may come to have: those of the machine, or of its control
    group or limits where that is less."""
    bounds = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *_of_groups()]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        bounds.append(soft)
    return min(bounds)


def _of_groups() -> list[int]:
    """The bounds of the control group and of those that it is in (cgroup v2)."""
    found = []
    with contextlib.suppress(OSError):
        for line in _OF_PROCESS.read_text().splitlines():
            if line.startswith("0::"):
                group = _CGROUP / line.removeprefix("0::").lstrip("/")
                found = [_bound(place) for place in (group, *group.parents)]
    return [bound for bound in found if bound is not None]


def _bound(group: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int((group / "memory.max").read_text())
    return None
