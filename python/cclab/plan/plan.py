"""A plan: every run of a study, with its seed and content hash."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from cclab import _core
from cclab.plan.deltas import applied, delta
from cclab.plan.runs import Run, Runs
from cclab.plan.sharing import Sharing

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from cclab.documents.scenario import Scenario

SCHEMA = "cclab-plan/2"
"""Name and version of `plan.json` in a store, and of the store's form with it."""


@dataclass(frozen=True)
class Point:
    """A sweep point: the values of the swept keys and the runs with them."""

    params: dict[str, Any]
    """The swept keys and their values as the study writes them; empty without a sweep."""
    scenario: Scenario = field(repr=False)
    unsupported: list[dict[str, Any]]
    """What the backend cannot do: `path` in the study and `what` it is."""
    runs: Sequence[Run]
    spare: Sequence[Run] = field(default=(), repr=False)
    """The runs that may follow, where `repeat` is a rule; not kept in a store."""
    absent: list[dict[str, Any]] = field(default_factory=list, repr=False)
    """The kernels that it names and the backend does not have: `name`, and `place` in the study;
    not kept in a store."""
    disregarded: list[str] = field(default_factory=list, repr=False)
    """The keys that the backend takes no notice of, though it runs the scenario; not kept in a
    store."""

    @property
    def foreseen(self) -> list[dict[str, str]]:
        """The warnings that each of its runs will have, whatever it shows."""
        raised: list[dict[str, str]] = json.loads(_core.foreseen(json.dumps(self.scenario)))
        return raised

    @property
    def label(self) -> str:
        """The point in words."""
        return ", ".join(in_words(self.params)) or "all runs"

    @property
    def short_label(self) -> str:
        """The values alone."""
        return ", ".join(text(value) for value in self.params.values()) or "all runs"


@dataclass(frozen=True)
class Named:
    """A metric by the name that an expression has for it."""

    name: str
    """As the study spells it: `flow.short.goodput_bps`."""
    subject: str | dict[str, str]
    """What is measured: `run`, `bottleneck`, `{"flow": NAME}`, and the same of a `group`, of a
    `band` of the bottleneck, of `traffic` and of a `probe`."""
    metric: str
    """Its name in the output of `cclab run --json`."""


@dataclass(frozen=True)
class Measure:
    """A metric of runs, or what is computed from several."""

    expression: str
    """The text of the study."""
    metrics: list[Named]
    """The metrics in it, each once."""


@dataclass(frozen=True)
class Expectation(Measure):
    """A check over the results, such as `jain > 0.95`."""

    label: str
    place: str | None = field(default=None, compare=False)
    """File, line and column, where the study writes it; not kept in a store."""


@dataclass(frozen=True)
class Until:
    """When a sweep point has been repeated often enough."""

    text: str
    """The rule as the study has it: `until ci95 < 2%`."""
    measures: list[Measure]
    """What has to be sure: all of it."""
    width: float
    """Half the width of the 95% interval over the mean must be below this."""
    least: int
    """Runs before the interval is looked at."""
    most: int
    """Runs after which the point is given up."""


@dataclass(frozen=True)
class Plan:
    """Every run of a study."""

    name: str
    title: str
    question: str
    backend: str
    seed: int
    repeat: int
    expectations: list[Expectation]
    points: list[Point] = field(repr=False)
    baselines: list[Literal["solo", "self"]] = field(default_factory=list)
    """What flows are compared with, in runs beside the plan's own."""
    until: Until | None = None
    """When a point has enough runs; None: when it has `repeat`. The points of a plan with such a
    rule begin with the fewest runs; `repeats.Growth` makes it grow."""

    @property
    def first(self) -> Plan:
        """The plan before any result was looked at; this one without a rule for repeats."""
        if self.until is None:
            return self
        least = self.until.least
        return self.with_points(
            [
                replace(p, runs=p.runs[:least], spare=[*p.runs[least:], *p.spare])
                for p in self.points
            ]
        )

    @property
    def longest(self) -> Plan:
        """The plan with every run that its rule for repeats may come to; itself without one.

        Spare runs are not kept in a store: they have the seeds that follow.
        """
        if self.until is None:
            return self
        return self.with_points([_with_runs(point, self.until.most) for point in self.points])

    @property
    def follows(self) -> bool:
        """Whether each of its runs is one that its first ones and its rule for repeats lead to."""
        may_be = self.first.longest
        return all(
            {(run.id, run.seed) for run in point.runs} <= {(run.id, run.seed) for run in most.runs}
            for point, most in zip(self.points, may_be.points, strict=True)
        )

    @property
    def names_hold(self) -> bool:
        """Whether each run is called by the hash of what it is."""
        return all(
            run.id == _core.run_id(scenario, run.seed, run.backend, run.version)
            for point in self.points
            for scenario in (json.dumps(point.scenario),)
            for run in point.runs
        )

    def with_more_runs(self, points: Container[int]) -> Plan:
        """The plan with another run at each of `points`, by their numbers."""
        return self.with_points(
            [
                replace(p, runs=[*p.runs, p.spare[0]], spare=p.spare[1:]) if k in points else p
                for k, p in enumerate(self.points)
            ]
        )

    def with_points(self, points: list[Point]) -> Plan:
        """The plan with those sweep points and no others."""
        return replace(self, points=points, repeat=max(len(point.runs) for point in points))

    @property
    def possible(self) -> list[Run]:
        """Every run once, and those that may follow."""
        if not any(point.spare for point in self.points):
            return self.runs
        every = (run for point in self.points for run in (*point.runs, *point.spare))
        return list({run.id: run for run in every}.values())

    @cached_property
    def runs(self) -> list[Run]:
        """Every run once, in order: sweep points that are equal share their runs."""
        if len(self.points) == 1:  # which may have a million of them
            return [*self.points[0].runs]
        return list({run.id: run for point in self.points for run in point.runs}.values())

    @property
    def samples(self) -> list[Run]:
        """A run of each scenario: what a backend needs for it does not depend on the seed."""
        firsts = (point.runs[0] for point in self.points)
        return list({id(run.scenario): run for run in firsts}.values())

    @property
    def unsupported(self) -> list[dict[str, Any]]:
        """What the backend cannot do for some point; each thing once."""
        reasons = {(u["path"], u["what"]): u for point in self.points for u in point.unsupported}
        return list(reasons.values())

    @property
    def disregarded(self) -> list[str]:
        """The keys that the backend takes no notice of at some point, each once; those of the
        copies of a flow as one."""
        names = {flow["name"] for point in self.points for flow in point.scenario["flows"]}
        paths = (path for point in self.points for path in point.disregarded)
        return list(dict.fromkeys(_of_any_copy(path, names) for path in paths))

    @property
    def reasons(self) -> list[str]:
        """What the backend cannot do, in lines, each thing once with all that asks for it."""
        asking: dict[str, list[str]] = {}
        for _, path, what, _ in self._placed_reasons():
            asking.setdefault(what, []).append(path)
        return [f"{', '.join(paths)}: {what}" for what, paths in asking.items()]

    @property
    def refusals(self) -> list[str]:
        """The reasons, each behind the place in the study that asks for it, where one does, and
        with the backends that do it or the key that lifts it."""
        return [
            f"{place}: {told}" if place else told
            for place, path, what, elsewhere in self._placed_reasons()
            for told in (f"{path}: {what}{_does_it(elsewhere)}",)
        ]

    def _placed_reasons(self) -> list[tuple[str | None, str, str, list[str]]]:
        """Place, path, what the backend cannot do and which do; a flow's copies (`count`) fold into
        one."""
        names = {flow["name"] for point in self.points for flow in point.scenario["flows"]}
        alike: dict[tuple[str, str], list[str]] = {}
        places: dict[tuple[str, str], str | None] = {}
        doing: dict[tuple[str, str], list[str]] = {}
        for reason in self.unsupported:
            key = (_of_any_copy(reason["path"], names), reason["what"])
            alike.setdefault(key, []).append(reason["path"])
            places.setdefault(key, reason.get("place"))
            elsewhere = reason.get("elsewhere", [])
            doing[key] = [name for name in doing.get(key, elsewhere) if name in elsewhere]
        return [
            (
                places[path, what],
                paths[0] if len(paths) == 1 else f"{path} ({len(paths)} flows)",
                what,
                doing[path, what],
            )
            for (path, what), paths in alike.items()
        ]

    def description(self) -> dict[str, Any]:
        """The `study` of a results document."""
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "backend": self.backend,
            "seed": self.seed,
            "repeat": self.repeat if self.until is None else self.until.text,
            "expect": {e.label: e.expression for e in self.expectations},
            "baselines": self.baselines,
        }

    @classmethod
    def from_core(cls, frame: str, points: list[str], name: str) -> Plan:
        """The plan that the core made of the study called `name`; `points` is used up."""
        share = Sharing()
        read = []
        # One at a time: all of them, as they are written, are many times as much.
        for index, text in enumerate(points):
            points[index] = ""
            read.append(_planned(_POINT.decode(text), share))
        return cls._of(json.loads(frame), name, read).first

    @classmethod
    def from_json(cls, document: str) -> Plan:
        """The plan that `to_json` wrote. Raises `ValueError` if it is not one."""
        try:
            raw = json.loads(document)
            if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
                raise ValueError(f"not a {SCHEMA} document")
            return cls._from_deltas(raw)
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a {SCHEMA} document: {error}") from error

    @classmethod
    def _from_deltas(cls, raw: dict[str, Any]) -> Plan:
        base = raw["points"][0]["scenario"]
        points = [
            Point(
                point["params"],
                scenario := applied(base, point.get("delta", {})),
                point["unsupported"],
                _stored(point, scenario),
            )
            for point in raw["points"]
        ]
        return cls._of(raw, raw["name"], points)

    def to_json(self) -> str:
        """The plan as a store keeps it: of the scenarios but the first, what differs from that."""
        document = {
            "schema": SCHEMA,
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "expectations": [
                {"label": e.label, **asdict(Measure(e.expression, e.metrics))}
                for e in self.expectations
            ],
            **({} if self.until is None else {"until": asdict(self.until)}),
        }
        parts = [_opened(document), ',"points":[']
        base = self.points[0].scenario
        for index, point in enumerate(self.points):
            head = {
                "params": point.params,
                **({"delta": delta(base, point.scenario)} if index else {"scenario": base}),
                "unsupported": point.unsupported,
                "backend": point.runs[0].backend,
                "version": point.runs[0].version,
            }
            # Runs are written as text: a dictionary for each of a million is gigabytes.
            runs = ",".join(f'{{"id":"{run.id}","seed":{run.seed}}}' for run in point.runs)
            parts += ["," if index else "", _opened(head), f',"runs":[{runs}]}}']
        parts.append("]")
        if self.baselines:
            parts.append(f',"baselines":{_compact(self.baselines)}')
        return "".join([*parts, "}\n"])

    @classmethod
    def _of(cls, raw: dict[str, Any], name: str, points: list[Point]) -> Plan:
        first = points[0].runs[0]
        until = raw.get("until")
        if until is not None:
            until = Until(**{**until, "measures": [_measure(m) for m in until["measures"]]})
        return cls(
            name=name,
            title=raw["title"] or name,
            question=raw["question"] or "",
            backend=first.backend,
            seed=first.seed,
            repeat=max(len(point.runs) for point in points),
            expectations=[
                Expectation(e["expression"], _named(e), e["label"], e.get("place"))
                for e in raw["expectations"]
            ],
            points=points,
            until=until,
            baselines=raw.get("baselines", []),
        )


class _Point(msgspec.Struct):
    """A sweep point as the core tells of it."""

    params: dict[str, Any]
    scenario: msgspec.Raw
    unsupported: list[dict[str, Any]]
    disregarded: list[str]
    absent: list[dict[str, Any]]
    backend: str
    version: str
    seed: int
    """Of the first run."""
    ids: str
    """Of the runs, one behind the other."""


_POINT = msgspec.json.Decoder(_Point)


def _planned(point: _Point, share: Sharing) -> Point:
    scenario = share.value(point.scenario)
    backend, version = share.text(point.backend), share.text(point.version)
    runs = Runs.of(scenario, backend, version, point.seed, point.ids)
    return Point(
        point.params,
        scenario,
        point.unsupported,
        runs,
        absent=point.absent,
        disregarded=point.disregarded,
    )


def _stored(point: dict[str, Any], scenario: Scenario) -> list[Run]:
    """The runs of a sweep point as a store keeps it."""
    backend, version = point["backend"], point["version"]
    return [Run(run["id"], run["seed"], backend, version, scenario) for run in point["runs"]]


def _compact(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _opened(document: dict[str, Any]) -> str:
    """`document` without its closing brace: more keys follow."""
    return _compact(document)[:-1]


def _measure(raw: dict[str, Any]) -> Measure:
    return Measure(raw["expression"], _named(raw))


def _named(raw: dict[str, Any]) -> list[Named]:
    return [Named(**named) for named in raw["metrics"]]


def _does_it(elsewhere: list[str]) -> str:
    """Which other backends do what is refused, or which key lifts it; empty of none."""
    if not elsewhere:
        return ""
    # Keys stand behind the backends.
    option = "" if elsewhere[0].startswith("network.") else "--backend "
    return f"; {option}{' or '.join(elsewhere)} has it"


def _with_runs(point: Point, most: int) -> Point:
    """`point` with `most` runs, counted from its first seed."""
    there = {run.seed for run in point.runs}
    every = Runs.counted(point.runs[0], most)
    further = [run for run in every if run.seed not in there]
    return replace(point, runs=[*point.runs, *further], spare=())


def text(value: object) -> str:
    """A swept value as the study writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def short_key(key: str) -> str:
    """A sweep path without the words that every study repeats."""
    for prefix in ("flow.", "network.bottleneck.", "network."):
        if key.startswith(prefix):
            return key.removeprefix(prefix)
    return key


def in_words(params: Mapping[str, object]) -> list[str]:
    """Each swept key with its value."""
    return [f"{short_key(key)} = {text(value)}" for key, value in params.items()]


def _of_any_copy(path: str, flows: set[str]) -> str:
    """A path in which the number of a copy (`flow.reno.2.cc`) is a star."""
    for flow in flows:
        stem, dot, number = flow.rpartition(".")
        if dot and number.isdigit() and f"{path}.".startswith(f"flow.{flow}."):
            return f"flow.{stem}.*{path.removeprefix(f'flow.{flow}')}"
    return path
