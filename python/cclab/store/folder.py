"""What a results folder holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import _core
from cclab.errors import StoreError
from cclab.plan import Plan
from cclab.store import disk

if TYPE_CHECKING:
    from cclab.plan import Run
    from cclab.store.writer import Writer

PLAN = "plan.json"


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

    def entry(self, run_id: str) -> Path:
        """Where the entry of the run `run_id` is, or would be."""
        return self.runs / run_id

    def missing(self, plan: Plan) -> list[Run]:
        """The runs of `plan` that have no sound entry, in the plan's order."""
        return self.missing_of(plan.runs)

    def missing_of(self, runs: list[Run]) -> list[Run]:
        """Those of `runs` that have no sound entry, in their order."""
        return [run for run, state in self._states(runs, contents=False) if state != "sound"]

    def survey(self, plan: Plan) -> Survey:
        """Looks at the runs of `plan`: reads every file and compares its SHA-256."""
        found = Survey([], [], [])
        for run, state in self._states(plan.runs, contents=True):
            lists = {"sound": found.sound, "damaged": found.damaged, "absent": found.absent}
            lists[state].append(run)
        return found

    def sound(self, run_id: str, *, contents: bool = False) -> bool:
        """Whether the entry of `run_id` has every file at its full length.

        With `contents`, the files are read and their SHA-256 compared as well.
        """
        return _core.check_entries(self.runs, [run_id], contents) == ["sound"]

    def sound_of(self, runs: list[Run]) -> list[Run]:
        """Those of `runs` whose entries have every file at its full length, in their order."""
        return [run for run, state in self._states(runs, contents=False) if state == "sound"]

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
        """Whether `plan` is the plan last run in this folder."""
        try:
            return (self.path / PLAN).read_bytes() == plan.to_json().encode()
        except OSError:
            return False

    def writer(self) -> Writer:
        """A place to write entries from; use it as a context."""
        from cclab.store.writer import Writer

        return Writer(self)

    def _states(self, runs: list[Run], *, contents: bool) -> list[tuple[Run, str]]:
        states = _core.check_entries(self.runs, [run.id for run in runs], contents)
        return list(zip(runs, states, strict=True))
