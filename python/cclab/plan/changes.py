"""The keys in which two scenarios differ: the cause of what a comparison of their results shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab import units
from cclab.plan import text

if TYPE_CHECKING:
    from cclab.documents.scenario import Scenario

_TIMES = frozenset(
    {
        *("duration", "warmup", "delay", "extra_delay", "at", "spread", "interval", "from"),
        *("until", "jitter", "average"),
    }
)
"""Keys of a scenario whose whole numbers are nanoseconds."""


@dataclass(frozen=True)
class Change:
    """A key of which A and B have different values."""

    key: str
    """The dotted path, as in a study: `duration`, `flow.short.cc`; `flow.*.cc` where every flow has
    the same change, `flow.NAME.*.cc` where every copy of one has."""
    a: str
    """The value in A, in words; "none" where A has no such key."""
    b: str
    """The value in B, in words; "none" where B has no such key."""

    def __str__(self) -> str:
        """The key and both values."""
        return f"{self.key} ({self.a} | {self.b})"

    def document(self) -> dict[str, str]:
        """As a comparison's document spells it."""
        return {"key": self.key, "a": self.a, "b": self.b}


def changes(a: Scenario, b: Scenario) -> list[Change]:
    """The keys in which the scenarios `a` and `b` differ, in the order of their keys.

    `trace` is not compared: it only says what is recorded. Flows are matched by name; flows that
    only one scenario has are not listed.
    """
    names_b = {flow["name"] for flow in b["flows"]}
    names = [flow["name"] for flow in a["flows"] if flow["name"] in names_b]
    leaves_a, leaves_b = _leaves(a, names), _leaves(b, names)
    _keep_common_files(leaves_a, leaves_b)
    _inherit_kernels(leaves_a, leaves_b)
    _inherit_kernels(leaves_b, leaves_a)
    differing = [
        (path, Change(".".join(path), _words(path, leaves_a), _words(path, leaves_b)))
        for path in dict.fromkeys([*leaves_a, *leaves_b])
        if leaves_a.get(path) != leaves_b.get(path)
    ]
    return _folded(differing, names)


def _leaves(scenario: Scenario, flows: list[str]) -> dict[tuple[str, ...], Any]:
    """The values by path; a list is one value."""
    leaves: dict[tuple[str, ...], Any] = {}

    def walk(path: tuple[str, ...], value: Any) -> None:
        if isinstance(value, dict) and value:
            for key, below in value.items():
                walk((*path, key), below)
        elif value is not None:
            leaves[path] = value

    for key, value in scenario.items():
        if key == "flows":
            by_name = {flow["name"]: flow for flow in scenario["flows"]}
            for name in flows:
                walk(("flow", name), {k: v for k, v in by_name[name].items() if k != "name"})
        elif key == "variant_files":
            for file in scenario["variant_files"]:
                walk((key, file["label"]), f"{file['file']} {file['sha256'][:12]}")
        elif key != "trace":
            walk((key,), value)
    return leaves


def _keep_common_files(a: dict[tuple[str, ...], Any], b: dict[tuple[str, ...], Any]) -> None:
    """Removes files of variants that only one scenario has: the flows already differ by them."""
    for own, beside in ((a, b), (b, a)):
        for path in [path for path in own if path[0] == "variant_files" and path not in beside]:
            del own[path]


def _inherit_kernels(own: dict[tuple[str, ...], Any], beside: dict[tuple[str, ...], Any]) -> None:
    """Where `beside` names a kernel of a flow and `own` does not, adds the kernel of the scenario
    `own`, which such a flow has."""
    whole = own.get(("kernel",))
    for path in beside if whole is not None else ():
        if path[0] == "flow" and path[2:] == ("kernel",):
            own.setdefault(path, whole)


def _folded(differing: list[tuple[tuple[str, ...], Change]], flows: list[str]) -> list[Change]:
    """One entry for a change that every flow has, or every flow of a `count`."""
    alike: dict[tuple[str, tuple[str, ...], str, str], int] = {}
    for path, change in differing:
        if path[0] == "flow":
            for stars in ("*", _copies(path[1])):
                kind = (stars, path[2:], change.a, change.b)
                alike[kind] = alike.get(kind, 0) + 1
    there = Counter(stars for flow in flows for stars in ("*", _copies(flow)))
    folded: dict[str, Change] = {}
    for path, change in differing:
        key = change.key
        if path[0] == "flow":
            for stars in ("*", _copies(path[1])):
                if alike[stars, path[2:], change.a, change.b] == there[stars] > 1:
                    key = ".".join(("flow", stars, *path[2:]))
                    break
        folded.setdefault(key, Change(key, change.a, change.b))
    return list(folded.values())


def _copies(flow: str) -> str:
    """The pattern of the copies of a flow (`count`); of a single one its name."""
    stem, dot, _ = flow.rpartition(".")
    return f"{stem}.*" if dot else flow


def _words(path: tuple[str, ...], leaves: dict[tuple[str, ...], Any]) -> str:
    value = leaves.get(path)
    if value is None:
        return "none"
    if isinstance(value, int) and not isinstance(value, bool):
        if path[-1] in _TIMES:
            return _quantity(value * 1e-9, units.time(value * 1e-9))
        if path[-1] == "rate":
            return _quantity(value, units.rate(value))
    return text(value)


def _quantity(value: float, unit: tuple[float, str]) -> str:
    divisor, name = unit
    return f"{value / divisor:.12g} {name}"
