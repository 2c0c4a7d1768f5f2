"""A variant, a discipline and a metric are added to a copy of the tree, by the files that
CONTRIBUTING.md names, and are then wherever users meet such things."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

STUDY = """\
title = "What was added"
duration = "2s"
seed = 7

[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { kind = "antechamber", limit = "1bdp" }

[[flow]]
name = "a"
cc = "sisyphus"

[expect]
some = "flow.a.fast_recoveries > 0"
"""

CARGO_FLAGS = ("--features", "extension-module,as-tested", "--profile", "checked")


def _copy(tree: Path) -> None:
    """The parts of the repository that the program is made of."""
    tree.mkdir()
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy2(ROOT / name, tree / name)
    for name in (".cargo", "crates", "python", "docs"):
        left_out = shutil.ignore_patterns("__pycache__", "*.so", "bin")
        shutil.copytree(ROOT / name, tree / name, ignore=left_out)


def _insert(file: Path, before: str, text: str) -> None:
    whole = file.read_text(encoding="utf-8")
    assert whole.count(before) == 1, f"{before!r} in {file}"
    file.write_text(whole.replace(before, text + before), encoding="utf-8")


def _variant(tree: Path) -> list[str]:
    """Adds Reno under another name, which no kernel has."""
    source = (tree / "crates/cc/src/reno.rs").read_text(encoding="utf-8")
    source = source.replace('name: "reno"', 'name: "sisyphus"')
    source = source.replace("Some(InKernel::BuiltIn)", "None")
    source = source.replace("use cclab_units::InKernel;\n\n", "")
    source = source.replace("AIMD; fast", "AIMD again; fast")
    (tree / "crates/cc/src/sisyphus.rs").write_text(source, encoding="utf-8")
    _insert(tree / "crates/cc/src/lib.rs", "mod tahoe;\n", "mod sisyphus;\n")
    _insert(
        tree / "crates/cc/src/registry.rs",
        "    crate::nv::VARIANT",
        "    crate::sisyphus::VARIANT,\n",
    )
    return ["crates/cc/src/NAME.rs", "lib.rs", "crates/cc/src/registry.rs"]


def _discipline(tree: Path) -> list[str]:
    """Adds droptail under another name."""
    source = (tree / "crates/qdisc/src/droptail.rs").read_text(encoding="utf-8")
    source = source.replace('name: "droptail"', 'name: "antechamber"')
    (tree / "crates/qdisc/src/antechamber.rs").write_text(source, encoding="utf-8")
    _insert(tree / "crates/qdisc/src/lib.rs", "mod choke;\n", "mod antechamber;\n")
    last = "    crate::policer::DISCIPLINE"
    _insert(tree / "crates/qdisc/src/registry.rs", last, "    crate::antechamber::DISCIPLINE,\n")
    return ["crates/qdisc/src/NAME.rs", "lib.rs", "crates/qdisc/src/registry.rs"]


def _metric(tree: Path) -> list[str]:
    """Adds a count that traces have and no metric tells."""
    row = """\
        fast_recoveries: u64 = |of| of.flow.fast_recoveries,
            "Fast recoveries entered.",
            row(Count, "run", "sender").lower().column("recoveries", 0);

"""
    _insert(tree / "crates/metrics/src/flow.rs", "        srtt_mean_s: ", row)
    return ["flow.rs"]


def _touched(tree: Path) -> set[Path]:
    """The files of `tree` that are new or other than the repository's."""
    touched = set()
    for file in (tree / "crates").rglob("*"):
        name = file.relative_to(tree)
        if file.is_file():
            own = ROOT / name
            if not own.exists() or own.read_bytes() != file.read_bytes():
                touched.add(name)
    return touched


def _section(title: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.split(f"## {title}")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the additions, built; what the additions touched is checked."""
    tree = tmp_path_factory.mktemp("additions") / "tree"
    _copy(tree)
    named = 0
    for title, add in [
        ("Adding a variant", _variant),
        ("Adding a qdisc", _discipline),
        ("Adding a metric", _metric),
    ]:
        files = add(tree)
        named += len(files)
        for file in files:
            assert f"`{file}`" in _section(title), f"{title} does not name {file}"
    assert len(_touched(tree)) == named
    # The dependencies are those of the tests, built; of cclab itself no speed is asked.
    crates = [f"cclab-{file.parent.name}" for file in tree.glob("crates/*/Cargo.toml")]
    plain = [f'profile.checked.package."{crate}".opt-level=0' for crate in crates]
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target")),
        "PYO3_PYTHON": os.environ.get("PYO3_PYTHON", sys.executable),
        "PYO3_BUILD_EXTENSION_MODULE": "1",
    }
    built = subprocess.run(
        [
            *("cargo", "build", "--locked", "-p", "cclab-py", "--lib", *CARGO_FLAGS),
            *("--message-format", "json-render-diagnostics"),
            *(word for setting in plain for word in ("--config", setting)),
        ],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    artifacts = [json.loads(line) for line in built.stdout.splitlines()]
    [module] = [
        file
        for artifact in artifacts
        if artifact.get("target", {}).get("name") == "_core"
        for file in artifact["filenames"]
        if file.endswith(".so")
    ]
    shutil.copy2(module, tree / "python/cclab/_core.abi3.so")
    return tree


def _cclab(tree: Path, *words: object) -> str:
    program = "from cclab.__main__ import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(tree / "python"), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    ("what", "name"),
    [("variants", "sisyphus"), ("qdiscs", "antechamber"), ("metrics", "flow.fast_recoveries")],
)
def test_it_is_listed(added: Path, what: str, name: str) -> None:
    rows = json.loads(_cclab(added, "list", what, "--json"))[what]
    assert name in [row["name"] for row in rows]


def test_the_schemas_have_it(added: Path) -> None:
    program = "from cclab import _core; print(_core.schema()); print(_core.results_schema())"
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(added / "python")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in ("sisyphus", "antechamber", "fast_recoveries"):
        assert f'"{name}"' in told


def test_a_run_has_it_in_its_table_its_checks_and_its_query(added: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY, encoding="utf-8")
    printed = _cclab(added, "run", study, "--out", tmp_path / "results")
    assert "recoveries" in printed
    assert "sisyphus" in printed
    results = tmp_path / "results"
    run = json.loads(_cclab(added, "run", study, "--out", results, "--json"))["runs"][0]
    count = run["flows"][0]["fast_recoveries"]
    found = json.loads(
        _cclab(
            added, "query", results, "cc == 'sisyphus'", "--columns", "fast_recoveries", "--json"
        )
    )
    assert count > 0
    assert [row["fast_recoveries"] for row in found["rows"]] == [count]
