"""A store to be damaged, who reads it, and what its `verify` says that mends it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cclab
import damage as befalling
from attacks.saying import said
from cclab import report
from cclab.cli.exits import DONE, RUN_FAILED
from cclab.comparison.sides import side
from cclab.errors import CaptureError, InputError, RunError, StoreError
from cclab.plan.study import Study
from cclab.queries import query
from cclab.report import tables
from cclab.store import Store, health, holdings, transfer
from cclab.store.index import Index
from cclab.store.trace import Trace
from damage import files_in, restore
from two_flows import STUDY

if TYPE_CHECKING:
    from collections.abc import Callable

TOLD = (StoreError, InputError, RunError, CaptureError)
"""How a reader says that it cannot go on."""


LAST = STUDY.replace('"2s"', '"700ms"') + '\n[trace]\ncapture = ["bottleneck"]\n'
EARLIER = STUDY.replace('"2s"', '"650ms"')
GROWING = STUDY.replace('"2s"', '"700ms"').replace(
    "repeat   = 2", 'repeat   = "until ci95 < 0.001%, at least 2, at most 9"'
)


@dataclass
class Bench:
    """A store, and what is known of it as it was written."""

    whole: Path
    """A copy of it that nobody touches."""
    store: Store
    studies: dict[str, Path]
    """The studies that were run there, by what their plans are called."""
    seen: dict[str, Any] = field(default_factory=dict)
    """What each reader said of it."""

    def content(self) -> dict[str, bytes]:
        """What holds what the store is."""
        return {str(f.relative_to(self.store.path)): f.read_bytes() for f in self.files()}

    def files(self) -> list[Path]:
        return files_in(self.store.path)


def bench_of(place: Path, studies: dict[str, str], only: tuple[str, ...] = ()) -> Bench:
    """A store of the `studies`, the last of which `only` is done as far as these runs."""
    files = {}
    for name, text in studies.items():
        files[name] = place / f"{name}.toml"
        files[name].write_text(text)
        results = cclab.run(files[name], out=place / "store", only=only)
    report.write(results, place / "store" / "report")
    store = Store(place / "store")
    Index(store).refresh()
    shutil.copytree(store.path, place / "whole", ignore=shutil.ignore_patterns(*befalling.PASSING))
    restore(place / "whole", store.path)
    bench = Bench(place / "whole", store, files)
    bench.seen = {name: read(store) for name, read in READERS.items()}
    bench.seen["report"] = {file.name: file.read_bytes() for file in files_in(store.report)}
    assert health.examine(store) == health.Health(sound=len(store.ids()))
    return bench


def two_studies(place: Path) -> Bench:
    """Two studies in one store, the last with captures, and its report."""
    return bench_of(place, {"earlier": EARLIER, "last": LAST})


def growing_sweep(place: Path) -> Bench:
    """A sweep whose rule for repeats is not met: its plan is at its place alone."""
    (place / "plan.toml").write_text(GROWING)
    first, *_ = Study.load(place / "plan.toml").plan().points
    done = tuple(run.id for run in (*first.runs, *first.spare[:1]))
    return bench_of(place, {"growing": GROWING}, done)


def exported_from(store: Store) -> dict[str, bytes]:
    """The runs that a copy of the store has, by their files."""
    target = store.path.parent / "exported"
    try:
        transfer.export(store, store.ids(), target)
        return {str(f.relative_to(target)): f.read_bytes() for f in files_in(target)}
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _rows(store: Store) -> list[Any]:
    """Each row of the traces, read without a look at anything else."""
    traces = [Trace(file, store.captures / file.stem) for file in sorted(store.runs.iterdir())]
    return [trace.table("flow_samples").rows() for trace in traces]


def _captured(store: Store) -> list[Any]:
    captures = sorted(store.captures.glob("*/*"))
    return [cclab.analyze(file).connections.rows() for file in captures]


def _tables(store: Store) -> list[str]:
    """Those that a report has beside its figures."""
    results = cclab.load(store.path)
    frames = (results.flows, results.bottlenecks, results.summary, results.traffic)
    return [tables.markdown(results), *map(tables.csv, frames)]


def reported(store: Store) -> dict[str, bytes]:
    """The files of a report of the store, made anew beside it."""
    target = store.path.parent / "reported"
    try:
        report.write(cclab.load(store.path), target)
        return {file.name: file.read_bytes() for file in files_in(target)}
    finally:
        shutil.rmtree(target, ignore_errors=True)


READERS: dict[str, Callable[[Store], Any]] = {
    "load": lambda store: cclab.load(store.path).document(),
    "query": lambda store: query(store.path).rows(),
    "ls": lambda store: holdings.holdings(store, runs=True).document(runs=True),
    "compare": lambda store: side(store.path).results.document(),
    "tables": _tables,
    "trace": _rows,
    "analyze": _captured,
}


def is_noticed(store: Store) -> bool:
    try:
        found = health.examine(store)
    except StoreError:
        return True
    return not found.whole or bool(found.derived)


def verified(store: Store, file: Path) -> str | None:
    """What is wrong about what `store verify` says of a store whose `file` is damaged."""
    done = said(["store", "verify", str(store.path)])
    if faults := done.faults([DONE, RUN_FAILED]):
        return "; ".join(faults)
    if done.code == RUN_FAILED:
        return None
    # What can be made again is named, and is no damage.
    named = f"{file.relative_to(store.path)}: not of these runs" in done.err
    return None if named else "unnoticed"


def is_refused_or_right(read: Callable[[Store], Any], bench: Bench, name: str) -> bool:
    try:
        return bool(read(bench.store) == bench.seen[name])
    except TOLD:
        return True


def mend(bench: Bench) -> None:
    """Does what `store verify` says until it has nothing more to say: all is as it was then.

    Where the study of an older plan was run, that is the last one run, until the other is again. A
    sweep that grows has grown.
    """
    for _ in range(6):
        found = health.examine(bench.store)
        if found.whole and not found.derived:
            break
        assert found.remedies, "nothing is said to mend it"
        _do(bench, found.remedies[0])
    assert is_noticed(bench.store) is False, "what is said to mend it does not"
    before = {str(f.relative_to(bench.whole)): f.read_bytes() for f in files_in(bench.whole)}
    if "growing" in bench.studies:
        before = {name: text for name, text in before.items() if name.startswith("runs")}
    elif (bench.store.path / "plan.json").read_bytes() != before["plan.json"]:
        _typed(["cclab", "run", str(bench.studies["last"]), "--out", str(bench.store.path)])
    content = bench.content()
    differing = [name for name, text in before.items() if content.get(name) != text]
    assert not differing, f"not as it was: {differing}"


def _do(bench: Bench, remedy: str) -> None:
    """What a message says that mends the store, as it says it: the command line of it."""
    path = str(bench.store.path)
    studies = [*bench.studies.values()]
    if f"run its study again with `--out {path}`" in remedy:
        # The other one's plan is the last one run then.
        for study in studies:
            _typed(["cclab", "run", str(study), "--out", path])
        return
    command = re.search("`((?:cclab|cp|rm) .*?)`", remedy)
    assert command is not None, f"a remedy that is none: {remedy}"
    words = shlex.split(command[1])
    if words[0] != "cclab":
        subprocess.run(command[1], shell=True, check=True)
        return
    named = re.search("with the study (.*) as it was", remedy)
    study = bench.studies[named[1]] if named else studies[-1]
    _typed([str(study) if word == "STUDY.toml" else word for word in words])


def _typed(words: list[str]) -> None:
    done = said(words[1:])
    assert done.code == DONE, f"{shlex.join(words)}: {done.err}"
