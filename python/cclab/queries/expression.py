"""What expressions over the columns of an index mean: `cc == "bbr" and rtt > 50ms`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from cclab import shown
from cclab.errors import InputError
from cclab.expressions import Evaluation, Kind, Term, parse
from cclab.metrics import OF_SEVERAL
from cclab.metrics import near as metrics_near
from cclab.queries.sql import Columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cclab.queries.sql import Sql


_KINDS: dict[str, Kind] = {"BOOLEAN": "condition", "TEXT": "text"}


def kind_of(column: str) -> Kind:
    """What the values of a column are, by the type that SQLite has of it."""
    return _KINDS.get(column, "number")


def compile(text: str, resolve: Mapping[str, Term]) -> Term:
    """What the expression `text` means, where `resolve` has the columns by name.

    Raises `InputError`, with the place in the text, if it is none, names a column that there is
    not, or combines what cannot be combined.
    """
    return Evaluation(parse(text), _columns(resolve)).term()


def used_in(text: str, resolve: Mapping[str, Term]) -> list[str]:
    """The names of columns in the expression `text`, each once."""
    columns = _columns(resolve)
    Evaluation(parse(text), columns).term()
    return list(columns.used)


def condition(text: str, resolve: Mapping[str, Term]) -> Sql:
    """The condition `text`. Raises `InputError` also if it is a number or a text."""
    term = compile(text, resolve)
    if term.kind != "condition":
        raise InputError(
            f"{shown.quoted(text)} is a {term.kind}, not a condition; compare it: `{text} > 0`"
        )
    value: Sql = term.value
    return value


def same(a: Term, b: Term) -> bool:
    """Whether both say the same, word for word."""
    return a.kind == b.kind and bool(a.value.text == b.value.text)


def found(name: str, known: Mapping[str, Term]) -> Term | None:
    """The column that is called `name`, here or as tables and documents spell it."""
    return known.get(name) or _respelt(name, known)


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


def _columns(resolve: Mapping[str, Term]) -> Columns:
    return Columns(
        lambda name: found(name, resolve),
        lambda name: unknown_column(name, resolve),
    )
