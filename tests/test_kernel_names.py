"""What kernels are called, and which of them a name means."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from cclab import kernel
from cclab.cli import checks
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError
from small_kernel import entries, tarball

if TYPE_CHECKING:
    from pathlib import Path


def test_a_kernel_of_another_recipe_is_not_taken(tmp_path: Path, home: Path, shipped: Path) -> None:
    patch = shipped / "patches" / "6.12" / "0001-ours.patch"
    ours = patch.read_text()
    made = kernel.build(tarball(tmp_path / "linux.tar.xz"))
    patch.write_text(ours.replace("-ours", "-mine"))
    assert kernel.installed() is None
    (old,) = kernel.listed()
    assert old.key == made.key
    assert old.origin is not None
    assert not old.origin.current
    newer = kernel.build(tarball(tmp_path / "linux.tar.xz"))
    assert newer.release == "6.12.7-mine"
    assert sorted(entries(home)) == sorted([made.key, newer.key])
    assert kernel.listed() == [newer]
    patch.write_text(ours)
    assert kernel.installed() == made
    assert kernel.listed() == [made]


def test_the_last_that_got_a_name_bears_it(tmp_path: Path, home: Path, shipped: Path) -> None:
    a, b = tarball(tmp_path / "a.tar.xz"), tarball(tmp_path / "b.tar.xz", more="x")
    first, second = kernel.build(a), kernel.build(b)
    assert first.key != second.key
    assert kernel.installed() == second
    assert kernel.build(a) == first
    assert kernel.installed() == first
    assert len(entries(home)) == 2


def test_a_second_name_takes_no_build(tmp_path: Path, home: Path, shipped: Path) -> None:
    text = tarball(tmp_path / "linux.tar.xz")
    made = kernel.build(text)
    built = made.path.stat()
    other = kernel.build(text, name="mine-1.0_a")
    assert (other.key, other.name) == (made.key, "mine-1.0_a")
    assert [one.name for one in kernel.listed()] == ["6.12", "mine-1.0_a"]
    assert kernel.installed("mine-1.0_a") == other
    assert kernel.installed("6.12") == kernel.installed() == made
    assert kernel.build(text, force=True) == made
    assert made.path.stat().st_ino != built.st_ino
    assert [one.name for one in kernel.listed()] == ["6.12", "mine-1.0_a"]


def test_kernels_from_before_names_are_of_the_default(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    made = kernel.build(tarball(tmp_path / "linux.tar.xz"))
    file = made.path.parent / "build.json"
    before = json.loads(file.read_text())
    del before["names"], before["patches"]
    file.write_text(json.dumps(before))
    assert kernel.installed() == made
    assert kernel.listed() == [made]


def test_names_stand_in_the_order_of_their_numbers(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    text = tarball(tmp_path / "linux.tar.xz")
    names = ["6.12", "a2", "a10", "bbr"]
    for name in reversed(names):
        kernel.build(text, name=name)
    assert [one.name for one in kernel.listed()] == names


@pytest.mark.parametrize("name", ["", ".", "..", "-x", "a b", "a/b", "ä", "x" * 65])
def test_a_wrong_name_is_refused(home: Path, name: str) -> None:
    said = "cannot be a kernel's name: letters, digits"
    with pytest.raises(InputError, match=said):
        kernel.build(name=name)
    with pytest.raises(InputError, match=said):
        kernel.installed(name)


def test_a_name_that_is_a_series_is_that_of_the_source(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    text = tarball(tmp_path / "linux.tar.xz")
    with pytest.raises(InputError, match=r"holds Linux 6\.12: its kernel cannot be called 6\.1$"):
        kernel.build(text, name="6.1")
    with pytest.raises(InputError, match=r"fred is no series of Linux, .* --source TARBALL"):
        kernel.build(name="fred")


def test_the_command_that_makes_a_kernel_and_what_there_is(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    assert kernel.build_command() == kernel.build_command("6.12") == "cclab kernel build"
    assert kernel.build_command("6.1") == "cclab kernel build --name 6.1"
    assert kernel.build_command("bbr") == "cclab kernel build --source TARBALL --name bbr"
    assert kernel.not_built() == ("the kernel 6.12 is not built; please run: cclab kernel build")
    kernel.build(tarball(tmp_path / "linux.tar.xz"))
    assert kernel.not_built("6.1") == (
        "the kernel 6.1 is not built (there are: 6.12); please run: cclab kernel build --name 6.1"
    )


def test_a_name_near_that_of_a_kernel_is_asked_about(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    built = kernel.build(tarball(tmp_path / "linux.tar.xz"))
    assert built.release not in ("6.12", "6.1")
    for name in ("6.l2", "612", "v6.12", "linux-6.12", built.release):
        assert f"the kernel {name} is not built (there are: 6.12); did you mean 6.12? If not" in (
            kernel.not_built(name)
        )
    # Whoever writes a series means that one.
    for name in ("6.13", "6.1", "mine"):
        assert "did you mean" not in kernel.not_built(name)


UML = """\
#!/bin/sh
case $1 in
--version) echo {release};;
--showconfig) printf 'CONFIG_UML=y\\n{config}';;
esac
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("#!/bin/sh\necho hello\n", "is not a User Mode Linux kernel"),
        ("garbage", "is not a User Mode Linux kernel"),
        (UML.format(release="6.12.9", config=""), "has no virtual time"),
        (
            UML.format(release="6.12.9", config="CONFIG_UML_TIME_TRAVEL_SUPPORT=y\\n"),
            "has no devices on the simulator's network .CONFIG_UML_WIRE.: build it with",
        ),
    ],
)
def test_a_wrong_kernel_of_the_users_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, said: str
) -> None:
    own = tmp_path / "linux"
    if text is not None:
        own.write_text(text)
        own.chmod(0o755)
    monkeypatch.setenv("CCLAB_KERNEL", str(own))
    with pytest.raises(InputError, match=said):
        kernel.installed()


def test_a_kernel_of_the_users_own_comes_first(
    tmp_path: Path, home: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.build(tarball(tmp_path / "linux.tar.xz"))
    own = tmp_path / "linux"
    config = "CONFIG_UML_TIME_TRAVEL_SUPPORT=y\\nCONFIG_UML_WIRE=y\\n"
    own.write_text(UML.format(release="6.12.9", config=config))
    monkeypatch.setenv("CCLAB_KERNEL", str(own))
    with pytest.raises(InputError, match="cannot be executed"):
        kernel.installed()
    own.chmod(0o755)
    found = kernel.installed()
    assert found is not None
    assert (found.path, found.release) == (own, "6.12.9")


def test_the_command_line_says_what_to_run(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("path", "test"):
        assert invoke(["kernel", verb]) == RUN_FAILED
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err == "error: the kernel 6.12 is not built; please run: cclab kernel build\n"
    (tmp_path / "x.tar").write_text("x")
    assert invoke(["kernel", "build", "--source", str(tmp_path / "x.tar")]) == WRONG_INPUT
    assert "is not a tarball" in capsys.readouterr().err


def test_the_command_line_lists_what_is_built(
    home: Path, tmp_path: Path, shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["kernel", "list"]) == DONE
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "no kernel is built; please run: cclab kernel build\n"
    text = str(tarball(tmp_path / "linux.tar.xz"))
    for name in ("6.12", "bbr3"):
        assert invoke(["kernel", "build", "--source", text, "--name", name]) == DONE
    capsys.readouterr()
    assert invoke(["kernel", "list"]) == DONE
    table = capsys.readouterr().out
    assert re.search(r"6\.12 +6\.12\.7-ours +[0-9a-f]{16} +0\.0 MB +linux\.tar\.xz +6\.12", table)
    assert "bbr3" in table
    assert invoke(["kernel", "list", "--json"]) == DONE
    listed = json.loads(capsys.readouterr().out)["kernels"]
    made = kernel.installed()
    assert made is not None
    assert [row.pop("name") for row in listed] == ["6.12", "bbr3"]
    assert listed[0] == listed[1]
    assert listed[0] == {
        "release": "6.12.7-ours",
        "key": made.key,
        "size_bytes": made.path.stat().st_size,
        "source": "linux.tar.xz",
        "patches": "6.12",
        "current": True,
        "path": str(made.path),
    }
    assert invoke(["kernel", "path", "bbr3"]) == DONE
    assert capsys.readouterr().out == f"{made.path}\n"
    assert invoke(["kernel", "path", "bbr"]) == RUN_FAILED
    assert capsys.readouterr().err == (
        "error: the kernel bbr is not built (there are: 6.12, bbr3); did you mean bbr3? If not, "
        "please run: cclab kernel build --source TARBALL --name bbr\n"
    )


def test_the_doctor_names_the_kernels(
    home: Path, tmp_path: Path, shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tarball(tmp_path / "linux.tar.xz")
    made = kernel.build(text)
    kernel.build(text, name="bbr3")

    def said() -> dict[str, dict[str, object]]:
        assert invoke(["doctor", "--json"]) == DONE
        checks = json.loads(capsys.readouterr().out)["checks"]
        return {check["name"]: check for check in checks}

    assert said()["linux: kernel bbr3"]["found"] == f"6.12.7-ours, {made.path}"
    patch = shipped / "patches" / "6.12" / "0001-ours.patch"
    patch.write_text(patch.read_text().replace("-ours", "-mine"))
    old = said()
    assert old["linux: kernel"]["remedy"] == "cclab kernel build"
    assert old["linux: kernel bbr3"]["found"] == "6.12.7-ours, as another version of cclab made it"
    assert old["linux: kernel bbr3"]["remedy"] == (
        "cclab kernel build --source TARBALL --name bbr3"
    )


def test_a_processor_that_can_run_no_kernel_is_told_so_before_anything_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert "User Mode Linux, which is for x86-64, and this processor is aarch64" in (
        kernel.not_built()
    )
    with pytest.raises(InputError, match="this processor is aarch64"):
        kernel.build()
    (told,) = (check.found for check in checks.linux() if check.name == "linux: kernel")
    assert "aarch64" in told
