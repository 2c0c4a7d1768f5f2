"""Nobody but who can read its file can have a cluster on this machine do anything."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import distributed
import pytest
from distributed.comm import connect

from cclab import api
from cclab.cli.exits import WRONG_INPUT
from cclab.errors import InputError, OpenClusterWarning
from cclab.execute.address import Scheduler
from cclab.execute.cluster import Cluster, client_of, security
from conftest import STUDY
from test_cluster import cclab, cluster
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

_REFUSED_S = 20
"""Dask tries again and again until then."""


@pytest.fixture(scope="module")
def of_others() -> distributed.Security:
    """Credentials as whoever has Dask makes them."""
    return distributed.Security.temporary()


@pytest.fixture(scope="module")
def local() -> Iterator[tuple[Path, int]]:
    """The file of a cluster on this machine, and its process."""
    with cluster(1) as (file, process):
        yield Path(file), process.pid


def places(scheduler: Scheduler) -> list[str]:
    """Where the processes of a cluster are spoken to: scheduler, workers, and who minds these."""
    with client_of(scheduler) as client:
        told = client.scheduler_info()["workers"]
        return [scheduler.address, *told, *(worker["nanny"] for worker in told.values())]


async def reached(address: str, **arguments: Any) -> bool:
    """Whether who is at `address` answers to a question of Dask's."""
    try:
        comm = await connect(address, timeout=_REFUSED_S, **arguments)
    except OSError:
        return False
    try:
        await comm.write({"op": "identity", "reply": True})
        await asyncio.wait_for(comm.read(), _REFUSED_S)
    except (OSError, TimeoutError):
        return False
    finally:
        comm.abort()
    return True


def test_who_has_no_credentials_cannot_speak_to_any_process_of_a_cluster(
    local: tuple[Path, int], of_others: distributed.Security
) -> None:
    scheduler = Scheduler.of(str(local[0]))
    assert scheduler.address.startswith("tls://127.0.0.1:")
    assert scheduler.certificate is not None
    assert scheduler.key is not None
    own = security(scheduler.certificate, scheduler.key)
    every = places(scheduler)
    assert len(every) == 3
    for address in every:
        plain = address.replace("tls://", "tcp://")
        assert asyncio.run(reached(address, **own.get_connection_args("client"))), address
        assert not asyncio.run(reached(plain)), address
        assert not asyncio.run(reached(address, **of_others.get_connection_args("client"))), address


def test_who_has_no_credentials_cannot_submit(
    local: tuple[Path, int], of_others: distributed.Security
) -> None:
    scheduler = Scheduler.of(str(local[0]))
    plain = scheduler.address.replace("tls://", "tcp://")
    attempts: list[tuple[str, dict[str, Any]]] = [
        (plain, {}),
        (scheduler.address, {"security": of_others}),
    ]
    for address, words in attempts:
        with (
            pytest.raises(OSError),  # noqa: PT011 # Dask words it in several ways
            distributed.Client(address, timeout=5, set_as_default=False, **words) as client,
        ):
            client.submit(os.getpid, pure=False).result(PATIENCE_S)
    with client_of(scheduler) as client:
        assert client.submit(os.getpid, pure=False).result(PATIENCE_S) != os.getpid()


def test_only_the_owner_reads_the_file_and_its_folder(local: tuple[Path, int]) -> None:
    file, _ = local
    told, around = file.stat(), file.parent.stat()
    assert stat.S_IMODE(told.st_mode) == 0o600
    assert stat.S_IMODE(around.st_mode) == 0o700
    assert told.st_uid == around.st_uid == os.getuid()


def descendants(parent: int) -> list[int]:
    """A process and all that it has begun, and they."""
    children = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(place.read_text().rsplit(")", 1)[1].split()[1]) == parent:
                children.append(int(place.parent.name))
    return [parent, *(each for child in children for each in descendants(child))]


def listening(processes: list[int]) -> list[tuple[str, int]]:
    """The addresses, in hexadecimal, and ports on which `processes` wait for connections."""
    sockets = set()
    for process in processes:
        for handle in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(str(handle.readlink()))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                address, port = words[1].split(":")
                found.append((address, int(port, 16)))
    return found


def test_no_other_machine_reaches_a_local_cluster_and_http_tells_nothing(
    local: tuple[Path, int],
) -> None:
    ports = listening(descendants(local[1]))
    assert len(ports) >= 3
    assert {address for address, _ in ports} == {"0100007F"}
    for _, port in ports:
        for page in (
            "status",
            "info/main/workers.html",
            "json/counts.json",
            "metrics",
        ):
            with pytest.raises((urllib.error.HTTPError, OSError)) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=_REFUSED_S)
            if isinstance(refused.value, urllib.error.HTTPError):
                refused.value.close()
                assert refused.value.code == 404, (port, page)


def test_the_file_of_a_cluster_is_gone_with_it_and_is_where_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    child = subprocess.Popen(
        cclab("cluster", "local", "--workers", 1, "--file", file),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        umask=0,
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline().strip() == str(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    finally:
        child.terminate()
        child.communicate(timeout=PATIENCE_S)
    assert not file.exists()


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_credentials_go_into_a_file_of_nobody_else(tmp_path: Path, kind: str) -> None:
    file, other = tmp_path / "cluster.json", tmp_path / "other"
    if kind == "file":
        file.write_text("mine")
    else:
        file.symlink_to(other)
        if kind == "link":
            other.write_text("theirs")
    with pytest.raises(InputError, match="is there already"):
        Scheduler("tls://127.0.0.1:1", "certificate", "key").write(file)
    assert kind != "file" or file.read_text() == "mine"
    assert other.exists() is (kind == "link")
    assert kind != "link" or other.read_text() == "theirs"


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    written = Scheduler("tls://127.0.0.1:1", "certificate", "key")
    written.write(file)
    assert Scheduler.of(str(file)) == written
    assert "key" not in repr(written).replace("Scheduler", "")
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(InputError, match="chmod 600"):
            Scheduler.of(str(file))


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cluster.json"
    Scheduler("tls://127.0.0.1:1", "certificate", "key").write(file)
    if os.geteuid() == 0:
        os.chown(file, 65534, 65534)
    else:
        stranger = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: stranger)
    with pytest.raises(InputError, match="belongs to another user"):
        Scheduler.of(str(file))


@pytest.mark.parametrize("name", ["8786", "clusters/1", "host:8786", "8786/8786"])
def test_a_path_that_ends_as_an_address_does_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(name)
    file.parent.mkdir(exist_ok=True)
    written = Scheduler("tls://127.0.0.1:1", "certificate", "key")
    written.write(file)
    for place in (file, file.absolute()):
        assert Scheduler.of(str(place)) == written
    file.unlink()
    with pytest.raises(InputError, match="no file of a cluster, and no address"):
        Scheduler.of(str(file.absolute()))


@pytest.mark.parametrize(
    "address",
    ["tcp://h:1", "tls://[::1]:8786", "h:8786", "127.0.0.1:8786", "inproc://10.0.0.1/77/1"],
)
def test_an_address_is_taken_as_it_is(address: str) -> None:
    assert Scheduler.of(address) == Scheduler(address)


@pytest.mark.parametrize("kind", ["pipe", "folder", "zeros", "text", "other", "absent"])
def test_what_is_no_file_of_a_cluster_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "cluster.json"
    if kind == "pipe":
        os.mkfifo(file, 0o600)
    elif kind == "folder":
        file.mkdir(0o700)
    elif kind == "zeros":
        file = Path("/dev/zero")
    elif kind == "text":
        file.write_text("{")
    elif kind == "other":
        file.write_text('{"schema": "cclab-cluster/1", "address": 5, "certificate": 5, "key": 5}')
    if file.is_file():
        file.chmod(0o600)
    with pytest.raises(InputError, match=r"no file|cannot read"):
        Scheduler.of(str(file))


def test_a_scheduler_without_tls_is_warned_of_from_python_and_its_file_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, file = tmp_path / "study.toml", tmp_path / "cluster.json"
    study.write_text(STUDY)
    of_file = Scheduler("tls://127.0.0.1:1", "certificate", "key")
    of_file.write(file)
    asked: list[Scheduler] = []

    @contextlib.contextmanager
    def refusing(scheduler: Scheduler, *_: object) -> Iterator[None]:
        asked.append(scheduler)
        raise InputError("it is not there")
        yield

    def run_on(cluster: str) -> None:
        with pytest.raises(InputError, match="it is not there"):
            api.run(study, out=tmp_path / "out", cluster=cluster)

    monkeypatch.setattr(Cluster, "at", refusing)
    with pytest.warns(OpenClusterWarning, match=r"has no TLS: .*docs/cluster\.md") as warned:
        run_on("tcp://127.0.0.1:1")
    assert [warning.filename for warning in warned] == [__file__]
    run_on("tls://127.0.0.1:1")
    opened = Counter[str]()
    whole = os.open

    def counted(path: Any, *arguments: Any, **words: Any) -> int:
        opened[os.fspath(path)] += 1
        return whole(path, *arguments, **words)

    monkeypatch.setattr(os, "open", counted)
    run_on(str(file))
    assert opened[str(file)] == 1
    assert asked == [Scheduler("tcp://127.0.0.1:1"), Scheduler("tls://127.0.0.1:1"), of_file]


@pytest.mark.parametrize(
    ("address", "warned"), [("tcp://127.0.0.1:1", True), ("tls://127.0.0.1:1", False)]
)
def test_a_scheduler_without_tls_is_warned_of(tmp_path: Path, address: str, warned: bool) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    done = subprocess.run(
        cclab("run", study, "--out", tmp_path / "out", "--cluster", address),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == WRONG_INPUT, done.stderr
    assert "Traceback" not in done.stderr
    # Nobody answers there.
    assert done.stderr.count("error: ") == 1
    assert ("no Dask scheduler answers at 'tcp://127.0.0.1:1'" in done.stderr) is warned
    assert ("has no TLS: whoever reaches it can run programs" in done.stderr) is warned
