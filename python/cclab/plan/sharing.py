"""JSON documents that are much alike, read so that what is the same in them is in memory once."""

from __future__ import annotations

from typing import Any

import msgspec

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Sharing:
    """Reads objects one by one; those that were read before lend the next what is the same.

    What it gives is not to be changed.
    """

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._known: dict[bytes, Any] = {}
        self._texts: dict[str, str] = {}

    def value(self, written: msgspec.Raw) -> Any:
        """What is `written`; objects key by key, so that one of which a part differs has the
        others in common."""
        text = bytes(written)
        if text not in self._known:
            self._known[text] = (
                {self.text(key): self.value(part) for key, part in _OBJECT.decode(text).items()}
                if text.startswith(b"{")
                else msgspec.json.decode(text)
            )
        return self._known[text]

    def text(self, text: str) -> str:
        """`text`, as it was given the first time."""
        return self._texts.setdefault(text, text)
