"""Archives of stores that somebody else made: each is imported, or refused with one message."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.cli.exits import DONE, WRONG_INPUT
from cclab.cli.main import invoke
from conftest import STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.store import Store


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
