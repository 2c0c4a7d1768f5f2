"""Loads, while runs go on, what measures and reports them."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cclab.execute import Listener, State

_AFTER_RUNS = ("cclab.measure.results", "cclab.report.page", "cclab.report.explore")
"""These modules take longer to load than many commands run; loading them has no effect."""


def loading(listener: Listener) -> Listener:
    """A listener that passes everything on to `listener`, and loads `_AFTER_RUNS` when it first
    hears of runs under way.

    The listening thread would otherwise wait for the runs. It loads now what it needs after them,
    and an interrupt ends the loading as it ends the waiting.
    """
    left = list(_AFTER_RUNS)

    def heard(state: State) -> None:
        listener(state)
        while left and state.done < state.total:
            # What cannot be loaded is told where it is needed: until then runs go on.
            with suppress(ImportError):
                import_module(left.pop(0))

    return heard
