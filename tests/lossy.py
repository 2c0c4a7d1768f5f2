"""The study of two flows that lose packets, which tests of captures share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_FLOWS = """
duration = "5s"
seed     = 5

[network.bottleneck]
rate   = "10Mbit"
delay  = "5ms"
queue  = { kind = "droptail", limit = "30p" }
loss   = "0.5%"
outage = { start = "1200ms", duration = "300ms" }

[[flow]]
name     = "short"
cc       = "cubic"
rtt      = "20ms"
transfer = "2000003B"
OF_EACH

[[flow]]
name = "long"
cc   = "reno"
rtt  = "80ms"
OF_EACH
"""
"""One that ends and one that goes on, random loss, an outage that is longer than any round trip."""


def study_of_two(points: Iterable[str], *, of_each: str = "", others: str = "") -> str:
    """The study, captured at `points`; its last table is `trace`.

    `of_each` goes into each of the two flows, and `others` are more flows.
    """
    trace = f"[trace]\ncapture = {json.dumps(list(points))}\n"
    return f"{_FLOWS.replace('OF_EACH', of_each)}\n{others}\n{trace}"
