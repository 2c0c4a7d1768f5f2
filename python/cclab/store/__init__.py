"""The results folder: one entry per run, written whole or not at all.

    DIR/plan.json            the plan last run here
    DIR/plans/HASH.json      every plan run here
    DIR/runs/ID/             an entry: run.json, the trace, manifest.json
    DIR/aside/               what stood in an entry's place and was not as it was written
    DIR/tmp/                 entries being written, one folder per live process
    DIR/report/              what `cclab report` makes; can be made again

An entry's name is the content hash of what was run, and the entry holds nothing that depends
on when, where or by which process it was run: equal runs give equal bytes.

folder     what a store holds
writer     how entries come into it
moving     how to look at it while it is compacted
disk       locks, and what is on the disk for good
"""

from cclab.store.folder import Store, Survey
from cclab.store.writer import Sealed, Writer

__all__ = ["Sealed", "Store", "Survey", "Writer"]
