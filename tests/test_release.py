"""What a release says of itself: its version, what changed, what it is made of."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import tomllib
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from cclab import __version__, versions
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


@pytest.fixture(scope="module")
def wheels() -> Iterator[None]:
    """Has the programs of wheels/ be modules, as they are to each other."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "wheels")
        yield


def _module(name: str) -> Any:
    return importlib.import_module(name)


CHANGES = "# Changelog\n\n## 1.1.0 - 2027-01-31\n\nNew.\n\n## 1.0.0 - 2026-12-31\n\nFirst.\n"


@pytest.mark.usefixtures("wheels")
def test_a_tag_is_that_of_the_version_and_its_day_is_told() -> None:
    release = _module("release")
    release.check("v1.1.0", "1.1.0", CHANGES)
    with pytest.raises(SystemExit, match=r"the tag v1\.1 is not v1\.1\.0"):
        release.check("v1.1", "1.1.0", CHANGES)
    with pytest.raises(SystemExit, match=r"no day for 1\.1\.0"):
        release.check("v1.1.0", "1.1.0", CHANGES.replace("2027-01-31", "Unreleased"))
    assert release.notes("1.1.0", CHANGES) == "New.\n"
    assert release.notes("1.0.0", CHANGES) == "First.\n"


@pytest.mark.usefixtures("wheels")
def test_digests_are_as_sha256sum_checks_them(tmp_path: Path) -> None:
    release = _module("release")
    for name in ("b.whl", "a b.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / release.SUMS).write_text(release.sums(tmp_path))
    check = ["sha256sum", "--check", "--strict", release.SUMS]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "a b.txt: OK\nb.whl: OK\n"


@pytest.mark.usefixtures("wheels")
def test_constraints_are_what_is_locked_for_users_alone() -> None:
    locked = _module("locked")
    lines = locked.constraints().splitlines()
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==\S+( ; .+)?", line)
        assert f"\n{line} \\\n" in (ROOT / "requirements.lock").read_text()
    names = {line.partition("==")[0] for line in lines}
    assert {"numpy", "contourpy", "distributed", "gymnasium", "numba"} <= names
    assert not {"scapy", "pytest", "maturin", "zizmor"} & names
    for name in names:  # All that these need is among them, as far as it is installed here.
        for text in metadata.requires(name) or [] if _is_installed(name) else []:
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in names, f"{name} needs {text}"


def _is_installed(name: str) -> bool:
    return next(iter(metadata.distributions(name=name)), None) is not None


@pytest.mark.usefixtures("wheels")
def test_a_bill_of_materials_names_all_that_is_shipped_and_nothing_that_is_not_locked() -> None:
    sbom = _module("sbom")
    named = [{"name": "numpy", "version": "2.4.6"}, {"name": "rich", "version": "15.0.0"}]
    document = json.dumps({"components": named})
    both = {("numpy", "2.4.6"), ("rich", "15.0.0")}
    sbom.check(document, both, both)
    with pytest.raises(SystemExit, match=r"lacks numpy 2\.4\.7"):
        sbom.check(document, {("numpy", "2.4.7"), *both}, both)
    with pytest.raises(SystemExit, match=r"has what is not locked: rich 15\.0\.0"):
        sbom.check(document, {("numpy", "2.4.6")}, {("numpy", "2.4.6")})


@pytest.mark.usefixtures("wheels")
def test_a_bill_of_materials_names_what_lies_in_the_wheel_as_others_made_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sbom, bundled = _module("sbom"), _module("bundled")
    document = json.loads(sbom.of_bundled({"SOURCE_DATE_EPOCH": "86400"}))
    assert document["metadata"]["timestamp"] == "1970-01-02T00:00:00+00:00"
    (library,) = document["components"]
    assert library["purl"] == f"pkg:npm/{library['name']}@{library['version']}"
    assert library["licenses"] == [{"license": {"id": "MIT"}}]
    assert "The MIT License (MIT)" in (bundled.UPLOT / "LICENSE").read_text()
    named = [(file["hashes"][0]["content"], file["name"]) for file in library["components"]]
    sums = "".join(f"{digest}  {name}\n" for digest, name in named)
    check = ["sha256sum", "--check", "--strict"]
    subprocess.run(check, cwd=bundled.UPLOT, input=sums, text=True, check=True)
    of_others = {file.name for file in bundled.UPLOT.iterdir() if file.suffix in {".js", ".css"}}
    assert {name for _, name in named} == of_others
    # The file itself tells its version.
    monkeypatch.setattr(bundled.uplot, "VERSION", "1.6.31")
    with pytest.raises(SystemExit, match=r"lacks uplot 1\.6\.\d+"):
        sbom.of_bundled({"SOURCE_DATE_EPOCH": "86400"})


@pytest.mark.usefixtures("wheels")
def test_a_bill_of_materials_tells_what_a_kernel_was_made_of() -> None:
    build, bundled = _module("build"), _module("bundled")
    patches = (("0001-a.patch", "first"), ("0002-b.patch", "second"))
    source = build.Source(
        "6.12.117",
        "linux-source-6.12.tar.xz",
        "linux-source-6.12",
        "6.12.117-1",
        "ab",
        "cd",
        patches,
    )
    kernel = bundled.linux(source)
    assert (kernel["name"], kernel["version"]) == ("linux", "6.12.117")
    assert kernel["purl"] == "pkg:deb/debian/linux-source-6.12@6.12.117-1?arch=all"
    assert kernel["licenses"] == [{"expression": "GPL-2.0-only WITH Linux-syscall-note"}]
    (tarball,) = kernel["externalReferences"]
    assert "linux-source-6.12.tar.xz" in tarball["comment"]
    assert tarball["hashes"] == [{"alg": "SHA-256", "content": "ab"}]
    assert kernel["hashes"] == [{"alg": "SHA-256", "content": "cd"}]
    texts = [patch["diff"]["text"]["content"] for patch in kernel["pedigree"]["patches"]]
    assert texts == ["first", "second"]


def test_workflows_call_make_and_name_each_action_by_its_commit() -> None:
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    assert [file.stem for file in files] == ["release", "test"]
    texts = {file.stem: file.read_text() for file in files}
    for name, text in texts.items():
        actions = re.findall(r"uses: (\S+)(.*)", text)
        assert len(actions) >= 2
        for action, rest in actions:
            if not action.startswith("./"):
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
                assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), action
        # What jobs may do they say themselves; nothing of ours is a secret.
        assert "\npermissions: {}\n" in text, name
        assert "secrets." not in text
    targets = {*re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    called = {*re.findall(r"run: make ([a-z-]+)", "".join(texts.values()))}
    assert called == {"audit", "release"}
    assert called <= targets
    assert "run: .ci/run\n" in texts["test"]
