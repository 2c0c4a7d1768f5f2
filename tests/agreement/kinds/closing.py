"""How connections end."""

from __future__ import annotations

from agreement.conversation import Conversation


def _begun() -> Conversation:
    """A connection on which `a` sent two segments, which were acknowledged."""
    talk = Conversation()
    talk.open()
    talk.a.send(1000)
    talk.wait(0.1)
    talk.a.send(1000)
    talk.wait(40)
    talk.b.ack()
    talk.wait(1)
    return talk


def crossing() -> Conversation:
    """Both ends close at once: their FINs cross (RFC 9293 section 3.6, figure 13)."""
    talk = _begun()
    talk.a.fin(ack=0)
    talk.wait(5)
    talk.b.fin(ack=2000)
    talk.wait(0.1)
    talk.a.ack()
    talk.wait(35)
    talk.b.ack()
    return talk


def half_closed() -> Conversation:
    """`a` closes, and `b` goes on sending for a while."""
    talk = _begun()
    talk.a.fin()
    talk.wait(40)
    talk.b.ack()
    for _ in range(3):
        talk.wait(5)
        talk.b.send(700, ack=talk.a.next)
        talk.wait(0.1)
        talk.a.ack()
    talk.wait(5)
    talk.b.fin()
    talk.wait(0.1)
    talk.a.ack()
    return talk


def fin_unanswered() -> Conversation:
    """`a` closes; `b` does not before the capture ends."""
    talk = _begun()
    talk.a.fin()
    talk.wait(40)
    talk.b.ack()
    return talk


def fin_with_data() -> Conversation:
    """The FINs come with the last data."""
    talk = _begun()
    talk.a.fin(length=500)
    talk.wait(40)
    talk.b.fin(length=300)
    talk.wait(0.1)
    talk.a.ack()
    return talk


def fin_again() -> Conversation:
    """The FIN is lost behind the capture point and sent again by the timer."""
    talk = _begun()
    talk.a.fin()
    talk.wait(250)
    talk.a.fin(at=2000, ack=0)
    talk.wait(40)
    talk.b.fin()
    talk.wait(0.1)
    talk.a.ack()
    return talk


def fin_with_data_again() -> Conversation:
    """The last data and their FIN are lost and sent again."""
    talk = _begun()
    talk.a.fin(length=500)
    talk.wait(250)
    talk.a.fin(at=2000, length=500, ack=0)
    talk.wait(40)
    talk.b.fin()
    talk.wait(0.1)
    talk.a.ack()
    return talk


def never() -> Conversation:
    """The capture ended before the connection did."""
    return _begun()


def reset_by_a() -> Conversation:
    """The end that opened aborts."""
    talk = _begun()
    talk.a.send(1000)
    talk.wait(1)
    talk.a.rst("RA")
    return talk


def reset_by_b() -> Conversation:
    """The other end aborts while data are on their way."""
    talk = _begun()
    talk.a.send(1000)
    talk.wait(10)
    talk.b.rst("RA", ack=2000)
    return talk


def reset_after_fin() -> Conversation:
    """`b` answers the FIN by an RST instead of its own FIN."""
    talk = _begun()
    talk.a.fin()
    talk.wait(40)
    talk.b.rst("R")
    return talk


def data_after_reset() -> Conversation:
    """`a` goes on, for the RST has not reached it yet; each segment is answered by another."""
    talk = _begun()
    talk.a.send(1000)
    talk.wait(10)
    talk.b.rst("RA", ack=2000)
    talk.wait(1)
    talk.a.send(1000)
    talk.wait(10)
    talk.b.rst("R")
    return talk


KINDS = (
    crossing,
    half_closed,
    fin_unanswered,
    fin_with_data,
    fin_again,
    fin_with_data_again,
    never,
    reset_by_a,
    reset_by_b,
    reset_after_fin,
    data_after_reset,
)
