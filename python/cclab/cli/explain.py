"""`cclab explain`: what a study's network is, and what should come out, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD

from cclab import shown, units
from cclab.cli import options
from cclab.cli.console import print_json, tell
from cclab.cli.drawn import Grid, print_rows, show, stdout, styled
from cclab.errors import StudyError
from cclab.explain import explain as explain_scenario
from cclab.explain import told
from cclab.measure.grouped import MOST_FLOWS
from cclab.plan.study import Study
from cclab.sweep import absent_kernels, check
from cclab.tabular import Table

if TYPE_CHECKING:
    from cclab.explain import Explanation, FlowExplanation, Link
    from cclab.plan import Plan

_MOST_POINTS = 12
_MOST_LINKS = 16
_MOST_FLOWS = 12

_FLOW_HEADINGS = {
    "flow": False,
    "variant": False,
    "base RTT": True,
    "bottleneck": True,
    "BDP": True,
    "queue": True,
    "rwnd": True,
    "expected": True,
    "bound by": False,
}
"""And whether a column aligns to the right, as those do of numbers with units; so below."""
_GROUP_HEADINGS = {
    "group": False,
    "flows": True,
    "variant": False,
    "bottleneck": True,
    "expected together": True,
    "bound by": False,
}
_PROBE_HEADINGS = {
    "probe": False,
    "kind": False,
    "every": True,
    "base RTT": True,
    "idle RTT": True,
    "packet": True,
    "adds each way": True,
    "of the bottleneck": True,
}


def explain(
    study: options.StudyFile,
    set_: options.Set = None,
    every: options.EveryFlow = False,
    json: options.Json = False,
) -> None:
    """Explain a study before it runs: paths, windows against BDP, limits, expected rates."""
    loaded = Study.load(study)
    planned = loaded.plan(backend="sim", set=set_ or [])
    try:
        explained = [explain_scenario(point.scenario) for point in planned.points]
    except StudyError:
        check(planned)  # Says where in the file it stands.
        raise
    absent = absent_kernels(loaded.plan(set=set_ or []))
    if json:
        print_json(_document(planned, explained, absent))
        return
    stdout().print(styled(shown.line(planned.title), "bold"), soft_wrap=True)
    if planned.question:
        tell(planned.question)
    _print_network(explained[0], every)
    for point, explanation in list(zip(planned.points, explained, strict=True))[:_MOST_POINTS]:
        if len(planned.points) > 1:
            stdout().print(styled(f"\n{point.label}", "bold"))
        _print_flows(explanation, every)
    if len(planned.points) > _MOST_POINTS:
        tell(f"{len(planned.points) - _MOST_POINTS} more sweep points; --json shows them all")
    for kernel_absent in absent:
        tell(f"note: {kernel_absent}")


def _document(planned: Plan, explained: list[Explanation], absent: list[str]) -> dict[str, Any]:
    return {
        "schema": "cclab-explain/1",
        "study": planned.description(),
        "points": [
            {"params": point.params, **explanation.document()}
            for point, explanation in zip(planned.points, explained, strict=True)
        ],
        "absent": absent,
    }


def _print_network(explanation: Explanation, every: bool) -> None:
    table = Grid(header_style="bold", box=SIMPLE_HEAD, title=explanation.topology)
    table.add_column("link", no_wrap=True)
    table.add_column("rate", justify="right")
    table.add_column("delay one way", justify="right")
    lines = _lines_of_links(explanation, every)
    for name, link in lines if every else lines[:_MOST_LINKS]:
        rate = "infinite" if link.rate_bps is None else units.told_rate(link.rate_bps)
        table.add_row(name, rate, _time(link.delay_s))
    show(stdout(), table)
    if len(lines) > _MOST_LINKS and not every:
        tell(f"{len(lines) - _MOST_LINKS} more links; --all shows them")


def _folds(explanation: Explanation, every: bool) -> bool:
    return len(explanation.flows) > MOST_FLOWS and bool(explanation.groups) and not every


def _lines_of_links(explanation: Explanation, every: bool) -> list[tuple[str, Link]]:
    """The links and their names; alike links of the flows of a group are one."""
    if not _folds(explanation, every):
        return [(link.name, link) for link in explanation.links]
    group_of = {flow: group.name for group in explanation.groups for flow in group.flows}
    alike: dict[tuple[str, float | None, float], list[Link]] = {}
    for link in explanation.links:
        flow = next((f for f in group_of if link.name.startswith(f"{f}.")), None)
        name = link.name if flow is None else group_of[flow] + ".*" + link.name.removeprefix(flow)
        alike.setdefault((name, link.rate_bps, link.delay_s), []).append(link)
    return [
        (links[0].name if len(links) == 1 else f"{name} ({len(links)} links)", links[0])
        for (name, _, _), links in alike.items()
    ]


def _print_flows(explanation: Explanation, every: bool) -> None:
    folded = _folds(explanation, every)
    if explanation.groups and not every:
        _print_groups(explanation)
    lines = _lines_of_flows(explanation) if folded else [(f.name, f) for f in explanation.flows]
    most = len(lines) if every else _MOST_FLOWS
    _print_rows(
        _FLOW_HEADINGS,
        [
            [
                name,
                flow.cc,
                _time(flow.base_rtt_s),
                flow.bottleneck or "none",
                _bytes(flow.bdp_bytes),
                _bytes(flow.queue_bytes),
                _bytes(flow.rwnd_bytes),
                told.expected(flow),
                told.bound_by(flow),
            ]
            for name, flow in lines[:most]
        ],
    )
    if explanation.traffic:
        _print_traffic(explanation)
    if explanation.probes:
        _print_probes(explanation)
    for name, flow in lines[:most]:
        _print_limits(name, flow)
    if len(lines) > most:
        tell(f"{len(lines) - most} more flows; --all shows them")
    for note in explanation.notes:
        tell(f"note: {note}")


def _print_groups(explanation: Explanation) -> None:
    """What the flows of each group should have together."""
    _print_rows(
        _GROUP_HEADINGS,
        [
            [
                group.name,
                str(len(group.flows)),
                ", ".join(group.variants),
                ", ".join(group.bottlenecks) or "none",
                "" if group.expected_sum_bps is None else units.told_rate(group.expected_sum_bps),
                ", ".join(group.binds),
            ]
            for group in explanation.groups[:_MOST_FLOWS]
        ],
    )
    if len(explanation.groups) > _MOST_FLOWS:
        tell(f"{len(explanation.groups) - _MOST_FLOWS} more groups")


def _lines_of_flows(explanation: Explanation) -> list[tuple[str, FlowExplanation]]:
    """One flow for the flows of a group that differ only by name, then the others."""
    group_of = {flow: group.name for group in explanation.groups for flow in group.flows}
    alike: dict[tuple[Any, ...], list[FlowExplanation]] = {}
    for flow in explanation.flows:
        group = group_of.get(flow.name)
        same = (flow.cc, flow.base_rtt_s, flow.bottleneck, told.expected(flow), flow.rwnd_bytes)
        alike.setdefault((group, *same) if group else (flow.name,), []).append(flow)
    return [
        (flows[0].name if len(flows) == 1 else f"each of {len(flows)} of {key[0]}", flows[0])
        for key, flows in alike.items()
    ]


def _print_traffic(explanation: Explanation) -> None:
    table = Grid(header_style="bold", box=SIMPLE_HEAD)
    for heading in ("cross traffic", "kind"):
        table.add_column(heading, no_wrap=True)
    for heading in ("offered", "of the bottleneck", "base RTT"):
        table.add_column(heading, justify="right")
    table.add_column("how")
    for source in explanation.traffic[:_MOST_FLOWS]:
        table.add_row(
            source.name,
            source.kind,
            ("up to " if source.yields else "") + units.told_rate(source.offered_bps),
            _of_bottleneck(source.bottleneck_share, 1),
            _time(source.base_rtt_s),
            source.reason,
        )
    show(stdout(), table)
    if len(explanation.traffic) > _MOST_FLOWS:
        tell(f"{len(explanation.traffic) - _MOST_FLOWS} more sources of cross traffic")


def _print_probes(explanation: Explanation) -> None:
    _print_rows(
        _PROBE_HEADINGS,
        [
            [
                probe.name,
                probe.kind,
                _time(probe.interval_s),
                _time(probe.base_rtt_s),
                _time(probe.idle_rtt_s),
                _bytes(probe.packet_bytes),
                units.told_rate(probe.load_bps),
                _of_bottleneck(probe.bottleneck_share, 2),
            ]
            for probe in explanation.probes[:_MOST_FLOWS]
        ],
    )
    if len(explanation.probes) > _MOST_FLOWS:
        tell(f"{len(explanation.probes) - _MOST_FLOWS} more probes")


def _of_bottleneck(share: float | None, digits: int) -> str:
    """Which part of the bottleneck something takes, in per cent with so many digits."""
    return "not on it" if share is None else f"{share:.{digits}%}"


def _print_rows(headings: dict[str, bool], rows: list[list[str]]) -> None:
    """Prints a table; as several, each with the names of its rows, where it is too wide."""
    print_rows(Table([*headings], [*headings.values()], [[row] for row in rows], 0, 0))


def _print_limits(name: str, flow: FlowExplanation) -> None:
    tell(f"{name}: {' -> '.join(flow.data)}")
    for limit in flow.limits:
        tell(f"  {units.told_rate(limit.bps):>14}  {limit.name}: {limit.reason}")
    for note in flow.notes:
        tell(f"  note: {note}")


def _time(seconds: float) -> str:
    # What transmission adds to a round trip is to be seen beside what propagation takes.
    return units.told_time(seconds, 6)


def _bytes(count: float | None) -> str:
    return "" if count is None else units.told_size(count)
