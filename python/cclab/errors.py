"""What can go wrong, by whose fault it is."""

from __future__ import annotations

import errno

from cclab._core import RunError, StudyError

__all__ = ["InputError", "RunError", "StoreError", "StudyError"]

_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class InputError(ValueError):
    """A command or a call asks for something that cannot be: the message says what to change."""


class StoreError(OSError):
    """A results folder cannot be read or written: the message names the folder and the reason."""

    @property
    def while_writing(self) -> bool:
        """Whether the disk, not the choice of the folder, is to blame."""
        cause = self.__cause__
        return isinstance(cause, OSError) and cause.errno in _OF_THE_DISK

    def __str__(self) -> str:
        return str(self.args[0])
