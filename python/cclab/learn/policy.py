"""A policy that was learnt, as a Python class that is a variant: `cc = "./policy.py:Policy"`."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import whole
from cclab.errors import InputError
from cclab.learn.action import LEAST_BPS, LEAST_SEGMENTS, ROOM, RateAction, WindowAction
from cclab.learn.observation import BOUND, FEATURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

TEXT = Template('''\
"""A learnt policy: cc = "./$file:Policy". Written by cclab.learn.save_policy."""

import math

from cclab.variant import Report, Variant

# Weights (a row for each output) and biases of each layer; between layers tanh, at the end
# the action is bounded to -1..1.
LAYERS = $layers
HISTORY = $history
SCALE = $scale


def act(seen: list[float]) -> float:
    """The action for what is seen."""
    for number, (weights, biases) in enumerate(LAYERS, 1):
        seen = [
            bias + sum(w * x for w, x in zip(row, seen, strict=True))
            for row, bias in zip(weights, biases, strict=True)
        ]
        if number < len(LAYERS):
            seen = [math.tanh(value) for value in seen]
    return min(1.0, max(-1.0, seen[0]))


class Policy(Variant):
    """Decides once a round trip, by what cclab.learn.Observation shows of the last ones."""

    own_recovery = True

    def __init__(self) -> None:
        self.seen = [0.0] * ($features * HISTORY)
        self.rtt = 0.0
        self.in_flight = 0
        self.value = 0.0  # $what

    def on_report(self, report: Report) -> None:
        rtt = report.rtt or self.rtt
        if not rtt:
            return
        sent = report.acked + report.lost + report.in_flight - self.in_flight
        figures = [
            (rtt - self.rtt) / report.interval if self.rtt else 0.0,
            rtt / report.min_rtt - 1.0,
            (sent / report.acked if report.acked else max(1, sent)) - 1.0,
        ]
        self.seen = self.seen[$features:] + [min($bound, max(-$bound, f)) for f in figures]
        self.rtt, self.in_flight = rtt, report.in_flight
        action = act(self.seen)
        factor = 1.0 + SCALE * action if action >= 0 else 1.0 / (1.0 - SCALE * action)
$obey
''')
RATE = """\
        if not self.value:
            self.value = self.cwnd * self.mss / rtt
        self.value = max($least, self.value * factor)
        self.pacing_rate = self.value
        self.cwnd = max(10.0, math.ceil($room * self.value * rtt / self.mss))"""
WINDOW = """\
        self.value = max($least, (self.value or self.cwnd) * factor)
        self.cwnd = self.value"""


def save_policy(
    path: str | Path,
    layers: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    history: int = 10,
    action: RateAction | WindowAction | None = None,
) -> Path:
    """Writes a network as the class `Policy` of a Python file, which needs neither this module nor
    numpy; returns the file's path.

    `layers` are weights (outputs x inputs) and biases; between layers stands tanh, and the one
    output is bounded to -1..1. `history` and `action` are those of the environment
    (`RateAction()`), whose interval was one round trip. Raises `InputError` for shapes that do not
    fit, and for numbers that are not finite, and `StoreError` if the file cannot be written.
    """
    file = Path(path)
    if not file.stem.isidentifier() or file.suffix != ".py":
        raise InputError(f"{file}: a class is read from a file such as policy.py")
    told: list[tuple[list[Any], list[Any]]] = []
    size = FEATURES * history
    for number, (weights, biases) in enumerate(layers, 1):
        matrix, vector = np.asarray(weights, dtype=float), np.asarray(biases, dtype=float)
        if matrix.ndim != 2 or matrix.shape[1] != size or vector.shape != matrix.shape[:1]:
            raise InputError(
                f"layer {number} has weights of shape {matrix.shape} and biases of "
                f"{vector.shape}: it takes {size} numbers, so (n, {size}) and (n,) are right"
            )
        if not (np.isfinite(matrix).all() and np.isfinite(vector).all()):
            raise InputError(f"layer {number} has numbers that are not finite")
        told.append((matrix.tolist(), vector.tolist()))
        size = len(vector)
    if size != 1 or not told:
        raise InputError("the last layer has one output: the action")
    does = action if action is not None else RateAction()
    paces = isinstance(does, RateAction)
    obey = Template(RATE if paces else WINDOW).substitute(
        least=LEAST_BPS / 8 if paces else LEAST_SEGMENTS, room=ROOM
    )
    text = TEXT.substitute(
        file=file.name,
        layers=json.dumps(told),
        history=history,
        scale=does.scale,
        features=FEATURES,
        bound=BOUND,
        what="bytes a second" if paces else "segments",
        obey=obey,
    )
    whole.file(file, text.encode())
    return file
