"""What a results folder holds."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from cclab import _core, machine, shell, shown
from cclab.errors import DamagedPlanError, InputError, RunError, StoreError
from cclab.late import late
from cclab.plan import SCHEMA, Plan
from cclab.plan.runs import DIGITS
from cclab.store import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cclab.plan import Run
    from cclab.store import trace as traces
    from cclab.store import writer as writers
    from cclab.store.trace import Trace
    from cclab.store.writer import Writer
else:
    traces = late("cclab.store.trace")
    writers = late("cclab.store.writer")  # which needs this module

State = Literal["sound", "damaged", "foreign", "absent"]
"""A foreign file is that of another run than its name says."""

RESULTS = Path("results")
"""Where stores go that nobody names: one folder per study."""

PLAN = "plan.json"

INDEX = "index.sqlite"

TIMED = "timed.json"
"""How long the runs of a reproduction took."""

ENDING = ".zip"
"""What the name of a run's file has behind the run's id."""

CHECKED = 1000
"""Runs of which every byte is read by whoever only wants to read what they measured."""

_SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*"(cclab-plan/\d+)"')


def folder_called(name: str) -> Path:
    """The store called `name` in `RESULTS`: a name is UTF-8 on the disk, whatever the locale.

    Raises `InputError` for a name that leads elsewhere.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise InputError(
            f"{shown.quoted(name)} is no name of a folder in {RESULTS}: name one with --out, or "
            "give the study another name"
        )
    return RESULTS / os.fsdecode(name.encode())


def digest_of_names(listed: bytes) -> str:
    """The digest of the ids of runs, sorted, each with a zero byte behind it."""
    return hashlib.sha256(listed).hexdigest()


class Told(NamedTuple):
    """What a run's file says."""

    sha256: str
    """Digest of the file."""
    bytes: int
    """Of the file and of the captures beside it."""
    asked: str
    """`run.json`."""
    metrics_version: str
    metrics: str
    """As JSON, by the definitions of that version."""


@dataclass(frozen=True)
class Survey:
    """What a store has of a plan, every byte read; each list in the plan's order."""

    sound: list[Run]
    damaged: list[Run]
    """Those that have a file which is not as it was written, or of another run."""
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
        """Where the runs' files are."""
        return self.path / "runs"

    @property
    def captures(self) -> Path:
        """Where packet captures are, in a folder for each run that has some."""
        return self.path / "captures"

    @property
    def plans(self) -> Path:
        """Where every plan run here is."""
        return self.path / "plans"

    @property
    def aside(self) -> Path:
        """Where damaged runs are set aside."""
        return self.path / "aside"

    @property
    def report(self) -> Path:
        """Where `cclab report` writes."""
        return self.path / "report"

    def file(self, run_id: str) -> Path:
        """Where the sealed file of the run `run_id` is, or would be."""
        return self.runs / f"{run_id}{ENDING}"

    def names(self) -> set[str]:
        """Every name in the folder of the runs, whatever it is of.

        Raises `StoreError` if the folder cannot be read: what is in it is not known then.
        """
        return set(names_in(self.runs))

    def ids(self) -> set[str]:
        """The ids of the runs that have a file, sound or not: one look at the folder.

        Raises `StoreError` as `names` does.
        """
        return set(os.fsdecode(self._listed()).split("\0")) - {""}

    def count(self) -> int:
        """How many runs have a file, sound or not."""
        return self._listed().count(b"\0")

    def names_digest(self) -> str:
        """What tells the ids of the runs that have a file from others: one look at the folder."""
        return digest_of_names(self._listed())

    def told(self, ids: Iterable[str], *, whole: bool) -> dict[str, Told | None]:
        """What the files of the runs `ids` say; None of one that is not as it was sealed, or of
        another run.

        With `whole`, every byte is read and the file's digest compared; without, what is read of
        it is compared with its checksums. Runs without a file are left out. Raises `StoreError` if
        the folder cannot be read.
        """
        wanted = list(ids)
        read = zip(wanted, _core.read_runs(self.runs, wanted, whole), strict=True)
        return {
            run: None if told is None else Told(*told)
            for run, told in read
            if told is not None or self._is_there(run)
        }

    def _is_there(self, run: str) -> bool:
        """Whether something has the name of the run's file. Raises `StoreError` if the system
        refuses to tell."""
        try:
            self.file(run).lstat()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unread(self.runs, error) from error
        return True

    def measured_again(self, told: Mapping[str, Told | None]) -> dict[str, str | RunError]:
        """The metrics of those runs whose files have them by other definitions than those at hand,
        as JSON: measured from their traces, on every processor. Or why that cannot be done."""
        older = [
            run
            for run, said in told.items()
            if said is not None and said.metrics_version != _core.METRICS_VERSION
        ]

        def measured(run: str) -> str | RunError:
            try:
                return self.trace(run).measured()
            except RunError as error:
                return error

        with ThreadPoolExecutor(machine.cpus()) as pool:
            return dict(zip(older, pool.map(measured, older), strict=True))

    def trace(self, run_id: str) -> Trace:
        """The trace of the run `run_id`; nothing is read yet."""
        return traces.Trace(self.file(run_id), self.captures / run_id)

    def missing(self, plan: Plan) -> list[Run]:
        """The runs of `plan` that have no sound file, in the plan's order."""
        return self.missing_of(plan.runs)

    def missing_of(self, runs: list[Run], *, contents: bool = False) -> list[Run]:
        """Those of `runs` that have no sound file, in their order; see `sound`."""
        return [run for run, state in self._states(runs, contents=contents) if state != "sound"]

    def survey(self, plan: Plan) -> Survey:
        """Looks at the runs of `plan`: reads every byte and compares the digests."""
        survey = Survey([], [], [])
        for run, state in self._states(plan.runs, contents=True):
            lists = {"sound": survey.sound, "absent": survey.absent}
            lists.get(state, survey.damaged).append(run)
        return survey

    def seen(self, plan: Plan) -> Survey:
        """As `survey`, for whoever only wants to read: of more than `CHECKED` runs, one look at
        the folder must do, and none is damaged that has a file.
        """
        if len(plan.runs) <= CHECKED:
            return self.survey(plan)
        there = self.ids()
        sound = [run for run in plan.runs if run.id in there]
        return Survey(sound, [], [run for run in plan.runs if run.id not in there])

    def sound(self, run_id: str, *, contents: bool = False) -> bool:
        """Whether the files of `run_id` are there at their full lengths, and of this run.

        With `contents`, they are read and their digests compared as well.
        """
        return self.states([run_id], contents=contents) == ["sound"]

    def plan(self) -> Plan:
        """The plan last run in this folder.

        Raises `StoreError` if the folder holds none, or one of another version, and
        `DamagedPlanError` if it is not one of the plans run here.
        """
        self.check_version()
        return self.plan_in(self.path / PLAN)

    def plan_files(self) -> list[Path]:
        """Where there are plans: that of the one last run first, if it is there, then every one run
        here. Raises `StoreError` if the folder of plans cannot be read.
        """
        last = [self.path / PLAN] if os.path.lexists(self.path / PLAN) else []
        return [*last, *(self.plans / name for name in self.plan_names())]

    def plan_names(self) -> list[str]:
        """The names of the plans run here. Raises `StoreError` as `plan_files` does."""
        return [name for name in names_in(self.plans) if name.endswith(".json")]

    def plan_in(self, file: Path) -> Plan:
        """The plan in `file`, one of those of this folder. Raises as `plan_text` does."""
        return self._told_plan(file)[1]

    def plan_text(self, file: Path) -> bytes:
        """What the plan in `file`, one of those of this folder, says.

        It is named by the hash of what it says, or, as the one last run, among those that are, or
        grew from one of these. Raises `StoreError` if it cannot be read, and
        `DamagedPlanError` if it is not as it was written.
        """
        try:
            text = disk.read(file)
        except disk.NotAFileError as error:
            raise self._damaged_plan(file) from error
        except FileNotFoundError:
            raise self._absent_plan(file) from None
        except OSError as error:
            if self.path.name == PLAN and self.path.is_file():
                why = f"is a file in a results folder: name {self.path.parent}"
                raise StoreError(f"{self.path} {why}") from None
            raise _unread(file, error) from error
        if not self._is_kept(text) if file.name == PLAN else self.place_of_text(text) != file:
            raise self._damaged_plan(file)
        return text

    def read_plans(self) -> tuple[dict[Path, Plan], dict[Path, DamagedPlanError]]:
        """The plans by their files, that of the one last run first, and why the others are no
        plans: each is read once. Raises `StoreError` if one cannot be read."""
        plans, damaged = {}, {}
        last = [self.path / PLAN] if self.plan_names() else []
        for file in dict.fromkeys([*last, *self.plan_files()]):
            try:
                plans[file] = self.plan_in(file)
            except DamagedPlanError as error:
                damaged[file] = error
        return plans, damaged

    def _told_plan(self, file: Path) -> tuple[bytes, Plan]:
        text = self.plan_text(file)
        try:
            return text, Plan.from_json(text.decode())
        except ValueError as error:
            raise self._damaged_plan(file) from error

    def _is_kept(self, text: bytes) -> bool:
        """Whether `text` is that of a plan run here, or of one that grew."""
        names = self.plan_names()
        if self.place_of_text(text).name in names:
            return True
        try:
            plan = Plan.from_json(text.decode())
        except ValueError:
            return False
        if not (os.path.lexists(self.plans) or os.path.lexists(self.runs)):
            # It was copied out of its folder, and vouches for its runs itself.
            return plan.to_json().encode() == text and plan.names_hold
        first = plan.first
        return (
            plan.until is not None
            and self.place_of(first).name in names
            and plan.to_json().encode() == text
            and plan.follows
        )

    def _absent_plan(self, file: Path) -> StoreError:
        last = self.path / PLAN
        if not self.path.is_dir():
            return StoreError(f"{self.path} is not a results folder: no such folder")
        if file == last and self.plan_names():
            return DamagedPlanError(self.path, {file: f"is missing; {self._written_again()}"})
        if file == last and os.path.lexists(self.runs):
            return DamagedPlanError(self.path, {file: f"is missing; {self._written_again()}"})
        return StoreError(f"{self.path} is not a results folder: there is no {file.name} in it")

    def _damaged_plan(self, file: Path) -> DamagedPlanError:
        if file == self.path / PLAN:
            state = "is damaged"
            if not self.plan_names() and self._is_consistent(file):
                state = (
                    f"has no copy in {self.plans}, which is empty: nothing tells that it is whole"
                )
            return DamagedPlanError(self.path, {file: f"{state}; {self._written_again()}"})
        with contextlib.suppress(StoreError):
            plan = self.plan()
            if file in (self.place_of(plan), self.place_of(plan.first)):
                again = shell.command("cclab", "run", self.path)
                return DamagedPlanError(self.path, {file: f"is damaged; {again} writes it again"})
        again = f"run its study again with `--out {shell.word(self.path)}`"
        delete = f"or {shell.command('rm', file)}: its runs are then needed by no plan"
        return DamagedPlanError(self.path, {file: f"is damaged; {again}, {delete}"})

    def _is_consistent(self, file: Path) -> bool:
        """Whether `file` is a plan whose runs have the names that they are to have."""
        try:
            text = disk.read(file)
            plan = Plan.from_json(text.decode())
        except (OSError, ValueError):
            return False
        return plan.to_json().encode() == text and plan.names_hold

    def _written_again(self) -> str:
        """What makes the plan last run whole again."""
        last = self.path / PLAN
        kept = self._kept_last()
        # No copy goes where something else than a file stands.
        if kept is None or (os.path.lexists(last) and not stat.S_ISREG(last.lstat().st_mode)):
            command = shell.command("cclab", "run", "STUDY.toml", "--out", self.path)
            return (
                f"{command}, with the options of before, writes it again; runs that are there count"
            )
        return f"{shell.command('cp', kept, last)} brings back the plan last run"

    def _kept_last(self) -> Path | None:
        """The file among the plans run here that was written last, of those as they were
        written: with each run of a plan its file is."""
        written = {}
        for file in (self.plans / name for name in self.plan_names()):
            with contextlib.suppress(OSError):
                if self.place_of_text(disk.read(file)) == file:
                    written[file] = file.stat().st_mtime_ns
        return max(written, key=lambda file: written[file], default=None)

    def check_version(self) -> None:
        """Raises `StoreError` if a cclab with another form of results folders wrote this one."""
        wrote = _form_of(self.path / PLAN)
        # A store has plans of one form: else it is a bit of the name of the form that flipped.
        if wrote != SCHEMA and not any(
            _form_of(self.plans / name) == SCHEMA for name in self.plan_names()
        ):
            raise StoreError(
                f"{self.path} was written by a cclab of another version, with plans of {wrote}; "
                f"this one has {SCHEMA}: run the study again into another folder, or read this one "
                f"with a cclab that has {wrote}"
            )

    def knows(self, plan: Plan) -> bool:
        """Whether `plan` is the plan last run in this folder, and not kept otherwise."""
        text = plan.to_json().encode()
        first = text if plan.first is plan else plan.first.to_json().encode()
        kept = self.place_of_text(text)
        try:
            return (
                disk.read(self.path / PLAN) == text
                and disk.read(self.place_of_text(first)) == first
                and (not os.path.lexists(kept) or disk.read(kept) == text)
            )
        except OSError:
            return False

    def place_of(self, plan: Plan) -> Path:
        """Where `plan` is kept among the plans run here, or would be."""
        return self.place_of_text(plan.to_json().encode())

    def place_of_text(self, plan: bytes) -> Path:
        """As `place_of`, of a plan that is not read: it is called by the hash of what it says."""
        return self.plans / f"{hashlib.sha256(plan).hexdigest()[:DIGITS]}.json"

    def writer(self) -> Writer:
        """A place to write runs from; use it as a context."""
        return writers.Writer(self)

    def states(self, ids: list[str], *, contents: bool) -> list[State]:
        """What there is of each of the runs `ids`; see `sound`."""
        return _core.check_runs(self.runs, self.captures, ids, contents)

    def _listed(self) -> bytes:
        """The sorted ids of the runs that have a file, each with a zero byte behind it."""
        try:
            return _core.run_names(self.runs)
        except OSError as error:
            raise _unread(self.runs, error) from error

    def _states(self, runs: list[Run], *, contents: bool) -> list[tuple[Run, State]]:
        states = self.states([run.id for run in runs], contents=contents)
        return list(zip(runs, states, strict=True))


def names_in(folder: Path) -> list[str]:
    """Every name in `folder`, sorted; none if it is not there.

    Raises `StoreError` if it cannot be read: what is in it is not known then.
    """
    try:
        return disk.names(folder)
    except OSError as error:
        raise _unread(folder, error) from error


def _form_of(plan: Path) -> str:
    """The form that the plan in a file says to have; this one's if it says none."""
    try:
        with disk.opened(plan) as stream:
            form = _SCHEMA.match(stream.read(100))
    except OSError:
        return SCHEMA
    return SCHEMA if form is None else form[1].decode()


def _unread(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot read {folder}: {disk.reason(error)}")
