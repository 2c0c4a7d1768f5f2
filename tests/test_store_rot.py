"""What a disk does to a store: bits that flip, and what it has not kept when the power fails."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cclab.catalog import Catalog, records
from cclab.catalog.frames import RECORD

import cclab
from cclab import _core
from cclab.queries import query
from cclab.store import Store, compact, disk, health
from conftest import STUDY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab import Results
    from conftest import Cli

PLACES = 48
"""Where in a file a bit is flipped, one at a time, evenly over its length."""


@pytest.fixture
def store(short_runs: Results, tmp_path: Path) -> Store:
    """A copy of the store of `short_runs`."""
    shutil.copytree(short_runs.store.path, tmp_path / "copy")
    return Store(tmp_path / "copy")


def _flipped(content: bytes) -> Iterator[bytes]:
    """`content` with one bit the other way, at each of the places."""
    for turn in range(PLACES):
        at = len(content) * (2 * turn + 1) // (2 * PLACES)
        yield content[:at] + bytes([content[at] ^ 1 << turn % 8]) + content[at + 1 :]


def _unsettle(store: Store) -> Path:
    """Makes the catalog what it is before it is settled: a part. Gives that."""
    kept = records.read_settled(store.path / "catalog", "runs")
    assert kept is not None
    shutil.rmtree(store.path / "catalog")
    records.write_part(store.path / "catalog", kept.select(*RECORD), store.path / "tmp")
    (part,) = records.parts_of(store.path / "catalog")
    return part


def test_no_bit_of_a_part_can_flip_unseen(store: Store, cli: Cli) -> None:
    told = query(store.path)
    part = _unsettle(store)
    content = part.read_bytes()
    assert records.read_parts([part]).height == len(store.ids())
    for rotten in _flipped(content):
        part.write_bytes(rotten)
        assert records.read_parts([part]).height == 0
        assert Catalog(store).torn_parts() == [part]
    checked = cli("store", "verify", store.path)
    assert checked.returncode == 0
    assert f"catalog/parts/{part.name}: not of these entries" in checked.stderr
    assert query(store.path).equals(told)
    assert not part.exists()


def test_no_bit_of_a_pack_can_flip_unseen(store: Store) -> None:
    ids = store.ids()
    compact.compact(store)
    pack = max((store.path / "packs").iterdir(), key=lambda found: found.stat().st_size)
    content = pack.read_bytes()
    seen = 0
    for rotten in _flipped(content):
        pack.write_bytes(rotten)
        found = health.examine(Store(store.path))
        if pack.name not in found.unreadable:
            assert found.sound + len(found.torn) + len(found.foreign) == len(ids)
            assert set(found.torn) <= ids
            # A bit that means nothing to Parquet may flip; the runs are then as they were.
            assert found.whole == (found.sound == len(ids))
        seen += not found.whole
    assert seen > PLACES // 2


def test_a_packed_run_survives_damage_to_the_folder_beside_it(store: Store, tmp_path: Path) -> None:
    run = min(store.ids())
    shutil.copytree(store.entry(run), tmp_path / "kept")
    compact.compact(store)
    shutil.copytree(tmp_path / "kept", store.entry(run))
    (store.entry(run) / "flows.parquet").write_bytes(b"torn")
    compact.unpack(store)
    assert health.examine(Store(store.path)).whole
    assert store.ids() == {one.id for one in store.plan().runs}
    (aside,) = store.aside.rglob("flows.parquet")
    assert aside.read_bytes() == b"torn"


class _Disk:
    """Follows what is flushed, and what is moved."""

    def __init__(self, watch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[Path, ...]] = []
        """Of what is flushed, the path; of what is moved, from where and to where."""

        def follow(owner: Any, name: str, paths: int) -> None:
            whole = getattr(owner, name)

            def followed(*arguments: Any, **words: Any) -> Any:
                done = whole(*arguments, **words)
                self.events.append(tuple(Path(one) for one in arguments[:paths]))
                return done

            watch.setattr(owner, name, followed)

        follow(disk, "sync", 1)
        follow(os, "rename", 2)
        follow(os, "replace", 2)
        whole = _core.sync

        def sync(folders: list[str | os.PathLike[str]]) -> None:
            whole(folders)
            self.events += [(Path(folder),) for folder in folders]

        watch.setattr(_core, "sync", sync)

    def moves(self) -> Iterator[tuple[int, Path, Path]]:
        """When, from where and to where each thing was moved."""
        for index, event in enumerate(self.events):
            if len(event) > 1:
                yield index, event[0], event[1]

    def flushed(self, path: Path, *, after: int = 0, before: int | None = None) -> bool:
        return (path,) in self.events[after:before]


def test_what_takes_a_name_is_on_the_disk_and_its_name_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "short.toml"
    study.write_text(STUDY)
    followed = _Disk(monkeypatch)
    results = cclab.run(study, out=tmp_path / "out", set=["duration=600ms"])
    root = results.store.path
    lasting = [
        (when, source, to)
        for when, source, to in followed.moves()
        if to.is_relative_to(root) and "tmp" not in to.relative_to(root).parts
    ]
    entries = [to.name for _, _, to in lasting if to.parent == results.store.runs]
    assert sorted(entries) == sorted(results.store.ids())
    for when, source, to in lasting:
        if to.parent.name == "parts" or to.is_relative_to(root / "report"):
            continue  # Lost, they are made again.
        assert followed.flushed(source, before=when), to
        assert followed.flushed(to.parent, after=when), to


def test_what_goes_is_on_the_disk_elsewhere(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = _Disk(monkeypatch)
    for verb, there, home in (
        (compact.compact, store.runs, store.path / "packs"),
        (compact.unpack, store.path / "packs", store.runs),
    ):
        followed.events.clear()
        verb(store)
        moves = [*followed.moves()]
        came = [(when, source) for when, source, to in moves if to.parent == home]
        gone = [when for when, source, _ in moves if there in (source, source.parent)]
        assert came
        assert gone
        for when, source in came:
            assert followed.flushed(source, before=when)
            assert followed.flushed(home, after=when, before=min(gone))
