"""Pages as people see them: in a browser without a window."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path


def in_browser(page: Path, script: str, folder: Path, *options: str) -> str:
    """The document after `script` was run in the page; scripts' complaints are in its title."""
    html = page.read_text()
    watch = "<script>addEventListener('error', (e) => { document.title = e.message; });</script>"
    assert html.count("<body>") == html.count("</body>") == 1
    changed = html.replace("<body>", "<body>" + watch)
    changed = changed.replace("</body>", f"<script>{script}</script></body>")
    copy = folder / "page.html"
    copy.write_text(changed)
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/user",
        *options, "--virtual-time-budget=4000", "--dump-dom", copy.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
