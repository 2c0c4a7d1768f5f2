"""What a sweep learns of what runs cost, and from whom."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import optimize

from cclab import Study
from cclab.execute import costs, execute
from cclab.execute.backends import backend as backend_called
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


def test_a_sweep_of_one_run_loads_no_scipy(study: Path, tmp_path: Path) -> None:
    # It takes a third of a second to load, and nothing of the sweep needs it.
    code = (
        "import sys; from cclab import Study; from cclab.execute import costs\n"
        "from cclab.execute.backends import backend\n"
        f"runs = Study.load({str(study)!r}).plan().runs\n"
        "costs.learn(backend('sim'), [costs.seen(runs, 1.5)])\n"
        "sys.exit('scipy' in sys.modules)\n"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert (tmp_path / "cclab/costs.json").is_file()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_fitted_is_what_scipy_finds(seed: int) -> None:
    dice = np.random.default_rng(seed)
    system = dice.random((30, 3))
    wanted = system @ dice.normal(size=3) + dice.normal(size=30) / 10
    found, _ = optimize.nnls(system, wanted)
    assert costs._not_below_zero(system, wanted) == pytest.approx(found, abs=1e-9)


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
