"""`cclab new variant`: files that work, in the place of nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl
import pytest

import cclab
from cclab import starts
from cclab.cli.exits import DONE, WRONG_INPUT
from conftest import ROOT

if TYPE_CHECKING:
    from conftest import Cli

ENDINGS = {"c": "c", "python": "py", "rust": "rs"}
PATHS = {"c": "./soft.c", "python": "./soft.py:Soft", "rust": "./soft.rs"}
MEANT = "{}: the file means something else by {}: choose another name"
WORD = "{}: Python has a word of that name, and the file is a module: choose another name"
LABELS = {"c": "soft", "python": "Soft", "rust": "soft"}


def test_every_language_has_a_start() -> None:
    assert set(starts.LANGUAGES) == set(ENDINGS)


@pytest.mark.parametrize("language", ENDINGS)
def test_what_is_written_has_the_name_everywhere(cli: Cli, tmp_path: Path, language: str) -> None:
    done = cli("new", "variant", "soft", "--language", language, cwd=tmp_path)
    assert done.returncode == DONE, done.stderr
    folder = tmp_path / "soft"
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted([f"soft.{ENDINGS[language]}", "study.toml", "test_soft.py"])
    for name in names:
        assert f"soft/{name}" in done.stdout
        text = (folder / name).read_text()
        assert "gentle" not in text.lower().replace("gentler", "")
    study = cclab.Study.load(folder / "study.toml")
    plan = study.plan()
    first = plan.points[0].scenario
    assert first["flows"][0]["cc"] == LABELS[language]
    assert [file["label"] for file in first["variant_files"]] == [LABELS[language]]
    ccs = [point.params["flow.mine.cc"] for point in plan.points]
    assert ccs == [PATHS[language], "cubic", "reno"]
    assert cli("plan", "study.toml", cwd=folder).returncode == DONE
    listed = cli("list", "variants", PATHS[language], "--json", cwd=folder)
    assert json.loads(listed.stdout)["variants"][0]["name"] == LABELS[language]


def test_the_commands_that_follow_are_there_whether_the_environment_is_active_or_not(
    cli: Cli, tmp_path: Path
) -> None:
    """`cclab` alone is not found where nothing has put its environment on the path."""
    programs = Path(sys.executable).parent
    for number, (path, called) in enumerate(
        [("/usr/bin:/bin", str(programs / "cclab")), (f"{programs}:/usr/bin:/bin", "cclab")]
    ):
        done = cli("new", "variant", f"soft{number}", "--language", "c", PATH=path)
        assert f"\nnext: {called} run soft{number}/study.toml\n" in done.stdout
    (tmp_path / ".venv").symlink_to(programs.parent)
    python = tmp_path / ".venv" / "bin" / "python"
    words = [str(python), "-m", "cclab", "new", "variant", "soft", "--language", "c"]
    told = subprocess.check_output(words, cwd=tmp_path, text=True, env={"PATH": "/usr/bin:/bin"})
    assert "\nnext: .venv/bin/cclab run soft/study.toml\n" in told
    assert "\n      .venv/bin/pytest soft\n" in told


def test_a_command_that_the_path_finds_by_a_link_is_named_alone(tmp_path: Path) -> None:
    """As where a folder of the user's own has links to what environments installed."""
    programs = Path(sys.executable).parent
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cclab").symlink_to(programs / "cclab")
    words = [sys.executable, "-m", "cclab", "new", "variant", "soft", "--language", "c"]
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    told = subprocess.check_output(words, cwd=tmp_path, text=True, env=env)
    assert "\nnext: cclab run soft/study.toml\n" in told


def test_a_name_of_several_words_is_a_class_in_one() -> None:
    texts = starts.texts("slow_reno2", "python")
    assert "class SlowReno2(Variant):" in texts["slow_reno2.py"]
    assert '"./slow_reno2.py:SlowReno2"' in texts["study.toml"]
    assert "u32 slow_reno2_ssthresh(" in starts.texts("slow_reno2", "c")["slow_reno2.c"]


@pytest.mark.parametrize("language", ENDINGS)
def test_a_name_may_hold_that_of_the_start(language: str) -> None:
    study = starts.texts("my_gentle2", language)["study.toml"]
    assert study.count(f'"{starts.path_of("my_gentle2", language)}"') == 2


def test_nothing_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "study.toml").write_text("mine")
    done = cli("new", "variant", "soft", "--language", "rust", "--out", str(out))
    assert done.returncode == WRONG_INPUT
    assert done.stderr == (
        f"error: {out} has study.toml already, which stays: name another folder by --out\n"
    )
    assert [path.name for path in out.iterdir()] == ["study.toml"]
    assert (out / "study.toml").read_text() == "mine"
    # A folder with other files in it will do.
    (out / "study.toml").rename(out / "other.toml")
    assert cli("new", "variant", "soft", "--language", "rust", "--out", str(out)).returncode == DONE
    file = tmp_path / "file"
    file.write_text("")
    done = cli("new", "variant", "soft", "--language", "c", "--out", str(file))
    assert (done.returncode, done.stderr) == (
        WRONG_INPUT,
        f"error: {file} is no folder: name another one by --out\n",
    )


@pytest.mark.parametrize(
    ("name", "language", "told"),
    [
        ("cubic", "c", "cubic is a variant of cclab (cclab list variants): choose another name"),
        ("soft", "java", "--language java: one of c, python, rust"),
        ("soft", "Rust", "--language Rust: one of c, python, rust; did you mean rust?"),
        ("tcp", "rust", "tcp: the file means something else by Tcp: choose another name"),
        ("none", "python", "none: the file means something else by None: choose another name"),
        ("random", "python", "random: Python has a module of that name: choose another name"),
        ("tcp_reno", "c", "tcp_reno: the kernel has names that begin so: choose another name"),
        ("sock", "c", "sock: the kernel has names that begin so: choose another name"),
        ("option", "rust", "option: the file means something else by Option: choose another name"),
        ("exception", "python", MEANT.format("exception", "Exception")),
        ("value_error", "python", MEANT.format("value_error", "ValueError")),
        ("while", "python", WORD.format("while")),
        ("match", "python", WORD.format("match")),
        *(
            (
                "conftest",
                language,
                "conftest: pytest takes a file of that name for its own: choose another name",
            )
            for language in ENDINGS
        ),
        *(
            (
                name,
                "c",
                f"'{name}' cannot be the name of a variant: it has up to 15 small letters, "
                "digits and single `_` between them, and begins with a letter",
            )
            for name in (
                "so ft",
                "so.ft",
                "",
                "soft\u0435r",
                "Soft",
                "2soft",
                "soft-er",
                "soft__er",
                "soft_",
                "sixteen_letters_",
                "é",
            )
        ),
    ],
)
def test_names_that_cannot_be_are_refused(
    cli: Cli, tmp_path: Path, name: str, language: str, told: str
) -> None:
    done = cli("new", "variant", name, "--language", language, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (WRONG_INPUT, f"error: {told}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_a_module_that_is_installed_is_refused(cli: Cli, tmp_path: Path) -> None:
    for name in ("numpy", "polars", "cclab"):
        done = cli("new", "variant", name, "--language", "python", cwd=tmp_path)
        assert done.returncode == WRONG_INPUT
        told = f"error: {name}: the file would stand in front of the module {name} ("
        assert done.stderr.startswith(told), done.stderr
        # Nothing is imported by these names.
        done = cli("new", "variant", name, "--language", "rust", cwd=tmp_path)
        assert done.returncode == DONE, done.stderr
    # What is in the folder at hand stands in front of nothing but itself.
    (tmp_path / "soft.py").write_text("")
    assert cli("new", "variant", "soft", "--language", "python", cwd=tmp_path).returncode == DONE


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("c", [("beta", "int", 768)]),
        ("python", [("beta", None, 0.75)]),
        ("rust", [("beta", None, 0.75)]),
    ],
)
def test_the_parameters_of_a_file_are_listed(
    cli: Cli, tmp_path: Path, language: str, told: list[tuple[str, str | None, float | None]]
) -> None:
    assert cli("new", "variant", "soft", "--language", language, cwd=tmp_path).returncode == DONE
    done = cli("list", "variants", PATHS[language], "--json", cwd=tmp_path / "soft")
    (row,) = json.loads(done.stdout)["variants"]
    listed = [(one["name"], one["measure"], one["default"]) for one in row["params"]]
    assert listed == told
    plain = cli("list", "variants", PATHS[language], cwd=tmp_path / "soft").stdout
    assert f"params: beta{' = 768 (int)' if language == 'c' else ' = 0.75'}" in plain


@pytest.mark.parametrize("language", ENDINGS)
def test_what_is_written_passes_its_own_test(cli: Cli, tmp_path: Path, language: str) -> None:
    """From the command to numbers, in a folder outside of the checkout."""
    assert cli("new", "variant", "soft", "--language", language, cwd=tmp_path).returncode == DONE
    folder = tmp_path / "soft"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


@pytest.mark.parametrize("language", ENDINGS)
def test_its_parameter_is_what_remains_of_the_window(
    cli: Cli, tmp_path: Path, language: str
) -> None:
    assert cli("new", "variant", "soft", "--language", language, cwd=tmp_path).returncode == DONE
    study = tmp_path / "soft/study.toml"
    text = study.read_text().replace("[sweep]", '[sweep]\n"flow.mine.cc_params.beta" = BETAS')
    text = text.replace(f'["{PATHS[language]}", "cubic", "reno"]', f'["{PATHS[language]}"]')
    betas = [512, 896] if language == "c" else [0.5, 0.875]
    study.write_text(text.replace("BETAS", str(betas)))
    results = cclab.run(study, out=tmp_path / "out", set="duration=30s", repeat=2)
    rows = results.flows.filter(name="mine")
    reno, gentle = (
        fmean(rows.filter(pl.col("flow.mine.cc_params.beta") == beta)["goodput_bps"].to_list())
        for beta in betas
    )
    # Half is Reno's own: 10 Mbit/s each, give or take what two runs of it do.
    assert 0.8 < reno / 10e6 < 1.2
    assert gentle > 1.2 * reno


def test_the_labs_are_written_as_they_are_in_the_repository(cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "labs", cwd=tmp_path)
    assert done.returncode == DONE, done.stderr
    there = {file.name: file.read_bytes() for file in (ROOT / "labs").glob("*.ipynb")}
    assert {file.name: file.read_bytes() for file in (tmp_path / "labs").iterdir()} == there
    assert len(there) == 8
    for name in there:
        assert f"labs/{name}" in done.stdout


def test_a_lab_that_somebody_works_in_stays(cli: Cli, tmp_path: Path) -> None:
    name = "02-aimd.ipynb"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    done = cli("new", "labs", "--out", "mine", cwd=tmp_path)
    assert done.returncode == WRONG_INPUT
    assert f"mine has {name} already, which stays" in done.stderr
    assert [file.name for file in (tmp_path / "mine").iterdir()] == [name]
