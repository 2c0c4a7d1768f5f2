"""How connections begin, and do not."""

from __future__ import annotations

from dataclasses import replace

from agreement.conversation import CLIENT, SERVER, Conversation


def _exchange(talk: Conversation) -> None:
    """Three segments of `a` and their acknowledgement."""
    for _ in range(3):
        talk.a.send(1000)
        talk.wait(0.1)
    talk.wait(40)
    talk.b.ack()
    talk.wait(1)


def syn_again() -> Conversation:
    """The first SYN is lost and sent again after a second."""
    talk = Conversation()
    talk.a.syn()
    talk.wait(1000)
    talk.open()
    _exchange(talk)
    talk.close()
    return talk


def syn_ack_again() -> Conversation:
    """The answer to the SYN is lost behind the capture point, and both are sent again."""
    talk = Conversation()
    talk.a.syn()
    talk.wait(0.1)
    talk.b.syn("SA")
    talk.wait(1000)
    talk.a.syn()
    talk.wait(0.1)
    talk.b.syn("SA")
    talk.wait(40)
    talk.a.ack(0)
    talk.wait(1)
    _exchange(talk)
    talk.close()
    return talk


def syn_ack_after_data() -> Conversation:
    """The last segment of the handshake and the data are lost; the other end answers again."""
    talk = Conversation(replace(CLIENT, scale=3), replace(SERVER, scale=3))
    talk.open()
    talk.a.send(1000)
    talk.wait(950)
    talk.b.syn("SA")
    talk.wait(0.1)
    talk.a.ack()
    talk.wait(250)
    talk.a.send(1000, at=0)
    talk.wait(40)
    talk.b.ack(1000)
    talk.wait(1)
    _exchange(talk)
    talk.close()
    return talk


def syn_ack_late() -> Conversation:
    """Beside `a`: the network delivers the answer to the SYN twice, the second time after data."""
    talk = Conversation(replace(CLIENT, scale=3), replace(SERVER, scale=3))
    talk.open()
    _exchange(talk)
    talk.duplicate(1)
    talk.wait(0.1)
    talk.a.ack()
    talk.wait(1)
    _exchange(talk)
    talk.close()
    return talk


def syn_late() -> Conversation:
    """Beside `b`: the network delivers the SYN twice, the second time after data."""
    talk = Conversation()
    talk.open()
    _exchange(talk)
    talk.duplicate(0)
    talk.wait(0.1)
    talk.b.ack()
    talk.wait(1)
    _exchange(talk)
    talk.close()
    return talk


def answer_missed() -> Conversation:
    """The capture dropped the answer to the SYN, which would tell whether windows are scaled."""
    talk = Conversation(replace(CLIENT, scale=7), replace(SERVER, scale=7))
    talk.a.syn()
    talk.wait(40)
    with talk.unseen():
        talk.b.syn("SA")
    talk.wait(0.1)
    talk.a.ack(0, window=500)
    talk.wait(1)
    _exchange(talk)
    talk.close()
    return talk


def unanswered() -> Conversation:
    """SYNs that nobody answers, the timer doubled each time: a half-open connection."""
    talk = Conversation()
    for wait in (1000, 2000, 4000):
        talk.a.syn()
        talk.wait(wait)
    talk.a.syn()
    return talk


def refused() -> Conversation:
    """Nobody listens: the SYN is answered by an RST."""
    talk = Conversation()
    talk.a.syn()
    talk.wait(40)
    talk.b.rst("RA", at=-1, ack=0)
    return talk


def crossing() -> Conversation:
    """Both ends open at once: their SYNs cross (RFC 9293 section 3.5, figure 7)."""
    talk = Conversation()
    talk.a.syn()
    talk.wait(10)
    talk.b.syn()
    talk.wait(0.1)
    talk.a.syn("SA")
    talk.wait(20)
    talk.b.syn("SA")
    talk.wait(1)
    _exchange(talk)
    talk.close()
    return talk


def midstream() -> Conversation:
    """The capture began when the connection was there: no SYN was seen."""
    talk = Conversation(replace(CLIENT, window=2000))
    with talk.unseen():
        talk.open()
        talk.a.send(50_000)
        talk.b.send(3000)
        talk.a.ack()
        talk.b.ack()
    _exchange(talk)
    _exchange(talk)
    talk.close()
    return talk


def syn_ack_only() -> Conversation:
    """The capture began between the SYN and its answer."""
    talk = Conversation(replace(CLIENT, scale=7), replace(SERVER, scale=7))
    with talk.unseen(talk.a):
        talk.a.syn()
    talk.wait(10)
    talk.b.syn("SA")
    talk.wait(0.1)
    talk.a.ack(0)
    talk.wait(1)
    _exchange(talk)
    talk.close()
    return talk


def reused() -> Conversation:
    """The same ports a second time, with another initial sequence number."""
    talk = Conversation()
    talk.open()
    _exchange(talk)
    talk.close()
    talk.wait(500)
    talk.reopen(replace(CLIENT, isn=900_000_000))
    talk.open()
    _exchange(talk)
    talk.close()
    return talk


def reused_after_silence() -> Conversation:
    """The same ports again ten minutes later, the first connection never closed."""
    talk = Conversation()
    talk.open()
    _exchange(talk)
    talk.wait(600_000)
    talk.reopen(replace(CLIENT, isn=900_000_000))
    talk.open()
    _exchange(talk)
    talk.close()
    return talk


def with_data() -> Conversation:
    """The SYN carries data (TCP Fast Open, RFC 7413), and its answer acknowledges them."""
    talk = Conversation()
    talk.a.syn(length=100)
    talk.wait(40)
    talk.b.syn("SA", ack=100)
    talk.wait(0.1)
    talk.a.ack(0)
    talk.wait(1)
    _exchange(talk)
    talk.close()
    return talk


KINDS = (
    syn_again,
    syn_ack_again,
    syn_ack_after_data,
    syn_ack_late,
    syn_late,
    answer_missed,
    unanswered,
    refused,
    crossing,
    midstream,
    syn_ack_only,
    reused,
    reused_after_silence,
    with_data,
)
