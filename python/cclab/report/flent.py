"""Runs as data files of Flent, version 4: `NAME.POINT.RUN.flent.gz`, which `flent --input` opens.

A ready study has the name that Flent has for it, and series of Flent's names. Any other study,
whatever it is called, is told as the test of Flent that it is most like: uploads are the flows that
go forward, downloads those that go back, and probes are pings.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import _core, whole
from cclab.errors import InputError
from cclab.measure.numbers import stem
from cclab.plan import ready
from cclab.plan.study import Study

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from cclab.documents.scenario import Scenario, Start
    from cclab.measure.points import Measured
    from cclab.measure.results import Results

    Floats = npt.NDArray[np.float64]
    Values = list[float | None]

VERSION = 4
"""The version of Flent's data files."""

STEP_S = 0.2
"""The distance of the points of a series, Flent's own."""

# Runs are in virtual time, which begins here.
_ZERO = "1970-01-01T00:00:00.000000Z"
_MEGABITS = "Mbits/s"


@dataclass(frozen=True)
class _Series:
    """A series: at each step its value, and what was measured as it was."""

    units: str
    values: Values
    raw: list[dict[str, float]]


def write(results: Results, out: Path) -> list[Path]:
    """Writes a data file of each run of `results` into the folder `out`, and gives their paths.

    Equal results give equal bytes. Raises `InputError` if a run recorded no samples of its flows or
    has nothing that Flent has series of, and `StoreError` if the files cannot be written.
    """
    files = {}
    measured = [(run, point) for point in results.points for run in point.runs]
    for run, point in measured:
        label = point.short_label if point.params else ""
        document = _document(results.plan.name, run, label)
        text = json.dumps(document, indent=1, sort_keys=True).encode()
        files[document["metadata"]["DATA_FILENAME"]] = gzip.compress(text, mtime=0)
    whole.files(out, files, root=results.store.path)
    return [out / name for name in files]


def _document(study: str, run: Measured, point: str) -> dict[str, Any]:
    """The data file of a run at a sweep point, which may be empty."""
    scenario = run.run.scenario
    end = run.trace.end_s
    steps = np.arange(0.0, end + STEP_S / 2, STEP_S)
    name, flows, pings = _names(study, scenario)
    if flows and not run.records("flow_samples"):
        raise InputError(
            f"run {run.run.id} recorded no samples of its flows: give [trace] an interval"
        )
    if not flows and not pings:
        raise InputError(
            f"run {run.run.id} has neither flows of TCP nor probes, of which Flent has series"
        )
    series = _flows(run, flows, steps) | _probes(run, pings, steps)
    series |= _together(series)
    length = min(
        (_lasts(f["start"], f["duration"], end) for f in scenario["flows"] if f["duration"]),
        default=end,
    )
    words = re.sub(r"[^A-Za-z0-9_+]+", "-", point).strip("-")
    hosts = [f"host{number}" for number in range(1, 5)]
    streams = {
        f"{way}_streams": sum(1 for name in flows.values() if name.startswith(f"TCP {way}"))
        for way in ("upload", "download")
    }
    metadata: dict[str, Any] = {
        "NAME": name,
        "TITLE": f"{study}: {point}" if point else study,
        "DATA_FILENAME": ".".join(filter(None, (name, words, run.run.id, "flent.gz"))),
        "HOST": hosts[0],
        "HOSTS": hosts,
        "LOCAL_HOST": "cclab",
        "LENGTH": round(length),
        "TOTAL_LENGTH": round(end),
        "STEP_SIZE": STEP_S,
        "TIME": _ZERO,
        "T0": _ZERO,
        "IP_VERSION": 4,
        "NOTE": f"cclab {_core.VERSION}, backend {run.run.backend}, run {run.run.id}, "
        f"seed {run.run.seed}, virtual time",
        "TEST_PARAMETERS": {key: str(count) for key, count in streams.items()},
        "SERIES_META": {key: {"UNITS": line.units} for key, line in series.items()},
    }
    return {
        "version": VERSION,
        "metadata": metadata,
        "x_values": [round(float(x), 6) for x in steps],
        "results": {key: line.values for key, line in series.items()},
        "raw_values": {key: line.raw for key, line in series.items() if line.raw},
    }


def _lasts(start: Start, duration_ns: int, end: float) -> float:
    """How long a flow with a duration may last before the run's end, in seconds."""
    return max(0.0, min(duration_ns * 1e-9, end - start["at"] * 1e-9))


def _names(study: str, scenario: Scenario) -> tuple[str, dict[str, str], dict[str, str]]:
    """The name of the test, and what Flent calls each flow and each probe."""
    # Flent's tests have series of TCP alone.
    flows = [flow for flow in scenario["flows"] if not flow.get("udp")]
    probes = scenario.get("probes", [])
    if _is_ready(study, scenario):
        return (
            study,
            {flow["name"]: f"TCP {_words(flow['name'])}" for flow in flows},
            {probe["name"]: f"Ping (ms) {_upper_first(_words(probe['name']))}" for probe in probes},
        )
    ways = {"forward": "upload", "reverse": "download"}
    there = {flow["direction"] for flow in flows}
    name = {(): "ping", ("forward",): "tcp_nup", ("reverse",): "tcp_ndown"}.get(
        tuple(sorted(there)), "rrul_be_nflows"
    )
    middle = " BE" if name == "rrul_be_nflows" else ""
    counts = dict.fromkeys(ways, 0)
    called = {}
    for flow in flows:
        counts[flow["direction"]] += 1
        called[flow["name"]] = f"TCP {ways[flow['direction']]}{middle}::{counts[flow['direction']]}"
    pings: dict[str, str] = {}
    for probe in probes:
        kind = {"ping": "ICMP", "udp": "UDP BE" if flows else "UDP"}[probe["kind"]]
        whole = f"Ping (ms) {kind}"
        pings[probe["name"]] = f"{whole} {probe['name']}" if whole in pings.values() else whole
    return name, called, pings


def _is_ready(study: str, scenario: Scenario) -> bool:
    """Whether a scenario is of the ready study called `study`, and not of one that has its name."""
    file = ready.file_of(study)
    return file is not None and _series_in(scenario) == _series_in_ready(file)


@cache
def _series_in_ready(file: Path) -> frozenset[tuple[str, str]]:
    return _series_in(Study.load(file).plan().points[0].scenario)


def _series_in(scenario: Scenario) -> frozenset[tuple[str, str]]:
    """What there is a series of, copies of a flow (`count`) as one: flows with the direction of
    their data, and probes with their kind."""
    names = [flow["name"] for flow in scenario["flows"]]
    flows = {(stem(flow["name"], names), flow["direction"]) for flow in scenario["flows"]}
    return frozenset(flows | {(p["name"], p["kind"]) for p in scenario.get("probes", [])})


def _words(name: str) -> str:
    """`upload-Cubic-BE` as `upload Cubic BE`, `upload.2` as `upload::2`."""
    return name.replace("-", " ").replace(".", "::")


def _upper_first(words: str) -> str:
    first, *rest = words.split(" ")
    return " ".join([first.upper(), *rest])


def _flows(run: Measured, names: dict[str, str], steps: Floats) -> dict[str, _Series]:
    """The goodput of each flow: what its receiver got in each step."""
    if not names:
        return {}
    frame = run.table("flow_samples")
    lives = {row["name"]: row for row in run.metrics["flows"]}
    series = {}
    for flow, name in names.items():
        own = frame.filter(flow=flow).sort("time_s")
        if own.is_empty():  # a program that sent nothing by TCP and by UDP
            series[name] = _Series(_MEGABITS, [None] * len(steps), [])
            continue
        when, received = own["time_s"].to_numpy(), own["received_bytes"].to_numpy()
        bits = np.interp(steps, when, received) * 8e-6
        rates = np.diff(bits, prepend=bits[0]) / STEP_S
        began, ended = lives[flow]["started_s"], lives[flow]["ended_s"]
        alive = steps > (np.inf if began is None else began)
        alive &= steps < (np.inf if ended is None else ended + STEP_S)
        values = [float(rate) if on else None for rate, on in zip(rates, alive, strict=True)]
        raw = [
            {"t": float(t), "val": value}
            for t, value in zip(steps, values, strict=True)
            if value is not None
        ]
        series[name] = _Series(_MEGABITS, values, raw)
    return series


def _probes(run: Measured, names: dict[str, str], steps: Floats) -> dict[str, _Series]:
    """The round trips of each probe: at each step the mean of those whose requests left in it."""
    if not names or not run.records("probe_samples"):
        return {}
    frame = run.table("probe_samples")
    series = {}
    for probe, name in names.items():
        own = frame.filter(probe=probe)
        sent, rtt = own["sent_s"].to_numpy(), own["rtt_s"].to_numpy() * 1e3
        # The step at whose end it is told: a request that leaves at a step's instant belongs to it.
        place = np.ceil((sent - 1e-9) / STEP_S).astype(int)
        values: Values = []
        for step in range(len(steps)):
            here = rtt[(place == step) & ~np.isnan(rtt)]
            values.append(float(here.mean()) if len(here) else None)
        raw = [
            {"t": float(t), "val": float(value), "seq": float(number)}
            for number, (t, value) in enumerate(zip(sent, rtt, strict=True))
            if not np.isnan(value)
        ]
        series[name] = _Series("ms", values, raw)
    return series


def _together(series: dict[str, _Series]) -> dict[str, _Series]:
    """The sums, means and indices that Flent's plots are made of."""
    combined = {}

    def add(name: str, beginning: str, units: str, how: Any) -> None:
        members = [member.values for key, member in series.items() if key.startswith(beginning)]
        if members:
            rows = zip(*members, strict=True)
            values = [how([v for v in row if v is not None]) for row in rows]
            combined[name] = _Series(units, values, [])

    for way in ("upload", "download"):
        add(f"TCP {way} sum", f"TCP {way}", _MEGABITS, _sum)
        add(f"TCP {way} avg", f"TCP {way}", _MEGABITS, _mean)
        add(f"TCP {way} fairness", f"TCP {way}", "Idx", _fairness)
    add("TCP totals", "TCP ", _MEGABITS, _sum)
    add("Ping (ms) avg", "Ping (ms) ", "ms", _mean)
    return combined


def _sum(values: list[float]) -> float | None:
    return sum(values) if values else None


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _fairness(values: list[float]) -> float | None:
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else None
