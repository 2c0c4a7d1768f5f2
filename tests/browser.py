"""Pages as people see them: in a browser without a window."""

from __future__ import annotations

import base64
import contextlib
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
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it."""
        os.close(self._to)
        os.close(self._from)
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def opened(
        self, page: Path, fragment: str = "", size: tuple[int, int] = (0, 0)
    ) -> Iterator[Tab]:
        """A tab with `page` in it, in a window of `size` pixels if that is given; it is closed at
        the end. What goes wrong on the page is heard from here on."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable", session)
        if all(size):
            width, height = size
            self.call(
                "Emulation.setDeviceMetricsOverride", session,
                width=width, height=height, deviceScaleFactor=1, mobile=False,
            )  # fmt: skip
        tab = Tab(self, session)
        tab.load(page.as_uri() + fragment)
        yield tab
        self.call("Target.closeTarget", targetId=target)

    def complaints(self, page: Path) -> list[str]:
        """What goes wrong on `page`: errors on its console, images that are not shown, and
        canvases with nothing on them, whichever of the page's series is chosen.
        """
        with self.opened(page) as tab:
            return tab.broken()

    def call(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
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

    def await_event(self, method: str) -> None:
        """Waits until an event has come since `forget_events`."""
        while not any(event["method"] == method for event in self.events):
            self._take()

    def forget_events(self) -> None:
        """Begins to listen anew."""
        self.events.clear()

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
            self.events.append(message)
        return message


class Tab:
    """A page in a browser, with a mouse and keys that are the browser's own: a page cannot tell
    them from a person's."""

    def __init__(self, browser: Chromium, session: str) -> None:
        """A tab that is there already."""
        self._browser = browser
        self._session = session
        self._at = (0.0, 0.0)

    def _call(self, method: str, **params: object) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def load(self, address: str) -> None:
        """Goes to `address`, and waits until it is loaded."""
        self._browser.forget_events()
        self._call("Page.navigate", url=address)
        self._browser.await_event("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript comes to in the page, or its promise."""
        asked = self._call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in asked, asked["exceptionDetails"]
        return asked["result"].get("value")

    def await_value(self, condition: str) -> None:
        """Waits until a condition holds, looking whenever the page is drawn."""
        look = f"() => ({condition}) ? done() : requestAnimationFrame(look)"
        self.value(f"new Promise((done) => {{ const look = {look}; look(); }})")

    def settle(self) -> None:
        """Waits until what the page had to draw is drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")

    def complaints(self) -> list[str]:
        """What went wrong since the page was loaded."""
        return [text for event in self._browser.events if (text := _complaint(event))]

    def broken(self) -> list[str]:
        """What went wrong since the page was loaded, and what of it does not show."""
        images = [f"an image is not shown: {source}" for source in self.value(_IMAGES)]
        images += [f"nothing is drawn: {which}" for which in self.value(_CANVASES)]
        return self.complaints() + images

    def box(self, selector: str, nth: int = 0) -> tuple[float, float, float, float]:
        """Where the element number `nth` that `selector` matches is, after it was scrolled into
        view: left, top, width, height."""
        left, top, width, height = self.value(
            f"""(() => {{
              const element = document.querySelectorAll({json.dumps(selector)})[{nth}];
              element.scrollIntoView({{ block: "center", behavior: "instant" }});
              const {{ left, top, width, height }} = element.getBoundingClientRect();
              return [left, top, width, height];
            }})()"""
        )
        return left, top, width, height

    def move(self, x: float, y: float, *, buttons: int = 0) -> None:
        """Moves the mouse."""
        self._at = (x, y)
        self._mouse("mouseMoved", buttons=buttons)

    def _mouse(self, kind: str, **more: object) -> None:
        x, y = self._at
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float, *, count: int = 1, shift: bool = False) -> None:
        """Clicks with the left button, `count` times."""
        self.move(x, y)
        for nth in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self._mouse(kind, button="left", clickCount=nth, modifiers=8 * shift)
        self.settle()

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drags with the left button."""
        self.move(*start)
        self._mouse("mousePressed", button="left", clickCount=1)
        for share in (0.5, 1.0):
            places = (a + (b - a) * share for a, b in zip(start, end, strict=True))
            self.move(*places, buttons=1)
        self._mouse("mouseReleased", button="left", clickCount=1)
        self.settle()

    def turn(self, pixels: float, *, control: bool = False) -> None:
        """Turns the wheel where the mouse is; down is positive."""
        self._mouse("mouseWheel", deltaX=0, deltaY=pixels, modifiers=2 * control)
        self.settle()

    def press(self, key: str, *, shift: bool = False) -> None:
        """Presses a key by its name, such as `ArrowLeft`."""
        text = {"text": key} if len(key) == 1 else {}
        codes = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9, "Enter": 13}
        more = {"key": key, "modifiers": 8 * shift, "windowsVirtualKeyCode": codes.get(key, 0)}
        self._call("Input.dispatchKeyEvent", type="keyDown", **text, **more)
        self._call("Input.dispatchKeyEvent", type="keyUp", **more)
        self.settle()

    def choose(self, selector: str, value: str) -> None:
        """Chooses a value of a list, as its own window, which is none of the page's, would."""
        self.value(
            f"""(() => {{
              const select = document.querySelector({json.dumps(selector)});
              select.value = {json.dumps(value)};
              select.dispatchEvent(new Event("change", {{ bubbles: true }}));
            }})()"""
        )
        self.settle()

    def darken(self) -> None:
        """Asks for dark paper, as the user's settings do."""
        dark = {"name": "prefers-color-scheme", "value": "dark"}
        self._call("Emulation.setEmulatedMedia", features=[dark])
        self.settle()

    def printed(self) -> bytes:
        """The page on paper, as PDF: A4, with the margins that a browser proposes."""
        made = self._call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(made["data"])

    def picture(self, *, whole: bool = False) -> bytes:
        """What is seen, or all of the page, as PNG."""
        taken = self._call("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])


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
    """What goes wrong on each of `pages`, with its path; the browser is started if there is one.

    They are loaded into one tab: half of what a page takes is its tab.
    """
    if not pages:
        return
    with Chromium(folder) as chromium, chromium.opened(pages[0]) as tab:
        for page in pages:
            if page is not pages[0]:
                tab.load(page.as_uri())
            for complaint in tab.broken():
                yield f"{page}: {complaint}"
