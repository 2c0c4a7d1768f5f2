"""What a store holds that no plan of it needs, and how it goes."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cclab import shell, whole
from cclab.errors import StoreError
from cclab.plan import companions
from cclab.store import disk
from cclab.store.folder import ENDING, names_in
from cclab.store.planned import unsettled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Set
    from pathlib import Path

    from cclab.plan import Plan, Run
    from cclab.store.folder import Store

    Others = Callable[[Iterable[Run]], Mapping[str, object]]
    """Which of some runs are of other versions than those at hand, by their ids."""


@dataclass
class Garbage:
    """What can go."""

    runs: list[str] = field(default_factory=list)
    """Those that no plan needs."""
    plans: list[str] = field(default_factory=list)
    """Plans of which every run is of other versions."""
    captures: list[str] = field(default_factory=list)
    """Folders of captures without a run: of writers that were killed."""
    strays: list[str] = field(default_factory=list)
    """What is no run's file and yet among them."""
    aside: list[str] = field(default_factory=list)
    """Damaged runs that were set aside."""
    bytes: int = 0
    """What goes with all of them."""

    def document(self) -> dict[str, Any]:
        """As `cclab store gc --json` prints it."""
        return {
            "schema": "cclab-store-gc/1",
            "runs": self.runs,
            "plans": self.plans,
            "captures": self.captures,
            "strays": self.strays,
            "aside": self.aside,
            "bytes": self.bytes,
        }


def plans_of(store: Store) -> dict[Path, Plan]:
    """Every plan of `store`, by its file.

    Raises `StoreError` if one cannot be read, and `DamagedPlanError` if one is not as it was
    written: what it needs is not known then.
    """
    return {file: store.plan_in(file) for file in store.plan_files()}


def needed_by(plan: Plan) -> set[str]:
    """The runs that `plan` needs, with those beside its own."""
    return {run.id for run in [*plan.runs, *companions.of(plan).runs]}


def garbage(store: Store, others: Others | None = None) -> Garbage:
    """What is in `store` that no plan of it needs, or may need when it goes on; changes nothing.

    With `others`, which tells runs of other versions: these too, and plans of which no run is left.
    The plan last run stays. Raises `StoreError` if a plan, or a folder of the store, cannot be
    read: what is needed, or there, is not known.
    """
    _check_runs(store)
    last = store.plan().first
    plans = plans_of(store)

    def other(plan: Plan) -> Set[str]:
        if others is None or plan.first == last:
            return frozenset()
        return others([*plan.runs, *companions.of(plan).runs]).keys()

    rubbish = Garbage()
    needed: set[str] = set()
    staying = []
    for file, plan in plans.items():
        stays = needed_by(plan) - other(plan)
        own = {run.id for run in plan.runs}
        if own and stays.isdisjoint(own):
            rubbish.plans.append(file.name)
        else:
            needed |= stays
            staying.append(plan)
    started = {plan.first.to_json() for plan in staying if plan.until is not None}
    captured = set(names_in(store.captures))
    if started and (store.ids() | captured) - needed:
        for plan in unsettled(store):
            if plan.first.to_json() in started:
                needed |= needed_by(plan) - other(plan)
    rubbish.runs = sorted(store.ids() - needed)
    rubbish.strays = sorted(n for n in store.names() if not n.endswith(ENDING))
    rubbish.aside = names_in(store.aside)
    # A run that is needed is done again, and its captures may be what is left of it.
    rubbish.captures = sorted(captured - store.ids() - needed)
    going = [
        *(store.file(run) for run in rubbish.runs),
        *(store.runs / name for name in rubbish.strays),
        *(store.captures / run for run in (*rubbish.runs, *rubbish.captures)),
        *(store.aside / name for name in rubbish.aside),
    ]
    rubbish.bytes = sum(map(_size, going))
    return rubbish


def collect(store: Store, others: Others | None = None) -> Garbage:
    """Removes what `garbage` finds, and what dead writers left.

    Raises `StoreError` if the store cannot be written or another process writes to it: what that
    has just saved may be of a plan that was not there a moment ago.
    """
    lock = store.path / "tmp" / "lock"
    _check_runs(store)  # A writer makes the folder if it is not there.
    with store.writer() as writer, writer.workspace() as scratch, disk.locked(lock):
        _check_alone(store, scratch.parent)
        rubbish = garbage(store, others)
        _remove(store, rubbish, scratch)
    return rubbish


def _remove(store: Store, rubbish: Garbage, scratch: Path) -> None:
    files, captured = scratch / "runs", scratch / "captures"
    files.mkdir()
    captured.mkdir()
    for name in rubbish.plans:
        (store.plans / name).unlink(missing_ok=True)
    for place in (*map(store.file, rubbish.runs), *(store.runs / n for n in rubbish.strays)):
        with contextlib.suppress(FileNotFoundError):
            place.rename(files / place.name)
    whole.sync(store.runs)
    for run in (*rubbish.runs, *rubbish.captures):
        with contextlib.suppress(FileNotFoundError):
            (store.captures / run).rename(captured / run)
    if rubbish.aside:
        store.aside.rename(scratch / "aside")
    shutil.rmtree(scratch, ignore_errors=True)


def _check_runs(store: Store) -> None:
    """Raises `StoreError` if the folder of the runs is not there: captures then have none."""
    if not store.runs.exists():
        raise StoreError(
            f"{store.runs} is not there: bring it back, or run the study again with "
            f"`--out {shell.word(store.path)}`"
        )


def _check_alone(store: Store, corner: Path) -> None:
    """Raises `StoreError` if a writer lives beside the one whose corner is `corner`."""
    for other in _folders(store.path / "tmp"):
        if other != corner:
            try:
                with disk.locked(other / "lock", wait=False):
                    pass
            except BlockingIOError:
                raise StoreError(
                    f"{store.path} is in use by another process; try again when it has ended"
                ) from None


def _folders(folder: Path) -> Iterator[Path]:
    return (entry for entry in sorted(folder.iterdir()) if entry.is_dir())


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
