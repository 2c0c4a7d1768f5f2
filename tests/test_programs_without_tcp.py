"""Programs that send nothing by TCP: what is not measured of them ends nothing."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from cclab.cli.exits import DONE, EXPECTATION_FAILED, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.measure.points import Measured, Point
from cclab.measure.summary import summarise
from cclab.metrics import FLOW_METRICS, NO_VARIANT
from cclab.report.quantities import called, lent_in, measured, variants_of
from cclab.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

STUDY = """
title    = "A transfer and a program"
backend  = "linux"
duration = "2s"
warmup   = "500ms"
repeat   = 2

[network.bottleneck]
rate  = "10Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "50p" }

[[flow]]
name     = "short"
cc       = "reno"
transfer = "100kB"
"""
"""The transfer ends before the warm-up does: of the time after it there is no RTT."""

UDP = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(50):
    out.sendto(b"x" * 500, (sys.argv[1], 9))
    time.sleep(0.01)
"""

PROGRAMS = {
    "true": ["true"],
    "sleep": ["sleep", "1"],
    "udp": [sys.executable, "-c", UDP, "{dst}"],
}


@pytest.fixture(scope="module")
def folder(kernel: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the transfer beside each of the `PROGRAMS`, and alone in `alone`."""
    base = tmp_path_factory.mktemp("programs")
    swept = json.dumps(list(PROGRAMS.values()))
    (base / "study.toml").write_text(
        f'{STUDY}[[flow]]\nname = "program"\ncommand = ["true"]\n'
        f'[sweep]\n"flow.program.command" = {swept}\n'
    )
    (base / "alone.toml").write_text(STUDY)
    for name in ("study", "alone"):
        assert invoke(["run", str(base / f"{name}.toml"), "--out", str(base / name)]) == DONE
    return base


def test_what_is_not_measured_of_a_program_is_absent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert invoke(["report", str(folder / "study"), "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    assert invoke(["report", str(folder / "alone"), "--json"]) == DONE
    alone = json.loads(capsys.readouterr().out)
    for place, name in enumerate(PROGRAMS):
        for number in (0, 1):
            short, program = document["runs"][2 * place + number]["flows"]
            # The flow beside it is as it is alone, to the last bit, where nothing crosses it.
            if name != "udp":
                assert short == alone["runs"][number]["flows"][0]
            assert program["transport"] == ("udp" if name == "udp" else None)
            for metric in ("rtt_p95_s", "srtt_mean_s", "cwnd_mean_segments", "segments_sent"):
                assert program[metric] is None
            assert (program["goodput_bps"] is None) == (name != "udp")
    table = (folder / "study" / "report" / "table.md").read_text()
    rows = [line for line in table.splitlines() if "program" in line and NO_VARIANT in line]
    assert len(rows) == 2
    for row in rows:
        assert "–" in row
        assert "0.0" not in row


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["report", "study", "--figure", "box", "--metric", "goodput"], WRONG_INPUT),
        (["report", "study", "--figure", "tradeoff", "--metric", "rtt_p95_s,fct_s"], DONE),
        (["report", "study", "--figure", "tradeoff", "--metric", "rtt_p95,goodput"], WRONG_INPUT),
        (["report", "study", "--format", "flent"], DONE),
        (["query", "study", "rtt_p95_s > 0"], DONE),
        (["query", "study", "flow.goodput_bps > 0"], DONE),
        (["compare", "study", "study"], DONE),
        (["compare", "study", "study", "--metric", "rtt_p95_s"], DONE),
    ],
)
def test_every_verb_goes_on_without_it(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
) -> None:
    monkeypatch.chdir(folder)
    assert invoke(words) == code
    told = capsys.readouterr().err
    assert told.startswith("error: ") == (code == WRONG_INPUT), told


def test_an_expectation_of_what_is_not_measured_is_not_met(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        f'{STUDY}[[flow]]\nname = "program"\ncommand = ["true"]\n'
        '[expect]\nprogram = "flow.program.rtt_p95_s < 1"\nshort = "flow.short.fct_s < 1"\n'
    )
    out = str(tmp_path / "out")
    assert invoke(["run", str(study), "--out", out]) == EXPECTATION_FAILED
    [unmet] = [line for line in capsys.readouterr().err.splitlines() if "not met" in line]
    assert unmet.endswith("program: flow.program.rtt_p95_s < 1, but it is not measured")


def test_a_program_that_fails_ends_its_run_and_says_so(
    kernel: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.toml"
    crash = '["sh", "-c", "kill -SEGV $$"]'
    study.write_text(
        f'{STUDY}[[flow]]\nname = "program"\ncommand = ["true"]\n'
        f'[sweep]\n"flow.program.command" = [["true"], {crash}]\n'
    )
    out = str(tmp_path / "out")
    assert invoke(["run", str(study), "--out", out]) == RUN_FAILED
    told = capsys.readouterr().err
    assert "2 runs of 4 failed; the others are done" in told
    assert "ended with signal: 11 (SIGSEGV)" in told
    # Of the other runs there is a report.
    assert invoke(["report", out]) == DONE


def without_traffic(run: Measured) -> Measured:
    """`run` as if its first flow had sent nothing."""
    first, *others = run.metrics["flows"]
    kept = {key: first[key] for key in ("name", "direction", "datagrams") if key in first}
    silent = dict.fromkeys(first) | kept
    return Measured(run.run, run.store, run.metrics | {"flows": [silent, *others]})


def test_a_flow_that_only_some_runs_saw_is_what_these_saw(results: Results) -> None:
    """A program may send something in one run and nothing in another, in any order."""
    points = [
        Point(p.index, p.params, p.label, p.short_label, [without_traffic(p.runs[0]), *p.runs[1:]])
        for p in results.points
    ]
    plain = type(results)(results.store, results.plan, results.points)
    mixed = type(results)(results.store, results.plan, points)
    name = points[0].flows[0]["name"]
    assert f"flow.{name}.rtt_p95_s" in mixed.number_names
    assert set(mixed.number_names) == set(plain.number_names)
    assert measured(mixed, f"flow.{name}.rtt_p95_s") == called(plain, f"flow.{name}.rtt_p95_s")
    assert lent_in(mixed) == lent_in(plain)
    for point, whole in zip(points, results.points, strict=True):
        assert variants_of(point) == variants_of(whole)
    for summary, whole_summary in zip(summarise(points), results.summaries, strict=True):
        flow, whole_flow = summary.flows[0], whole_summary.flows[0]
        assert (flow.cc, flow.kind) == (whole_flow.cc, whole_flow.kind)
        rtt = flow.estimates["rtt_p95_s"]
        assert rtt is not None
        assert rtt.n == whole_summary.n - 1
        assert set(flow.estimates) == set(FLOW_METRICS)


def test_a_flow_that_no_run_saw_is_no_variant(results: Results) -> None:
    silent = [
        Point(p.index, p.params, p.label, p.short_label, [without_traffic(r) for r in p.runs])
        for p in results.points
    ]
    mixed = type(results)(results.store, results.plan, silent)
    name = silent[0].flows[0]["name"]
    assert silent[0].flows[0]["cc"] is None
    assert measured(mixed, f"flow.{name}.rtt_p95_s") == []
    assert variants_of(silent[0])[name][0] == NO_VARIANT
    assert Store(results.store.path).plan().title == results.plan.title
