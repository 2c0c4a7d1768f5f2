"""What a results folder holds."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from cclab import _core
from cclab.errors import StoreError
from cclab.plan import Plan
from cclab.store import disk, moving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cclab.plan import Run
    from cclab.store.packs import Packed, Packs
    from cclab.store.writer import Writer

T = TypeVar("T")

State = Literal["sound", "damaged", "absent"]

PLAN = "plan.json"

DIGITS = 20
"""Of the hash that a plan or a part of the catalog is named by, as of those that runs are."""

CHECKED = 1000
"""Runs whose entries are opened by whoever only wants to read what they measured."""


@dataclass(frozen=True)
class Survey:
    """What a store has of a plan, every file read; each list in the plan's order."""

    sound: list[Run]
    damaged: list[Run]
    """Those that have an entry that is not as it was written."""
    absent: list[Run]

    @property
    def missing(self) -> list[Run]:
        """The runs to do: absent or damaged ones."""
        return [*self.damaged, *self.absent]


class Store:
    """A results folder. Any number of processes may use one at the same time."""

    def __init__(self, path: str | Path) -> None:
        """Names the folder `path`; nothing is read or written yet."""
        self.path = Path(path)
        self._packs: Packs | None = None

    @property
    def runs(self) -> Path:
        """Where the entries are."""
        return self.path / "runs"

    @property
    def plans(self) -> Path:
        """Where every plan run here is."""
        return self.path / "plans"

    @property
    def aside(self) -> Path:
        """Where damaged entries are set aside."""
        return self.path / "aside"

    def ids(self) -> set[str]:
        """The ids of the runs that have an entry, sound or not, loose or compacted.

        A look at the folder and the packs: no entry is opened.
        """
        found: set[str] = set()
        for _ in self.looks():
            found = self.loose() | self.packed().keys()
        return found

    def loose(self) -> set[str]:
        """The ids of the runs that have a folder of their own."""
        try:
            return {found.name for found in os.scandir(self.runs)}
        except OSError:
            return set()

    @property
    def packs(self) -> Packs | None:
        """The compacted entries; None if there are none."""
        if not (self.path / "packs").is_dir():
            return None
        if self._packs is None:
            # Its libraries take longer to load than many commands run.
            from cclab.store.packs import Packs

            self._packs = Packs(self.path / "packs")
        return self._packs

    def packed(self) -> Mapping[str, Packed]:
        """The compacted runs, by id."""
        packs = self.packs
        return {} if packs is None else packs.runs()

    def looks(self) -> Iterator[None]:
        """Once for a look at the folders and then the packs; see `moving.looks`."""
        return moving.looks(self.path / "packs")

    def trace(self, run_id: str) -> Path:
        """A folder with the files of the run `run_id`, which lasts as long as this process.

        It is the entry itself, or, of a compacted one, a copy in the temporary folder. Where
        another process compacts the store, the entry may go: see `read`.
        """
        loose = self.entry(run_id)
        for _ in self.looks():
            if loose.exists():
                break
            packs = self.packs
            if packs is not None:
                from cclab.store.unpacked import lasting

                copy = lasting(packs, run_id)
                if copy is not None:
                    return copy
        return loose

    @contextlib.contextmanager
    def opened(self, run_id: str) -> Iterator[Path]:
        """A folder with the files of the run `run_id`, while the context lasts; as of `trace`."""
        loose = self.entry(run_id)
        for _ in self.looks():
            if loose.exists():
                break
            packs = self.packs
            if packs is not None:
                from cclab.store.unpacked import passing

                with passing(packs, run_id) as folder:
                    if folder is not None:
                        yield folder
                        return
        yield loose

    def read(self, run_id: str, reader: Callable[[Path], T], *, lasting: bool = False) -> T:
        """What `reader` makes of the files of the run `run_id`, given the folder with them.

        If the folder goes meanwhile, `reader` may have seen half of them: it reads again. A copy
        that is made of a compacted run is kept for the next time if it is to be `lasting`. Raises
        what `reader` raises, and `StoreError` if it is never left to read in peace.
        """
        for _ in range(moving.MOST_LOOKS):
            opened = contextlib.nullcontext(self.trace(run_id)) if lasting else self.opened(run_id)
            with opened as entry:
                before = moving.identity(entry)
                try:
                    found = reader(entry)
                except Exception:
                    if moving.identity(entry) == before:
                        raise
                else:
                    if moving.identity(entry) == before:
                        return found
        raise StoreError(f"{self.entry(run_id)} is moved again and again while it is read")

    def entry(self, run_id: str) -> Path:
        """Where the entry of the run `run_id` is, or would be."""
        return self.runs / run_id

    def missing(self, plan: Plan) -> list[Run]:
        """The runs of `plan` that have no sound entry, in the plan's order."""
        return self.missing_of(plan.runs)

    def missing_of(self, runs: list[Run], *, contents: bool = False) -> list[Run]:
        """Those of `runs` that have no sound entry, in their order; see `sound`."""
        return [run for run, state in self._states(runs, contents=contents) if state != "sound"]

    def survey(self, plan: Plan) -> Survey:
        """Looks at the runs of `plan`: reads every file and compares its SHA-256."""
        found = Survey([], [], [])
        for run, state in self._states(plan.runs, contents=True):
            lists = {"sound": found.sound, "damaged": found.damaged, "absent": found.absent}
            lists[state].append(run)
        return found

    def seen(self, plan: Plan) -> Survey:
        """As `survey`, for whoever only wants to read: of more than `CHECKED` runs, one look at
        the folder must do, and none is damaged that has an entry.
        """
        if len(plan.runs) <= CHECKED:
            return self.survey(plan)
        there = self.ids()
        sound = [run for run in plan.runs if run.id in there]
        return Survey(sound, [], [run for run in plan.runs if run.id not in there])

    def sound(self, run_id: str, *, contents: bool = False) -> bool:
        """Whether the entry of `run_id` has every file at its full length.

        With `contents`, the files are read and their SHA-256 compared as well.
        """
        return self._states_of([run_id], contents=contents) == ["sound"]

    def sound_of(self, runs: list[Run]) -> list[Run]:
        """Those of `runs` whose entries have every file at its full length, in their order."""
        return [run for run, state in self._states(runs, contents=False) if state == "sound"]

    def intact(self, ids: set[str]) -> set[str]:
        """Those of `ids` that have an entry which is as it was written: every byte is read."""
        there = sorted(ids & self.ids())
        states = self._states_of(there, contents=True)
        return {run for run, state in zip(there, states, strict=True) if state == "sound"}

    def present(self, runs: list[Run]) -> list[Run]:
        """Those of `runs` that have an entry, in their order.

        Of up to `CHECKED`, every file is looked for at its full length; of more, one look at the
        folder must do: what is in their entries, `cclab run` and `cclab store verify` check.
        """
        if len(runs) <= CHECKED:
            return self.sound_of(runs)
        there = self.ids()
        return [run for run in runs if run.id in there]

    def plan(self) -> Plan:
        """The plan last run in this folder.

        Raises `StoreError` if the folder holds none.
        """
        try:
            return Plan.from_json((self.path / PLAN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            why = "there is no plan.json in it" if self.path.is_dir() else "no such folder"
            raise StoreError(f"{self.path} is not a results folder: {why}") from None
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {disk.reason(error)}") from error
        except (ValueError, LookupError, TypeError) as error:
            raise StoreError(
                f"{self.path / PLAN} is damaged or of another version; run the study again"
            ) from error

    def knows(self, plan: Plan) -> bool:
        """Whether `plan` is the plan last run in this folder, and not kept otherwise."""
        text, kept = plan.to_json().encode(), self.place_of(plan)
        try:
            last = (self.path / PLAN).read_bytes() == text
            return last and (not kept.exists() or kept.read_bytes() == text)
        except OSError:
            return False

    def place_of(self, plan: Plan) -> Path:
        """Where `plan` is kept among the plans run here, or would be."""
        return self.place_of_text(plan.to_json().encode())

    def place_of_text(self, plan: bytes) -> Path:
        """As `place_of`, of a plan that is not read: it is called by the hash of what it says."""
        return self.plans / f"{hashlib.sha256(plan).hexdigest()[:DIGITS]}.json"

    def writer(self) -> Writer:
        """A place to write entries from; use it as a context."""
        from cclab.store.writer import Writer

        return Writer(self)

    def _states(self, runs: list[Run], *, contents: bool) -> list[tuple[Run, str]]:
        states = self._states_of([run.id for run in runs], contents=contents)
        return list(zip(runs, states, strict=True))

    def _states_of(self, ids: list[str], *, contents: bool) -> list[State]:
        found: dict[str, State] = dict.fromkeys(ids, "absent")
        doubted = [*found]
        for _ in range(moving.MOST_LOOKS):
            packs = moving.stamp(self.path / "packs")
            seen = self._look(doubted, contents=contents)
            # What is sound is so, wherever it was seen. Of the others, two looks must agree: one
            # whose folder went meanwhile looks torn. That all are absent is what was thought first.
            agreed = all(found[run] == state for run, state in seen.items())
            found |= seen
            doubted = [run for run, state in seen.items() if state != "sound"]
            if not doubted or (agreed and moving.stamp(self.path / "packs") == packs):
                break
        return [found[run] for run in ids]

    def _look(self, ids: list[str], *, contents: bool) -> dict[str, State]:
        """One look at the folders of `ids`, and for those that have none at the packs."""
        states: list[State] = list(_core.check_entries(self.runs, ids, contents))
        found = dict(zip(ids, states, strict=True))
        absent = [run for run, state in found.items() if state == "absent"]
        packs = self.packs if absent else None
        if packs is not None:
            found |= zip(absent, packs.states(absent, contents=contents), strict=True)
        return found
