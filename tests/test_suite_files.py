"""Suites as files that users copy and change, and cards as files that others read."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from cclab import evaluation
from cclab.cli.main import invoke
from cclab.errors import InputError, StudyError
from cclab.evaluation import judge, runs
from cclab.evaluation.evidence import Sample, Subject
from cclab.evaluation.schema import Criterion

DEAF = Path(__file__).parent / "variants" / "deaf.c"

VERSIONS = {
    "aqm": (4, "3f5f7dfe73e33253dfba6039e035d64925fe8a3a02355a13395d4d6f4afe2741"),
    "bbr": (8, "c2bc0ff7a4fe6a43305725615e827c2bd40c63214c393d141cfd84601ab74097"),
    "c4": (6, "9eea3682c4c06cdb2ea3e184ca583b2d5a22e75e24a4217cc104919805bdce06"),
    "l4s": (3, "777cbb8a9513d7c55730ce9e237c3e3c79d193eaf2966084a0ac91aed9c90a25"),
    "nsperf": (8, "d9199db796b9f94d99a3f02074f2bd9adfadcef762b41ca47f41f7f05a23ff7b"),
    "prudentia": (3, "4f2375936bc4ed5dfc950863a4939f469938b68ecb8d409b3a275ece2be5cab9"),
    "rfc9743": (7, "2edeb05d85031519796e27ca1e37754f1cedbb90f5a14ca6f1994b8a01b4cf64"),
    "tcpeval": (4, "5d53109a03cbe565f881d370d13c249d8ae7f601062036c9250e0459303d7284"),
    "transperf": (3, "f9e40dd70203ef9a78a92bc99d3a6489cccf6745c3909f23fc02fa089f327b52"),
}
"""Each suite's version, and what it is the version of: the digest of its files, but for the number
of the version."""

CARDS = Path(__file__).parents[1] / "docs" / "cards"

STUDY = """
duration = "5s"

[network.bottleneck]
rate  = "5Mbit"
queue = { limit = "1bdp" }

[[flow]]
name  = "x"
rtt   = "40ms"
start = { at = "0s", spread = "1s" }

[sweep]
"flow.x.cc"                 = ["cubic"]
"network.bottleneck.queue.kind" = ["droptail", "codel"]
"""

SUITE = """
title     = "A suite"
source    = "this test"
version   = 1
standards = ["cubic", "reno"]
despite   = ["bottleneck-not-full", "too-few-loss-cycles", "no-congestion-signal",
             "too-few-round-trips"]

[[scenario]]
name    = "alone"
title   = "One flow"
study   = "alone.toml"
subject = ["flow.x.cc"]
repeat  = 3
despite = ["not-converged"]

[[criterion]]
id         = "goodput"
clause     = "5.1"
obligation = "MUST"
text       = "fills the link"
scenario   = "alone"
measure    = "goodput"
value      = "goodput_bps"
flow       = "x"
unit       = "bit/s"
better     = "higher"
margin     = 0.3
"""


def written(folder: Path, suite: str = SUITE, study: str = STUDY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.toml").write_text(suite)
    (folder / "alone.toml").write_text(study)
    return folder


@pytest.mark.parametrize("name", sorted(VERSIONS))
def test_a_suite_that_changed_has_another_version(name: str) -> None:
    version, digest = VERSIONS[name]
    suite = evaluation.load(name)
    assert (suite.says.version, suite.sha256) == (version, digest), (
        f"suite {name} is not what it was at version {version}: where a scenario, a criterion or a "
        "margin changed, raise its version; then write version and digest here"
    )


@pytest.mark.parametrize("card", sorted(CARDS.glob("[a-z]*.md")), ids=lambda card: str(card.stem))
def test_cards_are_by_the_suites_as_they_are(card: Path) -> None:
    told = re.search(r"Suite (\w+), version (\d+), .*SHA-256 (\w+)", card.read_text())
    assert told is not None
    name, version, digest = told.groups()
    assert (int(version), digest) == VERSIONS[name], "make it anew (docs/cards/README.md)"


@pytest.mark.parametrize("name", ["rfc9743", "nsperf"])
def test_no_flow_is_held_back_by_its_buffers_where_no_line_lets_that_pass(name: str) -> None:
    """What a path and its queue hold, a sender that fills them has in its send buffer, and its
    receiver has room for."""
    suite = evaluation.load(name)
    subject = Subject("cubic", "cubic", "cubic", None)
    doubt = "limited-by-sndbuf"
    planned = runs.plan(
        suite,
        subject,
        suite.says.standards,
        Path("nowhere"),
        quick=False,
        backend=None,
        repeat=1,
        seed=None,
    )
    for each in planned:
        lets_pass = {*suite.says.despite, *each.scenario.despite}
        lets_pass |= {code for c in suite.criteria(each.scenario.name) for code in c.despite}
        if each.refusals or doubt in lets_pass or "limited-by-rwnd" in lets_pass:
            continue
        for run in each.plan.runs:
            network = run.scenario["network"]
            link = network["bottleneck"]
            limit = link["queue"]["limit"].get("bytes")
            if network["topology"] != "dumbbell" or limit is None or link["rate"] is None:
                continue
            flows = run.scenario["flows"]
            bulk = [flow for flow in flows if "sndbuf" in flow and flow["transfer"] is None]
            for flow in bulk:
                way = flow["extra_delay"] + link["delay"] + 2 * network["access"]["delay"]
                held = limit + link["rate"] / 8 * 2 * way / 1e9
                # Some flows share what is held.
                told = (each.scenario.name, run.id, flow["name"], held)
                assert (flow["sndbuf"] or 4 << 20) >= held / len(bulk), told
                assert (flow["rwnd"] or 6 << 20) >= held / len(bulk), told


def test_a_clause_is_no_other_that_begins_so(tmp_path: Path) -> None:
    criterion = SUITE[SUITE.index("[[criterion]]") :]
    ids = ("7.1-goodput", "7.1.2-goodput", "7.11-goodput", "7.11-delay")
    criteria = "".join(criterion.replace('"goodput"\nclause', f'"{n}"\nclause') for n in ids)
    folder = written(tmp_path / "own", SUITE.replace(criterion, criteria))

    def lines(only: str) -> list[str]:
        card = evaluation.evaluate("cubic", suite=folder, only=[only], out=tmp_path / "out")
        return [line.criterion.id for line in card.lines]

    assert lines("7.1") == ["7.1-goodput", "7.1.2-goodput"]
    assert lines("7.11") == ["7.11-goodput", "7.11-delay"]
    # Where no clause is called so, the characters decide.
    assert lines("7.11-del") == ["7.11-delay"]
    with pytest.raises(InputError, match=r"did you mean 7\.11-delay\?"):
        lines("7.11-dleay")


def test_every_suite_has_its_version_here() -> None:
    assert {path.parent.name for path in evaluation.file.SHIPPED.glob("*/suite.toml")} == {
        *VERSIONS
    }


@pytest.mark.parametrize(
    ("before", "after", "where", "problem"),
    [
        ('"goodput"\nclause', '"../../x"\nclause', "18:1", "it names a file"),
        ('name    = "alone"', 'name    = "../leak"', "10:1", "it names a file"),
        ('scenario   = "alone"', 'scenario   = "alon"', "22:1", "did you mean 'alone'?"),
        ('name    = "alone"', 'name    = "figures"', "10:1", "a folder of its own"),
        ('["not-converged"]', '["not-convergd"]', "15:1", "did you mean 'not-converged'?"),
        ('["bottleneck-not-full"', '["x"', "6:1", "no warning is called 'x'; docs/metrics.md"),
        ('"MUST"', '"WILL"', "20:1", "no value 'WILL'; there are 'MUST', 'SHOULD'"),
        ("repeat  = 3", "repeat  = 0", "14:1", "0 runs of a setting show nothing"),
        ("repeat  = 3", 'repeat  = "three"', "14:1", "this is a text and is to be a whole number"),
        ('measure    = "goodput"\n', "", "17:1", "`measure` is missing"),
        (
            'scenario   = "alone"',
            'scenario   = "alone"\nat         = { "network.bottleneck.queue.kind" = "red" }',
            "23:1",
            "has no setting with network.bottleneck.queue.kind = red; it has "
            "network.bottleneck.queue.kind = droptail, network.bottleneck.queue.kind = codel",
        ),
    ],
)
def test_wrong_suites_are_refused_before_any_run(
    tmp_path: Path, before: str, after: str, where: str, problem: str
) -> None:
    assert before in SUITE
    folder = written(tmp_path / "own", SUITE.replace(before, after, 1))
    with pytest.raises(StudyError) as raised:
        evaluation.evaluate("cubic", suite=folder, out=tmp_path / "out")
    assert f"suite.toml:{where}" in str(raised.value)
    assert problem in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_setting_that_the_short_form_leaves_out_is_not_evaluated(tmp_path: Path) -> None:
    short = """quick   = { set = ['sweep.network.bottleneck.queue.kind=["droptail"]'] }
despite = ["not-converged"]"""
    text = SUITE.replace('despite = ["not-converged"]', short).replace(
        'scenario   = "alone"',
        'scenario   = "alone"\nat         = { "network.bottleneck.queue.kind" = "codel" }',
    )
    folder = written(tmp_path / "own", text)
    card = evaluation.evaluate("cubic", suite=folder, quick=True, out=tmp_path / "out")
    [line] = card.lines
    assert (line.verdict, line.unavailable) == ("not evaluated", "the short form leaves it out")


def test_a_card_names_the_lines_that_the_short_form_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = SUITE[SUITE.index("[[scenario]]") : SUITE.index("[[criterion]]")]
    line = SUITE[SUITE.index("[[criterion]]") :]
    skipped = scenario.replace("repeat  = 3", "quick   = { skip = true }").replace(
        '"alone"', '"fast"'
    )
    suite = SUITE + skipped
    for name in ("fast-goodput", "fast-again"):
        suite += line.replace('"goodput"', f'"{name}"', 1).replace('"alone"', '"fast"')
    suite += """
[[absent]]
id         = "9.9"
clause     = "9.9"
obligation = "MUST"
text       = "is explained"
why        = "a duty of the document"
"""
    folder = written(tmp_path / "own", suite)
    words = ["evaluate", "bbr", "--suite", str(folder), "--quick", "--out", str(tmp_path / "out")]
    invoke(words)
    remark = (
        "The short form leaves out 2 lines: fast-goodput, fast-again; the full form (without "
        "--quick) judges them."
    )
    said = " ".join(capsys.readouterr().out.split())
    assert remark in said
    assert "as the suite has no line for it: 9.9;" in said
    for name in ("index.html", "card.md"):
        assert remark in (tmp_path / "out" / name).read_text()


def test_settings_that_a_backend_does_not_do_leave_the_others(tmp_path: Path) -> None:
    """Of two disciplines, the kernel's network of its own has one."""
    study = STUDY.replace('"codel"]', '"adaptive-red"]').replace('"5Mbit"', '"5Mbit"')
    folder = written(tmp_path / "own", study=study)
    loaded = evaluation.load(folder)
    subject = evaluation._subject("cubic")
    [planned] = evaluation.runs.plan(
        loaded,
        subject,
        ["cubic", "reno"],
        tmp_path / "out",
        quick=False,
        backend="netns",
        repeat=None,
        seed=None,
    )
    assert [p.params["network.bottleneck.queue.kind"] for p in planned.plan.points] == [
        "droptail"
    ] * 2
    assert not planned.refusals
    [left_out] = planned.left_out
    assert left_out.params == {"network.bottleneck.queue.kind": "adaptive-red"}
    assert "adaptive-red" in left_out.why
    assert str(tmp_path) not in left_out.why


def test_a_changed_copy_of_a_standard_stands_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "tcp_cubic.c"
    text = DEAF.read_text()
    [name] = [line for line in text.splitlines() if ".name" in line]
    file.write_text(text.replace(name, '\t.name = "cubic",'))
    folder = written(tmp_path / "own")
    card = evaluation.evaluate(str(file), suite=folder, against="cubic", out=tmp_path / "out")
    [line] = card.lines
    variants = {sample.variant for sample in line.settings[0].samples}
    assert variants == {"cubic of tcp_cubic.c", "cubic"}
    told = (card.folder / "card.md").read_text()
    assert told.startswith("# cubic of tcp_cubic.c: A suite\n")
    assert evaluation.load(folder).sha256 in told
    assert str(card.subject.sha256) in told
    picture = (card.folder / "figures" / "goodput.svg").read_text()
    assert "cubic of tcp_cubic.c" in picture


def test_a_suite_called_as_another_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "suites" / "transperf")
    card = evaluation.evaluate("reno", suite="transperf", out=tmp_path / "out")
    suite, standard = card.remarks
    assert suite == (
        "The suite is that of suites/transperf, not the one called so that comes with cclab."
    )
    assert standard == "reno is one of the standards, and so no worse than standard."
    for name in ("index.html", "card.md"):
        told = (card.folder / name).read_text()
        assert suite in told
        assert standard in told


def test_a_standard_alone_beside_itself_is_not_evaluated(tmp_path: Path) -> None:
    text = SUITE.replace('["cubic", "reno"]', '["cubic"]')
    card = evaluation.evaluate("cubic", suite=written(tmp_path / "own", text), out=tmp_path / "out")
    [line] = card.lines
    assert line.verdict == "not evaluated"
    assert "itself alone" in line.unavailable


def test_an_earlier_card_is_not_overwritten_by_the_name_of_its_file(tmp_path: Path) -> None:
    folder = written(tmp_path / "own")
    evaluation.evaluate("reno", suite=folder, out=tmp_path / "out")
    before = (tmp_path / "out" / "card.json").read_bytes()
    for named in (tmp_path / "out", tmp_path / "out" / "card.json"):
        with pytest.raises(InputError, match="where this card is written to"):
            evaluation.evaluate("reno", suite=folder, out=tmp_path / "out", since=named)
    assert (tmp_path / "out" / "card.json").read_bytes() == before


def test_cards_of_suites_that_differ_cannot_be_compared(tmp_path: Path) -> None:
    folder = written(tmp_path / "own")
    evaluation.evaluate("reno", suite=folder, out=tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "before")
    written(folder, SUITE.replace("0.3", "0.4"))
    with pytest.raises(InputError, match="`suite_sha256` is"):
        evaluation.evaluate("reno", suite=folder, out=tmp_path / "out", since=tmp_path / "before")


def test_a_fault_of_a_line_that_the_earlier_card_lacks_is_told(tmp_path: Path) -> None:
    bound = SUITE[SUITE.index("[[criterion]]") :].replace("margin     = 0.3", "above      = 1e9")
    folder = written(tmp_path / "own", SUITE + bound.replace('"goodput"', '"rate"', 1))
    evaluation.evaluate("reno", suite=folder, only="goodput", out=tmp_path / "out")
    before = tmp_path / "out" / "only" / "goodput"
    card = evaluation.evaluate("reno", suite=folder, since=before, out=tmp_path / "out")
    assert not card.met
    [rate] = [change for change in card.changes or [] if change.id == "rate"]
    assert (rate.before, rate.now, rate.worse) == ("not on the card", "fails", True)


def test_junit_is_xml_whatever_a_folder_is_called(tmp_path: Path) -> None:
    folder = written(tmp_path / "su\x01ite\ufffe")
    card = evaluation.evaluate("reno", suite=folder, out=tmp_path / "out")
    root = ElementTree.parse(card.folder / "junit.xml").getroot()
    assert root.get("tests") == "1"


def test_settings_that_prove_a_fault_are_counted_among_those_tested() -> None:
    """Four of five settings were doubted: the fifth is not corrected for them, and is told."""
    criterion = Criterion(
        id="c",
        clause="1",
        obligation="MUST",
        text="keeps the bound",
        scenario="s",
        measure="m",
        value="x",
        better="lower",
        below=0.0,
    )
    values = [0.6, 1.4, 0.8, 1.2, -0.1]
    settings = []
    for nth in range(5):
        doubts = () if nth == 4 else ("limited-by-rwnd",)
        sample = Sample("x", [1, 2, 3, 4, 5], [*values], ["r"] * 5, doubts=doubts)
        settings.append(judge.at_setting(criterion, {"n": nth}, sample, []))
    [line] = judge.corrected([judge.line(criterion, settings)])
    assert 0.01 < (line.bound_p or 0) < 0.05
    assert line.verdict == "fails"
    assert [setting.params for setting in line.deciding] == [{"n": 4}]
