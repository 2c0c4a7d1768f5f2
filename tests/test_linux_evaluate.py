"""`cclab evaluate --backend linux`: verdicts on the kernel, and what is beyond it by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from cclab.cli.exits import EXPECTATION_FAILED
from cclab.cli.main import invoke
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("kernel")

STUDY = """
title    = "Two flows behind a short queue"
duration = "6s"
warmup   = "2s"

[network.bottleneck]
rate  = "5Mbit"
queue = { limit = "0.5bdp" }

[[flow]]
name  = "x"
rtt   = "40ms"
start = { at = "0s", spread = "500ms" }

[[flow]]
name  = "rival"
rtt   = "40ms"
cc    = "cubic"
start = { at = "0s", spread = "500ms" }

[sweep]
"flow.x.cc"                     = ["cubic"]
"network.bottleneck.queue.kind" = ["droptail", "cake"]
"""

SUITE = """
title     = "What a kernel can be asked"
source    = "this test"
version   = 1
standards = ["cubic"]
despite   = ["bottleneck-not-full", "too-few-loss-cycles", "not-converged"]

[[scenario]]
name    = "two"
title   = "Two flows"
study   = "two.toml"
subject = ["flow.x.cc"]
repeat  = 3

[[scenario]]
name      = "newest"
title     = "Two flows, beside what no kernel has"
study     = "two.toml"
subject   = ["flow.x.cc"]
standards = ["bbr3"]

[[scenario]]
name    = "resumed"
title   = "Two flows, one of which remembers its path"
study   = "two.toml"
subject = ["flow.x.cc"]
set     = ['flow.x.remembered={ window = "50kB", rtt = "40ms" }']
"""

CRITERION = """
[[criterion]]
id         = "{id}"
clause     = "1"
obligation = "own"
text       = "loses little, and leaves something"
scenario   = "{scenario}"
measure    = "what it leaves"
value      = "{value}"
better     = "{better}"
"""


def test_a_card_of_the_kernel_judges_what_it_can_run_and_names_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """BBR of the kernel, too, loses more than standards do where the buffer is short."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "two.toml").write_text(STUDY)
    loss = {"value": "bottleneck_drop_rate", "better": "lower"}
    share = {"value": "of('rival', 'window_goodput_bps')", "better": "higher"}
    (folder / "suite.toml").write_text(
        SUITE
        + CRITERION.format(id="loss", scenario="two", **loss)
        + "margin = 1.0\n"
        + CRITERION.format(id="rival", scenario="two", **share)
        + "above = 1e4\n"
        + CRITERION.format(id="newest", scenario="newest", **loss)
        + "margin = 1.0\n"
        + CRITERION.format(id="resumed", scenario="resumed", **loss)
        + "margin = 1.0\n"
    )
    out = tmp_path / "out"
    words = ["evaluate", "bbr", "--suite", str(folder), "--backend", "linux", "--out", str(out)]
    assert invoke([*words, "--json"]) == EXPECTATION_FAILED
    told = capsys.readouterr()
    card = json.loads(told.out)
    jsonschema.validate(card, json.loads((ROOT / "docs/scorecard.schema.json").read_text()))
    assert card["backend"] == "linux"
    assert card["seeds"] == [3, 3], "scenarios that were not run have no seeds"
    assert "1 of 1: two: Two flows, 6 runs" in told.err
    lines = {line["id"]: line for line in card["lines"]}
    assert {name: line["verdict"] for name, line in lines.items()} == {
        "loss": "worse than standard",
        "rival": "meets",
        "newest": "not evaluated",
        "resumed": "not evaluated",
    }
    for line in (lines["loss"], lines["rival"]):
        [setting] = line["settings"]
        assert setting["params"]["network.bottleneck.queue.kind"] == "droptail"
        [left_out] = line["left_out"]
        assert "queue cake" in left_out
    # The standard is meant, not the variant under test; and the user wrote no --set.
    beyond = "it cannot run on backend linux: "
    assert lines["newest"]["why"].startswith(f"{beyond}flow.x.cc: variant bbr3 (the kernel has: ")
    where = "suite.toml, scenario 'resumed', set: flow.x.remembered: "
    assert lines["resumed"]["why"].startswith(f"{beyond}{where}")
    table = (out / "card.md").read_text()
    page = (out / "index.html").read_text()
    for written in (table, page):
        assert "backend linux" in written
        assert "variant bbr3" in written
        assert "remembered" in written
        assert "queue cake" in written
