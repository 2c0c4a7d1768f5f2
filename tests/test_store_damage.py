"""A store that was damaged at random: `store verify` notices it, nobody believes it, and the remedy
mends it.

`make attack` (`pytest --attack`) does it thousands of times, and asks every reader each time.
"""

from __future__ import annotations

import io
import random
import shutil
import tarfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import damage as befalling
from cclab.errors import InputError
from cclab.store import Store, health, transfer
from damage import Damage, files_in, restore, struck
from damaged_store import READERS, TOLD, Bench, exported_from, is_noticed, is_refused_or_right, mend

FLIPS = {False: 200, True: 2000}
CUTS = {False: 60, True: 500}
SWAPS = {False: 30, True: 200}
"""How many there are in the short form and in that of `make attack`."""
REMEDIES = {False: 11, True: 5}
"""One of so many damages is mended as the message says, in the short form and in the long one."""
REPORTS = {False: 1, True: 20}
"""At most so many of these are reports."""
EXPORTS = 7
"""One of so many is exported."""


@dataclass
class Tally:
    """What became of the damages."""

    kinds: Counter[str] = field(default_factory=Counter)
    unnoticed: list[str] = field(default_factory=list)
    believed: list[str] = field(default_factory=list)
    unmended: list[str] = field(default_factory=list)
    mended: int = 0
    reports: int = 0
    """Of those that were mended, reports."""

    def look(self, bench: Bench, damage: Damage, turn: int, *, every: bool) -> None:
        """Strikes the store with the damage, and looks what is said of it.

        With `every`, by all readers; else by two, which it takes in turns.
        """
        names = [*READERS]
        first = 2 * turn % len(names)
        asked = names if every else names[first : first + 2]
        due, export = turn % REMEDIES[every] == 0, turn % EXPORTS == 0
        if due and damage.file.is_relative_to(bench.store.report):
            # It takes seconds to draw all figures again.
            due = self.reports < REPORTS[every]
            self.reports += due
        place = damage.file.relative_to(bench.store.path)
        called = f"{place}: {damage.name}"
        self.kinds[place.parts[0]] += 1
        with struck(damage, bench.whole, bench.store.path):
            if not is_noticed(bench.store):
                self.unnoticed.append(called)
            # What verifies first asks: the readers may make the index again.
            if due:
                try:
                    mend(bench)
                    self.mended += 1
                except AssertionError as error:
                    self.unmended.append(f"{called}: {error}")
                restore(bench.whole, bench.store.path)
                damage.strike()
            for name in asked:
                if not is_refused_or_right(READERS[name], bench, name):
                    self.believed.append(f"{name} of {called}")
            if export and not _is_exported_sound(bench):
                self.believed.append(f"export of {called}")

    def check(self, count: int) -> None:
        print(
            f"{sum(self.kinds.values())} damages {dict(self.kinds)}: "
            f"{len(self.unnoticed)} unnoticed, {len(self.believed)} believed, "
            f"{self.mended} mended, {len(self.unmended)} not"
        )
        assert (self.unnoticed, self.believed, self.unmended) == ([], [], [])
        assert sum(self.kinds.values()) >= count


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


@pytest.mark.parametrize("kind", ["made", "growing"])
def test_no_bit_of_a_store_flips_unseen(
    request: pytest.FixtureRequest, attack: bool, kind: str
) -> None:
    bench: Bench = request.getfixturevalue(kind)
    count = FLIPS[attack] * (3 if kind == "made" else 1) // 4
    tally = Tally()
    for turn, damage in enumerate(befalling.flips(bench.files(), count, random.Random(8))):
        tally.look(bench, damage, turn, every=attack)
    tally.check(count)


@pytest.mark.parametrize("kind", ["made", "growing"])
def test_no_file_of_a_store_ends_early_unseen(
    request: pytest.FixtureRequest, attack: bool, kind: str
) -> None:
    bench: Bench = request.getfixturevalue(kind)
    count = CUTS[attack] * (3 if kind == "made" else 1) // 4
    tally = Tally()
    for turn, damage in enumerate(befalling.cuts(bench.files(), count, random.Random(9))):
        tally.look(bench, damage, turn, every=attack)
    tally.check(count)


def test_no_file_of_a_store_is_taken_for_another(
    bench: Bench, growing: Bench, attack: bool
) -> None:
    """Runs and captures for each other, plans of another folder, and its index and report."""
    store, other = bench.store, growing.store
    plans = [store.path / "plan.json", *sorted(store.plans.iterdir())]
    foreign = [other.path / "plan.json", *other.plans.iterdir(), *other.runs.iterdir()]
    kinds = {
        "run": sorted(store.runs.iterdir()),
        "capture": sorted(store.captures.glob("*/*")),
        "plan": plans,
        "report": sorted(store.report.iterdir()),
        "index": [store.path / "index.sqlite", other.path / "index.sqlite"],
        "any": [*bench.files(), *foreign],
    }
    count = SWAPS[attack]
    tally, chance = Tally(), random.Random(10)
    for turn, (damage, source) in enumerate(befalling.swaps(kinds, 2 * count, chance)):
        if not damage.file.is_relative_to(store.path):
            continue
        if damage.file == store.path / "plan.json" and source.parent == store.plans:
            continue  # It was the plan last run once, and may be again.
        tally.look(bench, damage, turn, every=attack)
        if sum(tally.kinds.values()) == count:
            break
    tally.check(count)


def _one_of_each(bench: Bench) -> list[Path]:
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


def test_nonsense_in_a_file_is_noticed_by_everybody(bench: Bench, attack: bool) -> None:
    damages = [damage for file in _one_of_each(bench) for damage in befalling.broken(file)]
    tally = Tally()
    for turn, damage in enumerate(damages):
        tally.look(bench, damage, turn, every=attack)
    tally.check(80)


def test_what_stands_in_the_place_of_a_file_is_none(bench: Bench, attack: bool) -> None:
    """Nobody waits for a pipe, or reads a device to its end."""
    damages = [damage for file in _one_of_each(bench) for damage in befalling.replaced(file)]
    tally = Tally()
    for turn, damage in enumerate(damages):
        tally.look(bench, damage, turn, every=attack)
    tally.check(48)


@pytest.mark.parametrize("ending", transfer.ARCHIVES)
def test_no_bit_of_an_archive_flips_unseen(
    bench: Bench, attack: bool, tmp_path: Path, ending: str
) -> None:
    """What comes of it is sound, and what does not is named; an archive that is no longer one
    writes nothing."""
    archive, chance = tmp_path / f"all{ending}", random.Random(11)
    assert transfer.export(bench.store, bench.store.ids(), archive).whole
    damages = [
        *befalling.flips([archive], 100 if attack else 10, chance),
        *befalling.cuts([archive], 50 if attack else 5, chance),
    ]
    whole, named = archive.read_bytes(), 0
    for damage in damages:
        damage.strike()
        target = Store(tmp_path / "target")
        try:
            done = transfer.bring(archive, target)
        except InputError:
            assert not target.path.exists()
            named += 1
        else:
            assert health.examine(target).whole
            for file in files_in(target.path):
                if file.suffix in (".zip", ".pcapng"):
                    there = bench.whole / file.relative_to(target.path)
                    assert file.read_bytes() == there.read_bytes()
            assert not done.whole or target.ids() == bench.store.ids()
            named += not done.whole
        shutil.rmtree(target.path, ignore_errors=True)
        archive.write_bytes(whole)
    assert named >= len(damages) // 2


def test_an_archive_writes_nothing_outside(bench: Bench, tmp_path: Path) -> None:
    for name in ("../../outside", "/tmp/outside-of-cclab", "store/../../outside"):
        archive = tmp_path / "forged.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(bench.whole, "store")
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"x"))
        with pytest.raises(InputError, match=r"forged\.tar is "):
            transfer.bring(archive, Store(tmp_path / "target"))
        assert not (tmp_path / "target").exists()
        assert not Path("/tmp/outside-of-cclab").exists()
        assert not list(tmp_path.rglob("outside"))
