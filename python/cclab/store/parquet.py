"""Parquet files of a store, as they are written."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from polars.exceptions import PanicException, PolarsError

if TYPE_CHECKING:
    import polars as pl

OF = "cclab.of"
"""The key under which a file that is derived says what it is of."""

UNREADABLE = (OSError, PolarsError, PanicException)
"""What reading a file raises that is torn; polars panics at some."""


def encoded(
    frame: pl.DataFrame, *, of: str | None = None, row_group_size: int | None = None
) -> memoryview:
    """The bytes of a file of `frame`, which says what it is `of`.

    Who writes them himself is told of a full disk by an `OSError`; polars has another name for it.
    """
    memory = io.BytesIO()
    frame.write_parquet(
        memory,
        compression="zstd",
        row_group_size=row_group_size,
        statistics=True,
        metadata=None if of is None else {OF: of},
    )
    return memory.getbuffer()
