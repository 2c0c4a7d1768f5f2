"""The command line: exit codes, and one clear message for each thing that can be wrong."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from cclab import _core
from cclab.cli import listing
from cclab.cli.exits import DONE, EXPECTATION_FAILED, RUN_FAILED, WRONG_INPUT
from cclab.cli.listing import What
from cclab.cli.main import VERBS, invoke
from cclab.store import Store
from conftest import ROOT, STUDY, files_of

if TYPE_CHECKING:
    from conftest import Cli


def _refused(code: int, told: str, complaint: str) -> str:
    """The message of a refusal: on standard error, nothing on the other stream, no traceback."""
    assert code == WRONG_INPUT, complaint
    assert told == ""
    assert "Traceback" not in complaint
    assert complaint.startswith("error: ")
    return complaint


def test_help_lists_the_verbs_of_this_version(cli: Cli) -> None:
    told = cli("--help")
    assert told.returncode == DONE
    verbs = ("run", "plan", "report", "show", "compare", "reproduce", "analyze", "list", "doctor")
    for verb in (*verbs, "kernel", "schema"):
        assert verb in told.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_the_table_of_contents_says_of_a_verb_what_the_verb_says_of_itself(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([verb, "--help"]) == DONE
    told = " ".join(capsys.readouterr().out.split())
    assert " ".join(VERBS[verb][1].split()) in told


def test_the_table_of_contents_loads_no_verb() -> None:
    script = (
        "import sys; from cclab.cli.main import VERBS, invoke; invoke(['--help']); "
        "loaded = {f'cclab.cli.{module}' for module, _ in VERBS.values()} | {'numpy', 'polars'}; "
        "sys.exit(', '.join(loaded & sys.modules.keys()) or 0)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_run_prints_the_table_and_writes_the_report(cli: Cli, study: Path, tmp_path: Path) -> None:
    done = cli("run", study, "--out", tmp_path / "out")
    assert done.returncode == DONE, done.stderr
    assert "Two flows on a slow link" in done.stdout
    for word in ("short", "long", "cubic", "reno", "Jain"):
        assert word in done.stdout
    assert (tmp_path / "out" / "report" / "index.html").is_file()
    again = cli("run", study, "--out", tmp_path / "out")
    assert again.returncode == DONE
    assert "4 of 4 runs are in" in again.stderr
    assert again.stdout == done.stdout


def test_a_report_of_the_same_results_is_not_drawn_again(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = ["run", str(study), "--out", str(out), "--set", "duration=300ms", "--set", "warmup=0s"]
    assert invoke(run) == DONE
    page, figure = out / "report" / "index.html", out / "report" / "cwnd.svg"
    drawn = page.stat().st_mtime_ns
    assert invoke(run) == DONE
    assert page.stat().st_mtime_ns == drawn
    figure.unlink()
    assert invoke(run) == DONE
    assert figure.is_file()
    drawn = page.stat().st_mtime_ns
    assert invoke([*run, "--repeat", "1"]) == DONE
    assert page.stat().st_mtime_ns > drawn
    drawn = page.stat().st_mtime_ns
    assert invoke(["report", str(out)]) == DONE
    assert page.stat().st_mtime_ns > drawn


def test_drawing_is_not_loaded_where_nothing_is_drawn(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = ["run", str(study), "--out", str(out), "--set", "duration=300ms", "--set", "warmup=0s"]
    assert invoke(run) == DONE
    script = (
        "import sys; from cclab.cli.main import invoke; assert invoke(sys.argv[2:]) == 0; "
        "sys.exit(any(name in sys.modules for name in sys.argv[1].split(',')))"
    )
    command = [sys.executable, "-c", script]
    subprocess.run([*command, "matplotlib,scipy", *run], check=True, capture_output=True)
    listing = ["list", "variants"]
    subprocess.run([*command, "matplotlib,polars", *listing], check=True, capture_output=True)


def test_results_go_to_a_folder_named_after_the_study(
    cli: Cli, study: Path, tmp_path: Path
) -> None:
    done = cli("run", study, "--set", "duration=200ms", "--set", "warmup=0s", "--repeat", 1)
    assert done.returncode == DONE, done.stderr
    assert len(list((tmp_path / "results" / "study file" / "runs").iterdir())) == 2


def test_report_works_from_the_folder_alone(cli: Cli, study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = cli("run", study, "--out", out, "--json")
    page = (out / "report" / "index.html").read_bytes()
    study.unlink()
    again = cli("report", out, "--json")
    assert again.returncode == DONE, again.stderr
    assert again.stdout == first.stdout
    assert (out / "report" / "index.html").read_bytes() == page


def test_bytes_changed_inside_every_run_are_found_and_mended_by_running_again(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run = ["run", str(study), "--out", str(out), "--set", "duration=200ms", "--set", "warmup=0s"]
    assert invoke(run) == DONE
    before = files_of(out / "runs")
    ids = sorted(Store(out).ids())
    for name in ids:
        with Store(out).file(name).open("r+b") as file:
            file.seek(300)
            file.write(b"\xff\x00\xff\x00")
    capsys.readouterr()
    assert invoke(["report", str(out)]) == RUN_FAILED
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"error: 4 damaged runs in {out}; `cclab run STUDY.toml --out")
    assert complaint.count("error:") == 1
    assert all(name in complaint for name in ids)
    assert invoke(run) == DONE
    assert f"4 damaged runs in {out}: run again" in capsys.readouterr().err
    assert files_of(out / "runs") == before
    assert invoke(["report", str(out)]) == DONE


def test_report_of_damaged_and_of_missing_runs(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    short = ["--set", "duration=200ms", "--set", "warmup=0s"]
    run = ["run", str(study), "--out", str(out), *short]
    assert invoke(run) == DONE
    first, second, *_ = sorted((out / "runs").iterdir())
    whole = first.read_bytes()
    first.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert invoke(["report", str(out)]) == RUN_FAILED
    assert "error: 1 damaged run in " in capsys.readouterr().err
    first.write_bytes(whole[:100])
    assert invoke(["report", str(out)]) == RUN_FAILED
    assert invoke(run) == DONE
    assert first.read_bytes() == whole
    second.unlink()
    assert invoke(["report", str(out)]) == DONE
    shutil.rmtree(out / "runs")
    assert invoke(["report", str(out)]) == WRONG_INPUT


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nowhere.toml"], "nowhere.toml: no such file"),
        (["run", "."], "is a folder"),
        (
            ["run", "latin.toml"],
            "latin.toml:1:12: the byte \\xef is not UTF-8 (in Latin-1 it is ï)",
        ),
        (
            ["run", "wide.toml"],
            "wide.toml:1:1: the byte \\xff is not UTF-8 (the file begins as",
        ),
        (
            ["run", "late.toml"],
            "late.toml:3:5: the byte \\x80 is not UTF-8; save the file as UTF-8",
        ),
        (["report", "kept/plan.json"], "kept/plan.json is a file in a results folder: name kept"),
        (["store", "import", "nowhere", "out"], "nowhere: no such folder or archive"),
        (["run", "wrong.toml"], "wrong.toml:3:1"),
        (["plan", "wrong.toml"], "did you mean"),
        (["run", "ok.toml", "--backend", "ns3"], "ns3"),
        (["run", "ok.toml", "--backend", "sum"], "sum"),
        (["run", "ok.toml", "--jobs", "0"], "error: --jobs 0: at least 1\n"),
        (["run", "ok.toml", "--jobs", "many"], "error: --jobs many: not a whole number\n"),
        (["run", "ok.toml", "--repeat", "0"], "error: --repeat 0: at least 1\n"),
        (["run", "ok.toml", "--repeat", "-1"], "error: --repeat -1: at least 1\n"),
        (
            ["run", "ok.toml", "--repeat", "few"],
            '--repeat:1:1: "few" is no rule for repeats; write',
        ),
        (["run", "ok.toml", "--seed", "x"], "error: --seed x: not a whole number\n"),
        (["plan", "ok.toml", "--seed", "9" * 30], "at most 18446744073709551615\n"),
        (["plan", "ok.toml", "--repeat", "9" * 12], "at most 4294967295\n"),
        (["run", "ok.toml", "--out", "ok.toml"], "cannot write to ok.toml"),
        (["run", "ok.toml", "--set", "flow.shrt.cc=reno"], "shrt"),
        (["run", "ok.toml", "--set", "nonsense"], "nonsense"),
        (["run", "ok.toml", "--set", "flow.long.cc=nv"], "flow.long.cc: variant nv"),
        (
            ["run", "ok.toml", "--cluster", "tls://127.0.0.1:1"],
            "tls://127.0.0.1:1 is reached with credentials, and Dask's configuration has none",
        ),
        (["run", "ok.toml", "--cluster"], "--cluster"),
        (
            ["run", "ok.toml", "--only", "zz"],
            "no run of this study has an id that begins with 'zz'",
        ),
        (
            ["plan", "ok.toml", "--set", "flow.*.rtt=1ms"],
            "names nothing: there is no flow `*`; `flow.rtt` is that key of every flow",
        ),
        (["run"], "STUDY.toml"),
        (["report", "nowhere"], "nowhere is not a results folder: no such folder"),
        (["report", "."], "there is no plan.json in it"),
        (["list", "colours"], "'colours' is not something to list; one of variants, qdiscs, "),
        (["list"], "list what? One of variants, "),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_input_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.toml").write_text(STUDY)
    (tmp_path / "wrong.toml").write_text(STUDY.replace("duration", "durration"))
    (tmp_path / "latin.toml").write_bytes('title = "naïve"\n'.encode("latin-1"))
    (tmp_path / "wide.toml").write_text('title = "naïve"\n', encoding="utf-16")
    (tmp_path / "late.toml").write_bytes("# ä\n\n# äb".encode() + b"\x80")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "plan.json").write_text("{}")
    code = invoke(arguments)
    told = capsys.readouterr()
    assert said in _refused(code, told.out, told.err)


def test_an_unreadable_study_is_refused(cli: Cli, tmp_path: Path) -> None:
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    done = cli("run", loop)
    assert "cannot read" in _refused(done.returncode, done.stdout, done.stderr)


def test_an_expectation_that_fails_is_named_with_point_and_value(
    cli: Cli, study: Path, tmp_path: Path
) -> None:
    checks = '\n[expect]\nimpossible = "jain > 1"\nsure = "bottleneck.utilization > 0.01"\n'
    study.write_text(STUDY + checks)
    done = cli("run", study, "--out", tmp_path / "out")
    assert done.returncode == EXPECTATION_FAILED
    failures = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(failures) == 2
    assert "impossible: jain > 1, but it is 0." in failures[0]
    assert "flow.short.cc = reno" in failures[0]
    assert "flow.short.cc = cubic" in failures[1]
    again = cli("run", study, "--out", tmp_path / "out", "--json")
    assert again.returncode == EXPECTATION_FAILED
    assert [line for line in again.stderr.splitlines() if line.startswith("error:")] == failures
    document = json.loads(again.stdout)
    impossible, sure = document["expectations"]
    assert (impossible["label"], impossible["met"]) == ("impossible", False)
    assert [f["params"]["flow.short.cc"] for f in impossible["failures"]] == ["reno", "cubic"]
    # The study has a warm-up: the check is of the time after it.
    means = [point["window_jain"]["mean"] for point in document["summary"]]
    assert [f["measured"] for f in impossible["failures"]] == means
    assert sure == {
        "label": "sure",
        "expression": "bottleneck.utilization > 0.01",
        "met": True,
        "finding": "holds",
        "failures": [],
    }


def test_json_is_the_only_thing_on_standard_output(cli: Cli, study: Path, tmp_path: Path) -> None:
    for verb in (["run", study, "--out", tmp_path / "o", "--json"], ["plan", study, "--json"]):
        done = cli(*verb)
        assert done.returncode == DONE, done.stderr
        json.loads(done.stdout)
    for what in What:
        rows = json.loads(cli("list", what, "--json", cwd=ROOT).stdout)[what]
        assert rows
        assert what in ("studies",) or all(row["name"] for row in rows)
    assert "properties" in json.loads(cli("schema").stdout)
    assert json.loads(cli("doctor", "--json").stdout)["checks"]


def test_what_lacks_for_the_kernel_is_made_as_the_readme_makes_it(
    cli: Cli, study: Path, tmp_path: Path
) -> None:
    absent = {"CCLAB_AGENT": str(tmp_path / "nowhere")}
    told = json.loads(cli("doctor", "--json", **absent).stdout)["checks"]
    (remedy,) = [check["remedy"] for check in told if check["name"] == "linux: agent"]
    assert f"\n    {remedy} " in (ROOT / "README.md").read_text()
    planned = cli("plan", study, "--backend", "linux", **absent)
    assert f"`{remedy}`" in planned.stdout + planned.stderr


def test_doctor_leaves_nothing_behind(cli: Cli, tmp_path: Path) -> None:
    assert cli("doctor").returncode == DONE
    assert list(tmp_path.iterdir()) == []


def test_doctor_says_when_results_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    done = cli("doctor")
    assert done.returncode == RUN_FAILED
    assert "MISSING results folder: cannot write to results" in done.stdout


def test_versions_are_those_of_cclab_and_of_what_runs_and_numbers_go_through(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["--version"]) == DONE
    told = capsys.readouterr().out
    versions = (
        f"core {_core.CORE_VERSION}, testbed {_core.TESTBED_VERSION}, "
        f"metrics {_core.METRICS_VERSION}"
    )
    assert told == f"cclab {_core.VERSION}, {versions}\n"


def test_list_of_studies_says_what_they_run_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "one.toml").write_text(STUDY)
    (tmp_path / "examples" / "two.toml").write_text('backend = "linux"\n' + STUDY)
    monkeypatch.chdir(tmp_path)
    assert invoke(["list", "studies", "--json"]) == DONE
    listed = json.loads(capsys.readouterr().out)["studies"]
    # The ready ones stand before those of the folder.
    assert [row["backend"] for row in listed[-2:]] == ["sim", "linux"]


@pytest.mark.parametrize("what", list(What))
def test_a_list_fits_eighty_columns_of_a_terminal_and_is_whole_in_a_pipe(
    what: What, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert invoke(["list", what]) == DONE
    piped = capsys.readouterr().out
    assert invoke(["list", what, "--json"]) == DONE
    for row in json.loads(capsys.readouterr().out)[what]:
        assert str(row.get("summary", "")) in piped

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    shown = Console(file=terminal, width=200, force_terminal=True, no_color=True, color_system=None)
    monkeypatch.setattr(listing, "stdout", lambda: shown)
    assert invoke(["list", what]) == DONE
    told = terminal.getvalue()
    assert max(len(line.rstrip()) for line in told.splitlines()) <= 80
    assert "e+" not in told


def test_no_colours_outside_a_terminal_or_when_asked(cli: Cli, study: Path, tmp_path: Path) -> None:
    done = cli("run", study, "--out", tmp_path / "out", NO_COLOR="1")
    assert "\x1b" not in done.stdout + done.stderr


def test_a_results_folder_is_gone_on_with_and_done_anew_elsewhere(
    cli: Cli, study: Path, tmp_path: Path
) -> None:
    out, set_ = tmp_path / "out", ["--set", "duration=1s", "--set", "flow.long.rtt=70ms"]
    assert cli("run", study, "--out", out, *set_).returncode == DONE
    study.unlink()
    runs = sorted(run.name for run in (out / "runs").iterdir())
    (out / "runs" / runs[0]).unlink()
    again = cli("run", out)
    assert again.returncode == DONE
    assert f"3 of 4 runs are in {out} already" in again.stderr
    assert sorted(run.name for run in (out / "runs").iterdir()) == runs
    elsewhere = tmp_path / "elsewhere"
    one = cli("run", out / "plan.json", "--out", elsewhere, "--only", Path(runs[1]).stem)
    assert one.returncode == DONE
    assert files_of(elsewhere / "runs") == {runs[1]: (out / "runs" / runs[1]).read_bytes()}
    refused = cli("run", out, *set_)
    assert refused.returncode == WRONG_INPUT
    assert "is a results folder: what is set" in refused.stderr
    plan = out / "plan.json"
    version = json.loads(plan.read_text())["points"][0]["version"]
    whole = plan.read_text()
    _become(Store(out), whole.replace(version, "0.0.1+00000000"))
    other = cli("run", out)
    assert other.returncode == WRONG_INPUT
    assert "its results would be others" in other.stderr
    core = f"core {_core.CORE_VERSION}"
    assert version.startswith(f"{core}, ")
    _become(Store(out), whole.replace(core, "core 0"))
    older = cli("run", out)
    assert older.returncode == WRONG_INPUT
    assert f"is of core 0, and this is {core}: its results would be others" in older.stderr
    assert cli("run", tmp_path / "none" / "plan.json").returncode == WRONG_INPUT


def _become(store: Store, plan: str) -> None:
    """Makes `plan` the one last run in `store`."""
    for file in (store.place_of_text(plan.encode()), store.path / "plan.json"):
        file.write_text(plan)


@pytest.mark.parametrize("address", ["foo", "localhost", "", "http://x:1", "tcp://host"])
def test_what_is_no_address_of_a_scheduler_is_refused(
    cli: Cli, study: Path, tmp_path: Path, address: str
) -> None:
    refused = cli("run", study, "--out", tmp_path / "out", "--cluster", address)
    assert refused.returncode == WRONG_INPUT
    assert "is no file of a cluster, and no address of a Dask scheduler" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    both = cli("run", study, "--cluster", "tcp://127.0.0.1:1", "--jobs", "1")
    assert both.returncode == WRONG_INPUT


def test_checks_are_told_beside_failed_runs_and_by_the_report(
    cli: Cli, study: Path, tmp_path: Path
) -> None:
    study.write_text(study.read_text() + '\n[expect]\nfair = "jain > 0.9999"\n')
    out = tmp_path / "out"
    assert cli("run", study, "--out", out).returncode == EXPECTATION_FAILED
    told = cli("report", out)
    assert told.returncode == DONE
    assert "expectation not met: fair: jain > 0.9999" in told.stderr
