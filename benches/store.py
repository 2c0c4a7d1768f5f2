#!/usr/bin/env python3
"""How long a store of many runs takes to make, list, ask and report.

    .venv/bin/python benches/store.py [--runs N] [--folder DIR] [--json FILE]

Every run is really simulated, and short: 50 ms of two flows over some Mbit/s, at N / 5 sweep points
of five seeds each. Times are real ones of whole processes, their start included. The store stays if
--folder names a place for it; what it holds already is not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_SEEDS = 5
_DELAYS = 100
_CCLAB = str(Path(sys.executable).parent / "cclab")

_STUDY = """\
title    = "A store of many short runs"
duration = "50ms"
repeat   = {seeds}

[network.bottleneck]
rate  = "10Mbit"
delay = "1ms"
queue = {{ kind = "droptail", limit = "1bdp" }}

[[flow]]
name = "a"
cc   = "cubic"
rtt  = "20ms"
start = {{ at = "0s", spread = "5ms" }}

[[flow]]
name = "b"
cc   = "reno"
rtt  = "20ms"
start = {{ at = "0s", spread = "5ms" }}

[sweep]
"network.bottleneck.rate"  = {rates}
"network.bottleneck.delay" = {delays}
"""

_MAKE = "import sys, cclab; cclab.run(sys.argv[1], out=sys.argv[2])"
_LOAD = "import sys, cclab; cclab.load(sys.argv[1])"
_ESTIMATE = "import sys, cclab; cclab.load(sys.argv[1]).summaries"


def main() -> None:
    """Makes the store and asks it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=100_000)
    options.add_argument("--folder", type=Path, help="where to keep the store")
    options.add_argument("--json", type=Path, help="a file for the numbers")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = asked.folder or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        told = _bench(asked.runs, folder)
    if asked.json is not None:
        asked.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _bench(asked: int, folder: Path) -> dict[str, float]:
    study, store = folder / "many.toml", folder / "store"
    rates = max(1, asked // (_SEEDS * _DELAYS))
    study.write_text(
        _STUDY.format(
            seeds=_SEEDS,
            rates=json.dumps([f"{2000 + 10 * i}kbit" for i in range(rates)]),
            delays=json.dumps([f"{500 + 50 * i}us" for i in range(_DELAYS)]),
        ),
        encoding="utf-8",
    )
    runs = rates * _DELAYS * _SEEDS
    print(f"{runs:,} runs, each simulated; {os.cpu_count()} processors, {platform.machine()}")
    made = _timed("made (or looked whether all is there)", _python(_MAKE, study, store))
    told: dict[str, float] = {"runs": runs, "make_s": made}
    return told | _ask(store)


def _ask(store: Path) -> dict[str, float]:
    """Lists, asks and reports the store as it is, and measures it."""
    # One that is there would be looked at, and left.
    shutil.rmtree(store / "report", ignore_errors=True)
    files = [file for file in store.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    print(f"  {len(files):,} files, {size / 1e6:,.0f} MB")
    index = store / "index.sqlite"
    print(f"  of it the index: {index.stat().st_size / 1e6:,.0f} MB")
    where = "cc == 'cubic' and goodput_bps > 4Mbit"
    list_ = [_CCLAB, "store", "ls", str(store)]
    listed = _timed("cclab store ls", list_)
    index.unlink()
    return {
        "files": len(files),
        "bytes": size,
        "list_s": listed,
        "index_s": _timed("... with the index made of all runs", list_),
        "query_s": _timed("cclab query", [_CCLAB, "query", str(store), where]),
        "query_grouped_s": _timed(
            "cclab query --group-by", [_CCLAB, "query", str(store), "--group-by", "cc"]
        ),
        "load_s": _timed("cclab.load: every run's metrics", _python(_LOAD, store)),
        "estimate_s": _timed("... and every estimate and interval", _python(_ESTIMATE, store)),
        "report_s": _timed("cclab report", [_CCLAB, "report", str(store)]),
    }


def _python(script: str, *arguments: Path) -> list[str]:
    return [sys.executable, "-c", script, *map(str, arguments)]


def _timed(name: str, command: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took = time.monotonic() - began
    print(f"  {name:40} {took:8.2f} s", flush=True)
    return took


if __name__ == "__main__":
    main()
