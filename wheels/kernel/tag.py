"""The tag of the wheel: it holds programs of one platform, and nothing of one Python."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Tag(BuildHookInterface):
    """Says which platform the programs are of, as `wheels/build.py` found."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Sets the tag; `version` is the kind of the wheel."""
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['CCLAB_PLATFORM']}"
