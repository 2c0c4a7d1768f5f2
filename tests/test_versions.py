"""What determines a run, told and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

import cclab
from cclab import _core, kernel, versions
from cclab.plan.outdated import outdated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STUDY = """
title = "Two flows"
duration = "1s"
baselines = ["solo"]
[network.bottleneck]
rate = "5Mbit"
delay = "5ms"
queue = { kind = "codel", limit = "50p" }
[[flow]]
cc = "hybla"
[[flow]]
cc = "cubic"
"""


def _plan(tmp_path: Path) -> cclab.plan.Plan:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return cclab.Study.load(file).plan()


def test_a_run_says_the_versions_of_what_its_scenario_uses(tmp_path: Path) -> None:
    told = _plan(tmp_path).runs[0].version
    names = [part.rpartition(" ")[0] for part in told.split(", ")]
    assert names == ["core", "linux-6.12", "cubic", "hybla", "codel", "droptail"]


def test_a_run_beside_another_is_of_its_own_parts_in_the_versions_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cclab.plan import companions

    plan = _plan(tmp_path)
    alone = [run.version for run in companions.of(plan).runs if len(run.scenario["flows"]) == 1]
    assert len(alone) == 2
    assert sorted("hybla" in version for version in alone) == [False, True]
    assert outdated([*plan.runs, *companions.of(plan).runs]) == {}
    determinants = _core.determinants

    def raised(scenario: str, backend: str, kernels: Mapping[str | None, str] | None = None) -> str:
        return determinants(scenario, backend, kernels).replace("hybla 1", "hybla 2")

    monkeypatch.setattr(_core, "determinants", raised)
    older = outdated([*plan.runs, *companions.of(plan).runs])
    assert all("hybla 1" in run.version for run, _ in older.values())
    assert len(older) < len({run.id for run in [*plan.runs, *companions.of(plan).runs]})


@pytest.mark.usefixtures("kernel")
def test_a_run_beside_one_on_linux_is_of_its_kernel_and_testbed(tmp_path: Path) -> None:
    """What its plan gave it was another run than the one that a kernel would make."""
    from cclab.plan import companions

    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace("hybla", "reno"))
    plan = cclab.Study.load(file).plan(backend="linux")
    beside = companions.of(plan).runs
    assert len(beside) > len(plan.runs)
    assert outdated([*plan.runs, *beside]) == {}
    assert {run.version for run in beside} == {plan.runs[0].version}
    assert f"testbed {_core.TESTBED_VERSION}, kernel " in plan.runs[0].version


def test_what_differs_is_told_and_nothing_else() -> None:
    assert versions.apart("core 1, reno 1", "core 2, reno 1") == ("core 1", "core 2")
    assert versions.apart("0.1.0+ab12", "core 1") == ("0.1.0+ab12", "core 1")
    mixed = ["core 1, reno 1", "core 1, cubic 2", "0.1.0+ab12"]
    assert versions.listed(mixed) == "core 1, reno 1, cubic 2, cclab 0.1.0+ab12"


def test_a_scenario_of_another_form_is_of_another_version(tmp_path: Path) -> None:
    run = _plan(tmp_path).runs[0]
    form: Any = {"stack": "linux-6.12"}
    older = structs.replace(run, scenario=form)
    assert outdated([older]) == {run.id: (older, versions.AT_HAND)}


def test_a_kernel_determines_what_runs_on_it(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace('baselines = ["solo"]\n', ""))
    run = cclab.Study.load(file).plan(backend="netns").runs[0]
    kernels = kernel.keys()["netns"]
    assert run.version == f"testbed {_core.TESTBED_VERSION}, kernel {kernels[None]}"
