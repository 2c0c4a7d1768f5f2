"""What the page of a sweep embeds: the one definition of what its program reads.

`tests/javascript/sweep.d.ts` is written from it.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Unit = Literal["bytes", "rate", "time", "share", "plain"]


class Key(TypedDict):
    """A swept key: its values in order, as numbers if all are, and their colours and markers.

    `places` has of each run the place of its value, 16 bits each, in base64.
    """

    key: str
    label: str
    values: list[str]
    numbers: list[float] | None
    looks: list[tuple[str, str]]
    variants: bool
    places: str


class Metric(TypedDict):
    """A number of every run: 32 bits each, in base64, NaN where it was not measured."""

    name: str
    label: str
    unit: Unit
    values: str


class Packed(TypedDict):
    """Numbers from 0 up, as multiples of `unit`: 16 bits each, in base64."""

    unit: float
    data: str


class Line(TypedDict):
    """What curves are of, a flow, a group of flows, a link or a probe, in the figures' look.

    `dash` is in widths of the line.
    """

    name: str
    label: str
    colour: str
    dash: list[float]


class Curve(TypedDict):
    """Of the line number `line`, a number for each step of the run.

    `part` says what they are where the line has several curves in a panel. `bands` has those of the
    flows of a group, below and above their median: of nine in ten, then of half of them.
    """

    line: int
    values: Packed
    part: NotRequired[str]
    bands: NotRequired[list[tuple[Packed, Packed]]]


class Ticks(TypedDict):
    """The steps of a run in which something occurred, and how often: 16 bits each, in base64."""

    label: str
    colour: str
    steps: str
    counts: str


class Level(TypedDict):
    """What `values` are at all times, in one look.

    The axis goes up to those within `reach` times all that curves come to. One that is higher has
    an arrow at the top and is said to be `above`, unless that is empty.
    """

    label: str
    colour: str
    dash: list[float]
    values: list[float]
    reach: float
    above: str


class Crosses(TypedDict):
    """What occurred to the line number `line`: when, in seconds, and at which value."""

    line: int
    label: str
    colour: str
    times: Packed
    values: Packed


class CoursePanel(TypedDict):
    """Curves of one quantity, a key of `quantities`; `link` is whose queue it is, and `notes` are
    words about it."""

    quantity: str
    link: NotRequired[str]
    curves: list[Curve]
    ticks: list[Ticks]
    levels: NotRequired[list[Level]]
    crosses: NotRequired[list[Crosses]]
    notes: NotRequired[list[str]]


class Share(TypedDict):
    """Which share is no longer than each of the times `values`, from the least up: 32 bits each, in
    base64. The look is that of the figures."""

    label: str
    colour: str
    dash: list[float]
    values: str
    shares: str


class Distribution(TypedDict):
    """How times are distributed in a run: `quantity` across and `share` up, as in its figure.

    The axis is logarithmic where the longest is more than `spread` times the shortest. What is
    shorter than `span` times the longest stands there.
    """

    quantity: str
    share: str
    spread: float
    span: float
    curves: list[Share]


class Course(TypedDict):
    """A run over time, in `steps` steps of `step` seconds."""

    step: float
    steps: int
    lines: list[Line]
    panels: list[CoursePanel]
    distributions: NotRequired[list[Distribution]]


class Quantity(TypedDict):
    """What a panel shows: how its figure calls it.

    A `mean` is that of a step, and so of several. What is `sparse` is known at some steps alone: a
    line leads from each to the next. A `phase` is one of the page's by its number.
    """

    title: str
    unit: Unit
    kind: Literal["mean", "state", "sparse", "phase"]


class SweepPage(TypedDict):
    """All runs, column by column; `series` by the place of the run, `command` without its id.

    `bins` of a mean are as many as a figure shows; `phases` have each its name, its colour, and its
    hatch among those of that colour.
    """

    command: str
    keys: list[Key]
    metrics: list[Metric]
    ids: list[str]
    seeds: list[str]
    quantities: dict[str, Quantity]
    bins: int
    phases: list[tuple[str, str, int]]
    series: dict[str, Course]
