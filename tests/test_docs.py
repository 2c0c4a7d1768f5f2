"""The pages: each in an index, every link good, the picture of the crates true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cclab import _core
from conftest import ROOT

REGISTERED = {row["name"]: row for row in json.loads(_core.variants()) if "sim" in row["backends"]}
VARIANTS = list(REGISTERED)
DISCIPLINES = [row["name"] for row in json.loads(_core.qdiscs()) if "sim" in row["backends"]]


def page_of(name: str) -> str:
    """The file that describes `name`: `ledbat++` is spelled out."""
    return name.replace("+", "-plus") + ".md"


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_of_the_simulator_has_its_page(name: str) -> None:
    folder = ROOT / "docs/variants"
    text = (folder / page_of(name)).read_text()
    assert text.startswith(f"# {name}\n")
    for told in ("reacts to", "response function", "unfairness", "sources"):
        assert told in text.lower(), f"{name}: nothing on {told}"
    for parameter in REGISTERED[name]["params"]:
        assert f"`{parameter['name']}`" in text, f"{name}: nothing on {parameter['name']}"
    assert f"]({page_of(name)})" in (folder / "README.md").read_text()


@pytest.mark.parametrize("name", DISCIPLINES)
def test_every_queueing_discipline_has_its_page(name: str) -> None:
    folder = ROOT / "docs/queues"
    assert (folder / page_of(name)).read_text().startswith("# ")
    assert f"]({page_of(name)})" in (folder / "README.md").read_text()


PAGES = sorted(ROOT.glob("docs/**/*.md"))


def test_the_index_lists_every_page_once() -> None:
    folder = ROOT / "docs"
    rows = re.findall(r"^\| \[.*?\]\((.*?)\) \|", (folder / "README.md").read_text(), re.MULTILINE)
    listed = [(folder / row).resolve() for row in rows]
    assert len(listed) == len(set(listed)), "a page is listed twice"
    in_an_index_of_their_own = {folder / "variants", folder / "queues", folder / "cards"}
    pages = {
        page
        for page in PAGES
        if page.parent not in in_an_index_of_their_own or page.name == "README.md"
    }
    beside = {ROOT / "CONTRIBUTING.md", ROOT / "labs" / "README.md"}
    assert set(listed) == pages - {folder / "README.md"} | beside


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page",
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "labs" / "README.md",
        *PAGES,
        *sorted(ROOT.glob("studies/*/README.md")),
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: no such file"
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), f"{link}: no such heading"


def test_the_picture_of_the_crates_is_of_these_crates(tmp_path: Path) -> None:
    drawn = tmp_path / "architecture.svg"
    subprocess.run([sys.executable, ROOT / "docs/architecture.py", drawn], check=True)
    same = drawn.read_text() == (ROOT / "docs/figures/architecture.svg").read_text()
    assert same, "a crate or a dependency changed: run `make architecture` to draw the picture anew"
