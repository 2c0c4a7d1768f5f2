"""The command line in this process, and what it says."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.cli import main
from cclab.cli.console import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would obey."""


@dataclass(frozen=True)
class Said:
    """What a command line came to."""

    code: int
    out: str
    err: str

    def faults(self, codes: Sequence[int] = (0, 1, 2, 3)) -> list[str]:
        """What no command may say, whatever it is given."""
        faults = []
        if self.code not in codes:
            faults.append(f"exit code {self.code}: {self.err}")
        for text in (self.out, self.err):
            if raw := RAW.search(text):
                faults.append(f"control character {raw[0]!r} in {text!r}")
            if "Traceback (most recent call last)" in text:
                faults.append(text)
        if self.code in (2, 3) and not (self.err or self.out).strip():
            faults.append(f"it ends with {self.code} without a word")
        return faults


def said(words: Sequence[str], encoding: str = "utf-8") -> Said:
    """What the command line says on streams of this encoding."""
    streams = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, encoding, write_through=True) for stream in streams)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        prepare()
        code = main.invoke([*words])
        sys.stdout.flush()
        sys.stderr.flush()
    return Said(code, *(stream.getvalue().decode(encoding) for stream in streams))
