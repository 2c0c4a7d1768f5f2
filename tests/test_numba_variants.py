"""Classes that numba compiles: the runs that they give as plain Python, and what is refused."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.cli.exits import WRONG_INPUT
from cclab.errors import InputError
from cclab.execute.backends import alone
from cclab.sweep import RunsFailedError
from cclab.variant import native
from test_python_variants import RENO, STEPS, STUDY, traces, written

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

COMPILED = RENO.replace("from steps", "from cclab.variant import compiled\nfrom steps")
COMPILED = COMPILED.replace("class Reno", "@compiled\nclass Reno")
# Parts of a window are counted.
COMPILED = COMPILED.replace("self.count = 0", "self.count = 0.0")

EVERYTHING = """
import math

import numpy as np

from cclab.variant import Ack, Congestion, Report, Variant, compiled

LEAST = 2.0


def smoothed(old: float, new: float) -> float:
    return new if math.isnan(old) else old + (new - old) / 8


@compiled
class All(Variant):
    own_recovery = True
    gain = 1.25

    def __init__(self, beta: float = 0.7, window: int = 8):
        self.beta = beta
        self.rtt = math.nan
        self.best = np.zeros(window)
        self.rounds = 0
        self.probing = False
        self.unused = {"a": 1}
        self.timer = 0.3

    def grown(self, acked, by=1.0):
        return self.cwnd + by * acked / self.cwnd

    def on_ack(self, ack):
        if ack.rtt is not None:
            self.rtt = smoothed(self.rtt, ack.rtt)
        if ack.in_recovery or not ack.cwnd_limited:
            return
        if ack.delivery_rate is not None and not ack.app_limited:
            self.best[self.rounds % len(self.best)] = max(
                self.best[self.rounds % len(self.best)], ack.delivery_rate
            )
        if self.probing:
            self.cwnd = self.grown(ack.acked, by=self.random.uniform(0.5, 1.5))
        else:
            self.cwnd = self.grown(ack.acked)
        if self.random.random() < 0.01:
            self.cwnd += (ack.acked / 7) ** 3 + 2**self.rounds % 3 + self.rtt**1.5

    def on_congestion(self, event):
        if event.kind == "timeout" or event.in_flight < 3:
            return None
        self.cwnd = max(self.cwnd * self.beta, LEAST)
        return self.cwnd

    def on_report(self, report):
        self.rounds += 1
        if report.rtt is None:
            return
        best = 0.0
        for rate in self.best:
            best = max(best, rate)
        if best > 0:
            self.pacing_rate = max(self.gain * best, 1e5)
        if self.rounds > 30:
            self.rounds = 0
            self.pacing_rate = None

    def on_timer(self, now):
        self.probing = not self.probing
        self.timer = now + 0.2

    def on_undo(self):
        self.cwnd *= 0.99
"""


def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on classes are not compiled."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where compiled classes are kept: nothing is there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "cclab" / "python"


def studies() -> dict[str, str]:
    """Studies with losses, timeouts, and marks."""
    lossy = STUDY.replace('limit = "1bdp" }', 'limit = "1bdp" }\nloss = 0.1')
    marking = STUDY.replace('"droptail", limit = "1bdp"', '"codel", ecn = true, limit = "1000p"')
    marking = marking.replace('name = "a"', 'name = "a"\necn = true')
    return {"plain": STUDY, "lossy": lossy, "marking": marking}


def traced(folder: Path, study: str, cc: str, **files: str) -> dict[str, bytes]:
    """What a run of `study` with a flow of `cc` records."""
    file = written(folder, cc, **files)
    text = study.replace("CC", cc).replace("MORE", "").replace("DURATION", "10s")
    file.write_text(text)
    results = cclab.run(file, out=folder / "out")
    assert not [one for one in results.warnings if one.code == "not-repeatable"]
    return traces(results)


def test_compiled_reno_is_the_built_in_one_byte_for_byte(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, study in studies().items():
        compiled = traced(tmp_path / name, study, "./reno.py:Reno", reno=COMPILED, steps=STEPS)
        # One set of hooks serves all three.
        (kept,) = cache.iterdir()
        made = kept.stat().st_mtime_ns
        assert compiled == traced(tmp_path / f"{name} reno", study, "reno"), name
        with monkeypatch.context() as without:
            plainly(without)
            folder = tmp_path / f"{name} plain"
            plain = traced(folder, study, "./reno.py:Reno", reno=COMPILED, steps=STEPS)
        assert compiled == plain, name
        assert kept.stat().st_mtime_ns == made


def test_all_that_a_class_may_do_is_the_same_compiled(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, study in studies().items():
        compiled = traced(tmp_path / name, study, "./every.py:All", every=EVERYTHING)
        assert len([*cache.iterdir()]) == 1
        with monkeypatch.context() as without:
            plainly(without)
            folder = tmp_path / f"{name} plain"
            assert compiled == traced(folder, study, "./every.py:All", every=EVERYTHING), name


def test_what_compiled_code_is_made_of_names_it(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced(tmp_path / "a", STUDY, "./reno.py:Reno", reno=COMPILED, steps=STEPS)
    assert len([*cache.iterdir()]) == 1
    # A constant that is no text of the file.
    monkeypatch.setenv("STEP", "2")
    steps = STEPS.replace("flow.cwnd += grown", "flow.cwnd += grown * STEP")
    steps = "import os\nSTEP = int(os.environ['STEP'])\n" + steps
    two = traced(tmp_path / "b", STUDY, "./reno.py:Reno", reno=COMPILED, steps=steps)
    assert len([*cache.iterdir()]) == 2
    monkeypatch.setenv("STEP", "3")
    assert two != traced(tmp_path / "c", STUDY, "./reno.py:Reno", reno=COMPILED, steps=steps)
    assert len([*cache.iterdir()]) == 3


def test_what_is_kept_and_damaged_is_compiled_again(tmp_path: Path, cache: Path) -> None:
    first = traced(tmp_path / "a", STUDY, "./reno.py:Reno", reno=COMPILED, steps=STEPS)
    (kept,) = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    assert first == traced(tmp_path / "b", STUDY, "./reno.py:Reno", reno=COMPILED, steps=STEPS)
    assert kept.stat().st_size > 1000


def test_what_was_not_used_for_longest_is_forgotten(tmp_path: Path, cache: Path) -> None:
    traced(tmp_path / "a", STUDY, "./reno.py:Reno", reno=COMPILED, steps=STEPS)
    (used,) = cache.iterdir()
    os.utime(used, (0, 0))
    for number in range(205):
        old = cache / f"old-{number}"
        old.touch()
        os.utime(old, (number, number))
    # What is used stays, as long ago as it was made.
    traced(tmp_path / "b", STUDY, "./reno.py:Reno", reno=COMPILED, steps=STEPS)
    steps = STEPS + "# changed\n"
    traced(tmp_path / "c", STUDY, "./reno.py:Reno", reno=COMPILED, steps=steps)
    names = {file.name for file in cache.iterdir()}
    assert len(names) == 200
    assert used.name in names
    assert {"old-204", "old-7"} <= names
    assert "old-6" not in names


FIXED = """
import math

from cclab.variant import Variant, compiled

@compiled
class Fixed(Variant):
    def __init__(self, window: int = 20):
        self.window = window
        self.seen = 0
        self.rate = 0.5
        self.last = None
        self.on = False

    def on_ack(self, ack):
        BODY
        self.cwnd = self.window

    def twice(self, value):
        return 2 * value
"""
LINE = 16


def fixed(folder: Path, body: str) -> str:
    """The study of a class with `body` in its on_ack, on `LINE`."""
    return str(written(folder, "./fixed.py:Fixed", fixed=FIXED.replace("BODY", body)))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("self.cwnd = -1", "on_ack: ValueError: cwnd = -1: it is a finite number from 0 up"),
        ("self.cwnd = math.inf", "on_ack: ValueError: cwnd = inf: it is a finite number from 0 up"),
        (
            "self.pacing_rate = math.nan",
            "on_ack: ValueError: pacing_rate = NaN: it is a number from 1 up, or None",
        ),
        ("self.twice(1 / (ack.acked - ack.acked))", "on_ack: ZeroDivisionError: division by zero"),
        ("assert ack.now < 1, 'too late'", "on_ack: AssertionError: too late"),
        ("raise ValueError('no')", "on_ack: ValueError: no"),
    ],
)
def test_what_compiled_code_does_wrong_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, told: str
) -> None:
    def why(folder: Path) -> str:
        with pytest.raises(RunsFailedError) as raised:
            cclab.run(fixed(folder, body), out=folder / "out")
        ((_, reason),) = raised.value.failed
        return reason

    assert why(tmp_path / "compiled") == f"fixed.py:{LINE}: {told}"
    plainly(monkeypatch)
    where, _, said = why(tmp_path / "plain").partition(" ")
    assert (where.startswith(f"fixed.py:{LINE}:"), said) == (True, told)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("self.seen = 0.5", "self.seen begins as a whole number, and this has a fraction"),
        ("self.on = 1", "self.on begins as True or False, and this is a number"),
        ("self.last = 1", "self.last is None: compiled code has numbers"),
        ("self.sen = 1", "self has no 'sen': it has cwnd, ssthresh, pacing_rate, timer, now, mss"),
        ("x = ack.cwnd", "Ack has no 'cwnd': it has now, acked, rtt"),
        ("ack.acked = 1", "Ack.acked cannot be set"),
        ("open('log')", "numba cannot compile Fixed: Untyped global name 'open'"),
        ("x = {}[ack]", "numba cannot compile Fixed"),
        ("x = 'a' + 1", "numba cannot compile Fixed"),
        ("self.cwnd = 'a'", "numba cannot compile Fixed"),
    ],
)
def test_what_numba_cannot_compile_is_refused_with_its_line(
    tmp_path: Path, cli: Cli, body: str, told: str
) -> None:
    done = cli("run", fixed(tmp_path, body))
    assert done.returncode == WRONG_INPUT, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line]
    assert said.startswith(f"error: fixed.py:{LINE}: numba cannot compile Fixed: ")
    assert told in said
    assert "Traceback" not in done.stderr


def test_a_compiled_loop_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "HOOK_S", 5.0)
    file = fixed(tmp_path, "x = 1\n        while x > 0: x = x % 7 + 1")
    with pytest.raises(RunsFailedError) as raised:
        cclab.run(file, out=tmp_path / "out")
    ((_, reason),) = raised.value.failed
    assert reason == "fixed.py: on_ack did not come back within 5 s of the processor"


def test_an_index_beyond_the_array_is_an_error(tmp_path: Path) -> None:
    inside = "self.best[self.rounds % len(self.best)] = max("
    assert inside in EVERYTHING
    text = EVERYTHING.replace(inside, "self.best[8] = max(")
    file = written(tmp_path, "./every.py:All", every=text)
    with pytest.raises(RunsFailedError, match=r"every.py:\d+: on_ack: IndexError"):
        cclab.run(file, out=tmp_path / "out")


def test_without_numba_classes_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native.missing() is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert native.missing() == "numba is not installed (pip install 'cclab[numba]')"
    plainly(monkeypatch)
    assert native.missing() == "NUMBA_DISABLE_JIT is set"


def test_a_numba_that_does_not_load_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/llvmlite.py").write_text("raise ImportError('needs NumPy 1.0 or less')")
    path = os.pathsep.join([str(tmp_path / "broken"), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    with pytest.raises(InputError, match=r"numba cannot be used \(needs NumPy 1.0 or less\)"):
        cclab.run(fixed(tmp_path, "pass"), out=tmp_path / "out")
