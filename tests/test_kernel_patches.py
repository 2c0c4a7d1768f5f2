"""What is ours in a kernel: patches and configuration, and what is said where they do not fit."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from cclab import kernel
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from cclab.errors import InputError
from cclab.kernel.recipe import Recipe
from small_kernel import PATCH, entries, tarball

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.kernel.workshop import State


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
