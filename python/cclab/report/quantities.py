"""What figures over a sweep can draw: every number of a run, by one name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from cclab import metrics, shown, units
from cclab.drawing.palette import lent
from cclab.errors import InputError
from cclab.measure.numbers import stem
from cclab.measure.stats import estimates

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from cclab.measure.points import Measured, Point
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate

Place = TypeVar("Place", bound="Hashable")


@dataclass(frozen=True)
class Quantity:
    """A number that runs have, such as `jain` or `flow.short.goodput_bps`."""

    name: str

    @property
    def metric(self) -> str:
        """The last word of the name."""
        return self.name.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The flow, source of cross traffic or probe that it is of; empty if it is of the run."""
        subject, _, rest = self.name.partition(".")
        return rest.rpartition(".")[0] if subject in ("flow", "group", "traffic", "probe") else ""

    @property
    def title(self) -> str:
        """Its name in words, without the unit and the owner."""
        row = self._row
        return self.metric.replace("_", " ") if row is None else row.title

    @property
    def kind(self) -> str:
        """What it is a number of, as `Metric.quantity`; `count` where nothing says it."""
        return "count" if self._row is None else self._row.quantity

    @property
    def is_of_window(self) -> bool:
        """Whether it is of the time after a warm-up, and another has its title of the whole run."""
        return self._row is not None and self._row.window_of is not None

    @property
    def less_is_better(self) -> bool:
        """Whether it gets better as it gets less."""
        return self._row is not None and self._row.better == "lower"

    @property
    def _row(self) -> metrics.Metric | None:
        subject, dot, _ = self.name.partition(".")
        return metrics.called(subject if dot else "run", self.metric)

    def unit(self, largest: float) -> tuple[float, str, int]:
        """What to divide by, the name of that unit (may be empty) and digits after the point."""
        row = self._row
        if row is None:
            return 1.0, "", 1
        if row.quantity in ("duration", "delay"):
            return (*units.time(largest), 2)
        divisor, unit, digits = row.unit(largest)
        # A figure has no room for as many digits as a comparison.
        return divisor, unit, digits if not row.is_percentage else 0 if row.of_summary else 1

    def label(self, largest: float) -> str:
        """The title with the unit for values up to `largest`."""
        unit = self.unit(largest)[1]
        return f"{self.title} ({unit})" if unit else self.title

    def of(self, run: Measured) -> float | None:
        """The number of a run; None if it was not measured."""
        if self.name.startswith(("flow.", "group.", "traffic.", "probe.")):
            return run.numbers.get(self.name)
        value: Any = run.metrics
        for word in self.name.split("."):
            value = value.get(word) if isinstance(value, dict) else None
        return None if value is None else float(value)

    def values(self, point: Point) -> list[float | None]:
        """The number of each run of a sweep point."""
        return [self.of(run) for run in point.runs]


def estimated(rows: Mapping[Place, Sequence[float | None]]) -> dict[Place, Estimate]:
    """Means and intervals over the values of runs; without the rows that no run has a value in."""
    longest = max(map(len, rows.values()), default=0)
    even = [[*row, *[None] * (longest - len(row))] for row in rows.values()]
    pairs = zip(rows, estimates(even), strict=True)
    return {place: value for place, value in pairs if value is not None}


def variants_of(point: Point) -> dict[str, tuple[str, str]]:
    """The flows of a point, copies as one: the variant of each and what a legend calls it."""
    return {name: (variant, label) for name, (variant, label, _) in grouped(point.flows).items()}


def grouped(
    flows: Sequence[Mapping[str, Any]], *, wide: bool = False
) -> dict[str, tuple[str, str, list[str]]]:
    """Flows, given by their metrics, copies as one: variant, what a legend calls it, and names.

    If `wide`, those of one group (`group = "name"`) are one too.
    """
    names = [flow["name"] for flow in flows]
    members: dict[str, list[str]] = {}
    variants: dict[str, str] = {}
    for flow in flows:
        own = (wide and flow.get("group")) or stem(flow["name"], names)
        members.setdefault(own, []).append(flow["name"])
        own_variant = metrics.kind(flow)
        variants[own] = own_variant if variants.get(own, own_variant) == own_variant else ""
    several = len(members) > 1
    return {
        name: (variants[name], named(name if several else "", variants[name], len(own)), own)
        for name, own in members.items()
    }


def transfers(point: Point) -> set[str]:
    """The names of the flows at a sweep point that end by themselves."""
    flows = [flow for run in point.runs[:1] for flow in run.run.scenario["flows"]]
    return {flow["name"] for flow in flows if flow.get("transfer")}


def transfers_only(point: Point) -> bool:
    """Whether every flow at a sweep point ends by itself: its time says more than its rate."""
    ending = transfers(point)
    return bool(ending) and len(ending) == len(point.flows)


def lent_in(results: Results) -> tuple[str, ...]:
    """The hues to lend in a figure whose axes all sweep points share."""
    return lent([{metrics.kind(flow) for point in results.points for flow in point.flows}])


def named(flow: str, variant: str, copies: int = 1) -> str:
    """What a legend calls a flow, or several of one name: what says the same is there once."""
    count = f"{copies} flows" if copies > 1 else ""
    if flow in ("", variant) or not variant:
        return ", ".join(filter(None, [flow or variant, count]))
    return f"{flow} ({', '.join(filter(None, [variant, count]))})"


def _shown(results: Results, asked: str) -> str:
    """`asked`, or the name of what it is short for."""
    owner, dot, word = asked.rpartition(".")
    subject = owner.partition(".")[0]
    warm = any(metrics.warmed_up(run.metrics) for run in results.runs)
    for of in [subject] if subject else ["flow", "bottleneck", "run"]:
        name = metrics.shown_name(of, word, warm=warm)
        if name != word:
            return f"{owner}{dot}{name}"
    return asked


def called(results: Results, asked: str) -> list[Quantity]:
    """What somebody who writes `asked` means. Raises `InputError` if no run has it."""
    known = measured(results, asked)
    if known:
        return known
    asked = _shown(results, asked)
    names = results.number_names
    words = [*names, *(Quantity(name).metric for name in names)]
    near = difflib.get_close_matches(asked, list(dict.fromkeys(words)), n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    every = ", ".join(dict.fromkeys(Quantity(name).metric for name in names))
    raise InputError(f"no metric {shown.quoted(asked)} in these results{hint}; they have {every}")


def measured(results: Results, asked: str) -> list[Quantity]:
    """What `asked` names: one quantity, or one of each flow (`goodput_bps`, `share`).

    `flow.NAME.METRIC` is that of one flow, and so with `traffic` and `probe`;
    `bottleneck.` may be left out.
    What is short for the number that tables show (`goodput`, `jain`) is that number here too.
    Nothing if no run has it: a program may send nothing by TCP, or nothing after the warm-up.
    """
    names = results.number_names
    asked = _shown(results, asked)
    for family in (asked, f"bottleneck.{asked}"):
        if family in names:
            return [Quantity(family)]
    subject, _, metric = asked.rpartition(".")
    for kind in [subject] if subject else ["flow", "traffic", "group", "probe"]:
        members = [n for n in names if n.startswith(f"{kind}.") and n.endswith(f".{metric}")]
        members = [n for n in members if Quantity(n).metric == metric]
        if kind in ("flow", "group", "traffic", "probe") and members:
            return [Quantity(name) for name in members]
    return []
