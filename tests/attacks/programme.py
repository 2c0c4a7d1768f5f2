"""The programme of attacks: kinds share the time evenly, each in a process of its own."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attacks.kinds import KINDS
from attacks.listening import Silent, end, told_by

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = Path(__file__).resolve().parent.parent
ENDING_S = 20.0
"""How long a process that is asked to end may clean up."""
HOUR_S = 3600.0
BENCH_S = 1800.0
"""Longer than a bench takes by far on a busy machine: one that takes so long hangs."""
FATAL = 5
"""So many tries that end their process, and a kind is given up."""


@dataclass(frozen=True)
class Order:
    """Which tries of a kind are made."""

    seed: int
    seconds: float = float("inf")
    tries: int = -1
    """How many; as many as there are, or as there is time for, if negative."""
    least: int = 1
    """At least how many, however little time there is."""
    first: int = 0
    """The number of the first."""
    last: int | None = None
    """No number above it is tried; any is if None."""


@dataclass
class Report:
    """What came of the tries of one kind."""

    kind: str
    seed: int
    tries: int = 0
    missed: int = 0
    processor_s: float = 0.0
    wall_s: float = 0.0
    failures: dict[int, str] = field(default_factory=dict)
    """By number; -1 is the bench."""

    def take(self, told: dict[str, Any]) -> None:
        """Counts what the process of the kind tells of a try."""
        if "missed" in told:
            self.missed += 1
        elif "failed" in told:
            self.tries += 1
            if told["failed"] is not None:
                self.failures[told["number"]] = told["failed"]

    def repeat(self, number: int) -> str:
        """The command that makes the try again."""
        only = f" --only {number}" if number >= 0 else ""
        return f"python -m attacks --kinds {self.kind} --seed {self.seed}{only}"

    def told(self) -> list[str]:
        """Its failures, with the command that repeats each."""
        lines = []
        for number, why in sorted(self.failures.items()):
            lines.append(f"{self.kind} {number}: {why.rstrip()}")
            lines.append(f"    repeat: {self.repeat(number)}")
        return lines


class Programme:
    """Attacks of some kinds, and what came of them so far."""

    def __init__(
        self,
        kinds: Sequence[str],
        order: Order,
        *,
        jobs: int = 1,
        folder: Path | None = None,
        worker: str = "attacks.worker",
    ) -> None:
        """`folder` is where the benches stand and stay; one that is removed if None. `worker` is
        the module that makes the tries of a kind."""
        self.order = order
        self.reports = {name: Report(name, order.seed) for name in kinds}
        self._jobs = jobs
        self._worker = worker
        self._folder = folder
        self._children: set[subprocess.Popen[bytes]] = set()
        self._stopped = threading.Event()
        self._began = time.monotonic()
        self._left = list(kinds)
        self._lock = threading.Lock()

    def run(self) -> None:
        """Makes the tries. Interrupted, it ends what is under way and returns."""
        with ThreadPoolExecutor(self._jobs) as pool:
            under_way = [pool.submit(self._take_kinds) for _ in range(self._jobs)]
            try:
                while not all(future.done() for future in under_way):
                    time.sleep(0.2)
            except KeyboardInterrupt:
                self._stop()
        for future in under_way:
            future.result()

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it."""
        return self._stopped.is_set()

    def failed(self) -> bool:
        """Whether anything did."""
        return any(report.failures for report in self.reports.values())

    def document(self) -> dict[str, Any]:
        """What came of it, as JSON has it."""
        return {
            "seed": self.order.seed,
            "interrupted": self.interrupted,
            "kinds": [
                asdict(report)
                | {
                    "failures": [
                        {"number": number, "failed": why, "repeat": report.repeat(number)}
                        for number, why in sorted(report.failures.items())
                    ]
                }
                for report in self.reports.values()
            ],
        }

    def table(self) -> str:
        """Tries and failures of each kind, and how each failure is repeated."""
        lines = [f"{'kind':16} {'tries':>8} {'failures':>8} {'missed':>8} {'CPU s':>8} {'s':>8}"]
        for report in self.reports.values():
            lines.append(
                f"{report.kind:16} {report.tries:8} {len(report.failures):8} {report.missed:8} "
                f"{report.processor_s:8.0f} {report.wall_s:8.0f}"
            )
        tries = sum(report.tries for report in self.reports.values())
        failures = sum(len(report.failures) for report in self.reports.values())
        lines.append(f"{'all':16} {tries:8} {failures:8}")
        for report in self.reports.values():
            lines.extend(report.told())
        return "\n".join(lines)

    def _take_kinds(self) -> None:
        while not self._stopped.is_set():
            with self._lock:
                if not self._left:
                    return
                # What kinds that were through early left is shared by those that follow.
                time_left = self._began + self.order.seconds - time.monotonic()
                share = max(1.0, time_left * self._jobs / max(len(self._left), self._jobs))
                name = self._left.pop(0)
            self._attack(self.reports[name], share)

    def _attack(self, report: Report, seconds: float) -> None:
        """Makes the tries of one kind; goes on after one that ends the process."""
        began = time.monotonic()
        number, left, fatal = self.order.first, self.order.tries, 0
        hours = self.order.seconds / HOUR_S if math.isfinite(self.order.seconds) else 0.0
        least = max(self.order.least, round(hours * KINDS[report.kind].hourly))
        while left != 0 and not self._stopped.is_set() and fatal < FATAL:
            remaining = seconds - (time.monotonic() - began)
            before = report.tries
            if remaining <= 0 and before >= least:
                break
            order = asdict(self.order) | {
                **{"first": number, "tries": left, "seconds": remaining},
                "least": least - before,
            }
            through, last = self._worked(report, order)
            if through or self._stopped.is_set():
                break
            fatal += 1
            if last < 0:
                break
            number, left = last + 1, left - (report.tries - before)
            if self.order.last is not None and number > self.order.last:
                break
        report.wall_s = time.monotonic() - began
        told = f"{report.tries} tries, {len(report.failures)} failures, {report.wall_s:.0f} s"
        print(f"{report.kind}: {told}", file=sys.stderr, flush=True)

    def _worked(self, report: Report, order: dict[str, Any]) -> tuple[bool, int]:
        """Whether a process went through its tries, and the number of its last, -1 if none."""
        temporary = None if self._folder else tempfile.mkdtemp(prefix="cclab-attack-")
        place = Path(temporary or self._folder or "") / report.kind
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        number, through = -1, False
        errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed below, with the child
        child = subprocess.Popen(
            [sys.executable, "-m", self._worker, report.kind, json.dumps(order), str(place)],
            cwd=TESTS,
            env={**os.environ, "TMPDIR": str(place)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            # An interrupt from the terminal is the programme's alone; what a try leaves is ended.
            start_new_session=True,
        )
        self._children.add(child)
        if self._stopped.is_set():
            child.send_signal(signal.SIGINT)
        silent, patience_s = "", KINDS[report.kind].wall_s
        spent, last_told = 0.0, time.monotonic()
        with child, errors:
            try:
                for told in told_by(child, BENCH_S, patience_s):
                    spent = told.get("processor_s", spent)
                    number = told.get("began", number)
                    through = through or "through" in told
                    report.take(told)
                    if time.monotonic() - last_told > 10:
                        last_told = time.monotonic()
                        failures = f"{len(report.failures)} failures"
                        print(
                            f"{report.kind}: {report.tries} tries, {failures} ...", file=sys.stderr
                        )
                code = child.wait(patience_s)
            except (Silent, subprocess.TimeoutExpired) as error:
                silent = f"{error}: it hangs\n"
                end(child)
                code = child.wait()
            self._children.discard(child)
            report.processor_s += spent
            if not through and not self._stopped.is_set():
                end(child)
                errors.seek(0)
                report.tries += number >= 0
                why = silent or f"{_ending(code)}\n"
                report.failures[number] = f"{why}{errors.read()[-4000:]}"
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)
        return through, number

    def _stop(self) -> None:
        self._stopped.set()
        for child in list(self._children):
            child.send_signal(signal.SIGINT)
        for child in list(self._children):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(ENDING_S)
                continue
            end(child)


def _ending(code: int) -> str:
    if code == -signal.SIGPROF:
        return "it took more of the processor's time than any try does"
    if code < 0:
        return f"the process ended by {signal.Signals(-code).name}"
    return f"the process ended with {code}"
