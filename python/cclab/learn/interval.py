"""A monitor interval: what became of a flow between two steps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """One flow over one monitor interval."""

    start_s: float
    """Virtual time at which it began."""
    seconds: float
    """How long it lasted."""
    runs: bool
    """Whether the flow had begun and was not over at its end."""
    sent_bytes: int
    """Payload sent, retransmissions included, full segments counted."""
    delivered_bytes: int
    """Payload delivered, cumulatively or by SACK."""
    lost_bytes: int
    """Payload taken for lost."""
    rtt_s: float
    """Mean round-trip time measured; that of the interval before if none was."""
    min_rtt_s: float
    """Smallest round-trip time of the connection so far; 0 before the first."""
    srtt_s: float
    """Smoothed round-trip time at its end; 0 before the first sample."""
    cwnd_bytes: int
    """Congestion window at its end."""
    pacing_rate_bps: float
    """Pacing rate at its end; 0 if the variant does not pace."""
    in_flight_bytes: int
    """In flight at its end."""
    mss_bytes: int
    """Payload of a full segment."""
    acks: int
    """Acknowledgements taken in."""

    @property
    def throughput_bps(self) -> float:
        """Payload delivered per second."""
        return 8 * self.delivered_bytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def send_rate_bps(self) -> float:
        """Payload sent per second."""
        return 8 * self.sent_bytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def loss_rate(self) -> float:
        """Part of what was delivered or lost that was lost."""
        known = self.delivered_bytes + self.lost_bytes
        return self.lost_bytes / known if known else 0.0

    @property
    def latency_ratio(self) -> float:
        """Mean round-trip time over the smallest one; 1 before the first."""
        return self.rtt_s / self.min_rtt_s if self.min_rtt_s > 0 else 1.0

    @property
    def send_ratio(self) -> float:
        """Sent over delivered; 1 if neither was, sent segments if nothing was delivered."""
        if self.delivered_bytes:
            return self.sent_bytes / self.delivered_bytes
        return max(1.0, self.sent_bytes / self.mss_bytes if self.mss_bytes else 1.0)
