"""The file `reproduction.toml` of a published study: its experiments, printed numbers, claims and
doubts. The only schema of it; docs/reproduce.md explains every key."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 (msgspec reads the annotations)
from typing import Any, Literal

from msgspec import Struct

Bindings = dict[str, Any]
"""Values by sweep key: one each, or a list of them."""


class Rows(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The printed rows of an experiment, and where in our results each lies."""

    data: Sequence[str]
    """CSV files of the folder, joined on the columns that they share."""
    where: Bindings = {}
    """Values of columns that the rows have."""
    point: dict[str, str] = {}
    """By sweep key, its value at a row: a template over the columns, such as `"{rtt_ms}ms"`."""
    flow: str = ""
    """The flow of a row: a template too; empty where a row is about the whole run."""


class OnBackend(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What differs on one backend."""

    study: str = ""
    set: Sequence[str] = ()


class Short(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The form that takes seconds, for tests: it shows that everything works, and no results."""

    repeat: int = 2
    set: Sequence[str] = ()
    skip: Sequence[str] = ()
    """Backends that the short form leaves out."""


class Experiment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Runs of one study file."""

    name: str
    title: str = ""
    study: str
    backends: Sequence[str] = ("sim",)
    repeat: dict[str, int] = {}
    """Runs of each sweep point, by backend; those not named take the study file's own."""
    set: Sequence[str] = ()
    on: dict[str, OnBackend] = {}
    short: Short = Short()
    rows: Rows | None = None


class Column(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of a table: what the study printed and what we measured."""

    title: str
    ours: str = ""
    """An expression over the metrics of the row's flow; empty if we measure no such thing."""
    printed: str = ""
    """An expression over the columns of the row; empty if the study printed no such thing."""
    digits: int | None = None
    """Digits after the point; enough for four that count if not given."""


class TableOf(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the study's tables, in its own columns and units."""

    name: str
    title: str
    experiment: str
    label: Sequence[str]
    """Columns of the rows that name a row."""
    columns: Sequence[Column]
    printed_by: str = ""
    """The source of the numbers beside ours, if not the study: they do not count as the study's."""
    note: str = ""


class PrintedPoints(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The printed points of a figure: expressions over the columns of the rows."""

    x: str
    y: str
    where: Bindings = {}


class FigureOf(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure, ours with the printed points over it."""

    name: str
    title: str
    experiment: str
    kind: Literal["lines", "bars", "over-time"]
    y: str = "goodput_bps / 1e6"
    """An expression over a flow's metrics; of figures over time, columns of its samples."""
    x: str = ""
    """The sweep key along the axis."""
    series: Sequence[str] = ()
    """Sweep keys, or `flow`, of which each value is a line or a colour."""
    panels: Sequence[str] = ()
    """Sweep keys of which each value is a panel."""
    flows: Sequence[str] = ("*",)
    at: Bindings = {}
    xlabel: str = ""
    ylabel: str = ""
    log: Sequence[Literal["x", "y"]] = ()
    until: float | None = None
    """Seconds shown of figures over time."""
    published: PrintedPoints | None = None
    caption: str = ""


class Term(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number of each run, or one for each value of a swept key or each of several flows."""

    value: str
    """An expression over the metrics of the flow and of the run."""
    experiment: str = ""
    flow: str = ""
    """A name, or a pattern such as `bulk.*` for a vector; empty for what concerns the run."""
    at: Bindings = {}
    along: str = ""
    """The sweep key along which the term is a vector."""


class Check(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number and where it must lie."""

    text: str = ""
    experiment: str = ""
    each: Bindings = {}
    """The check is made at each product of these."""
    terms: dict[str, Term]
    value: str
    above: float | None = None
    below: float | None = None
    between: tuple[float, float] | None = None


class Claim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the study says, as checks over our results."""

    id: str
    text: str
    experiment: str = ""
    each: Bindings = {}
    terms: dict[str, Term] = {}
    value: str = ""
    above: float | None = None
    below: float | None = None
    between: tuple[float, float] | None = None
    checks: Sequence[Check] = ()
    """In place of a single check: all of them must hold."""
    needs: Sequence[Check] = ()
    """What must be so if the set-up is to say anything about the claim."""
    note: str = ""


class Suspicion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A doubt about the study, and an experiment that could refute it."""

    id: str
    text: str
    experiment: str = ""
    checks: Sequence[Check]
    """All of them hold if the suspicion is right."""
    if_confirmed: str
    if_refuted: str


class Reproduction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    title: str
    source: str
    question: str = ""
    note: str = ""
    experiment: Sequence[Experiment]
    table: Sequence[TableOf] = ()
    figure: Sequence[FigureOf] = ()
    claim: Sequence[Claim] = ()
    suspicion: Sequence[Suspicion] = ()
