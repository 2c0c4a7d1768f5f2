"""Every number of a run's metrics, by one name, such as `jain` or `flow.short.goodput_bps`."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cclab import metrics


class Numbers(Mapping[str, float]):
    """Numbers by their names, in little memory: what has the same names has them once.

    They are worked out once for each run, and a store has a hundred thousand.
    """

    __slots__ = ("_places", "_values")

    def __init__(self, numbers: Mapping[str, float]) -> None:
        """Those in `numbers`, in that order."""
        names = tuple(numbers)
        self._places = _PLACES.setdefault(names, {name: n for n, name in enumerate(names)})
        self._values = array("d", numbers.values())

    def __getitem__(self, name: str) -> float:
        """The number called `name`."""
        return self._values[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._places)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._values)


_PLACES: dict[tuple[str, ...], dict[str, int]] = {}
"""Where the numbers of these names are."""


def of(measured: Mapping[str, Any]) -> Numbers:
    """Every number of a run's metrics, those `measured`, by its name.

    Copies of a flow (`count`) are one: their share is the sum of theirs, all else the mean.
    """
    numbers: dict[str, float] = {}
    for key, value in measured.items():
        if key == "flows":
            numbers |= _of_flows(value, metrics.shares(measured))
        elif key == "groups":
            for group in value:
                numbers |= _numbers(group, f"group.{group['name']}.")
        elif key == "traffic":
            for source in value:
                plain = {k: v for k, v in source.items() if k != "transfers"}
                numbers |= _numbers(plain | metrics.transfers(source), f"traffic.{source['name']}.")
        elif key == "probes":
            for probe in value:
                numbers |= _numbers(probe, f"probe.{probe['name']}.")
        elif key not in ("warnings", "machines", "fidelity"):
            numbers |= _numbers({key: value}, "")
    return Numbers(numbers)


def stem(flow: str, flows: Sequence[str]) -> str:
    """The name that the study gives a flow of which `flow` is a copy; else its own."""
    name, dot, number = flow.rpartition(".")
    return name if dot and number.isdigit() and name not in flows else flow


def _of_flows(
    flows: Sequence[Mapping[str, Any]], shares: Sequence[float | None]
) -> dict[str, float]:
    names = [flow["name"] for flow in flows]
    copies: dict[str, list[tuple[Mapping[str, Any], float | None]]] = {}
    for flow, share in zip(flows, shares, strict=True):
        copies.setdefault(stem(flow["name"], names), []).append((flow, share))
    means: dict[str, float] = {}
    for name, alike in copies.items():
        numbers = [_numbers(flow, f"flow.{name}.") for flow, _ in alike]
        means |= numbers[0] if len(numbers) == 1 else _means(numbers)
        own = [share for _, share in alike if share is not None]
        if own:
            means[f"flow.{name}.share"] = own[0] if len(own) == 1 else math.fsum(own)
    return means


def _means(numbers: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each number over those that have it."""
    means = {}
    for key in dict.fromkeys(key for one in numbers for key in one):
        seen = [one[key] for one in numbers if key in one]
        means[key] = seen[0] if len(seen) == 1 else math.fsum(seen) / len(seen)
    return means


def _numbers(values: Mapping[str, Any], prefix: str) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for key, value in values.items():
        kind = type(value)
        if kind is float or kind is int:
            numbers[prefix + key] = float(value)
        elif kind is dict:
            numbers |= _numbers(value, f"{prefix}{key}.")
    return numbers
