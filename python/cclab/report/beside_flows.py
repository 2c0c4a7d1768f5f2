"""Tables of what stands beside the flows: groups of them, named queues, cross traffic, probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import metrics
from cclab.plan import short_key, text
from cclab.report.cells import Cells, only_measured
from cclab.tabular import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate
    from cclab.measure.summary import PointSummary


def groups(results: Results, most: int | None = None) -> Table | None:
    """The table of groups of flows: one row per group and sweep point; None without any.

    With `most`, only of the first so many sweep points. If flows go both ways, the table has the
    direction of each group.
    """
    both_ways = len({flow.direction for p in results.summaries for flow in p.flows}) > 1

    def rows(point: PointSummary) -> list[_Row]:
        return [
            _Row(
                [
                    group.name,
                    str(group.flows),
                    group.cc,
                    *([" and ".join(group.directions)] if both_ways else []),
                ],
                group.estimate,
            )
            for group in point.groups
        ]

    headings = ("group", "flows", "variant", *(["direction"] if both_ways else []))
    return _named_rows(results, most, "group", headings, rows)


def queues(results: Results, most: int | None = None) -> Table | None:
    """The table of the bottleneck's named queues: one row per queue and sweep point; None without.

    With `most`, only of the first so many sweep points.
    """

    def rows(point: PointSummary) -> list[_Row]:
        return [_Row([band.name], band.estimate) for band in point.bands]

    return _named_rows(results, most, "band", ("queue",), rows)


def beside(results: Results, most: int | None = None) -> list[tuple[str, Table]]:
    """The tables that stand after that of the flows, with their titles."""
    kinds = (
        ("Probes", probes),
        ("Queues of the bottleneck", queues),
        ("Cross traffic", traffic),
    )
    return [(title, table) for title, of in kinds if (table := of(results, most)) is not None]


def traffic(results: Results, most: int | None = None) -> Table | None:
    """The table of cross traffic: one row per source and sweep point; None without any.

    With `most`, only of the first so many sweep points.
    """
    return _named_rows(
        results,
        most,
        "traffic",
        ("traffic", "kind"),
        lambda point: [
            _Row([source.name, source.kind], source.estimates.get) for source in point.traffic
        ],
    )


def probes(results: Results, most: int | None = None) -> Table | None:
    """The table of probes: one row per probe and sweep point; None without any.

    With `most`, only of the first so many sweep points.
    """
    return _named_rows(
        results,
        most,
        "probe",
        ("probe", "kind"),
        lambda point: [
            _Row([probe.name, probe.kind], probe.estimates.get) for probe in point.probes
        ],
    )


def floods(results: Results) -> str:
    """A note on ping floods in the table of cross traffic; empty without one."""
    sources = (source for point in results.summaries for source in point.traffic)
    return _FLOODS if any(source.kind == "ping-flood" for source in sources) else ""


_FLOODS = (
    "A ping flood has no rate of its own: it sends when it is answered, and less the longer the "
    "queue is. `constant-rate` has one."
)


@dataclass(frozen=True)
class _Row:
    """A row of what there are several of at a sweep point."""

    texts: list[str]
    estimate: Callable[[str], Estimate | None]
    """What tables show of a metric, by its name."""


def _named_rows(
    results: Results,
    most: int | None,
    subject: metrics.Subject,
    headings: Sequence[str],
    rows_of: Callable[[PointSummary], list[_Row]],
) -> Table | None:
    """A table of things that a sweep point has several of: texts under `headings`, then numbers."""
    points = [(point, rows) for point in results.summaries[:most] if (rows := rows_of(point))]
    if not points:
        return None
    keys = list(results.plan.points[0].params)
    every = [row for _, rows in points for row in rows]
    shown = [
        Cells.of(metric, [row.estimate(metric.name) for row in every])
        for metric in metrics.columns(subject)
        if not only_measured(metric) or any(row.estimate(metric.name) is not None for row in every)
    ]
    numeric = [*(False for _ in keys), *(head == "flows" for head in headings)]
    groups = [
        [
            [
                *(text(value) if index == 0 else "" for value in point.params.values()),
                *row.texts,
                *(cells.text(row.estimate(cells.metric.name)) for cells in shown),
            ]
            for index, row in enumerate(rows)
        ]
        for point, rows in points
    ]
    return Table(
        [*map(short_key, keys), *headings, *(cells.heading for cells in shown)],
        [*numeric, *(True for _ in shown)],
        groups,
        len(keys),
        0,
    )
