"""Work that a process shares with a copy of it."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial
from pathlib import Path

import pytest

from cclab import machine, shared


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpus", lambda: 2)


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _told(folder: Path, number: int) -> tuple[int, int]:
    """A piece that leaves a file with the process that did it."""
    (folder / f"{number}-{os.getpid()}").touch()
    return number, os.getpid()


def test_each_piece_is_done_once_and_told_in_order(tmp_path: Path) -> None:
    before = _open_descriptors()
    with shared.begun([partial(_told, tmp_path, n) for n in range(40)]) as pieces:
        done = pieces.done()
    assert [number for number, _ in done] == [*range(40)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{number}-{process}" for number, process in done
    )
    assert _open_descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_copy_begins_before_anything_is_asked() -> None:
    own = os.getpid()
    come, telling = os.pipe()

    def piece() -> int:
        if os.getpid() != own:
            os.write(telling, b".")
        return os.getpid()

    with shared.begun([piece, piece]) as pieces:
        os.close(telling)  # without a copy nothing will come
        assert os.read(come, 2)
        assert own not in pieces.done()[:1]
    os.close(come)


def test_what_a_copy_does_not_live_to_tell_is_done_here(tmp_path: Path) -> None:
    own = os.getpid()

    def piece(number: int) -> int:
        if os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with shared.begun([partial(piece, n) for n in range(5)]) as pieces:
        assert pieces.done() == [0, 1, 2, 3, 4]


def test_what_a_piece_raises_is_raised_here() -> None:
    def piece(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    with (
        pytest.raises(ValueError, match="three"),
        shared.begun([partial(piece, n) for n in range(5)]) as pieces,
    ):
        pieces.done()


def test_what_a_piece_raises_in_the_copy_alone_is_done_here() -> None:
    own = os.getpid()
    first_is_begun, begins = os.pipe()

    def piece(number: int) -> tuple[int, int]:
        if os.getpid() != own:
            os.write(begins, b".")
            if number == 0:
                raise ValueError
        return number, os.getpid()

    with shared.begun([partial(piece, n) for n in range(3)]) as pieces:
        assert os.read(first_is_begun, 1)
        done = pieces.done()
    assert [number for number, _ in done] == [0, 1, 2]
    assert done[0] == (0, own)
    os.close(first_is_begun)
    os.close(begins)


@pytest.mark.parametrize("asks", [True, False])
def test_a_copy_ends_where_nobody_is_told_of_ends(asks: bool) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with shared.begun([os.getpid] * 4) as pieces:
            if asks:
                assert len(pieces.done()) == 4
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_process_with_threads_is_not_copied() -> None:
    goes_on = threading.Event()
    thread = threading.Thread(target=goes_on.wait)
    thread.start()
    try:
        with shared.begun([os.getpid] * 40) as pieces:
            assert pieces.done() == [os.getpid()] * 40
    finally:
        goes_on.set()
        thread.join()


def test_a_copy_ends_with_what_began_it() -> None:
    def endless() -> None:
        signal.pause()

    with pytest.raises(KeyError), shared.begun([endless, endless]):
        raise KeyError
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("count", [0, 1, 2, 256])
def test_a_single_processor_does_all(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpus", lambda: 1)
    with shared.begun([os.getpid] * count) as pieces:
        assert pieces.done() == [os.getpid()] * count


@pytest.mark.parametrize("lacking", ["fork", "pipe"])
def test_a_system_without_room_for_a_copy_does_without(
    lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    before = _open_descriptors()
    monkeypatch.setattr(os, lacking, full)
    with shared.begun([os.getpid] * 3) as pieces:
        assert pieces.done() == [os.getpid()] * 3
    assert _open_descriptors() == before
