"""Prints how far the simulator's network is from the kernel's own under real TCP, per cell.

    .venv/bin/python studies/wire/table.py [FOLDER [EXPERIMENT]...]

FOLDER is where `cclab run` left the runs of `study.toml`, `results/wire` if not given. Differences
are of the mean goodput after the warm-up, the simulator's network relative to the kernel's. One
above 1% gets a verdict: `chance` where a Mann-Whitney test over the runs finds nothing (p of 0.05
and more), or the name of the first EXPERIMENT, a folder with the same cells under other settings,
in which it is gone: below 1%, or chance. What none explains is `open`.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy import stats

import cclab

if TYPE_CHECKING:
    from collections.abc import Iterable

ASKED = 0.01
EVIDENCE = 0.05


class Cell(NamedTuple):
    """A flow of a sweep point, on either network."""

    queue: str
    variant: str
    beside: str
    """Empty for the variant alone; else whose goodput it is beside Reno."""


class Difference(NamedTuple):
    """Goodputs of a cell, a run each."""

    wire: list[float]
    kernel: list[float]

    @property
    def size(self) -> float:
        """How far the simulator's network is from the kernel's, relative to it."""
        kernel = statistics.mean(self.kernel)
        return (statistics.mean(self.wire) - kernel) / kernel

    @property
    def p(self) -> float:
        """How likely runs of one population are to lie as far apart."""
        if len({*self.wire, *self.kernel}) == 1:
            return 1.0
        return float(stats.mannwhitneyu(self.wire, self.kernel).pvalue)

    @property
    def is_small(self) -> bool:
        return abs(self.size) <= ASKED

    @property
    def is_chance(self) -> bool:
        return self.p >= EVIDENCE


def queue_of(params: dict[str, Any]) -> str:
    """The discipline, or what else is tried of the bottleneck."""
    lossy = params.get("network.bottleneck.loss", "0%") != "0%"
    return "loss" if lossy else str(params["network.bottleneck.queue"]["kind"])


def differences(folder: Path) -> dict[Cell, Difference]:
    """Every flow of every point that was run on both networks."""
    found: dict[Cell, dict[str, list[float]]] = {}
    for point in cclab.load(folder).points:
        for run in point.runs:
            flows = run.metrics["flows"]
            for flow in flows:
                beside = flow["name"] if len(flows) > 1 else ""
                cell = Cell(queue_of(point.params), point.params["flow.variant.cc"], beside)
                sides = found.setdefault(cell, {})
                side = sides.setdefault(point.params["network.by"], [])
                side.append(flow["window_goodput_bps"])
    return {
        cell: Difference(sides["simulator"], sides["kernel"])
        for cell, sides in found.items()
        if len(sides) == 2
    }


def verdict(
    cell: Cell, difference: Difference, experiments: dict[str, dict[Cell, Difference]]
) -> str:
    """Why a difference is there; empty for one that is small."""
    if difference.is_small:
        return ""
    if difference.is_chance:
        return "chance"
    for name, tried in experiments.items():
        again = tried.get(cell)
        if again and (again.is_small or again.is_chance):
            return name
    return "open"


def row(difference: Difference, why: str) -> list[str]:
    """Goodputs in Mbit/s, their difference, and what becomes of it."""
    wire, kernel = (statistics.mean(side) / 1e6 for side in difference)
    told = f"{why}, p = {difference.p:.3f}" if why else ""
    return [f"{wire:.3f}", f"{kernel:.3f}", f"{100 * difference.size:+.2f}%", told]


def middle(found: Iterable[Difference]) -> str:
    """The median of the sizes."""
    return f"{100 * statistics.median(abs(one.size) for one in found):.2f}%"


def main(folder: Path, experiments: list[Path]) -> None:
    """Prints a row per cell, then what they come to."""
    found = differences(folder)
    tried = {experiment.name: differences(experiment) for experiment in experiments}
    verdicts = {cell: verdict(cell, one, tried) for cell, one in found.items()}
    print("| queue | variant | whose | wire (Mbit/s) | kernel | difference | verdict |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- |")
    for cell, one in sorted(found.items()):
        whose = {"": "alone", "variant": "beside Reno", "rival": "Reno's"}[cell.beside]
        print(
            "| " + " | ".join([cell.queue, cell.variant, whose, *row(one, verdicts[cell])]) + " |"
        )
    queues = list(dict.fromkeys(cell.queue for cell in found))
    print("\n| median of the sizes | all | " + " | ".join(queues) + " |")
    print("| --- |" + " ---: |" * (len(queues) + 1))
    for title, alone in (("alone", True), ("beside Reno", False)):
        part = {cell: one for cell, one in found.items() if (cell.beside == "") == alone}
        if part:
            medians = [middle(one for cell, one in part.items() if cell.queue == q) for q in queues]
            print(f"| {title} | {middle(part.values())} | " + " | ".join(medians) + " |")
    print()
    for why in sorted(set(verdicts.values())):
        print(f"{list(verdicts.values()).count(why)} of {len(found)}: {why or 'at most 1% apart'}")


if __name__ == "__main__":
    folders = [Path(text) for text in sys.argv[1:]] or [Path("results/wire")]
    main(folders[0], folders[1:])
