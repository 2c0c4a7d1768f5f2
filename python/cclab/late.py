"""Modules that load at their first use: they take longer to load than many commands run.

    if TYPE_CHECKING:
        from cclab.measure import results
    else:
        results = late("cclab.measure.results")

An import like any other for whoever reads it, a type checker included.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class _Late(ModuleType):
    """Stands for the module of its name, and has what that has."""

    def __getattr__(self, attribute: str) -> Any:
        # Asked of the module each time: what it has may change, as in tests.
        return getattr(import_module(self.__name__), attribute)


def late(name: str) -> ModuleType:
    """The module called `name`, which is imported when something in it is asked for."""
    return _Late(name)
