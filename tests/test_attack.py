"""The short form of `make attack`: a few tries of each kind, in a process of its own as there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attacks.kinds import KINDS
from attacks.links import FORMS, TRIED_ALONE
from attacks.programme import Order, Programme
from attacks.rehearsal import REHEARSED
from attacks.writing import READING
from guests import processes_in
from verbs import VERBS
from waiting import await_that

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1

PLAIN = [name for name, kind in KINDS.items() if not kind.kernel]
WITH_GUESTS = [name for name, kind in KINDS.items() if kind.kernel and name != "break-outs"]
"""`test_break_out.py` makes those, on each kernel."""


def assert_held(name: str) -> None:
    """Makes the few tries of the kind: all are made, and none fails."""
    programme = Programme([name], Order(SEED, tries=KINDS[name].short or -1))
    programme.run()
    report = programme.reports[name]
    assert report.told() == []
    assert report.tries == KINDS[name].short


@pytest.mark.parametrize("name", PLAIN)
def test_cclab_holds(name: str) -> None:
    assert_held(name)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", WITH_GUESTS)
def test_cclab_holds_with_guests(name: str) -> None:
    assert_held(name)


def test_one_try_alone_is_no_other_when_it_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "misses", REHEARSED["misses"])
    programme = Programme(["misses"], Order(SEED, first=7, last=7), worker="attacks.rehearsal")
    programme.run()
    report = programme.reports["misses"]
    assert (report.tries, report.missed, report.told()) == (0, 1, [])


def test_a_try_that_waits_for_ever_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes none of the processor's time."""
    monkeypatch.setitem(KINDS, "hangs", REHEARSED["hangs"])
    order, folder = Order(SEED, tries=2), tmp_path / "benches"
    programme = Programme(["hangs"], order, folder=folder, worker="attacks.rehearsal")
    programme.run()
    report = programme.reports["hangs"]
    assert sorted(report.failures) == [0, 1]
    assert all("it hangs" in why for why in report.failures.values())
    await_that(lambda: not processes_in(folder), "the end of what the tries started")


def test_a_kind_makes_its_least_number_of_tries_however_long_they_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second has room for ten."""
    monkeypatch.setitem(KINDS, "is slow", REHEARSED["is slow"])
    programme = Programme(["is slow"], Order(SEED, seconds=1.0), worker="attacks.rehearsal")
    programme.run()
    report = programme.reports["is slow"]
    assert report.tries >= 20
    assert report.told() == []


def test_links_are_planted_wherever_the_parser_has_verbs_write() -> None:
    """An option that takes a file is told to be read, or is written to."""
    there = {(verb.words, option) for verb in VERBS for option in verb.paths}
    told = {
        (verb.words, word)
        for form in FORMS.values()
        for verb in VERBS
        if form.words[: len(verb.words)] == verb.words
        for word in form.words
        if word in verb.paths
    }
    assert there == told | READING | TRIED_ALONE
