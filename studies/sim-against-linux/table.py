"""Prints how far two backends are apart, as Markdown tables, from the document of `cclab compare`.

    .venv/bin/cclab compare sim linux --study studies/sim-against-linux/study.toml --json \\
        | .venv/bin/python studies/sim-against-linux/table.py

Differences are of the means over runs, relative to the first backend. Goodput is that of each
flow after the warm-up, if there is one, as is the queue delay; retransmissions are summed over the
flows of a run, and where there are hardly any, below 20, they are shown and not compared.
"""

import json
import statistics
import sys
from typing import Any

FEWEST_RETRANSMITS = 20


def both(metrics: dict[str, Any], name: str) -> tuple[float, float]:
    """The mean of either side, after the warm-up where the study has one."""
    steady = f"window_{name}"
    metric = metrics[steady if steady in metrics else name]
    return metric["a"]["mean"], metric["b"]["mean"]


def relative(a: float, b: float) -> float:
    """How far `b` is from `a`, in per cent of `a`."""
    return 100 * (b - a) / a


def name_of(point: dict[str, Any]) -> str:
    """What is swept, and which flows there are."""
    words = []
    for key, value in point["params"].items():
        if isinstance(value, bool):
            words += [key.removeprefix("flow.")] if value else []
        elif not key.endswith(".count"):
            words.append(str(value))
    return ", ".join([*words, " + ".join(flow["name"] for flow in point["flows"])])


def main() -> None:
    """Reads the document, prints a row per sweep point, then what they come to."""
    document = json.load(sys.stdin)
    metrics = ("goodput", "retransmits", "queue delay")
    differing: dict[str, list[tuple[float, str]]] = {metric: [] for metric in metrics}
    print("| point | goodput (Mbit/s) | | retransmits | | queue delay (ms) | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for point in document["points"]:
        name = name_of(point)
        goodputs = [both(flow["metrics"], "goodput_bps") for flow in point["flows"]]
        for flow, (a, b) in zip(point["flows"], goodputs, strict=True):
            differing["goodput"].append((relative(a, b), f"{name}: {flow['name']}"))
        sent = [both(flow["metrics"], "retransmits") for flow in point["flows"]]
        again = sum(a for a, _ in sent), sum(b for _, b in sent)
        if max(again) >= FEWEST_RETRANSMITS and again[0] > 0:
            differing["retransmits"].append((relative(*again), name))
        delay = both(point["bottleneck"], "queue_delay_mean_s")
        differing["queue delay"].append((relative(*delay), name))
        cells = [
            name,
            ", ".join(f"{a / 1e6:.2f} → {b / 1e6:.2f}" for a, b in goodputs),
            ", ".join(f"{relative(a, b):+.1f}%" for a, b in goodputs),
            f"{again[0]:.0f} → {again[1]:.0f}",
            f"{relative(*again):+.0f}%" if again[0] > 0 else "",
            f"{delay[0] * 1e3:.2f} → {delay[1] * 1e3:.2f}",
            f"{relative(*delay):+.1f}%",
        ]
        print("| " + " | ".join(cells) + " |")
    print("\n| | differences | median of their sizes | worst | where |")
    print("| --- | ---: | ---: | ---: | --- |")
    for metric, differences in differing.items():
        if not differences:
            continue
        worst, where = max(differences, key=lambda pair: abs(pair[0]))
        middle = statistics.median(abs(size) for size, _ in differences)
        print(f"| {metric} | {len(differences)} | {middle:.1f}% | {worst:+.1f}% | {where} |")


if __name__ == "__main__":
    main()
