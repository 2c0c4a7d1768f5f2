"""`cclab explain`: what a study's network is, and what should come out, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from cclab.cli import options
from cclab.cli.console import print_json, show, stdout, tell
from cclab.explain import explain as explain_scenario
from cclab.study import Study

if TYPE_CHECKING:
    from cclab.explain import Explanation, FlowExplanation
    from cclab.plan import Plan

_MOST_POINTS = 12
_MOST_LINKS = 16
_MOST_FLOWS = 12


def explain(
    study: options.StudyFile,
    set_: options.Set = None,
    json: options.Json = False,
) -> None:
    """Explain a study before it runs: paths, windows against BDP, limits, expected rates."""
    planned = Study.load(study).plan(backend="sim", set=set_ or [])
    explained = [explain_scenario(point.scenario) for point in planned.points]
    if json:
        print_json(_document(planned, explained))
        return
    stdout().print(Text(planned.title, style="bold"), soft_wrap=True)
    if planned.question:
        tell(planned.question)
    _print_network(explained[0])
    for point, explanation in list(zip(planned.points, explained, strict=True))[:_MOST_POINTS]:
        if len(planned.points) > 1:
            stdout().print(Text(f"\n{point.label}", style="bold"))
        _print_flows(explanation)
    if len(planned.points) > _MOST_POINTS:
        tell(f"{len(planned.points) - _MOST_POINTS} more sweep points; --json shows them all")


def _document(planned: Plan, explained: list[Explanation]) -> dict[str, Any]:
    return {
        "schema": "cclab-explain/1",
        "study": planned.description(),
        "points": [
            {"params": point.params, **explanation.document()}
            for point, explanation in zip(planned.points, explained, strict=True)
        ],
    }


def _print_network(explanation: Explanation) -> None:
    table = Table(header_style="bold", box=SIMPLE_HEAD, title=explanation.topology)
    table.add_column("link", no_wrap=True)
    table.add_column("rate", justify="right")
    table.add_column("delay one way", justify="right")
    for link in explanation.links[:_MOST_LINKS]:
        rate = "infinite" if link.rate_bps is None else _rate(link.rate_bps)
        table.add_row(link.name, rate, _time(link.delay_s))
    show(stdout(), table)
    if len(explanation.links) > _MOST_LINKS:
        tell(f"{len(explanation.links) - _MOST_LINKS} more links")


def _print_flows(explanation: Explanation) -> None:
    table = Table(header_style="bold", box=SIMPLE_HEAD)
    headings = ("flow", "variant", "base RTT", "bottleneck", "BDP", "queue", "rwnd", "expected")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in headings[:2] else "right")
    table.add_column("bound by")
    for flow in explanation.flows[:_MOST_FLOWS]:
        table.add_row(
            Text(flow.name),
            flow.cc,
            _time(flow.base_rtt_s),
            flow.bottleneck or "none",
            _bytes(flow.bdp_bytes),
            _bytes(flow.queue_bytes),
            _bytes(flow.rwnd_bytes),
            "" if flow.expected_bps is None else _rate(flow.expected_bps),
            flow.binds or "",
        )
    show(stdout(), table)
    if explanation.traffic:
        _print_traffic(explanation)
    if explanation.probes:
        _print_probes(explanation)
    for flow in explanation.flows[:_MOST_FLOWS]:
        _print_limits(flow)
    if len(explanation.flows) > _MOST_FLOWS:
        tell(f"{len(explanation.flows) - _MOST_FLOWS} more flows")
    for note in explanation.notes:
        tell(f"note: {note}")


def _print_traffic(explanation: Explanation) -> None:
    table = Table(header_style="bold", box=SIMPLE_HEAD)
    for heading in ("cross traffic", "kind"):
        table.add_column(heading, no_wrap=True)
    for heading in ("offered", "of the bottleneck", "base RTT"):
        table.add_column(heading, justify="right")
    table.add_column("how")
    for source in explanation.traffic[:_MOST_FLOWS]:
        share = source.bottleneck_share
        table.add_row(
            Text(source.name),
            source.kind,
            ("up to " if source.yields else "") + _rate(source.offered_bps),
            "not on it" if share is None else f"{share:.1%}",
            _time(source.base_rtt_s),
            source.reason,
        )
    show(stdout(), table)
    if len(explanation.traffic) > _MOST_FLOWS:
        tell(f"{len(explanation.traffic) - _MOST_FLOWS} more sources of cross traffic")


def _print_probes(explanation: Explanation) -> None:
    table = Table(header_style="bold", box=SIMPLE_HEAD)
    for heading in ("probe", "kind"):
        table.add_column(heading, no_wrap=True)
    headings = (
        "every",
        "base RTT",
        "RTT when idle",
        "packet",
        "adds each way",
        "of the bottleneck",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for probe in explanation.probes[:_MOST_FLOWS]:
        share = probe.bottleneck_share
        table.add_row(
            Text(probe.name),
            probe.kind,
            _time(probe.interval_s),
            _time(probe.base_rtt_s),
            _time(probe.idle_rtt_s),
            _bytes(probe.packet_bytes),
            _rate(probe.load_bps),
            "not on it" if share is None else f"{share:.2g}" if share > 1 else f"{share:.2%}",
        )
    show(stdout(), table)
    if len(explanation.probes) > _MOST_FLOWS:
        tell(f"{len(explanation.probes) - _MOST_FLOWS} more probes")


def _print_limits(flow: FlowExplanation) -> None:
    tell(f"{flow.name}: {' -> '.join(flow.data)}")
    for limit in flow.limits:
        tell(f"  {_rate(limit.bps):>14}  {limit.name}: {limit.reason}")
    for note in flow.notes:
        tell(f"  note: {note}")


def _rate(bps: float) -> str:
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= size:
            return f"{bps / size:.4g} {unit}"
    return f"{bps:.4g} bit/s"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.6g} ms"


def _bytes(count: float | None) -> str:
    return "" if count is None else f"{count:,.0f} B"
