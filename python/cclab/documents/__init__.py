"""Types of the JSON documents that come from the core, made by `make document-types`.

Nothing is checked when the program runs: whoever decodes a document says what it is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cclab import _core

if TYPE_CHECKING:
    from cclab.documents.description import Description
    from cclab.documents.scenario import Scenario


def describe(scenario: Scenario) -> Description:
    """The network and the flows of `scenario`, as the simulator sees them.

    Raises `StudyError` if it does not build them.
    """
    described: Description = json.loads(_core.describe(json.dumps(scenario)))
    return described
