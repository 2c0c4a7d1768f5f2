"""Files of a store that are damaged: `store verify` notices it, nobody believes it, and what it
says mends it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeAlias

import pytest

import damage as befalling
from attacks.kind import Kind, Missed
from cclab.measure import results
from cclab.store import folder
from damage import Damage, restore, struck
from damaged_store import (
    READERS,
    TOLD,
    Bench,
    exported_from,
    growing_sweep,
    is_refused_or_right,
    mend,
    reported,
    two_studies,
    verified,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from attacks.kind import Strike

    Draw: TypeAlias = Callable[["Stores", int, random.Random], tuple[Bench, Damage]]

REMEDIES = 17
"""One of so many damages is mended as the message says."""
REPORTS = 5
"""One of so many of these draws all figures again, which takes seconds: to mend the report, where
that is damaged, or to read the store by it."""
FEW = 2
"""So many readers are asked in the tests' tries, and each in those that follow them."""
LARGE = 4
"""To one of so many, the store has more runs than are read whole by who only wants to read."""
EXPORTS = 7
"""One of so many is exported."""


class Stores:
    """The store of two studies with captures and a report, and that of a sweep that grows."""

    def __init__(self, place: Path) -> None:
        (place / "two").mkdir()
        (place / "growing").mkdir()
        self.two = two_studies(place / "two")
        self.growing = growing_sweep(place / "growing")
        self.benches = [self.two] * 3 + [self.growing]


def bench_of(draw: Draw, short: int) -> Callable[[Path], Iterator[Strike]]:
    """Has what `draw` draws befall the stores: the tests make `short` tries."""

    def bench(place: Path) -> Iterator[Strike]:
        with pytest.MonkeyPatch.context() as patched:
            befalling.without_waiting_for_the_disk(patched)
            stores = Stores(place)

            def strike(number: int, chance: random.Random) -> str | None:
                bench, damage = draw(stores, number, chance)
                readers = [*READERS] if number >= short else chance.sample([*READERS], FEW)
                try:
                    with large(1 if number % LARGE == LARGE - 1 else folder.CHECKED):
                        return "; ".join(said_of(bench, damage, number, readers)) or None
                finally:
                    restore(bench.whole, bench.store.path)

            yield strike

    return bench


@contextlib.contextmanager
def large(checked: int) -> Iterator[None]:
    """Of stores with more than so many runs, not every byte is read."""
    with pytest.MonkeyPatch.context() as patched:
        for module in (folder, results):
            patched.setattr(module, "CHECKED", checked)
        yield


def said_of(bench: Bench, damage: Damage, number: int, readers: list[str]) -> Iterator[str]:
    """What is said of the damage that is wrong, by the readers and by what verifies."""
    called = f"{damage.file.relative_to(bench.store.path)}: {damage.name}"
    due = number % REMEDIES == 0
    if damage.file.is_relative_to(bench.store.report):
        due = due and number % (REMEDIES * REPORTS) == 0
    with struck(damage, bench.whole, bench.store.path):
        if wrong := verified(bench.store, damage.file):
            yield f"verify: {wrong}: {called}"
        # What verifies first asks: the readers may make the index again.
        if due:
            try:
                mend(bench)
            except AssertionError as error:
                yield f"not mended: {called}: {error}"
            restore(bench.whole, bench.store.path)
            damage.strike()
        for name in readers:
            if not is_refused_or_right(READERS[name], bench, name):
                yield f"believed by {name}: {called}"
        if number % (REMEDIES * REPORTS) == 1 and not is_refused_or_right(
            reported, bench, "report"
        ):
            yield f"reported: {called}"
        if number % EXPORTS == 0 and not _is_exported_sound(bench):
            yield f"exported: {called}"


def _is_exported_sound(bench: Bench) -> bool:
    """Whether a copy has nothing but what the store had."""
    try:
        copied = exported_from(bench.store)
    except TOLD:
        return True
    return all(
        (bench.whole / name).read_bytes() == content
        for name, content in copied.items()
        if name.startswith(("runs", "captures"))
    )


def _flip(stores: Stores, number: int, chance: random.Random) -> tuple[Bench, Damage]:
    bench = chance.choice(stores.benches)
    return bench, befalling.flip(bench.files(), chance)


def _cut(stores: Stores, number: int, chance: random.Random) -> tuple[Bench, Damage]:
    bench = chance.choice(stores.benches)
    return bench, befalling.cut(bench.files(), chance, empty=number % 10 == 0)


def _swap(stores: Stores, number: int, chance: random.Random) -> tuple[Bench, Damage]:
    """Runs and captures for each other, plans of another folder, and its index and report."""
    store, other = stores.two.store, stores.growing.store
    plans = [store.path / "plan.json", *sorted(store.plans.iterdir())]
    foreign = [other.path / "plan.json", *other.plans.iterdir(), *other.runs.iterdir()]
    kinds = {
        "run": sorted(store.runs.iterdir()),
        "capture": sorted(store.captures.glob("*/*")),
        "plan": plans,
        "report": sorted(store.report.iterdir()),
        "index": [store.path / "index.sqlite", other.path / "index.sqlite"],
        "any": [*stores.two.files(), *sorted(foreign)],
    }
    damage, source = befalling.swap(kinds, chance)
    if source.read_bytes() == damage.file.read_bytes():
        raise Missed("the two files are equal")
    if not damage.file.is_relative_to(store.path):
        raise Missed("it befalls the other store")
    if damage.file == store.path / "plan.json" and source.parent == store.plans:
        raise Missed("it was the plan last run once, and may be again")
    return stores.two, damage


def _of_each(befall: Callable[[Path], Iterator[Damage]]) -> Draw:
    """Each that there is of one file of each kind; then any of any file."""

    def draw(stores: Stores, number: int, chance: random.Random) -> tuple[Bench, Damage]:
        of_each = [damage for file in one_of_each(stores.two) for damage in befall(file)]
        if number < len(of_each):
            return stores.two, of_each[number]
        bench = chance.choice(stores.benches)
        return bench, chance.choice([*befall(chance.choice(bench.files()))])

    return draw


def one_of_each(bench: Bench) -> list[Path]:
    """A file of each kind."""
    store = bench.store
    kept = store.place_of(store.plan())
    older = [file for file in store.plans.iterdir() if file != kept]
    return [
        store.path / "plan.json",
        kept,
        *older[:1],
        min(store.runs.iterdir()),
        min(store.captures.glob("*/*")),
        store.path / "index.sqlite",
        store.report / "index.html",
        store.report / "stamp.json",
    ]


def _kind(says: str, draw: Draw, short: int, hourly: int = 0) -> Kind:
    bench = contextlib.contextmanager(bench_of(draw, short))
    return Kind(says, bench, short, hourly=hourly)


FLIPS = _kind("a bit of a file of a store flips", _flip, 60, 2000)
CUTS = _kind("a file of a store ends early", _cut, 24, 500)
SWAPS = _kind("a file of a store has what another has", _swap, 12, 200)
NONSENSE = _kind("a file of a store holds something else", _of_each(befalling.broken), 80)
PLACES = _kind(
    "a pipe, a folder, a link, a device stands in a file's place", _of_each(befalling.replaced), 48
)
