"""The results folder: one sealed file per run, written whole or not at all.

    DIR/plan.json            the plan last run here
    DIR/plans/HASH.json      every plan run here
    DIR/runs/ID.zip          a run: what was asked, its metrics and its trace
    DIR/captures/ID/         its packet captures, where asked for
    DIR/index.sqlite         what all runs measured; made again whenever it is needed
    DIR/aside/               what stood in a run's place and was not as it was written
    DIR/tmp/                 runs being written, one folder per live process
    DIR/report/              what `cclab report` makes; can be made again

A run's name is the content hash of what was run, and its file holds nothing that depends
on when, where or by which process it was run: equal runs give equal bytes.

folder     what a store holds
writer     how runs come into it
trace      what a run's file holds, as tables
origin     whether a capture is that of a run
planned    which runs its plans ask for
index      a row of each run, in one database made of all of them
holdings   how many runs of which versions there are
health     what is not as it was written
gc         what no plan needs
transfer   runs from one store into another, or into an archive
disk       locks, and what is on the disk for good
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cclab.store.folder import Store, Survey
    from cclab.store.writer import Writer

__all__ = ["Store", "Survey", "Writer"]

_PLACES = {
    "Store": "cclab.store.folder",
    "Survey": "cclab.store.folder",
    "Writer": "cclab.store.writer",
}
"""Where each is. It is loaded when it is asked for: whoever only wants to know whether a file is
that of a run needs no store."""


def __getattr__(name: str) -> object:
    """Loads what is in `_PLACES`."""
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
