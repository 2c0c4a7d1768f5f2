"""`cclab schema`: the study file's JSON Schema."""

from __future__ import annotations

import sys

from cclab import _core


def schema() -> None:
    """Print the JSON Schema of study files, for editors and other programs."""
    sys.stdout.write(_core.schema().rstrip("\n") + "\n")
