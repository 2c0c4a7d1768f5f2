"""The short form of every published study: all of it works, on every backend that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cclab
from cclab import reproduction
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from cclab.reproduction import page
from cclab.reproduction.file import located_checks
from cclab.reproduction.judge import FEWEST
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

STUDIES = ROOT / "studies"
NAMES = reproduction.names(STUDIES)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", NAMES)
def test_the_short_form_works(name: str, tmp_path: Path) -> None:
    done = cclab.reproduce(STUDIES / name, out=tmp_path, short=True)
    published = done.published
    assert all(one.results.runs for one in done.done)
    ran = {(one.planned.experiment.name, one.planned.backend) for one in done.done}
    assert ran == {
        (experiment.name, backend)
        for experiment in published.says.experiment
        for backend in experiment.backends
        if backend not in experiment.short.skip
    }
    judged = [judged for judged in (*done.claims, *done.suspicions) if judged.outcomes]
    measured = [o for one in judged for o in (*one.outcomes, *one.needs) if o.estimate]
    assert measured, "some checks have numbers"
    for table in done.tables:
        assert table.rows, f"{table.table.name} has rows"
    written = page.write(done, tmp_path)
    assert "The short form" in written.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_checks_and_figures_mean_points_that_are_swept(name: str, tmp_path: Path) -> None:
    published = reproduction.load(STUDIES / name)
    planned = reproduction.runs.plan(published, tmp_path)
    reproduction.references.check(published, planned)
    few = {
        (one.experiment.name, one.backend): len(one.plan.points[0].runs)
        for one in planned
        if len(one.plan.points[0].runs) < FEWEST[one.backend]
    }
    judged_by = {
        term.experiment or check.experiment
        for _, check in located_checks(published.says)
        for term in check.terms.values()
    }
    assert not {key for key in few if key[0] in judged_by}, "judged over too few seeds"


@pytest.mark.parametrize("name", NAMES)
def test_a_student_finds_what_there_is(name: str) -> None:
    folder = STUDIES / name
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert f"cclab reproduce {name}" in readme
    for claim in reproduction.load(folder).says.claim:
        assert claim.text.endswith("."), "a claim is a sentence"


def test_every_study_of_the_folder_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert invoke(["list", "studies", "--json"]) == DONE
    listed = capsys.readouterr().out
    for name in NAMES:
        assert f"studies/{name}/reproduction.toml" in listed
