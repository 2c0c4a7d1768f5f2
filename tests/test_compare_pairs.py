"""Which runs `cclab compare` takes as pairs where the two sides have not the same seeds."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import cclab
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from conftest import ROOT, STUDY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab import Comparison, Results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study and its stores, `a` and `b`: the long flow's variant differs."""
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "two.toml").write_text(STUDY)
    _ran(folder, "a", "reno", repeat=4)
    _ran(folder, "b", "cubic", repeat=4)
    return folder


def _ran(folder: Path, name: str, cc: str, **options: Any) -> Results:
    values = [f"flow.long.cc={cc}"]
    return cclab.run(folder / "two.toml", out=folder / name, set=values, **options)


def _without(store: Path, copy: Path, seeds: Sequence[int]) -> Path:
    """A copy of `store` that misses the runs with `seeds`."""
    shutil.copytree(store, copy)
    for measured in cclab.load(store).runs:
        if measured.run.seed in seeds:
            (copy / "runs" / f"{measured.run.id}.zip").unlink()
    return copy


def _left_out(compared: Comparison) -> list[tuple[list[int], list[int]]]:
    return [(point.match.left_out_a, point.match.left_out_b) for point in compared.points]


def _told(compared: Comparison) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The points and what is said over all of them, but for the seeds that are left out."""
    document = compared.document()
    beside = {"left_out_a", "left_out_b"}
    points = [{k: v for k, v in p.items() if k not in beside} for p in document["points"]]
    return points, document["overall"]


@pytest.mark.parametrize(
    ("gone_a", "gone_b"),
    [([8], []), ([], [7]), ([7], [10]), ([8, 9], [8])],
    ids=["one-of-A", "one-of-B", "one-of-each", "some-of-both"],
)
def test_a_missing_run_costs_its_pair_and_no_other(
    folder: Path, tmp_path: Path, gone_a: list[int], gone_b: list[int]
) -> None:
    """Found: one missing run of ten had all of them compared as if no seed were on both sides."""
    either = {*gone_a, *gone_b}
    found = cclab.compare(
        _without(folder / "a", tmp_path / "a", gone_a),
        _without(folder / "b", tmp_path / "b", gone_b),
    )
    assert [point.paired for point in found.points] == [True, True]
    rest = [seed for seed in (7, 8, 9, 10) if seed not in either]
    assert [point.match.seeds_a for point in found.points] == [rest, rest]
    lacking = (sorted(either - {*gone_a}), sorted(either - {*gone_b}))
    assert _left_out(found) == [lacking, lacking]
    both = cclab.compare(
        _without(folder / "a", tmp_path / "a less", sorted(either)),
        _without(folder / "b", tmp_path / "b less", sorted(either)),
    )
    assert _left_out(both) == [([], []), ([], [])]
    assert _told(found) == _told(both)


def test_what_one_side_was_repeated_more_is_left_out(folder: Path) -> None:
    more = _ran(folder, "more", "cubic", repeat=6)
    found = cclab.compare(folder / "a", more)
    assert _left_out(found) == [([], [11, 12])] * 2
    assert _told(found) == _told(cclab.compare(folder / "a", folder / "b"))
    other_way = cclab.compare(more, folder / "a")
    assert _left_out(other_way) == [([11, 12], [])] * 2


def test_of_sides_that_stopped_by_themselves_the_first_runs_are_pairs(folder: Path) -> None:
    one = _ran(folder, "soon", "reno", repeat="until ci95 < 40%, at least 3, at most 8")
    other = _ran(folder, "late", "cubic", repeat="until ci95 < 1%, at least 4, at most 5")
    counts = [(len(a.runs), len(b.runs)) for a, b in zip(one.points, other.points, strict=True)]
    # Either side may have gone on for longer.
    assert any(a < b for a, b in counts)
    assert any(a > b for a, b in counts)
    found = cclab.compare(one, other)
    for (of_a, of_b), point in zip(counts, found.points, strict=True):
        pairs = list(range(7, 7 + min(of_a, of_b)))
        assert (point.match.seeds_a, point.match.seeds_b) == (pairs, pairs)
        assert len(point.match.left_out_a) == of_a - len(pairs)
        assert len(point.match.left_out_b) == of_b - len(pairs)


def test_a_single_seed_in_common_is_one_pair_and_doubted(folder: Path) -> None:
    late = _ran(folder, "later", "cubic", seed=10, repeat=4)
    found = cclab.compare(folder / "a", late)
    assert [point.match.seeds_a for point in found.points] == [[10], [10]]
    assert _left_out(found) == [([7, 8, 9], [11, 12, 13])] * 2
    assert {c.verdict.untested for c in found.compared} <= {"single-run", "not-measured"}
    messages = {doubt.code: doubt.message for doubt in found.warnings}
    assert "A and B have a single seed in common" in messages["single-runs"]


def test_without_a_seed_in_common_all_runs_are_compared(folder: Path) -> None:
    other = _ran(folder, "other", "cubic", seed=70, repeat=3)
    found = cclab.compare(folder / "a", other)
    assert [point.paired for point in found.points] == [False, False]
    assert _left_out(found) == [([], [])] * 2
    (one, *_) = found.points[0].flows[0].metrics
    assert one.difference is not None
    assert (one.difference.a.n, one.difference.b.n) == (4, 3)


def test_left_out_runs_are_in_the_table_and_in_the_document(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = _without(folder / "a", tmp_path / "a", [8])
    b = _without(folder / "b", tmp_path / "b", [9, 10])
    assert invoke(["compare", str(a), str(b), "--metric", "jain"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    left_out = "2 runs of A and 1 run of B, of seeds that the other side has no run of"
    assert f"short.cc = reno: 1 run each, of the same seed; left out: {left_out}" in lines
    left_out = left_out.replace("2 runs", "4 runs").replace("1 run ", "2 runs ")
    assert f"left out at 2 of 2 sweep points: {left_out}" in lines
    assert invoke(["compare", str(a), str(b), "--json"]) == DONE
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads((ROOT / "docs/compare.schema.json").read_text()))
    for point in document["points"]:
        assert (point["seeds_a"], point["seeds_b"]) == ([7], [7])
        assert (point["left_out_a"], point["left_out_b"]) == ([9, 10], [8])
