"""How far the simulator is from ns-2 and from the kernel, per variant, as Markdown tables.

    .venv/bin/python studies/oracles/oracles.py [--oracle ns2|linux-6.12] [--variant NAME]...
                                                [--rival no|yes] [--record] [--again] [--jobs N]

The grid is `study.toml`. The simulator runs it each time; what the oracles came to is kept in
`ns2.csv` and `linux-6.12.csv` beside it, a row per run. With `--record` what is missing there is
run first, and with `--again` what is there is run anew; a recording that was interrupted goes on
where it stopped. Recording needs ns-2 (Debian's `ns2`), or the kernel of `make kernel`.

What is compared is the first flow's goodput and its retransmitted segments, and the mean queue
in packets. Two flows are chaotic: a start some milliseconds later is another outcome. So a value
of a cell is the median over its runs, which differ in the offsets at which the flows start; both
sides draw the same offsets. The error is that of the median, relative to the oracle's; where
that is below ten retransmissions or a tenth of the largest queue, relative to these. A value is
marked as chaotic where half of the runs of either side are not within a tenth of its median.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from cclab import _core, machine, sweep
from cclab.errors import InputError, RunError
from cclab.plan.study import Study
from cclab.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).parent
STUDY = HERE / "study.toml"
RECORDINGS = Path("results/oracles")
CHAOTIC = 0.1
FEWEST_RETRANSMITS = 10.0
LEAST_QUEUE_SHARE = 0.1
TO_EXPLAIN = 0.25


class Cell(NamedTuple):
    """A scenario of the grid."""

    rate_mbps: int
    rtt_ms: int
    limit_packets: int
    rival: bool

    def __str__(self) -> str:
        beside = "against reno" if self.rival else "alone"
        return f"{self.rate_mbps} Mbit/s, {self.rtt_ms} ms, {self.limit_packets} p, {beside}"


class Row(NamedTuple):
    """One run, on one side."""

    variant: str
    cell: Cell
    seed: int
    goodput_bps: float
    retransmits: float
    queue_packets: float


METRICS = ("goodput_bps", "retransmits", "queue_packets")


@dataclass(frozen=True)
class Oracle:
    """What the simulator is held against, and by which of its profiles."""

    name: str
    variants: tuple[str, ...]
    settings: tuple[str, ...]
    """Set for the simulator."""
    kernel_settings: tuple[str, ...]
    """Set for the kernel."""
    runs: dict[bool, int]
    """Runs of a cell, alone and against the rival."""
    asked: float
    runs_alone: dict[str, int] = field(default_factory=dict)
    """Runs of a cell alone, on both sides, of variants whose every run is another."""
    variant_settings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Set for the simulator where it runs this variant, besides `settings`."""

    def runs_of(self, variant: str, rival: bool) -> int:
        """Runs of a cell."""
        return self.runs[rival] if rival else self.runs_alone.get(variant, self.runs[rival])

    def simulated_runs_of(self, variant: str, rival: bool) -> int:
        """Runs of a cell by the simulator."""
        usual = SIMULATED_RUNS[rival]
        return usual if rival else self.runs_alone.get(variant, usual)

    @property
    def file(self) -> Path:
        return HERE / f"{self.name}.csv"


# ns-2's packets are of 1,500 bytes, and no flow is held back by its receiver.
NS2 = Oracle(
    name="ns2",
    variants=("tahoe", "reno", "newreno", "sack", "vegas"),
    settings=("stack=ns2", "flow.mss=1460B", "flow.rwnd=29200kB"),
    kernel_settings=(),
    runs={False: 3, True: 15},
    asked=0.05,
)
LINUX = Oracle(
    name="linux-6.12",
    variants=(
        *("reno", "cubic", "vegas", "veno", "westwood", "highspeed", "scalable", "bic", "htcp"),
        *("hybla", "illinois", "yeah", "lp", "dctcp", "bbr"),
    ),
    settings=("stack=linux-6.12",),
    kernel_settings=(
        # Without a random offset of the peers' clocks, which TCP-LP cannot read.
        'flow.variant.sysctl={"net.ipv4.tcp_timestamps" = 2}',
    ),
    runs={False: 2, True: 5},
    asked=0.10,
    # Where in a tick of the clocks a flow starts decides its whole run.
    runs_alone={"lp": 15},
    # What `tcp_timestamps = 2` is: the receiver's timestamps begin at its clock, not at a die.
    variant_settings={"lp": ("flow.variant.cc_params={timestamp_offset = 0.0}",)},
)
ORACLES = {oracle.name: oracle for oracle in (NS2, LINUX)}
SIMULATED_RUNS = {False: 3, True: 15}


def measured(
    variant: str,
    rival: bool,
    backend: str,
    runs: int,
    settings: Iterable[str],
    out: Path,
    jobs: int,
) -> Iterator[tuple[Row, list[float]]]:
    """Runs a part of the grid on a backend: each run's row, and when its flows started."""
    plan = Study.load(STUDY).plan(
        set=[f"flow.variant.cc={variant}", f"flow.rival.count={int(rival)}", *settings],
        backend=backend,
        repeat=runs,
    )
    results = sweep.carry_out(plan, Store(out), jobs=jobs)
    for point in results.points:
        rate, rtt, limit = (str(value) for value in point.params.values())
        cell = Cell(
            int(rate.removesuffix("Mbit")),
            int(rtt.removesuffix("ms")),
            int(limit.removesuffix("p")),
            rival,
        )
        for run in point.runs:
            flow = run.metrics["flows"][0]
            samples = run.trace.rows("queue_samples")
            backlog = samples.filter(pl.col("link") == 0)["backlog_packets"].mean()
            row = Row(
                variant,
                cell,
                run.run.seed,
                flow["throughput_bps"],
                flow["retransmits"],
                float(str(backlog)),
            )
            yield row, [flow["started_s"] for flow in run.metrics["flows"]]


def simulated(
    oracle: Oracle, variant: str, rival: bool, jobs: int
) -> list[tuple[Row, list[float]]]:
    """The simulator's part."""
    with tempfile.TemporaryDirectory() as folder:
        runs = oracle.simulated_runs_of(variant, rival)
        settings = (*oracle.settings, *oracle.variant_settings.get(variant, ()))
        rows = measured(variant, rival, "sim", runs, settings, Path(folder), jobs)
        return list(rows)


def by_ns2(simulated_run: tuple[Row, list[float]]) -> Row:
    """What ns-2 makes of a run of the simulator, with the flows' starts."""
    row, starts = simulated_run
    duration = 30
    command = ["ns", str(HERE / "dumbbell.tcl")]
    command += [str(number) for number in row.cell[:3]] + [str(duration)]
    for variant, start in zip((row.variant, "reno"), starts, strict=False):
        command += [variant, f"{start:.9f}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    printed = json.loads(done.stdout)
    return row._replace(
        goodput_bps=8 * printed["bytes"] / (duration - starts[0]),
        retransmits=printed["retransmits"],
        queue_packets=printed["queue_packets"],
    )


def record(oracle: Oracle, variant: str, rival: bool, jobs: int, again: bool) -> list[Row]:
    """Runs an oracle's part of the grid."""
    if oracle is NS2:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(by_ns2, simulated(oracle, variant, rival, jobs)))
    folder = RECORDINGS / f"{oracle.name}-{variant}-{'against' if rival else 'alone'}"
    if again and folder.exists():
        folder.rename(folder.with_name(f"{folder.name}-{os.getpid()}.old"))
    runs, settings = oracle.runs_of(variant, rival), oracle.kernel_settings
    return [row for row, _ in measured(variant, rival, "linux", runs, settings, folder, jobs)]


def read(file: Path) -> list[Row]:
    """The rows that are kept in `file`."""
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        return [
            Row(
                row["variant"],
                Cell(
                    int(row["rate_mbps"]),
                    int(row["rtt_ms"]),
                    int(row["limit_packets"]),
                    row["rival"] == "1",
                ),
                int(row["seed"]),
                float(row["goodput_bps"]),
                float(row["retransmits"]),
                float(row["queue_packets"]),
            )
            for row in csv.DictReader(lines)
        ]


def write(file: Path, rows: Iterable[Row]) -> None:
    """Keeps `rows` in `file`, in their order."""
    beside = file.with_suffix(".tmp")
    with beside.open("w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["variant", *Cell._fields, "seed", *METRICS])
        for row in sorted(rows):
            numbers = (f"{row.goodput_bps:.0f}", f"{row.retransmits:g}", f"{row.queue_packets:.2f}")
            table.writerow([row.variant, *map(int, row.cell), row.seed, *numbers])
    beside.replace(file)


class Side(NamedTuple):
    """A metric of a cell over its runs."""

    least: float
    median: float
    most: float
    half: float
    """Width of the middle half."""


def side(values: list[float]) -> Side:
    """The median and the spread of `values`."""
    ordered = sorted(values)
    quarter = (len(ordered) - 1) / 4
    low, high = ordered[math.ceil(quarter)], ordered[math.floor(3 * quarter)]
    return Side(ordered[0], statistics.median(ordered), ordered[-1], max(high - low, 0.0))


class Comparison(NamedTuple):
    """A metric of a cell, on both sides."""

    variant: str
    cell: Cell
    metric: str
    oracle: Side
    simulator: Side

    @property
    def scale(self) -> float:
        """What the error is relative to."""
        floors = {
            "goodput_bps": 0.0,
            "retransmits": FEWEST_RETRANSMITS,
            "queue_packets": LEAST_QUEUE_SHARE * self.cell.limit_packets,
        }
        return max(self.oracle.median, floors[self.metric])

    @property
    def error(self) -> float:
        return (self.simulator.median - self.oracle.median) / self.scale

    @property
    def chaotic(self) -> bool:
        return max(self.oracle.half, self.simulator.half) > 2 * CHAOTIC * self.scale

    @property
    def overlap(self) -> bool:
        """Whether either side's runs reach into the other's."""
        return self.oracle.least <= self.simulator.most and self.simulator.least <= self.oracle.most


def compare(oracle_rows: Iterable[Row], simulator_rows: Iterable[Row]) -> Iterator[Comparison]:
    """Every metric of every cell that both sides have."""

    def cells(rows: Iterable[Row]) -> dict[tuple[str, Cell], list[Row]]:
        ordered = sorted(rows)
        return {key: list(run) for key, run in groupby(ordered, key=lambda row: row[:2])}

    ours = cells(simulator_rows)
    for (variant, cell), theirs in cells(oracle_rows).items():
        for metric in METRICS:
            values = [
                side([float(getattr(row, metric)) for row in rows])
                for rows in (theirs, ours.get((variant, cell), []))
                if rows
            ]
            if len(values) == 2:
                yield Comparison(variant, cell, metric, *values)


def percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def print_tables(oracle: Oracle, comparisons: list[Comparison]) -> None:
    """A row per variant; then every error that asks for an explanation."""
    print(f"\n## {oracle.name}\n")
    print(
        "| variant | goodput: median | worst | retransmits: median | worst "
        "| queue: median | worst | all: median | chaotic | over 25% |"
    )
    print("| --- |" + " ---: |" * 9)
    present = [name for name in oracle.variants if any(c.variant == name for c in comparisons)]
    for name in [*present, "all"] if len(present) > 1 else present:
        own = [c for c in comparisons if name in (c.variant, "all")]
        cells = [name]
        for metric in METRICS:
            errors = [c.error for c in own if c.metric == metric]
            cells.append(percent(statistics.median(map(abs, errors))))
            cells.append(f"{100 * max(errors, key=abs):+.1f}%")
        cells.append(percent(statistics.median(abs(c.error) for c in own)))
        cells.append(f"{sum(c.chaotic for c in own)} of {len(own)}")
        cells.append(str(sum(abs(c.error) > TO_EXPLAIN for c in own)))
        print("| " + " | ".join(cells) + " |")
    far = [c for c in comparisons if abs(c.error) > TO_EXPLAIN]
    if not far:
        return
    print(f"\n{len(far)} of {len(comparisons)} errors over 25% (median, least to most):\n")
    print("| variant | scenario | what | oracle | simulator | error | chaotic | overlap |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- | --- |")
    for c in sorted(far, key=lambda c: (oracle.variants.index(c.variant), c.metric, c.cell)):
        unit, digits = (1e-6, 2) if c.metric == "goodput_bps" else (1, 1)
        texts = [
            f"{s.median * unit:.{digits}f} ({s.least * unit:.{digits}f}-{s.most * unit:.{digits}f})"
            for s in (c.oracle, c.simulator)
        ]
        what = {"goodput_bps": "goodput (Mbit/s)", "retransmits": "retransmits"}.get(
            c.metric, "queue (packets)"
        )
        marks = ["yes" if mark else "" for mark in (c.chaotic, c.overlap)]
        row = [c.variant, str(c.cell), what, *texts, f"{100 * c.error:+.0f}%", *marks]
        print("| " + " | ".join(row) + " |")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--oracle", choices=list(ORACLES), action="append")
    parser.add_argument("--variant", action="append", metavar="NAME")
    parser.add_argument("--rival", choices=["no", "yes"], action="append")
    parser.add_argument("--record", action="store_true", help="run what no recording has yet")
    parser.add_argument("--again", action="store_true", help="record anew what is there")
    parser.add_argument("--jobs", type=int, default=machine.cpus(), metavar="N")
    return parser.parse_args()


def main() -> None:
    """Records if asked to, simulates, prints."""
    asked = arguments()
    rivals = [rival == "yes" for rival in asked.rival or ["no", "yes"]]
    registered = {variant["name"] for variant in json.loads(_core.variants())}
    for oracle in [ORACLES[name] for name in asked.oracle or ORACLES]:
        wanted = [name for name in oracle.variants if name in (asked.variant or oracle.variants)]
        kept = {(row.variant, row.cell, row.seed): row for row in read(oracle.file)}
        ours: list[Row] = []
        theirs: list[Row] = []
        for variant in wanted:
            for rival in rivals:
                can = oracle is not NS2 or variant in registered
                there = any(key[0] == variant and key[1].rival == rival for key in kept)
                if can and (asked.again or (asked.record and not there)):
                    for row in record(oracle, variant, rival, asked.jobs, asked.again):
                        kept[row[:3]] = row
                    write(oracle.file, kept.values())
                part = [
                    row
                    for row in kept.values()
                    if row.variant == variant and row.cell.rival == rival
                ]
                theirs += part
                if not part:
                    print(f"{oracle.name}: no recording of {variant}", file=sys.stderr)
                elif variant in registered:
                    try:
                        ours += [row for row, _ in simulated(oracle, variant, rival, asked.jobs)]
                    except InputError as error:
                        print(f"{oracle.name}: {variant}: {error}", file=sys.stderr)
        missing = sorted(set(wanted) - registered)
        if missing:
            print(f"{oracle.name}: not in the simulator: {', '.join(missing)}", file=sys.stderr)
        comparisons = list(compare(theirs, ours))
        if comparisons:
            print_tables(oracle, comparisons)


if __name__ == "__main__":
    main()
