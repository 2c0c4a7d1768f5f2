"""The inner state of variants in traces: what each tells, and what the kernel's tell."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import cclab
from cclab import _core
from cclab.cli.exits import RUN_FAILED
from cclab.errors import InputError
from cclab.evaluation import judge
from cclab.evaluation.evidence import Line, Subject
from cclab.evaluation.schema import Criterion, Scenario
from cclab.quantities import states
from cclab.quantities.names import evaluated
from cclab.report.figures import svg

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli

STUDY = """
title    = "{x} beside {y}"
duration = "12s"
trace    = {{ interval = "10ms", events = ["state"] }}

[network.bottleneck]
rate  = "20Mbit"
delay = "20ms"
queue = {{ limit = "2bdp" }}

[[flow]]
name  = "x"
cc    = "{x}"

[[flow]]
name  = "y"
cc    = "{y}"
start = "4s"
"""

CLASS = """
from cclab.variant import Ack, Variant


class Counts(Variant):
    traced = ("acks", "halved", "last_rtt_ns")

    def __init__(self) -> None:
        self.acks = 0
        self.halved = False
        self.last_rtt_ns = None

    def on_ack(self, ack: Ack) -> None:
        self.acks += 1
        self.cwnd += ack.acked / self.cwnd
        if ack.rtt is not None:
            self.last_rtt_ns = round(ack.rtt * 1e9)

    def on_congestion(self, event: object) -> float:
        self.halved = True
        return max(self.cwnd / 2, 2)
"""


def run(folder: Path, x: str, y: str, **options: Any) -> Results:
    (folder / "study.toml").write_text(STUDY.format(x=x, y=y))
    return cclab.run(folder / "study.toml", out=folder / "out", **options)


@pytest.fixture(scope="module")
def bbr3(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(tmp_path_factory.mktemp("states"), "bbr3", "reno")


def test_a_variant_tells_the_columns_that_it_declares(bbr3: Results) -> None:
    [declared] = [row for row in json.loads(_core.variants()) if row["name"] == "bbr3"]
    told = bbr3.runs[0].trace.states_of("x")
    names = [column["name"].replace("_ns", "_s") for column in declared["state"]]
    assert sorted(told.columns) == sorted(["time_s", "until_s", "flow", *names])
    [phase] = [column for column in declared["state"] if column["name"] == "phase"]
    assert set(told["phase"]) == set(phase["words"])
    assert told["time_s"].is_sorted()
    # Each row says something new.
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in names)
    assert not told.select(same)["phase"][1:].any()


def test_a_variant_that_tells_nothing_says_so(bbr3: Results) -> None:
    with pytest.raises(InputError, match="no inner state of flow"):
        bbr3.runs[0].trace.states_of("y")


def test_expressions_ask_for_phases_by_sql(bbr3: Results) -> None:
    """The draft's machine: Startup, Drain, then ProbeBW; a dip of 200 ms at least, every five
    seconds; gains of 5.6.1."""
    [point] = bbr3.points

    def asked(query: str) -> float:
        return float(evaluated(f'states("{query}")', point, 0, "x"))

    assert asked("SELECT after = 'drain' FROM phases WHERE nth = 0") == 1
    assert asked("SELECT full_bw_count FROM phases WHERE phase = 'drain'") == 3
    assert asked("SELECT MAX(pacing_gain) FROM states WHERE phase = 'drain'") == 0.5
    assert asked("SELECT MAX(pacing_gain) FROM states WHERE phase = 'probe_bw_up'") == 1.25
    dips = "phases WHERE phase = 'probe_rtt' AND after IS NOT NULL"
    assert asked(f"SELECT COUNT(*) FROM {dips}") >= 1
    assert asked(f"SELECT MIN(until_s - from_s) FROM {dips}") >= 0.2
    bandwidth = asked("SELECT max_bw_bps_last FROM phases WHERE nth = 0")
    assert bandwidth == pytest.approx(20e6 * 1448 / 1514, rel=0.001)
    in_flight = "s.in_flight_bytes FROM samples s JOIN phases p ON s.time_s >= p.until_s"
    drained = f"SELECT {in_flight} AND s.time_s < p.until_s + 0.2 WHERE p.nth = 1 LIMIT 1"
    assert 0 < asked(drained) < asked("SELECT MAX(in_flight_bytes) FROM samples")
    assert math.isnan(asked("SELECT bw_bps FROM states WHERE time_s > 99"))
    for unknown in ("wmax_s FROM states", "p.wmax_s FROM states s CROSS JOIN phases p"):
        with pytest.raises(InputError, match="does not tell it") as raised:
            asked(f"SELECT {unknown}")
        assert states.untold(raised.value) is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT MAX(in_flght_bytes) FROM samples",
        "SELECT MAX(s.in_flght_bytes) FROM samples s CROSS JOIN phases p",
        "SELECT MAX(in_flght_bytes) FROM samples s CROSS JOIN phases p",
    ],
)
def test_a_misspelt_column_of_samples_is_no_matter_of_the_variant(
    bbr3: Results, query: str
) -> None:
    with pytest.raises(InputError, match="did you mean in_flight_bytes") as caught:
        evaluated(f'states("{query}")', bbr3.points[0], 0, "x")
    assert states.untold(caught.value) is None


def test_the_figure_of_phases_shows_each_phase_that_was(bbr3: Results) -> None:
    drawing = bbr3.figure("phases")
    axes = drawing.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x (bbr3)"]
    told = {handle.get_label() for handle in drawing.told}
    assert told == set(bbr3.runs[0].trace.states_of("x")["phase"])


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT time_s FROM states", "asks for one value"),
        ("SELECT phase FROM phases WHERE nth = 0", "asks for a number"),
        ("SELEC", "sql parser error"),
        ("SELECT 1 FROM nosuch", "'nosuch' was not found"),
    ],
)
def test_a_query_that_gives_no_number_is_told(bbr3: Results, query: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        evaluated(f'states("{query}")', bbr3.points[0], 0, "x")
    assert states.untold(caught.value) is None


def test_a_line_that_asks_for_what_a_variant_does_not_tell_is_not_evaluated(
    tmp_path: Path,
) -> None:
    study = STUDY.format(x="bbr3", y="reno") + '\n[sweep]\n"flow.x.cc" = ["bbr3", "cubic"]\n'
    (tmp_path / "study.toml").write_text(study)
    results = cclab.run(tmp_path / "study.toml", out=tmp_path / "out")
    criterion = Criterion(
        id="gain",
        clause="1",
        obligation="own",
        text="paces",
        scenario="s",
        measure="largest gain",
        value="states(\"SELECT MAX(pacing_gain) FROM states WHERE phase = 'drain'\")",
        flow="x",
        better="lower",
        below=0.5,
    )
    scenario = Scenario(name="s", title="s", study="study.toml", subject=["flow.x.cc"], repeat=1)

    def line(name: str) -> Line:
        subject = Subject(name, name, name, None)
        [judged] = judge.lines([criterion], scenario, [], results, subject, [])
        return judged

    assert not line("bbr3").unavailable
    assert "does not tell" in line("cubic").unavailable
    assert judge.corrected([line("cubic")])[0].verdict == "not evaluated"


def test_a_class_in_python_tells_its_attributes(tmp_path: Path) -> None:
    (tmp_path / "counts.py").write_text(CLASS)
    results = run(tmp_path, "./counts.py:Counts", "./counts.py:Counts")
    told = results.runs[0].trace.states_of("x")
    assert told.columns == ["time_s", "until_s", "flow", "acks", "halved", "last_rtt_s"]
    assert told["acks"].is_sorted()
    assert told["acks"][-1] > 1000
    assert set(told["halved"]) == {0.0, 1.0}
    least = told["last_rtt_s"].drop_nulls().to_numpy().min()
    assert least == pytest.approx(0.04, abs=0.001)


@pytest.mark.parametrize(
    ("traced", "why"),
    [
        ('"acks"', "it is a tuple of names"),
        ('("a b",)', "it is a tuple of names"),
        ('("acks", "acks")', "acks is there twice"),
        ('("flow",)', "flow is a name of the table's own"),
        ('("until_s",)', "until_s is a name of the table's own"),
    ],
)
def test_what_is_no_tuple_of_names_is_refused(
    tmp_path: Path, cli: Cli, traced: str, why: str
) -> None:
    (tmp_path / "counts.py").write_text(CLASS.replace('("acks", "halved", "last_rtt_ns")', traced))
    (tmp_path / "study.toml").write_text(STUDY.format(x="./counts.py:Counts", y="reno"))
    ended = cli("run", "study.toml", cwd=tmp_path)
    assert ended.returncode == 2
    assert why in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_attribute_that_is_not_there_ends_the_run(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "counts.py").write_text(CLASS.replace('"last_rtt_ns")', '"nosuch")'))
    (tmp_path / "study.toml").write_text(STUDY.format(x="./counts.py:Counts", y="reno"))
    ended = cli("run", "study.toml", cwd=tmp_path)
    assert ended.returncode == 3
    assert "nosuch" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_runs_without_states_are_what_they_were(tmp_path: Path) -> None:
    """Telling states changes nothing of the run."""
    (tmp_path / "study.toml").write_text(STUDY.format(x="bbr", y="dctcp"))
    told = cclab.run(tmp_path / "study.toml", out=tmp_path / "told")
    plain = cclab.run(tmp_path / "study.toml", out=tmp_path / "plain", set=["trace.events=[]"])
    for table in ("flow_samples", "flows", "links"):
        assert told.runs[0].table(table).equals(plain.runs[0].table(table))


def share_of(holds: pl.Series) -> float:
    """In how many rows of how many something holds."""
    return float(holds.to_numpy().mean())


def beside_the_kernel(folder: Path, variant: str, columns: list[str]) -> pl.DataFrame:
    """What the kernel's tells of a flow alone at its samples, and as `our_COLUMN` what ours has
    then."""
    study = STUDY.format(x=variant, y="reno").partition('[[flow]]\nname  = "y"')[0]
    (folder / "study.toml").write_text(study)
    told = {}
    for backend in ("linux", "sim"):
        results = cclab.run(folder / "study.toml", out=folder / backend, backend=backend)
        told[backend] = results.runs[0].trace.states_of("x")
    ours = told["sim"].select("time_s", *(pl.col(c).alias(f"our_{c}") for c in columns))
    return told["linux"].join_asof(ours, on="time_s").filter(pl.col("time_s") > 0.2)


@pytest.mark.usefixtures("kernel")
def test_the_kernels_bbr_tells_what_ours_tells(tmp_path: Path) -> None:
    """Up to the phase of ProbeBW that dice choose, the same numbers; then the same model."""
    columns = ["bw_bps", "min_rtt_s", "pacing_gain", "cwnd_gain"]
    both = beside_the_kernel(tmp_path, "bbr", columns)
    begins = both.filter(pl.col("time_s") < 0.55)
    assert begins.height > 10
    for column in columns:
        assert (begins[column] == begins[f"our_{column}"]).all(), column
    assert both.height > 100
    away = (both["bw_bps"] / both["our_bw_bps"] - 1).to_numpy()
    assert np.abs(away).max() < 0.002
    assert set(both["pacing_gain"]) == {2.88671875, 0.34375, 0.75, 1.0, 1.25}
    for column in ("cwnd_gain", "min_rtt_s"):
        assert share_of(both[column] == both[f"our_{column}"]) > 0.97


@pytest.mark.usefixtures("kernel")
def test_the_kernels_vegas_tells_what_ours_tells(tmp_path: Path) -> None:
    columns = ["enabled", "base_rtt_s", "round_min_rtt_s"]
    both = beside_the_kernel(tmp_path, "vegas", columns)
    assert both.height > 50
    for column in columns:
        same = both[column].eq_missing(both[f"our_{column}"])
        assert share_of(same) > 0.97, (column, both.filter(~same))


def test_the_figure_of_phases_has_the_same_bytes_each_time(bbr3: Results) -> None:
    assert svg(bbr3.figure("phases")) == svg(bbr3.figure("phases"))


@pytest.mark.parametrize(("language", "also"), [("c", []), ("rust", ["kept"])])
def test_the_files_of_the_documents_tell_their_state_and_change_links(
    tmp_path: Path, language: str, also: list[str]
) -> None:
    document = (Path(__file__).parent.parent / "docs/own-algorithm.md").read_text()
    text = document.split(f"```{language}\n")[1].split("```")[0]
    file = tmp_path / f"steps.{'c' if language == 'c' else 'rs'}"
    file.write_text(text)
    study = tmp_path / "study.toml"
    study.write_text(
        STUDY.format(x=f"./{file.name}", y="reno").replace(
            "[[flow]]",
            'schedule = { when = { flow = "x", column = "losses", is = 3 }, rate = "10Mbit" }\n'
            "[[flow]]",
            1,
        )
    )
    trace = cclab.run(study, out=tmp_path / "out").runs[0].trace
    states = trace.states_of("x")
    told = [c for c in states.columns if c not in ("flow", "time_s", "until_s")]
    assert told == ["phase", "losses", *also]
    assert set(states["phase"]) == {"slow_start", "avoidance"}
    losses = states["losses"].to_list()
    assert losses == sorted(losses)
    assert losses[-1] > 3
    third = states.filter(pl.col("losses") == 3)["time_s"][0]
    assert trace.summary["met_ns"] == [round(third * 1e9)]
    if also:
        assert states.filter(pl.col("losses") == 0)["kept"].is_null().all()
        assert states.filter(pl.col("losses") > 0)["kept"].is_between(0.4, 0.6).all()


def test_a_file_without_the_column_that_a_link_waits_for_is_refused(
    tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "counts.py").write_text(CLASS)
    study = tmp_path / "study.toml"
    study.write_text(
        STUDY.format(x="./counts.py:Counts", y="reno").replace(
            "[[flow]]",
            'schedule = { when = { flow = "x", column = "phase", is = "x" }, rate = "10Mbit" }\n'
            "[[flow]]",
            1,
        )
    )
    refused = cli("run", study, "--out", tmp_path / "out")
    assert refused.returncode == RUN_FAILED
    assert 'the column "phase" of x: its variant' in refused.stderr
    assert "has acks, halved, last_rtt_ns" in refused.stderr
