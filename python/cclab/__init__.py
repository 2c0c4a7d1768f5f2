"""cclab: a congestion-control laboratory.

import cclab
r = cclab.run("examples/quickstart.toml")
r.flows          # a polars frame: one row per flow and run
r.figure("cwnd") # a matplotlib figure
"""

from cclab import _core
from cclab.api import load, run
from cclab.errors import DamageError, InputError, RunError, StoreError, StudyError
from cclab.results import Results
from cclab.study import Study

__version__ = _core.VERSION

__all__ = [
    "DamageError",
    "InputError",
    "Results",
    "RunError",
    "StoreError",
    "Study",
    "StudyError",
    "__version__",
    "load",
    "run",
]
