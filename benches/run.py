"""Data packets per CPU-second of cclab, ns-3 and ns-2 on one dumbbell, measured in one run.

Each simulator is a whole process that prints one JSON line; its CPU time, user and system, is what
the kernel charges to it. The simulators take turns, so that a slow minute of the machine is a slow
minute for all. `make bench` builds and installs what this needs.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

HERE = Path(__file__).parent
WIRE_BITS = 1500 * 8  # an IP packet: all three are set to this
ASKED_PACKETS_PER_CPU_SECOND = 3_000_000
ASKED_RATIOS = {"ns-3": 60.0, "ns-2": 3.0}
# Two flows through a short queue fill most of the link. Less, or more than it can carry, means
# that the run was another one, or counted something else.
PLAUSIBLE_SHARE = (0.6, 1.0)


class BenchError(Exception):
    """The measurement cannot be made, or does not mean what it should; the text is for people."""


@dataclass(frozen=True)
class Dumbbell:
    """The network and its load; access links and delays are fixed in each simulator's program."""

    flows: int
    rate_bps: int
    duration_s: float
    queue_packets: int

    def arguments(self) -> list[str]:
        """The words by which every simulator's program takes it."""
        return [
            str(self.flows),
            str(self.rate_bps),
            f"{self.duration_s:g}",
            str(self.queue_packets),
        ]

    def most_packets(self) -> float:
        """What the bottleneck can carry in the time."""
        return self.rate_bps * self.duration_s / WIRE_BITS


@dataclass(frozen=True)
class Case:
    """How the flows behave: their congestion control, and segments per acknowledgement."""

    cc: str
    ack_every: int


CASES = (Case("reno", 1), Case("cubic", 1), Case("cubic", 2))


@dataclass(frozen=True)
class Simulator:
    """A program to run, and what to do when it is not there."""

    name: str
    program: str
    install: str
    command: Callable[[str, Dumbbell, Case], list[str]]

    def path(self) -> str:
        """Where the program is; one that is missing is an error, never a shorter table."""
        found = shutil.which(self.program)
        if found is None:
            raise BenchError(f"{self.name}: {self.program} is missing\n  {self.install}")
        return found


@dataclass
class Sample:
    """The runs of one simulator on one case."""

    cpu_seconds: list[float] = field(default_factory=list)
    data_packets: int = 0
    data_packets_sent: int | None = None
    events: int | None = None

    def packets_per_cpu_second(self) -> float:
        """By the median of the CPU times."""
        return self.data_packets / statistics.median(self.cpu_seconds)


def simulators(arguments: argparse.Namespace) -> list[Simulator]:
    """cclab and its peers."""
    return [
        Simulator(
            "cclab",
            arguments.cclab,
            "cargo build --release -p cclab-sim --example dumbbell",
            # Of the stacks that have SACK, this one has it with every congestion control.
            lambda path, dumbbell, case: [
                path,
                *dumbbell.arguments(),
                case.cc,
                arguments.stack,
                str(case.ack_every),
            ],
        ),
        Simulator(
            "ns-3",
            arguments.ns3,
            "sudo apt-get install g++ libns3-dev, then: make bench",
            lambda path, dumbbell, case: [
                path,
                *dumbbell.arguments(),
                case.cc,
                str(case.ack_every),
            ],
        ),
        Simulator(
            "ns-2",
            arguments.ns2,
            "sudo apt-get install ns2",
            lambda path, dumbbell, case: [
                path,
                str(HERE / "ns2" / "dumbbell.tcl"),
                *dumbbell.arguments(),
                case.cc,
                str(case.ack_every),
            ],
        ),
    ]


def run_once(name: str, command: list[str]) -> tuple[float, dict[str, int]]:
    """One process: its CPU seconds, and the JSON line that it prints."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        # Not Popen.wait: the usage must be of this one child.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise BenchError(f"{name}: exit {process.returncode}: {text(err)}\n  {command}")
        # TCP/Linux of ns-2 has lines of its own there.
        lines = [line for line in text(out).splitlines() if line.startswith("{")]
    try:
        printed = json.loads(lines[-1])
        packets = printed["data_packets"]
    except (IndexError, ValueError, KeyError) as error:
        raise BenchError(f"{name}: no JSON line with data_packets\n  {command}") from error
    if not isinstance(packets, int) or packets <= 0:
        raise BenchError(f"{name}: {packets!r} data packets\n  {command}")
    return usage.ru_utime + usage.ru_stime, printed


def text(file: TextIO) -> str:
    """All that was written to it."""
    file.seek(0)
    return file.read().strip()


def check_plausible(name: str, case: Case, dumbbell: Dumbbell, packets: int) -> None:
    """All must have simulated the same load."""
    share = packets / dumbbell.most_packets()
    low, high = PLAUSIBLE_SHARE
    if not low <= share <= high:
        raise BenchError(
            f"{name}, {case.cc}: {packets} data packets are {share:.1%} of what the bottleneck "
            f"carries; between {low:.0%} and {high:.0%} were expected, so this is not the same run"
        )


def measure(
    peers: list[Simulator], dumbbell: Dumbbell, repeat: int
) -> dict[Case, dict[str, Sample]]:
    """Every case with every simulator, `repeat` times in turns."""
    paths = {peer.name: peer.path() for peer in peers}
    samples = {case: {peer.name: Sample() for peer in peers} for case in CASES}
    for case in CASES:
        for turn in range(repeat):
            for peer in peers:
                progress(f"{case.cc}, an ACK per {case.ack_every}: {peer.name} {turn + 1}/{repeat}")
                command = peer.command(paths[peer.name], dumbbell, case)
                seconds, printed = run_once(peer.name, command)
                sample = samples[case][peer.name]
                packets = printed["data_packets"]
                if sample.cpu_seconds and packets != sample.data_packets:
                    raise BenchError(
                        f"{peer.name}: {sample.data_packets} data packets, then {packets}: "
                        f"not the same simulation twice\n  {command}"
                    )
                check_plausible(peer.name, case, dumbbell, packets)
                sample.cpu_seconds.append(seconds)
                sample.data_packets = packets
                sample.data_packets_sent = printed.get("data_packets_sent")
                sample.events = printed.get("events")
    progress("")
    return samples


def progress(line: str) -> None:
    """Where it is, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Verdict:
    """One asked figure beside the least that was measured over all cases."""

    figure: str
    asked: float
    measured: float

    def met(self) -> bool:
        """Whether it is reached in every case."""
        return self.measured >= self.asked


def verdicts(samples: dict[Case, dict[str, Sample]]) -> list[Verdict]:
    """The asked figures."""
    speeds = [
        {name: sample.packets_per_cpu_second() for name, sample in row.items()}
        for row in samples.values()
    ]
    found = [
        Verdict(
            "data packets per CPU-second",
            ASKED_PACKETS_PER_CPU_SECOND,
            min(row["cclab"] for row in speeds),
        )
    ]
    for peer, asked in ASKED_RATIOS.items():
        ratio = min(row["cclab"] / row[peer] for row in speeds)
        found.append(Verdict(f"times {peer}", asked, ratio))
    return found


def print_table(dumbbell: Dumbbell, repeat: int, samples: dict[Case, dict[str, Sample]]) -> None:
    """For people."""
    print(
        f"{dumbbell.flows} flows with SACK, {dumbbell.rate_bps / 1e6:g} Mbit/s, "
        f"{dumbbell.duration_s:g} s, base RTT 44 ms, {dumbbell.queue_packets} packets of queue, "
        f"1500-byte packets, no trace\n"
        f"data packets delivered per CPU-second of the whole process, median of {repeat}\n"
    )
    heading = ["flows", "simulator", "data packets", "CPU s", "packets/CPU-s", "cclab is"]
    rows = [heading]
    for case, row in samples.items():
        ours = row["cclab"].packets_per_cpu_second()
        for name, sample in row.items():
            speed = sample.packets_per_cpu_second()
            rows.append(
                [
                    f"{case.cc}, ACK per {case.ack_every}",
                    name,
                    f"{sample.data_packets:,}",
                    f"{statistics.median(sample.cpu_seconds):.3f}",
                    f"{speed:,.0f}",
                    "" if name == "cclab" else f"{ours / speed:.1f} x",
                ]
            )
    widths = [max(len(row[column]) for row in rows) for column in range(len(heading))]
    for cells in rows:
        left = [cells[column].ljust(widths[column]) for column in range(2)]
        right = [cells[column].rjust(widths[column]) for column in range(2, len(heading))]
        print("  ".join(left + right).rstrip())
    print("\nasked, and the least measured over these cases:")
    for verdict in verdicts(samples):
        print(
            f"  {'met   ' if verdict.met() else 'MISSED'} {verdict.figure}: "
            f"{verdict.asked:,.0f} asked, {verdict.measured:,.1f} measured"
        )


def document(
    dumbbell: Dumbbell, repeat: int, samples: dict[Case, dict[str, Sample]]
) -> dict[str, object]:
    """For programs."""
    return {
        "schema": "cclab-bench/1",
        "machine": {"arch": platform.machine(), "cpus": os.cpu_count()},
        "dumbbell": asdict(dumbbell),
        "repeat": repeat,
        "cases": [
            {
                **asdict(case),
                "simulators": {
                    name: {
                        **asdict(sample),
                        "packets_per_cpu_second": sample.packets_per_cpu_second(),
                    }
                    for name, sample in row.items()
                },
            }
            for case, row in samples.items()
        ],
        "asked": [{**asdict(verdict), "met": verdict.met()} for verdict in verdicts(samples)],
    }


def parse(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    add = parser.add_argument
    add("--flows", type=int, default=2)
    add("--rate", type=int, default=100_000_000, metavar="BPS")
    add("--duration", type=float, default=60.0, metavar="S")
    add("--queue", type=int, default=100, metavar="PACKETS")
    add("--repeat", type=int, default=3, help="runs of each, at least 3 (default: 3)")
    add("--stack", default="linux-6.12", help="cclab's stack (default: linux-6.12)")
    add("--cclab", default=str(target / "release" / "examples" / "dumbbell"), metavar="PROGRAM")
    add("--ns3", default=str(target / "peers" / "ns3-dumbbell"), metavar="PROGRAM")
    add("--ns2", default="ns", metavar="PROGRAM")
    add("--json", type=Path, metavar="FILE", help="write the measurement there too")
    add("--check", action="store_true", help="exit 1 when an asked figure is missed")
    arguments = parser.parse_args(argv)
    if arguments.repeat < 3:
        parser.error("--repeat: a median needs at least 3 runs")
    return arguments


def main(argv: list[str]) -> int:
    """0: measured; 1: not, or `--check` found a figure missed."""
    arguments = parse(argv)
    dumbbell = Dumbbell(arguments.flows, arguments.rate, arguments.duration, arguments.queue)
    try:
        samples = measure(simulators(arguments), dumbbell, arguments.repeat)
    except BenchError as error:
        progress("")
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print_table(dumbbell, arguments.repeat, samples)
    if arguments.json:
        content = json.dumps(document(dumbbell, arguments.repeat, samples), indent=2)
        arguments.json.write_text(content + "\n")
    missed = any(not verdict.met() for verdict in verdicts(samples))
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
