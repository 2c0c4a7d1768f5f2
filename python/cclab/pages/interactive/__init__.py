"""What the interactive pages share: how data and programs get into them, and `charts.js`."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable


def program(package: Traversable, *names: str) -> Markup:
    """The program of a page, for a `script` element: `charts.js`, then the files of `package`.

    They are one function, so that they see each other's names and the rest of the page sees none.
    """
    texts = [(files(__name__) / "charts.js").read_text("utf-8")]
    texts += [(package / name).read_text("utf-8") for name in names]
    return Markup("(() => {\n" + '"use strict";\n' + "\n".join(texts) + "})();")


def embedded(document: Mapping[str, object]) -> Markup:
    """JSON for a `script` element; nothing in it can end the element."""
    return Markup(json.dumps(document, separators=(",", ":")).replace("<", "\\u003c"))
