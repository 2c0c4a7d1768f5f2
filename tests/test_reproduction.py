"""Published studies run again: the file, the checks, the verdicts, the pages."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import cclab
from cclab import reproduction
from cclab.cli.exits import DONE, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import StoreError
from cclab.measure.stats import estimate
from cclab.quantities import expressions
from cclab.quantities.names import evaluated
from cclab.reproduction import page, printed
from cclab.reproduction.printed import Cell
from cclab.reproduction.schema import Column
from conftest import STUDY, files_of

if TYPE_CHECKING:
    from cclab.reproduction import Reproduced

PUBLISHED = """\
variant,goodput_Mbps
reno,5.0
cubic,
"""

FILE = """\
title    = "Two flows, published"
source   = "nobody"
question = "Who gets more?"

[[experiment]]
name   = "pair"
study  = "study.toml"
repeat = { sim = 3 }
short  = { repeat = 1, set = ["duration=1s"] }
[experiment.rows]
data  = ["published.csv"]
point = { "flow.short.cc" = "{variant}" }
flow  = "short"

[[table]]
name       = "goodput"
title      = "Goodput"
experiment = "pair"
label      = ["variant"]
columns    = [
  { title = "goodput (Mbit/s)", printed = "goodput_Mbps", ours = "goodput_bps / 1e6" },
  { title = "twice", ours = "2 * goodput_bps / 1e6" },
]

[[figure]]
name       = "bars"
title      = "Goodput of both"
experiment = "pair"
kind       = "bars"
x          = "flow.short.cc"
series     = ["flow"]
published  = { x = "variant", y = "goodput_Mbps" }

[[figure]]
name       = "flight"
title      = "Outstanding data"
experiment = "pair"
kind       = "over-time"
y          = "in_flight / 1e3"
ylabel     = "outstanding (kB)"

[[claim]]
id         = "short-wins"
text       = "The flow with the shorter RTT gets more."
experiment = "pair"
each       = { "flow.short.cc" = ["reno", "cubic"] }
terms.short = { flow = "short", value = "goodput_bps" }
terms.long  = { flow = "long", value = "goodput_bps" }
value      = "short / long"
above      = 1.0

[[claim]]
id         = "long-wins"
text       = "The flow with the longer RTT gets more."
experiment = "pair"
terms.short = { flow = "short", value = "goodput_bps", along = "flow.short.cc" }
terms.long  = { flow = "long", value = "goodput_bps", along = "flow.short.cc" }
value      = "max(short / long)"
below      = 1.0

[[claim]]
id         = "window"
text       = "The window decides."
experiment = "pair"
terms.short = { flow = "short", value = "goodput_bps" }
value      = "short"
above      = 0
[[claim.needs]]
text       = "held by the window"
terms.w    = { flow = "short", value = "limited_rwnd" }
value      = "w"
above      = 0.5

[[suspicion]]
id           = "full"
text         = "The link is never full."
experiment   = "pair"
checks       = [ { terms.u = { value = "bottleneck_utilization" }, value = "u", below = 0.5 } ]
if_confirmed = "nothing is shared"
if_refuted   = "the flows share a full link"
"""


def folder(tmp_path: Path, file: str = FILE) -> Path:
    """A published study of two sweep points."""
    made = tmp_path / "studies" / "pair"
    made.mkdir(parents=True)
    (made / "study.toml").write_text(STUDY)
    (made / "published.csv").write_text(PUBLISHED)
    (made / "reproduction.toml").write_text(file)
    return made


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """A small published study, run again; the tests that share it only read."""
    at = tmp_path_factory.mktemp("published")
    return cclab.reproduce(folder(at), out=at / "out")


SWITCH = """\
title    = "A flow with and without ECN"
source   = "nobody"
question = "What does it get?"

[[experiment]]
name   = "alone"
study  = "study.toml"
repeat = { sim = 1 }
set    = ["flow.short.cc=cubic", "sweep.flow.short.ecn=[true, false]"]
[experiment.rows]
data  = ["published.csv"]
point = { "flow.short.ecn" = "{ecn}" }
flow  = "short"

[[table]]
name       = "goodput"
title      = "Goodput"
experiment = "alone"
label      = ["ecn"]
columns    = [
  { title = "goodput (Mbit/s)", printed = "goodput_Mbps", ours = "goodput_bps / 1e6" },
]
"""


def test_a_printed_row_finds_the_point_of_a_switch(tmp_path: Path) -> None:
    made = folder(tmp_path, SWITCH)
    (made / "published.csv").write_text("ecn,goodput_Mbps\ntrue,5.0\nfalse,4.0\n")
    (table,) = cclab.reproduce(made, out=tmp_path / "out").tables
    assert [row.labels for row in table.rows] == [["true"], ["false"]]
    assert all(cell.ours is not None for row in table.rows for cell in row.cells)


def test_printed_numbers_stand_beside_ours(done: Reproduced) -> None:
    (table,) = done.tables
    assert [row.labels for row in table.rows] == [["reno"], ["cubic"]]
    first, twice = table.rows[0].cells
    ours = done.results("pair").flows.filter(flow_short_reno())["goodput_bps"].mean()
    assert isinstance(ours, float)
    assert first.printed == 5.0
    assert first.ours is not None
    assert twice.ours is not None
    assert first.ours.mean == pytest.approx(ours / 1e6)
    assert first.ours.n == 3
    assert first.difference == pytest.approx(ours / 5e6 - 1)
    assert twice.ours.mean == pytest.approx(2 * ours / 1e6)
    assert table.compared == [first.difference], "an empty cell is compared with nothing"


def flow_short_reno() -> pl.Expr:
    return (pl.col("name") == "short") & (pl.col("flow.short.cc") == "reno")


def test_a_claim_holds_where_every_interval_lies_on_its_side(done: Reproduced) -> None:
    verdicts = {judged.subject.id: judged for judged in (*done.claims, *done.suspicions)}
    assert verdicts["short-wins"].verdict == "reproduced"
    assert len(verdicts["short-wins"].outcomes) == 2
    assert verdicts["long-wins"].verdict == "not reproduced"
    assert verdicts["long-wins"].outcomes[0].finding == "fails"
    assert verdicts["window"].verdict == "not supported by its set-up"
    assert verdicts["window"].outcomes[0].finding == "holds"
    assert verdicts["full"].verdict == "refuted"


def test_three_seeds_are_a_preview(done: Reproduced) -> None:
    assert all(judged.seeds == 3 and judged.preview for judged in done.claims)


def test_an_interval_across_the_bound_is_open(tmp_path: Path) -> None:
    even = FILE.replace(
        'value      = "short / long"\nabove      = 1.0',
        'value      = "short / long"\nabove      = MEAN',
    )
    out = tmp_path / "out"
    before = cclab.reproduce(folder(tmp_path / "a"), out=out).claims[0].outcomes
    assert before[0].estimate is not None
    mean = before[0].estimate.mean
    after = cclab.reproduce(folder(tmp_path / "b", even.replace("MEAN", repr(mean))), out=out)
    assert after.claims[0].outcomes[0].finding == "open"
    assert after.claims[0].verdict == "not reproduced"
    assert not any(one.ran for one in after.done), "what was run is not run again"


def test_the_short_form_gives_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, out = folder(tmp_path), tmp_path / "out"
    done = cclab.reproduce(study, out=out, short=True)
    judged = [*done.claims, *done.suspicions]
    assert len(judged) > 2
    assert {one.verdict for one in judged} == {"no verdict"}
    assert {o.finding for one in judged for o in (*one.outcomes, *one.needs)} == {"not judged"}
    assert any(outcome.estimate is not None for one in judged for outcome in one.outcomes)
    assert invoke(["reproduce", str(study), "--short", "--out", str(out)]) == DONE
    told = capsys.readouterr().out
    assert "no verdict" in told
    page = (out / "short" / "pair" / "index.html").read_text()
    document = json.loads((out / "short" / "pair" / "reproduction.json").read_text())
    for word in ("reproduced", "refuted", "confirmed"):
        assert f">{word}" not in page
        assert word not in {one["verdict"] for one in document["claims"] + document["suspicions"]}
        assert f" {word} " not in told
    assert ">no verdict<" in page


def test_a_backend_that_has_nothing_to_do_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, out = folder(tmp_path), tmp_path / "out"
    assert invoke(["reproduce", str(study), "--short", "--out", str(out)]) == DONE
    page_before = (out / "short" / "pair" / "index.html").read_bytes()
    capsys.readouterr()
    again = ["reproduce", str(study), "--short", "--out", str(out), "--backend"]
    assert invoke([*again, "netns"]) == WRONG_INPUT
    told = capsys.readouterr().err
    assert "the short form of pair runs nothing on netns; it runs on sim" in told
    assert invoke([*again, "foo"]) == WRONG_INPUT
    assert "no backend 'foo'" in capsys.readouterr().err
    assert (out / "short" / "pair" / "index.html").read_bytes() == page_before


def test_what_another_backend_has_run_is_kept(tmp_path: Path) -> None:
    both = FILE.replace("repeat = { sim = 3 }", 'repeat = { sim = 3 }\nbackends = ["sim", "linux"]')
    study, out = folder(tmp_path, both), tmp_path / "out"
    cclab.reproduce(study, out=out, backend="sim", short=True)
    published = reproduction.load(study)
    planned = reproduction.runs.plan(published, out, short=True)
    assert [(one.backend, one.whole) for one in planned] == [("sim", True), ("linux", False)]
    assert cclab.reproduce(study, out=out, backend="sim", short=True).backends == ["sim"]


def test_a_value_that_some_seeds_lack_shows_nothing(tmp_path: Path) -> None:
    # Not a number in the second of three seeds: the fraction of its seed is that of no other.
    some = FILE.replace(
        'value      = "short / long"\nabove      = 1.0',
        'value      = "short / max(0, mine - 0.5)"\nabove      = 0.0',
    ).replace(
        'terms.short = { flow = "short", value = "goodput_bps" }\nterms.long',
        'terms.short = { flow = "short", value = "goodput_bps" }\n'
        'terms.mine = { flow = "short", value = "share" }\nterms.long',
        1,
    )
    # A share above one half for all; then below it for all: nothing to divide by.
    for more, finding, n in (("mine - 0.5", "holds", 3), ("mine - 1.5", "open", 0)):
        study = folder(tmp_path / more, some.replace("mine - 0.5", more))
        outcome = cclab.reproduce(study, out=tmp_path / "out").claims[0].outcomes[0]
        assert outcome.finding == finding
        assert (outcome.estimate.n if outcome.estimate else 0) == n


def test_the_short_form_judges_nothing(tmp_path: Path) -> None:
    done = cclab.reproduce(folder(tmp_path), out=tmp_path / "out", short=True)
    assert {o.finding for judged in done.claims for o in judged.outcomes} == {"not judged"}


def test_a_need_that_was_not_run_is_not_met(tmp_path: Path) -> None:
    other = FILE.replace(
        "[[table]]",
        '[[experiment]]\nname = "far"\nstudy = "study.toml"\nbackends = ["linux"]\n\n[[table]]',
        1,
    ).replace('text       = "held by', 'experiment = "far"\ntext       = "held by')
    study = folder(tmp_path, other.replace("above      = 0.5", "above      = -1"))
    done = cclab.reproduce(study, out=tmp_path / "out", backend="sim")
    window = next(judged for judged in done.claims if judged.subject.id == "window")
    assert window.verdict == "not supported by its set-up"
    assert window.why == "what it needs of the set-up was not run"


ENDING = STUDY.replace('rtt  = "20ms"', 'rtt  = "20ms"\ntransfer = "100kB"')


def test_samples_end_with_the_flow(tmp_path: Path) -> None:
    """A flow that is over has not fallen, and its rate is that of its time."""
    study = tmp_path / "ending.toml"
    study.write_text(ENDING)
    point = cclab.run(study, out=tmp_path / "out").points[0]
    ended = point.runs[0].metrics["flows"][0]["ended_s"]
    assert ended < 1.0
    last = evaluated("sample_mean('time', 0, 99)", point, 0, "short")
    assert last < ended
    assert math.isnan(evaluated("recovery_s(1.5, 0.05)", point, 0, "short"))
    rate = evaluated("rate_bps(0, 99)", point, 0, "short")
    assert rate > 0.5 * 8e5 / ended


def test_a_printed_zero_is_compared() -> None:
    column = Column(title="lost")
    assert Cell(column, 0.0, estimate([0.0, 0.0])).difference == 0
    assert Cell(column, 0.0, estimate([1.0, 2.0])).difference == math.inf
    assert Cell(column, None, estimate([1.0])).difference is None
    assert printed.within([0.0, math.inf]) == {0.02: 1, 0.05: 1, 0.1: 1, 0.25: 1}


def test_the_pages_hold_everything_and_load_nothing(done: Reproduced, tmp_path: Path) -> None:
    written = page.write(done, tmp_path)
    html = written.read_text()
    assert written == tmp_path / "pair" / "index.html"
    for text in ("reproduced", "not supported by its set-up", "refuted", "the flows share"):
        assert text in html
    assert html.count("<figure") == 2
    assert "short form" not in html
    assert not re.search(r'(src|href)="https?:', html)
    summary = (tmp_path / "index.html").read_text()
    assert 'href="pair/index.html"' in summary
    document = json.loads((tmp_path / "pair" / "reproduction.json").read_text())
    assert document["schema"] == reproduction.SCHEMA
    assert document["cells"]["sim"]["compared"] == 1
    assert {claim["verdict"] for claim in document["claims"]} == {
        "reproduced",
        "not reproduced",
        "not supported by its set-up",
    }
    rows = (tmp_path / "pair" / "tables" / "goodput-sim.csv").read_text().splitlines()
    assert rows[0].startswith("variant,goodput (Mbit/s) printed,")
    assert rows[1].startswith("reno,5.0,")
    figures = sorted(file.name for file in (tmp_path / "pair" / "figures").iterdir())
    assert figures == ["bars-sim.svg", "flight-sim.svg"]


def test_the_pages_follow_no_link(done: Reproduced, tmp_path: Path) -> None:
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.mkdir()
    (victim / "mine.svg").write_text("mine")
    folder = page.write(done, out).parent
    before = files_of(out)
    for name in ("index.html", f"{folder.name}/index.html", f"{folder.name}/figures/bars-sim.svg"):
        (out / name).unlink()
        (out / name).symlink_to(victim / "mine.svg")
    page.write(done, out)
    assert files_of(victim) == {"mine.svg": b"mine"}
    assert files_of(out) == before
    # What a figures folder leads to was emptied.
    shutil.rmtree(folder / "figures")
    (folder / "figures").symlink_to(victim)
    with pytest.raises(StoreError, match="figures: a link, and no folder; nothing there was"):
        page.write(done, out)
    assert files_of(victim) == {"mine.svg": b"mine"}


def test_the_command_prints_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert invoke(["reproduce", "all", "--short"]) == DONE
    told = capsys.readouterr()
    assert "The flow with the shorter RTT gets more." in told.out
    assert "no verdicts" in told.out
    assert "results/reproduce/short/pair/index.html" in told.err
    assert invoke(["reproduce", "pair", "--short", "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["short"] is True
    (experiment,) = document["experiments"]
    assert experiment["runs_now"] == 0
    assert experiment["runs_timed"] == experiment["runs"] == 2
    assert experiment["wall_s"] > 0


WRONG = {
    "an unknown key": (
        'kind       = "bars"',
        'knd        = "bars"',
        "unknown key `knd`; did you mean `kind`?",
    ),
    "another type": (
        "above      = 1.0",
        'above      = "one"',
        "this is a text and is to be a number",
    ),
    "an unknown term": (
        'value      = "short / long"',
        'value      = "short / lang"',
        "no term is called 'lang'",
    ),
    "an unknown function": (
        'value      = "max(short / long)"',
        'value      = "most(short)"',
        "no function 'most'",
    ),
    "no such experiment": (
        'title      = "Goodput of both"\nexperiment = "pair"',
        'title      = "Goodput of both"\nexperiment = "pear"',
        "no experiment 'pear'",
    ),
    "no such file": (
        'study  = "study.toml"',
        'study  = "studie.toml"',
        "studie.toml: no such file",
    ),
    "no such backend": ("repeat = { sim = 3 }", "repeat = { sum = 3 }", "no backend 'sum'"),
}
"""What is right, what is wrong instead, and what is said about its last line."""

WRONG_SOMEWHERE = {
    "two bounds": (
        "above      = 1.0",
        "above = 1.0\nbelow = 2.0",
        r"toml:\d+:\d+: a check has exactly one",
    ),
    "the same name twice": (
        'id         = "long-wins"',
        'id         = "short-wins"',
        r"toml:\d+:\d+: 2 times a claim called 'short-wins'",
    ),
    "no such flow": (
        'flow = "short", value = "limited_rwnd"',
        'flow = "shirt", value = "limited_rwnd"',
        "no flow is called 'shirt'; there are short, long",
    ),
    "no such metric": (
        '"2 * goodput_bps / 1e6"',
        '"2 * godput_bps"',
        "nothing is called 'godput_bps'",
    ),
    "no such sweep point": (
        'each       = { "flow.short.cc" = ["reno", "cubic"] }',
        'each       = { "flow.short.cc" = ["vegas"] }',
        r"toml:\d+:\d+: .*no sweep point of pair has flow.short.cc = vegas",
    ),
    "a key of each that is not swept": (
        'each       = { "flow.short.cc" = ["reno", "cubic"] }',
        'each       = { "flow.short.c" = ["reno", "cubic"] }',
        r"toml:\d+:\d+: `each`: no experiment of this check sweeps flow.short.c",
    ),
    "a key along which nothing is swept": (
        'terms.long  = { flow = "long", value = "goodput_bps", along = "flow.short.cc" }',
        'terms.long  = { flow = "long", value = "goodput_bps", along = "flow.short.c" }',
        r"toml:\d+:\d+: term long: pair does not sweep flow.short.c; it sweeps flow.short.cc",
    ),
    "a key of a figure": (
        'x          = "flow.short.cc"',
        'x          = "flow.short.c"',
        r"toml:\d+:\d+: figure bars: pair does not sweep flow.short.c",
    ),
    "no such column": (
        'label      = ["variant"]',
        'label      = ["variety"]',
        "no column 'variety'",
    ),
}


def refusal(
    right: str, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[str, Path]:
    assert FILE.count(right) == 1, "the mistake is made in one place"
    study = folder(tmp_path, FILE.replace(right, wrong))
    assert invoke(["reproduce", str(study), "--out", str(tmp_path / "out")]) == WRONG_INPUT
    told = capsys.readouterr().err
    assert "Traceback" not in told
    return told, study / "reproduction.toml"


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_its_line(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong, message = WRONG[what]
    told, file = refusal(right, wrong, tmp_path, capsys)
    assert message in told
    line = file.read_text()[: file.read_text().index(wrong) + len(wrong)].count("\n") + 1
    assert f"{file}:{line}:" in told
    assert not (tmp_path / "out").exists(), "nothing is written"


@pytest.mark.parametrize("what", WRONG_SOMEWHERE)
def test_what_is_wrong_is_said(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong, message = WRONG_SOMEWHERE[what]
    told, _ = refusal(right, wrong, tmp_path, capsys)
    assert re.search(message, told), told


def test_a_study_that_is_not_there_is_named_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert invoke(["reproduce", "pear"]) == WRONG_INPUT
    assert "no published study 'pear'; there are: pair" in capsys.readouterr().err


def test_functions_of_expressions() -> None:
    """Worked by hand, or from the sources named in docs/reproduce.md."""
    x = np.arange(1.0, 9.0)
    names = {
        "x": x,
        "capped": np.minimum(10 * x, 50),
        "line": 3 * x,
        "down": -x,
        "three": np.array([1.0, 2.0, 3.0]),
    }

    def value(text: str) -> float:
        return float(expressions.value(text, names))

    assert value("knee(x, capped)") == pytest.approx(5)
    assert value("knee(x, line)") == 8
    assert value("linear(x, line)") == pytest.approx(1)
    assert value("linear(x, capped)") < 0.9
    assert value("slope(x, line)") == pytest.approx(3)
    # (1 + 2 + 3)^2 / (3 * (1 + 4 + 9))
    assert value("jain(three)") == pytest.approx(36 / 42)
    assert value("falls(down)") == 1
    assert value("rises(down)") == 0
    assert value("rises(capped)") == pytest.approx(4 / 7)
    assert value("spearman(x, line)") == pytest.approx(1)
    assert value("pearson(x, down)") == pytest.approx(-1)
    assert value("best(x, capped)") == 5
    assert value("count(x > 3)") == 5
    assert value("median(three)") == 2
    assert value("max(1, 4, 2)") == 4
    assert value("std(three)") == pytest.approx(1)
    assert value("sum(three * three)") == 14
    assert math.isnan(value("1 / (x - x)[0]"))


def test_a_sampled_column_of_any_length_can_be_scaled() -> None:
    samples = {"srtt": np.full(200_000, 0.02)}
    assert expressions.value("srtt * 1e3", samples)[-1] == pytest.approx(20)


def test_an_expression_reaches_another_flow_of_the_run(done: Reproduced) -> None:
    point = done.results("pair").points[0]
    flows = {flow["name"]: flow for flow in point.runs[1].metrics["flows"]}
    ratio = evaluated('goodput_bps / of("long", "goodput_bps")', point, 1, "short")
    assert ratio == flows["short"]["goodput_bps"] / flows["long"]["goodput_bps"]
    twice = evaluated('of("long", "rate_bps(1, 2) + rate_bps(1, 2)")', point, 1, "short")
    assert twice == 2 * evaluated("rate_bps(1, 2)", point, 1, "long")
    assert math.isnan(evaluated('of("absent", "goodput_bps")', point, 1, "short"))


def test_expressions_reach_nothing_else() -> None:
    for text in ("__import__('os')", "x.__class__", "open('x')", "(lambda: 1)()"):
        with pytest.raises(cclab.InputError):
            expressions.value(text, {"x": 1.0})
