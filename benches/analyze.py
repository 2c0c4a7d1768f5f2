"""Packets per second of `cclab analyze` beside tcptrace and tshark, and the memory it takes.

Whole processes read the same capture in turns, so that a slow minute of the machine is a slow
minute for all: tcptrace with its long report (`-l -r -W`), tshark with its analysis of sequence
numbers and a table of conversations (`-z conv,tcp`), and cclab, which prints all columns. Captures
are made by the example `bulk`. The memory is the most that a process had; that of a capture of
10 GB is taken over a pipe, so that no disk has to hold it. `make bench-analyze` builds what this
needs.
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

from measuring import BenchError, progress

ASKED_RATIO = 5.0
MOST_MEMORY_MB = 1000.0
BYTES_PER_PACKET = 82
"""Of the example's captures, headers of records included."""


@dataclass
class Sample:
    """The turns of one program on one capture."""

    seconds: list[float] = field(default_factory=list)
    """Real time of the whole process."""
    cpu_s: list[float] = field(default_factory=list)
    """Processor time of the same."""
    memory_mb: float = 0.0
    """The most memory that it had, in 10^6 bytes."""


@dataclass(frozen=True)
class Load:
    """A capture."""

    connections: int
    packets: int

    def name(self) -> str:
        """For people."""
        return f"{self.packets / 1e6:g} M packets, {self.connections:,} connections"


def timed(command: list[str], sample: Sample, stdin: int | None = None) -> None:
    """Runs `command` to its end and takes its time and memory."""
    before = os.times()
    process = subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    complaints = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchError(f"exit {process.returncode}: {complaints.strip()}\n  {command}")
    if "connections-given-up" in complaints:
        raise BenchError(f"connections were given up: it is another capture\n  {command}")
    sample.seconds.append(os.times().elapsed - before.elapsed)
    sample.cpu_s.append(usage.ru_utime + usage.ru_stime)
    sample.memory_mb = max(sample.memory_mb, usage.ru_maxrss * 1024 / 1e6)


def commands(arguments: argparse.Namespace, capture: str) -> dict[str, list[str]]:
    """What is timed."""
    every = {
        "cclab": [arguments.cclab, "analyze", capture, "--csv"],
        "tcptrace": ["tcptrace", "-l", "-r", "-W", "-n", capture],
        "tshark": ["tshark", "-n", "-q", "-z", "conv,tcp", "-r", capture],
    }
    for command in every.values():
        if shutil.which(command[0]) is None:
            raise BenchError(f"{command[0]} is missing: `make bench-analyze` installs it")
    return every


def measure(arguments: argparse.Namespace, load: Load, folder: Path) -> dict[str, Sample]:
    """Every program on one capture, in turns; tshark once, since it takes minutes."""
    capture = folder / "bulk.pcap"
    with capture.open("wb") as file:
        made = [arguments.bulk, str(load.connections), str(load.packets)]
        subprocess.run(made, stdout=file, check=True)
    # What a program does before it reads is the same for all captures.
    samples = {name: Sample() for name in commands(arguments, str(capture))}
    for turn in range(arguments.repeat):
        for name, command in commands(arguments, str(capture)).items():
            if name == "tshark" and turn > 0:
                continue
            progress(f"{load.name()}: {name} {turn + 1}/{arguments.repeat}")
            timed(command, samples[name])
    progress("")
    capture.unlink()
    return samples


def measure_memory(arguments: argparse.Namespace, load: Load) -> Sample:
    """cclab on a capture that comes over a pipe."""
    sample = Sample()
    progress(f"{load.name()}, over a pipe")
    made = [arguments.bulk, str(load.connections), str(load.packets)]
    with subprocess.Popen(made, stdout=subprocess.PIPE) as maker:
        assert maker.stdout is not None
        timed([arguments.cclab, "analyze", "-", "--csv"], sample, maker.stdout.fileno())
    progress("")
    return sample


def ratios(samples: dict[str, Sample], other: str) -> list[float]:
    """How many times as fast cclab is, by turns."""
    pairs = zip(samples[other].seconds, samples["cclab"].seconds, strict=False)
    return [theirs / ours for theirs, ours in pairs]


def print_load(load: Load, samples: dict[str, Sample]) -> None:
    """For people."""
    print(f"\n{load.name()}\n")
    print("| program | packets per second | CPU s | memory (MB) | cclab is faster by |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, sample in samples.items():
        speed = load.packets / statistics.median(sample.seconds)
        times = ""
        if name != "cclab":
            of = ratios(samples, name)
            times = f"{statistics.median(of):.2f} ({min(of):.2f} to {max(of):.2f})"
        cpu = statistics.median(sample.cpu_s)
        print(f"| {name} | {speed:,.0f} | {cpu:.2f} | {sample.memory_mb:.0f} | {times} |")


def main() -> None:
    """Measures, prints, and says what was asked and not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cclab", default=".venv/bin/cclab")
    parser.add_argument("--bulk", default="target/release/examples/bulk")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the measurement there")
    arguments = parser.parse_args()
    loads = [Load(10, 5_000_000), Load(10, 20_000_000), Load(10_000, 5_000_000)]
    with tempfile.TemporaryDirectory() as folder:
        taken = {load: measure(arguments, load, Path(folder)) for load in loads}
    large = Load(50_000, 10**10 // BYTES_PER_PACKET)
    memory = measure_memory(arguments, large)
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    for load, samples in taken.items():
        print_load(load, samples)
    speed = large.packets / memory.seconds[0]
    print(
        f"\n{large.name()} (10 GB) over a pipe: {memory.memory_mb:.0f} MB, {speed:,.0f} packets/s"
    )
    if arguments.json:
        told = {load.name(): {n: asdict(s) for n, s in of.items()} for load, of in taken.items()}
        told["10 GB"] = {"cclab": asdict(memory)}
        arguments.json.write_text(json.dumps(told, indent=1) + "\n")
    reached = statistics.median(ratios(taken[loads[1]], "tcptrace"))
    print(f"\nasked {ASKED_RATIO:g} times tcptrace: {reached:.2f}")
    print(f"asked below {MOST_MEMORY_MB:.0f} MB for 10 GB: {memory.memory_mb:.0f} MB")


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"error: {error}")
