"""How tests wait: for what comes to be, however long a busy machine takes for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 600.0
"""What has not come by then hangs. No test tells right from wrong by it."""


def await_that(true: Callable[[], object], what: str) -> None:
    """Returns once `true()` is; fails with `what` if it never comes to be."""
    until = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.01)
