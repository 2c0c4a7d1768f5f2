"""Modules that load at their first use: their libraries take longer to load than many commands run.

    if TYPE_CHECKING:
        from cclab.measure import results
    else:
        results = late("cclab.measure.results")

An import like any other for whoever reads it, a type checker included.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def late(name: str) -> ModuleType:
    """The module called `name`, which loads when something in it is asked for."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)
    return module
