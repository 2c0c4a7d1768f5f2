"""Whether a kernel does what studies expect of it: small studies with known answers."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cclab.api import run
from cclab.errors import RunError
from cclab.execute.backends.host import VARIANTS
from cclab.kernel.cache import OVERRIDE
from cclab.plan.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cclab.kernel.cache import Kernel
    from cclab.measure.results import Results

_RTT_MS = 50.0
_GOODPUT_BPS = 50e6 * 1448 / 1514
"""What a link of 50 Mbit/s carries of payload: packets have headers of 66 bytes."""
_TOLERANCE = 0.05
"""What slow start may cost a transfer of 10 MB."""

_EXPECTED_GOODPUT = f"{_GOODPUT_BPS / 1e6:.1f} Mbit/s ± {_TOLERANCE:.0%}"

_STUDY = """\
title    = "{title}"
question = "Does the kernel do what a study expects of it?"
duration = "20s"
seed     = 1

[network]
by = "{network}"

[network.bottleneck]
rate  = "50Mbit"
delay = "5ms"
queue = {{ kind = "droptail", limit = "1bdp" }}

[[flow]]
name = "{flow}"
"""
_COMMAND = 'rtt = "50ms"\ncommand = {command}\n'
_TRANSFER = 'rtt = "20ms"\ncc = "cubic"\ntransfer = "10MB"\n'


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    name: str
    ok: bool
    expected: str
    found: str
    """What was seen, or why there is nothing to see."""


def checks(kernel: Kernel) -> Iterator[Check]:
    """Boots `kernel` and tries it, one check after the other.

    Ends with the first run that fails: its check says why.
    """
    with _default(kernel), tempfile.TemporaryDirectory(prefix="cclab-kernel-") as folder:
        out = Path(folder)
        try:
            told = _output(out, "boot", ["cat", "/proc/sys/kernel/osrelease"])
        except RunError as error:
            yield Check("boot", False, "a running kernel", str(error))
            return
        yield Check("boot", told != "", "a running kernel", f"Linux {told}")
        for name, expected, check in _CHECKS:
            try:
                ok, found = check(out)
            except RunError as error:
                ok, found = False, str(error)
            yield Check(name, ok, expected, found)


@contextlib.contextmanager
def _default(kernel: Kernel) -> Iterator[None]:
    """Has `kernel` be the one that is booted where a study names none."""
    before = os.environ.get(OVERRIDE)
    os.environ[OVERRIDE] = str(kernel.path)
    try:
        yield
    finally:
        if before is None:
            del os.environ[OVERRIDE]
        else:
            os.environ[OVERRIDE] = before


def _ping(out: Path) -> tuple[bool, str]:
    told = _output(out, "ping", ["ping", "-c", "3", "-i", "0.2", "{dst}"])
    times = re.findall(r"time=([\d.]+) ms", told)
    ok = len(times) == 3 and all(float(time) == _RTT_MS for time in times)
    return ok, f"{', '.join(times)} ms" if times else told or "no answer"


def _transfer(out: Path) -> tuple[bool, str]:
    return _goodput(_run(out, "transfer", _TRANSFER))


def _own_network(out: Path) -> tuple[bool, str]:
    """The same over the kernel's own queues and links."""
    return _goodput(_run(out, "own-network", _TRANSFER, network="kernel"))


def _goodput(results: Results) -> tuple[bool, str]:
    goodput = results.runs[0].metrics["flows"][0]["goodput_bps"]
    if goodput is None:
        return False, "nothing arrived"
    ok = abs(goodput / _GOODPUT_BPS - 1) <= _TOLERANCE
    return ok, f"{goodput / 1e6:.2f} Mbit/s"


def _variants(out: Path) -> tuple[bool, str]:
    available = "/proc/sys/net/ipv4/tcp_available_congestion_control"
    told = _output(out, "variants", ["cat", available]).split()
    absent = [variant for variant in VARIANTS if variant not in told]
    return not absent, f"not there: {', '.join(absent)}" if absent else f"all {len(VARIANTS)}"


_CHECKS: tuple[tuple[str, str, Callable[[Path], tuple[bool, str]]], ...] = (
    ("ping", f"{_RTT_MS} ms", _ping),
    ("transfer", _EXPECTED_GOODPUT, _transfer),
    ("own network", _EXPECTED_GOODPUT, _own_network),
    ("variants", f"all {len(VARIANTS)}", _variants),
)


def _output(out: Path, name: str, command: list[str]) -> str:
    """What `command` prints in a guest."""
    words = ", ".join(f'"{word}"' for word in command)
    results = _run(out, name, _COMMAND.format(command=f"[{words}]"))
    return results.runs[0].trace.text(f"{name}.stdout").strip()


def _run(out: Path, name: str, flow: str, network: str = "simulator") -> Results:
    text = _STUDY.format(title=f"Kernel test: {name}", flow=name, network=network) + flow
    study = Study(name=name, file=f"kernel test, {name}", text=text)
    return run(study, out=out / name, backend="linux", jobs=1)
