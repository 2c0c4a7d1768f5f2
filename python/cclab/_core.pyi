"""The laboratory's core: studies, the simulator, traces and metrics, in Rust."""

from typing import final

__all__ = [
    "SIM_VERSION",
    "VERSION",
    "Progress",
    "RunError",
    "StudyError",
    "check",
    "compare_repeats",
    "execute",
    "holds",
    "measure",
    "metrics",
    "plan",
    "qdiscs",
    "schema",
    "stacks",
    "variants",
]

VERSION: str
"""Version of cclab."""

SIM_VERSION: str
"""Version of the simulator, part of every run's content hash."""

class StudyError(ValueError):
    """A study, or a value given beside it, is wrong: the message says where and what is right."""

class RunError(RuntimeError):
    """A run failed, was cancelled, or left a trace that cannot be read."""

@final
class Progress:
    """How far a run is, readable while it runs, and the wish that it stop."""

    def __new__(cls) -> Progress: ...
    @property
    def now_s(self) -> float:
        """Virtual seconds simulated so far."""

    @property
    def fraction(self) -> float:
        """Done part, from 0 to 1; 0 until the end if the run has no set duration."""

    def cancel(self) -> None:
        """Asks the run to stop soon; `execute` then raises `RunError`."""

def check(text: str, file: str) -> None:
    """Reads the study in `text`; messages call it `file`.

    Raises `StudyError` if a key or the type of a value is wrong. What only shows when keys are
    seen together, with what is set beside the file, is for `plan` to find.
    """

def plan(
    text: str,
    file: str,
    set: list[str],
    backend: str | None = None,
    repeat: int | None = None,
    seed: int | None = None,
) -> str:
    """The plan of the study in `text`, as JSON; messages call it `file`.

    Raises `StudyError` if the study or one of the replacements is wrong.
    """

def holds(expectation: str, measured: float) -> bool:
    """Whether `measured` meets an expectation, given as the JSON that `plan` gave it in."""

def schema() -> str:
    """The JSON Schema of study files."""

def execute(run_json: str, directory: str, progress: Progress) -> None:
    """Simulates a run and writes run.json and its trace into `directory`.

    Other threads go on meanwhile. Raises `RunError` if the run fails or is cancelled.
    """

def measure(directory: str) -> str:
    """The metrics of the run whose trace is in `directory`, as JSON.

    Raises `RunError` if the trace cannot be read.
    """

def compare_repeats(metrics: list[str]) -> str:
    """The warnings that only the repeats of a scenario together can raise, as JSON.

    `metrics` is what `measure` gave for each of them.
    """

def variants() -> str:
    """Every variant, as JSON: name, one line about it, where it is defined."""

def qdiscs() -> str:
    """Every queueing discipline, as JSON: name, one line about it, parameters."""

def stacks() -> str:
    """Every stack profile, as JSON: name and one line about it."""

def metrics() -> str:
    """Every metric, as JSON: name, unit, definition."""
