"""What is ours in the kernel: a fragment of configuration over `tinyconfig`, and patches."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_SCHEMA = "cclab-kernel/1"
"""Changes when the steps of a build change, so that kernels of older steps are made again."""


FRAGMENT = "fragment.config"


@dataclass(frozen=True)
class Recipe:
    """The fragment and the patches as they were when they were read."""

    fragment: str
    patches: tuple[tuple[str, str], ...]
    """Names and contents, in the order in which they are applied."""

    @classmethod
    def load(cls, folder: Path | None = None) -> Self:
        """The recipe in `folder`, or the one that comes with cclab."""
        folder = folder or Path(__file__).parent
        patches = sorted((folder / "patches").glob("*.patch"))
        return cls(
            (folder / FRAGMENT).read_text(encoding="utf-8"),
            tuple((patch.name, patch.read_text(encoding="utf-8")) for patch in patches),
        )

    @property
    def sha256(self) -> str:
        """The hash of its contents and of the patches' names, which give their order."""
        sum = hashlib.sha256(_SCHEMA.encode())
        for name, content in ((FRAGMENT, self.fragment), *self.patches):
            sum.update(f"\0{name}\0{len(content)}\0{content}".encode())
        return sum.hexdigest()

    def key(self, tarball_sha256: str, compiler: str) -> str:
        """The name of the kernel that this recipe gives: a hash of all that goes into it."""
        whole = "\0".join((self.sha256, tarball_sha256, compiler))
        return hashlib.sha256(whole.encode()).hexdigest()[:16]

    def unmet(self, config: str) -> list[str]:
        """The fragment's lines that the finished configuration `config` does not have."""
        have = set(config.splitlines())
        unmet = []
        for line in self.fragment.splitlines():
            option, given, value = line.partition("=")
            if not given or line.startswith("#"):
                continue
            # An option that is off is a comment, or absent where its menu is.
            absent = value == "n" and not any(has.startswith(f"{option}=") for has in have)
            if line not in have and not absent:
                unmet.append(line)
        return unmet
