"""Believes marks alone: a receiver that conceals them gets more than any standard gives it."""

from cclab.variant import Ack, Congestion, Variant


class TrustsMarks(Variant):
    """Sends a large window until a mark tells otherwise, and takes losses for noise."""

    own_recovery = True

    def __init__(self) -> None:
        self.marked = False

    def on_ack(self, ack: Ack) -> None:
        """A segment a round trip, once there was a mark."""
        if self.marked:
            self.cwnd += ack.acked / self.cwnd
        else:
            self.cwnd = 1000

    def on_congestion(self, event: Congestion) -> float:
        """Half the window at a mark, and all of it at a loss."""
        if event.kind == "ecn":
            self.marked = True
            self.cwnd = max(self.cwnd / 2, 2)
        return self.cwnd
