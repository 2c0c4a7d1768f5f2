"""What the suite of RFC 9743 says of variants whose faults are known, by real runs of its short
form with four seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nulls
from cclab import evaluation
from cclab.evaluation.judge import FAULTS

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Card

_LINES = ("5.1.1-backoff", "5.1.3", "5.2-goodput", "5.2-starved", "5.2-share", "5.2-feedback")
_HARM = ("5.1.3-several", "5.1.3-shallow", "5.2-goodput", "5.2-starved")


def _card(variant: str, out: Path) -> Card:
    return evaluation.evaluate(variant, quick=True, only=_LINES, repeat=4, out=out)


def _verdicts(card: Card) -> dict[str, str]:
    return {line.criterion.id: line.verdict for line in card.lines}


def test_known_faults_are_called_so_and_standards_have_none(tmp_path: Path) -> None:
    # The standards' runs are the same beside each variant, and are done once.
    deaf = _verdicts(_card("unresponsive", tmp_path))
    # A constant rate neither backs off, nor shares, nor hears that nothing comes back.
    assert deaf["5.1.1-backoff"] == "fails"
    assert deaf["5.1.3-several"] == "worse than standard"
    assert deaf["5.2-goodput"] == "worse than standard"
    assert deaf["5.2-starved"] == "worse than standard"
    assert deaf["5.2-feedback"] == "fails"

    # RFC 9743, 5.1.3: the first version of BBR loses much in buffers below 1.5 BDP.
    bbr = _card("bbr", tmp_path)
    several = bbr.line("5.1.3-several")
    assert several.verdict == "worse than standard"
    shallow = [s.params["network.bottleneck.queue.limit"] for s in several.deciding]
    assert "0.5bdp" in shallow
    assert "4bdp" not in shallow
    assert _verdicts(bbr)["5.1.3-shallow"] == "worse than standard"

    # LEDBAT++ yields to everything: no harm, and no share.
    ledbat = _verdicts(_card("ledbat++", tmp_path))
    assert {ledbat[line] for line in _HARM} == {"no worse than standard"}
    assert ledbat["5.2-share"] == "worse than standard"

    for standard in ("cubic", "reno"):
        card = _card(standard, tmp_path)
        assert card.met, card
        assert not card.faults
        assert not {*_verdicts(card).values()} & {*FAULTS}


def test_a_standard_under_two_names_is_seldom_called_worse(tmp_path: Path) -> None:
    lines = nulls.pool("rfc9743", "cubic", tmp_path, 10, ("5.1.3-several", "5.1.4", "7.11"))
    for strict in (False, True):
        said = list(nulls.cards(lines, 20, strict=strict))
        judged = sum(card.lines for card in said)
        assert judged == 20 * len(lines)
        assert sum(len(card.worse) for card in said) <= judged / 20, (strict, said)
        # The seeds do differ, or the null would show nothing.
        subject = lines[0].settings[0].subject
        assert len({*subject.values}) > 1
