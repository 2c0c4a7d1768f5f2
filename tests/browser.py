"""Pages as people see them: in a browser without a window."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from typing import TYPE_CHECKING, Any, Self

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WATCH = "<script>addEventListener('error', (e) => { document.title = e.message; });</script>"


def in_browser(page: Path, script: str, folder: Path, *options: str) -> str:
    """The document after `script` was run in the page; scripts' complaints are in its title."""
    html = page.read_text()
    assert html.count("<body>") == html.count("</body>") == 1
    changed = html.replace("<body>", "<body>" + _WATCH)
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


def pages_in(folder: Path) -> list[Path]:
    """Every page below `folder`, without those that `in_browser` put a script into."""
    found = sorted(file for file in folder.rglob("*.html") if file.is_file())
    return [file for file in found if _WATCH not in file.read_text(errors="replace")]


class Chromium:
    """A browser without a window that loads one page after the other and hears what goes wrong.

    It is spoken to over two pipes, in its own protocol (Chrome DevTools).
    """

    def __init__(self, folder: Path) -> None:
        """Starts it; what it keeps goes to `folder`."""
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
        ]  # fmt: skip
        # It reads from descriptor 3 and writes to 4.
        begin = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", begin, "chromium", *options],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._read = b""
        self._calls = 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it."""
        os.close(self._to)
        os.close(self._from)
        self._process.kill()
        self._process.wait()

    def complaints(self, page: Path) -> list[str]:
        """What goes wrong on `page`: errors on its console, images that are not shown, and
        canvases with nothing on them, whichever of the page's series is chosen.
        """
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        tab = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable", tab)
        self._events.clear()
        self._call("Page.navigate", tab, url=page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._take()
        asked = self._call(
            "Runtime.evaluate", tab, expression=_IMAGES, awaitPromise=True, returnByValue=True
        )
        images = [f"an image is not shown: {source}" for source in asked["result"]["value"]]
        asked = self._call(
            "Runtime.evaluate", tab, expression=_CANVASES, awaitPromise=True, returnByValue=True
        )
        images += [f"nothing is drawn: {which}" for which in asked["result"]["value"]]
        told = [text for event in self._events if (text := _complaint(event))]
        self._call("Target.closeTarget", targetId=target)
        return told + images

    def _call(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        """What it answers to an order."""
        self._calls += 1
        order: dict[str, object] = {"id": self._calls, "method": method, "params": params}
        if session is not None:
            order["sessionId"] = session
        os.write(self._to, json.dumps(order).encode() + b"\0")
        while True:
            message = self._take()
            if message.get("id") == self._calls:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result

    def _take(self) -> dict[str, Any]:
        """The next thing it says; events are kept."""
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            assert ready, "Chromium says nothing"
            more = os.read(self._from, 1 << 20)
            assert more, "Chromium ended; is it installed? (tests/install-packages.sh chromium)"
            self._read += more
        head, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(head)
        if "method" in message:
            self._events.append(message)
        return message


_IMAGES = """
(async () => {
  const broken = [];
  for (const image of document.querySelectorAll("img, image")) {
    const source = image.src || image.href.baseVal;
    try { await image.decode(); } catch { broken.push(source.slice(0, 60)); }
  }
  // What a script of the page does a little later may fail too.
  await new Promise((done) => setTimeout(done, 50));
  return broken;
})()
"""


_CANVASES = """
(async () => {
  const blank = [];
  const inked = (canvas) => {
    const { width, height } = canvas;
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return new Uint32Array(copy.getImageData(0, 0, width, height).data.buffer).some((dot) => dot);
  };
  const look = (chosen) => {
    for (const canvas of document.querySelectorAll("canvas")) {
      const { width, height } = canvas;
      // A canvas without an area is no error to a browser: it shows nothing, and says nothing.
      if (width && height && inked(canvas)) continue;
      const heading = canvas.closest("figure")?.querySelector("h3, figcaption")?.textContent;
      blank.push([heading ?? "a canvas", `${width} x ${height}`, chosen].join(", "));
    }
  };
  const buttons = [...document.querySelectorAll("button.choice")];
  if (!buttons.length) look("");
  for (const button of buttons) {
    button.click();
    await new Promise((done) => setTimeout(done, 20));
    look(button.value);
  }
  return blank;
})()
"""


def _complaint(event: dict[str, Any]) -> str:
    """What an event says went wrong; empty if nothing did."""
    method, params = event["method"], event["params"]
    if method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        return str(details.get("exception", {}).get("description", details["text"]))
    if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert", "warning"):
        return " ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"])
    if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        return str(params["entry"]["text"])
    return ""


def complaints_of(pages: list[Path], folder: Path) -> Iterator[str]:
    """What goes wrong on each of `pages`, with its path; the browser is started if there is one."""
    if not pages:
        return
    with Chromium(folder) as chromium:
        for page in pages:
            for complaint in chromium.complaints(page):
                yield f"{page}: {complaint}"
