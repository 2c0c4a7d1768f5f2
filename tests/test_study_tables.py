"""The tables that studies print, of the documents and folders that their commands make."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from conftest import ROOT

if TYPE_CHECKING:
    from conftest import Cli

FOLDER = ROOT / "studies/sim-against-linux"


def test_the_table_of_two_sides_reads_studies_with_a_warm_up(cli: Cli) -> None:
    compared = cli(
        *("compare", "cubic", "reno", "--study", FOLDER / "lte.toml", "--json", "--repeat", 1),
        *("--set", "duration=4s", "--set", "warmup=1s"),
    )
    assert compared.returncode == 0, compared.stderr
    printed = subprocess.run(
        [sys.executable, FOLDER / "table.py"],
        input=compared.stdout,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [line.split("|")[1].strip() for line in printed[2:5]] == ["cubic", "bbr", "cubic + bbr"]
    assert printed[-2].startswith("| goodput | 4 |")
