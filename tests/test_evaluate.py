"""`cclab evaluate`: cards, what they say, and how they are told."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import cclab
import small_suite
from cclab import evaluation
from cclab.cli.exits import DONE, EXPECTATION_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError
from cclab.evaluation.evidence import Subject

ROOT = Path(__file__).parents[1]
DEAF = ROOT / "tests" / "variants" / "deaf.c"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_suite.write(tmp_path_factory.mktemp("suite") / "small")


@pytest.fixture(scope="module")
def cubic(suite: Path) -> cclab.Card:
    return evaluation.evaluate("cubic", suite=suite, out=suite.parent / "cubic")


@pytest.fixture(scope="module")
def deaf(suite: Path) -> cclab.Card:
    return evaluation.evaluate(str(DEAF), suite=suite, out=suite.parent / "deaf")


def test_a_standard_is_no_worse_than_standard(cubic: cclab.Card) -> None:
    verdicts = {line.criterion.id: line.verdict for line in cubic.lines}
    assert verdicts == {"loss": "no worse than standard", "rival": "no worse than standard"}
    assert cubic.met
    loss = cubic.line("loss")
    assert len(loss.settings) == 2
    for setting in loss.settings:
        itself, reno = setting.besides
        assert itself.difference is not None
        assert itself.difference.mean == 0.0
        assert itself.p is not None
        assert itself.p > 0.99
        assert reno.standard.variant == "reno"
        assert reno.standard.values != setting.subject.values
    assert cubic.counts["not evaluated"] == 1


def test_a_sender_that_hears_nothing_is_worse_than_standard(deaf: cclab.Card) -> None:
    assert not deaf.met
    assert [line.criterion.id for line in deaf.faults] == ["loss", "rival"]
    loss = deaf.line("loss")
    assert loss.verdict == "worse than standard"
    assert loss.q is not None
    assert loss.q < 0.01
    assert deaf.line("rival").verdict == "fails"
    assert deaf.subject.name == "deaf"
    # What the suite lets pass is told.
    passed = loss.let_pass
    assert passed
    assert all(f" {code}" in (deaf.folder / "card.md").read_text() for code in passed)
    assert f"lets pass the warnings {', '.join(passed)}" in (deaf.folder / "index.html").read_text()
    # A card can be sent around: it has no path of this machine but what the user wrote.
    assert str(DEAF) not in json.dumps(deaf.document()["lines"])


def test_the_document_is_as_described_and_the_same_each_time(
    suite: Path, cubic: cclab.Card, deaf: cclab.Card
) -> None:
    schema = json.loads((ROOT / "docs" / "scorecard.schema.json").read_text())
    for card in (cubic, deaf):
        jsonschema.validate(card.document(), schema)
        written = (card.folder / "card.json").read_text()
        assert json.loads(written) == json.loads(json.dumps(card.document()))
    before = (cubic.folder / "card.json").read_bytes()
    started: list[object] = []
    evaluation.evaluate("cubic", suite=suite, out=cubic.folder, listener=started.append)
    assert started == []  # Nothing was run.
    assert (cubic.folder / "card.json").read_bytes() == before


def test_a_card_is_told_in_four_forms(deaf: cclab.Card) -> None:
    root = ElementTree.parse(deaf.folder / "junit.xml").getroot()
    assert root.attrib["failures"] == "2"
    assert [case.attrib["name"] for case in root] == ["loss", "rival"]
    table = (deaf.folder / "card.md").read_text()
    assert "**worse than standard**" in table
    assert "nobody can measure it \\| or could" in table
    page = (deaf.folder / "index.html").read_text()
    assert "worse than standard" in page
    assert "p-value of breaking the bound, adjusted likewise: " in page
    assert "<svg" in page
    assert sorted(f.name for f in (deaf.folder / "figures").iterdir()) == ["loss.svg", "rival.svg"]


def test_the_command_ends_with_1_where_a_line_is_worse(
    suite: Path, deaf: cclab.Card, cubic: cclab.Card, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", str(DEAF), "--suite", str(suite), "--out", str(deaf.folder)]
    assert invoke([*words, "--json"]) == EXPECTATION_FAILED
    printed = json.loads(capsys.readouterr().out)
    assert printed["counts"]["fails"] == 1
    words = ["evaluate", "cubic", "--suite", str(suite), "--out", str(cubic.folder)]
    assert invoke(words) == DONE
    said = capsys.readouterr().out
    assert "no worse than standard" in said
    assert invoke([*words, "--only", "lo", "--json"]) == DONE
    assert [line["id"] for line in json.loads(capsys.readouterr().out)["lines"]] == ["loss"]
    assert invoke([*words, "--only", "nope"]) == WRONG_INPUT
    assert "it has loss, rival" in capsys.readouterr().err


def test_what_became_worse_since_an_earlier_card_is_told(
    suite: Path, cubic: cclab.Card, deaf: cclab.Card, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", str(DEAF), "--suite", str(suite), "--out", str(deaf.folder)]
    # The newest card takes the place of the one to compare with: the next time all would be well.
    assert invoke([*words, "--since", str(deaf.folder)]) == WRONG_INPUT
    assert "is where this card is written to" in capsys.readouterr().err
    kept = suite.parent / "kept"
    shutil.copytree(deaf.folder, kept)
    # As bad as before is not worse than before.
    assert invoke([*words, "--since", str(kept)]) == DONE
    assert "of 2 lines in both, none became worse" in capsys.readouterr().out
    cases = ElementTree.parse(deaf.folder / "junit.xml").getroot()
    assert cases.attrib["failures"] == "0"
    assert invoke([*words, "--since", str(cubic.folder)]) == EXPECTATION_FAILED
    said = capsys.readouterr().out
    assert "worse than before: loss" in said
    cases = ElementTree.parse(deaf.folder / "junit.xml").getroot()
    assert int(cases.attrib["failures"]) == len(cases.findall(".//failure")) > 0
    # Cards of more seeds are compared by those of both.
    assert invoke([*words, "--repeat", "5", "--since", str(cubic.folder)]) == EXPECTATION_FAILED
    # The card of the suite's own seeds again.
    assert invoke(words) == EXPECTATION_FAILED
    capsys.readouterr()
    again = evaluation.evaluate("cubic", suite=suite, out=cubic.folder, since=deaf.folder)
    assert again.met
    assert again.changes is not None
    assert [change.worse for change in again.changes] == [False, False]


def test_cards_of_other_suites_are_not_compared(suite: Path, cubic: cclab.Card) -> None:
    quick = suite.parent / "quick"
    with pytest.raises(InputError, match="quick"):
        evaluation.evaluate("cubic", suite=suite, quick=True, out=quick, since=cubic.folder)
    with pytest.raises(InputError, match=r"no card to compare with.*there are cards in .*cubic"):
        evaluation.evaluate("cubic", suite=suite, out=quick, since=cubic.folder.parent)
    assert not quick.exists(), "a wrong card is known before hours of runs"


def test_a_card_of_some_lines_leaves_the_whole_one(suite: Path, cubic: cclab.Card) -> None:
    before = (cubic.folder / "card.json").read_bytes()
    some = evaluation.evaluate("cubic", suite=suite, out=cubic.folder, only="loss")
    assert some.folder == cubic.folder / "only" / "loss"
    assert (cubic.folder / "card.json").read_bytes() == before
    assert '<a href="../../two/">' in (some.folder / "index.html").read_text()


def test_the_lines_of_a_suite_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["list", "suites", "rfc9743", "--json"]) == DONE
    listed = json.loads(capsys.readouterr().out)["suites"]
    says = evaluation.load("rfc9743").says
    assert [line["id"] for line in listed] == [criterion.id for criterion in says.criterion]
    assert invoke(["list", "suites", "rfc9743"]) == DONE
    told = capsys.readouterr().out.splitlines()
    first = listed[0]
    assert told[0].split(maxsplit=1) == [first["id"], first["text"]]
    assert told[1].split() == ["clause:", first["clause"]]
    assert invoke(["list", "suites", "nosuch"]) == WRONG_INPUT
    assert "no suite 'nosuch'" in capsys.readouterr().err


def test_a_case_that_waits_for_a_phase_is_not_evaluated_of_who_tells_none() -> None:
    for variant, refused in [
        ("bbr3", set()),
        ("bbr", {"down-time", "cruise-batches", "probe-loss"}),
        ("reno", {"drain-time", "down-time", "cruise-batches", "probe-loss"}),
    ]:
        loaded = evaluation.load("bbr")
        planned = evaluation.runs.plan(
            loaded,
            Subject(variant, variant, variant, None),
            loaded.says.standards,
            Path("nowhere"),
            quick=True,
            backend=None,
            repeat=None,
            seed=None,
        )
        assert {each.scenario.name for each in planned if each.refusals} == refused


def test_every_suite_that_comes_along_can_be_planned() -> None:
    shipped = {
        *("rfc9743", "nsperf", "c4", "bbr", "aqm", "tcpeval", "transperf", "prudentia"),
        "l4s",
    }
    assert shipped <= set(evaluation.names())
    for name in evaluation.names():
        loaded = evaluation.load(name)
        # Cases of BBR's draft wait for phases that only its own version tells.
        variant = "bbr3" if name == "bbr" else "bbr"
        subject = Subject(variant, variant, variant, None)
        for quick in (False, True):
            planned = evaluation.runs.plan(
                loaded,
                subject,
                loaded.says.standards,
                Path("nowhere"),
                quick=quick,
                backend=None,
                repeat=None,
                seed=None,
            )
            evaluation.runs.check(loaded, planned, quick=quick)
            for each in planned:
                assert each.refusals == []
                swept = each.plan.points[0].params
                for criterion in loaded.criteria(each.scenario.name):
                    assert set(criterion.at) <= set(swept), criterion.id
                for key, _, value in (word.partition("=") for word in each.scenario.set):
                    # A discipline that a scenario sets is not replaced by a sweep below it.
                    assert "kind =" not in value or f"{key}.kind" not in swept, each.scenario.name


PHASES = """
title    = "A flow whose phases are asked for"
duration = "4s"
trace    = { interval = "20ms", events = ["state"] }

[network.bottleneck]
rate     = "10Mbit"
queue    = { limit = "2bdp" }

[[flow]]
name  = "x"
rtt   = "40ms"
start = { at = "0s", spread = "100ms" }

[sweep]
"flow.x.cc" = ["bbr3"]
"""

WAITING = """
[[network.bottleneck.schedule]]
when = { flow = "x", column = "phase", is = "probe_bw_down", nth = 1 }
loss = "1%"
"""

ASKING = """
title     = "What a variant tells"
source    = "this test"
version   = 1
standards = ["bbr3"]
despite   = ["too-few-loss-cycles", "no-congestion-signal", "too-few-round-trips"]

[[scenario]]
name    = "phases"
title   = "Phases"
study   = "phases.toml"
subject = ["flow.x.cc"]
repeat  = 2

[[scenario]]
name    = "waiting"
title   = "A change that waits"
study   = "waiting.toml"
subject = ["flow.x.cc"]
repeat  = 2

[[criterion]]
id         = "startup"
clause     = "1"
obligation = "own"
text       = "is once in Startup, and in no phase of version 1"
scenario   = "phases"
measure    = "the phase's place"
value      = '''states("SELECT nth FROM phases WHERE phase IN ('startup', 'probe_bw')")'''
flow       = "x"
better     = "lower"
below      = 1.0

[[criterion]]
id         = "waiting"
clause     = "2"
obligation = "own"
text       = "carries something though the loss begins"
scenario   = "waiting"
measure    = "goodput"
value      = "goodput_bps"
flow       = "x"
unit       = "bit/s"
better     = "higher"
above      = 1.0
"""


def test_a_line_that_its_runs_no_longer_tell_is_told_since_an_earlier_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "asking"
    suite.mkdir()
    (suite / "phases.toml").write_text(PHASES)
    (suite / "waiting.toml").write_text(PHASES.replace("\n[[flow]]", f"{WAITING}\n[[flow]]"))
    (suite / "suite.toml").write_text(ASKING)
    words = ["--suite", str(suite), "--out"]
    earlier = tmp_path / "bbr3"
    invoke(["evaluate", "bbr3", *words, str(earlier)])
    then = json.loads((earlier / "card.json").read_text())
    assert "not evaluated" not in {line["verdict"] for line in then["lines"]}
    said = capsys.readouterr().err
    assert "2 scenarios, 4 runs: " in said
    assert " on idle processors, up to " in said
    # The rest by what the first took.
    assert " left in all" not in said.partition("2 of 2: ")[0]
    assert " left in all" in said.partition("2 of 2: ")[2]

    def since(variant: str) -> dict[str, dict[str, Any]]:
        out = tmp_path / variant
        said = ["evaluate", variant, *words, str(out), "--since", str(earlier)]
        assert invoke(said) == EXPECTATION_FAILED
        assert "no longer evaluated: startup: " in capsys.readouterr().out
        (failed,) = ElementTree.parse(out / "junit.xml").getroot().findall(".//failure")
        assert failed.attrib["message"] == "no longer evaluated"
        assert "<tr><td>startup</td>" in (out / "index.html").read_text().replace("\n", "")
        now = json.loads((out / "card.json").read_text())
        schema = json.loads((ROOT / "docs" / "scorecard.schema.json").read_text())
        jsonschema.validate(now, schema)
        return {change["id"]: change for change in now["since"]}

    # Its runs give an error; and a state that is told no more is lost, too.
    for variant, why in (("bbr", "asks for one value"), ("reno", "tells no")):
        changes = since(variant)
        assert changes["startup"]["lost"], changes
        assert not changes["startup"]["worse"]
        assert why in changes["startup"]["why"]
        # What cannot be run is no error.
        assert changes["waiting"]["now"] == "not evaluated"
        assert not changes["waiting"]["lost"]


def test_a_scenario_that_a_variant_cannot_do_is_on_a_card_though_it_is_the_only_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copa sets its window itself, and has none that it could remember."""
    words = ["evaluate", "copa", "--suite", "c4", "--quick", "--only", "satellite-resume"]
    assert invoke([*words, "--out", str(tmp_path), "--json"]) == DONE
    card = json.loads(capsys.readouterr().out)
    assert [line["id"] for line in card["lines"]] == ["satellite-resume", "satellite-resume-rtt"]
    for line in card["lines"]:
        assert line["verdict"] == "not evaluated"
        assert "what copa remembers, which sets its window itself" in line["why"]
    assert (tmp_path / "only" / "satellite-resume" / "card.json").is_file()


def test_an_estimate_counts_on_as_many_processors_as_jobs(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []

    def seconds_of_all(runs: list[object], backend: object, cpus: int) -> float:
        counted.append(cpus)
        return 1.0

    monkeypatch.setattr("cclab.cli.evaluate.estimate.seconds_of_all", seconds_of_all)
    monkeypatch.setattr("cclab.machine.cpus", lambda: 4)
    words = ["evaluate", "cubic", "--suite", str(suite), "--quick", "--out", str(tmp_path)]
    for jobs in ("1", "9"):
        assert invoke([*words, "--jobs", jobs]) in (DONE, EXPECTATION_FAILED)
    assert counted == [1, 4]
