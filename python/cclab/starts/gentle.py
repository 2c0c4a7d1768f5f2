"""gentle: Reno that gives up a quarter of its window at a loss, not half of it.

The simulator's stack calls the class as Linux's calls a module of the kernel: windows are in
segments, times in seconds, rates in bytes a second. Change what you like: whatever you change, its
runs are new ones.
"""

from cclab.variant import Ack, Congestion, Variant


class Gentle(Variant):
    """Each flow has an object of its own; tables call it by the name of the class."""

    def __init__(self, beta: float = 0.75) -> None:
        """A flow begins. Studies set what it takes: `cc_params = { beta = 0.9 }`."""
        if not 0 < beta < 1:
            raise ValueError(f"beta is what remains of the window, between 0 and 1, not {beta}")
        self.beta = beta

    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement of `ack.acked` segments, with nothing amiss: the window may grow."""
        if not ack.cwnd_limited:
            return  # what was not used shows nothing of the path
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + ack.acked, self.ssthresh)  # doubles each round trip
        else:
            self.cwnd += ack.acked / self.cwnd  # one segment a round trip

    def on_congestion(self, event: Congestion) -> float:
        """Data was lost, or marked (`event.kind` says which).

        The answer is the window that the stack comes down to while it repairs the loss, and from
        which it goes on; after a timeout it begins anew from one.
        """
        return max(self.cwnd * self.beta, 2)  # fewer than two could wait for a delayed ACK

    # More hooks: on_report (what a round trip showed), on_timer, on_undo. A class that sets
    # `self.pacing_rate` says at which rate packets leave.
