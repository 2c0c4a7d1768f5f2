"""What kernels on the simulator's network take: real time, and CPU time for each packet.

Each turn runs every study of `benches/wire/` in this process, without Python's part but for its
call: a guest from its boot to its end, the network around it, and the trace. Set-up is what a run
of an instant takes; the cost of a packet is what the rest of the run takes, so it is the difference
between the two, over the packets that left the bottleneck in both directions. One more process is
`cclab run` as users have it, from nothing to the report. `make bench-wire` builds what this needs.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import polars as pl
from measuring import (
    BenchError,
    Verdict,
    conclude,
    failed,
    options,
    print_columns,
    progress,
    spread,
)

import cclab
from cclab import Study, _core
from cclab.execute.backends import linux

HERE = Path(__file__).parent / "wire"
CCLAB = Path(sys.executable).with_name("cclab")
INSTANT_S = 0.5
"""What a run of an instant lasts: boot, set-up, and a handful of packets."""


@dataclass(frozen=True)
class Case:
    """A study, and how far hosts may run ahead of the network."""

    name: str
    study: str
    virtual_s: float
    window_ns: int | None = None
    """Nanoseconds; None: as far as the network allows, which is its delay of 25 ms."""


CASES = (
    Case("two flows, 25 ms ahead", "two-flows", 60.0),
    Case("two flows, 1 ms ahead", "two-flows", 60.0, 1_000_000),
    Case("two flows, nothing ahead", "two-flows", 20.0, 1),
    Case("ten flows of 1 Gbit/s", "ten-flows", 10.0),
    Case("a hundred flows", "hundred-flows", 10.0),
)
TWO, MILLISECOND, NONE, TEN, HUNDRED = CASES


@dataclass
class Sample:
    """The turns of a case; seconds."""

    wall_s: list[float] = field(default_factory=list)
    """Real time from the guest's boot to the trace."""
    cpu_s: list[float] = field(default_factory=list)
    """CPU time of the same, the guest's included."""
    setup_cpu_s: list[float] = field(default_factory=list)
    """CPU time of a run of an instant."""
    packets: int = 0
    """Packets that left the bottleneck, in both directions, less those of an instant."""

    def per_packet_s(self) -> float:
        """CPU time of a packet, without set-up: the median of the turns."""
        pairs = zip(self.cpu_s, self.setup_cpu_s, strict=True)
        return statistics.median(whole - setup for whole, setup in pairs) / self.packets


@dataclass(frozen=True)
class Taken:
    """What one run took and carried."""

    wall_s: float
    cpu_s: float
    packets: int


def cpu_s() -> float:
    """CPU time of this process and of its children that have ended."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def carried_out(case: Case, duration_s: float) -> Taken:
    """Runs `case` for so long."""
    study = Study.load(HERE / f"{case.study}.toml")
    plan = study.plan(set=[f"duration={duration_s:g}s"])
    with tempfile.TemporaryDirectory() as folder:
        cpu, began = cpu_s(), time.monotonic()
        _core.execute_on_kernel(
            plan.runs[0].to_json(),
            folder,
            _core.Progress(),
            str(linux.agent()),
            linux.kernels_of(plan.runs[0].scenario),
            linux.limits(),
            case.window_ns,
        )
        wall, cpu = time.monotonic() - began, cpu_s() - cpu
        links = pl.read_parquet(Path(folder) / "links.parquet")
    ways = links.filter(links["name"].is_in(["bottleneck", "bottleneck.reverse"]))
    return Taken(wall, cpu, int(ways["delivered_packets"].sum()))


def turn(case: Case, sample: Sample) -> None:
    """One turn of a case."""
    setup, whole = carried_out(case, INSTANT_S), carried_out(case, case.virtual_s)
    packets = whole.packets - setup.packets
    if sample.packets not in (0, packets):
        raise BenchError(f"{case.name}: {sample.packets} packets, then {packets}: not one run")
    sample.packets = packets
    sample.wall_s.append(whole.wall_s)
    sample.cpu_s.append(whole.cpu_s)
    sample.setup_cpu_s.append(setup.cpu_s)


def whole_run_s() -> float:
    """Real time of `cclab run` of two flows, from nothing to the report."""
    with tempfile.TemporaryDirectory() as folder:
        study = str(HERE / "two-flows.toml")
        command = [str(CCLAB), "run", study, "--out", folder, "--json"]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
    if done.returncode != 0:
        raise BenchError(f"exit {done.returncode}: {done.stderr.strip()}")
    return seconds


@dataclass
class Measurement:
    """Everything that was measured."""

    samples: dict[str, Sample] = field(default_factory=dict)
    run_s: list[float] = field(default_factory=list)

    def times_real_time(self, case: Case) -> float:
        """Virtual seconds per second."""
        return case.virtual_s / statistics.median(self.samples[case.name].wall_s)

    def rate(self, case: Case) -> float:
        """Packets per CPU-second."""
        return 1 / self.samples[case.name].per_packet_s()

    def verdicts(self) -> list[Verdict]:
        """The asked figures."""
        whole = TWO.virtual_s / statistics.median(self.run_s)
        return [
            Verdict(
                "times real time: two flows, guest, network and trace",
                30,
                self.times_real_time(TWO),
            ),
            Verdict("times real time: the whole cclab run of it, with its report", 20, whole),
            Verdict("packets per CPU-second, 25 ms ahead", 400_000, self.rate(TWO)),
            Verdict("packets per CPU-second, 1 ms ahead", 250_000, self.rate(MILLISECOND)),
            Verdict("packets per CPU-second, nothing ahead", 120_000, self.rate(NONE)),
            Verdict("times real time: ten flows over 1 Gbit/s", 3, self.times_real_time(TEN)),
            Verdict("us of CPU a packet: a hundred flows", 7, 1e6 / self.rate(HUNDRED), True),
        ]


def measure(repeat: int) -> Measurement:
    """Every case, `repeat` times in turns, after one run that warms the host's caches."""
    made = Measurement({case.name: Sample() for case in CASES})
    carried_out(TWO, INSTANT_S)
    for number in range(repeat):
        for case in CASES:
            progress(f"{case.name}: {number + 1}/{repeat}")
            turn(case, made.samples[case.name])
        progress(f"cclab run: {number + 1}/{repeat}")
        made.run_s.append(whole_run_s())
    progress("")
    return made


def print_table(repeat: int, made: Measurement) -> None:
    """For people."""
    print(f"kernels on the simulator's network; median of {repeat} (least to most)\n")
    heading = ("", "virtual s", "real s", "CPU s", "set-up, CPU s", "packets", "us a packet")
    rows = [heading]
    for case in CASES:
        sample = made.samples[case.name]
        rows.append(
            (
                case.name,
                f"{case.virtual_s:g}",
                spread(sample.wall_s),
                spread(sample.cpu_s),
                spread(sample.setup_cpu_s),
                f"{sample.packets:,}",
                f"{sample.per_packet_s() * 1e6:.2f}",
            )
        )
    rows.append(("cclab run of two flows", f"{TWO.virtual_s:g}", spread(made.run_s), *4 * ("",)))
    print_columns(rows)


def document(repeat: int, made: Measurement) -> dict[str, object]:
    """For programs."""
    return {
        "schema": "cclab-bench-wire/1",
        "version": cclab.__version__,
        "machine": {"arch": platform.machine(), "cpus": os.cpu_count(), "load": os.getloadavg()},
        "repeat": repeat,
        "cases": {name: asdict(sample) for name, sample in made.samples.items()},
        "run_s": made.run_s,
    }


def main(argv: list[str]) -> int:
    """0: measured; 1: not, or `--check` found a figure missed."""
    arguments = options(__doc__, 5).parse_args(argv)
    try:
        made = measure(arguments.repeat)
    except (BenchError, cclab.InputError, cclab.RunError) as error:
        return failed(error)
    print_table(arguments.repeat, made)
    return conclude(arguments, made.verdicts(), document(arguments.repeat, made))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
