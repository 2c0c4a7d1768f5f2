"""Kernels that came in the wheel `cclab-kernel`: which name means them, and what they lack."""

from __future__ import annotations

import importlib
import shutil
from typing import TYPE_CHECKING

import pytest

from cclab import kernel
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from cclab.errors import InputError
from cclab.kernel import modules
from small_kernel import entries, tarball

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.kernel import Kernel


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the kernels of a package `cclab_kernel` that is installed, with none yet."""
    package = tmp_path / "site" / "cclab_kernel"
    (package / "kernels").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(package.parent)
    importlib.invalidate_caches()
    return package / "kernels"


def _moved(made: Kernel, wheel: Path) -> None:
    shutil.move(made.path.parent, wheel / made.key)


def test_the_wheel_s_kernel_goes_before_a_built_one(
    tmp_path: Path,
    home: Path,
    shipped: Path,
    wheel: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = tarball(tmp_path / "linux.tar.xz")
    built = kernel.build(source)
    assert built.origin is not None
    assert not built.origin.of_wheel
    _moved(built, wheel)
    there = kernel.installed()
    assert there is not None
    assert there.path == wheel / built.key / "linux"
    assert there.origin is not None
    assert there.origin.of_wheel
    assert invoke(["kernel", "path"]) == DONE
    assert capsys.readouterr().out == f"{there.path}\n"
    # Who builds it gets the one that was built, and studies still take the wheel's.
    again = kernel.build(source)
    assert again.path == home / built.key / "linux"
    assert entries(home) == [built.key]
    assert kernel.installed() == there
    # A name that the wheel has not is that of the one built here.
    mine = kernel.build(source, name="mine")
    assert [(k.name, k.path) for k in kernel.listed()] == [
        ("6.12", there.path),
        ("mine", mine.path),
    ]


def test_a_wheel_of_another_version_does_not_hide_what_this_one_built(
    tmp_path: Path, home: Path, shipped: Path, wheel: Path
) -> None:
    source = tarball(tmp_path / "linux.tar.xz")
    _moved(kernel.build(source), wheel)
    patch = shipped / "patches" / "6.12" / "0001-ours.patch"
    patch.write_text(patch.read_text().replace("-ours", "-newer"))
    assert kernel.installed() is None
    (old,) = kernel.listed()
    assert old.origin is not None
    assert not old.origin.current
    newer = kernel.build(source)
    assert newer.release == "6.12.7-newer"
    assert kernel.installed() == newer
    assert kernel.listed() == [newer]


def test_a_damaged_wheel_is_passed_over(
    tmp_path: Path, home: Path, shipped: Path, wheel: Path
) -> None:
    built = kernel.build(tarball(tmp_path / "linux.tar.xz"))
    _moved(built, wheel)
    (wheel / built.key / "linux").write_bytes(b"")
    assert kernel.installed() is None
    assert kernel.listed() == []


def test_modules_are_linked_with_the_same_kernel_built_here(
    tmp_path: Path, home: Path, shipped: Path, wheel: Path
) -> None:
    source = tarball(tmp_path / "linux.tar.xz")
    _moved(kernel.build(source), wheel)
    there = kernel.installed()
    assert there is not None
    wanted = [modules.Module(name="tcp_mine", file="tcp_mine.c", texts=(("tcp_mine.c", ""),))]
    with pytest.raises(InputError) as raised:
        modules.linked(there, wanted)
    assert str(raised.value) == (
        "the wheel cclab-kernel brings the kernel 6.12 without what modules are linked with; build "
        "one under a name of its own (cclab kernel build --source TARBALL --name mine) and let the "
        'study say kernel = "mine"'
    )
    # Another of the same name is another kernel.
    kernel.build(tarball(tmp_path / "other.tar.xz", more="x"))
    with pytest.raises(InputError, match="the wheel cclab-kernel brings"):
        modules.linked(there, wanted)
    # This small tree keeps nothing for modules either, and is the one that is asked.
    kernel.build(source)
    with pytest.raises(InputError, match="cannot be linked with modules"):
        modules.linked(there, wanted)
