"""Grows by acknowledgements: a receiver that divides or repeats them gets more than its share."""

from cclab.variant import Ack, Congestion, Variant


class CountsAcks(Variant):
    """What RFC 9743 (7.6) asks about: it counts acknowledgements, not what they acknowledge."""

    own_recovery = True

    def on_ack(self, ack: Ack) -> None:
        """Every acknowledgement is worth a segment, in slow start, or its part of a round trip."""
        if self.cwnd < self.ssthresh:
            self.cwnd += 1
        else:
            self.cwnd += 1 / self.cwnd

    def on_congestion(self, event: Congestion) -> float:
        """Half the window, as Reno."""
        self.cwnd = max(self.cwnd / 2, 2)
        return self.cwnd
