"""Making the kernel: what is refused, what is kept, and what a build leaves behind."""

from __future__ import annotations

import fcntl
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
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from cclab.errors import InputError, RunError
from cclab.kernel import cache, programs, tree
from cclab.kernel import source as sources
from cclab.kernel.recipe import Recipe
from cclab.kernel.workshop import WAITING, State
from small_kernel import entries, tarball
from waiting import await_that

if TYPE_CHECKING:
    from pathlib import Path


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
    await_that(lambda: list(home.glob("tmp/*/source/build/started")), "the compiler")
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


LINKED = (
    "cd $(O) && mkdir -p net/ipv4 init && touch vmlinux.o init/version-timestamp.o k.lds && "
    "echo 'savedcmd_x := gcc -I../include -DKBUILD_MODNAME=1 -c -o x y' > net/ipv4/.tcp_cong.o.cmd "
    "&& KBUILD_LDS=k.lds sh ../scripts/link-vmlinux.sh ld '-a b'"
)
"""Leaves what a kernel's build leaves of its objects, and links it as that is."""
OF_LINK = {
    "scripts/link-vmlinux.sh": "#!/bin/sh\ntrue\n",
    "scripts/mksysmap": "",
    "include/own.h": "#define OWN 1\n",
}


def test_a_build_keeps_what_modules_are_linked_with(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    source = tarball(tmp_path / "linux.tar.gz", last=LINKED, **OF_LINK)
    made = kernel.build(source, 1)
    assert tree.is_kept(home / made.key)
    words = tree.unpack(home / made.key, tmp_path / "tree")
    assert words["compile"] == ["gcc", "-I../include"]
    assert words["link"] == ["../scripts/link-vmlinux.sh", "ld", "-a b"]
    assert words["environment"]["KBUILD_LDS"] == "k.lds"
    assert (tmp_path / "tree/include/own.h").read_text() == OF_LINK["include/own.h"]
    # One that was made without it is made again, once.
    (home / made.key / tree.TREE).unlink()
    assert kernel.build(source, 1) == made
    assert tree.is_kept(home / made.key)


def test_a_tree_that_modules_cannot_be_linked_with_says_why(
    tmp_path: Path, home: Path, shipped: Path
) -> None:
    made = kernel.build(tarball(tmp_path / "linux.tar.gz"), 1)
    assert not tree.is_kept(home / made.key)
    assert tree.why_not(home / made.key) == "its build leaves no .cclab-link-environment"
    module = kernel.Module("plain_0", "plain.c", (("plain.c", ""),))
    with pytest.raises(InputError, match=r"^the kernel 6.12 cannot be linked with modules: its"):
        kernel.linked(made, [module])
