"""What a release says of itself: its version, what changed, what it is made of."""

from __future__ import annotations

import re
import tomllib

from packaging.version import Version

from cclab import __version__, versions
from conftest import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()

SECTIONS = re.findall(r"^## (\S+) - (\S+)\n(.*?)(?=^## |\Z)", CHANGELOG, re.MULTILINE | re.DOTALL)
"""Of each version its number, its day and what is said of it."""

KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Versions"}
"""The kinds of changes that the form knows, and the numbers of this project."""


def test_the_version_has_one_owner() -> None:
    owner = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert __version__ == owner
    for crate in ROOT.glob("crates/*/Cargo.toml"):
        assert tomllib.loads(crate.read_text())["package"]["version"] == {"workspace": True}, crate
    for project in (ROOT / "pyproject.toml", ROOT / "wheels/kernel/pyproject.toml"):
        assert tomllib.loads(project.read_text())["project"]["dynamic"] == ["version"]
    # Who cites it reads a file that cannot look elsewhere.
    assert f"\nversion: {owner}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_newest_changes_are_those_of_this_version() -> None:
    numbers = [Version(number) for number, _, _ in SECTIONS]
    assert len(numbers) == CHANGELOG.count("\n## ")
    assert numbers == sorted(numbers, reverse=True)
    assert str(numbers[0]) == __version__
    for place, (number, day, text) in enumerate(SECTIONS):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d" + "|Unreleased" * (place == 0), day), number
        assert {*re.findall(r"^### (.*)$", text, re.MULTILINE)} <= KINDS, number


def test_the_newest_changes_name_the_versions_of_behaviour_and_documents() -> None:
    newest = SECTIONS[0][2]
    assert f"| behaviour | {versions.AT_HAND} |" in newest
    schemas = {*re.findall(r"cclab-trace/\d+", (ROOT / "crates/trace/src/lib.rs").read_text())}
    for file in ROOT.glob("python/cclab/**/*.py"):
        schemas |= {*re.findall(r'"(cclab(?:-[a-z-]+)?/\d+)"', file.read_text())}
    assert len(schemas) > 15
    assert {*re.findall(r"`(cclab(?:-[a-z-]+)?/\d+)`", newest)} == schemas
