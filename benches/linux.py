"""Real time that runs on the linux backend take: whole processes, boot, and what tracing costs.

Each turn runs every study of `benches/linux/` twice: as users do, `cclab run` from nothing to the
report, and by the example `guest_bench`, which boots a guest with all of the kernel's events on,
one with those of acknowledgements, and one with none. The turns follow one another, so that a slow
minute of the machine is a slow minute for all. What it is measured against is real time: a testbed
of namespaces or machines needs one second for a second. `make bench-linux` builds what this needs.
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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
ROOT = HERE.parent
TRANSFER, TWO_FLOWS = "transfer", "two-flows"
MOST_TRANSFER_S = 2.5
LEAST_TIMES_REAL_TIME = 10.0
MOST_TRACING = 0.5
MOST_BOOT_S = 0.5


@dataclass
class Sample:
    """The turns of one study; seconds of real time unless named otherwise."""

    virtual_s: float = 0.0
    run_s: list[float] = field(default_factory=list)
    """`cclab run`: Python's start, boot, transfer, harvest, metrics, figures, page."""
    run_cpu_s: list[float] = field(default_factory=list)
    """CPU seconds of the same, the guest's included."""
    all_s: list[float] = field(default_factory=list)
    """The guest's process with every event on, from its start to its end."""
    acks_s: list[float] = field(default_factory=list)
    """The same with an event per acknowledgement."""
    none_s: list[float] = field(default_factory=list)
    """The same without events."""
    harvest_s: list[float] = field(default_factory=list)
    """Making the trace of the records, events included."""
    boot_s: list[float] = field(default_factory=list)
    """From the start of the guest's process to the first SYN."""
    all_mb: float = 0.0
    """What all events come to."""
    acks_mb: float = 0.0
    """What those of acknowledgements come to."""

    def added(self, seconds: list[float]) -> float:
        """What events add to the guest's time, as a fraction: pairs of one turn, by the median."""
        pairs = zip(seconds, self.none_s, strict=True)
        return statistics.median(on / off for on, off in pairs) - 1

    def times_real_time(self) -> float:
        """Virtual seconds per second of the whole process."""
        return self.virtual_s / statistics.median(self.run_s)


@dataclass(frozen=True)
class Programs:
    """What is run."""

    cclab: str
    guest_bench: str
    agent: str
    kernel: str

    @classmethod
    def find(cls, arguments: argparse.Namespace) -> "Programs":
        """All of them; one that is missing is an error, never a shorter table."""
        remedies = {
            "cclab": "make setup",
            "guest_bench": "cargo build --locked --release -p cclab-linux --example guest_bench",
            "agent": "make setup",
        }
        found = {}
        for name, remedy in remedies.items():
            path = shutil.which(getattr(arguments, name))
            if path is None:
                raise BenchError(f"{getattr(arguments, name)} is missing\n  {remedy}")
            found[name] = str(Path(path).absolute())
        kernel = arguments.kernel or called([found["cclab"], "kernel", "path"])[0].strip()
        return cls(kernel=kernel, **found)


def called(command: list[str]) -> tuple[str, float, float]:
    """One process: what it printed, its real seconds and its CPU seconds, children included."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    if done.returncode != 0:
        raise BenchError(f"exit {done.returncode}: {done.stderr.strip()}\n  {command}")
    user = after.children_user - before.children_user
    system = after.children_system - before.children_system
    return done.stdout, after.elapsed - before.elapsed, user + system


def take(programs: Programs, name: str, sample: Sample) -> None:
    """One turn of a study."""
    study = str(HERE / "linux" / f"{name}.toml")
    with tempfile.TemporaryDirectory() as folder:
        command = [programs.cclab, "run", study, "--out", folder, "--json"]
        text, seconds, cpu = called(command)
    run = json.loads(text)["runs"][0]
    sample.run_s.append(seconds)
    sample.run_cpu_s.append(cpu)
    guest = [programs.guest_bench, "--kernel", programs.kernel, "--agent", programs.agent]
    told = json.loads(called([*guest, "--repeat", "1", study])[0])
    if not told["same_run"]:
        raise BenchError(f"{name}: with events and without them it is not the same run")
    if sample.virtual_s and told["virtual_s"] != sample.virtual_s:
        raise BenchError(f"{name}: {sample.virtual_s} s, then {told['virtual_s']} s: not one run")
    received = sum(flow["bytes_received"] for flow in run["flows"])
    if not 0.8 < received * 8 / (100e6 * told["virtual_s"]) < 1:
        raise BenchError(f"{name}: {received} bytes do not fill the link: this is another run")
    sample.virtual_s = told["virtual_s"]
    sample.all_mb = told["events_bytes"]["all"] / 1e6
    sample.acks_mb = told["events_bytes"]["acks"] / 1e6
    sample.all_s += told["all_s"]
    sample.acks_s += told["acks_s"]
    sample.none_s += told["none_s"]
    sample.harvest_s += told["harvest_s"]
    sample.boot_s += told["boot_s"]


def measure(programs: Programs, repeat: int) -> dict[str, Sample]:
    """Every study, `repeat` times in turns, after one turn that warms the host's caches."""
    samples = {name: Sample() for name in (TRANSFER, TWO_FLOWS)}
    for name in samples:
        progress(f"{name}: warming up")
        take(programs, name, Sample())
    for turn in range(repeat):
        for name, sample in samples.items():
            progress(f"{name}: {turn + 1}/{repeat}")
            take(programs, name, sample)
    progress("")
    return samples


def verdicts(samples: dict[str, Sample]) -> list[Verdict]:
    """The asked figures."""
    boots = [boot for sample in samples.values() for boot in sample.boot_s]
    return [
        Verdict(
            "s of real time for the transfer, cclab run as a whole",
            MOST_TRANSFER_S,
            statistics.median(samples[TRANSFER].run_s),
            at_most=True,
        ),
        Verdict(
            "times real time with two flows, cclab run as a whole",
            LEAST_TIMES_REAL_TIME,
            samples[TWO_FLOWS].times_real_time(),
        ),
        Verdict(
            "of a guest's time is what an event per acknowledgement adds",
            MOST_TRACING,
            max(sample.added(sample.acks_s) for sample in samples.values()),
            at_most=True,
        ),
        Verdict(
            "s from a guest's start to the first SYN",
            MOST_BOOT_S,
            statistics.median(boots),
            at_most=True,
        ),
    ]


def print_table(repeat: int, samples: dict[str, Sample]) -> None:
    """For people."""
    print(f"100 Mbit/s, 50 ms, a guest for each run; median of {repeat} (least to most)\n")
    rows: list[tuple[str, Callable[[Sample], str]]] = [
        ("virtual time, s", lambda s: f"{s.virtual_s:.2f}"),
        ("cclab run, all of it, s", lambda s: spread(s.run_s)),
        ("  CPU seconds", lambda s: spread(s.run_cpu_s)),
        ("  virtual seconds per second", lambda s: f"{s.times_real_time():.1f}"),
        ("guest without events, s", lambda s: spread(s.none_s)),
        ("  virtual seconds per second", lambda s: per_second(s, s.none_s)),
        ("guest with an event per ACK, s", lambda s: spread(s.acks_s)),
        ("  adds", lambda s: f"{s.added(s.acks_s):+.0%} ({s.acks_mb:.0f} MB)"),
        ("guest with every event, s", lambda s: spread(s.all_s)),
        ("  adds", lambda s: f"{s.added(s.all_s):+.0%} ({s.all_mb:.0f} MB)"),
        ("trace made of the records, s", lambda s: spread(s.harvest_s)),
        ("start of the guest to first SYN, s", lambda s: spread(s.boot_s)),
    ]
    heading = ("", "one transfer of 100 MB", "two flows, 60 s")
    table = [heading, *((name, *map(of, samples.values())) for name, of in rows)]
    print_columns(table)


def per_second(sample: Sample, seconds: list[float]) -> str:
    """How much faster than real time."""
    return f"{sample.virtual_s / statistics.median(seconds):.1f}"


def document(repeat: int, samples: dict[str, Sample]) -> dict[str, object]:
    """For programs."""
    return {
        "schema": "cclab-bench-linux/1",
        "machine": {"arch": platform.machine(), "cpus": os.cpu_count(), "load": os.getloadavg()},
        "repeat": repeat,
        "studies": {name: asdict(sample) for name, sample in samples.items()},
    }


def parse(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = options(__doc__, 5)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    bench = target / "release" / "examples" / "guest_bench"
    agent = ROOT / "python" / "cclab" / "bin" / "cclab-agent"
    add = parser.add_argument
    add("--cclab", default=str(ROOT / ".venv" / "bin" / "cclab"), metavar="PROGRAM")
    add("--guest-bench", default=str(bench), metavar="PROGRAM")
    add("--agent", default=str(agent), metavar="PROGRAM", help="what guest_bench boots")
    add("--kernel", metavar="FILE", help="what guest_bench boots (default: that of cclab)")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """0: measured; 1: not, or `--check` found a figure missed."""
    arguments = parse(argv)
    try:
        samples = measure(Programs.find(arguments), arguments.repeat)
    except BenchError as error:
        return failed(error)
    print_table(arguments.repeat, samples)
    return conclude(arguments, verdicts(samples), document(arguments.repeat, samples))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
