"""The inner state of a flow's variant, as expressions ask for it: by SQL, which has the words for
phases that follow one another."""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab import shown
from cclab.errors import InputError
from cclab.quantities import expressions
from cclab.store.trace import PHASE

if TYPE_CHECKING:
    from cclab.store.trace import Trace


_NO_COLUMN = re.compile(r"""unable to find column "(\w+)"|no column named '(\w+)' found""")
"""What polars says of a column that is not there: by its name alone, or with its table's."""


_SAMPLES = re.compile(r"\bsamples\b", re.IGNORECASE)


class UntoldError(expressions.ExpressionError):
    """The variant does not tell of its inner state what is asked for."""


def untold(error: BaseException) -> UntoldError | None:
    """What a variant does not tell, if that is why an expression failed with `error`."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, UntoldError):
        cause = cause.__cause__ or cause.__context__
    return cause


def asked(trace: Trace, flow: str, query: str) -> float:
    """The number that `query` gives, a SELECT of one value from `states`, `phases` and `samples`.

    `states` has a row wherever the state became another: `time_s`, `until_s`, and the columns that
    the variant declares. `phases` has a row for each stay in a phase: `nth` from 0, `phase`,
    `before` and `after` it (null: none), `from_s`, `until_s`, and each other column as it was when
    the stay began; with `_last` at the end of its name as it was last in the stay, and with `_next`
    as it was when the next stay began. `samples` are those of the flow (`Trace.samples_of`).

    What is true is 1, and no value is not a number. Raises `UntoldError` if the variant does not
    tell what the query names, and `ExpressionError` if it cannot be answered with one number.
    """
    try:
        states = trace.states_of(flow)
    except InputError as error:
        raise UntoldError(str(error)) from error
    tables = {"states": states}
    if _SAMPLES.search(query):
        tables["samples"] = trace.samples_of(flow)
    if PHASE in states.columns:
        tables["phases"] = trace.phases_of(flow)
    try:
        answer = pl.SQLContext(frames=tables).execute(query, eager=True)
    except pl.exceptions.PolarsError as error:
        unknown = _NO_COLUMN.search(str(error))
        if unknown and _of_samples(unknown[1] or unknown[2], query, tables):
            raise expressions.ExpressionError(
                f"{_first_line(error).partition(';')[0]}"
                + _meant(str(error), tables["samples"].columns)
            ) from error
        if unknown:
            told = _first_line(error).partition(";")[0] + _meant(str(error), states.columns)
            raise UntoldError(
                f"flow {shown.quoted(flow)}: its variant does not tell it: {told}"
            ) from error
        if "'phases' was not found" in str(error):
            raise UntoldError(f"flow {shown.quoted(flow)}: its variant tells no {PHASE}") from error
        known = "; ".join(
            f"{name} has {', '.join(frame.columns)}" for name, frame in tables.items()
        )
        raise expressions.ExpressionError(f"{_first_line(error)} ({known})") from error
    if answer.width != 1 or answer.height > 1:
        raise expressions.ExpressionError(
            f"states() asks for one value, and this gives {answer.height} rows of {answer.width}"
        )
    value: Any = answer.item() if answer.height else None
    if isinstance(value, str):
        raise expressions.ExpressionError(
            f"states() asks for a number, and this gives {value!r}: compare it with a text"
        )
    return math.nan if value is None else float(value)


def _of_samples(column: str, query: str, tables: dict[str, pl.DataFrame]) -> bool:
    """Whether a query asks the samples, which are alike for all variants, for a column: it says
    so, or one of theirs is called nearly so."""
    if "samples" not in tables:
        return False
    names = {"samples", *re.findall(r"\bsamples(?:\s+AS)?\s+(\w+)", query, re.IGNORECASE)}
    others = [name for frame in tables.values() for name in frame.columns]
    near = difflib.get_close_matches(column, others, 1)
    is_said = any(re.search(rf"\b{name}\.{column}\b", query) for name in names)
    return is_said or bool(near and near[0] in tables["samples"].columns)


def _meant(error: str, columns: list[str]) -> str:
    """Which of the columns may be meant by the one that an error names."""
    named = _NO_COLUMN.search(error)
    stem = "" if named is None else named[1] or named[2]
    if stem.endswith("_ns") and f"{stem.removesuffix('_ns')}_s" in columns:
        return f"; times are in seconds here: {stem.removesuffix('_ns')}_s"
    near = difflib.get_close_matches(stem, columns, 1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(columns)}"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
