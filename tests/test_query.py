"""Questions to a results folder: what can be asked, and what wrong questions are told."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import polars as pl
import pytest
from scipy import special

import cclab
from cclab.cli.exits import WRONG_INPUT
from cclab.errors import InputError, StoreError
from cclab.expressions import Term
from cclab.measure.stats import estimate
from cclab.queries import groups, kinds, query
from cclab.queries.answer import Source
from cclab.queries.columns import split
from cclab.queries.expression import compile, condition, kind_of
from cclab.queries.sql import column, prepare, quoted
from cclab.report import tables

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli

TYPES = {
    "cc": "TEXT",
    "rtt": "REAL",
    "bottleneck.rate": "INTEGER",
    "ecn": "BOOLEAN",
    "cc_params.split-gso": "REAL",
}
ROWS = [
    ("bbr", 0.02, 10_000_000, True, 1.0),
    ("cubic", 0.05, 100_000_000, False, None),
    ("reno", 0.1, 100_000_000, False, 3.0),
    (None, None, 5, None, 4.0),
]
COLUMNS = {name: column("seen", name, kind) for name, kind in TYPES.items()}
TERMS = {name: Term(value, kind_of(value.type)) for name, value in COLUMNS.items()}


def _seen(text: str) -> list[int]:
    """The numbers of the rows for which the condition `text` holds."""
    with closing(sqlite3.connect(":memory:")) as connection:
        prepare(connection)
        declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in TYPES.items())
        connection.execute(f"CREATE TABLE seen ({declared})")
        connection.executemany("INSERT INTO seen VALUES (?, ?, ?, ?, ?)", ROWS)
        source = Source(connection, "seen").where(condition(text, TERMS))
        return [row - 1 for (row,) in source.select("rowid")]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('cc == "bbr"', [0]),
        ("cc == 'bbr' or rtt >= 100ms", [0, 2]),
        ('cc == "bbr" and rtt > 50ms', []),
        ("rtt > 50ms", [2]),
        ('rtt > "50ms"', [2]),
        ("20ms <= rtt < 0.1s", [0, 1]),
        ("bottleneck.rate == 100Mbit", [1, 2]),
        ("bottleneck.rate == 0.1Gbit/s", [1, 2]),
        ("bottleneck.rate * rtt / 8 > 64kB", [1, 2]),
        ("not rtt > 50ms", [0, 1]),
        ("not (cc in ['bbr', \"reno\"])", [1]),
        ("cc not in ['bbr', 'reno']", [1]),
        ("rtt in [20ms, 100ms]", [0, 2]),
        ("'ub' in cc", [1]),
        ('cc matches "^(bbr|re)"', [0, 2]),
        ("ecn", [0]),
        ("not ecn", [1, 2]),
        ("ecn == true", [0]),
        ("rtt is None", [3]),
        ("rtt != None and cc is not null", [0, 1, 2]),
        ("`cc_params.split-gso` > 1", [2, 3]),
        ("max(rtt, 30ms) == 30ms", [0]),
        ("abs(rtt - 100ms) < 60ms", [1, 2]),
        ("-rtt > -1e-1", [0, 1]),
        ("min(rtt * 1000, 50) >= 5e1", [1, 2]),
        ("  \n cc == 'bbr'\n or rtt > 60ms ", [0, 2]),
        ("rtt > 5%", [2]),
        ("1 / (rtt - rtt) > 0", []),
    ],
)
def test_a_condition_chooses_rows(text: str, rows: list[int]) -> None:
    # `max` of a value that is not there and another is the other.
    assert [row for row in _seen(text) if row != 3 or rows[-1:] == [3]] == rows


@pytest.mark.parametrize(
    ("text", "column", "why"),
    [
        ("cc == bbr", 7, "no column `bbr`; `--list` shows the columns; a text stands in quotes: '"),
        ("cc == 'bbr' and rttt > 1", 17, "no column `rttt`; did you mean `rtt`?"),
        ("rate > 1", 1, "did you mean `bottleneck.rate`?"),
        ("rtt > 50mss", 7, "`50mss` is no quantity"),
        ("rtt > 100mbps", 7, "is no quantity"),
        ("rtt = 5", 5, "`==` compares"),
        ("rtt > ", 6, "not an expression"),
        ("cc > 5", 6, "cannot be compared"),
        ("ecn > rtt", 7, "a condition cannot be compared with a number"),
        ("ecn > true", 7, "have no order"),
        ("cc and rtt > 1", 1, "this is a text, not a condition"),
        ("rtt + cc > 1", 7, "this is a text, not a number"),
        ("sqrt(rtt) > 1", 1, "the functions are abs, min, max"),
        ("abs(rtt, 1) > 1", 1, "`abs` takes one number"),
        ("rtt ** 2 > 1", 5, "only + - * / are known"),
        ("rtt if ecn else 1", 5, "`if` is not expected here"),
        ("__import__('os').system('true')", 17, "`.` is not expected here"),
        ("__import__('os') > 1", 1, "the functions are"),
        ("cc.__class__ == 'x'", 1, "no column `cc.__class__`"),
        ("rtt matches '5'", 1, "needs a text on its left"),
        ("cc matches '('", 12, "is no pattern"),
        ("cc matches cc", 12, "needs a quoted pattern"),
        ("rtt in 5", 8, "needs a list"),
        ("rtt is 5", 8, "compares with `None` alone"),
        ("rtt < None", 7, "only equal"),
        ("rtt > 'ä' and x", 7, "cannot be compared with a text"),
        ("cc == 'ä' and x > 1", 15, "no column `x`"),
        ("(", 1, "not an expression"),
    ],
)
def test_a_wrong_expression_is_told_with_its_place(text: str, column: int, why: str) -> None:
    with pytest.raises(InputError) as raised:
        condition(text, TERMS)
    told, shown, mark = str(raised.value).split("\n")
    assert told.startswith(f"column {column}: "), told
    assert why in told
    assert mark.index("^") - 2 == column - 1
    assert shown.strip() == text.strip()


@pytest.mark.parametrize(
    "text", ["not " * 600 + "ecn", "+".join(["rtt"] * 3000) + " > 0", "-" * 50_000 + "rtt > 0"]
)
def test_an_expression_that_is_nested_too_deeply_is_told_in_a_line(text: str) -> None:
    with pytest.raises(InputError) as raised:
        condition(text, TERMS)
    assert str(raised.value) == f"the expression is nested too deeply: {text[:60]}…"


def test_equal_expressions_are_one_column_and_unequal_ones_of_a_name_are_refused(
    results: Results,
) -> None:
    found = query(results.store.path, columns=["rtt*2", "rtt*2", "x=rtt", "x = rtt"])
    assert found.columns == ["rtt*2", "x"]
    assert found["rtt*2"].to_list() == [2 * x for x in found["x"]]
    mean = query(results.store.path, columns=["rtt*2"], group_by=["cc"])
    again = query(results.store.path, columns=["rtt*2", "rtt*2"], group_by=["cc", "cc"])
    assert again.equals(mean)
    for twice in (["x=rtt", "x=rtt*2"], ["x=rtt", "x=cc"], ["rtt", "rtt=seed"]):
        with pytest.raises(InputError, match=r"two columns are called '(x|rtt)'; write NAME ="):
            query(results.store.path, columns=twice)
        with pytest.raises(InputError, match="two columns are called"):
            query(results.store.path, columns=["jain"], group_by=twice)


def test_a_number_is_no_condition() -> None:
    with pytest.raises(InputError, match="is a number, not a condition"):
        condition("rtt + 1", TERMS)
    with pytest.raises(InputError, match="empty"):
        compile("  ", TERMS)


def test_shares_are_of_the_goodput_of_all_flows_of_the_run(results: Results) -> None:
    found = query(results.store.path, columns=["run", "name", "share", "goodput"])
    of_runs = found.group_by("run").agg(pl.col("share").sum())
    assert of_runs["share"].to_list() == pytest.approx([1.0] * 4)
    for run, name, share, goodput in found.iter_rows():
        # The study has a warm-up.
        total = results.flows.filter(run=run)["window_goodput_bps"].sum()
        assert share == goodput / total, name
    # Of those that a condition leaves, the share is the same.
    one = query(results.store.path, "name == 'long'", columns=["share"])
    assert one["share"].to_list() == found.filter(name="long")["share"].to_list()


STARVED = """
duration = "2s"
[network.bottleneck]
rate = "10Mbit"
delay = "50ms"
queue = { limit = "1bdp" }
[[flow]]
name = "down"
[[flow]]
name = "up"
direction = "reverse"
[[flow]]
name = "late"
direction = "reverse"
start = "1.99s"
"""


def test_a_share_is_the_same_in_queries_tables_and_documents(tmp_path: Path) -> None:
    file = tmp_path / "starved.toml"
    file.write_text(STARVED)
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    found = query(results.store.path, columns="name, share, goodput_bps")
    # One is alone on its way; one got nothing before the end.
    assert found["share"].to_list() == [None, 1.0, 0.0]
    assert found["goodput_bps"][2] is None
    shown = tables.table(results)
    cells = [row[shown.headings.index("share")] for row in shown.groups[0]]
    assert cells == ["–", "100.0%", "0%"]
    flows = results.document()["summary"][0]["flows"]
    assert [flow["share"] and flow["share"]["mean"] for flow in flows] == [None, 1.0, 0.0]


def test_a_group_is_shown_with_its_own_index(tmp_path: Path) -> None:
    file = tmp_path / "groups.toml"
    lone = '[[flow]]\nname = "down"\n'
    other = '[[flow]]\nname = "other"\nrtt = "300ms"\n'
    file.write_text(STARVED.replace(lone, other + lone + "count = 2\n"))
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    own = results.runs[0].metrics["groups"][0]["jain"]
    shown = query(results.store.path, table="groups")
    assert shown["group.jain"].to_list() == [own]
    assert "jain" not in shown.columns
    assert query(results.store.path, table="groups", columns="jain").item() != own


def test_long_lists_and_chains_are_one_expression(results: Results) -> None:
    folder = results.store.path
    few = query(folder, "rtt in [20ms]", columns="run")
    listed = ", ".join(["20ms"] * 3000)
    assert query(folder, f"rtt in [{listed}]", columns="run").equals(few)
    assert query(folder, " and ".join(["rtt == 20ms"] * 3000), columns="run").equals(few)
    # Neither true nor false is kept: nothing was measured.
    unknown = "flow.duration > 1s"
    assert query(folder, f"{unknown} or rtt == 20ms", columns="run").equals(few)
    assert query(folder, f"{unknown} and rtt == 20ms", columns="run").height == 0
    assert query(folder, f"not ({unknown} or rtt == 60ms)", columns="run").height == 0


def test_lists_may_be_one_text(results: Results) -> None:
    folder = results.store.path
    listed = query(folder, group_by=["cc", "rtt"], columns=["share", "jain"])
    assert query(folder, group_by="cc,rtt", columns="share, jain").equals(listed)
    both = cclab.compare(results, results, metrics="goodput_bps")
    assert {row.metric.name for row in both.compared} == {"goodput_bps"}


def test_what_is_of_several_runs_is_told_as_such(results: Results) -> None:
    with pytest.raises(InputError, match="no column `harm_goodput`: it is of several runs"):
        query(results.store.path, "harm_goodput > 0.5")
    with pytest.raises(
        InputError, match=r"no run measured flow\.harm_goodput on both .*baselines=solo"
    ):
        cclab.compare(results, results, metrics=["goodput_bps", "harm_goodput"])


def test_a_folder_that_is_not_there_is_told_as_such(cli: Cli) -> None:
    done = cli("query", "results/nosuch")
    assert (done.returncode, done.stderr) == (WRONG_INPUT, "error: no folder results/nosuch\n")


def test_columns_are_split_at_commas_outside_brackets() -> None:
    assert split("a, max(b, c),d = [1,2] ,'x,y'") == ["a", "max(b, c)", "d = [1,2]", "'x,y'"]


def test_a_row_is_a_flow_with_what_its_run_has(results: Results) -> None:
    found = cclab.query(results.store.path, "cc == 'cubic' and rtt == 20ms")
    assert found["cc"].to_list() == ["cubic", "cubic"]
    told = results.flows.filter(cc="cubic", name="short").sort("run")
    assert found["run"].to_list() == told["run"].to_list()
    # The study has a warm-up.
    assert found["goodput"].to_list() == told["window_goodput_bps"].to_list()
    both = query(
        results.store.path,
        "network.bottleneck.rate == 10Mbit and bottleneck.queue.kind == 'droptail'",
        columns=["run", "jain", "x = goodput_bps / bottleneck.rate", "duration", "flow.duration"],
    )
    assert both.columns == ["run", "jain", "x", "duration", "flow.duration"]
    assert both.height == results.flows.height
    assert both["duration"].to_list() == [2.0] * both.height
    assert both["flow.duration"].null_count() == both.height


def test_the_runs_that_check_a_study_are_left_out_unless_asked_for(
    study: Path, tmp_path: Path
) -> None:
    exact = ["flow.short.start=0s", "flow.long.start=10ms", "duration=700ms"]
    results = cclab.run(study, out=tmp_path / "exact", set=exact)
    planned = {run.id for run in results.plan.runs}
    found = query(results.store.path, table="runs", columns=["run"])
    assert set(found["run"]) == planned
    every = query(results.store.path, table="runs", columns=["run"], every=True)
    assert set(every["run"]) == results.store.ids() > planned


def test_runs_of_a_study_that_was_changed_are_apart_unless_pooled(
    study: Path, tmp_path: Path, cli: Cli
) -> None:
    folder = tmp_path / "changed"
    short = ["sweep.flow.short.cc=['cubic']", "duration=1s", "warmup=0s"]
    for start in ("0s", "300ms"):
        cclab.run(study, out=folder, repeat=3, set=[*short, f"flow.long.start={start}"])
    pooled = query(folder, group_by="name", columns="goodput_bps", pool=True)
    assert pooled["n"].to_list() == [6, 6]
    apart = query(folder, group_by="name", columns="goodput_bps")
    assert apart.columns[:3] == ["plan", "name", "n"]
    assert apart["n"].to_list() == [3] * 4
    assert apart["plan"].n_unique() == 2
    # Also by a key that is the same in both: each group is of one start.
    starts = query(folder, columns="plan,name,start").filter(name="long")
    by_plan = dict(starts.select("plan", "start").unique().iter_rows())
    assert sorted(by_plan.values()) == [0.0, 0.3]
    for plan, start in by_plan.items():
        (one,) = apart.filter(plan=plan, name="long")["goodput_bps"].to_list()
        asked = query(folder, f"name == 'long' and start == {start}s", group_by="name")
        assert asked["goodput_bps"].to_list() == [one]
        # What a condition leaves is of one plan: no column is needed.
        assert "plan" not in asked.columns
    assert query(folder).columns[:2] == ["run", "plan"]
    assert "plan" not in query(folder, pool=True).columns
    done = cli("query", str(folder), "--group-by", "name")
    assert "the rows are of 2 plans, apart by `plan` (--pool pools them):" in done.stderr
    assert "flow.long.start.at = 0 ms, not 300 ms" in done.stderr
    quiet = cli("query", str(folder), "--group-by", "name", "--pool")
    assert (quiet.stderr, "plan" in quiet.stdout) == ("", False)


def test_a_sweep_that_grew_is_one_plan(study: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    short = ["duration=500ms", "warmup=0s"]
    for values, repeat in (("['cubic']", 4), ("['cubic', 'reno']", 2)):
        keys = [*short, f"sweep.flow.short.cc={values}"]
        cclab.run(study, out=folder, repeat=repeat, set=keys)
    found = query(folder, "name == 'short'", group_by="cc")
    # The seeds that the last plan did not ask for are of the same scenario.
    assert dict(found.select("cc", "n").iter_rows()) == {"cubic": 4, "reno": 2}
    assert "plan" not in found.columns


def test_groups_are_estimated_over_runs(results: Results) -> None:
    found = query(results.store.path, group_by=["cc", "rtt"], columns=["goodput_bps"], sort="-n")
    flows = results.flows
    for row in found.to_dicts():
        name = "short" if row["rtt"] == 0.02 else "long"
        seen = flows.filter(cc=row["cc"], name=name)["goodput_bps"].to_list()
        told = estimate(seen)
        assert told is not None
        assert row["n"] == len(seen)
        assert row["goodput_bps"] == pytest.approx(told.mean)
        assert [row["goodput_bps_low"], row["goodput_bps_high"]] == [told.low, told.high]


def test_flows_of_one_run_are_one_observation(results: Results) -> None:
    found = query(results.store.path, group_by=["bottleneck.rate"], columns=["goodput_bps"])
    means = results.flows.group_by("run").agg(pl.col("goodput_bps").mean())["goodput_bps"]
    told = estimate(means.sort().to_list())
    assert told is not None
    assert found["n"].to_list() == [4]
    assert found["goodput_bps"].item() == pytest.approx(told.mean)
    with pytest.raises(InputError, match="is a text"):
        query(results.store.path, group_by=["rtt"], columns=["cc"])


def test_over_many_runs_the_interval_is_the_bootstraps_limit() -> None:
    values = [float(i % 97) for i in range(groups.MANY + 1)]
    assert pytest.approx(special.ndtri(0.975), rel=1e-15) == groups._QUANTILE
    told, limit = estimate(values), groups._normal(values)
    assert told is not None
    assert told.half_width is not None
    assert limit.half_width == pytest.approx(told.half_width, rel=0.03)
    assert limit.mean == pytest.approx(told.mean)


def test_kinds_are_told(results: Results) -> None:
    told = kinds(results.store.path)
    assert told["cc"] == "text"
    assert told["ecn"] == "condition"
    assert told["bottleneck.utilization"] == told["limited_cwnd"] == "number, parts of 1"
    assert told["rtt"] == told["srtt_mean_s"] == "number, seconds"
    assert told["bottleneck.rate"] == told["goodput_bps"] == "number, bit/s"
    assert told["bottleneck.queue.limit"] == "number, bytes"
    assert told["bottleneck.queue.limit_bdp"] == "number, bandwidth-delay products"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("rtt > 40Mbit", "a time does not go with a rate"),
        ("goodput_bps < '5ms'", "a rate does not go with a time"),
        ("bottleneck.queue.limit == 100p", "a size does not go with a number of packets"),
        ("rtt > srtt_mean_s > goodput_bps", "a time does not go with a rate"),
        ("rtt in [20ms, 5%]", "a time does not go with a share"),
        ("abs(-rtt) > 1bdp", "a time does not go with a number of bandwidth-delay products"),
        ("rtt + 10ms > 1kB", "a time does not go with a size"),
        ("max(rtt, 1Mbit) > 0", "a time does not go with a rate"),
        ("rtt * 2 > 40Mbit", "a time does not go with a rate"),
        ("2 * rtt > 40Mbit", "a time does not go with a rate"),
        ("goodput_bps / 2 > 10ms", "a rate does not go with a time"),
    ],
)
def test_quantities_of_different_kinds_are_not_compared(
    results: Results, wrong: str, why: str
) -> None:
    with pytest.raises(InputError, match=f"column \\d+: {why}"):
        query(results.store.path, wrong)


def test_what_is_no_quantity_goes_with_all(results: Results) -> None:
    for right in ("rtt * jain > 40Mbit", "goodput_bps * rtt > 10kB", "rtt > 0.01", "jain > 5%"):
        query(results.store.path, right)


def test_what_is_no_results_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a results folder"):
        query(tmp_path)
    with pytest.raises(InputError, match="no table 'flow'"):
        query(tmp_path, table="flow")  # type: ignore[arg-type]


def test_the_command_line_prints_tables_csv_json_and_parquet(
    cli: Cli, results: Results, tmp_path: Path
) -> None:
    store = results.store.path
    asked = (store, "cc == 'reno' and rtt > 50ms", "--columns", "run,goodput_bps,rtt")
    told = cli("query", *asked)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(f"4 flows of {store}\n")
    rows = list(csv.DictReader(io.StringIO(cli("query", *asked, "--csv").stdout)))
    assert [float(row["goodput_bps"]) for row in rows] == [
        row["goodput_bps"] for row in json.loads(cli("query", *asked, "--json").stdout)["rows"]
    ]
    assert cli("query", *asked, "--parquet", tmp_path / "x.parquet").returncode == 0
    assert pl.read_parquet(tmp_path / "x.parquet").height == len(rows) == 4
    assert "flows" in cli("query", store, "--list", "--table", "runs").stdout
    wrong = cli("query", store, "rttt > 50ms")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "did you mean `rtt`?" in wrong.stderr


def test_the_only_results_folder_is_taken(cli: Cli, results: Results, tmp_path: Path) -> None:
    assert "no results folder in results/" in cli("query", "rtt > 1").stderr
    shutil.copytree(results.store.path, tmp_path / "results/one")
    assert cli("query", "rtt > 50ms").stdout.startswith("4 flows of results/one\n")
    shutil.copytree(results.store.path, tmp_path / "results/two")
    both = cli("query", "rtt > 50ms")
    assert both.returncode == 2
    assert "results/one, results/two" in both.stderr


def test_of_a_long_expression_what_is_around_the_mistake_is_shown(results: Results) -> None:
    ids = ", ".join(f"'{number}'" for number in range(3000))
    for wrong in (f"run in [{ids}, rtt > 5, 3]", f"rtt > > 1 or cc in [{ids}]"):
        with pytest.raises(InputError) as raised:
            query(results.store.path, wrong)
        _, shown, place = str(raised.value).splitlines()
        assert len(shown) < 200
        assert "rtt" in shown
        assert len(place) <= len(shown) + 1


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("goodputs", "goodput"),
        ("RTT", "rtt"),
        ("limit_bdp", "bottleneck.queue.limit_bdp"),
        ("rtts", "rtt"),
    ],
)
def test_the_column_that_is_meant_is_named(results: Results, name: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"no column `{name}`; did you mean `{meant}`"):
        query(results.store.path, f"{name} > 5")


def test_a_flow_is_its_number_or_its_name(results: Results) -> None:
    store = results.store.path
    frame = query(store, columns="run,flow,name")
    name = frame["name"][0]
    number = frame["flow"][0]
    by_name = query(store, f"flow == '{name}'", columns="run,flow,name")
    assert 0 < by_name.height < frame.height
    assert by_name.equals(query(store, f"name == '{name}'", columns="run,flow,name"))
    assert by_name.equals(query(store, f"flow in ['{name}']", columns="run,flow,name"))
    assert by_name.equals(query(store, f"flow matches '^{name}$'", columns="run,flow,name"))
    assert set(query(store, f"flow == {number}", columns="run,flow")["flow"]) == {number}
    assert set(query(store, f"flow == '{number}'", columns="run,flow")["flow"]) == {number}


def test_columns_are_found_as_tables_and_documents_spell_them(results: Results) -> None:
    store = results.store.path
    for spelt, meant in (
        ("queue.limit > 1kB", "bottleneck.queue.limit > 1kB"),
        ("limited.cwnd > 0.1", "limited_cwnd > 0.1"),
        ("flow.limited.cwnd > 0.1", "limited_cwnd > 0.1"),
    ):
        found = query(store, spelt, columns="run,name")
        assert found.height > 0
        assert found.equals(query(store, meant, columns="run,name"))
