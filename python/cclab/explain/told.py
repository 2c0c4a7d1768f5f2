"""How explanations are told in a notebook and as text: a table of the flows, and what follows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from cclab import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cclab.explain import Explanation, FlowExplanation

MOST_FLOWS = 12
"""Rows of flows in a table; flows of one group that are alike are one row."""

MOST_POINTS = 12

_HEADINGS = (
    "flow", "variant", "base RTT", "bottleneck", "BDP", "queue", "expected", "bound by",
)  # fmt: skip
_NONE = "–"


class Explained(list["Explanation"]):
    """The explanations of the sweep points of a study, in order; a notebook shows their tables."""

    def __init__(self, explanations: Iterable[Explanation], labels: Sequence[str]) -> None:
        """Of the points that `labels` name in words."""
        super().__init__(explanations)
        self.labels = list(labels)

    def __str__(self) -> str:
        """The tables as text."""
        parts = [
            f"{label}\n{explanation}" if len(self) > 1 else str(explanation)
            for label, explanation in self._shown()
        ]
        return "\n\n".join([*parts, *self._beyond()])

    def _repr_html_(self) -> str:
        parts = [
            (f"<p><strong>{escape(label)}</strong></p>" if len(self) > 1 else "")
            + html(explanation)
            for label, explanation in self._shown()
        ]
        return (
            "<div>" + "".join([*parts, *(f"<p>{more}</p>" for more in self._beyond())]) + "</div>"
        )

    def _shown(self) -> list[tuple[str, Explanation]]:
        return list(zip(self.labels, self, strict=True))[:MOST_POINTS]

    def _beyond(self) -> list[str]:
        more = len(self) - MOST_POINTS
        return [f"{more} more sweep points"] if more > 0 else []


def html(explanation: Explanation) -> str:
    """The table of an explanation and its notes, for a notebook's cell."""
    head = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _rows(explanation)
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in _notes(explanation))
    listed = f"<ul>{notes}</ul>" if notes else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{listed}"


def text(explanation: Explanation) -> str:
    """The same as lines of text."""
    rows = [_HEADINGS, *_rows(explanation)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, *(f"- {note}" for note in _notes(explanation))])


def _rows(explanation: Explanation) -> list[tuple[str, ...]]:
    """A row for each flow; one for all that are alike but for their names."""
    group_of = {flow: group.name for group in explanation.groups for flow in group.flows}
    alike: dict[tuple[str, ...], list[str]] = {}
    for flow in explanation.flows:
        key = (group_of.get(flow.name, flow.name), *_cells(flow))
        alike.setdefault(key, []).append(flow.name)
    rows = [
        (names[0] if len(names) == 1 else f"{group} ({len(names)} flows)", *cells)
        for (group, *cells), names in alike.items()
    ]
    if len(rows) > MOST_FLOWS:
        more = f"and {len(rows) - MOST_FLOWS + 1} more"
        return [*rows[: MOST_FLOWS - 1], (more, *[""] * (len(_HEADINGS) - 1))]
    return rows


def expected(flow: FlowExplanation) -> str:
    """What a flow is expected to have, in words; empty where nothing bounds it."""
    if flow.expected_bps is not None:
        return units.told_rate(flow.expected_bps)
    return f"at most {units.told_rate(flow.limits[0].bps)}" if flow.limits else ""


def bound_by(flow: FlowExplanation) -> str:
    """What binds a flow and what is near it, in words; empty where nothing bounds it."""
    if flow.binds is not None and flow.expected_bps is None:
        return "no closed form under loss"
    return ", ".join([*([flow.binds] if flow.binds else []), *flow.near])


def _cells(flow: FlowExplanation) -> tuple[str, ...]:
    return (
        flow.cc or _NONE,
        units.told_time(flow.base_rtt_s),
        flow.bottleneck or _NONE,
        _NONE if flow.bdp_bytes is None else units.told_size(flow.bdp_bytes),
        _NONE if flow.queue_bytes is None else units.told_size(flow.queue_bytes),
        expected(flow) or _NONE,
        bound_by(flow) or _NONE,
    )


def _notes(explanation: Explanation) -> list[str]:
    """What follows for the experiment, each once."""
    own = [note for flow in explanation.flows for note in flow.notes]
    return list(dict.fromkeys([*own, *explanation.notes]))
