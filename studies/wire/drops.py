"""Prints the distances between the drops of each flow on both networks, as a Markdown table.

    .venv/bin/python studies/wire/drops.py [FOLDER]

FOLDER is where `cclab run` left the runs of `drops.toml`, `results/wire-drops` if not given.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import polars as pl

import cclab

SHOWN = 7
"""Of the first distances."""


def main(folder: Path) -> None:
    """Prints a row per flow and network."""
    numbers = [f"{nth} to {nth + 1}" for nth in range(1, SHOWN + 1)]
    print("| ms from one drop to the next | " + " | ".join(numbers) + " |")
    print("| --- |" + " ---: |" * SHOWN)
    for point in cclab.load(folder).points:
        for run in point.runs:
            drops = run.table("drops")
            for flow in sorted(drops["flow"].unique()):
                times = drops.filter(pl.col("flow") == flow)["time_s"].to_list()
                apart = [f"{1e3 * (b - a):.1f}" for a, b in pairwise(times)][:SHOWN]
                print(f"| {flow}, {point.params['network.by']} | " + " | ".join(apart) + " |")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/wire-drops"))
