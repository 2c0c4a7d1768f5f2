"""A store that somebody changed, or of which a part is gone: nothing of it is believed, and nothing
goes that is needed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import sqlite3
import subprocess
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cclab
from cclab import _core, report
from cclab.cli.main import invoke
from cclab.errors import DamagedRunsError, DamageError, RunError, StoreError
from cclab.queries import query
from cclab.store import Store, gc, health, transfer
from cclab.store.trace import Trace
from conftest import forge
from damage import restore
from damaged_store import READERS, Bench, is_noticed, is_refused_or_right, mend

if TYPE_CHECKING:
    from conftest import Cli


@pytest.mark.parametrize("name", ["runs", "captures", "plans", "report", "index.sqlite"])
def test_a_file_in_the_place_of_a_folder_is_noticed_and_kept(bench: Bench, name: str) -> None:
    """Nothing is written where somebody put another thing, and it is said what is in the way."""
    place = bench.store.path / name
    if place.is_dir():
        shutil.rmtree(place)
        place.write_text("somebody's")
        assert is_noticed(bench.store)
        for reader, read in READERS.items():
            if reader not in ("trace", "analyze"):
                assert is_refused_or_right(read, bench, reader), reader
        if name != "report":
            with pytest.raises(StoreError, match=f"{name} is no folder, as it has to be: move it"):
                cclab.run(bench.studies["last"], out=bench.store.path)
        assert place.read_text() == "somebody's"
    place.unlink()
    if name == "report":
        report.write(cclab.load(bench.store.path), place)
    cclab.run(bench.studies["earlier"], out=bench.store.path)
    mend(bench)


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
    assert is_noticed(bench.store) is False


def test_a_changed_plan_is_believed_by_nobody(bench: Bench, cli: Cli, tmp_path: Path) -> None:
    """Neither where its title is another, nor where the plans that vouch for it are gone."""
    store, file = bench.store, bench.store.path / "plan.json"
    kept = store.place_of(store.plan())
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
            state = "is damaged"
            if emptied:
                state = (
                    f"has no copy in {store.plans}, which is empty: nothing tells that it is whole"
                )
            again = f"cclab run STUDY.toml --out {store.path}" if emptied else f"cp {kept} {file}"
            assert f"{file} {state}; `{again}`" in told.stderr
            assert "less" not in told.stdout
        assert not (tmp_path / "copy").exists()
    cclab.run(bench.studies["last"], out=store.path)
    assert is_noticed(store) is False


def _sealed(
    file: Path, members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED
) -> None:
    """Writes a run's file with a comment as it has to be, whatever its members are called."""
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as archive:
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
        mend(bench)


def test_a_run_that_becomes_more_than_it_may_is_no_run(bench: Bench) -> None:
    """Some hundred kilobytes are 256 MiB of zeros, and the digest is right: nobody unpacks it."""
    run = bench.store.plan().runs[0].id
    with zipfile.ZipFile(bench.store.file(run)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    zeros = [("zeros", bytes(_core.most_of_file(0)))]
    _sealed(bench.store.file(run), members + zeros, zipfile.ZIP_DEFLATED)
    assert bench.store.file(run).stat().st_size < 1 << 20
    assert health.examine(bench.store).torn == [run]
    for read in (Trace.names, Trace.measured, lambda trace: trace.bytes("summary.json")):
        with pytest.raises(RunError, match=f"{run}.* become more than they may"):
            read(bench.store.trace(run))
    mend(bench)


@pytest.mark.parametrize("name", ["run.json", "metrics.json"])
def test_a_document_that_nests_without_end_is_of_no_run(bench: Bench, name: str) -> None:
    """Sealed, so that its digest is right."""
    run = next(run.id for run in bench.store.plan().runs)
    forge(bench.store, run, lambda folder: _nest(folder / name))
    assert is_noticed(bench.store)
    for reader in ("load", "query", "ls", "compare"):
        assert is_refused_or_right(READERS[reader], bench, reader) or name == "metrics.json"


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


def test_a_plan_that_was_copied_out_vouches_for_its_runs(bench: Bench, tmp_path: Path) -> None:
    """No number of it is of other runs than their names say."""
    whole = (bench.store.path / "plan.json").read_bytes()
    copied = tmp_path / "plan.json"
    copied.write_bytes(whole)
    assert Store(tmp_path).plan() == bench.store.plan()
    for old, new in ((b'"seed":7', b'"seed":6'), (b'"rate":10000000', b'"rate":10000001')):
        assert old in whole
        copied.write_bytes(whole.replace(old, new, 1))
        with pytest.raises(DamageError, match="is damaged; `cclab run") as refused:
            Store(tmp_path).plan()
        assert not isinstance(refused.value, DamagedRunsError), "no run of it is damaged"
    copied.write_bytes(whole[:-1])
    with pytest.raises(DamageError):
        Store(tmp_path).plan()
