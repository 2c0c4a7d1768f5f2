"""Prints where two backends disagree about every pair, and draws their matrices side by side.

    .venv/bin/python studies/all-pairs/beside.py [KERNEL SIMULATOR [FIGURE.svg]]

KERNEL and SIMULATOR are folders of runs of `linux.toml`, `results/all-pairs.linux` and
`results/all-pairs.sim` if not given. The share of a variant is its part of both goodputs after the
warm-up. Of two variants at one RTT and buffer it is the mean over the runs of a seed, which are
two: either may be the first flow. What chance does is told by two seeds of the simulator.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

import cclab

SHOWN = 12
"""Of the largest disagreements."""


class Pairing(NamedTuple):
    """Two variants beside each other."""

    variant: str
    rival: str
    rtt: str
    limit: str

    def __str__(self) -> str:
        return f"{self.variant} beside {self.rival}, {self.rtt}, {self.limit}"


Shares = dict[Pairing, list[float]]
"""Of each pairing, of the variant that the study lists first: a mean for each seed."""


def shares_of(folder: Path) -> tuple[Shares, list[str]]:
    """The shares, and the variants in the order of the study."""
    runs: dict[tuple[Pairing, int], list[float]] = {}
    order: dict[str, int] = {}
    for point in cclab.load(folder).points:
        pair = [str(point.params[f"flow.{flow}.cc"]) for flow in "ab"]
        for variant in pair:
            order.setdefault(variant, len(order))
        rtt = str(point.params["flow.a.rtt"])
        limit = str(point.params["network.bottleneck.queue.limit"])
        for run in point.runs:
            goodputs = [flow["window_goodput_bps"] for flow in run.metrics["flows"]]
            parts = [goodput / sum(goodputs) for goodput in goodputs]
            for nth in (0, 1):
                pairing = Pairing(pair[nth], pair[1 - nth], rtt, limit)
                runs.setdefault((pairing, run.run.seed), []).append(parts[nth])
    shares: Shares = {}
    for (pairing, _), parts in sorted(runs.items(), key=lambda item: item[0][1]):
        shares.setdefault(pairing, []).append(statistics.mean(parts))
    return shares, list(order)


def once(shares: Shares, order: list[str]) -> Shares:
    """Each pair of different variants once, as the study lists them."""
    return {
        pairing: parts
        for pairing, parts in shares.items()
        if order.index(pairing.variant) < order.index(pairing.rival)
    }


def print_differences(kernel: Shares, simulator: Shares) -> None:
    """How far apart, who is ahead, and where they are farthest."""
    apart = {pairing: simulator[pairing][0] - parts[0] for pairing, parts in kernel.items()}
    chance = [parts[1] - parts[0] for parts in simulator.values() if len(parts) > 1]
    alike = sum((kernel[one][0] > 0.5) == (simulator[one][0] > 0.5) for one in kernel)
    print("| difference of shares, points | median | nine of ten below | largest |")
    print("| --- | ---: | ---: | ---: |")
    for name, sizes in (
        ("simulator - kernel, seed 1", [abs(size) for size in apart.values()]),
        ("seed 2 - seed 1 of the simulator", [abs(size) for size in chance]),
    ):
        if sizes:
            numbers = (statistics.median(sizes), float(np.quantile(sizes, 0.9)), max(sizes))
            print(f"| {name} | " + " | ".join(f"{100 * number:.1f}" for number in numbers) + " |")
    print(f"\nThe same variant is ahead in {alike} of {len(kernel)}.\n")
    print("| pair, RTT, buffer | kernel | simulator | simulator, other seeds |")
    print("| --- | ---: | ---: | ---: |")
    for pairing in sorted(apart, key=lambda one: -abs(apart[one]))[:SHOWN]:
        others = ", ".join(f"{100 * part:.0f}%" for part in simulator[pairing][1:])
        numbers_of = f"{100 * kernel[pairing][0]:.0f}% | {100 * simulator[pairing][0]:.0f}%"
        print(f"| {pairing} | {numbers_of} | {others} |")


def print_means(sides: dict[str, Shares], order: list[str]) -> None:
    """What each variant takes of the others in the mean, by buffer."""
    limits = list(dict.fromkeys(pairing.limit for pairing in next(iter(sides.values()))))
    print("\n| | " + " | ".join(f"{limit}: {side}" for limit in limits for side in sides) + " |")
    print("| --- |" + " ---: |" * (len(limits) * len(sides)))
    for variant in order:
        cells = []
        for limit in limits:
            for shares in sides.values():
                taken = [
                    parts[0]
                    for one, parts in shares.items()
                    if one.variant == variant and one.rival != variant and one.limit == limit
                ]
                cells.append(f"{100 * statistics.mean(taken):.0f}%")
        print(f"| {variant} | " + " | ".join(cells) + " |")


def draw(sides: dict[str, Shares], order: list[str], file: Path) -> None:
    """The row's share beside the column's, the mean over all RTTs and buffers, a panel per side."""
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "all-pairs", "font.size": 8}):
        figure = Figure(figsize=(10.5, 5.2), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (side, shares) in zip(panels, sides.items(), strict=True):
            table = np.full((len(order), len(order)), np.nan)
            for y, variant in enumerate(order):
                for x, rival in enumerate(order):
                    parts = [
                        found[0]
                        for one, found in shares.items()
                        if (one.variant, one.rival) == (variant, rival)
                    ]
                    table[y, x] = 100 * statistics.mean(parts)
                    dark = abs(table[y, x] - 50) > 30
                    axes.text(
                        x,
                        y,
                        f"{table[y, x]:.0f}",
                        ha="center",
                        va="center",
                        color="white" if dark else "black",
                    )
            image = axes.imshow(table, cmap="RdBu", vmin=0, vmax=100)
            axes.set_title(side)
            axes.set_xticks(range(len(order)), order, rotation=60, ha="right")
            axes.set_yticks(range(len(order)), order)
            axes.set_xlabel("beside")
        figure.colorbar(image, ax=panels, label="share of the row's variant (%)", shrink=0.8)
        figure.savefig(file, format="svg", metadata={"Date": None})


def main(kernel: Path, simulator: Path, file: Path | None) -> None:
    """Prints, and draws if asked to."""
    by_kernel, order = shares_of(kernel)
    simulated, _ = shares_of(simulator)
    print_differences(once(by_kernel, order), once(simulated, order))
    sides = {"kernel": by_kernel, "simulator": simulated}
    print_means(sides, order)
    if file:
        draw(sides, order, file)


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    folders = given or [Path("results/all-pairs.linux"), Path("results/all-pairs.sim")]
    main(folders[0], folders[1], given[2] if len(given) > 2 else None)
