"""Runs ns-2 on the study's networks and pairings, beside the simulator, and keeps `ns2.csv`.

    .venv/bin/python studies/four-flavors-2009/ns2.py [--jobs N]

Needs ns-2 (Debian's `ns2`). Each run has the flows of one run of the simulator, which start when
they start there. `ns2.csv` has a row per flow: throughput is the mean over runs, the share that of
the sum over the flows, with its 95% interval. Two flows are told apart where their intervals do
not overlap. ns-2 has no other randomness: the file comes out the same each time.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cclab import sweep
from cclab.errors import InputError, RunError
from cclab.measure.stats import estimate
from cclab.plan.study import Study
from cclab.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cclab.documents.scenario import Scenario

HERE = Path(__file__).parent
STUDY = HERE / "flavors.toml"
RECORD = HERE / "ns2.csv"
MSS = 960
"""Payload of a packet of 1000 bytes."""

RUNS = 20
"""Draws of the starts."""

SETTINGS = ((1000, 0.0), (20, 0.0), (1000, 0.01), (20, 0.01))
"""The receiver's window in packets, which is none that limits or ns-2's default, and the share of
the bottleneck that is small packets at random times."""


class Group(NamedTuple):
    """Flows that run together."""

    rate: str
    """Of the bottleneck, as the study writes it."""
    window: int
    noise: float
    flavours: str
    """Joined by `+`."""


class Share(NamedTuple):
    """What a flow had of its group, over runs."""

    flow: str
    runs: int
    throughput_bps: float
    share: float
    low: float
    high: float


class Run(NamedTuple):
    """One run: who started when, with which throughput."""

    scenario: Scenario
    seed: int
    starts: dict[str, float]
    throughput_bps: dict[str, float]


def simulated(runs: int, window: int, noise: float, jobs: int) -> Iterator[tuple[Group, list[Run]]]:
    """The simulator's runs of every group."""
    settings = [f"flow.rwnd={window * MSS}B", f"traffic.noise.load={noise}"]
    plan = Study.load(STUDY).plan(set=settings, repeat=runs)
    with tempfile.TemporaryDirectory() as folder:
        results = sweep.carry_out(plan, Store(Path(folder)), jobs=jobs)
        for point in results.points:
            scenario = point.runs[0].run.scenario
            flows = "+".join(flow["name"] for flow in scenario["flows"])
            group = Group(str(point.params["network.bottleneck.rate"]), window, noise, flows)
            yield (
                group,
                [
                    Run(
                        scenario,
                        run.run.seed,
                        {flow["name"]: flow["started_s"] for flow in run.metrics["flows"]},
                        {flow["name"]: flow["throughput_bps"] for flow in run.metrics["flows"]},
                    )
                    for run in point.runs
                ],
            )


def noise_bps(scenario: Scenario) -> float:
    """The rate of the packets at random times."""
    return sum((traffic["params"]["rate"] for traffic in scenario.get("traffic", [])), 0.0)


def by_ns2(window: int, run: Run) -> dict[str, float]:
    """The throughput of each flow in ns-2."""
    network, duration_ns = run.scenario["network"], run.scenario["duration"]
    assert duration_ns is not None, "the study says how long it lasts"
    bottleneck, access = network["bottleneck"], network["access"]
    numbers = [
        bottleneck["rate"],
        bottleneck["delay"] / 1e9,
        bottleneck["queue"]["limit"]["packets"],
        access["rate"],
        access["delay"] / 1e9,
        window,
        duration_ns / 1e9,
        noise_bps(run.scenario),
        run.seed,
    ]
    command = ["ns", str(HERE / "dumbbell.tcl"), *map(str, numbers)]
    for flow, start in run.starts.items():
        command += [flow, f"{start:.9f}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    packets = [int(line) for line in done.stdout.split()]
    return {
        flow: 8 * MSS * delivered / (duration_ns / 1e9 - start)
        for (flow, start), delivered in zip(run.starts.items(), packets, strict=True)
    }


def shares(runs: Sequence[dict[str, float]]) -> list[Share]:
    """Of each flow, from the throughputs of all runs."""
    rows = []
    for flow in runs[0]:
        mean = estimate(run[flow] for run in runs)
        share = estimate(run[flow] / sum(run.values()) for run in runs)
        assert mean is not None
        assert share is not None
        assert share.low is not None
        assert share.high is not None
        rows.append(Share(flow, len(runs), mean.mean, share.mean, share.low, share.high))
    return rows


def told_apart(rows: Iterable[Share]) -> set[tuple[str, str]]:
    """Every two flows of which the first has more than the second: their intervals lie apart."""
    ordered = list(rows)
    return {(a.flow, b.flow) for a in ordered for b in ordered if a.low > b.high}


def agreement(theirs: Iterable[Share], ours: Iterable[Share]) -> str:
    """Whether both sides rank the flows alike: `same`, `open` where one tells two flows apart that
    the other does not, `contradicted` where they tell them apart the other way round.
    """
    here, there = told_apart(ours), told_apart(theirs)
    if any((b, a) in there for a, b in here):
        return "contradicted"
    return "same" if here == there else "open"


def read() -> dict[Group, list[Share]]:
    """What ns-2 came to when it was last run."""
    kept: dict[Group, list[Share]] = {}
    with RECORD.open(newline="") as lines:
        for row in csv.DictReader(lines):
            group = Group(
                row["rate"], int(row["window_packets"]), float(row["noise"]), row["flavours"]
            )
            numbers = [float(row[key]) for key in ("throughput_bps", "share", "low", "high")]
            kept.setdefault(group, []).append(Share(row["flow"], int(row["runs"]), *numbers))
    return kept


def write(groups: dict[Group, list[Share]]) -> None:
    """Keeps what ns-2 came to."""
    beside = RECORD.with_suffix(".tmp")
    with beside.open("w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["rate", "window_packets", "noise", "flavours", *Share._fields])
        for group, rows in groups.items():
            for row in rows:
                numbers = (f"{row.throughput_bps:.0f}", *(f"{x:.4f}" for x in row[3:]))
                table.writerow([*group, row.flow, row.runs, *numbers])
    beside.replace(RECORD)


def main() -> int:
    """Runs ns-2 and prints both sides."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    recorded = {}
    print("| rate | window | noise | ns-2 | simulator | ranking |")
    print("| --- | ---: | ---: | --- | --- | --- |")
    for window, noise in SETTINGS:
        for group, runs in simulated(RUNS, window, noise, arguments.jobs):
            with ThreadPoolExecutor(arguments.jobs) as pool:
                theirs = list(pool.map(by_ns2, [window] * len(runs), runs))
            recorded[group] = shares(theirs)
            ours = shares([run.throughput_bps for run in runs])
            cells = [group.rate, str(group.window), f"{group.noise:g}"]
            for rows in (recorded[group], ours):
                cells.append(", ".join(f"{row.flow} {100 * row.share:.1f}%" for row in rows))
            print(f"| {' | '.join(cells)} | {agreement(recorded[group], ours)} |")
    write(recorded)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (InputError, RunError) as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
