"""Studies whose words are markup: pages, figures and tables show them, and have no element, handler
or address of theirs."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections import Counter
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from attacks.kind import Kind
from attacks.saying import said
from cclab.cli.exits import DONE, EXPECTATION_FAILED

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from attacks.kind import Strike

TOKEN = "x9attack"
"""Of every word below: whatever a page has that is named so came from the study."""

WORDS = (
    f"<{TOKEN}>",
    f"<script>{TOKEN}()</script>",
    f"</script><script>{TOKEN}()</script>",
    f"<!--<script>{TOKEN}()",
    f"--><{TOKEN}>",
    f"</title><{TOKEN}>",
    f"</style><{TOKEN}>",
    f"</textarea></noscript></svg></math><{TOKEN}>",
    f"<img src={TOKEN} onerror={TOKEN}()>",
    f"<svg onload={TOKEN}()><{TOKEN}/></svg>",
    f'" {TOKEN}="1" onmouseover="{TOKEN}()" x="',
    f"' {TOKEN}='1' onmouseover='{TOKEN}()' x='",
    f'"><{TOKEN}>',
    f"'><{TOKEN}>",
    f"]]><{TOKEN}>",
    f"<![CDATA[<{TOKEN}>]]>",
    f"<?{TOKEN} x?>",
    f"&lt;{TOKEN}&gt;<{TOKEN}>",
    f"\\u003c{TOKEN}>",
    f"\u2028{TOKEN}()\u2029",
    f"{{{{ {TOKEN} }}}}{{% {TOKEN} %}}${{{TOKEN}}}`",
    f"$\\frac{{{TOKEN}}}$ $_{TOKEN}$",
    f"[{TOKEN}](javascript:{TOKEN}()) ![x](https://{TOKEN}.example/)",
    f"javascript:{TOKEN}()",
    f"| {TOKEN} | <{TOKEN}> |",
)

STUDY = """\
title = TITLE
question = QUESTION
duration = "600ms"
[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "20p" }
[[flow]]
name = "a"
cc = "reno"
[[flow]]
name = "b"
cc = "cubic"
[[traffic]]
name = "c"
kind = "constant-rate"
rate = "1Mbit"
packet_size = "500B"
[sweep]
"network.bottleneck.queue.limit" = ["10p", "30p"]
[expect]
CLAIM = "jain > 0"
[trace]
capture = ["bottleneck"]
"""

PLACES = ("TITLE", "QUESTION", "CLAIM")
"""Where a study has words; names of flows are letters and digits."""
PLAIN = dict(zip(PLACES, ("some title", "why so?", "it is so"), strict=True))


def study_with(words: dict[str, str]) -> str:
    """The study with words in its places."""
    text = STUDY
    for place, word in (PLAIN | words).items():
        # JSON's strings are TOML's, but for letters that JSON takes as they are.
        text = text.replace(place, json.dumps(word), 1)
    return text


class Elements(HTMLParser):
    """What a page has: its elements, and what of them the study made."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.count: Counter[str] = Counter()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] += 1
        if TOKEN in tag:
            self.foreign.append(f"<{tag}>")
        for name, value in attrs:
            handles = name.startswith("on") or name in ("href", "src", "style", "srcdoc", "action")
            if TOKEN in name or (handles and value and _acts(name, value)):
                self.foreign.append(f"<{tag} {name}={value!r}>")

    def handle_comment(self, data: str) -> None:
        if TOKEN in data:
            self.foreign.append(f"<!--{data}-->")

    def handle_pi(self, data: str) -> None:
        if TOKEN in data:
            self.foreign.append(f"<?{data}>")


def _acts(name: str, value: str) -> bool:
    """Whether a value does something of the study's: names of files in folders are ours."""
    if TOKEN not in value:
        return False
    return name.startswith("on") or name in ("style", "srcdoc") or ":" in value.split("/")[0]


def of_page(text: str) -> Elements:
    """What the page has."""
    elements = Elements()
    elements.feed(text)
    elements.close()
    return elements


def of_figure(content: bytes) -> list[str]:
    """What a figure has that the study made."""
    foreign = []
    for element in ElementTree.fromstring(content).iter():
        if not isinstance(element.tag, str):
            continue
        if TOKEN in element.tag or element.tag.endswith("}script"):
            foreign.append(f"<{element.tag}>")
        for name, value in element.attrib.items():
            if TOKEN in name or name.startswith("on") or (name.endswith("href") and TOKEN in value):
                foreign.append(f"<{element.tag} {name}={value!r}>")
    return foreign


def pages_of(place: Path, text: str, name: str) -> dict[str, bytes]:
    """The files of the report of a study, and of the analysis of its capture; all are called so."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    study, out = place / f"{name}.toml", place / name
    study.write_text(text)
    done = said(["run", str(study), "--out", str(out)])
    assert done.code in (DONE, EXPECTATION_FAILED), f"{done.err}\n{text}"
    said(["report", str(out), "--format", "svg"])
    capture = place / f"{name}.pcapng"
    shutil.copy(min((out / "captures").rglob("*.pcapng")), capture)
    assert said(["analyze", str(capture), "--out", str(out / "analysis")]).code == DONE
    folders = [out / "report", out / "analysis"]
    return {
        str(file.relative_to(out)): file.read_bytes()
        for folder in folders
        for file in sorted(folder.rglob("*"))
        if file.suffix in (".html", ".svg")
    }


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    here = place / "here"
    plain = pages_of(here, study_with({}), "plain")
    scripts = {
        name: of_page(content.decode()).count["script"]
        for name, content in plain.items()
        if name.endswith(".html")
    }
    assert scripts, "no page"

    def strike(number: int, chance: random.Random) -> str | None:
        words = {name: chance.choice(WORDS) for name in PLACES if chance.random() < 0.6}
        words["TITLE"] = WORDS[number % len(WORDS)]
        called = chance.choice(WORDS).replace("/", "\N{DIVISION SLASH}")
        faults = []
        for name, content in pages_of(here, study_with(words), called).items():
            if name.endswith(".svg"):
                faults += [f"{name}: {foreign}" for foreign in of_figure(content)]
                continue
            elements = of_page(content.decode())
            faults += [f"{name}: {foreign}" for foreign in elements.foreign]
            if elements.count["script"] != scripts.get(name, elements.count["script"]):
                faults.append(f"{name}: {elements.count['script']} scripts, not {scripts[name]}")
        return f"{called}, {words}: {'; '.join(faults)}" if faults else None

    yield strike


HTML = Kind("the words of a study are markup, and pages are made of it", _bench, 4)
