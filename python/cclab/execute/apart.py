"""What a worker of `cclab cluster local` does first: it leaves the terminal.

Ctrl-C there, and what a batch system sends to all that it started, would otherwise end the workers
beside the process that ends them, each with a traceback. They end when that process does, however
it does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import distributed


def dask_setup(worker: distributed.Worker) -> None:
    """Called by Dask in the process of `worker`; the name is Dask's."""
    del worker
    os.setsid()
