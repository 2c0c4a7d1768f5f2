"""What cclab is built of, and tested with, is locked, and may be passed on."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

ALLOWED: frozenset[str] = frozenset(
    tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"]
)
"""Licences of crates, as `make audit` has them."""

PYTHON = ALLOWED | {"MIT-CMU", "MPL-2.0", "PSF-2.0"}
"""Licences of packages: one under the MPL is passed on as it is, beside cclab."""

CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "BSD": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
}
"""What packages say that have no SPDX expression."""

MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software "
    "and associated documentation files"
)
"""What a package has instead that gives the text of the MIT License."""

TESTS_ALONE = {"scapy": "GPL-2.0-only"}
"""They make input for tests, and are no part of what is passed on."""


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Whether an SPDX expression can be met by `allowed` licences. A slash is an old OR."""
    tokens = re.findall(r"[()]|[^\s()/]+(?: WITH [^\s()/]+)?", expression.replace("/", " OR "))

    def either() -> bool:
        met = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = both() or met
        return met

    def both() -> bool:
        met = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = one() and met
        return met

    def one() -> bool:
        token = tokens.pop(0)
        if token != "(":
            return token in allowed
        met = either()
        assert tokens.pop(0) == ")", expression
        return met

    met = either()
    assert not tokens, expression
    return met


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("MIT/GPL-3.0-only", True),
        ("(MIT OR GPL-2.0-only) AND GPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", True),
        ("Apache-2.0 WITH other-exception", False),
    ],
)
def test_an_expression_of_licences_is_read(expression: str, met: bool) -> None:
    assert is_allowed(expression, ALLOWED) is met


def test_every_cargo_of_the_makefile_keeps_to_the_locked_versions() -> None:
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    calls = re.findall(
        r"^\t.*?\b(?:cargo(?: \+nightly)? (?:build|test|run|clippy|check|install|fetch|mutants)\b"
        r"|maturin develop).*$",
        text,
        re.MULTILINE,
    )
    calls = [call for call in calls if not re.search(r"^\t(@echo|#)|--version", call)]
    assert len(calls) > 10
    assert [call for call in calls if "--locked" not in call and "fuzz run" not in call] == []
    # `cargo fuzz` has no such option: what it would change is refused before.
    assert text.index("fetch --locked --manifest-path fuzz/Cargo.toml") < text.index("fuzz run")


def test_every_program_that_the_makefile_brings_has_one_version() -> None:
    text = (ROOT / "Makefile").read_text()
    brought = re.findall(
        r"\b(?:cargo-(?:cyclonedx|deny|fuzz|mutants)|uv|pip-audit|cyclonedx-bom)[@=<>~!].*", text
    )
    exact = r"\S+?(@|==)\d+\.\d+\.\d+"
    assert len(brought) >= 7
    assert [one for one in brought if not re.match(exact + r"(\)| v|$|,)", one)] == []
    assert not re.search(r"cargo install (?!--list)(?!--locked \$\(1\))", text)


def locked() -> dict[str, list[tuple[str, str]]]:
    """The versions of each package in requirements.lock, with the lines that are of them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for block in re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text()):
        if not block.startswith("#"):
            pinned = re.match(r"([\w.-]+)==([^\s;]+)", block)
            assert pinned is not None, f"no package with its version: {block}"
            name, version = pinned.groups()
            found.setdefault(canonicalize_name(name), []).append((version, block))
    return found


def test_every_package_is_locked_with_digests_and_from_no_place_by_name() -> None:
    every = locked()
    assert len(every) > 50
    for name, versions in every.items():
        for _, block in versions:
            assert "--hash=sha256:" in block, name
    text = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"://|^\s*-(?!-hash)|index-url|find-links|trusted-host", text, re.M)


def test_what_pyproject_asks_for_is_what_is_locked() -> None:
    """A requirement that was added or raised, and no `make lock` after it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        asked += extra
    every = locked()
    for text in asked:
        requirement = Requirement(text)
        versions = every.get(canonicalize_name(requirement.name), [])
        assert versions, f"{text}: make lock"
        for version, _ in versions:
            assert requirement.specifier.contains(version), f"{text}, not {version}: make lock"


def licence_of(package: metadata.Distribution) -> str:
    """The licence that an installed package says it has, as an SPDX expression if it can be."""
    said = package.metadata
    if "License-Expression" in said:
        return str(said["License-Expression"])
    classified = [
        line.rsplit(" :: ", 1)[1]
        for line in said.get_all("Classifier", [])
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    words = classified or [said["License"].strip() if "License" in said else ""]
    if any(MIT in " ".join(word.split()) for word in words):
        return "MIT"
    return " OR ".join(CLASSIFIERS.get(word, word or "none") for word in words)


def test_licences_of_packages_allow_what_is_done_with_them() -> None:
    seen = 0
    for name in locked():
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # It is for another Python or system.
        seen += 1
        said = licence_of(package)
        assert is_allowed(said, PYTHON) or TESTS_ALONE.get(name) == said, f"{name}: {said}"
    assert seen > 50


def test_nothing_for_tests_alone_is_among_what_cclab_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    shipped = [*project["dependencies"]]
    for extra, listed in project["optional-dependencies"].items():
        shipped += listed if extra != "dev" else []
    waiting, known = [Requirement(text).name for text in shipped], set[str]()
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in known:
            continue
        known.add(name)
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                waiting.append(need.name)
    assert len(known) > 20
    assert not known & TESTS_ALONE.keys()


def test_licences_of_crates_allow_what_is_done_with_them() -> None:
    done = subprocess.run(
        [
            *("cargo", "metadata", "--locked", "--offline", "--format-version", "1"),
            *("--filter-platform", host(), "--manifest-path", ROOT / "Cargo.toml"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    crates: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    assert len(crates) > 100
    for crate in crates:
        said = crate["license"] or "none"
        assert is_allowed(said, ALLOWED), f"{crate['name']}: {said}"
        source = crate["source"]
        assert source is None or source.startswith("registry+"), f"{crate['name']}: {source}"


def host() -> str:
    """The system that crates are compiled for."""
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in told.splitlines() if line.startswith("host: "))
