"""Whatever happens to a sweep, the store ends as that of an undisturbed one."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from msgspec import structs

from attacks.disks import PRIVATE
from cclab import Study
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.failures import Commands
from cclab.cli.main import invoke
from cclab.execute.backends.sim import Simulator
from cclab.store.writer import Writer
from conftest import ROOT, files_of, flip, index_of, kept
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab._core import Progress
    from cclab.plan import Run

KILLS = 20

LONG = ("--set", "duration=60s", "--repeat", "150", "--jobs", "2")
"""So many runs that twenty killed sweeps do not end them all."""

SHORT = ("--repeat", "10", "--jobs", "2")


def command(study: Path, out: Path, *options: str) -> list[str]:
    """The words that run `study` into `out`."""
    return [sys.executable, "-m", "cclab", "run", str(study), "--out", str(out), *options]


def swept(study: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs `study` into `out`, undisturbed."""
    return subprocess.run(
        command(study, out, *options),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def entries(out: Path) -> int:
    """How many entries there are."""
    return len(list((out / "runs").iterdir())) if (out / "runs").is_dir() else 0


def test_twenty_kills_of_the_parent_leave_no_mark(study: Path, tmp_path: Path) -> None:
    """SIGKILL at moments drawn at random after the sweep has begun."""
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    done = swept(study, undisturbed, *LONG)
    assert done.returncode == DONE, done.stderr
    chance = random.Random(1)
    under_way = 0
    for _ in range(KILLS):
        before = entries(disturbed)
        child = subprocess.Popen(
            command(study, disturbed, *LONG),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            # What dead sweeps left is swept when the next begins.
            while not any((disturbed / "tmp").glob("writer-*/work-*")):
                assert child.poll() is None, "the sweep ended before it could be killed"
                time.sleep(0.001)
            time.sleep(chance.uniform(0.0, 0.4))
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        assert entries(disturbed) >= before
        under_way += entries(disturbed) < 300
    assert under_way == KILLS
    done = swept(study, disturbed, *LONG)
    assert done.returncode == DONE, done.stderr
    assert f"{entries(undisturbed)} of 300" not in done.stderr
    assert len([name for name in kept(undisturbed) if name.startswith("runs/")]) == 300
    assert kept(disturbed) == kept(undisturbed)
    assert not (disturbed / "aside").exists()


def test_entries_that_are_not_as_they_were_written_are_set_aside_and_done_again(
    study: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert swept(study, out, *SHORT).returncode == DONE
    before = kept(out)
    torn, foreign, rotten, gone, folder = sorted((out / "runs").iterdir())[:5]
    os.truncate(torn, 100)
    shutil.copyfile(rotten, foreign)
    flip(rotten)
    gone.unlink()
    folder.unlink()
    shutil.copytree(out / "plans", folder)
    (out / "runs" / "notes.txt").write_text("not ours")
    done = swept(study, out, *SHORT)
    assert done.returncode == DONE, done.stderr
    assert "15 of 20 runs are in" in done.stderr
    assert "4 damaged runs in" in done.stderr
    (out / "runs" / "notes.txt").unlink()
    assert kept(out) == before
    aside = sorted(place.name.rsplit("-", 1)[0] for place in (out / "aside").iterdir())
    assert aside == sorted(place.stem for place in (torn, foreign, rotten, folder))


def test_no_run_is_told_by_the_file_of_another(study: Path, tmp_path: Path) -> None:
    """A sound file in the place of another: its numbers are not those of the other run."""
    out = tmp_path / "out"
    once = ("--repeat", "1", "--json")
    told = swept(study, out, *once)
    assert told.returncode == DONE, told.stderr
    before = kept(out)
    own, other = sorted((out / "runs").iterdir())
    shutil.copyfile(other, own)
    again = swept(study, out, *once)
    assert again.returncode == DONE, again.stderr
    assert again.stdout == told.stdout
    assert "1 damaged run in" in again.stderr
    assert kept(out) == before
    (aside,) = (out / "aside").glob("*/*.zip")
    assert aside.name == own.name
    assert aside.read_bytes() == other.read_bytes()


def test_a_full_disk_ends_in_a_message_and_room_in_the_same_store(
    study: Path, tmp_path: Path
) -> None:
    """The store is a file system of 300 KiB, and then of 100 MiB."""
    full, whole = tmp_path / "full", tmp_path / "whole"
    assert swept(study, whole, *SHORT).returncode == DONE
    full.mkdir()
    script = (
        f"mount -t tmpfs -o size=300k tmpfs {full} || exit 99\n"
        '"$@" >&2; code=$?; echo "first: $code" >&2\n'
        f"ls {full}/tmp >&2\n"
        f"mount -o remount,size=100M {full} || exit 99\n"
        '"$@" >&2; code=$?\n'
        f"cp -r {full} {tmp_path}/copy\n"
        "exit $code\n"
    )
    done = subprocess.run(
        [*PRIVATE, "sh", "-c", script, "sh", *command(study, full, *SHORT)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == DONE, done.stderr
    assert f"first: {RUN_FAILED}" in done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert kept(tmp_path / "copy") == kept(whole)


def test_an_export_onto_a_full_disk_is_one_message_and_leaves_nothing(
    study: Path, tmp_path: Path
) -> None:
    out, full = tmp_path / "out", tmp_path / "full"
    assert swept(study, out, *SHORT).returncode == DONE
    full.mkdir()
    for name in ("copy", "copy.tar.gz"):
        script = (
            f"mount -t tmpfs -o size=40k tmpfs {full} || exit 99\n"
            f'"$@"; code=$?; ls -A {full}; exit $code\n'
        )
        words = [sys.executable, "-m", "cclab", "store", "export", str(out), str(full / name)]
        done = subprocess.run(
            [*PRIVATE, "sh", "-c", script, "sh", *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == RUN_FAILED, done.stderr
        why = "No space left on device; nothing is left of it"
        assert done.stderr.endswith(f"error: cannot write {full / name}: {why}\n")
        assert done.stdout == ""


@pytest.mark.parametrize("gone", [".", "runs", "tmp"])
def test_a_results_folder_that_is_removed_under_a_sweep_is_no_wrong_input(
    study: Path,
    tmp_path: Path,
    gone: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    land = Writer.land
    landed: list[str] = []

    def removing(self: Writer, workspace: Path, runs: list[str]) -> None:
        if landed:
            # At once: what a run makes there meanwhile would end a removal file by file.
            (out if gone == "." else out / gone).rename(tmp_path / "gone")
        land(self, workspace, runs)
        landed.extend(runs)

    monkeypatch.setattr(Writer, "land", removing)
    code = invoke([*command(study, out, "--repeat", "3", "--jobs", "1")[3:]])
    assert code == RUN_FAILED
    standing = len(list((out / "runs").glob("*.zip"))) if gone == "tmp" else 0
    assert (standing > 0) == (gone == "tmp")
    told = capsys.readouterr().err.splitlines()[-1]
    stand = f"{standing} run{'' if standing == 1 else 's'} in it" if standing else "no run"
    assert told.startswith(f"error: {out} was removed, or parts of it, while runs were written")
    assert f"{stand} stand" in told
    assert told.endswith("the same command does them again")
    monkeypatch.undo()
    assert swept(study, out, "--repeat", "3").returncode == DONE


def test_a_results_folder_that_is_removed_before_its_report_is_no_wrong_input(
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """When all of it is drawn, and moves into its place."""
    out = tmp_path / "out"
    moved = Path.replace

    def removing(self: Path, target: Path) -> Path:
        if target.parent == out / "report" and out.exists():
            out.rename(tmp_path / "gone")
        return moved(self, target)

    monkeypatch.setattr(Path, "replace", removing)
    assert invoke([*command(study, out, "--repeat", "1", "--jobs", "1")[3:]]) == RUN_FAILED
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(f"error: {out} was removed, or parts of it, while runs were written")
    assert "no run stands" in told


def test_a_store_that_cannot_be_written_is_told_and_stays_as_it_is(
    study: Path, tmp_path: Path
) -> None:
    part, whole = tmp_path / "part", tmp_path / "whole"
    assert swept(study, whole, *SHORT).returncode == DONE
    assert swept(study, part, "--repeat", "3").returncode == DONE
    before = files_of(part)
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 99\n"$@"\n'

    def read_only(out: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PRIVATE, "sh", "-c", script, str(out), *command(study, out, *SHORT)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    refused = read_only(part)
    assert refused.returncode == WRONG_INPUT, refused.stderr
    assert f"cannot write to {part}: Read-only file system" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert files_of(part) == before
    # What is all there can be looked at.
    looked = read_only(whole)
    assert looked.returncode == DONE, looked.stderr
    assert "short" in looked.stdout
    assert swept(study, part, *SHORT).returncode == DONE
    assert kept(part).keys() - kept(whole).keys() == {
        name for name in before if name.startswith("plans/")
    }
    assert index_of(part) == index_of(whole)
    # It says which plans there are, too.
    expected = {n: t for n, t in kept(whole).items() if n != "index.sqlite"}
    assert {n: t for n, t in kept(part).items() if n in expected} == expected


def test_two_sweeps_at_once_leave_what_they_leave_one_after_the_other(
    study: Path, tmp_path: Path
) -> None:
    """Different studies that have runs in common."""
    sweeps = [
        ("--set", "duration=20s", "--repeat", "20"),
        ("--set", "duration=20s", "--repeat", "20", "--seed", "17"),
    ]
    together, apart = tmp_path / "together", tmp_path / "apart"
    for options in sweeps:
        assert swept(study, apart, *options).returncode == DONE
    both = [
        subprocess.Popen(
            command(study, together, *options),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for options in sweeps
    ]
    for process in both:
        _, told = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == DONE, told
    # The plan last run, and the report, are those of the one that was last.
    assert swept(study, together, *sweeps[-1]).returncode == DONE
    assert len(list((apart / "runs").iterdir())) == 60
    assert kept(together) == kept(apart)
    assert not list((together / "tmp").glob("writer-*"))


JUMPING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

/* The clock on the wall goes forward by a day and back by two, again and again. */
static long jump(void) {
    static atomic_long calls;
    return (atomic_fetch_add(&calls, 1) % 3 - 1) * 86400;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += jump();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec fine;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &fine)) return -1;
    now->tv_sec = fine.tv_sec;
    now->tv_usec = fine.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *where) {
    struct timespec fine;
    clock_gettime(CLOCK_REALTIME, &fine);
    if (where) *where = fine.tv_sec;
    return fine.tv_sec;
}
"""


def test_a_clock_that_jumps_changes_nothing(study: Path, tmp_path: Path) -> None:
    source, shim = tmp_path / "jumping.c", tmp_path / "jumping.so"
    source.write_text(JUMPING)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(shim)}
    probe = "import time; t = [time.time() for _ in range(9)]; print(max(t) - min(t) > 80000)"
    jumps = subprocess.run(
        [sys.executable, "-c", probe],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert jumps.stdout == "True\n"
    steady, jumping = tmp_path / "steady", tmp_path / "jumping"
    assert swept(study, steady, *SHORT).returncode == DONE
    for repeat in ("4", "10"):
        done = subprocess.run(
            command(study, jumping, "--jobs", "2", "--repeat", repeat),
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == DONE, done.stderr
        # Files of tomorrow and of a year long gone are as good as those of today.
        for index, file in enumerate(sorted(jumping.rglob("*"))):
            os.utime(file, (0, 0) if index % 2 else (4e9, 4e9))
    assert index_of(jumping) == index_of(steady)
    # It says which plans there are, too.
    expected = {n: t for n, t in kept(steady).items() if n != "index.sqlite"}
    assert {n: t for n, t in kept(jumping).items() if n in expected} == expected
    assert len(list((jumping / "plans").iterdir())) == 2


def test_a_failed_run_does_not_stop_the_others(
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    real = Simulator.execute

    def failing(
        backend: Simulator, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
    ) -> list[str | None]:
        outcomes = real(backend, runs, directory, progresses)
        return [
            "it struck a rock" if run.seed == 9 else why
            for run, why in zip(runs, outcomes, strict=True)
        ]

    words = ["run", str(study), "--out", str(out), "--repeat", "4"]
    monkeypatch.setattr(Simulator, "execute", failing)
    assert invoke([*words, "--json"]) == RUN_FAILED
    told = capsys.readouterr()
    document = json.loads(told.out)
    jsonschema.validate(document, json.loads((ROOT / "docs/results.schema.json").read_text()))
    assert len(document["runs"]) == 6
    failed = document["failed"]
    assert [(run["seed"], run["reason"]) for run in failed] == [(9, "it struck a rock")] * 2
    assert [run["params"]["flow.short.cc"] for run in failed] == ["reno", "cubic"]
    assert "2 runs of 8 failed; the others are done" in told.err
    assert told.err.count("it struck a rock") == 2

    monkeypatch.undo()
    for done, run in enumerate(failed, start=7):
        repeated = shlex.split(run["command"])
        assert repeated[0] == "cclab"
        assert invoke(repeated[1:]) == DONE
        assert entries(out) == done
    assert swept(study, whole, "--repeat", "4").returncode == DONE
    assert kept(out) == kept(whole)


def test_commands_for_thousands_of_failed_runs_name_each_by_what_no_other_begins_with(
    study: Path,
) -> None:
    some = Study.load(study).plan()
    model = some.runs[0]
    dice = random.Random(7)
    ids = {"".join(dice.choices("01", k=16)) + "0" * 4 for _ in range(4000)}
    runs = [structs.replace(model, id=one) for one in sorted(ids, key=lambda _: dice.random())]
    point = replace(some.points[0], runs=runs)
    plan = replace(some, points=[point])
    beside = structs.replace(model, id=runs[0].id[:-1] + "1")
    failed = [*runs, beside]
    began = time.process_time()
    commands = Commands(["cclab", "run"], plan)
    told = [commands.of(run) for run in failed]
    # Looking at every run for every one that failed took seconds.
    assert time.process_time() - began < 0.5
    for run, words in [*zip(failed, told, strict=True)][::-10]:
        start = shlex.split(words)[-1]
        assert words == f"cclab run --only {start}"
        assert [one for one in {*ids, run.id} if one.startswith(start)] == [run.id]
        assert len(start) == 8 or any(o.startswith(start[:-1]) for o in ids - {run.id})
