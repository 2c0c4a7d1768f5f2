"""Questions to a results folder: `cclab.query("results/x", "cc == 'bbr' and rtt > 50ms")`.

expression   what can be asked
columns      by which names
swept        keys that no table has, from the plans
sql          expressions as the index is asked them
question     what is asked, and how the index answers
answer       the rows, read as they are wanted
groups       means and intervals
frames       answers as frames of polars
plans        what the plans of a folder differ in
"""

from importlib import import_module
from typing import TYPE_CHECKING

from cclab.queries.question import TABLES, Question, Table, kinds, listed

if TYPE_CHECKING:
    from cclab.queries.frames import query

__all__ = ["TABLES", "Question", "Table", "kinds", "listed", "query"]


def __getattr__(name: str) -> object:
    """`query`, whose library takes longer to load than most questions to be answered."""
    if name == "query":
        return import_module("cclab.queries.frames").query
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
