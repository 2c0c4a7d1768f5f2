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


class FlowCourse(TypedDict):
    """A flow over time, step by step."""

    name: str
    label: str
    colour: str
    throughput: Packed
    cwnd: Packed
    srtt: Packed


class Course(TypedDict):
    """A run over time, in steps of `step` seconds; `queue` is a delay or a backlog."""

    step: float
    flows: list[FlowCourse]
    queue: Packed | None
    delay: NotRequired[bool]


class SweepPage(TypedDict):
    """All runs, column by column; `series` by the place of the run, `command` without its id."""

    command: str
    keys: list[Key]
    metrics: list[Metric]
    ids: list[str]
    seeds: list[str]
    series: dict[str, Course]
