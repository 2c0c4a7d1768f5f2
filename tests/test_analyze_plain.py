"""What `cclab analyze` prints needs no frames, and is what polars would say of the same rows."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import cclab
from captured import two_flows

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = ("concurrent", "msgspec", "numpy", "polars", "pydantic", "sqlite3")


@pytest.fixture(scope="module")
def of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that is held against the seal of its run."""
    return two_flows(tmp_path_factory.mktemp("plain"))["bottleneck"]


@pytest.fixture(scope="module")
def capture(of_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copied = tmp_path_factory.mktemp("copied") / "capture.pcapng"
    shutil.copy(of_run, copied)
    return copied


@pytest.mark.parametrize("form", [(), ("--csv",), ("--csv", "--udp"), ("--json",)])
@pytest.mark.parametrize("whose", ["capture", "of_run"])
def test_an_analysis_loads_nothing_that_it_does_not_use(
    whose: str, form: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    capture: Path = request.getfixturevalue(whose)
    # Tables and styles alone need what lays them out.
    heavy = (*HEAVY, "rich") if form else HEAVY
    program = (
        "import sys; from cclab.cli.main import invoke; assert invoke(sys.argv[1:]) == 0\n"
        f"print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)"
    )
    ran = [sys.executable, "-c", program, "analyze", str(capture), *form]
    done = subprocess.run(ran, check=True, capture_output=True, text=True)
    assert done.stdout.strip()
    assert done.stderr.split() == []


def test_rows_are_the_same_in_every_form(capture: Path) -> None:
    analyzed = cclab.analyze(capture)
    for rows, frame in zip(
        analyzed.rows, (analyzed.connections, analyzed.conversations), strict=True
    ):
        assert len(rows) == len(frame)
        assert rows.csv() == frame.write_csv()
        assert rows.columns() == frame.to_dict(as_series=False)
        assert list(rows.columns()) == frame.columns
    connections, _ = analyzed.rows
    assert len(connections) == 4
    assert connections.columns(["end", "elapsed_s"]) == {
        name: analyzed.connections[name].to_list() for name in ("end", "elapsed_s")
    }
    with pytest.raises(KeyError, match="nothing"):
        connections.columns(["end", "nothing"])


def test_a_document_has_the_rows_of_the_frames(capture: Path) -> None:
    analyzed = cclab.analyze(capture)
    document = json.loads(json.dumps(analyzed.document))
    assert document["connections"] == analyzed.connections.to_dicts()
    assert list(document)[-3:] == ["connections", "conversations", "problems"]
