"""Acknowledgements a second of Reno: built in, and as Python classes: `make bench-python`.

The class is plain, compiled by numba, or decides once a round trip. All are one run, byte for byte
but for the last, so that they differ in nothing but who decides. What is timed is the simulation:
of a long run and of a short one, the difference, in seconds of a processor.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import BenchError, Verdict, conclude, failed, options, print_columns, progress

import cclab
from cclab.errors import InputError, RunError
from cclab.variant import native

if TYPE_CHECKING:
    import argparse

STUDY = """
duration = "10s"
seed = 1
[network.bottleneck]
rate = "100Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name = "a"
cc = "CC"
"""
SHORT, LONG = 10, 110
"""Seconds of virtual time."""

RENO = '''
from cclab.variant import compiled


class Reno:
    """Reno, as Linux has it."""

    def __init__(self):
        self.count = 0

    def on_ack(self, ack):
        if not ack.cwnd_limited:
            return
        acked = ack.acked
        if self.cwnd < self.ssthresh:
            cwnd = min(self.cwnd + acked, self.ssthresh)
            acked -= int(cwnd - self.cwnd)
            self.cwnd = cwnd
            if acked == 0:
                return
        window = self.cwnd
        if self.count >= window:
            self.count = 0
            self.cwnd += 1
        self.count += acked
        if self.count >= window:
            grown = int(self.count // window)
            self.count -= int(grown * window)
            self.cwnd += grown

    def on_congestion(self, event):
        self.count = 0
        return max(self.cwnd // 2, 2)


@compiled
class Compiled(Reno):
    """The same."""


class Reports:
    """Reno that grows once a round trip."""

    def on_report(self, report):
        if report.lost == 0 and report.cwnd_limited:
            slow = self.cwnd < self.ssthresh
            self.cwnd += report.acked if slow else report.acked / self.cwnd
'''
CASES = {
    "built in": "reno",
    "Python, compiled by numba": "./reno.py:Compiled",
    "Python, once a round trip": "./reno.py:Reports",
    "Python": "./reno.py:Reno",
}


def processor() -> float:
    """Seconds of a processor that this process has used, and those that it waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(folder: Path, cc: str, seconds: int) -> float:
    """Seconds of a processor that a run of so many virtual ones takes."""
    study = folder / "study.toml"
    study.write_text(STUDY.replace("CC", cc))
    with tempfile.TemporaryDirectory(dir=folder) as out:
        began = processor()
        results = cclab.run(study, out=out, set=f"duration={seconds}s")
        lasted = processor() - began
    if results.flows.height != 1:
        raise BenchError(f"{cc} has no results")
    return lasted


def acknowledgements(folder: Path, cc: str, seconds: int) -> int:
    """How many the sender of such a run gets."""
    study = folder / "study.toml"
    study.write_text(STUDY.replace("CC", cc))
    with tempfile.TemporaryDirectory(dir=folder) as out:
        sets = [f"duration={seconds}s", 'trace.events=["ack"]']
        results = cclab.run(study, out=out, set=sets)
        (run,) = results.runs
        return run.trace.rows("acks").height


def measured(folder: Path, repeat: int) -> dict[str, dict[str, object]]:
    """Of each case, its acknowledgements a second in every turn, and their median."""
    rates: dict[str, list[float]] = {name: [] for name in CASES}
    counts = {}
    for name, cc in CASES.items():
        progress(f"{name}: acknowledgements")
        counts[name] = acknowledgements(folder, cc, LONG) - acknowledgements(folder, cc, SHORT)
    if len({counts[name] for name in CASES if "round" not in name}) != 1:
        raise BenchError(f"these are not the same run: {counts}")
    for turn in range(repeat):
        for name, cc in CASES.items():
            progress(f"turn {turn + 1} of {repeat}: {name}")
            took = timed(folder, cc, LONG) - timed(folder, cc, SHORT)
            rates[name].append(counts[name] / took)
    return {
        name: {"per_second": each, "median": statistics.median(each), "acks": counts[name]}
        for name, each in rates.items()
    }


def main() -> int:
    """Measures, prints the table, and gives the exit code."""
    arguments: argparse.Namespace = options(__doc__, 5).parse_args()
    try:
        if why := native.missing():
            raise BenchError(why)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "reno.py").write_text(RENO)
            cases = measured(Path(folder), arguments.repeat)
    except (BenchError, OSError, InputError, RunError) as error:
        return failed(error)
    progress("")
    medians = {name: float(str(case["median"])) for name, case in cases.items()}
    rows = [["Reno", "acknowledgements a second", "of the built-in one"]]
    for name, rate in medians.items():
        rows.append([name, f"{rate:,.0f}", f"{rate / medians['built in']:.2f}"])
    print_columns(rows)
    verdicts = [
        Verdict("a Python class, acknowledgements a second", 200_000, medians["Python"]),
    ]
    about: dict[str, object] = {
        "schema": "cclab-bench-python/1",
        "processors": os.cpu_count(),
        "cases": cases,
    }
    return conclude(arguments, verdicts, about)


if __name__ == "__main__":
    sys.exit(main())
