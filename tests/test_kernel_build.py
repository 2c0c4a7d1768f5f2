"""Making the kernel: what is refused, what is kept, and what a build leaves behind.

A kernel takes minutes, so these tests make a small tree whose `make linux` writes a script that
says its version. The steps, the cache and the messages are the real ones.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from typing import TYPE_CHECKING

import pytest

from cclab import kernel
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError, RunError
from cclab.kernel import cache, programs
from cclab.kernel import recipe as recipes
from cclab.kernel import source as sources
from cclab.kernel.recipe import Recipe
from cclab.kernel.workshop import WAITING, State
from waiting import await_that

if TYPE_CHECKING:
    from pathlib import Path

MAKEFILE = """\
VERSION = {version}
PATCHLEVEL = {patchlevel}
SUBLEVEL = 7
NAME = A tree for tests

tinyconfig:
\t@echo '# CONFIG_NET is not set' > $(O)/.config
olddefconfig:
\t@echo CONFIG_UML=y >> $(O)/.config
linux:
\t@echo '  CC      init/main.o'
\t@{{ echo '#!/bin/sh'; cat greeting; }} > $(O)/linux
\t@chmod +x $(O)/linux
\t@{last}
"""
MERGE = 'cat "$5" >> "$4"\n'
GREETING = 'echo "6.12.7"\n'
PATCH = """\
The version says who made it.

--- a/greeting
+++ b/greeting
@@ -1 +1 @@
-echo "6.12.7"
+echo "6.12.7-ours"
"""


def tarball(file: Path, *, last: str = "true", version: str = "6.12", **files: str) -> Path:
    """A tree that builds in no time; `files` replaces or adds, `last` ends `make linux`."""
    major, minor = version.split(".")
    content = {
        "Makefile": MAKEFILE.format(version=major, patchlevel=minor, last=last),
        "greeting": GREETING,
        "scripts/kconfig/merge_config.sh": MERGE,
        **files,
    }
    with tarfile.open(file, "w:gz" if file.suffix == ".gz" else "w:xz") as archive:
        for name, text in content.items():
            member = tarfile.TarInfo(f"linux-{version}.7/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
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


def entries(home: Path) -> list[str]:
    """The kernels of a cache, and all that is not its own housekeeping."""
    return sorted(p.name for p in home.iterdir() if p.name not in ("lock", "tarballs.json", "tmp"))


@pytest.mark.parametrize("suffix", ["xz", "gz"])
def test_a_build_is_patched_configured_installed_and_found_again(
    tmp_path: Path, home: Path, shipped: Path, suffix: str
) -> None:
    source = tarball(tmp_path / f"linux.tar.{suffix}")
    assert kernel.installed() is None
    heard: list[State] = []
    made = kernel.build(source, 1, heard.append)
    assert list(dict.fromkeys(state.stage for state in heard)) == [
        *("unpacking", "patching", "configuring", "compiling", "installing"),
    ]
    assert any(re.fullmatch(r"1/\d+ files", state.detail) for state in heard)
    assert made.release == "6.12.7-ours"
    assert made.path == home / made.key / "linux"
    assert entries(home) == [made.key]
    assert sorted(p.name for p in made.path.parent.iterdir()) == ["build.json", "config", "linux"]
    assert list((home / "tmp").iterdir()) == []
    heard.clear()
    assert kernel.build(source, 1, heard.append) == made
    assert heard == []
    assert kernel.installed() == made
    before = made.path.stat().st_ino
    assert kernel.build(source, 1, heard.append, force=True) == made
    assert made.path.stat().st_ino != before
    assert entries(home) == [made.key]


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


def test_the_key_changes_with_every_input() -> None:
    plain = Recipe("CONFIG_NET=y\n", (("1.patch", "a"), ("2.patch", "b")), "6.12")
    keys = {
        plain.key("tarball", "gcc 12"),
        plain.key("another", "gcc 12"),
        plain.key("tarball", "gcc 13"),
        Recipe("CONFIG_NET=n\n", plain.patches, "6.12").key("tarball", "gcc 12"),
        Recipe(plain.fragment, (("1.patch", "a"),), "6.12").key("tarball", "gcc 12"),
        Recipe(plain.fragment, (("1.patch", "a"), ("2.patch", "c")), "6.12").key(
            "tarball", "gcc 12"
        ),
        Recipe(plain.fragment, (("1.patch", "b"), ("2.patch", "a")), "6.12").key(
            "tarball", "gcc 12"
        ),
        Recipe(plain.fragment, (("1.patch", "ab"), ("2.patch", "")), "6.12").key(
            "tarball", "gcc 12"
        ),
    }
    assert len(keys) == 8
    assert all(re.fullmatch(r"[0-9a-f]{16}", key) for key in keys)
    assert plain.key("tarball", "gcc 12") in keys


def test_a_tarball_is_read_again_only_when_it_changed(
    tmp_path: Path, home: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tarball(tmp_path / "linux.tar.xz")
    made = kernel.build(source)

    def fail(*_: object) -> None:
        raise AssertionError("the tarball was read")

    with monkeypatch.context() as patched:
        patched.setattr("hashlib.file_digest", fail)
        assert kernel.build(source) == made
        os.utime(source, (1, 1))
        with pytest.raises(AssertionError, match="was read"):
            kernel.build(source)
    (home / "tarballs.json").write_text("[not JSON")
    assert kernel.build(source) == made


@pytest.mark.parametrize("damage", ["no build.json", "cut", "of another key", "no config"])
def test_what_is_not_whole_is_not_a_kernel_and_is_built_again(
    tmp_path: Path, home: Path, shipped: Path, damage: str
) -> None:
    source = tarball(tmp_path / "linux.tar.xz")
    made = kernel.build(source)
    folder = made.path.parent
    match damage:
        case "no build.json":
            (folder / "build.json").unlink()
        case "cut":
            made.path.write_bytes(made.path.read_bytes()[:-1])
        case "of another key":
            build = json.loads((folder / "build.json").read_text())
            (folder / "build.json").write_text(json.dumps({**build, "key": "0" * 16}))
        case _:
            (folder / "config").unlink()
    assert kernel.installed() is None
    assert kernel.build(source) == made
    assert kernel.installed() == made


def test_what_is_no_tarball_is_refused(tmp_path: Path, home: Path) -> None:
    text = tmp_path / "linux.tar.xz"
    text.write_text("not a tarball at all")
    with pytest.raises(InputError, match=r"linux\.tar\.xz is not a tarball: --source takes"):
        kernel.build(text)
    with pytest.raises(InputError, match=r"nowhere\.tar\.xz: no such file"):
        kernel.build(tmp_path / "nowhere.tar.xz")
    with pytest.raises(InputError, match=r"cannot read the kernel source .*: Is a directory"):
        kernel.build(tmp_path)


def test_a_cut_tarball_is_refused(tmp_path: Path, home: Path, shipped: Path) -> None:
    whole = tarball(tmp_path / "linux.tar.xz")
    cut = tmp_path / "cut.tar.xz"
    cut.write_bytes(whole.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"cut\.tar\.xz cannot be unpacked: xz: .*end of input"):
        kernel.build(cut)
    assert entries(home) == []
    assert list((home / "tmp").iterdir()) == []


def test_a_tarball_without_a_version_is_refused(tmp_path: Path, home: Path) -> None:
    source = tarball(tmp_path / "linux.tar.xz", Makefile="all:\n")
    with pytest.raises(InputError, match=r"holds no kernel: no version in its Makefile"):
        kernel.build(source)


def test_a_tarball_without_a_makefile_is_refused(tmp_path: Path, home: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing to build")
    source = tmp_path / "notes.tar.gz"
    with tarfile.open(source, "w:gz") as archive:
        archive.add(tmp_path / "notes.txt", "notes/notes.txt")
    with pytest.raises(InputError, match=r"notes\.tar\.gz holds no kernel: no folder with a Mak"):
        kernel.build(source)


def damaged(folder: Path, content: str, name: str = "0001-mine.patch") -> Path:
    """A folder with one patch of the user's own."""
    folder.mkdir()
    (folder / name).write_text(content)
    return folder


TWO_HUNKS = """\
Changes the first and the last line.

--- a/net/tcp.c
+++ b/net/tcp.c
@@ -1,4 +1,4 @@
-1
+one
 2
 3
 4
@@ -17,4 +17,4 @@
 17
 18
 19
-nineteen and one
+twenty
"""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (TWO_HUNKS, ["net/tcp.c: hunk 2 (0001-mine.patch:11), sought at line 17"]),
        (
            TWO_HUNKS.replace("-1\n", "-first\n"),
            [
                "net/tcp.c: hunk 1 (0001-mine.patch:5), sought at line 1",
                "net/tcp.c: hunk 2 (0001-mine.patch:11), sought at line 17",
            ],
        ),
        (PATCH.replace("greeting", "net/ipv4/tcp.c"), ["net/ipv4/tcp.c: no such file"]),
        (
            PATCH.replace('-echo "6.12.7"\n', "-2\n").replace(
                '+echo "6.12.7-ours"', '+echo "6.12.7"'
            ),
            ["greeting: it is patched already"],
        ),
        (
            PATCH.replace("a/greeting", "/dev/null")
            .replace("@@ -1 +1 @@", "@@ -0,0 +1 @@")
            .replace('-echo "6.12.7"\n', ""),
            ["greeting: it is there already"],
        ),
        (
            PATCH.replace("-echo", "echo"),
            ['greeting: malformed patch at line 6: echo "6.12.7"'],
        ),
        ("no patch at all\n", ["Only garbage was found in the patch input."]),
    ],
    ids=["hunk", "hunks", "no file", "reversed", "exists", "malformed", "garbage"],
)
def test_a_patch_that_does_not_apply_is_told_with_file_and_hunk(
    tmp_path: Path, home: Path, shipped: Path, content: str, said: list[str]
) -> None:
    text = tarball(
        tmp_path / "linux.tar.xz", **{"net/tcp.c": "".join(f"{n}\n" for n in range(1, 21))}
    )
    folder = damaged(tmp_path / "mine", content)
    with pytest.raises(InputError) as refusal:
        kernel.build(text, name="mine", patches=folder)
    assert str(refusal.value).splitlines() == [
        f"0001-mine.patch does not apply to the Linux 6.12 of {text}:",
        *(f"  {line}" for line in said),
        f"the patches are those in {folder}",
    ]
    assert entries(home) == []


def test_patches_of_cclab_that_do_not_apply_say_what_they_are_made_for(
    tmp_path: Path, home: Path
) -> None:
    with pytest.raises(InputError, match=r"^0001-um-randomness-from-a-seed\.patch does") as refusal:
        kernel.build(tarball(tmp_path / "linux.tar.xz"))
    assert str(refusal.value).endswith(
        "\nthe patches are made for Debian's linux-source-6.12; --patches FOLDER takes others"
    )
    with pytest.raises(InputError, match=r"0001-um-randomness-from-a-seed\.patch does") as refusal:
        kernel.build(tarball(tmp_path / "later.tar.xz", version="6.18"))
    assert (
        "\nno patches for Linux 6.18 come with cclab; those for 6.12 are tried: they are made for "
        "Debian's linux-source-6.12;" in str(refusal.value)
    )


def test_patches_of_the_nearest_series_are_tried_and_told(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    (shipped / "patches" / "6.1").mkdir()
    heard: list[State] = []
    made = kernel.build(tarball(tmp_path / "linux.tar.xz", version="7.0"), 1, heard.append)
    assert made.name == "7.0"
    assert made.origin is not None
    assert made.origin.patches == "6.12"
    assert "no patches for Linux 7.0 come with cclab; those for 6.12 are tried" in [
        state.detail for state in heard if state.stage == "patching"
    ]
    assert kernel.installed("7.0") == made


@pytest.mark.parametrize(
    ("series", "nearest"),
    [
        ("4.9", "6.1"),
        ("6.1", "6.1"),
        ("6.5", "6.1"),
        ("6.6", "6.1"),
        ("6.7", "6.12"),
        ("7.2", "6.12"),
    ],
)
def test_the_nearest_series(shipped: Path, series: str, nearest: str) -> None:
    (shipped / "patches" / "6.1").mkdir()
    assert Recipe.nearest(series).origin == nearest


def test_patches_of_the_users_own_bring_their_configuration(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    folder = damaged(tmp_path / "mine", PATCH.replace("-ours", "-mine"))
    (folder / "fragment.config").write_text("# IPv6 after all\nCONFIG_IPV6=y\nCONFIG_MINE=y\n")
    text = tarball(tmp_path / "linux.tar.xz")
    with pytest.raises(InputError, match="patches of your own needs a name of its own"):
        kernel.build(text, patches=folder)
    made = kernel.build(text, name="mine", patches=folder)
    assert made.release == "6.12.7-mine"
    assert made.origin is not None
    assert made.origin.patches == str(folder)
    config = (made.path.parent / "config").read_text().splitlines()
    assert "CONFIG_MINE=y" in config
    assert [line for line in config if "IPV6" in line] == ["CONFIG_IPV6=y"]
    assert kernel.installed() is None
    assert kernel.installed("mine") == made
    # They need not stay where they were.
    shutil.rmtree(folder)
    assert kernel.installed("mine") == made


def test_a_folder_without_patches_is_refused(tmp_path: Path, home: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such folder of patches"):
        kernel.build(name="mine", patches=tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no patch; their names end with \.patch"):
        kernel.build(name="mine", patches=tmp_path)


def test_a_line_of_the_fragment_that_is_not_in_force_is_named(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    source = tarball(tmp_path / "linux.tar.xz", **{"scripts/kconfig/merge_config.sh": "true\n"})
    with pytest.raises(InputError, match=r"fragment\.config says; not in force: CONFIG_NET=y\n"):
        kernel.build(source)


def test_the_fragment_may_say_no() -> None:
    recipe = Recipe("# why\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=n\n\n", (), "6.12")
    assert recipe.unmet("CONFIG_A=y\n# CONFIG_B is not set\n") == []
    assert recipe.unmet("CONFIG_B=y\nCONFIG_C=m\n") == ["CONFIG_A=y", "CONFIG_B=n", "CONFIG_C=n"]


def test_a_compiler_error_shows_the_end_of_the_log_and_keeps_all_of_it(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    last = "for i in $$(seq 100); do echo line $$i; done; echo 'tcp.c:7: error: no' >&2; false"
    source = tarball(tmp_path / "linux.tar.xz", last=last)
    with pytest.raises(RunError, match=r"tcp\.c:7: error: no") as failure:
        kernel.build(source)
    message = str(failure.value)
    assert len(message.splitlines()) == 41
    (log,) = home.glob("*.log")
    assert f"all of it is in {log}" in message
    assert "line 1\n" in log.read_text()
    assert list((home / "tmp").iterdir()) == []
    assert kernel.installed() is None


def test_a_full_disk_is_called_so(tmp_path: Path, home: Path, shipped: Path) -> None:
    last = "cat /dev/zero > /dev/full"
    source = tarball(tmp_path / "linux.tar.xz", last=last)
    with pytest.raises(RunError, match=r"the disk is full: a build needs .* in .*kernel while"):
        kernel.build(source)
    assert entries(home) == []


def test_a_disk_that_is_full_while_unpacking_is_called_so(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binaries = tmp_path / "bin"
    binaries.mkdir()
    tar = binaries / "tar"
    real = shutil.which("tar")
    tar.write_text(
        f'#!/bin/sh\ncase "$*" in *--strip-components*);; *) exec {real} "$@";; esac\n'
        "echo 'tar: a: Cannot write: No space left on device' >&2; exit 2\n"
    )
    tar.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binaries}:{os.environ['PATH']}")
    with pytest.raises(RunError, match="the disk is full"):
        kernel.build(tarball(tmp_path / "linux.tar.xz"))


def test_a_cache_that_cannot_be_written_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shipped: Path
) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(RunError, match=r"cannot write to .*cache/cclab/kernel: Not a directory"):
        kernel.build(tarball(tmp_path / "linux.tar.xz"))


def test_missing_programs_are_named_with_the_command_that_installs_them(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for program, _ in programs.PROGRAMS:
        found = shutil.which(program)
        if found is not None and program not in ("flex", "xz"):
            (binaries / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(binaries))
    source = tarball(tmp_path / "linux.tar.xz")
    with pytest.raises(InputError, match=r"needs what is not here: (.*); please run") as refusal:
        kernel.build(source)
    assert {"flex", "xz-utils"} <= set(re.findall(r"[\w-]+", str(refusal.value)))
    assert re.search(r"\n  apt install [\w -]*flex", str(refusal.value))
    monkeypatch.setattr(sources, "_DEBIAN", tmp_path / "not there")
    with pytest.raises(InputError, match=r"apt install .*linux-source-6\.12\nor take a tarball"):
        kernel.build()


def test_a_second_build_waits_and_finds_what_the_first_made(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    source = tarball(tmp_path / "linux.tar.xz", last="sleep 0.3")
    stages: list[set[str]] = [set(), set()]
    made: list[kernel.Kernel] = []

    def one(number: int) -> None:
        heard = stages[number]
        made.append(kernel.build(source, 1, lambda state: heard.add(state.stage)))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 2
    assert made[0] == made[1]
    waited, built = sorted(stages, key=len)
    assert waited == {WAITING}
    assert "compiling" in built
    assert entries(home) == [made[0].key]


def test_a_killed_build_leaves_nothing_that_looks_whole_and_is_swept(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    # The compiler outlives its parent until it says something.
    last = "touch $(O)/started; while sleep 0.1; do echo still here; done"
    source = tarball(tmp_path / "linux.tar.xz", last=last)
    script = (
        "import sys; from pathlib import Path; from cclab import kernel; "
        "from cclab.kernel import recipe; recipe.FOLDER = Path(sys.argv[2]); "
        "kernel.build(sys.argv[1])"
    )
    killed = subprocess.Popen([sys.executable, "-c", script, source, shipped])
    await_that(lambda: list(home.glob("tmp/*/out/started")), "the compiler")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert len(list((home / "tmp").iterdir())) == 1
    assert kernel.installed() is None
    made = kernel.build(tarball(tmp_path / "other.tar.xz"))
    assert entries(home) == [made.key]
    assert list((home / "tmp").iterdir()) == []


def test_an_interrupted_build_ends_its_programs(tmp_path: Path, home: Path, shipped: Path) -> None:
    woken = tmp_path / "woken"
    last = f"echo '  CC  x.o'; sleep 600; touch {woken}"
    source = tarball(tmp_path / "linux.tar.xz", last=last)

    def interrupt(state: State) -> None:
        if state.detail:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel.build(source, 1, interrupt)
    assert not woken.exists()
    assert list((home / "tmp").iterdir()) == []
    with (home / "lock").open() as lock:
        # Whatever still ran would hold it.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_settings_around_a_build_do_not_change_it(
    tmp_path: Path, home: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MAKEFLAGS", "ARCH", "KCFLAGS", "O"):
        monkeypatch.setenv(name, "nonsense")
    assert kernel.build(tarball(tmp_path / "linux.tar.xz")).release == "6.12.7-ours"


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
    own.write_text(UML.format(release="6.12.9", config="CONFIG_UML_TIME_TRAVEL_SUPPORT=y\\n"))
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


def test_the_command_line_builds_once(
    home: Path,
    tmp_path: Path,
    shipped: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["kernel", "build", "--source", str(tarball(tmp_path / "linux.tar.xz"))]
    assert invoke(command) == DONE
    told = capsys.readouterr()
    assert "unpacking" in told.err
    assert re.search(r"^Linux 6\.12\.7-ours, called 6\.12, built in ", told.err, re.MULTILINE)
    assert invoke(command) == DONE
    again = capsys.readouterr()
    assert again.err == "Linux 6.12.7-ours, called 6.12, already built\n"
    assert again.out == told.out
    assert invoke(["kernel", "path"]) == DONE
    assert capsys.readouterr().out == told.out
    assert told.out.strip() == str(cache.folder() / told.out.split("/")[-2] / "linux")


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
        "error: the kernel bbr is not built (there are: 6.12, bbr3); please run: "
        "cclab kernel build --source TARBALL --name bbr\n"
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


def test_the_command_line_says_that_patches_of_another_series_were_taken(
    home: Path, tmp_path: Path, shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tarball(tmp_path / "linux.tar.xz", version="6.18")
    assert invoke(["kernel", "build", "--source", str(text), "--name", "later"]) == DONE
    told = capsys.readouterr().err
    assert "no patches for Linux 6.18 come with cclab; those for 6.12 are tried" in told


@pytest.mark.parametrize("series", ["6.1", "6.12"])
def test_the_recipes_of_this_version_are_well_formed(series: str) -> None:
    recipe = Recipe.shipped(series)
    assert recipe is not None
    names = [name for name, _ in recipe.patches]
    assert [name[:4] for name in names] == [f"{n:04}" for n in range(1, len(names) + 1)]
    for name, content in recipe.patches:
        # Each says what it is for before it changes anything.
        assert not content.startswith("---"), name
        assert "\n--- a/" in content, name
    lines = [line for line in recipe.fragment.splitlines() if line]
    assert all(re.fullmatch(r"CONFIG_\w+=[yn]|#.*", line) for line in lines)
    assert len(lines) == len(set(lines))
