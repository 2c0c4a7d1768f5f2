"""An episode: a run of a study on the simulator, interval by interval."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.errors import InputError
from cclab.learn.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.documents.scenario import Scenario

SETTLING_S = 0.01
"""How finely an episode waits for a flow's first round trip."""


class Episode:
    """A run that goes on as long as it is told to and then stands still."""

    def __init__(self, scenario: Scenario, seed: int, steered: Sequence[str] = ()) -> None:
        """Begins the run of `scenario` (as of `cclab.plan.Point`) with `seed`.

        The flows called `steered` get a variant that does what `steer` says. Raises `InputError`
        for a flow that is not there and for a variant of a file at one that is not steered, and
        `RunError` for what the simulator does not run.
        """
        self.flows: list[str] = [flow["name"] for flow in scenario["flows"]]
        """The names of the flows."""
        for name in steered:
            if name not in self.flows:
                raise InputError(f"there is no flow {name}: the study has {', '.join(self.flows)}")
        files = {file["label"]: file["file"] for file in scenario.get("variant_files", [])}
        others = [flow for flow in scenario["flows"] if flow["name"] not in steered]
        for user in [*others, *scenario.get("traffic", [])]:
            if (label := user.get("cc")) in files:
                raise InputError(
                    f"{user['name']} has the variant of {files[label]}: what files do, "
                    "processes of their own do, not an environment; give it a variant of cclab"
                )
        self._number = {name: number for number, name in enumerate(steered)}
        indices = [self.flows.index(name) for name in steered]
        self._steps = _core.Steps(json.dumps(scenario), seed, indices)
        self._before = dict.fromkeys(self.flows, (0, 0, 0, 0.0))

    @property
    def now_s(self) -> float:
        """Virtual seconds that have passed."""
        return self._steps.now_s

    @property
    def over(self) -> bool:
        """Whether the run has come to its end."""
        return self._steps.over

    def steer(self, flow: str, cwnd_segments: float, pacing_rate_bps: float | None = None) -> None:
        """Sets the window and the rate of payload of a steered flow.

        Both hold from its next acknowledgement on; without a rate, packets leave as
        acknowledgements come.
        """
        rate = 0 if pacing_rate_bps is None else max(1, round(pacing_rate_bps / 8))
        cwnd = min(max(1, math.floor(cwnd_segments)), 2**31)
        self._steps.steer(self._number[flow], cwnd, min(rate, 2**62))

    def advance(self, seconds: float) -> dict[str, Interval]:
        """Lets the run go on for `seconds`, or to its end; the interval of each flow."""
        start = self.now_s
        rows = self._steps.advance(seconds)
        lasted = self.now_s - start
        return {
            name: self._interval(name, row, start, lasted)
            for name, row in zip(self.flows, rows, strict=True)
        }

    def _interval(
        self, name: str, row: tuple[Any, ...], start_s: float, seconds: float
    ) -> Interval:
        runs, segments, delivered, lost, cwnd, rate, in_flight, srtt, least, mss, acks, rtt = row
        segments_before, delivered_before, lost_before, rtt_before = self._before[name]
        if math.isnan(rtt):
            rtt = rtt_before or srtt
        self._before[name] = (segments, delivered, lost, rtt)
        return Interval(
            start_s=start_s,
            seconds=seconds,
            runs=runs,
            sent_bytes=(segments - segments_before) * mss,
            delivered_bytes=delivered - delivered_before,
            lost_bytes=lost - lost_before,
            rtt_s=rtt,
            min_rtt_s=least,
            srtt_s=srtt,
            cwnd_bytes=cwnd,
            pacing_rate_bps=rate,
            in_flight_bytes=in_flight,
            mss_bytes=mss,
            acks=acks,
        )

    def begin(self, flows: Sequence[str]) -> dict[str, Interval]:
        """Lets the run go on until each of `flows` has measured a round trip.

        Raises `InputError` if the run ends before.
        """
        while not self.over:
            intervals = self.advance(SETTLING_S)
            if all(intervals[name].srtt_s > 0 for name in flows):
                return intervals
        raise InputError(f"the run ends before {' and '.join(flows)} measured a round trip")
