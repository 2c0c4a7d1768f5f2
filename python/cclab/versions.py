"""What determines a run beside its scenario and its seed, as `Run.version` tells it.

It is a list, such as `core 1, linux-6.12 1, cubic 1, droptail 1`: the version of each part that the
scenario uses, or of what is done around a kernel, and the kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

AT_HAND = (
    f"core {_core.CORE_VERSION}, testbed {_core.TESTBED_VERSION}, metrics {_core.METRICS_VERSION}"
)
"""The versions here of what every simulated run goes through, every run on a kernel, and every
measurement."""

_BEFORE_LISTS = "cclab"
"""What has a version where it is no list: runs were once named by the sources of all of it."""


def apart(first: str, second: str) -> tuple[str, str]:
    """What each of two versions has that the other lacks: `core 1` and `core 2`."""
    parts, others = first.split(", "), second.split(", ")
    only = ", ".join(part for part in parts if part not in others)
    return only, ", ".join(part for part in others if part not in parts)


def together(versions: Iterable[str]) -> dict[str, list[str]]:
    """The versions of each part that is in one of `versions`, in order."""
    numbers: dict[str, list[str]] = {}
    for version in versions:
        for part in version.split(", "):
            name, _, number = part.rpartition(" ")
            known = numbers.setdefault(name or _BEFORE_LISTS, [])
            if number not in known:
                known.append(number)
    return {name: sorted(known) for name, known in numbers.items()}


def listed(versions: Iterable[str]) -> str:
    """All that is in one of `versions`, as one list."""
    parts = together(versions).items()
    return ", ".join(f"{name} {number}" for name, known in parts for number in known)
