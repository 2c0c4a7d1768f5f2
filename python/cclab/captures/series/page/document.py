"""What the page of a capture embeds: the one definition of what its program reads.

`tests/javascript/capture.d.ts` is written from it.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Kind = Literal["step", "line", "area", "bars", "marks", "dots"]
Unit = Literal["bytes", "rate", "time", "plain"]


class Layer(TypedDict):
    """What of a panel is drawn in one way; `x`, `y` and `low` are doubles in base64.

    Areas, bars and marks have `low`; a colour for dark paper is beside that for light paper.
    """

    kind: Kind
    label: str
    colour: str
    dark: str
    x: str
    y: str
    low: NotRequired[str]
    marker: NotRequired[str | None]
    hollow: NotRequired[bool]


class Panel(TypedDict):
    """Layers on one axis of values, `height` pixels high; the axis ends at `top` if that is set."""

    name: str
    title: str
    height: int
    unit: Unit
    log: bool
    top: float | None
    layers: list[Layer]


class ShownDirection(TypedDict):
    """A direction: what can be chosen, from `span[0]` to `span[1]` seconds.

    `kept` of `all` points are in its panels.
    """

    name: str
    heading: str
    limits: str
    bytes: int
    span: tuple[float, float]
    kept: int
    all: int
    panels: list[Panel]


class CapturePage(TypedDict):
    """The whole capture: its stretch of time, how points were thinned, when it was congested."""

    span: tuple[float, float]
    rule: str
    across: list[Panel]
    congested: tuple[float, float] | None
    directions: list[ShownDirection]
