"""Data packets per CPU-second of cclab, ns-3 and ns-2 on dumbbells from 2 to 10,000 flows.

Each simulator is a whole process that prints one JSON line; its CPU time, user and system, is what
the kernel charges to it. The simulators take turns, so that a slow minute of the machine is a slow
minute for all. ns-3 simulates less time where it would take minutes, and both sit out the largest
load: their set-up alone would. So it ends within ten minutes; what else there is to compare takes
hours, and needs `--full`. `make bench` builds and installs what this needs.
"""

import argparse
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TextIO

from measuring import BenchError, Verdict, conclude, failed, options, print_columns, progress

HERE = Path(__file__).parent
WIRE_BITS = 1500 * 8  # an IP packet: all three are set to this
ASKED_FEW_FLOWS = 5_000_000
ASKED_MANY_FLOWS = 2_000_000
ASKED_GROWTH = 2.5
ASKED_BYTES_PER_IDLE_FLOW = 4_096
ASKED_RATIOS = {"ns-3": 60.0, "ns-2": 3.0}
# Flows through a short queue fill most of the link. Less, or more than it can carry, means that
# the run was another one, or counted something else.
PLAUSIBLE_SHARE = (0.6, 1.0)
# In a second or two the losses of slow start still show.
PLAUSIBLE_SHARE_OF_SHORT_RUNS = (0.2, 1.0)
SHORT_S = 5.0
# Two counts of flows of which both take far more memory than what starts the program, and so far
# apart that the pages of 2 MB on which flows and links lie are a few dozen bytes a flow.
IDLE_FLOWS = (20_000, 100_000)


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

    def shortened(self, duration_s: float) -> "Dumbbell":
        """The same for less time."""
        return replace(self, duration_s=min(self.duration_s, duration_s))


# A queue of 1.2 ms everywhere.
LOADS = (
    Dumbbell(2, 100_000_000, 60.0, 100),
    Dumbbell(10, 1_000_000_000, 10.0, 100),
    Dumbbell(100, 1_000_000_000, 10.0, 100),
    Dumbbell(1_000, 1_000_000_000, 10.0, 100),
    Dumbbell(10_000, 10_000_000_000, 5.0, 1_000),
)
NS3_SECONDS = {2: 20.0, 10: 2.0, 100: 2.0, 1_000: 2.0, 10_000: 0.5}
# Beyond, the set-up of ns-2 takes minutes, and each run of ns-3 8.5 GB and more than ten minutes,
# unless it is asked for.
NS2_MOST_FLOWS = 1_000
NS3_MOST_FLOWS = 1_000


@dataclass(frozen=True)
class Case:
    """How the flows behave: their congestion control, segments per acknowledgement, and the
    bottleneck's queue."""

    cc: str
    ack_every: int
    qdisc: str = "droptail"
    peers: bool = True

    def name(self) -> str:
        """What heads its column."""
        return self.cc if self.qdisc == "droptail" else f"{self.cc}, {self.qdisc}"

    def label(self) -> str:
        """For the table."""
        return f"{self.name()}, ACK per {self.ack_every}"


CASES = (
    Case("cubic", 1),
    Case("bbr", 1, peers=False),
    Case("cubic", 1, "codel", peers=False),
    Case("cubic", 1, "fq_codel", peers=False),
)
# With `--full` besides: the peers take minutes for each.
FURTHER_CASES = (Case("reno", 1), Case("cubic", 2))


@dataclass(frozen=True)
class Simulator:
    """A program to run, and what to do when it is not there."""

    name: str
    program: str
    install: str
    command: Callable[[str, Dumbbell, Case], list[str]]
    most_flows: float = math.inf
    """It is left out where there are more."""

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
    simulated_seconds: float = 0.0
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
            "cargo build --locked --release -p cclab-sim --example dumbbell",
            # Of the stacks that have SACK, this one has it with every congestion control.
            lambda path, dumbbell, case: [
                path,
                *dumbbell.arguments(),
                case.cc,
                arguments.stack,
                str(case.ack_every),
                case.qdisc,
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
            most_flows_of_ns3(arguments),
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
            NS2_MOST_FLOWS,
        ),
    ]


def run_once(name: str, command: list[str]) -> tuple[float, int, dict[str, int]]:
    """One process: its CPU seconds, its largest memory in bytes, and the JSON line it prints."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        # Not Popen.wait: the usage must be of this one child.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise BenchError(f"{name}: exit {process.returncode}: {text(err)}\n  {command}")
        # TCP/Linux of ns-2 has lines of its own there, even around the one that counts.
        found = re.findall(r'\{"data_packets".*?\}', text(out))
    try:
        printed = json.loads(found[-1])
        packets = printed["data_packets"]
    except (IndexError, ValueError, KeyError) as error:
        raise BenchError(f"{name}: no JSON line with data_packets\n  {command}") from error
    if not isinstance(packets, int) or packets < 0:
        raise BenchError(f"{name}: {packets!r} data packets\n  {command}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, printed


def text(file: TextIO) -> str:
    """All that was written to it."""
    file.seek(0)
    return file.read().strip()


def check_plausible(name: str, case: Case, dumbbell: Dumbbell, packets: int) -> None:
    """All must have simulated the same load."""
    share = packets / dumbbell.most_packets()
    short = dumbbell.duration_s <= SHORT_S
    low, high = PLAUSIBLE_SHARE_OF_SHORT_RUNS if short else PLAUSIBLE_SHARE
    if not low <= share <= high:
        raise BenchError(
            f"{name}, {case.cc}: {packets} data packets are {share:.1%} of what the bottleneck "
            f"carries; between {low:.0%} and {high:.0%} were expected, so this is not the same run"
        )


def takes_part(peer: Simulator, case: Case, load: Dumbbell) -> bool:
    """Whether a simulator is measured there."""
    return peer.name == "cclab" or (case.peers and load.flows <= peer.most_flows)


def measure(
    peers: list[Simulator], load: Dumbbell, repeat: int, cases: tuple[Case, ...]
) -> dict[Case, dict[str, Sample]]:
    """Every case with every simulator, `repeat` times in turns."""
    paths = {peer.name: peer.path() for peer in peers}
    samples: dict[Case, dict[str, Sample]] = {}
    for case in cases:
        taking_part = [peer for peer in peers if takes_part(peer, case, load)]
        row = samples[case] = {peer.name: Sample() for peer in taking_part}
        for turn in range(repeat):
            for peer in taking_part:
                what = f"{load.flows} flows, {case.label()}"
                progress(f"{what}: {peer.name} {turn + 1}/{repeat}")
                dumbbell = load
                if peer.name == "ns-3" and load in LOADS:
                    dumbbell = load.shortened(NS3_SECONDS.get(load.flows, load.duration_s))
                add_run(peer, paths[peer.name], dumbbell, case, row[peer.name])
    progress("")
    return samples


def add_run(peer: Simulator, path: str, dumbbell: Dumbbell, case: Case, sample: Sample) -> None:
    """One run more for `sample`."""
    command = peer.command(path, dumbbell, case)
    if peer.name == "cclab":
        # Which pages of memory a file was read into decides up to a tenth of the time that its
        # program takes, in every run. So each turn runs another copy.
        with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
            copy = shutil.copy(path, folder)
            seconds, _, printed = run_once(peer.name, peer.command(copy, dumbbell, case))
    else:
        seconds, _, printed = run_once(peer.name, command)
    packets = printed["data_packets"]
    if sample.cpu_seconds and packets != sample.data_packets:
        raise BenchError(
            f"{peer.name}: {sample.data_packets} data packets, then {packets}: "
            f"not the same simulation twice\n  {command}"
        )
    check_plausible(peer.name, case, dumbbell, packets)
    sample.cpu_seconds.append(seconds)
    sample.simulated_seconds = dumbbell.duration_s
    sample.data_packets = packets
    sample.data_packets_sent = printed.get("data_packets_sent")
    sample.events = printed.get("events")


def bytes_per_idle_flow(cclab: Simulator) -> float:
    """The memory that a flow more takes, which opens and then has nothing to send: scenario,
    simulation and summary."""
    memory = []
    for flows in IDLE_FLOWS:
        progress(f"{flows} idle flows")
        dumbbell = Dumbbell(flows, 10_000_000_000, 1.0, 1_000)
        command = [*cclab.command(cclab.path(), dumbbell, Case("cubic", 1)), "idle"]
        memory.append(run_once(cclab.name, command)[1])
    progress("")
    return (memory[1] - memory[0]) / (IDLE_FLOWS[1] - IDLE_FLOWS[0])


@dataclass
class Measurement:
    """All that was measured."""

    rows: dict[Dumbbell, dict[Case, dict[str, Sample]]]
    bytes_per_idle_flow: float | None = None

    def cclab_speeds(self, flows: int) -> dict[Case, float]:
        """Of every case with so many flows."""
        return {
            case: row["cclab"].packets_per_cpu_second()
            for load, cases in self.rows.items()
            for case, row in cases.items()
            if load.flows == flows
        }


def verdicts(measured: Measurement) -> list[Verdict]:
    """The asked figures, of what was measured."""
    found = []
    few, many = measured.cclab_speeds(LOADS[0].flows), measured.cclab_speeds(LOADS[-1].flows)
    if few:
        figure = "data packets per CPU-second with 2 flows"
        found.append(Verdict(figure, ASKED_FEW_FLOWS, min(few.values())))
    if many:
        figure = "data packets per CPU-second with 10,000 flows"
        found.append(Verdict(figure, ASKED_MANY_FLOWS, min(many.values())))
    if few and many:
        growth = max(few[case] / speed for case, speed in many.items())
        figure = "times the cost per packet from 2 flows to 10,000"
        found.append(Verdict(figure, ASKED_GROWTH, growth, at_most=True))
    if measured.bytes_per_idle_flow is not None:
        figure = "bytes per idle flow"
        found.append(
            Verdict(figure, ASKED_BYTES_PER_IDLE_FLOW, measured.bytes_per_idle_flow, at_most=True)
        )
    for peer, asked in ASKED_RATIOS.items():
        ratios = [
            row["cclab"].packets_per_cpu_second() / row[peer].packets_per_cpu_second()
            for cases in measured.rows.values()
            for row in cases.values()
            if peer in row
        ]
        found.append(Verdict(f"times {peer}", asked, min(ratios)))
    return found


def print_load(load: Dumbbell, repeat: int, samples: dict[Case, dict[str, Sample]]) -> None:
    """For people."""
    print(
        f"{load.flows:,} flows with SACK, {load.rate_bps / 1e6:g} Mbit/s, "
        f"{load.duration_s:g} s, base RTT 44 ms, {load.queue_packets} packets of queue, "
        f"1500-byte packets, no trace\n"
        f"data packets delivered per CPU-second of the whole process, median of {repeat}\n"
    )
    heading = ["flows", "simulator", "simulated s", "data packets", "CPU s", "packets/CPU-s"]
    heading.append("cclab is")
    rows = [heading]
    for case, row in samples.items():
        ours = row["cclab"].packets_per_cpu_second()
        for name, sample in row.items():
            speed = sample.packets_per_cpu_second()
            rows.append(
                [
                    case.label(),
                    name,
                    f"{sample.simulated_seconds:g}",
                    f"{sample.data_packets:,}",
                    f"{statistics.median(sample.cpu_seconds):.3f}",
                    f"{speed:,.0f}",
                    "" if name == "cclab" else f"{ours / speed:.1f} x",
                ]
            )
    print_columns(rows, names=2)
    print(flush=True)


def print_overview(measured: Measurement) -> None:
    """For people: a line for each load, of the cases of `CASES` and the peers beside the first."""
    heads = [
        "flows",
        *(case.name() for case in CASES),
        *(f"{CASES[0].name()} beside {peer}" for peer in ASKED_RATIOS),
    ]
    rows = [heads]
    for load, cases in measured.rows.items():
        speeds = [cases[case]["cclab"].packets_per_cpu_second() for case in CASES]
        beside = cases[CASES[0]]
        of_peers = [
            f"{speeds[0] / beside[peer].packets_per_cpu_second():.1f} x" if peer in beside else "-"
            for peer in ASKED_RATIOS
        ]
        rows.append([f"{load.flows:,}", *(f"{speed:,.0f}" for speed in speeds), *of_peers])
    print("data packets per CPU-second, an ACK per segment\n")
    print_columns(rows, names=0)


def document(repeat: int, measured: Measurement) -> dict[str, object]:
    """For programs."""
    return {
        "schema": "cclab-bench/2",
        "machine": {"arch": platform.machine(), "cpus": os.cpu_count()},
        "repeat": repeat,
        "cases": [
            {
                "dumbbell": asdict(load),
                **asdict(case),
                "simulators": {
                    name: {
                        **asdict(sample),
                        "packets_per_cpu_second": sample.packets_per_cpu_second(),
                    }
                    for name, sample in row.items()
                },
            }
            for load, cases in measured.rows.items()
            for case, row in cases.items()
        ],
        "bytes_per_idle_flow": measured.bytes_per_idle_flow,
    }


def parse(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = options(__doc__, 3)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    add = parser.add_argument
    one = parser.add_argument_group("one load instead of five")
    one.add_argument("--flows", type=int)
    one.add_argument("--rate", type=int, metavar="BPS")
    one.add_argument("--duration", type=float, metavar="S")
    one.add_argument("--queue", type=int, metavar="PACKETS")
    add("--stack", default="linux-6.12", help="cclab's stack (default: linux-6.12)")
    add("--cclab", default=str(target / "release" / "examples" / "dumbbell"), metavar="PROGRAM")
    add("--ns3", default=str(target / "peers" / "ns3-dumbbell"), metavar="PROGRAM")
    add("--ns2", default="ns", metavar="PROGRAM")
    add(
        "--full",
        action="store_true",
        help="hours: reno and delayed acknowledgements too, and ns-3 with 10,000 flows, which take "
        "it 8.5 GB and more than ten minutes a run",
    )
    add(
        "--ns3-flows",
        type=int,
        metavar="N",
        help=f"the most flows that ns-3 is given (default: {NS3_MOST_FLOWS}; all with --full)",
    )
    return parser.parse_args(argv)


def most_flows_of_ns3(arguments: argparse.Namespace) -> float:
    """Beyond which ns-3 is left out."""
    if arguments.ns3_flows is not None:
        return float(arguments.ns3_flows)
    return math.inf if arguments.full else NS3_MOST_FLOWS


def cases_of(arguments: argparse.Namespace) -> tuple[Case, ...]:
    """What is measured at each load."""
    return (*CASES, *FURTHER_CASES) if arguments.full else CASES


def loads(arguments: argparse.Namespace) -> tuple[Dumbbell, ...]:
    """What is asked for."""
    given = {
        "flows": arguments.flows,
        "rate_bps": arguments.rate,
        "duration_s": arguments.duration,
        "queue_packets": arguments.queue,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return (replace(LOADS[0], **given),) if given else LOADS


def main(argv: list[str]) -> int:
    """0: measured; 1: not, or `--check` found a figure missed."""
    arguments = parse(argv)
    peers = simulators(arguments)
    chosen = loads(arguments)
    measured = Measurement({})
    try:
        for load in chosen:
            # Delayed acknowledgements are measured once: their cost is that of fewer packets.
            every = cases_of(arguments)
            cases = tuple(case for case in every if case.ack_every == 1 or load == chosen[0])
            samples = measured.rows[load] = measure(peers, load, arguments.repeat, cases)
            print_load(load, arguments.repeat, samples)
            for peer in peers:
                if load.flows > peer.most_flows:
                    print(f"{peer.name} is left out at {load.flows:,} flows")
        print_overview(measured)
        if chosen == LOADS:
            measured.bytes_per_idle_flow = bytes_per_idle_flow(peers[0])
    except BenchError as error:
        return failed(error)
    return conclude(arguments, verdicts(measured), document(arguments.repeat, measured))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
