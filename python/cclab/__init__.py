"""cclab: a congestion-control laboratory.

import cclab
r = cclab.run("examples/quickstart.toml")
r.flows          # a polars frame: one row per flow and run
r.figure("cwnd") # a matplotlib figure
"""

from importlib import import_module
from typing import TYPE_CHECKING

from cclab import _core
from cclab.errors import (
    CaptureError,
    DamageError,
    InputError,
    RunError,
    RunsFailedError,
    StoreError,
    StudyError,
)

if TYPE_CHECKING:
    from cclab.api import load, run
    from cclab.captures import analyze
    from cclab.comparison.results import Comparison
    from cclab.comparison.sides import compare
    from cclab.queries.frames import query
    from cclab.reproduction import Reproduced, reproduce
    from cclab.results import Results
    from cclab.study import Study
    from cclab.verification import Verified, verify

__version__ = _core.VERSION

__all__ = [
    "CaptureError",
    "Comparison",
    "DamageError",
    "InputError",
    "Reproduced",
    "Results",
    "RunError",
    "RunsFailedError",
    "StoreError",
    "Study",
    "StudyError",
    "Verified",
    "__version__",
    "analyze",
    "compare",
    "load",
    "query",
    "reproduce",
    "run",
    "verify",
]


_LATE = {
    "Comparison": "cclab.comparison.results",
    "Reproduced": "cclab.reproduction",
    "Results": "cclab.results",
    "Study": "cclab.study",
    "Verified": "cclab.verification",
    "analyze": "cclab.captures",
    "compare": "cclab.comparison.sides",
    "load": "cclab.api",
    "query": "cclab.queries.frames",
    "reproduce": "cclab.reproduction",
    "run": "cclab.api",
    "verify": "cclab.verification",
}
"""What is loaded when it is asked for: its libraries take longer to load than many commands run."""


def __getattr__(name: str) -> object:
    """Loads what is in `_LATE`."""
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
