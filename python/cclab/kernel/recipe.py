"""What is ours in a kernel: a fragment of configuration over `tinyconfig`, and patches.

fragment.config             for every kernel
patches/SERIES/*.patch      for the kernels of a series, such as 6.12
patches/SERIES/fragment.config    what that series has otherwise; `CONFIG_X=n`: it has no X
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cclab.errors import InputError

_SCHEMA = "cclab-kernel/1"
"""Changes when the steps of a build change, so that kernels of older steps are made again."""

FRAGMENT = "fragment.config"
FOLDER = Path(__file__).parent
"""Where the recipes that come with cclab are."""


@dataclass(frozen=True)
class Recipe:
    """The fragment and the patches as they were when they were read."""

    fragment: str
    patches: tuple[tuple[str, str], ...]
    """Names and contents, in the order in which they are applied."""
    origin: str
    """The series whose patches they are, or the folder, if that is the user's own."""

    @classmethod
    def shipped(cls, series: str) -> Self | None:
        """What comes with cclab for `series`; None if nothing does."""
        folder = FOLDER / "patches" / series
        return cls._load(folder, series) if folder.is_dir() else None

    @classmethod
    def nearest(cls, series: str) -> Self:
        """What comes with cclab for `series` or else for the one nearest to it."""
        there = (entry.name for entry in (FOLDER / "patches").iterdir() if entry.is_dir())
        # Of two that are as near, the later one.
        nearest = min(
            there, key=lambda name: (abs(_position(name) - _position(series)), -_position(name))
        )
        return cls._load(FOLDER / "patches" / nearest, nearest)

    @classmethod
    def own(cls, folder: Path) -> Self:
        """The user's patches in `folder`. Raises `InputError` if there are none."""
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder of patches")
        try:
            recipe = cls._load(folder, str(folder.resolve()))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the patches in {folder}: {error}") from error
        if not recipe.patches:
            raise InputError(f"{folder} holds no patch; their names end with .patch")
        return recipe

    @classmethod
    def _load(cls, folder: Path, origin: str) -> Self:
        common = (FOLDER / FRAGMENT).read_text(encoding="utf-8")
        of_series = folder / FRAGMENT
        additions = of_series.read_text(encoding="utf-8") if of_series.is_file() else ""
        patches = sorted(folder.glob("*.patch"))
        return cls(
            _laid_over(common, additions),
            tuple((patch.name, patch.read_text(encoding="utf-8")) for patch in patches),
            origin,
        )

    @property
    def own_patches(self) -> bool:
        """Whether the patches are the user's own."""
        return Path(self.origin).is_absolute()

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
            option = _option(line)
            if option is None:
                continue
            # An option that is off is a comment, or absent where its menu is.
            off = line == f"{option}=n" and not any(has.startswith(f"{option}=") for has in have)
            if line not in have and not off:
                unmet.append(line)
        return unmet


def _position(series: str) -> int:
    """Where a series stands among all: the majors since 4 end at about 20."""
    major, minor = map(int, series.split("."))
    return 20 * major + minor


def _option(line: str) -> str | None:
    """The option that a line of a fragment sets."""
    option, given, _ = line.partition("=")
    return option if given and not line.startswith("#") else None


def _laid_over(common: str, additions: str) -> str:
    """The fragment `common` where `additions` do not say otherwise, and these."""
    said = {_option(line) for line in additions.splitlines()} - {None}
    kept = (line for line in common.splitlines(keepends=True) if _option(line) not in said)
    return "".join(kept) + additions
