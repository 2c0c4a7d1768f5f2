"""Which runs the plans of a store ask for, read without what the runs are: plans can be large."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from cclab.plan.deltas import Delta, applied
from cclab.store import disk
from cclab.store.folder import PLAN

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.documents.scenario import Scenario
    from cclab.plan import Plan
    from cclab.store.folder import Store


class _Run(msgspec.Struct):
    id: str


class _Point(msgspec.Struct):
    runs: list[_Run]
    backend: str
    version: str
    scenario: dict[str, Any] = {}
    """Of the first point."""
    delta: Delta = {}
    """What the others have in its place."""
    params: dict[str, Any] = {}
    """The swept keys, as the study writes them."""


_LETTERS = 8
"""Of the name of what a plan asks for."""


class Planned(msgspec.Struct):
    """What is read of a plan: it tells more."""

    name: str
    title: str
    points: list[_Point]
    until: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` if the scenarios cannot be put together."""
        try:
            for point in self.points:
                self.scenario(point)
        except LookupError as error:
            raise ValueError(f"no such place in a scenario: {error}") from error

    @property
    def runs(self) -> set[str]:
        """The ids of the runs that it asks for."""
        return {run.id for point in self.points for run in point.runs}

    def scenario(self, point: _Point) -> Scenario:
        """The whole scenario of one of its points."""
        whole: Scenario = applied(self.points[0].scenario, point.delta)
        return whole

    @property
    def scenarios(self) -> list[bytes]:
        """What each point asks for, whatever the seeds and however often: the digest of its
        scenario with the backend and the versions."""
        digests = []
        for point in self.points:
            digest = hashlib.sha256(f"{point.backend}\0{point.version}\0".encode())
            digest.update(msgspec.json.encode(self.scenario(point), order="deterministic"))
            digests.append(digest.digest())
        return digests

    @property
    def content(self) -> str:
        """The name of all that it asks for, whatever the seeds and however often."""
        digest = hashlib.sha256(b"".join(sorted(set(self.scenarios))))
        return digest.hexdigest()[:_LETTERS]


def check_is_store(store: Store) -> None:
    """Raises `StoreError` if the folder holds no plan, or is of another version, and
    `DamagedPlanError` if what stands in the place of the plan is no file."""
    store.check_version()
    if not (store.path / PLAN).is_file():
        store.plan()


def planned(store: Store) -> dict[Path, Planned]:
    """The plans of `store`, by where they are, the last one run first, each once.

    Raises `StoreError` if one cannot be read, and `DamagedPlanError` if one is not as it was
    written.
    """
    plans = {}
    for text, file in _texts(store).items():
        try:
            plans[file] = msgspec.json.decode(text, type=Planned)
        except (msgspec.DecodeError, RecursionError):
            store.plan_in(file)  # It says how that is mended.
            raise
    return plans


def marks(store: Store) -> list[str]:
    """What tells the plans of `store` from others: the digest of the one last run, and the names of
    those that are kept, which are digests."""
    try:
        last = hashlib.sha256(disk.read(store.path / PLAN)).hexdigest()
    except OSError:
        last = ""
    return [last, *store.plan_names()]


def asking(store: Store) -> list[Planned]:
    """The plans of `store` that ask for its runs, or may: the last one run first, then by size."""
    plans = [*planned(store).values()]
    # The order of the older ones is that of the names of their files, which says nothing.
    plans[1:] = sorted(plans[1:], key=lambda plan: (-len(plan.points), plan.content))
    runs = {run for plan in plans for run in plan.runs}
    if any(plan.until is not None for plan in plans) and not store.ids() <= runs:
        longest = [plan.to_json() for plan in unsettled(store)]
        plans += [msgspec.json.decode(text, type=Planned) for text in longest]
    return plans


def contents(store: Store) -> dict[str, str]:
    """By the id of each run that the plans of `store` ask for, or may: the `content` of its plan.

    Of a scenario in several plans it is that of the last one run; else of the largest, so that a
    sweep that grew is one plan.
    """
    plans = asking(store)
    of_scenario: dict[bytes, str] = {}
    plan_of: dict[str, str] = {}
    for plan in plans:
        content = plan.content
        for scenario, point in zip(plan.scenarios, plan.points, strict=True):
            named = of_scenario.setdefault(scenario, content)
            for run in point.runs:
                plan_of.setdefault(run.id, named)
    return plan_of


def unsettled(store: Store) -> list[Plan]:
    """The plans of `store` whose rule for repeats is not known to be met, each at its longest.

    What such a sweep has done by the time it is killed is in no plan: a plan that grew is kept
    when every point has enough runs. Until then each run counts that may follow.
    """
    started: dict[str, Plan] = {}
    settled = set()
    for file, known in planned(store).items():
        # Most plans have no rule, and to read all of a large one takes seconds.
        if known.until is not None:
            plan = store.plan_in(file)
            start = plan.first.to_json()
            started[start] = plan
            if plan.to_json() != start and store.place_of(plan).exists():
                settled.add(start)
    return [plan.longest for start, plan in started.items() if start not in settled]


def _texts(store: Store) -> dict[bytes, Path]:
    """What the plans of `store` say, the last one run first, and where it says so."""
    texts: dict[bytes, Path] = {}
    for file in store.plan_files():
        texts.setdefault(store.plan_text(file), file)
    return texts
