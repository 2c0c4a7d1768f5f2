"""The pages on variants and queues: one for each that the simulator has, and in the index."""

from __future__ import annotations

import json

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
