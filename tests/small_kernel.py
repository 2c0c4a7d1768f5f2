"""A tree that takes the steps of a kernel's build in no time.

A kernel takes minutes: here `make linux` writes a script that says its version. The steps, the
cache and the messages are the real ones.
"""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAKEFILE = """\
VERSION = {version}
PATCHLEVEL = {patchlevel}
SUBLEVEL = 7
NAME = A tree for tests

tinyconfig:
\t@echo '# CONFIG_NET is not set' > $(O)/.config
olddefconfig:
\t@echo CONFIG_UML=y >> $(O)/.config
linux:
\t@echo '  CC      init/main.o'
\t@{{ echo '#!/bin/sh'; cat greeting; }} > $(O)/linux
\t@chmod +x $(O)/linux
\t@{last}
"""
MERGE = 'cat "$5" >> "$4"\n'
GREETING = 'echo "6.12.7"\n'
PATCH = """\
The version says who made it.

--- a/greeting
+++ b/greeting
@@ -1 +1 @@
-echo "6.12.7"
+echo "6.12.7-ours"
"""


def tarball(file: Path, *, last: str = "true", version: str = "6.12", **files: str) -> Path:
    """A tree that builds in no time; `files` replaces or adds, `last` ends `make linux`."""
    major, minor = version.split(".")
    content = {
        "Makefile": MAKEFILE.format(version=major, patchlevel=minor, last=last),
        "greeting": GREETING,
        "scripts/kconfig/merge_config.sh": MERGE,
        **files,
    }
    with tarfile.open(file, "w:gz" if file.suffix == ".gz" else "w:xz") as archive:
        for name, text in content.items():
            member = tarfile.TarInfo(f"linux-{version}.7/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return file


def entries(home: Path) -> list[str]:
    """The kernels of a cache, and all that is not its own housekeeping."""
    return sorted(p.name for p in home.iterdir() if p.name not in ("lock", "tarballs.json", "tmp"))
