"""Files that are not there: one message, in words, whoever looks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cclab.cli.exits import WRONG_INPUT
from cclab.cli.main import invoke

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
duration = "1s"

[network.bottleneck]
rate  = "5Mbit"
queue = { limit = "20p" }

[[flow]]
cc = "./gentel.c"
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "./nofile.c"], "nofile.c: no such file"),
        (["run", "./nofile.c"], "nofile.c: no such file"),
        (
            ["run", "folder/nofile.toml"],
            "folder/nofile.toml: no such file; `cclab list studies` lists ready studies",
        ),
        (
            ["evaluate", "./nofile.c"],
            'the variant "./nofile.c" cannot be read: there is no such file',
        ),
        (
            ["evaluate", "gentel.c"],
            'the variant "gentel.c" cannot be read: there is no such file; did you mean gentle.c?',
        ),
        (
            ["list", "variants", "nofile.py:X"],
            'the variant "nofile.py:X" cannot be read: there is no such file',
        ),
        (
            ["run", "study.toml"],
            'study.toml:9:6: the variant "./gentel.c" cannot be read: there is no such file; did '
            "you mean gentle.c? A path starts at the folder of the study file",
        ),
        (["analyze", "nope.pcap"], "nope.pcap: there is no such file"),
        (["analyze", "gentle.c/nope.pcap"], "gentle.c/nope.pcap: Not a directory"),
    ],
)
def test_it_is_told_in_a_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gentle.c").touch()
    (tmp_path / "study.toml").write_text(STUDY)
    assert invoke(arguments) == WRONG_INPUT
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"error: {said}\n")
    assert {file.name for file in tmp_path.iterdir()} == {"gentle.c", "study.toml"}
