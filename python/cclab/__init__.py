"""cclab: a congestion-control laboratory.

import cclab
r = cclab.run("examples/quickstart.toml")
r.flows          # a polars frame: one row per flow and run
r.figure("cwnd") # a matplotlib figure
"""

from typing import TYPE_CHECKING

from cclab import _core
from cclab.api import load, run
from cclab.comparison.sides import compare
from cclab.errors import DamageError, InputError, RunError, StoreError, StudyError
from cclab.study import Study

if TYPE_CHECKING:
    from cclab.comparison.results import Comparison
    from cclab.results import Results

__version__ = _core.VERSION

__all__ = [
    "Comparison",
    "DamageError",
    "InputError",
    "Results",
    "RunError",
    "StoreError",
    "Study",
    "StudyError",
    "__version__",
    "compare",
    "load",
    "run",
]


def __getattr__(name: str) -> object:
    """`Results` and `Comparison`: their libraries take longer to load than many commands run."""
    if name == "Comparison":
        from cclab.comparison.results import Comparison

        return Comparison
    if name == "Results":
        from cclab.results import Results

        return Results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
