"""The index of a results folder: what all its runs are and measured, in one SQLite file.

    DIR/index.sqlite
        runs, flows, groups, traffic, probes    a row per run, or per flow of a run, and so on
        plans                                   a row per plan of the folder
        totals                                  runs and bytes by backend, version and plan
        about                                   which definitions, plans and runs it is of

It is derived from the runs' files and never the truth: missing, old or damaged, it is made of them
again. It is written beside and renamed into place, and its bytes depend on the runs and plans
alone. Nobody writes to it in place, and who reads it takes no lock: it may lie on NFS.

columns    a scenario and its metrics as cells
dimensions what their numbers are quantities of
tables     cells as rows of tables whose columns come from them
file       the tables as one file that carries its digest
index      how it is kept
"""

from cclab.store.index.index import Index

__all__ = ["Index"]
