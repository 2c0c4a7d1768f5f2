"""A store that was damaged: `store verify` notices it, nobody believes it, and the remedy mends it.

`make attack` (`pytest --attack`) does it thousands of times, and asks every reader each time.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import random
import re
import shutil
import sqlite3
import subprocess
import tarfile
import warnings
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cclab
import damage as befalling
from cclab import _core, report
from cclab.cli.main import invoke
from cclab.comparison.sides import side
from cclab.errors import CaptureError, DamageError, InputError, RunError, StoreError
from cclab.plan.study import Study
from cclab.queries import query
from cclab.store import Store, gc, health, holdings, transfer
from cclab.store.index import Index
from cclab.store.trace import Trace
from conftest import STUDY, forge
from damage import Damage, files_in, restore, struck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Cli

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


def _bench(place: Path, studies: dict[str, str], only: tuple[str, ...] = ()) -> Bench:
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
    assert health.examine(store) == health.Health(sound=len(store.ids()))
    return bench


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patched:
        befalling.without_waiting_for_the_disk(patched)
        studies = {"earlier": EARLIER, "last": LAST}
        yield _bench(tmp_path_factory.mktemp("damage"), studies)


@pytest.fixture
def bench(made: Bench) -> Iterator[Bench]:
    """Two studies in one store, the last with captures, and its report."""
    yield made
    restore(made.whole, made.store.path)


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A sweep whose rule for repeats is not met: its plan is at its place alone."""
    with pytest.MonkeyPatch.context() as patched:
        befalling.without_waiting_for_the_disk(patched)
        place = tmp_path_factory.mktemp("growing")
        (place / "plan.toml").write_text(GROWING)
        first, *_ = Study.load(place / "plan.toml").plan().points
        done = tuple(run.id for run in (*first.runs, *first.spare[:1]))
        yield _bench(place, {"growing": GROWING}, done)


@pytest.fixture
def attack(request: pytest.FixtureRequest) -> bool:
    """Whether the long form is asked for."""
    return bool(request.config.getoption("--attack"))


def _exported(store: Store) -> dict[str, bytes]:
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


READERS: dict[str, Callable[[Store], Any]] = {
    "load": lambda store: cclab.load(store.path).document(),
    "query": lambda store: query(store.path).rows(),
    "ls": lambda store: holdings.holdings(store, runs=True).document(runs=True),
    "compare": lambda store: side(store.path).results.document(),
    "trace": _rows,
    "analyze": _captured,
}


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
        mend, export = turn % REMEDIES[every] == 0, turn % EXPORTS == 0
        if mend and damage.file.is_relative_to(bench.store.report):
            # It takes seconds to draw all figures again.
            mend = self.reports < REPORTS[every]
            self.reports += mend
        place = damage.file.relative_to(bench.store.path)
        called = f"{place}: {damage.name}"
        self.kinds[place.parts[0]] += 1
        with struck(damage, bench.whole, bench.store.path):
            if not _noticed(bench.store):
                self.unnoticed.append(called)
            # What verifies first asks: the readers may make the index again.
            if mend:
                try:
                    _mend(bench)
                    self.mended += 1
                except AssertionError as error:
                    self.unmended.append(f"{called}: {error}")
                restore(bench.whole, bench.store.path)
                damage.strike()
            for name in asked:
                if not _is_refused_or_right(READERS[name], bench, name):
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


def _noticed(store: Store) -> bool:
    try:
        found = health.examine(store)
    except StoreError:
        return True
    return not found.whole or bool(found.derived)


def _is_refused_or_right(read: Callable[[Store], Any], bench: Bench, name: str) -> bool:
    try:
        return bool(read(bench.store) == bench.seen[name])
    except TOLD:
        return True


def _is_exported_sound(bench: Bench) -> bool:
    """Whether a copy has nothing but what the store had."""
    try:
        copied = _exported(bench.store)
    except TOLD:
        return True
    return all(
        (bench.whole / name).read_bytes() == content
        for name, content in copied.items()
        if name.startswith(("runs", "captures"))
    )


def _mend(bench: Bench) -> None:
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
    assert _noticed(bench.store) is False, "what is said to mend it does not"
    before = {str(f.relative_to(bench.whole)): f.read_bytes() for f in files_in(bench.whole)}
    if "growing" in bench.studies:
        before = {name: text for name, text in before.items() if name.startswith("runs")}
    elif (bench.store.path / "plan.json").read_bytes() != before["plan.json"]:
        cclab.run(bench.studies["last"], out=bench.store.path)
    content = bench.content()
    differing = [name for name, text in before.items() if content.get(name) != text]
    assert not differing, f"not as it was: {differing}"


def _do(bench: Bench, remedy: str) -> None:
    """What a message says that mends the store."""
    store, out = bench.store, re.escape(str(bench.store.path))
    if re.search(f"`cclab run {out}`", remedy):
        cclab.run(store.path)
    elif re.search(f"`cclab run STUDY.toml --out {out}`", remedy):
        named = re.search("with the study (.*) as it was", remedy)
        cclab.run(bench.studies[named[1] if named else [*bench.studies][-1]], out=store.path)
    elif re.search(f"run its study again with `--out {out}`", remedy):
        # The other one's plan is the last one run then.
        for study in bench.studies.values():
            cclab.run(study, out=store.path)
    elif re.search(f"`cclab store gc {out}`", remedy):
        gc.collect(store)
        Index(store).renew()
    elif re.search(f"`cclab report {out}`", remedy):
        report.write(cclab.load(store.path), store.report)
    else:
        raise AssertionError(f"a remedy that is none: {remedy}")


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


@pytest.mark.parametrize("name", ["runs", "captures", "plans", "report", "index.sqlite"])
def test_a_file_in_the_place_of_a_folder_is_noticed_and_kept(bench: Bench, name: str) -> None:
    """Nothing is written where somebody put another thing, and it is said what is in the way."""
    place = bench.store.path / name
    if place.is_dir():
        shutil.rmtree(place)
        place.write_text("somebody's")
        assert _noticed(bench.store)
        for reader, read in READERS.items():
            if reader not in ("trace", "analyze"):
                assert _is_refused_or_right(read, bench, reader), reader
        if name != "report":
            with pytest.raises(StoreError, match=f"{name} is no folder, as it has to be: move it"):
                cclab.run(bench.studies["last"], out=bench.store.path)
        assert place.read_text() == "somebody's"
    place.unlink()
    if name == "report":
        report.write(cclab.load(bench.store.path), place)
    cclab.run(bench.studies["earlier"], out=bench.store.path)
    _mend(bench)


def test_what_is_in_a_folder_that_cannot_be_read_is_not_known(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for empty: nothing goes that may be needed."""
    before, listed = bench.content(), os.scandir

    for refused in (bench.store.captures, bench.store.plans, bench.store.runs):

        def scandir(path: Any = ".", refused: Path = refused) -> Any:
            if not isinstance(path, int) and Path(path) == refused:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return listed(path)

        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", scandir)
            with pytest.raises(StoreError, match=f"cannot read {refused}: Permission denied"):
                gc.collect(bench.store)
        assert bench.content() == before


def test_a_file_that_cannot_be_read_is_no_damage(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refuse(path: Any, *flags: Any, **words: Any) -> int:
        if Path(path) == bench.store.path / "plan.json":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return opened(path, *flags, **words)

    monkeypatch.setattr(os, "open", refuse)
    for read in (cclab.load, cclab.run, lambda path: gc.garbage(Store(path))):
        with pytest.raises(StoreError, match=r"cannot read .*plan\.json: Input/output error"):
            read(bench.store.path)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs `cclab` in this process: what it says is soon said."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        arguments = [*map(str, words)]
        code = invoke(arguments)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run


def test_captures_are_no_orphans_where_the_runs_are_gone(bench: Bench, cli: Cli) -> None:
    captured = {file: file.read_bytes() for file in bench.store.captures.rglob("*.pcapng")}
    assert captured
    shutil.move(bench.store.runs, bench.store.path.parent / "moved")
    for words in (["gc"], ["gc", "--dry-run"]):
        told = cli("store", *words, bench.store.path)
        assert told.returncode == 2
        assert f"{bench.store.runs} is not there: bring it back, or run the study" in told.stderr
    bench.store.runs.mkdir()
    assert gc.collect(bench.store).captures == []
    assert {file: file.read_bytes() for file in captured} == captured
    shutil.rmtree(bench.store.runs)
    shutil.move(bench.store.path.parent / "moved", bench.store.runs)


def test_what_is_no_run_goes_as_verify_says(bench: Bench, cli: Cli) -> None:
    (bench.store.runs / "notes.txt").write_text("not a run")
    (bench.store.runs / "folder").mkdir()
    os.mkfifo(bench.store.runs / "pipe")
    shutil.copy(min(bench.store.runs.glob("*.zip")), bench.store.runs / "copy of it.zip")
    told = cli("store", "verify", bench.store.path)
    assert told.returncode == 3
    assert f"`cclab store gc {bench.store.path}` removes 4 files that no plan needs" in told.stderr
    listed = cli("store", "gc", bench.store.path, "--dry-run").stdout
    assert {"notes.txt", "folder", "pipe", "copy of it"} <= set(listed.splitlines())
    assert cli("store", "gc", bench.store.path).returncode == 0
    assert cli("store", "verify", bench.store.path).returncode == 0
    assert _noticed(bench.store) is False


def test_a_changed_plan_is_believed_by_nobody(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    """Neither where its title is another, nor where the plans that vouch for it are gone."""
    store, file = bench.store, bench.store.path / "plan.json"
    tampered = file.read_text().replace("Who gets more?", "Who gets less?")
    verbs: list[list[Any]] = [
        ["report", store.path],
        ["query", store.path],
        ["compare", store.path, store.path],
        ["store", "ls", store.path],
        ["store", "gc", store.path],
        ["store", "export", store.path, tmp_path / "copy"],
        ["run", store.path],
        ["store", "verify", store.path],
    ]
    for emptied in (False, True):
        restore(bench.whole, store.path)
        file.write_text(tampered)
        if emptied:
            shutil.rmtree(store.plans)
        for words in verbs:
            told = cli(*words)
            assert told.returncode == 3, words
            assert f"{file} is damaged; `cclab run STUDY.toml --out {store.path}`" in told.stderr
            assert "less" not in told.stdout
        assert not (tmp_path / "copy").exists()
    cclab.run(bench.studies["last"], out=store.path)
    assert _noticed(store) is False


def _sealed(file: Path, members: list[tuple[str, bytes]]) -> None:
    """Writes a run's file with a comment as it has to be, whatever its members are called."""
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)  # of two members with one name
        for name, content in members:
            archive.writestr(name, content)
        archive.comment = b"x" * len(_comment(file.stem, 0, "0" * 64))
    content = file.read_bytes()
    comment = _comment(file.stem, len(content), "0" * 64)
    begin = content[: -len(comment)]
    digest = hashlib.sha256(begin + comment[: -64 - len("\ncrc32 01234567")]).hexdigest()
    file.write_bytes(begin + _comment(file.stem, len(content), digest))


def _comment(run: str, length: int, digest: str) -> bytes:
    text = (
        f"cclab-run/2\nrun {run}\nbytes {length:020}\nmetrics {_core.METRICS_VERSION}\n"
        f"captures 0\nsha256 {digest}"
    ).encode()
    return text + f"\ncrc32 {zlib.crc32(text):08x}".encode()


FORGED: dict[str, list[tuple[str, bytes]]] = {
    "twice": [("metrics.json", b'{"flows": []}')],
    "outside": [("../../outside", b"x")],
    "absolute": [("/tmp/outside", b"x")],
    "below": [("folder/inside", b"x")],
}


@pytest.mark.parametrize("kind", [None, *FORGED])
def test_a_run_whose_members_are_no_files_of_its_own_is_no_run(
    bench: Bench, tmp_path: Path, kind: str | None
) -> None:
    """Though it has a digest. The first is forged without a fault, and taken."""
    store = bench.store
    run = next(run.id for run in Store(bench.whole).plan().runs)
    with zipfile.ZipFile(store.file(run)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    members = [member for member in members if member[0] != "captures.json"]
    _sealed(store.file(run), members + FORGED.get(kind or "", []))
    found = health.examine(store)
    assert found.torn == ([run] if kind else [])
    target = Store(tmp_path / "deep" / "target")
    assert transfer.bring(store.path, target).refused == ([run] if kind else [])
    assert not list(tmp_path.rglob("outside"))
    if kind:
        with pytest.raises(DamageError, match=run):
            cclab.load(store.path)
        _mend(bench)


@pytest.mark.parametrize("name", ["run.json", "metrics.json"])
def test_a_document_that_nests_without_end_is_of_no_run(bench: Bench, name: str) -> None:
    """Sealed, so that its digest is right."""
    run = next(run.id for run in bench.store.plan().runs)
    forge(bench.store, run, lambda folder: _nest(folder / name))
    assert _noticed(bench.store)
    for reader in ("load", "query", "ls", "compare"):
        assert _is_refused_or_right(READERS[reader], bench, reader) or name == "metrics.json"


def _nest(file: Path) -> None:
    file.write_bytes(b"[" * 100_000 + b"]" * 100_000)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW mine AS SELECT * FROM runs",
        "CREATE TRIGGER mine AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
    ],
)
def test_an_index_that_computes_is_made_anew(bench: Bench, statement: str) -> None:
    index = bench.store.path / "index.sqlite"
    whole = index.read_bytes()
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(whole[:-64])
        connection.execute(statement)
        content = connection.serialize()
    index.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    assert health.examine(bench.store).derived == ["index.sqlite"]
    assert query(bench.store.path).rows() == bench.seen["query"]
    assert index.read_bytes() == whole


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


def test_a_plan_that_was_copied_out_vouches_for_its_runs(bench: Bench, tmp_path: Path) -> None:
    """No number of it is of other runs than their names say."""
    whole = (bench.store.path / "plan.json").read_bytes()
    copied = tmp_path / "plan.json"
    copied.write_bytes(whole)
    assert Store(tmp_path).plan() == bench.store.plan()
    for old, new in ((b'"seed":7', b'"seed":6'), (b'"rate":10000000', b'"rate":10000001')):
        assert old in whole
        copied.write_bytes(whole.replace(old, new, 1))
        with pytest.raises(DamageError, match="is damaged; `cclab run"):
            Store(tmp_path).plan()
    copied.write_bytes(whole[:-1])
    with pytest.raises(DamageError):
        Store(tmp_path).plan()
