"""What others made that lies in the wheels as a whole: a library of pages, and the kernels.

As components of CycloneDX; `sbom.py` writes their documents.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import build
from programs import ROOT

from cclab.pages import uplot

if TYPE_CHECKING:
    from pathlib import Path

    from build import Source

PACKAGE = ROOT / "python" / "cclab"

UPLOT = PACKAGE / "pages" / "uplot"


def of_pages() -> dict[str, Any]:
    """The component uPlot, with the digest of each of its files."""
    files = sorted(UPLOT.glob("uPlot.*"))
    return {
        "type": "library",
        "bom-ref": f"pkg:npm/uplot@{uplot.VERSION}",
        "name": "uplot",
        "version": uplot.VERSION,
        "purl": f"pkg:npm/uplot@{uplot.VERSION}",
        "licenses": [{"license": {"id": "MIT"}}],
        "components": [
            {"type": "file", "name": file.name, "hashes": hashes(build.digest(file))}
            for file in files
        ],
    }


def whole() -> set[tuple[str, str]]:
    """The name and version of everything in the package that has a licence of its own.

    The version is the one that a file there begins with, not the one that cclab says it is.
    """
    return {
        (folder.name, _version(folder))
        for folder in (licence.parent for licence in PACKAGE.rglob("LICENSE*"))
    }


def _version(folder: Path) -> str:
    for file in sorted(folder.glob("*.js")):
        with file.open() as text:
            if told := re.search(r"\(v(\d[\w.]*)\)", text.readline()):
                return told[1]
    raise SystemExit(f"no file in {folder} begins with its version")


def linux(source: Source) -> dict[str, Any]:
    """The component of a kernel: of which sources of Debian it is, and how they are changed."""
    package = f"pkg:deb/debian/{source.package}@{source.version}?arch=all"
    return {
        "type": "operating-system",
        "bom-ref": f"linux-{source.release}",
        "name": "linux",
        "version": source.release,
        "purl": package,
        "cpe": f"cpe:2.3:o:linux:linux_kernel:{source.release}:*:*:*:*:*:*:*",
        "licenses": [{"expression": licence()}],
        "hashes": hashes(source.program_sha256),
        "externalReferences": [
            {
                "type": "source-distribution",
                "url": build.SNAPSHOT,
                "comment": f"{source.tarball}, of the package {source.package} {source.version}",
                "hashes": hashes(source.tarball_sha256),
            }
        ],
        "pedigree": {
            "patches": [
                {"type": "unofficial", "diff": {"text": {"content": text}}}
                for _, text in source.patches
            ],
            "notes": "hashes are those of the program; the patches are in the wheel too",
        },
    }


def licence() -> str:
    """That of the wheel of kernels."""
    project = tomllib.loads((ROOT / "wheels" / "kernel" / "pyproject.toml").read_text())["project"]
    return str(project["license"])


def hashes(sha256: str) -> list[dict[str, str]]:
    """A digest as CycloneDX has it."""
    return [{"alg": "SHA-256", "content": sha256}]


def document(wheel: str, components: list[dict[str, Any]], day: str) -> dict[str, Any]:
    """The document of these components of a wheel."""
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": day,
            "component": {
                "type": "application",
                "bom-ref": "root-component",
                "name": wheel,
                "version": build.VERSION,
                "purl": f"pkg:pypi/{wheel}@{build.VERSION}",
            },
        },
        "components": components,
        "dependencies": [
            {"ref": "root-component", "dependsOn": [each["bom-ref"] for each in components]}
        ],
    }
