"""What a sweep learns of what runs cost, and from whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cclab import Study, costs
from cclab.backends import backend as backend_called
from cclab.execute import execute
from cclab.execute.crew import Local
from cclab.store import Store

if TYPE_CHECKING:
    from pathlib import Path

SIM = backend_called("sim")

KNOWN = '{"schema": "cclab-costs/1", "backends": {"sim": %s}}'


class Elsewhere(Local):
    """Workers of another machine."""

    here = False


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where costs are kept; there is no such file yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "cclab" / "costs.json"


def swept(study: Path, out: Path, crew: Local) -> None:
    runs = Study.load(study).plan().runs
    with Store(out).writer() as writer:
        assert execute(runs, SIM, crew, writer) == []


def test_what_other_machines_took_is_not_learnt(study: Path, file: Path, tmp_path: Path) -> None:
    swept(study, tmp_path / "there", Elsewhere(SIM, 1))
    assert not file.exists()
    swept(study, tmp_path / "here", Local(SIM, 1))
    known = json.loads(file.read_text())["backends"]["sim"]
    assert sum(row[0] for row in known["seen"]) == 4
    assert costs.costs_on(SIM) == costs.Costs(*known["fitted"])


@pytest.mark.parametrize(
    "foreign",
    [
        KNOWN % '{"fitted": [NaN, 1, 1], "seen": []}',
        KNOWN % '{"fitted": [1, Infinity, 1], "seen": []}',
        KNOWN % '{"fitted": [0, 0, -1], "seen": []}',
        KNOWN % '{"fitted": [0, 1e308, 0], "seen": []}',
        KNOWN % '{"fitted": ["1", 1, 1], "seen": []}',
        KNOWN % '{"fitted": [1, 1], "seen": []}',
        KNOWN % '{"fitted": [1, 1, 1], "seen": [[1, 1, 1, 0]]}',
        KNOWN % '{"fitted": [1, 1, 1], "seen": 5}',
        KNOWN % "[1, 1, 1]",
        '{"schema": "cclab-costs/1", "backends": []}',
        '{"schema": "cclab-costs/9", "backends": {"sim": {"fitted": [1, 1, 1], "seen": []}}}',
        "[]",
        "5 bytes",
    ],
)
def test_a_file_of_costs_that_is_none_is_passed_over_and_replaced(
    foreign: str, study: Path, file: Path, tmp_path: Path
) -> None:
    guess = costs.costs_on(SIM)
    file.parent.mkdir(parents=True)
    file.write_text(foreign)
    assert costs.costs_on(SIM) == guess
    swept(study, tmp_path / "out", Local(SIM, 1))
    known = json.loads(file.read_text())["backends"]["sim"]
    assert sum(row[0] for row in known["seen"]) == 4
