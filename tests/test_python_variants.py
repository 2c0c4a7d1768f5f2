"""A congestion control as a Python class: what it is told, what it sets, and how it fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.errors import InputError
from cclab.execute.backends import alone
from cclab.sweep import RunsFailedError
from waiting import await_that

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli

RUST = (Path(__file__).parent.parent / "crates/rust/tests/variants/reno.rs").read_text()

STUDY = """
duration = "DURATION"
seed = 5
[network.bottleneck]
rate = "20Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name = "a"
cc = "CC"
MORE
[trace]
events = ["ack"]
"""

RENO = '''
"""Reno, as Linux has it."""

from steps import avoided, started


class Reno:
    """A segment a round trip; half of them after a loss."""

    def __init__(self):
        self.count = 0

    def on_ack(self, ack):
        if not ack.cwnd_limited:
            return
        acked = started(self, ack.acked)
        if acked:
            avoided(self, acked)

    def on_congestion(self, event):
        self.count = 0
        return max(self.cwnd // 2, 2)
'''
STEPS = '''
def started(flow, acked):
    """Slow start, up to the threshold: what is left of `acked`."""
    if flow.cwnd >= flow.ssthresh:
        return acked
    cwnd = min(flow.cwnd + acked, flow.ssthresh)
    left = acked - int(cwnd - flow.cwnd)
    flow.cwnd = cwnd
    return left


def avoided(flow, acked):
    """A segment for each window acknowledged."""
    window = flow.cwnd
    if flow.count >= window:
        flow.count = 0
        flow.cwnd += 1
    flow.count += acked
    if flow.count >= window:
        grown = flow.count // window
        flow.count -= grown * window
        flow.cwnd += grown
'''

FIXED = """
from cclab.variant import Variant

class Fixed(Variant):
    def __init__(self, window: int = 20, doubled: bool = False):
        self.cwnd = self.window = window * (1 + doubled)
        assert type(window) is int and type(doubled) is bool

    def on_ack(self, ack):
        BODY
        self.cwnd = self.window
"""


def written(folder: Path, cc: str, *, duration: str = "2s", more: str = "", **files: str) -> Path:
    """A study with a flow of `cc`, beside Python `files`."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    study = STUDY.replace("CC", cc).replace("MORE", more).replace("DURATION", duration)
    file = folder / "study.toml"
    file.write_text(study)
    return file


def ran(folder: Path, cc: str, **given: str) -> Results:
    """The results of a study with a flow of `cc`."""
    return cclab.run(written(folder, cc, **given), out=folder / "out")


def traces(results: Results) -> dict[str, bytes]:
    """What was recorded in the one run, but for what has the variant's name in it."""
    (run,) = results.runs
    names = ("acks", "flow_samples", "queue_samples", "links", "histograms")
    return {name: run.trace.bytes(f"{name}.parquet") for name in names}


def why(folder: Path, body: str, **given: str) -> str:
    """Why the run of a class with `body` in its on_ack, on line 10, fails."""
    with pytest.raises(RunsFailedError) as raised:
        ran(folder, "./fixed.py:Fixed", fixed=FIXED.replace("BODY", body), **given)
    ((_, reason),) = raised.value.failed
    return reason


def test_reno_as_a_class_is_the_built_in_one_byte_for_byte(tmp_path: Path) -> None:
    # Losses, timeouts, and marks.
    lossy = STUDY.replace('limit = "1bdp" }', 'limit = "1bdp" }\nloss = 0.1')
    marking = STUDY.replace('"droptail", limit = "1bdp"', '"codel", ecn = true, limit = "1000p"')
    marking = marking.replace('name = "a"', 'name = "a"\necn = true')
    assert lossy != STUDY != marking
    seen = {}
    for name, study in (("plain", STUDY), ("lossy", lossy), ("marking", marking)):
        found: list[dict[str, bytes]] = []
        for cc in ("reno", "./own.rs", "./reno.py:Reno"):
            folder = tmp_path / f"{name} {len(found)}"
            file = written(folder, cc, duration="20s", reno=RENO, steps=STEPS)
            (folder / "own.rs").write_text(RUST)
            text = study.replace("CC", cc).replace("MORE", "").replace("DURATION", "20s")
            file.write_text(text)
            results = cclab.run(file, out=folder / "out")
            (row,) = results.flows.to_dicts()
            (marks,) = results.bottlenecks["ecn_marks"].to_list()
            seen[name] = (row["retransmits"], row["rtos"], marks)
            found.append(traces(results))
        assert found[0] == found[1] == found[2], name
    assert seen["plain"][0] > 0
    assert seen["lossy"][1] > 0
    assert seen["marking"][2] > 0


def test_parameters_become_arguments_of_the_kind_of_their_defaults(tmp_path: Path) -> None:
    fixed = FIXED.replace("BODY", "pass")
    given = "cc_params = { window = 8, doubled = true }"
    (row,) = ran(tmp_path, "./fixed.py:Fixed", more=given, fixed=fixed).flows.to_dicts()
    assert (row["cc"], row["cc_in_force"]) == ("Fixed", "Fixed")
    assert row["cwnd_mean_segments"] == pytest.approx(16, abs=0.1)
    # 16 segments each round trip, which no queue makes longer.
    assert row["goodput_bps"] == pytest.approx(16 * 1448 * 8 / row["srtt_mean_s"], rel=0.02)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("windw = 8", "has no parameter windw; did you mean window?"),
        ("x = 8", "has no parameter x; its __init__ takes: window, doubled"),
    ],
)
def test_parameters_that_the_class_does_not_take_are_refused(
    tmp_path: Path, given: str, told: str
) -> None:
    fixed = FIXED.replace("BODY", "pass")
    with pytest.raises(InputError, match=f"^fixed.py: Fixed {told}"):
        ran(tmp_path, "./fixed.py:Fixed", more=f"cc_params = {{ {given} }}", fixed=fixed)


def test_a_file_that_cannot_be_imported_is_refused_with_its_place(tmp_path: Path, cli: Cli) -> None:
    cases = {
        "class A:\n    def on_ack(self, ack)\n        pass\n": "a.py:2:26: expected ':'",
        "import beside\nclass A:\n    on_ack = 1\n": "beside.py:1:1: import A: ZeroDivisionError",
        "class A:\n    pass\n": "a.py: A defines neither on_ack nor on_report",
        "class A:\n    on_ack = 1\n\nimport nowhere_at_all\n": "a.py:4:1: import A: ModuleNotFound",
    }
    for text, told in cases.items():
        file = written(tmp_path, "./a.py:A", a=text, beside="1 / 0\n")
        done = cli("run", file)
        assert done.returncode == WRONG_INPUT
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_an_exception_ends_its_run_with_the_line_of_the_file(tmp_path: Path, cli: Cli) -> None:
    broken = FIXED.replace("BODY", "assert ack.now < 1, 'too late'")
    file = written(tmp_path, "cubic", fixed=broken)
    swept = '\n[sweep]\n"flow.a.cc" = ["cubic", "./fixed.py:Fixed", "reno"]\n'
    file.write_text(file.read_text() + swept)
    done = cli("run", file, "--json")
    assert done.returncode == RUN_FAILED
    told = "fixed.py:10:16: on_ack: AssertionError: too late"
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    assert [failed["reason"] for failed in document["failed"]] == [told]
    assert len(document["runs"]) == 2


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("self.cwnd = -1", "fixed.py:10:9: on_ack: ValueError: cwnd = -1: it is a finite number"),
        ("self.cwnd = 'a'", "fixed.py:10:9: on_ack: ValueError: cwnd = 'a': it is a finite n"),
        ("ack.now = 1", "fixed.py:10:9: on_ack: AttributeError: "),
        ("import sys; sys.exit()", "fixed.py:10:21: on_ack: SystemExit"),
        ("import os; os._exit(7)", "fixed.py: its process ended with exit code 7"),
        ("import ctypes; ctypes.string_at(0)", "fixed.py:10: on_ack: ended by SIGSEGV"),
    ],
)
def test_what_a_class_does_wrong_ends_its_run_with_a_message(
    tmp_path: Path, body: str, told: str
) -> None:
    assert why(tmp_path, body).startswith(told)


def test_a_loop_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "HOOK_S", 1.0)
    loop = why(tmp_path / "a", "\n        while True: pass")
    assert re.fullmatch(
        r"fixed.py:11:\d+: on_ack: did not come back within 1 s of the processor", loop
    )
    # No line of Python comes to its turn within this one.
    stuck = why(tmp_path / "b", "sum(range(10 ** 12))")
    assert stuck == "fixed.py: on_ack did not come back within 1 s of the processor"
    fixed = "while True: pass\nclass Fixed: pass"
    with pytest.raises(InputError, match=r"^fixed.py:1:\d+: import Fixed: did not come back"):
        ran(tmp_path / "c", "./fixed.py:Fixed", fixed=fixed)


def test_an_import_that_ends_its_process_is_refused_with_the_file(tmp_path: Path) -> None:
    fixed = "import os\nos._exit(7)\nclass Fixed: pass"
    with pytest.raises(InputError, match=r"^fixed.py: its process ended with exit code 7$"):
        ran(tmp_path, "./fixed.py:Fixed", fixed=fixed)


def test_a_class_is_told_of_congestion_and_says_what_the_window_comes_to(tmp_path: Path) -> None:
    text = """
class Told:
    def __init__(self):
        self.kinds = []

    def on_ack(self, ack):
        self.cwnd += ack.acked if self.cwnd < self.ssthresh else ack.acked / self.cwnd
        assert ack.rtt is None or 0.0199 < ack.min_rtt <= ack.rtt < 0.05
        assert ack.now == self.now and self.mss == 1448
        if self.kinds:
            cwnd, ssthresh = self.kinds[-1]
            assert int(self.ssthresh) == int(ssthresh) == int(cwnd * 0.8), (self.ssthresh, cwnd)

    def on_congestion(self, event):
        assert event.kind == "loss"
        before = self.cwnd
        self.cwnd *= 0.8
        self.kinds.append((before, self.cwnd))
        assert event.in_flight < before
        print(event.now, before)
"""
    results = ran(tmp_path, "./told.py:Told", duration="10s", told=text)
    (row,) = results.flows.to_dicts()
    assert row["retransmits"] > 5
    assert row["goodput_bps"] > 0.9 * 20e6


def test_the_dice_of_a_flow_are_its_own_and_fall_the_same_again(tmp_path: Path) -> None:
    text = """
class Random:
    def on_ack(self, ack):
        self.cwnd = self.random.uniform(2, 30)
"""
    first, again = (traces(ran(tmp_path / i, "./r.py:Random", r=text)) for i in "ab")
    assert first == again
    other = written(tmp_path / "c", "./r.py:Random", r=text)
    other.write_text(other.read_text().replace("seed = 5", "seed = 6"))
    assert traces(cclab.run(other, out=tmp_path / "c" / "out")) != first


def test_a_clock_from_outside_is_found_by_doing_the_first_run_twice(tmp_path: Path) -> None:
    text = """
import CLOCK

class Clock:
    def on_ack(self, ack):
        self.cwnd = 10 + VALUE
"""
    cases = {
        "time": "time.perf_counter_ns() % 7",
        "random": "random.randrange(7)",
        "math": "math.floor(self.random.random() * 7)",
    }
    for module, value in cases.items():
        clock = text.replace("CLOCK", module).replace("VALUE", value)
        results = ran(tmp_path / module, "./c.py:Clock", c=clock)
        found = [warning for warning in results.warnings if warning.code == "not-repeatable"]
        assert len(found) == (module != "math"), module
        assert all("acks.parquet" in warning.message for warning in found)


def test_a_class_may_decide_once_a_round_trip_and_by_a_timer(tmp_path: Path) -> None:
    text = """
class Report:
    def __init__(self):
        self.told = []
        self.timer = 0.5
        self.timed = 0

    def on_report(self, report):
        self.told.append(report)
        self.cwnd = 20
        rates = [self.mss * report.acked / report.interval, report.delivery_rate]
        assert abs(rates[0] - rates[1]) < 1
        if report.now > 0.2:
            assert 0.019 < report.rtt_min <= report.rtt <= report.rtt_max < 0.05
            assert 18 <= report.acked <= 22 and report.lost == 0

    def on_timer(self, now):
        self.timed += 1
        assert 0.5 * self.timed <= now < 0.5 * self.timed + 0.05
        self.timer = 0.5 * (self.timed + 1)
        assert self.timed == 1 or 20 <= len(self.told) <= 28
        self.told.clear()
"""
    (row,) = ran(tmp_path, "./report.py:Report", report=text).flows.to_dicts()
    assert row["cwnd_mean_segments"] == pytest.approx(20, abs=0.5)


def test_a_class_may_pace_and_keep_its_window_while_losses_are_repaired(tmp_path: Path) -> None:
    text = """
from cclab.variant import Variant

class Paced(Variant):
    own_recovery = True
    rates = []

    def __init__(self):
        self.pacing_rate = 1_000_000
        self.cwnd = 200

    def on_ack(self, ack):
        if ack.delivery_rate and not ack.app_limited:
            self.rates.append(ack.delivery_rate)

    def on_congestion(self, event):
        pass
"""
    (row,) = ran(tmp_path, "./paced.py:Paced", paced=text).flows.to_dicts()
    # The first ten segments leave at once.
    assert row["goodput_bps"] == pytest.approx(8e6, rel=0.02)
    assert row["retransmits"] == 0


def test_what_a_class_prints_is_no_part_of_the_answer(tmp_path: Path, cli: Cli) -> None:
    noisy = FIXED.replace("BODY", "print('noise', flush=True); import os; os.write(2, b'noise')")
    done = cli("run", written(tmp_path, "./fixed.py:Fixed", fixed=noisy), "--json")
    assert done.returncode == DONE, done.stderr
    assert json.loads(done.stdout)["runs"]
    assert "noise" not in done.stderr


def test_a_run_ends_with_the_process_that_asked_for_it(tmp_path: Path) -> None:
    body = f"""import os, pathlib, time
        pathlib.Path('{tmp_path}/pid').write_text(str(os.getpid()))
        time.sleep(10_000)"""
    file = written(tmp_path, "./fixed.py:Fixed", fixed=FIXED.replace("BODY", body))
    pid = tmp_path / "pid"

    def gone() -> bool:
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return True
        return False

    for end in ("terminate", "kill"):
        pid.unlink(missing_ok=True)
        words = [sys.executable, "-m", "cclab", "run", str(file)]
        with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            await_that(lambda: pid.exists() and pid.read_text(), "the class to be called")
            getattr(process, end)()
            process.wait()
            await_that(gone, "the process of the run to end")
