"""Whether everything in a store is as it was written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.errors import StoreError
from cclab.plan import Plan
from cclab.store import moving
from cclab.store.folder import PLAN
from cclab.store.packs import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cclab.store.folder import Store


@dataclass
class Health:
    """What was found in a store, every byte of it read."""

    sound: int = 0
    """Entries that are as they were written, loose or compacted."""
    torn: list[str] = field(default_factory=list)
    """Entries that lack a file, or have one of other contents than the manifest lists."""
    foreign: list[str] = field(default_factory=list)
    """Entries of another run than their name says, and what is no entry."""
    unreadable: list[str] = field(default_factory=list)
    """Packs that cannot be read."""
    plans: list[str] = field(default_factory=list)
    """Plans that are not what they are named by, and the last one run if it is not kept."""
    derived: list[str] = field(default_factory=list)
    """Parts of the catalog and the tables that are not of the entries; they can be made again."""

    @property
    def whole(self) -> bool:
        """Whether nothing is damaged but what can be made again without running anything."""
        return not (self.torn or self.foreign or self.unreadable or self.plans)

    def document(self) -> dict[str, Any]:
        """As `cclab store verify --json` prints it."""
        return {
            "schema": "cclab-store-verify/1",
            "whole": self.whole,
            "sound": self.sound,
            "torn": self.torn,
            "foreign": self.foreign,
            "unreadable": self.unreadable,
            "plans": self.plans,
            "derived": self.derived,
        }


_MOST_READINGS = 10


def examine(store: Store) -> Health:
    """Reads everything in `store` and compares it with what it was. Changes nothing.

    While it reads, nobody compacts or unpacks the store; where it cannot see to that, because it
    cannot write there, it reads again what moved meanwhile. Raises `StoreError` if entries never
    cease to move.
    """
    with moving.held_still(store.path):
        for _ in range(_MOST_READINGS):
            packs, loose = moving.stamp(store.path / "packs"), store.loose()
            found = _examined(store)
            if moving.stamp(store.path / "packs") == packs and loose <= store.loose():
                return found
    raise StoreError(f"entries of {store.path} move while they are read; try again later")


def _examined(store: Store) -> Health:
    found = Health()
    loose = sorted(store.loose())
    for run, state in zip(loose, _core.check_entries(store.runs, loose, True), strict=True):
        _judge(found, run, store.entry(run), sound=state == "sound")
    for run, files in _packed(store, found, {*loose}):
        if files is None:
            found.torn.append(run)
        elif not is_of(run, files.get("run.json", b"")):
            found.foreign.append(run)
        else:
            found.sound += 1
    found.plans = [file.name for file in torn_plans(store)]
    found.derived = [*_of_catalog(store), *_of_tables(store)]
    return found


def torn_plans(store: Store) -> list[Path]:
    """The plans of `store` that are not as they were written.

    The one last run is kept under its hash as well, unless it still grows by its rule.
    """
    kept = sorted(store.plans.glob("*.json"))
    torn = [file for file in kept if store.place_of_text(file.read_bytes()) != file]
    last = store.path / PLAN
    if last.is_file():
        content = last.read_bytes()
        try:
            grows = Plan.from_json(content.decode()).until is not None
        except (ValueError, LookupError, TypeError):
            return [last, *torn]
        if kept and not grows and store.place_of_text(content) not in kept:
            return [last, *torn]
    return torn


def is_of(run: str, asked: bytes) -> bool:
    """Whether what was asked of a run is what its id is the hash of."""
    try:
        says = json.loads(asked)
        scenario = json.dumps(says["scenario"])
        name = _core.run_id(scenario, says["seed"], says["backend"], says["version"])
    except (ValueError, LookupError, TypeError, OverflowError):
        return False
    return bool(name == run == says["id"])


def asked_in(entry: Path) -> bytes:
    """What the folder of an entry says was asked; nothing if it does not."""
    try:
        return (entry / "run.json").read_bytes()
    except OSError:
        return b""


def _judge(found: Health, run: str, entry: Path, *, sound: bool) -> None:
    if sound and is_of(run, asked_in(entry)):
        found.sound += 1
    elif sound or not entry.is_dir() or _names_another(run, entry):
        found.foreign.append(run)
    else:
        found.torn.append(run)


def _names_another(run: str, entry: Path) -> bool:
    """Whether the manifest of an entry is that of another run."""
    try:
        return bool(json.loads((entry / MANIFEST).read_bytes())["run"] != run)
    except FileNotFoundError:
        return not is_of(run, asked_in(entry))
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _packed(
    store: Store, found: Health, loose: set[str]
) -> Iterator[tuple[str, dict[str, bytes] | None]]:
    """The compacted runs and their files; None if they are not as they were written.

    Runs in `loose` are left out: their folders count.
    """
    packs = store.packs
    if packs is None:
        return
    unreadable = packs.unreadable()
    found.unreadable = [pack.name for pack in unreadable]
    for pack, within in packs.by_pack().items():
        if pack in unreadable:
            continue
        # Where a part of a pack cannot be read, what is in it is not among those that can.
        lost = within.keys() - loose
        for run, files in packs.each(pack):
            if run not in loose:
                lost.discard(run)
                yield run, files
        yield from ((run, None) for run in sorted(lost))


def _of_catalog(store: Store) -> list[str]:
    """What is wrong in the catalog."""
    from cclab.catalog import Catalog

    catalog = Catalog(store)
    tables = [f"catalog/{name}.parquet" for name in catalog.differing()]
    return tables + [str(part.relative_to(store.path)) for part in catalog.torn_parts()]


def _of_tables(store: Store) -> list[str]:
    """The compacted tables that cannot be read, are lacking, or are of other entries."""
    from cclab.store import compact

    return [str(table.relative_to(store.path)) for table in compact.stale_tables(store)]
