"""Expressions over the columns of an index: `cc == "bbr" and rtt > 50ms`.

The language is that of `cclab.expressions`; here its names are columns and its values expressions
of polars.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import polars as pl

from cclab.errors import InputError
from cclab.expressions import Call, Evaluation, Kind, Term, parse
from cclab.metrics import OF_SEVERAL
from cclab.metrics import near as metrics_near

if TYPE_CHECKING:
    from collections.abc import Mapping

_FUNCTIONS = ("abs", "min", "max")


def kind_of(column: pl.DataType) -> Kind:
    """What the values of a column are."""
    if column == pl.Boolean:
        return "condition"
    return "number" if column.is_numeric() else "text"


def compile(text: str, resolve: Mapping[str, Term]) -> Term:
    """What the expression `text` means, where `resolve` has the columns by name.

    Raises `InputError`, with the place in the text, if it is none, names a column that there is
    not, or combines what cannot be combined.
    """
    return Evaluation(parse(text), _Columns(resolve)).term()


def used_in(text: str, resolve: Mapping[str, Term]) -> list[str]:
    """The names of columns in the expression `text`, each once."""
    columns = _Columns(resolve)
    Evaluation(parse(text), columns).term()
    return list(columns.used)


def condition(text: str, resolve: Mapping[str, Term]) -> pl.Expr:
    """The condition `text`. Raises `InputError` also if it is a number or a text."""
    term = compile(text, resolve)
    if term.kind != "condition":
        raise InputError(f"{text!r} is a {term.kind}, not a condition; compare it: `{text} > 0`")
    value: pl.Expr = term.value
    return value


def same(a: Term, b: Term) -> bool:
    """Whether both say the same, word for word."""
    return a.kind == b.kind and bool(a.value.meta.eq(b.value))


def _respelt(name: str, known: Mapping[str, Term]) -> Term | None:
    """What is called so elsewhere: `flow.datagrams.loss` of a metric in a document, `queue.limit`
    of a key of the bottleneck in tables."""
    parts = name.split(".")
    spelt = [".".join([*parts[:k], "_".join(parts[k:])]) for k in range(len(parts) - 1)]
    spelt += [f"bottleneck.{name}"] if len(parts) > 1 else []
    return next((known[spelling] for spelling in spelt if spelling in known), None)


def unknown_column(name: str, known: Mapping[str, Term]) -> str:
    """The complaint that there is no column `name`, with the nearest that there is."""
    if name.rpartition(".")[2] in OF_SEVERAL:
        return (
            f"no column `{name}`: it is of several runs, and a row is of one; "
            "`cclab.load(DIR).summary`, summary.csv of the report and `cclab run --json` have it"
        )
    small = {k.lower(): k for k in known}
    near = [k for k in known if k.lower() == name.lower() or k.rpartition(".")[2] == name]
    near += [k for k in known if k.startswith(f"{name}_") and k.endswith(("_bps", "_s", "_bytes"))]
    near += [small[k] for k in difflib.get_close_matches(name.lower(), small, n=1, cutoff=0.85)]
    near = near or [small[k] for k in metrics_near(name.lower(), small, most=1)]
    hint = f"did you mean `{near[0]}`?" if near else "`--list` shows the columns"
    return f"no column `{name}`; {hint}"


class _Columns:
    """Columns as what expressions are computed with."""

    def __init__(self, resolve: Mapping[str, Term]) -> None:
        self._resolve = resolve
        self.used: dict[str, None] = {}
        """Names of columns that were asked for."""

    def constant(self, value: float | str | bool | None) -> pl.Expr:
        return pl.lit(value)

    def named(self, name: str) -> Term | None:
        term = self._resolve.get(name) or _respelt(name, self._resolve)
        if term is not None:
            self.used[name] = None
        return term

    def unknown(self, name: str) -> str:
        return unknown_column(name, self._resolve)

    def divided(self, value: pl.Expr, by: pl.Expr) -> pl.Expr:
        return pl.when(by != 0).then(value / by)

    def every(self, conditions: list[pl.Expr]) -> pl.Expr:
        return pl.all_horizontal(conditions)

    def some(self, conditions: list[pl.Expr]) -> pl.Expr:
        # One expression of many: polars takes long over many within each other.
        return pl.any_horizontal(conditions) if conditions else pl.lit(False)

    def negated(self, condition: pl.Expr) -> pl.Expr:
        return ~condition

    def is_nothing(self, value: pl.Expr) -> pl.Expr:
        return value.is_null()

    def contains(self, text: pl.Expr, part: pl.Expr) -> pl.Expr:
        return text.str.contains(part, literal=True)

    def matches(self, text: pl.Expr, pattern: str) -> pl.Expr:
        try:
            pl.select(pl.lit("").str.contains(pattern))
        except pl.exceptions.ComputeError as error:
            raise ValueError(str(error)) from None
        return text.str.contains(pattern)

    def called(self, call: Call) -> Term:
        if call.function not in _FUNCTIONS or not call.arguments:
            raise ValueError(f"the functions are {', '.join(_FUNCTIONS)}")
        values = [term.value for term in call.numbers()]
        if call.function == "abs":
            if len(values) != 1:
                raise ValueError("`abs` takes one number")
            return Term(values[0].abs(), "number", dimensions=call.common())
        reduced = (pl.min_horizontal if call.function == "min" else pl.max_horizontal)(values)
        return Term(reduced, "number", dimensions=call.common())

    def element(self, vector: pl.Expr, index: int) -> pl.Expr:
        raise ValueError("a column has no elements")
