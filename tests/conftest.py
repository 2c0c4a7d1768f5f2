"""What the tests share: short studies, and the command line as a user meets it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING

import hypothesis
import pytest

import cclab
import cclab.kernel
import damage as befalling
from browser import complaints_of, pages_in
from cclab import _core
from cclab.kernel import recipe as recipes
from cclab.store import Store
from damaged_store import Bench, growing_sweep, two_studies
from page_kinds import to_load
from small_kernel import PATCH
from two_flows import STUDY as STUDY
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cclab import Results
    from cclab.plan import Run
    from cclab.store import Writer
    from cclab.store.trace import Trace

    Cli = Callable[..., subprocess.CompletedProcess[str]]

# Whatever started the tests: a job in the background is started with SIGINT ignored, and that is
# inherited by all that it starts. What a program does with SIGINT here, it does by default.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("any load", deadline=None)
hypothesis.settings.load_profile("any load")

ROOT = Path(__file__).resolve().parent.parent

JUDGED = "judged"
"""In `shared_place`: what judges variants, whose pages are looked at as well."""


@pytest.fixture(scope="session", autouse=True)
def every_page_loads(
    tmp_path_factory: pytest.TempPathFactory, shared_place: Path
) -> Iterator[None]:
    """Loads the pages that the tests made, whatever made them, and fails on any that is broken.

    Each process of the tests looks at its own, at its end; of pages that ask a browser for the
    same things, one is loaded.
    """
    base = tmp_path_factory.getbasetemp()
    yield
    made = [*pages_in(base), *pages_in(shared_place / JUDGED)]
    pages = to_load(made, shared_place / "asked-of-the-browser")
    # The path of a page has the name of the test that made it.
    broken = list(complaints_of(pages, tmp_path_factory.mktemp("browser")))
    if broken:
        pytest.fail("\n".join(["pages that a browser complains of:", *broken]), pytrace=False)


@pytest.fixture(scope="session")
def shared_place(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all processes of the tests have."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study file of four short runs."""
    file = tmp_path / "study file.toml"
    file.write_text(STUDY)
    return file


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The results of four short runs; the tests that share them only read."""
    folder = tmp_path_factory.mktemp("shared")
    file = folder / "two.toml"
    file.write_text(STUDY + '\n[trace]\nevents = ["ack", "drop"]\ncapture = ["bottleneck"]\n')
    return cclab.run(file, out=folder / "store")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kernel 6.1`: what boots a kernel boots that one where a study names none."""
    parser.addoption("--kernel", metavar="NAME", help="the kernel of the linux backend to test")


@pytest.fixture(scope="session")
def kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    """Has the kernel of the linux backend: what it is for cannot be tested without it."""
    name: str | None = request.config.getoption("--kernel")
    found = cclab.kernel.installed(name)
    if found is None:
        pytest.fail(cclab.kernel.not_built(name), pytrace=False)
    with pytest.MonkeyPatch.context() as patched:
        if name is not None:
            patched.setenv("CCLAB_KERNEL", str(found.path))
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CCLAB_KERNEL", raising=False)
    return tmp_path / "cache" / "cclab" / "kernel"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What comes with cclab is a line of configuration and a patch that fit the tree."""
    folder = tmp_path / "shipped"
    series = folder / "patches" / "6.12"
    series.mkdir(parents=True)
    (folder / "fragment.config").write_text("CONFIG_NET=y\nCONFIG_IPV6=n\n")
    (series / "0001-ours.patch").write_text(PATCH)
    monkeypatch.setattr(recipes, "FOLDER", folder)
    return folder


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs `cclab` with arguments in an empty folder; standard streams are pipes."""

    def run(
        *arguments: object,
        cwd: Path = tmp_path,
        stdin: IO[bytes] | int | None = None,
        encoding: str | None = None,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cclab", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=stdin,
            capture_output=True,
            text=True,
            encoding=encoding,
            timeout=PATIENCE_S,
            check=False,
        )

    return run


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file under `folder` and its bytes."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def kept(out: Path) -> dict[str, bytes]:
    """What a store holds for good: all but what was set aside and what is under way."""
    passing = ("aside/", "tmp/")
    return {name: text for name, text in files_of(out).items() if not name.startswith(passing)}


def index_of(out: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of the index of a store, by table, without those of its plans."""
    with closing(sqlite3.connect(out / "index.sqlite")) as index:
        return {
            table: index.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("runs", "flows", "groups", "traffic", "probes")
        }


def save(writer: Writer, run: Run, produce: Callable[[Path], None], metrics: str = "{}") -> None:
    """Has `produce` write the files of `run`, and makes them a run of the store."""
    with writer.workspace() as folder:
        (folder / run.id).mkdir()
        produce(folder / run.id)
        _core.seal(folder / run.id, metrics)
        writer.land(folder, [run.id])


def only_trace(out: Path) -> Trace:
    """That of the only run of a store."""
    (run,) = Store(out).ids()
    return Store(out).trace(run)


def flip(file: Path, at: int | None = None) -> None:
    """Has a bit of `file` flip, in the middle if not told where."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2 if at is None else at] ^= 1
    file.write_bytes(content)


def forge(
    store: Store, run_id: str, change: Callable[[Path], None], name: str | None = None
) -> None:
    """Has `change` change what is in the file of a run, which is sealed anew: sound by its digest.

    With `name` it is sealed as that of the run called so.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / (name or run_id)
        with zipfile.ZipFile(store.file(run_id)) as archive:
            archive.extractall(folder)
        captured = store.captures / run_id
        if captured.exists():
            (folder / "captures.json").unlink()
            shutil.copytree(captured, folder, dirs_exist_ok=True)
        change(folder)
        metrics = (folder / "metrics.json").read_text()
        (folder / "metrics.json").unlink()
        _core.seal(folder, metrics)
        shutil.move(f"{folder}.zip", store.file(name or run_id))


@pytest.fixture(scope="session")
def short_runs(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The results of four short runs without captures; the tests that share them only read."""
    folder = tmp_path_factory.mktemp("short")
    file = folder / "short.toml"
    file.write_text(STUDY.replace('"2s"', '"800ms"'))
    return cclab.run(file, out=folder / "store")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patched:
        befalling.without_waiting_for_the_disk(patched)
        yield two_studies(tmp_path_factory.mktemp("damage"))


@pytest.fixture
def bench(made: Bench) -> Iterator[Bench]:
    """Two studies in one store, the last with captures, and its report."""
    yield made
    befalling.restore(made.whole, made.store.path)


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A sweep whose rule for repeats is not met: its plan is at its place alone."""
    with pytest.MonkeyPatch.context() as patched:
        befalling.without_waiting_for_the_disk(patched)
        yield growing_sweep(tmp_path_factory.mktemp("growing"))
