"""What programs of a guest, and a guest's kernel that was taken over, can do to the host.

All tries of the kind `break-outs` of `make attack`: on each kernel, and each told by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attacks.break_outs import SCENES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", SCENES)
def test_nothing_gets_out_and_what_is_needed_works(name: str, tmp_path: Path) -> None:
    scene, least = SCENES[name]
    judged = scene(tmp_path).judged()
    assert [why for why in judged.values() if why is not None] == []
    assert len(judged) > least
