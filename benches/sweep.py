#!/usr/bin/env python3
"""What a sweep costs beside its runs: many short runs of the simulator, on all processors.

    .venv/bin/python benches/sweep.py [--runs N] [--json FILE]

A run is the simulation and the writing of its trace. All else that the processors' time goes to is
overhead: handing out, measuring, sealing, flushing, renaming, and waiting. Printed are the real
time of the sweep, the overhead per run, how busy the processors were, and what a sweep does once:
it looks at what is there (here at the end, when all of it is), saves the plan, makes the index.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import machine
from cclab.execute import execute
from cclab.execute.backends.sim import Simulator
from cclab.execute.crew import Local
from cclab.plan.study import Study
from cclab.store import Store
from cclab.store.index import Index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab._core import Progress
    from cclab.plan import Plan, Run

STUDY = """\
title    = "Short runs"
question = "What does a sweep cost beside its runs?"
duration = "1s"
seed     = 1

[network.bottleneck]
rate  = "10Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "1bdp" }

[[flow]]
name  = "a"
cc    = "cubic"
rtt   = "20ms"
start = { at = "0s", spread = "20ms" }

[[flow]]
name = "b"
cc   = "reno"
rtt  = "20ms"
"""


class Timed(Simulator):
    """The simulator, which tells what processor time its runs took."""

    def __init__(self) -> None:
        """Nothing has run yet."""
        self.seconds_of_threads: list[float] = []

    def execute(
        self, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
    ) -> list[str | None]:
        """Simulates `runs` and notes what it took."""
        began = time.thread_time()
        outcomes = super().execute(runs, directory, progresses)
        self.seconds_of_threads.append(time.thread_time() - began)
        return outcomes


def main() -> None:
    """Runs the bench."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=10_000)
    options.add_argument("--json", type=Path)
    asked = options.parse_args()
    jobs = machine.cpus()
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "short.toml"
        file.write_text(STUDY, encoding="utf-8")
        plan = Study.load(file).plan(repeat=asked.runs)
        backend = Timed()
        busy, began = _processor_s(), time.monotonic()
        store = Store(Path(place) / "store")
        with store.writer() as writer:
            failed = execute(plan.runs, backend, Local(backend, jobs), writer)
        wall_s, busy_s = time.monotonic() - began, _processor_s() - busy
        assert not failed, failed[0]
        once_s = _once_s(store, plan)
        runs_s = sum(backend.seconds_of_threads)
    told = {
        "runs": asked.runs,
        "jobs": jobs,
        "wall_s": wall_s,
        "run_ms": 1e3 * runs_s / asked.runs,
        "overhead_ms": 1e3 * (wall_s * jobs - runs_s) / asked.runs,
        "of_it_waiting_ms": 1e3 * (wall_s * jobs - busy_s) / asked.runs,
        "busy": busy_s / (wall_s * jobs),
        "once_s": once_s,
    }
    print(f"{told['runs']:,} runs on {jobs} processors in {wall_s:.1f} s")
    print(f"a run, its trace written: {told['run_ms']:.2f} ms of a processor")
    print(f"overhead per run:         {told['overhead_ms']:.2f} ms of a processor,")
    print(f"  of which waiting:       {told['of_it_waiting_ms']:.2f} ms")
    print(f"processors busy:          {told['busy']:.1%}")
    print(f"once, for all of them:    {once_s:.1f} s")
    if asked.json is not None:
        asked.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _once_s(store: Store, plan: Plan) -> float:
    """What a sweep takes once: looking at what is there, saving the plan, making the index."""
    began = time.monotonic()
    assert not store.survey(plan).missing
    with store.writer() as writer:
        writer.save_plan(plan)
    Index(store).refresh()
    return time.monotonic() - began


def _processor_s() -> float:
    """Processor time of this process so far, the kernel's part included."""
    times = os.times()
    return times.user + times.system


if __name__ == "__main__":
    main()
