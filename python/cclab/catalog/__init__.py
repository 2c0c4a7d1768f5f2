"""The catalog of a results folder: what it holds, in five tables, without opening its entries.

    DIR/catalog/runs.parquet      one row per run: scenario, metrics, the entry's manifest digest
    DIR/catalog/flows.parquet     one row per flow and run
    DIR/catalog/groups.parquet    one row per group of flows and run
    DIR/catalog/traffic.parquet   one row per source of cross traffic and run
    DIR/catalog/probes.parquet    one row per probe and run
    DIR/catalog/digests.json      the SHA-256 of these five
    DIR/catalog/parts/            what writers add while a sweep goes on, until it is settled

It is derived from the entries: lost or torn, it is made of them again, and is never a reason to
fail. A row counts only while its run's entry is there. Settled, its bytes depend only on which
entries the folder holds.

columns    a scenario and its metrics as cells
dimensions what their numbers are quantities of
frames     cells as typed frames
records    what is known of runs: the parts and the settled files
catalog    the tables, and how they are kept
"""

from cclab.catalog.catalog import Catalog
from cclab.catalog.frames import Tables

__all__ = ["Catalog", "Tables"]
