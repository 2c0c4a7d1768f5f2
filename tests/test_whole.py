"""What commands leave for people is there whole or not at all, and follows no planted link."""

from __future__ import annotations

import errno
import itertools
import os
import resource
import shutil
import signal
import stat
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cclab
from attacks import stepping
from attacks.links import BESIDE
from cclab import learn, report, whole
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError, RunError, StoreError
from cclab.store import Store
from conftest import ROOT, STUDY, files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EMPTY = bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 ffff0000 65000000")
"""A capture without packets."""

FULL = r"nothing there was changed$"


@contextmanager
def no_room(most: int = 0) -> Iterator[None]:
    """No file grows beyond `most` bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def planted(folder: Path, names: list[str], victim: Path) -> None:
    """In `folder`, links in the places of `names`, and of what they might be called meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate([*names, *(f"{n}{end}" for n in names for end in BESIDE[1:])]):
        if number % 2:
            (folder / name).symlink_to(victim)
        else:
            (folder / name).hardlink_to(victim)


def all_of(folder: Path) -> dict[str, int]:
    """Every name below `folder`, whatever it is of."""
    return {str(p.relative_to(folder)): p.lstat().st_ino for p in folder.rglob("*")}


def test_a_file_replaces_a_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    planted(tmp_path / "out", ["a.svg", "b.svg"], victim)
    whole.files(tmp_path / "out", {"a.svg": b"a", "b.svg": b"b"})
    assert victim.read_text() == "mine"
    for name in ("a.svg", "b.svg"):
        place = tmp_path / "out" / name
        assert place.read_text() == name[0]
        assert not place.is_symlink()
        assert place.stat().st_ino != victim.stat().st_ino
    assert stat.S_IMODE((tmp_path / "out" / "a.svg").stat().st_mode) == 0o666 & ~umask()


def umask() -> int:
    """That of this process."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_last_file_without_room_leaves_all_of_them_as_they_were(tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole.files(out, {"a": b"old a", "b": b"old b", "sub/c": b"old c"})
    before = all_of(tmp_path)
    new = {"a": b"new a", "b": b"", "sub/d": b"longer than there is room"}
    with no_room(10), pytest.raises(StoreError, match=rf"cannot write .*out: .*; {FULL}") as told:
        whole.files(out, new, gone=["sub/c"])
    assert told.value.while_writing
    assert told.value.errno == errno.EFBIG
    assert all_of(tmp_path) == before
    with no_room(10), pytest.raises(StoreError, match=FULL):
        whole.files(tmp_path / "new" / "folder", new)
    assert all_of(tmp_path) == before
    whole.files(out, new, gone=["sub/c"])
    assert files_of(out) == new


def test_what_is_to_go_stays_if_something_else_of_it_is_a_folder(tmp_path: Path) -> None:
    whole.files(tmp_path, {"a": b"old a", "b/c": b"old c"})
    before = all_of(tmp_path)
    with pytest.raises(StoreError, match=rf"cannot write .*/b: Is a directory; {FULL}"):
        whole.files(tmp_path, {"new": b"new"}, gone=["a", "b"])
    assert all_of(tmp_path) == before


@pytest.mark.parametrize(("name", "call"), [("replace", 1), ("rename", 2)])
def test_what_is_to_go_is_there_again_if_a_file_cannot_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: int
) -> None:
    """Whichever the disk refuses: to move the new file into its place, or an old one aside."""
    whole.files(tmp_path, {"a": b"old a", "b": b"old b"})
    before = all_of(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(type(tmp_path), name, refusing(getattr(type(tmp_path), name), call))
        with pytest.raises(StoreError, match=rf"cannot write .*: Input/output error; {FULL}"):
            whole.files(tmp_path, {"new": b"new"}, gone=["a", "b"])
    assert all_of(tmp_path) == before
    whole.files(tmp_path, {"new": b"new"}, gone=["a", "absent"])
    assert files_of(tmp_path) == {"new": b"new", "b": b"old b"}


def test_what_is_to_go_stays_away_from_files_of_which_some_are_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the stamp of a report, which says that all of it is of one moment."""
    whole.files(tmp_path, {"a": b"old a", "b": b"old b", "stamp": b"old"})
    new = {"a": b"new a", "b": b"new b", "stamp": b"new"}
    with monkeypatch.context() as patched:
        patched.setattr(type(tmp_path), "replace", refusing(type(tmp_path).replace, 2))
        with pytest.raises(StoreError, match=r"Input/output error; 1 of 3 files there are new$"):
            whole.files(tmp_path, new, gone=["stamp"])
    assert files_of(tmp_path) == {"a": b"new a", "b": b"old b"}
    whole.files(tmp_path, new, gone=["stamp"])
    assert files_of(tmp_path) == new


def refusing(method: Callable[..., object], call: int) -> Callable[..., object]:
    """`method`, whose call of this number the disk refuses; those before and after it succeed."""
    calls = itertools.count(1)

    def refused(*arguments: object, **words: object) -> object:
        if next(calls) == call:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return method(*arguments, **words)

    return refused


def test_files_that_are_to_stay_do(tmp_path: Path) -> None:
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    before = all_of(tmp_path)
    with pytest.raises(InputError, match="b is there already, and stays"):
        whole.files(tmp_path, {"a": b"a", "b": b"b"}, keep=True)
    assert all_of(tmp_path) == before
    whole.files(tmp_path, {"a": b"a", "c": b"c"}, keep=True)
    assert files_of(tmp_path) == {"a": b"a", "c": b"c"}


def test_files_that_are_to_stay_do_where_the_system_has_no_rename_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(whole, "_rename", none)
    test_files_that_are_to_stay_do(tmp_path)


def test_what_no_file_replaces_is_refused_before_anything_changes(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sub").symlink_to(tmp_path / "elsewhere")
    before = all_of(tmp_path)
    with pytest.raises(StoreError, match=rf"cannot write .*/b: Is a directory; {FULL}"):
        whole.files(tmp_path, {"a": b"a", "b": b"b"})
    with pytest.raises(StoreError, match=rf"cannot write .*/sub: a link, and no folder; {FULL}"):
        whole.files(tmp_path, {"a": b"a", "sub/c": b"c"})
    assert all_of(tmp_path) == before


@pytest.mark.parametrize("system", ["this", "one that exchanges no names"])
def test_a_folder_is_replaced_or_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    if system != "this":

        def none(*_: object) -> None:
            raise OSError(errno.EINVAL, "Invalid argument")

        monkeypatch.setattr(whole, "_rename", none)
    out = tmp_path / "out"

    def fine(_: Path) -> None:
        pass

    for text in ("first", "second"):
        with whole.folder(out, fine) as place:
            assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
            (place / text).write_text(text)
        assert files_of(tmp_path) == {f"out/{text}": text.encode()}
        assert stat.S_IMODE(out.stat().st_mode) == 0o777 & ~umask()
    before = all_of(tmp_path)
    with no_room(3), pytest.raises(StoreError, match=FULL), whole.folder(out, fine) as place:
        (place / "third").write_text("third")
    assert all_of(tmp_path) == before
    with pytest.raises(KeyboardInterrupt), whole.folder(out, fine) as place:
        raise KeyboardInterrupt
    assert all_of(tmp_path) == before
    with pytest.raises(InputError, match="out was changed meanwhile"), whole.folder(out, fine):
        (out / "mine").write_text("mine")
    assert files_of(tmp_path) == {"out/second": b"second", "out/mine": b"mine"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> cclab.Results:
    """Those of a short study."""
    folder = tmp_path_factory.mktemp("short")
    (folder / "study.toml").write_text(STUDY)
    return cclab.run(folder / "study.toml", out=folder / "out")


def test_a_report_follows_no_link_and_is_there_whole_or_not_at_all(
    results: cclab.Results, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    page = report.write(results, tmp_path / "clean")
    clean = files_of(page.parent)
    planted(tmp_path / "report", list(clean), victim)
    for left in BESIDE[1:]:
        assert len(list((tmp_path / "report").glob(f"*{left}"))) == len(clean)
    before = all_of(tmp_path)
    with no_room(100), pytest.raises(StoreError, match=FULL):
        report.write(results, tmp_path / "report")
    assert all_of(tmp_path) == before
    report.write(results, tmp_path / "report")
    assert victim.read_text() == "mine"
    there = files_of(tmp_path / "report")
    assert {name: there[name] for name in clean} == clean


def test_a_report_folder_that_is_a_link_is_not_followed(
    results: cclab.Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "index.html").write_text("mine")
    folder = results.store.path
    (folder / "report").symlink_to(elsewhere)
    try:
        for more in ((), ("--format", "flent"), ("--figure", "goodput")):
            assert invoke(["report", str(folder), *more]) == WRONG_INPUT
            assert "report: a link, and no folder" in capsys.readouterr().err
            assert files_of(elsewhere) == {"index.html": b"mine"}
    finally:
        (folder / "report").unlink()


def test_a_place_of_writers_that_is_a_link_is_not_swept(
    results: cclab.Results, tmp_path: Path
) -> None:
    """A results folder from elsewhere, whose `tmp` leads to somebody's folders."""
    mine = tmp_path / "home" / "thesis"
    mine.mkdir(parents=True)
    (mine / "text").write_text("years")
    store = tmp_path / "store"
    store.mkdir()
    (store / "tmp").symlink_to(tmp_path / "home")
    with pytest.raises(StoreError, match="tmp is a link, and no folder"):
        Store(store).writer().__enter__()
    assert files_of(tmp_path / "home") == {"thesis/text": b"years"}


def test_a_new_variant_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["new", "variant", "mine", "--language", "c"]
    with no_room(100):
        assert invoke(words) == RUN_FAILED
    told = capsys.readouterr().err
    assert told.startswith("error: cannot write mine: ")
    assert told.endswith("nothing there was changed\n")
    assert all_of(tmp_path) == {}
    # A link to nowhere would have been followed to a new file.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "study.toml").symlink_to(tmp_path / "nowhere")
    assert invoke(words) == WRONG_INPUT
    assert "mine has study.toml already" in capsys.readouterr().err
    (tmp_path / "mine" / "study.toml").unlink()
    assert invoke(words) == DONE


def test_a_policy_a_figure_and_a_table_replace_links(
    results: cclab.Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    layers = [(np.zeros((1, 30)), np.zeros(1))]
    for name in ("policy.py", "difference.svg", "flows.parquet"):
        (tmp_path / name).symlink_to(victim)
    before = all_of(tmp_path)
    with no_room(10), pytest.raises(StoreError, match=FULL):
        learn.save_policy(tmp_path / "policy.py", layers)
    folder = str(results.store.path)
    asks = ["query", folder, "--parquet", str(tmp_path / "flows.parquet")]
    assert invoke(["query", folder]) == DONE  # Its index is there from now on.
    capsys.readouterr()
    with no_room(10):
        assert invoke(asks) == RUN_FAILED
    assert capsys.readouterr().err.endswith("nothing there was changed\n")
    assert all_of(tmp_path) == before
    learn.save_policy(tmp_path / "policy.py", layers)
    assert invoke(asks) == DONE
    assert invoke(["compare", folder, folder, "--figure", str(tmp_path / "difference.svg")]) == DONE
    assert victim.read_text() == "mine"
    assert "class Policy" in (tmp_path / "policy.py").read_text()
    assert b"<svg" in (tmp_path / "difference.svg").read_bytes()
    assert (tmp_path / "flows.parquet").read_bytes().startswith(b"PAR1")


def test_tables_of_packets_in_a_folder_of_ones_own_follow_no_link(
    results: cclab.Results, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(EMPTY)
    names = [f"{name}.parquet" for name in ("segments", "sacks", "datagrams")]
    planted(tmp_path / "series", names, victim)
    before = all_of(tmp_path)
    with no_room(10), pytest.raises((RunError, StoreError), match=FULL):
        cclab.analyze(empty, series=tmp_path / "series")
    assert all_of(tmp_path) == before
    cclab.analyze(empty, series=tmp_path / "series")
    assert victim.read_text() == "mine"
    for name in names:
        assert not (tmp_path / "series" / name).is_symlink()
        assert (tmp_path / "series" / name).read_bytes().startswith(b"PAR1")


@pytest.mark.parametrize("name", ["out", "out.tar.zst"])
def test_an_export_to_a_link_that_leads_to_itself_is_refused(
    results: cclab.Results, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    target = tmp_path / name
    target.symlink_to(name)
    assert invoke(["store", "export", str(results.store.path), str(target)]) == WRONG_INPUT
    assert capsys.readouterr().err == f"error: {target} is there already\n"
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert target.is_symlink()


@pytest.mark.parametrize("verb", ["export", "export of an archive", "import", "analyze"])
def test_what_a_killed_verb_left_goes_with_the_next_one(
    results: cclab.Results,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
) -> None:
    """Copies of runs, and tables of packets, in folders whose names nobody knows."""
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.setenv("TMPDIR", str(there))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(ROOT / "tests")
    store, archive = str(results.store.path), str(tmp_path / "from.tar")
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(EMPTY)
    assert invoke(["store", "export", store, archive]) == DONE
    words = {
        "export": ["store", "export", store, str(there / "out")],
        "export of an archive": ["store", "export", store, str(there / "out.tar.gz")],
        "import": ["store", "import", archive, str(tmp_path / "into")],
        "analyze": ["analyze", str(empty), "--out", str(there / "out")],
    }[verb]
    steps = stepping.steps_of(words, there)
    for made in (*there.iterdir(), tmp_path / "into"):
        if made.is_dir():
            shutil.rmtree(made)
        else:
            made.unlink(missing_ok=True)
    assert stepping.killed_at(len(steps) // 2, words, there)[0] == -signal.SIGKILL
    (left,) = [entry for entry in there.iterdir() if entry.name.startswith(".")]
    assert files_of(left)
    mine = left.with_name(left.name[:-16] + "0123456789abcdef")
    mine.mkdir()
    (mine / "mine").write_text("mine")
    assert invoke(words) == DONE
    assert not left.exists()
    assert files_of(mine) == {"mine": b"mine"}


def test_what_somebody_is_making_stays(tmp_path: Path) -> None:
    with whole.folder(tmp_path / "out", lambda _: None) as first:
        (first / "file").write_text("first")
        with whole.scratch(tmp_path, "out") as second:
            assert files_of(first) == {"file": b"first"}
            make(tmp_path / "new" / "out")
        assert not second.exists()
    assert files_of(tmp_path) == {"out/file": b"first", "new/out/file": b"newest"}


def test_what_was_to_be_replaced_stays_where_a_kill_left_it(tmp_path: Path) -> None:
    """On a system that exchanges no names: it is nowhere else."""
    place = tmp_path / f".out.{'0' * 16}"
    for name in ("old", "new"):
        (place / name).mkdir(parents=True)
        (place / name / "file").write_text(name)
    (place / "lock").touch()
    make(tmp_path / "out")
    assert files_of(place) == {"lock": b"", "new/file": b"new", "old/file": b"old"}
    (place / "new" / "file").unlink()  # As if it had come to its place.
    make(tmp_path / "out")
    assert files_of(tmp_path) == {"out/file": b"newest"}


def make(out: Path) -> None:
    """A folder with a file."""
    with whole.folder(out, lambda _: None) as work:
        (work / "file").write_text("newest")
