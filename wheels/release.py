"""What a release has beside its wheels: `make release TAG=v0.1.0`.

    python wheels/release.py check TAG     before wheels are built: the tag is that of this version
    python wheels/release.py gather [DIR]  after it: the other files, and the digests of all of them

constraints.txt      the versions of packages that cclab was tested with, for pip
linux-source-*       the sources of the kernels, as their licence asks
NOTES.md             what changed, out of CHANGELOG.md
SHA256SUMS           the digest of every file
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
from pathlib import Path

import build
import locked

from cclab import kernel

ROOT = locked.ROOT

SUMS = "SHA256SUMS"


def main() -> None:
    """Does what the first word says."""
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("check").add_argument("tag")
    verbs.add_parser("gather").add_argument("out", type=Path, nargs="?", default=ROOT / "dist")
    given = parser.parse_args()
    changes = (ROOT / "CHANGELOG.md").read_text()
    if given.verb == "check":
        check(given.tag, build.VERSION, changes)
    else:
        gather(given.out, notes(build.VERSION, changes))


def check(tag: str, version: str, changes: str) -> None:
    """Ends with a message if `tag` is not that of `version`, or `changes` have no day for it."""
    if tag != f"v{version}":
        raise SystemExit(
            f"the tag {tag} is not v{version}, the version of Cargo.toml: tag the commit that "
            "raises the version"
        )
    if not re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        raise SystemExit(
            f"CHANGELOG.md has no day for {version}: write `## {version} - YYYY-MM-DD`, and tag "
            "the commit that does"
        )


def notes(version: str, changes: str) -> str:
    """What the changelog says of `version`, without its heading."""
    of_version = rf"^## {re.escape(version)} - [^\n]*\n(.*?)(?=^## |\Z)"
    said = re.search(of_version, changes, re.MULTILINE | re.DOTALL)
    if said is None:
        raise SystemExit(f"CHANGELOG.md says nothing of {version}")
    return said[1].strip() + "\n"


def gather(out: Path, changed: str) -> None:
    """Adds the other files to those in `out`, and the digests of all."""
    (out / "constraints.txt").write_text(locked.constraints())
    (out / "NOTES.md").write_text(changed)
    for name in build.KERNELS:
        tarball = kernel.debian(name)
        shutil.copyfile(tarball, out / tarball.name)
    (out / SUMS).write_text(sums(out))
    print((out / SUMS).read_text(), end="")


def sums(folder: Path) -> str:
    """The digests of the files in `folder`, as sha256sum reads them."""
    lines = []
    for file in sorted(folder.iterdir()):
        if file.name != SUMS:
            with file.open("rb") as content:
                lines.append(f"{hashlib.file_digest(content, 'sha256').hexdigest()}  {file.name}\n")
    return "".join(lines)


if __name__ == "__main__":
    main()
