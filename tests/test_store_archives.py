"""Archives of stores that somebody else made: each is imported, or refused with one message."""

from __future__ import annotations

import errno
import gzip
import io
import subprocess
import tarfile
import tracemalloc
from typing import IO, TYPE_CHECKING, cast
from unittest.mock import Mock

import pytest

import cclab
from cclab import _core, whole
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError
from cclab.store import Store, expansion, health, transfer
from conftest import STUDY, files_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """That of a short study."""
    folder = tmp_path_factory.mktemp("archives")
    (folder / "study.toml").write_text(STUDY.replace('"2s"', '"600ms"'))
    return cclab.run(folder / "study.toml", out=folder / "store").store


def archive(file: Path, store: Store, *more: tuple[str, bytes, dict[str, str]]) -> Path:
    """The runs and plans of `store`, and then `more`: names, contents and fields of headers."""
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in ("plan.json", "plans", "runs"):
            tar.add(store.path / name, f"store/{name}")
        for name, content, fields in more:
            member = tarfile.TarInfo(name)
            member.size, member.pax_headers = len(content), fields
            tar.addfile(member, io.BytesIO(content))
    return file


FORGED = {
    "3,000 folders": {"path": f"store/{'a/' * 3000}a"},
    "100,000 folders": {"path": f"store/{'a/' * 100_000}a"},
    "a NUL": {"path": "store/plans/a\0b.json"},
    "a long name": {"path": f"store/plans/{'a' * 5000}.json"},
    "no map": {"GNU.sparse.map": "x,y"},
    "no number of holes": {"GNU.sparse.size": "zz"},
    "no size": {"GNU.sparse.realsize": "1e3"},
    "a size below nothing": {"size": "-5"},
    "more blocks of holes than there are": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
    "no set of letters": {"hdrcharset": "\udcff"},
}
"""Fields of a header that no archive of a store has."""


@pytest.mark.parametrize("fields", FORGED.values(), ids=FORGED)
def test_a_forged_header_is_refused_with_one_message(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], fields: dict[str, str]
) -> None:
    if "hdrcharset" in fields:
        fields = {"hdrcharset": "ab"}
        file = archive(tmp_path / "a.tar", store, ("store/plans/a.json", b"x", fields))
        file.write_bytes(file.read_bytes().replace(b"hdrcharset=ab", b"hdrcharset=\xff\xfe"))
    else:
        file = archive(tmp_path / "a.tar", store, ("store/plans/a.json", b"x", fields))
    assert invoke(["store", "import", str(file), str(tmp_path / "into")]) == WRONG_INPUT
    told = capsys.readouterr().err
    assert told.startswith(f"error: {file} is damaged, or no archive of a results folder: ")
    assert told.count("\n") == 1
    assert len(told) < 1000
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("time", ["1e300", "inf", "nan", "-1e300"])
def test_a_time_that_no_disk_has_is_of_no_account(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], time: str
) -> None:
    """As owners and modes are: what the member holds is brought."""
    own = min(store.ids())
    member = (f"store/runs/{own}.zip", store.file(own).read_bytes(), {"mtime": time, "uid": "-1"})
    file = archive(tmp_path / "a.tar", store, member)
    into = tmp_path / "into"
    assert invoke(["store", "import", str(file), str(into)]) == DONE, capsys.readouterr().err
    assert (into / "runs" / f"{own}.zip").read_bytes() == store.file(own).read_bytes()


def test_more_files_than_an_archive_of_its_size_has_are_refused(
    store: Store,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each takes time, and a few bytes."""
    monkeypatch.setattr(expansion, "MEMBERS", 100)
    empty: list[tuple[str, bytes, dict[str, str]]] = [
        (f"store/runs/{number:020x}.zip", b"", {}) for number in range(600)
    ]
    file = tmp_path / "a.tar.gz"
    file.write_bytes(gzip.compress(archive(tmp_path / "a.tar", store, *empty).read_bytes()))
    assert file.stat().st_size < 500 * expansion.OF_A_MEMBER
    assert invoke(["store", "import", str(file), str(tmp_path / "into")]) == WRONG_INPUT
    told = capsys.readouterr().err
    assert told.startswith(f"error: {file} has more files than an archive may")
    assert told.endswith("; --max-decompressed SIZE allows more\n")
    assert not (tmp_path / "into").exists()
    allowed = ["store", "import", str(file), str(tmp_path / "into"), "--max-decompressed", "50MB"]
    assert invoke(allowed) == RUN_FAILED
    assert {*Store(tmp_path / "into").ids()} == store.ids()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_takes_little_memory(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: bytes
) -> None:
    file = tmp_path / "a.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        header = tarfile.TarInfo("store/plans/a.json")
        header.type, header.size = kind, 100 << 20
        tar.addfile(header, cast("IO[bytes]", Zeros()))
        tar.add(store.path, "store")
    assert file.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        assert invoke(["store", "import", str(file), str(tmp_path / "into")]) == WRONG_INPUT
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()
    assert capsys.readouterr().err.endswith(": a header in it has more than 16 KiB\n")


class Zeros:
    """As many as are read."""

    def read(self, size: int) -> bytes:
        return bytes(size)


@pytest.mark.parametrize(
    "name", ["store/notes.txt", "store/runs/notes.txt", "store/captures/a/b/c", "notes.txt"]
)
def test_what_no_results_folder_has_is_not_passed_over(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file = archive(tmp_path / "a.tar", store, (name, b"mine", {}))
    assert invoke(["store", "import", str(file), str(tmp_path / "into")]) == WRONG_INPUT
    assert f": '{name}' in it is nothing that a results folder has" in capsys.readouterr().err
    assert not (tmp_path / "into").exists()


def test_what_is_made_again_stays_behind(store: Store, tmp_path: Path) -> None:
    """Of a store that somebody packed by hand."""
    whole = ["index.sqlite", "report/index.html", "aside/a/b", "tmp/lock", "timed.json"]
    file = archive(tmp_path / "a.tar", store, *((f"store/{name}", b"x", {}) for name in whole))
    assert invoke(["store", "import", str(file), str(tmp_path / "into")]) == DONE
    into = Store(tmp_path / "into")
    assert health.examine(into).whole
    assert into.ids() == store.ids()
    assert not {"report", "aside", "timed.json"} & {entry.name for entry in into.path.iterdir()}


@pytest.mark.parametrize("name", ["out.tar", "out.tar.zst", "out", "out of a file"])
def test_what_appears_while_a_store_is_exported_stays(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    target = tmp_path / name
    synced = _core.sync

    def appearing(files: list[Path]) -> None:
        synced(files)
        if not target.exists() and name == "out":
            target.mkdir()
            (target / "mine").write_text("mine")
        elif not target.exists():
            target.write_text("mine")

    monkeypatch.setattr(_core, "sync", appearing)
    with pytest.raises(InputError, match=f"{name} (is there already|was changed meanwhile|is no)"):
        transfer.export(store, store.ids(), target)
    assert {*files_of(tmp_path).values()} == {b"mine"}


@pytest.mark.parametrize("system", ["this", "one that exchanges no names"])
def test_a_folder_that_is_filled_as_another_comes_to_its_place_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    """After the last look at it."""
    if system != "this":
        monkeypatch.setattr(whole, "_rename", Mock(side_effect=OSError(errno.EINVAL, "Invalid")))
    out, looked = tmp_path / "out", whole._entries

    def appearing(folder: Path, besides: str = "") -> object:
        there = looked(folder, besides)
        if besides:
            whole.files(out, {"mine": b"mine"})
        return there

    monkeypatch.setattr(whole, "_entries", appearing)
    with pytest.raises(InputError, match="was changed meanwhile"), whole.folder(out, print) as work:
        (work / "file").write_text("new")
    assert files_of(tmp_path) == {"out/mine": b"mine"}


@pytest.mark.parametrize(
    ("name", "top"),
    [
        (".tar", "store"),
        ("..tar.gz", "store"),
        ("...tar", "store"),
        ("a.tar.b.tar", "a.tar.b"),
        ("store.tar", "store"),
    ],
)
def test_an_archive_has_one_folder_whatever_it_is_called(
    store: Store, tmp_path: Path, name: str, top: str
) -> None:
    file = tmp_path / name
    assert transfer.export(store, store.ids(), file).whole
    listed = subprocess.run(["tar", "-tf", file], capture_output=True, text=True, check=True).stdout
    assert {line.partition("/")[0] for line in listed.splitlines()} == {top}
    assert transfer.bring(file, Store(tmp_path / "into")).whole
    assert Store(tmp_path / "into").ids() == store.ids()
    assert {entry.name for entry in tmp_path.iterdir()} == {name, "into"}
