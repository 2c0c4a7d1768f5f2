"""cclab: a congestion-control laboratory.

import cclab
r = cclab.run("examples/quickstart.toml")
r.flows          # a polars frame: one row per flow and run
r.figure("cwnd") # a matplotlib figure
"""

from importlib import import_module
from typing import TYPE_CHECKING

from cclab import _core

if TYPE_CHECKING:
    from cclab.api import load, run, show
    from cclab.captures import analyze
    from cclab.comparison.results import Comparison
    from cclab.comparison.sides import compare
    from cclab.errors import (
        CaptureError,
        DamageError,
        InputError,
        OpenClusterWarning,
        RunError,
        StoreError,
        StudyError,
    )
    from cclab.evaluation import evaluate
    from cclab.evaluation.card import Card
    from cclab.plan.study import Study
    from cclab.queries.frames import query
    from cclab.reproduction import Reproduced, reproduce
    from cclab.results import Results
    from cclab.sweep import RunsFailedError
    from cclab.verification import Verified, verify

__version__ = _core.VERSION

__all__ = [
    "CaptureError",
    "Card",
    "Comparison",
    "DamageError",
    "InputError",
    "OpenClusterWarning",
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
    "evaluate",
    "load",
    "query",
    "reproduce",
    "run",
    "show",
    "verify",
]


_PLACES = {
    "CaptureError": "cclab.errors",
    "Card": "cclab.evaluation.card",
    "Comparison": "cclab.comparison.results",
    "DamageError": "cclab.errors",
    "InputError": "cclab.errors",
    "OpenClusterWarning": "cclab.errors",
    "Reproduced": "cclab.reproduction",
    "Results": "cclab.results",
    "RunError": "cclab.errors",
    "RunsFailedError": "cclab.sweep",
    "StoreError": "cclab.errors",
    "Study": "cclab.plan.study",
    "StudyError": "cclab.errors",
    "Verified": "cclab.verification",
    "analyze": "cclab.captures",
    "compare": "cclab.comparison.sides",
    "evaluate": "cclab.evaluation",
    "load": "cclab.api",
    "query": "cclab.queries.frames",
    "reproduce": "cclab.reproduction",
    "run": "cclab.api",
    "show": "cclab.api",
    "verify": "cclab.verification",
}
"""Where each is. It is loaded when it is asked for: its libraries take longer to load than many
commands run."""


def __getattr__(name: str) -> object:
    """Loads what is in `_PLACES`."""
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is here to be asked for."""
    return __all__
