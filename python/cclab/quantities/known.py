"""Whether an expression names what runs will have, before there are any."""

from __future__ import annotations

import fnmatch
import inspect
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cclab import metrics, shown
from cclab.errors import InputError
from cclab.quantities import expressions
from cclab.quantities.names import DERIVED, Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cclab.documents.scenario import Scenario

_STANDS_FOR = 1.0
"""What every number is while nothing is measured."""


_OF_SEVERAL = np.array([1.0, 2.0])
"""What the numbers of several flows or sources are: not all the same, as few are."""


@dataclass(frozen=True)
class Known:
    """What runs of some scenarios will have: their flows, sources of traffic and metrics."""

    flows: frozenset[str]
    sources: frozenset[str]
    groups: frozenset[str]

    @classmethod
    def of(cls, scenarios: Iterable[Scenario]) -> Known:
        """What the runs of one of `scenarios` at least will have."""
        flows, sources, groups = set[str](), set[str](), set[str]()
        for scenario in scenarios:
            flows |= {flow["name"] for flow in scenario["flows"]}
            # The flows of a `count` are a group, called as the file calls them.
            groups |= {f.get("group", re.sub(r"\.\d+$", "", f["name"])) for f in scenario["flows"]}
            sources |= {source["name"] for source in scenario.get("traffic", [])}
        return cls(frozenset(flows), frozenset(sources), frozenset(groups))

    def flow_problem(self, flow: str) -> str:
        """Why `flow`, a name or a pattern, means no flow of the runs; empty if it means one."""
        try:
            self._meant(self.flows, flow, "flow")
        except InputError as error:
            return str(error)
        return ""

    def problem(self, expression: str, flow: str) -> str:
        """Why `expression` cannot be evaluated for `flow` (empty: for the run) in any of the runs.

        Empty if nothing speaks against it. What a trace will hold is not looked at.
        """
        several = bool(flow) and len(fnmatch.filter(self.flows, flow)) > 1
        try:
            # What stands for numbers may have no correlation or no deviation.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = self._value(expression, of_flow=bool(flow))
        except InputError as error:
            return str(error)
        if several or np.ndim(value):
            of_each = f"mean(each({flow!r}, ...))" if several else f"mean({expression})"
            return (
                f"`{expression}` gives a number for each of several flows; make one of them, as by "
                f"{of_each}"
            )
        return ""

    def _value(self, expression: str, *, of_flow: bool) -> Any:
        return expressions.value(expression, _StandIns(self, of_flow), self._functions)

    @cached_property
    def names(self) -> frozenset[str]:
        """The numbers of a run by their names in expressions, but for those of its flows."""
        named: set[str] = {*metrics.RUN_METRICS}
        named |= {f"bottleneck_{name}" for name in _named("bottleneck")}
        named |= {f"traffic_{s}_{name}" for s in self.sources for name in metrics.TRAFFIC_METRICS}
        named |= {f"group_{g}_{name}" for g in self.groups for name in _named("group")}
        return frozenset(named)

    @cached_property
    def _functions(self) -> dict[str, Callable[..., Any]]:
        takes = Names.functions_of_class()
        own: dict[str, Callable[..., Any]] = {
            "of": self._of,
            "each": self._each,
            "sources": self._sources,
            "fct_by_size_s": self._fct_by_size,
            "fct_quantile_s": self._fct_quantile,
        }
        return {name: own.get(name, _stand_in(name, of)) for name, of in takes.items()}

    def _of(self, flow: str, expression: str) -> Any:
        if flow not in self.flows:
            _absent("flow", flow, self.flows)
        return self._value(expression, of_flow=True)

    def _each(self, pattern: str, expression: str) -> Any:
        self._meant(self.flows, pattern, "flow")
        return self._value(expression, of_flow=True) * _OF_SEVERAL

    def _sources(self, pattern: str, name: str) -> Any:
        self._meant(self.sources, pattern, "source of traffic")
        if name not in metrics.TRAFFIC_METRICS:
            known = ", ".join(metrics.TRAFFIC_METRICS)
            raise ValueError(f"no number {shown.quoted(name)} of traffic; there are {known}")
        return _OF_SEVERAL

    def _fct_by_size(self, pattern: str, from_: float, to: float) -> float:
        self._meant(self.sources, pattern, "source of traffic")
        return _STANDS_FOR

    def _fct_quantile(self, pattern: str, share: float) -> float:
        self._meant(self.sources, pattern, "source of traffic")
        return _STANDS_FOR

    def _meant(self, among: frozenset[str], pattern: str, kind: str) -> int:
        """How many of `among` are meant, which is one at least."""
        meant = fnmatch.filter(among, pattern)
        return len(meant) or _absent(kind, pattern, among)


class _StandIns(Mapping[str, Any]):
    """A number for each name that there will be."""

    def __init__(self, known: Known, of_flow: bool) -> None:
        self._known = known
        self._of_flow = of_flow

    def __getitem__(self, name: str) -> float:
        if name in self._known.names or (self._of_flow and name in _OF_FLOW):
            return _STANDS_FOR
        # A discipline's own queues have the names that it gives them, captures their own table.
        ends = tuple(f"_{metric}" for metric in metrics.BAND_METRICS)
        if name.startswith("capture_") or (name.startswith("band_") and name.endswith(ends)):
            return _STANDS_FOR
        near = metrics.near(name, sorted({*self._known.names, *_OF_FLOW}), most=1)
        hint = f"; did you mean {shown.quoted(near[0])}?" if near else ""
        of_flow = name in _OF_FLOW
        hint = "; it is a number of a flow: give `flow`, or of('NAME', ...)" if of_flow else hint
        raise InputError(f"nothing is called {shown.quoted(name)}{hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known.names)

    def __len__(self) -> int:
        return len(self._known.names)


def _named(subject: metrics.Subject) -> list[str]:
    return [metric.name for metric in metrics.METRICS if metric.subject == subject]


_OF_FLOW = frozenset({*_named("flow"), *DERIVED})


def _stand_in(name: str, method: Callable[..., Any]) -> Callable[..., float]:
    """A function that takes what `method` takes, and measures nothing."""
    signature = inspect.signature(method)

    def called(*arguments: Any) -> float:
        try:
            signature.bind(None, *arguments)
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from None
        return _STANDS_FOR

    return called


def _absent(kind: str, name: str, there: frozenset[str]) -> NoReturn:
    listed = ", ".join(sorted(there)) or "none"
    raise InputError(f"no {kind} is called {shown.quoted(name)}; there are {listed}")
