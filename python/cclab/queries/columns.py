"""The names under which a query finds the columns of the index.

A row of flows, groups or traffic has the columns of its run beside its own. Where both have one
of a name, the name alone is the run's; `flow.NAME`, `group.NAME` or `traffic.NAME` is the row's
own, `run.NAME` the run's, and `network.` may stand before a key of the network, as in a study
file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import metrics, shown
from cclab.errors import InputError
from cclab.expressions import Term
from cclab.queries.expression import compile, found, kind_of, same, used_in
from cclab.queries.sql import Sql, column, either, literal
from cclab.store.index.dimensions import is_part, of_column
from cclab.store.index.tables import PLAN, spoken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Types = dict[str, dict[str, str]]
"""The columns of each table with their types, in SQLite's words."""

Terms = dict[str, Term]

OWN: dict[str, metrics.Subject] = {
    "runs": "run",
    "flows": "flow",
    "groups": "group",
    "traffic": "traffic",
    "probes": "probe",
}
"""What stands before the name of a column of a table to mean that table's."""

_OF_NETWORK = ("bottleneck.", "access.", "topology", "router.")
_DEFAULT = {
    "runs": ["run", "seed", "variants", *metrics.queried("run", "bottleneck"), "warnings"],
    "flows": ["run", "seed", "name", "cc", "rtt", *metrics.queried("flow")],
    "groups": ["run", "seed", "name", "group.variants", "group.flows", *metrics.queried("group")],
    "traffic": ["run", "seed", "name", "kind", *metrics.queried("traffic")],
    "probes": ["run", "seed", "name", "kind", *metrics.queried("probe")],
}
"""What is shown if nothing is chosen, as far as there is."""

_GIVEN = re.compile(r"\s*(?P<name>[A-Za-z_][\w.]*|`[^`]+`)\s*=(?!=)(?P<expression>.*)", re.DOTALL)


@dataclass(frozen=True)
class Wide:
    """A table with the columns of the runs beside."""

    table: str
    terms: Terms
    """Every name that a column can be called by."""
    columns: list[str]
    """Each column once."""
    own: dict[str, str]
    """What the table's own columns are called beside those of the run."""
    warm: bool
    """Whether there was a warm-up in some run."""

    @classmethod
    def of(cls, types: Types, table: str, *, warm: bool) -> Wide:
        """The table called `table` of an index."""
        of_run = types["runs"]
        beside = {} if table == "runs" else {n: kind for n, kind in of_run.items() if n != "run"}
        mine = {spoken(stored): (stored, kind) for stored, kind in types[table].items()}
        own = {name: f"{OWN[table]}.{name}" if name in beside else name for name in mine}
        every = {own[name]: column(table, *stored) for name, stored in mine.items()}
        every |= {name: column("runs", name, kind) for name, kind in beside.items()}
        terms: Terms = {}
        for name, value in every.items():
            # The number of a flow in its run: its name is the column beside.
            by_name = every[own["name"]] if name == OWN[table] and "name" in own else None
            kind = kind_of(value.type)
            dimensions, part = of_column(name), is_part(name)
            term = Term(value, kind, dimensions=dimensions, name=by_name, part=part)
            terms[name] = term
            if name.startswith(_OF_NETWORK):
                terms[f"network.{name}"] = term
            if name not in own.values():
                terms[f"run.{name}"] = term
        for name, called in own.items():
            terms[f"{OWN[table]}.{name}"] = terms[called]
        return cls(table, terms | _short_terms(table, own, every), [*every], own, warm)

    def finds(self, name: str) -> bool:
        """Whether a column can be called so."""
        return found(name, self.terms) is not None

    def shown(self, name: str) -> str:
        """The column for `name` among those that are shown: where there are warm-ups, its short
        name, under which each run has what its table shows."""
        if not self.warm:
            return name
        stem = "bottleneck." if name.startswith("bottleneck.") else ""
        subject = "bottleneck" if stem else OWN[self.table]
        metric = metrics.named(subject, name.removeprefix(stem))
        short = None if metric is None else metrics.shown(metric, warm=True).short
        return name if short is None else f"{stem}{short}"

    def of_default(self, names: Sequence[str]) -> list[str]:
        """The columns for `names` of a default: the table's own where runs have one too."""
        owner = OWN[self.table]
        return [
            # Of what is called as it is in a run, the name says whose it is.
            self.shown(name) if self.own.get(name, name) == name else f"{owner}.{self.shown(name)}"
            for name in names
        ]

    def chosen(
        self, columns: Sequence[str] | None, where: str | None, *, apart: bool
    ) -> dict[str, Sql]:
        """The expressions of `columns`; if none are given, those that say most and are in
        `where`, and where plans are `apart` the plan."""
        if not columns:
            asked = [] if where is None else used_in(where, self.terms)
            names = [name for name in self.of_default(_DEFAULT[self.table]) if name in self.terms]
            names[1:1] = [PLAN] if apart else []
            columns = [*names, *(f"`{name}`" for name in asked if name not in names)]
        return unique([named(column, self.terms) for column in columns])


def _short_terms(table: str, called: Mapping[str, str], columns: Mapping[str, Sql]) -> Terms:
    """What is short for the numbers that tables show, of a row and of its run.

    `called` says how the columns of a row are called here.
    """
    if "warmup" not in columns:
        return {}
    warm = columns["warmup"] > literal(0)
    terms: Terms = {}
    for metric in metrics.METRICS:
        if metric.short is None or metric.window_of is None:
            continue
        own = metric.subject == OWN[table]
        if not own and metric.subject not in ("bottleneck", "run"):
            continue
        stem = "bottleneck." if metric.subject == "bottleneck" else ""
        window, whole = f"{stem}{metric.name}", f"{stem}{metric.window_of}"
        if own:
            window, whole = called.get(window, window), called.get(whole, whole)
            stem = f"{OWN[table]}." if whole != metric.window_of else ""
        if window in columns and whole in columns:
            shown = either(warm, columns[window], columns[whole])
            name = f"{stem}{metric.short}"
            terms[name] = Term(shown, "number", dimensions=of_column(whole), part=is_part(whole))
    return terms


def unique(columns: list[tuple[str, Term]]) -> dict[str, Sql]:
    """The columns under their names, each once. Raises `InputError` if two have the same."""
    seen: Terms = {}
    for name, term in columns:
        if name in seen and not same(seen[name], term):
            raise InputError(
                f"two columns are called {shown.quoted(name)}; write NAME = EXPRESSION for one"
            )
        seen[name] = term
    return {name: term.value for name, term in seen.items()}


def named(column: str, terms: Terms) -> tuple[str, Term]:
    """What `column` is called and what it is: a name, an expression, or NAME = EXPRESSION."""
    given = _GIVEN.fullmatch(column)
    if given is not None:
        return given["name"].strip("`"), compile(given["expression"], terms)
    return column.strip().strip("`"), compile(column, terms)


def split(text: str) -> list[str]:
    """The columns in a list with commas; those between brackets and quotes are no ends."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append("")
            continue
        parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
