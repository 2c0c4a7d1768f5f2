"""Writes docs/analyze-agreement.md: `make agreement`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from agreement.comparison import compare, made
from agreement.page import page
from conftest import ROOT

FILE = ROOT / "docs/analyze-agreement.md"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        comparison = compare(made(Path(folder)), Path(folder))
    FILE.write_text(page(comparison))
    for found in comparison.unexplained():
        print(f"not explained, or more than once: {found}", file=sys.stderr)
    for about in comparison.idle():
        print(f"explained, but equal: {about}", file=sys.stderr)
