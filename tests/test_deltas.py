"""What plans keep of a scenario that stands beside another."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cclab.plan.deltas import applied, delta

LEAVES = (
    some.none() | some.booleans() | some.integers(0, 3) | some.sampled_from([0.0, 1.0, "", "a"])
)
KEYS = some.sampled_from(["a", "b", "~", "/", "~1", "0", ""])
DOCUMENTS = some.recursive(
    LEAVES,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(DOCUMENTS, DOCUMENTS)
def test_what_differs_makes_the_one_of_the_other(base: object, document: object) -> None:
    before = copy.deepcopy(base)
    found = json.loads(json.dumps(delta(base, document)))
    # 1, 1.0 and true are equal in Python, and others in a document.
    told = json.dumps(applied(base, found), sort_keys=True)
    assert told == json.dumps(document, sort_keys=True)
    assert base == before


@given(DOCUMENTS)
def test_nothing_differs_in_the_same(document: object) -> None:
    assert delta(document, copy.deepcopy(document)) == {}


def test_what_differs_is_said_as_deep_within_as_can_be() -> None:
    base = {"network": {"rate": 1, "delay": 2}, "flows": [{"cc": "reno"}, {"cc": "cubic"}]}
    document = {"network": {"rate": 1, "delay": 2}, "flows": [{"cc": "reno"}, {"cc": "bbr"}]}
    assert delta(base, document) == {"/flows/1/cc": "bbr"}


@pytest.mark.parametrize("place", ["/flows/7", "/none", "/network/rate/deep", "/flows/x"])
def test_a_place_that_is_not_there_is_refused(place: str) -> None:
    base = {"network": {"rate": 1}, "flows": [1]}
    with pytest.raises((LookupError, ValueError, TypeError)):
        applied(base, {place: 1})
