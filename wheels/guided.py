"""Compiles the release by how it is used (profile-guided optimization).

The module is built once with counters in it, does a training run, and what they counted tells the
compiler which ways through it are taken: https://doc.rust-lang.org/rustc/profile-guided-optimization.html
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import older
from programs import ROOT, host, llvm_profdata

if TYPE_CHECKING:
    from collections.abc import Mapping

RUSTFLAGS = "CARGO_ENCODED_RUSTFLAGS"
SEPARATOR = "\x1f"
"""Flags apart by a byte that no path has."""

WHOLE_COUNTS = "-Cllvm-args=-instrprof-atomic-counter-update-all"
"""Threads that read the same run count what they do at the same time, and no count gets lost."""

BY_CHANCE = "|".join(
    (
        # Which thread waits, and whether its memory has room yet.
        *("3std4sync", r"std\.\.sync", "3std3sys", "7raw_vec", r"batch\.\.Batch"),
        *("5_core6sealed", "6sealed4each", "3vec16Vec.*6remove", "24take_deferred_dictionary"),
        # How often somebody asks how far a run is.
        "8[Pp]rogress",
        # In what order hashes are met, and who holds Python's lock.
        *("hashbrown", "5slice4sort", "_spec5study4plan", "_ZN4pyo3"),
        *("7analyze8analyzed", "cclab_rust5check"),
    )
)
"""Names of functions whose counts differ from one training run to the next, as a pattern."""

TRAINING = Path(__file__).parent / "training"
"""Studies that are run, and whose captures are analyzed, in both formats."""


def flags(environment: Mapping[str, str], target: Path) -> list[str]:
    """What rustc is told so that it compiles by a training run, which is done in `target`."""
    profdata = llvm_profdata()
    place = target / "training"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    module = _instrumented(environment, target, place)
    _train(module, place)
    counts = place / "counts.profdata"
    raw = sorted(place.glob("*.profraw"))
    if not raw:
        raise SystemExit(f"the training run counted nothing: no file *.profraw in {place}")
    merge: list[str | Path] = ["merge", f"--no-function={BY_CHANCE}", "--output", counts, *raw]
    subprocess.run([profdata, *merge], check=True)
    return [f"-Cprofile-use={counts}"]


def _instrumented(environment: Mapping[str, str], target: Path, place: Path) -> Path:
    """Builds the module with counters, which leaves counts in `place`; gives its file."""
    own = [flag for flag in environment.get(RUSTFLAGS, "").split(SEPARATOR) if flag]
    counting = target / "counting"
    # For a target that is named, cargo leaves programs without counters that run as it builds.
    cargo = ["cargo", "build", "--locked", "--release", "-p", "cclab-py", "--target", host()]
    subprocess.run(
        [*cargo, "--features", "extension-module"],
        cwd=ROOT,
        env={
            **environment,
            RUSTFLAGS: SEPARATOR.join([*own, f"-Cprofile-generate={place}", WHOLE_COUNTS]),
            "CARGO_TARGET_DIR": str(counting),
        },
        check=True,
    )
    return counting / host() / "release" / "lib_core.so"


def _on_one_processor() -> None:
    """Lets this process have one processor: what reads runs has as many threads."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _train(module: Path, place: Path) -> None:
    """Does the training run: one run at a time, so that nothing but `BY_CHANCE` varies."""
    with tempfile.TemporaryDirectory() as home:
        package = Path(home) / "cclab"
        shutil.copytree(
            ROOT / "python" / "cclab", package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
        shutil.copyfile(module, package / "_core.abi3.so")

        def cclab(*words: str | Path) -> None:
            done = subprocess.run(
                [sys.executable, "-m", "cclab", *words],
                cwd=home,
                env={
                    **os.environ,
                    "PYTHONPATH": home,
                    "PYTHONHASHSEED": "0",
                    "LLVM_PROFILE_FILE": str(place / "%p.profraw"),
                },
                capture_output=True,
                text=True,
                # What threads did at the same time would be counted by chance.
                preexec_fn=_on_one_processor,
            )
            if done.returncode:
                raise SystemExit(f"the training run ended with {done.returncode}: {done.stderr}")

        for study in sorted(TRAINING.glob("*.toml")):
            cclab("run", study, "--jobs", "1", "--out", study.stem)
        for capture in sorted(Path(home).rglob("*.pcapng")):
            cclab("analyze", capture)
            cclab("analyze", older.write(capture))
