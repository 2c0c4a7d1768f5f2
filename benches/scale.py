"""100,000 flows on a fat tree and on a random graph: speed beside 10,000 on a dumbbell, memory, and
what would cross if the network were cut into parts for several processors or machines.

Whole processes take turns. The program counts what its links carried; how far parts could run
before they wait for each other, and what that is worth, is reckoned from these counts, the
processor's time and the measured cost of waiting. `make bench-scale` builds what it needs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import BenchError, conclude, failed, options, print_columns, progress

if TYPE_CHECKING:
    import argparse

HERE = Path(__file__).parent
RATE_BPS = 100_000_000
QUEUE_PACKETS = 1_000
DUMBBELL = ("10000", "10000000000", "1", "1000", "cubic", "linux-6.12", "2")
# The delay of links, which is how far parts can be ahead of each other.
DELAYS_US = {"fat-tree": 10, "random": 1_000}
# Delays for which the cut is reckoned: the counts do not hang on them, only the window does.
WINDOWS_US = (1, 10, 100, 1_000)


def run_once(command: list[str]) -> tuple[float, int, dict[str, Any]]:
    """One process: its processor seconds, its largest memory in bytes, and what it prints."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out)
        # Not Popen.wait: the usage must be of this one child.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if process.returncode != 0:
            raise BenchError(f"exit {process.returncode}\n  {command}")
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, json.load(out)


@dataclass
class Measured:
    """The turns of one load."""

    cpu_s: list[float] = field(default_factory=list)
    peak_bytes: list[int] = field(default_factory=list)
    printed: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, command: list[str]) -> None:
        """One more run, which is the same simulation."""
        cpu_s, peak_bytes, printed = run_once(command)
        if self.printed and printed["data_packets"] != self.printed["data_packets"]:
            raise BenchError(f"{name}: not the same simulation twice")
        parts = printed.get("cpu_s")
        # A run sets itself up as the one did that ended at once.
        self.cpu_s.append(parts["run"] - parts["set_up"] if parts else cpu_s)
        self.peak_bytes.append(peak_bytes)
        self.printed = printed

    def cost_s(self, of: str = "data_packets") -> float:
        """Processor seconds for each of what it counted, by the median of its turns."""
        return statistics.median(self.cpu_s) / int(self.printed[of])


def scale(arguments: argparse.Namespace, topology: str, flows: int, *kind: str) -> list[str]:
    """The command that runs so many flows there."""
    return [
        arguments.scale,
        topology,
        *(str(flows), str(arguments.links), str(RATE_BPS), str(DELAYS_US[topology])),
        *(str(QUEUE_PACKETS), f"{arguments.duration:g}", *kind),
    ]


def measure(arguments: argparse.Namespace) -> tuple[dict[str, Measured], dict[str, float]]:
    """Speeds in turns, and the memory of a flow more."""
    found = {name: Measured() for name in ("dumbbell", *DELAYS_US)}
    for turn in range(arguments.repeat):
        for name, load in found.items():
            progress(f"{name} {turn + 1}/{arguments.repeat}")
            is_dumbbell = name == "dumbbell"
            command = [arguments.dumbbell, *DUMBBELL]
            load.add(name, command if is_dumbbell else scale(arguments, name, arguments.flows))
    memory = {}
    few, many = arguments.flows // 2, arguments.flows
    for topology in DELAYS_US:
        for kind in ((), ("idle",)):
            progress(f"memory of a flow: {topology} {' '.join(kind)}")
            peaks = [run_once(scale(arguments, topology, flows, *kind))[1] for flows in (few, many)]
            memory[f"{topology}, {kind[0] if kind else 'busy'}"] = (peaks[1] - peaks[0]) / few
    progress("")
    return found, memory


def bound(load: Measured, cut: dict[str, Any], window_us: float, wait_s: float) -> dict[str, float]:
    """What parts have to do in a window, and how much faster they are together at most: the busiest
    does its share of the work and waits once."""
    windows = load.printed["duration_s"] / (window_us * 1e-6)
    work_s = statistics.median(load.cpu_s) / windows
    busiest_s = work_s * cut["imbalance"] / cut["parts"]
    return {
        "packets_of_a_part": cut["all"] / windows / cut["parts"],
        "crossing": cut["crossing"] / windows,
        "crossing_of_a_pair": cut["crossing_of_a_pair"] / windows,
        "busiest_s": busiest_s,
        "wait_share": wait_s / busiest_s,
        "speed_up": work_s / (busiest_s + wait_s),
    }


def print_speed(found: dict[str, Measured], memory: dict[str, float]) -> None:
    """For people."""
    beside = found["dumbbell"]
    rows = [["load", "flows", "data packets", "busy", "packets/CPU-s", "of the dumbbell's"]]
    rows[0] += ["crossings a packet", "peak MB", "set-up of the run"]
    for name, load in found.items():
        printed = load.printed
        cpu = printed.get("cpu_s", {})
        crossings = printed.get("crossings")
        rows.append(
            [
                name,
                f"{printed.get('flows', 10_000):,}",
                f"{printed['data_packets']:,}",
                f"{printed['busy']:.0%}" if "busy" in printed else "",
                f"{1 / load.cost_s():,.0f}",
                f"{beside.cost_s() / load.cost_s():.2f}",
                f"{crossings / printed['data_packets']:.1f}" if crossings else "",
                f"{max(load.peak_bytes) / 1e6:,.0f}",
                f"{cpu['set_up'] / cpu['run']:.1%}" if cpu else "",
            ]
        )
    print_columns(rows)
    print("\nbytes of a flow more:")
    for name, size in memory.items():
        print(f"  {name}: {size:,.0f}")


def print_cuts(name: str, load: Measured) -> None:
    """What crosses, and what parts gain at most."""
    waits = load.printed["synchronisation_s"]
    print(f"\n{name}: {load.printed['hosts']:,} hosts, {load.printed['links']:,} links")
    rows = [["parts", "links cut", "packets that cross", "busiest part's load"]]
    for cut in load.printed["cuts"]:
        share = cut["crossing"] / cut["all"]
        row = [f"{cut['parts']}", f"{cut['cut_links']}", f"{share:.1%}", f"{cut['imbalance']:.2f}"]
        rows.append(row)
    print_columns(rows)
    rows = [["parts", "window us", "packets of a part", "that cross", "from one to one"]]
    rows[0] += ["barrier/work", "speed-up", "loopback/work", "speed-up"]
    for cut in load.printed["cuts"]:
        for window in WINDOWS_US:
            by = {what: bound(load, cut, window, wait) for what, wait in waits.items()}
            near, far = by["barrier"], by["loopback"]
            rows.append(
                [
                    f"{cut['parts']}",
                    f"{window:g}",
                    f"{near['packets_of_a_part']:,.1f}",
                    f"{near['crossing']:,.1f}",
                    f"{near['crossing_of_a_pair']:,.1f}",
                    f"{near['wait_share']:.2g}",
                    f"{near['speed_up']:.2f}",
                    f"{far['wait_share']:.2g}",
                    f"{far['speed_up']:.2f}",
                ]
            )
    print()
    print_columns(rows)


def parse(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = options(__doc__, 3)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    examples = target / "release" / "examples"
    add = parser.add_argument
    add("--flows", type=int, default=100_000, help="flows (default: 100,000)")
    add("--links", type=int, default=1_000, help="links, the nearest that go (default: 1,000)")
    add("--duration", type=float, default=0.5, metavar="S", help="simulated time (default: 0.5)")
    add("--scale", default=str(examples / "scale"), metavar="PROGRAM")
    add("--dumbbell", default=str(examples / "dumbbell"), metavar="PROGRAM")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """The measurement."""
    arguments = parse(argv)
    try:
        found, memory = measure(arguments)
    except (BenchError, OSError) as error:
        return failed(error)
    print_speed(found, memory)
    for name in DELAYS_US:
        print_cuts(name, found[name])
    loads = {name: {"cpu_s": load.cpu_s, **load.printed} for name, load in found.items()}
    return conclude(arguments, [], {"schema": "cclab-bench-scale/1", **loads, "memory": memory})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
