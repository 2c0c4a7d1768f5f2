"""Writes what the wheels are made of as CycloneDX documents into dist/: `make sbom`.

    python wheels/sbom.py --cyclonedx-py PROGRAM [--foreign TARGET] [--out DIR]

cclab-py, cclab-agent   the crates in the module and in the program of the guests; again, with the
                        processor in the name, for the wheel of TARGET, as rustc calls that system
cclab-bundled           what lies in the wheel as others made it
cclab-kernel            the kernels
python                  the packages that cclab needs where it is installed

cargo-cyclonedx and cyclonedx-py write those of crates and packages. Each document has to name all
that is shipped, and nothing that is not locked, or there is none. cargo-cyclonedx asks for the
features of all crates of the workspace at once: of a crate it may name what only its tests have.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import build
import bundled
import locked
from programs import host, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

ROOT = locked.ROOT

PROGRAMS = {
    "cclab-py": ["--features", "extension-module"],
    "cclab-agent": [],
}
"""The crates that are built into the wheel, and how."""

_FILE = "cclab-sbom"


def main() -> None:
    """Writes a document for each of what is named above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cyclonedx-py", required=True, metavar="PROGRAM")
    parser.add_argument("--foreign", metavar="TARGET")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **build.date()}
    documents = {crate: of_crate(crate, host(), environment) for crate in PROGRAMS}
    if given.foreign:
        processor = given.foreign.partition("-")[0]
        for crate in PROGRAMS:
            documents[f"{crate}-{processor}"] = of_crate(crate, given.foreign, environment)
    documents["cclab-bundled"] = of_bundled(environment)
    documents["cclab-kernel"] = of_kernels(environment)
    documents["python"] = of_packages(given.cyclonedx_py, environment)
    for name, text in documents.items():
        file = given.out / f"{name}.cdx.json"
        file.write_text(text)
        print(file)


def of_crate(crate: str, system: str, environment: Mapping[str, str]) -> str:
    """The document of a crate and of all that is compiled into it or to build it for `system`."""
    features = PROGRAMS[crate]
    manifest = ROOT / "crates" / crate.removeprefix("cclab-") / "Cargo.toml"
    form = ["--format", "json", "--spec-version", "1.5", "--override-filename", _FILE]
    where = ["--manifest-path", str(manifest), "--target", system]
    try:
        said(["cargo", "cyclonedx", *where, *form, *features], environment)
        text = manifest.with_name(f"{_FILE}.json").read_text()
    finally:  # It writes one for each member of the workspace.
        for file in ROOT.glob(f"crates/*/{_FILE}.json"):
            file.unlink()
    tree = ["cargo", "tree", "--locked", "--package", crate, *features, "--target", system]
    lines = said([*tree, "--edges", "normal,build", "--prefix", "none", "--format", "{p}"])
    packages = {(name, version[1:]) for name, version, *_ in map(str.split, lines.splitlines())}
    check(text, packages - {(crate, build.VERSION)}, _locked_crates())
    # Where it was built is of no meaning elsewhere.
    return text.replace(f"file://{ROOT}", "file:///cclab")


def _locked_crates() -> set[tuple[str, str]]:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(package["name"], package["version"]) for package in lock["package"]}


def of_bundled(environment: Mapping[str, str]) -> str:
    """The document of what lies in the wheel `cclab` as others made it."""
    document = bundled.document("cclab", [bundled.of_pages()], _day(environment))
    text = json.dumps(document, indent=2) + "\n"
    check(text, bundled.whole(), bundled.whole())
    return text


def of_kernels(environment: Mapping[str, str]) -> str:
    """The document of the kernels of the wheel `cclab-kernel`."""
    kernels = build.current()
    components = [bundled.linux(build.source(each)) for each in kernels]
    text = json.dumps(bundled.document("cclab-kernel", components, _day(environment)), indent=2)
    booted = {("linux", each.release) for each in kernels}
    check(text, booted, booted)
    return text + "\n"


def _day(environment: Mapping[str, str]) -> str:
    return datetime.fromtimestamp(int(environment["SOURCE_DATE_EPOCH"]), UTC).isoformat()


def of_packages(program: str, environment: Mapping[str, str]) -> str:
    """The document of the packages that cclab needs where it is installed."""
    packages = locked.shipped()
    with tempfile.TemporaryDirectory() as place:
        listed = Path(place) / "requirements.txt"
        listed.write_text("\n".join(package.lines for package in packages) + "\n")
        command = [
            program,
            "requirements",
            str(listed),
            "--pyproject",
            str(ROOT / "pyproject.toml"),
        ]
        text = said([*command, "--output-reproducible", "--of", "JSON"], environment)
    pinned = {(package.name, package.version) for package in packages}
    check(text, pinned, pinned)
    return text + "\n"


def check(
    document: str, shipped: AbstractSet[tuple[str, str]], locked: AbstractSet[tuple[str, str]]
) -> None:
    """Ends with a message if a document lacks a package of `shipped`, or has one not `locked`."""
    read: dict[str, Any] = json.loads(document)
    named = {(each["name"], each["version"]) for each in read.get("components", [])}
    for odd, fault in ((shipped - named, "lacks"), (named - locked, "has what is not locked:")):
        if odd:
            told = ", ".join(f"{name} {version}" for name, version in sorted(odd))
            raise SystemExit(f"the bill of materials {fault} {told}")


if __name__ == "__main__":
    main()
