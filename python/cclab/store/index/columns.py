"""A scenario and its metrics as the cells of tables, under the names of the study file.

Times are seconds, rates bits per second, sizes bytes. A key of a scenario bears its path in the
study file without `network.`; lists other than a lone random loss stay JSON text. What a run has
no value of has no cell.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from cclab import _core
from cclab.errors import StudyError
from cclab.metrics import FLOW_GROUPS, group_share, shares, transfers
from cclab.store.index import dimensions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cclab.documents.scenario import Link, Scenario

Cells = dict[str, Any]

_WORDLESS = frozenset({"network", "params"})
"""Levels that leave no word in a column's name: parameters stand beside their kind."""

_IN_SI_UNITS = frozenset({"params", "cc_params"})
"""Levels whose numbers are in SI units already."""

_LISTS = ("flows", "groups", "traffic", "probes", "variant_files")


@dataclass(frozen=True)
class Levels:
    """The cells of a run, and of all in it of which there may be several."""

    run: Cells
    flows: list[Cells]
    traffic: list[Cells]
    probes: list[Cells]
    groups: list[Cells]


class _Flow(msgspec.Struct):
    base_rtt_s: float


class _Described(msgspec.Struct):
    """What is read of a description: it tells more."""

    flows: list[_Flow]


def of_scenario(scenario: Scenario) -> Levels:
    """The cells of a scenario."""
    rtts = [_nanoseconds(flow.base_rtt_s) for flow in _described(scenario)]
    run: Cells = {}
    for key, value in scenario.items():
        if key not in _LISTS:
            _flatten(run, key, value)
    run["bottleneck.loss"] = _random_loss(scenario["network"]["bottleneck"])
    run |= _limit_in_bdp(scenario, rtts)
    run["flows"] = len(scenario["flows"])
    run["variants"] = ",".join(flow["cc"] for flow in scenario["flows"])
    flows = [_level(flow) for flow in scenario["flows"]]
    for flow, rtt in zip(flows, rtts, strict=False):
        flow["rtt"] = rtt
    traffic = [_level(source) for source in scenario.get("traffic", [])]
    probes = [_level(probe) for probe in scenario.get("probes", [])]
    return Levels(run, flows, traffic, probes, [])


def of_metrics(metrics: Cells) -> Levels:
    """The cells of a run's metrics."""
    run: Cells = {}
    for key, value in metrics.items():
        if key == "warnings":
            run["warnings"] = ",".join(dict.fromkeys(w["code"] for w in value))
        elif key == "bottleneck":
            bands = {band["name"]: band for band in value.get("bands", [])}
            plain = {k: v for k, v in value.items() if k != "bands"}
            _spread(run, key, plain, ".")
            for name, band in bands.items():
                _spread(run, f"{key}.band.{name}", {k: band[k] for k in band if k != "name"}, ".")
        elif key not in _LISTS:
            _spread(run, key, value, ".")
    flows = []
    for flow, share in zip(metrics["flows"], shares(metrics), strict=True):
        cells: Cells = {"share": share}
        for key, value in flow.items():
            if value is not None or key not in FLOW_GROUPS:
                _spread(cells, key, value, "_")
        flows.append(cells)
    sources = []
    for source in metrics.get("traffic", []):
        cells = {}
        for key, value in source.items():
            if key != "transfers":
                _spread(cells, key, value, "_")
        sources.append(cells | transfers(source))
    groups = [
        {
            **group,
            "variants": ",".join(group["variants"]),
            "share": group_share(metrics, group["name"]),
        }
        for group in metrics.get("groups", [])
    ]
    return Levels(run, flows, sources, metrics.get("probes", []), groups)


def _spread(cells: Cells, name: str, value: Any, joint: str) -> None:
    """Puts a metric into `cells`; those of a group as `GROUP JOINT NAME`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _spread(cells, f"{name}{joint}{key}", inner, joint)
    elif isinstance(value, list):
        cells[name] = _text(value)
    else:
        cells[name] = value


def _level(keys: Mapping[str, object]) -> Cells:
    cells: Cells = {}
    for key, value in keys.items():
        _flatten(cells, key, value)
    return cells


def _flatten(cells: Cells, path: str, value: Any, *, scaled: bool = True) -> None:
    """Puts the key at `path` into `cells`; `scaled` says that times count nanoseconds."""
    key = path.rpartition(".")[2]
    if isinstance(value, dict):
        if key == "limit":
            cells[path] = value.get("bytes")
            cells[f"{path}_packets"] = value.get("packets")
            return
        stem = path.removesuffix(key) if key in _WORDLESS else f"{path}."
        scaled = scaled and key not in _IN_SI_UNITS
        for inner, below in value.items():
            at = key == "start" and inner == "at"
            _flatten(cells, path if at else f"{stem}{inner}", below, scaled=scaled)
    elif isinstance(value, list):
        words = all(isinstance(word, str) for word in value)
        cells[path] = ",".join(value) if words else _text(value)
    elif scaled and type(value) is int and dimensions.is_time(key):
        cells[path] = value / 1e9
    else:
        cells[path] = value


def _limit_in_bdp(scenario: Scenario, rtts: list[float]) -> Cells:
    """The limit of the bottleneck's queue over its rate times the largest base RTT."""
    bottleneck = scenario["network"]["bottleneck"]
    limit = bottleneck["queue"]["limit"].get("bytes")
    rate = bottleneck["rate"]
    if not (limit and rate and rtts and max(rtts)):
        return {"bottleneck.queue.limit_bdp": None}
    return {"bottleneck.queue.limit_bdp": limit * 8 / (rate * max(rtts))}


def _random_loss(link: Link) -> float | None:
    """The probability of a link's loss: 0 without one, None of bursts, lists and several."""
    losses = link.get("loss", [])
    if not losses:
        return 0.0
    return losses[0]["model"].get("random") if len(losses) == 1 else None


def _described(scenario: Scenario) -> list[_Flow]:
    """The flows as the simulator sees them; none of a scenario that is beyond it."""
    try:
        text = _core.describe(msgspec.json.encode(scenario).decode())
    except StudyError:
        return []
    return msgspec.json.decode(text, type=_Described).flows


def _nanoseconds(seconds: float) -> float:
    """Without what sums of fractions add in the last digits: `rtt == 20ms` is to hold."""
    return round(seconds * 1e9) / 1e9


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
