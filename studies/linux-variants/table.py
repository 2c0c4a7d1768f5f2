"""Prints the results of the study as a Markdown table: a row per variant, alone and against CUBIC.

    .venv/bin/python studies/linux-variants/table.py [FOLDER]

FOLDER is where `cclab run` left them, `results/linux-variants` if not given.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import cclab

if TYPE_CHECKING:
    from cclab.measure.points import Point

HEADING = (
    "| variant | goodput | utilization | queue delay | retransmits "
    "| share | its goodput | CUBIC's | utilization | queue delay | its retransmits | CUBIC's |"
)


def number(value: dict[str, Any] | None, scale: float = 1, digits: int = 1) -> str:
    """A mean over runs."""
    return "" if value is None else f"{value['mean'] * scale:,.{digits}f}"


def share(point: Point) -> str:
    """The variant's part of both goodputs: the mean over runs, and the least and most of a run."""
    parts = []
    for run in point.runs:
        variant, rival = (flow["steady_goodput_bps"] for flow in run.metrics["flows"])
        parts.append(100 * variant / (variant + rival))
    return f"{sum(parts) / len(parts):.0f}% ({min(parts):.0f}-{max(parts):.0f})"


def link(summary: dict[str, Any]) -> list[str]:
    """Utilization in per cent and mean queue delay in milliseconds."""
    bottleneck = summary["bottleneck"]
    return [
        number(bottleneck["utilization"], 100),
        number(bottleneck["queue_delay_mean_s"], 1e3),
    ]


def main(folder: str) -> None:
    """Prints the table of the results in `folder`."""
    results = cclab.load(folder)
    cells: dict[str, dict[int, list[str]]] = {}
    summaries = results.document()["summary"]
    for point, summary in zip(results.points, summaries, strict=True):
        flows = summary["flows"]
        goodputs = [number(flow["steady_goodput_bps"], 1e-6) for flow in flows]
        retransmits = [number(flow["retransmits"], digits=0) for flow in flows]
        alone = len(flows) == 1
        cells.setdefault(point.params["flow.variant.cc"], {})[len(flows)] = [
            *([] if alone else [share(point)]),
            *goodputs,
            *link(summary),
            *retransmits,
        ]
    print(HEADING)
    print("| --- |" + " ---: |" * (HEADING.count("|") - 2))
    for variant, row in cells.items():
        print("| " + " | ".join([variant, *row[1], *row[2]]) + " |")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "results/linux-variants")
