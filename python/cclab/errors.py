"""What can go wrong, by whose fault it is."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from cclab import shell
from cclab._core import CaptureError, RunError, StudyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "CaptureError",
    "DamageError",
    "DamagedPlanError",
    "DamagedRunsError",
    "InputError",
    "OpenClusterWarning",
    "RemovedError",
    "RunError",
    "StoreError",
    "StudyError",
]

OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What the system refuses because the disk is full or fails, and not for what it was asked."""


READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
"""What the system says where this user can read, and make nothing."""


class InputError(ValueError):
    """A command or a call asks for something that cannot be: the message says what to change."""


class OpenClusterWarning(UserWarning):
    """Whoever reaches the scheduler of a cluster can run programs by it."""


class StoreError(OSError):
    """A results folder cannot be read or written: the message names the folder and the reason."""

    @property
    def while_writing(self) -> bool:
        """Whether the disk, not the choice of the folder, is to blame."""
        cause = self.__cause__
        return isinstance(cause, OSError) and cause.errno in OF_THE_DISK

    @property
    def of_read_only(self) -> bool:
        """Whether the folder is one that this user can only read."""
        return self.errno in READ_ONLY

    def __str__(self) -> str:
        return str(self.args[0])


class RemovedError(StoreError):
    """Somebody removed a results folder, or parts of it, while runs were written into it."""

    def __init__(self, folder: Path, standing: int) -> None:
        """So many runs of `folder` are `standing`."""
        stand = f"{standing} run{'' if standing == 1 else 's'} in it" if standing else "no run"
        super().__init__(
            f"{folder} was removed, or parts of it, while runs were written into it: {stand} "
            f"stand{'s' if standing < 2 else ''}, the others are lost; the same command does them "
            "again"
        )

    @property
    def while_writing(self) -> bool:
        """The choice of the folder is not to blame."""
        return True


class DamageError(StoreError):
    """Something in a results folder is not as it was written."""


class DamagedRunsError(DamageError):
    """Runs in a results folder are not as they were written; `run` does them again."""

    def __init__(self, folder: Path, damaged: Sequence[str], why: str = "") -> None:
        """The runs `damaged`, by id, of `folder`; `why` is what reading one of them said."""
        self.damaged = tuple(damaged)
        count = f"{len(damaged)} damaged run{'' if len(damaged) == 1 else 's'} in {folder}"
        reason = f" ({why})" if why else ""
        command = shell.command("cclab", "run", "STUDY.toml", "--out", folder)
        mend = f"{command} mends what is damaged"
        super().__init__("\n  ".join([f"{count}{reason}; {mend}:", *damaged]))


class DamagedPlanError(DamageError):
    """Plans in a results folder are not as they were written."""

    def __init__(self, folder: Path, plans: Mapping[Path, str]) -> None:
        """The files of the plans in `folder`, each with what is wrong with it and what mends it."""
        self.plans = tuple(plans)
        super().__init__("\n".join(f"{file} {problem}" for file, problem in plans.items()))
