"""Loads, while runs go on, what measures and reports them."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cclab.execute import Listener, State

_AFTER_RUNS = ("cclab.catalog", "cclab.report.page", "cclab.report.explore")
"""They take longer to load than many a command runs; loaded, they do nothing by themselves."""


def loading(listener: Listener) -> Listener:
    """A listener that has `listener` hear all, and loads `_AFTER_RUNS` the first time that it hears
    of runs under way.

    The thread that hears is the one that would wait for the runs: it loads what it would load after
    them, and an interrupt ends it as it ends the waiting.
    """
    left = list(_AFTER_RUNS)

    def heard(state: State) -> None:
        listener(state)
        while left and state.done < state.total:
            # What cannot be loaded is told where it is needed: until then runs go on.
            with suppress(ImportError):
                import_module(left.pop(0))

    return heard
