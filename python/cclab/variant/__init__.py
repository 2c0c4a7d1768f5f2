"""A congestion control of your own as a Python class: `cc = "./mine.py:Mine"`.

    from cclab.variant import Ack, Congestion, Variant

    class Mine(Variant):
        def __init__(self, beta: float = 0.7) -> None:
            self.beta = beta                      # cc_params = { beta = 0.8 } sets it

        def on_ack(self, ack: Ack) -> None:
            self.cwnd += ack.acked / self.cwnd    # a segment a round trip

        def on_congestion(self, event: Congestion) -> None:
            self.cwnd *= self.beta

The simulator's stack calls the class as Linux's calls a module: it repairs losses and decides when
a packet may leave; the class says how large the window is, and at which rate packets leave. Windows
are in segments (Linux's `snd_cwnd`), times in seconds, rates in bytes a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from cclab._core import Ack, Congestion, Report, Window

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Ack", "Congestion", "Report", "Variant", "compiled"]

_Class = TypeVar("_Class", bound=type)


class Variant(Window):
    """A congestion control at one connection: a class of yours inherits from it.

    A class that defines the hooks and inherits from nothing is one, too. Each connection has an
    object of its own; `cc_params` are the arguments of its `__init__`, by name. What two objects
    share (attributes of the class or the module), the flows of a run share.
    """

    own_recovery: ClassVar[bool] = False
    """Who sets the window while losses are repaired. False: the stack, which brings it down to
    `ssthresh` (`on_ack` is called where the window may grow: Linux's `cong_avoid`). True: the class
    (`on_ack` is called at every acknowledgement: Linux's `cong_control`)."""

    needs_ecn: ClassVar[bool] = False
    """Whether its flows negotiate ECN, whatever the study says, and the receiver echoes the mark of
    each packet (DCTCP's way)."""

    traced: ClassVar[Sequence[str]] = ()
    """Attributes of an object that traces with `events = ["state"]` tell wherever one became
    another: numbers, True and False, or None. A unit stands at the end of a name (`bw_bps`,
    `base_rtt_ns`, `queue_bytes`)."""

    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement arrived, and the window may change: set `cwnd`, or `pacing_rate`."""

    def on_congestion(self, event: Congestion) -> float | None:
        """Data was lost or marked: once for each episode of recovery.

        What it returns, or sets `ssthresh` to, or else what it sets `cwnd` to, the stack comes down
        to, in segments; it begins anew from one after a timeout. By default half the window, as
        Reno.
        """
        return max(self.cwnd // 2, 2)

    def on_report(self, report: Report) -> None:
        """A round trip is over: what it showed, for a class that decides once in each."""

    def on_timer(self, now: float) -> None:
        """It is `timer`, or later: called at the first acknowledgement from then on, once."""

    def on_undo(self) -> None:
        """The last reduction was a mistake: `cwnd` is what it was before, unless it is set here."""


def compiled(cls: _Class) -> _Class:
    """Has numba compile the hooks of `cls`, where it is installed: `@compiled` above the class.

    The same file runs without numba as plain Python, slower, to the same bytes. What `__init__`
    leaves in an object's attributes is the state: whole numbers (of 64 bits), numbers with a
    fraction, True and False, and NumPy arrays of them in one dimension. Each keeps the kind that it
    begins with. Hooks call methods and functions of the file, `math`, and of `self.random` `random`
    and `uniform`; `__init__` is Python.
    """
    cls._is_compiled = True  # type: ignore[attr-defined]
    return cls


HOOKS = ("on_ack", "on_congestion", "on_report", "on_timer", "on_undo")
"""What a class may define."""
