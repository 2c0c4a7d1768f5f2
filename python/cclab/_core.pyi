"""The laboratory's core: studies, the simulator, traces and metrics, in Rust."""

import random
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final, Literal, Self, final

from typing_extensions import disjoint_base

from cclab.variant.files import Class

__all__ = [
    "BUILT_FROM",
    "CORE_VERSION",
    "LEAST_SHARE",
    "METRICS_VERSION",
    "ORDERS",
    "POINT_WARNINGS",
    "TAKEN_COLUMNS",
    "TESTBED_VERSION",
    "VERSION",
    "WARNINGS",
    "Ack",
    "CaptureError",
    "Congestion",
    "Progress",
    "Report",
    "Rows",
    "RunError",
    "Steps",
    "StudyError",
    "Window",
    "analyze",
    "analyze_memory",
    "applications",
    "baselines",
    "beside_others",
    "check",
    "check_runs",
    "compare_repeats",
    "declared_params",
    "describe",
    "description_schema",
    "determinants",
    "dimension",
    "end_with",
    "execute",
    "execute_alone",
    "execute_on_kernel",
    "expression",
    "finish",
    "foreseen",
    "forked",
    "guard",
    "impairments",
    "kernels",
    "layouts",
    "measure",
    "metrics",
    "modules",
    "most_of_file",
    "needs_of",
    "number",
    "parts",
    "plan",
    "probes",
    "qdiscs",
    "raised_compiled",
    "read_columns",
    "read_runs",
    "receivers",
    "results_schema",
    "run_id",
    "run_ids",
    "run_names",
    "scenario_schema",
    "schema",
    "seal",
    "shown",
    "stacks",
    "sync",
    "topologies",
    "traffic",
    "variant_file",
    "variants",
    "wrong_files",
]

VERSION: str
"""Version of cclab."""

BUILT_FROM: str
"""The commit that a wheel was built from; empty of what was built otherwise."""

TAKEN_COLUMNS: list[str]
"""What tables of states call their own columns, so that no variant's is called so."""

CORE_VERSION: int
"""Version of what every simulated run goes through, stacks, variants and disciplines apart."""

TESTBED_VERSION: int
"""Version of what is done around a kernel: orders, agent, harvest."""

LEAST_SHARE: float
"""Of the data of a capture's largest flow: those with less are not held against the others."""

WARNINGS: list[str]
"""The doubts that the referee raises, by their codes."""

POINT_WARNINGS: list[str]
"""Those of them that only the runs of a sweep point together raise."""

METRICS_VERSION: str
"""Version of the metrics: numbers of one run by two versions may differ."""

ORDERS: list[tuple[str, str]]
"""What `shown` escapes: the first and the last character of each range."""

class StudyError(ValueError):
    """A study, or a value given beside it, is wrong: the message says where and what is right."""

class RunError(RuntimeError):
    """A run failed, was cancelled, or left a trace that cannot be read."""

class CaptureError(ValueError):
    """A file is no packet capture, or cannot be read: the message names it and says why."""

@final
class Steps:
    """A run that stands still between intervals of its owner's choice."""

    def __new__(cls, scenario: str, seed: int, steered: Sequence[int]) -> Steps:
        """The run of `scenario` (JSON) with `seed`, at its beginning.

        The variants of the flows at the indices `steered` are replaced by one that `steer` sets.
        Raises `StudyError` for text that is no scenario, `RunError` for one that the simulator
        does not run, and `ValueError` for a flow that is not there.
        """
    @property
    def now_s(self) -> float:
        """Virtual seconds that have passed."""
    @property
    def over(self) -> bool:
        """Whether the run has come to its end."""
    def steer(self, number: int, cwnd: int, pacing_rate: int) -> None:
        """Sets window (segments) and rate (bytes of payload a second; 0: none) of the steered flow
        `number`, from its next acknowledgement on. Raises `ValueError` if there is no such flow."""
    def advance(
        self, seconds: float
    ) -> list[tuple[bool, int, int, int, int, float, int, float, float, int, int, float]]:
        """Lets the run go on for `seconds` of virtual time, or to its end.

        A row for each flow: whether it runs; segments sent, bytes delivered and lost so
        far; congestion window in bytes; pacing rate in bit/s (0: none); bytes in flight;
        srtt and smallest round-trip time in seconds (0: none yet); payload bytes of a full
        segment; acknowledgements, and mean round-trip time in seconds (NaN: none), of the
        interval. Raises `RunError` if the run fails or is over.
        """

@final
class Rows:
    """The rows of a table of an analysis, until they are asked for in a form."""

    def __len__(self) -> int: ...
    def columns(self, names: Sequence[str] | None = None) -> dict[str, list[Any]]:
        """The columns called `names`, or all, each a list with None where a cell is absent.

        Raises `KeyError` if there is no such column.
        """
    def csv(self) -> str:
        """All of them as CSV, below the names of the columns. What is absent is empty."""
    def parquet(self) -> bytes:
        """All of them as a Parquet file."""

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

    @property
    def cancelled(self) -> bool:
        """Whether the run was asked to stop."""

    def tell(self, now_s: float, fraction: float) -> None:
        """A process of its own, which does the run, is so far: `now_s` and `fraction` are what it
        says of its own progress."""

    def cancel(self) -> None:
        """Asks the run to stop soon; `execute` then raises `RunError`."""

@disjoint_base
class Window:
    """What a connection obeys, set by the class that inherits from this: `cclab.variant.Variant`.

    What is no number that makes sense raises `ValueError` or `TypeError` where it is set.
    """

    def __new__(cls, *args: object, **kwargs: object) -> Self: ...
    cwnd: float
    """The congestion window in segments, of which the stack counts whole ones, one at least. The
    stack may have changed it since it was set: after a loss, a timeout, an idle time."""
    ssthresh: float
    """The slow-start threshold in segments; infinite before it is known. What the stack comes down
    to after a loss."""
    pacing_rate: float | None
    """Bytes of payload a second at which packets leave; None: as the window lets them."""
    timer: float | None
    """When `on_timer` is wanted, in seconds since the run began; None: never."""

    @property
    def mss(self) -> int:
        """Bytes of payload of a full segment."""

    @property
    def now(self) -> float:
        """Seconds since the run began."""

    @property
    def random(self) -> random.Random:
        """The connection's own dice: the same in each repetition of a run."""

@final
class Ack:
    """An acknowledgement."""

    now: Final[float]
    """Seconds since the run began."""
    acked: Final[int]
    """Segments that it delivered: cumulatively, and by SACK those that were not before."""
    rtt: Final[float | None]
    """The round-trip time that it measured, in seconds."""
    srtt: Final[float]
    """Smoothed round-trip time in seconds."""
    min_rtt: Final[float]
    """Smallest round-trip time of the last minutes in seconds."""
    in_flight: Final[int]
    """Segments in flight once it is taken in."""
    cwnd_limited: Final[bool]
    """Whether the window is what limits the sender: one that is not used should not grow."""
    delivered: Final[int]
    """Segments delivered since the connection began."""
    lost: Final[int]
    """Segments taken for lost since the connection began."""
    ece: Final[bool]
    """Whether it carries an ECN echo."""
    in_recovery: Final[bool]
    """Whether the stack repairs losses: of a class with `own_recovery` alone."""
    delivery_rate: Final[float | None]
    """Bytes a second delivered over the sampled interval: of a class with `own_recovery` alone."""
    app_limited: Final[bool]
    """Whether the application may have limited that sample."""

@final
class Congestion:
    """A sign of congestion."""

    now: Final[float]
    """Seconds since the run began."""
    kind: Final[Literal["loss", "ecn", "timeout"]]
    """A loss that acknowledgements showed, a mark, or the retransmission timer."""
    in_flight: Final[int]
    """Segments in flight."""
    lost: Final[int]
    """Segments taken for lost since the connection began."""

@final
class Report:
    """What a round trip showed."""

    now: Final[float]
    """Seconds since the run began."""
    interval: Final[float]
    """Seconds since the last report."""
    acked: Final[int]
    """Segments delivered meanwhile."""
    lost: Final[int]
    """Segments taken for lost meanwhile."""
    marked: Final[int]
    """Segments acknowledged with a mark meanwhile."""
    rtt: Final[float | None]
    """Mean of the round-trip times measured meanwhile, in seconds."""
    rtt_min: Final[float | None]
    """The shortest of them."""
    rtt_max: Final[float | None]
    """The longest of them."""
    min_rtt: Final[float]
    """Smallest round-trip time of the last minutes in seconds."""
    delivery_rate: Final[float]
    """Bytes a second delivered meanwhile."""
    in_flight: Final[int]
    """Segments in flight now."""
    cwnd_limited: Final[bool]
    """Whether the window is what limits the sender."""

def describe(scenario: str) -> str:
    """The network and the flows of a scenario (JSON), as JSON.

    `links`: name, rate_bps, delay_s; `flows`: name, the indices of the links that data and acks
    cross, base RTT, packet sizes, windows. Raises `StudyError` where the simulator cannot run it.
    """

def foreseen(scenario: str) -> str:
    """The warnings that every run of a scenario (JSON) will have, as JSON."""

def determinants(
    scenario: str, backend: str, kernels: Mapping[str | None, str] | None = None
) -> str:
    """What determines a run of `scenario` (JSON) on `backend` beside its seed: the versions of what
    it uses, or, with `kernels`, those that it uses and the version of what is done around them.

    `kernels` says what each is made of, by what scenarios call it; None: the one used by default.
    """

def kernels(scenario: str) -> list[str | None]:
    """What `scenario` (JSON) calls the kernels that it uses; None: the one used by default."""

def modules(scenario: str) -> list[tuple[str, str, dict[str, str]]]:
    """The modules of C files that the kernels of `scenario` (JSON) have: the name of each, its
    file, and the texts that it is compiled of by their paths."""

def run_id(scenario: str, seed: int, backend: str, version: str) -> str:
    """The content hash of a run of `scenario` (JSON): the name of its file in a store.

    `version` is what `determinants` gave, for this backend.
    """

def run_ids(scenario: str, first: int, runs: int, backend: str, version: str) -> str:
    """Those of `runs` runs of `scenario` (JSON), with seeds from `first` on, one behind the other;
    see `run_id`."""

def baselines(
    scenario: str, baseline: str, seeds: list[int], backend: str, version: str
) -> list[tuple[str, str, list[str]] | None]:
    """What each flow of a scenario (JSON) is compared with for the baseline of that name.

    For each its scenario (JSON), what determines runs of that, and the id of the run with each of
    `seeds`; None of a flow without others. `version` is what determines a run of the scenario.
    """

def check(text: str, file: str | PathLike[str]) -> None:
    """Reads the study in `text`, from the path `file`, where the paths in it start.

    Raises `StudyError` if a key or the type of a value is wrong. What only shows when keys are
    seen together, with what is set beside the file, is for `plan` to find.
    """

def plan(
    text: str,
    file: str | PathLike[str],
    set: list[str],
    replaced: list[tuple[str, str]],
    kernels: Mapping[str, Mapping[str | None, str]],
    backend: str | None = None,
    repeat: int | str | None = None,
    seed: int | None = None,
) -> tuple[str, list[str]]:
    """The plan of the study in `text`, as JSON: what it says of all its sweep points, and each of
    them with its runs; messages call it `file`. `replaced` has the
    settings that an argument stands for, each behind what messages call that. `kernels` are those
    of the backends that run on some, each as `determinants` has them.

    Raises `StudyError` if the study or one of the replacements is wrong.
    """

def expression(text: str, known: list[str]) -> tuple[str | None, int, str, bool]:
    """The tree of the expression `text` as JSON; or None, the character that is wrong, what is
    wrong with it, and whether the text is too deep a nest to be looked at.

    `known` are the beginnings of names that have other characters in them than names have.
    """

def number(text: str) -> float | None:
    """The number that a value of a study stands for: seconds, bytes, bits per second, a share,
    packets or bandwidth-delay products; None where it is no quantity, as a name is not.
    """

def dimension(text: str) -> str | None:
    """What a value of a study is a quantity of: time, size, rate, share, packets or bdp; None
    where it is no quantity or has no unit.
    """

def schema() -> str:
    """The JSON Schema of study files."""

def scenario_schema() -> str:
    """The JSON Schema of scenarios."""

def description_schema() -> str:
    """The JSON Schema of what `describe` gives."""

def execute_on_kernel(
    run_json: str,
    directory: str,
    progress: Progress,
    agent: str,
    kernels: Sequence[tuple[str | None, str, str, str]] | None,
    limits_s: tuple[float, float],
    window_ns: int | None = None,
) -> None:
    """Executes a run on `kernels`, in virtual time, or, if that is None, on this host's, with the
    program at `agent`, and writes run.json and its trace into `directory`.

    Of each kernel: what the scenario calls it (None: the one used by default), its name, its key
    and the path of its program. `limits_s` bound the real time in all, and that without progress.
    Hosts run no longer than `window_ns` ahead of a network that is not the kernel's: no result
    depends on it. Raises `RunError` if the run fails, is cancelled or runs into a bound.
    """

def needs_of(run_json: str) -> str:
    """What a run on this host's kernel needs of it, as JSON: names of qdiscs, `parts`, variants
    and programs, and whether iptables is used.
    """

def execute(
    runs: list[str], directory: str | PathLike[str], progresses: list[Progress]
) -> list[str | None]:
    """Simulates runs (JSON), one after the other, and writes run.json and the trace of each into a
    folder in `directory` called by its id.

    Gives for each None, or why it failed or that it was cancelled. Other threads go on meanwhile.
    """

def end_with(parent: int) -> None:
    """Has this process end with the process `parent` that started it. Raises `RuntimeError` if that
    is gone, and `OSError` if the system refuses."""

def guard(report: int, limit_s: float, wall_s: float) -> None:
    """Has a call of a C or Rust file's code that crashes, or does not come back within `limit_s`
    seconds of the processor or `wall_s` on a clock, end this process, with a word on file and hook
    to the descriptor `report`. Raises `OSError` if the system refuses."""

def forked() -> None:
    """This process was forked by users' code: it does not go on with the run, which is its
    parent's."""

def layouts() -> dict[str, Any]:
    """What compiled code is lent, by the name of its class: bytes, and of each field the name, the
    kind, the offset and, of kind `set`, the least that it may be, whether it may be infinite, and
    whether it may be None; and, as `kinds`, what signs of congestion are called."""

def raised_compiled(error: BaseException) -> bool:
    """`error` was raised and caught by nobody. Gives whether a compiled hook raised it, which it
    ends then."""

def wrong_files(scenario: str) -> str | None:
    """What is wrong with the C and Rust files of `scenario` (JSON), if anything is: they are
    compiled and loaded, and their code begins to run."""

def execute_alone(
    run_json: str,
    directory: str | PathLike[str],
    classes: Sequence[Class],
    told: int,
    limit_s: float,
    wall_s: float,
) -> tuple[str | None, tuple[str, str, BaseException] | None]:
    """Simulates a run, the variants of whose Python files are `classes`, as `execute` does, in this
    thread: no other one runs Python meanwhile, but while a class lets it.

    How far it is goes to the pipe `told` as lines of JSON; when that is closed, the process ends.
    In a call of users' code that takes more than `limit_s` seconds of the processor, the process
    gets `SIGXCPU`, in one that takes `wall_s` seconds `SIGUSR2`. Gives None, or what failed; and
    what flows call the variant that raised an exception, the hook, and the exception, or None.
    """

def finish(directory: str | PathLike[str], runs: list[str]) -> list[str | None]:
    """Measures and seals the run in each folder of `directory` called by the id of one of `runs`.

    The sealed file is ID.zip beside the folder, which keeps captures alone and else goes. Gives for
    each None, or why it cannot be measured. Raises `OSError` if a file cannot be written.
    """

def seal(folder: str | PathLike[str], metrics: str) -> None:
    """Seals the run in `folder`, which measured `metrics` (JSON). Raises `OSError` on failure."""

def check_runs(
    files: str | PathLike[str], captures: str | PathLike[str], runs: list[str], contents: bool
) -> list[Literal["sound", "damaged", "foreign", "absent"]]:
    """What there is of each of `runs`, whose files are in the folder `files` and whose captures in
    `captures`; a foreign file is that of another run than its name says.

    With `contents` every byte is read and the digests compared; without, the lengths alone.
    """

def read_runs(
    files: str | PathLike[str], runs: list[str], whole: bool
) -> list[tuple[str, int, str, str, str] | None]:
    """What the files of `runs` in the folder `files` say: the file's SHA-256, the bytes of it and
    of the captures that it lists, run.json, the version of the metrics, and these as JSON.

    None of one that is not there, not as it was sealed, or of another run. With `whole` every byte
    is read and the file's digest compared; without, all that is told has a checksum.
    """

def read_columns(
    files: list[str | PathLike[str]], asked: list[tuple[str, list[str]]]
) -> list[list[list[bytes | list[str]] | None]]:
    """Columns of the tables in the runs' `files`: for each file, of each of the tables `asked` its
    columns by name, numbers as the bytes of floats (NaN where nothing is known).

    None of a table that the run did not record, or has no row. What is read is compared with the
    checksum of the archive. Raises `RunError` if a file cannot be read or is of another run.
    """

def run_names(files: str | PathLike[str]) -> bytes:
    """The ids of the runs that have a file in the folder `files`, sorted, each with a zero byte
    behind it, which no name of a file has; none if there is no such folder.

    Raises `OSError` if it cannot be read to its end.
    """

def most_of_file(bytes: int) -> int:
    """How many bytes the members of a run's file of so many `bytes` may become together."""

def sync(paths: Sequence[str | PathLike[str]]) -> None:
    """Waits until each of `paths`, a file or a folder with the files in it, is on the disk.

    Raises `OSError` on failure.
    """

def measure(directory: str) -> str:
    """The metrics of the run whose trace is in `directory`, as JSON.

    Raises `RunError` if the trace cannot be read.
    """

def compare_repeats(metrics: list[str]) -> str:
    """The warnings that only the repeats of a scenario together can raise, as JSON.

    `metrics` is what `measure` gave for each of them.
    """

def beside_others(flow: str, solo: str | None = None, own: str | None = None) -> str:
    """What the company of the others cost a flow (JSON), as JSON.

    `solo` and `own` are the flow where it is alone and where all are of its own kind, as `measure`
    gave them.
    """

def analyze(
    path: str | PathLike[str],
    max_connections: int | None = None,
    interval: tuple[int, int] | None = None,
    series: str | PathLike[str] | None = None,
    max_decompressed: int | None = None,
) -> tuple[str, Rows, Rows]:
    """What each TCP connection and conversation over UDP in the packet capture at `path` did.

    The document as JSON, and the rows of its tables `connections` and `conversations`. At most
    `max_connections` of each are kept (50,000 if None). `interval` is one in nanoseconds since the
    first segment, whose shares are told. The tables of all segments and datagrams are written into
    the folder `series`, which is there. `max_decompressed` is what a compressed capture may become,
    in bytes; if None, 200 times its compressed size and at least 256 MiB. Raises `CaptureError` if
    the file is no capture or cannot be read, and `RunError` if a table cannot be written; what is
    wrong in places is among the document's `problems`.
    """

def analyze_memory(max_connections: int) -> int:
    """Bytes of memory that an analysis takes whose `max_connections` are all there, and as many
    conversations."""

def declared_params(path: str | PathLike[str]) -> str:
    """The parameters that the C or Rust file at `path` declares, as in `variant_file`, with their
    defaults: it is compiled, and its code begins to run."""

def variant_file(path: str | PathLike[str]) -> str:
    """What the variant's file at `path` is, as JSON: a row of `variants` with `language`, `file`,
    what it takes in from its folder, and `sha256`.

    Raises `StudyError` if it is none.
    """

def shown(text: bytes) -> str:
    """`text` in one line that no terminal takes for an order: controls, what turns the direction of
    writing, and bytes that are not UTF-8 are escaped as Python's `backslashreplace` has them."""

def variants() -> str:
    """Every variant, as JSON: name, one line about it, where it is defined, its kernel module."""

def qdiscs() -> str:
    """Every queueing discipline, as JSON: name, one line about it, where it is defined, parameters,
    the one with the rate that it lets pass, whether it breaks phase effects, and the names of its
    queues where it has several that are told apart."""

def probes() -> str:
    """Every qdisc that runs on a kernel may need, as JSON: its name there, the least that `tc`
    takes after it, and the kernel's module of it."""

def parts() -> str:
    """What leads packets from one interface to another, as JSON: name, what it is, the commands
    that try it in a namespace of their own, the kernel's module of it and the option of a kernel
    that has it."""

def stacks() -> str:
    """Every stack profile, as JSON: name and one line about it."""

def metrics() -> str:
    """Every metric, as JSON: name, unit, definition, window, point, source, and what else
    its row says.
    """

def results_schema() -> str:
    """The JSON Schema of what `cclab run --json` prints."""

def topologies() -> str:
    """Every topology, as JSON: name, one line about it, keys, an example, backends."""

def impairments() -> str:
    """Every impairment of links, as JSON: name, one line about it, keys, an example, backends."""

def traffic() -> str:
    """Every kind of cross traffic, as JSON: name, one line about it, keys, backends."""

def applications() -> str:
    """Every application of flows, as JSON: name, one line about it, keys, an example, backends."""

def receivers() -> str:
    """Every behaviour of receivers, as JSON: name, a line about it, keys, an example, backends."""
