"""What users of the wheel get, of all packages that requirements.lock locks."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parents[1]

DEVELOPERS = "dev"
"""The extra that nobody has but who changes cclab."""

_PACKAGE = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\\n]*[^\\\s]))?")
_VIA = re.compile(r"# +(?:via )?([A-Za-z0-9][\w.-]*)")


@dataclass(frozen=True)
class Package:
    """A package in the version that is locked, for some Pythons and systems or all."""

    name: NormalizedName
    version: str
    marker: str | None
    needed_by: frozenset[NormalizedName]
    lines: str
    """Its lines in requirements.lock, with the digests of its files."""

    @property
    def constraint(self) -> str:
        """What pip is told, without the digests."""
        pinned = f"{self.name}=={self.version}"
        return f"{pinned} ; {self.marker}" if self.marker else pinned


def packages() -> list[Package]:
    """All that are locked."""
    text = (ROOT / "requirements.lock").read_text()
    return [_package(lines) for lines in re.split(r"\n(?=[^\s#])", text) if lines[0] != "#"]


def _package(lines: str) -> Package:
    read = _PACKAGE.match(lines)
    assert read is not None, lines
    via = lines[lines.index("# via") :].replace("# via\n", "")
    return Package(
        canonicalize_name(read["name"]),
        read["version"],
        read["marker"],
        frozenset(map(canonicalize_name, _VIA.findall(via))),
        lines,
    )


def shipped() -> list[Package]:
    """Those that cclab needs where it is installed, with every extra but that of developers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].items()
    texts = [text for extra, listed in extras if extra != DEVELOPERS for text in listed]
    wanted = {
        canonicalize_name(Requirement(text).name) for text in (*project["dependencies"], *texts)
    }
    every, known = packages(), set[NormalizedName]()
    while wanted != known:
        known = wanted
        wanted = known | {package.name for package in every if package.needed_by & known}
    return [package for package in every if package.name in known]


def constraints() -> str:
    """The constraints of pip by which it installs the versions that cclab was tested with."""
    return "".join(f"{package.constraint}\n" for package in shipped())
