"""Data that are lost, sent again, late or there twice. Captured beside the sender if not said."""

from __future__ import annotations

from dataclasses import replace

from agreement.conversation import CLIENT, SERVER, Conversation

MSS = 1000


def _burst(talk: Conversation, segments: int) -> None:
    """`a` sends as many segments, 100 microseconds apart."""
    for _ in range(segments):
        talk.a.send(MSS)
        talk.wait(0.1)


def fast_retransmit() -> Conversation:
    """One segment is lost and sent again after three duplicate acknowledgements (RFC 5681)."""
    talk = Conversation(replace(CLIENT, sack=False), replace(SERVER, sack=False))
    talk.open()
    _burst(talk, 6)
    talk.wait(39)
    talk.b.ack(MSS)
    for _ in range(4):
        talk.wait(0.1)
        talk.b.ack(MSS)
    talk.wait(0.1)
    talk.a.send(MSS, at=MSS)
    talk.wait(40)
    talk.b.ack()
    _burst(talk, 2)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def sack() -> Conversation:
    """Two holes, told by SACK blocks, and both filled (RFC 2018, RFC 6675)."""
    talk = Conversation()
    talk.open()
    _burst(talk, 8)
    talk.wait(39)
    talk.b.ack(MSS)
    for blocks in (
        ((2 * MSS, 3 * MSS),),
        ((4 * MSS, 5 * MSS), (2 * MSS, 3 * MSS)),
        ((4 * MSS, 6 * MSS), (2 * MSS, 3 * MSS)),
        ((4 * MSS, 8 * MSS), (2 * MSS, 3 * MSS)),
    ):
        talk.wait(0.1)
        talk.b.ack(MSS, sack=blocks)
    talk.wait(0.1)
    talk.a.send(MSS, at=MSS)
    talk.wait(0.1)
    talk.a.send(MSS, at=3 * MSS)
    talk.wait(40)
    talk.b.ack(3 * MSS, sack=((4 * MSS, 8 * MSS),))
    talk.wait(0.1)
    talk.b.ack()
    talk.close()
    return talk


def many_sack_blocks() -> Conversation:
    """Every other segment is lost: four SACK blocks, as many as the options hold."""
    talk = Conversation()
    talk.open()
    _burst(talk, 9)
    talk.wait(39)
    talk.b.ack(MSS)
    blocks: tuple[tuple[int, int], ...] = ()
    for lost in (1, 3, 5, 7):
        blocks = (((lost + 1) * MSS, (lost + 2) * MSS), *blocks)
        talk.wait(0.1)
        talk.b.ack(MSS, sack=blocks)
    for lost in (1, 3, 5, 7):
        talk.wait(0.1)
        talk.a.send(MSS, at=lost * MSS)
    talk.wait(40)
    for lost in (1, 3, 5, 7):
        blocks = blocks[:-1]
        talk.b.ack((lost + 2) * MSS, sack=blocks)
        talk.wait(0.1)
    talk.close()
    return talk


def duplicate_sack() -> Conversation:
    """An acknowledgement is lost, the timer sends in vain, and D-SACK tells so (RFC 2883)."""
    talk = Conversation()
    talk.open()
    _burst(talk, 2)
    talk.wait(39)
    talk.b.ack(MSS)
    talk.wait(260)
    talk.a.send(MSS, at=MSS)
    talk.wait(40)
    talk.b.ack(2 * MSS, sack=((MSS, 2 * MSS),))
    talk.wait(0.1)
    _burst(talk, 2)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def spurious() -> Conversation:
    """Data come again after their acknowledgement was seen; D-SACK tells of them."""
    talk = Conversation()
    talk.open()
    _burst(talk, 3)
    talk.wait(40)
    talk.b.ack()
    talk.wait(1)
    talk.a.send(MSS, at=2 * MSS)
    talk.wait(40)
    talk.b.ack(3 * MSS, sack=((2 * MSS, 3 * MSS),))
    talk.wait(1)
    _burst(talk, 1)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def timeout_with_backoff() -> Conversation:
    """The last segment is lost four times; the timer doubles each time (RFC 6298)."""
    talk = Conversation()
    talk.open()
    _burst(talk, 3)
    talk.wait(40)
    talk.b.ack(2 * MSS)
    for wait in (250, 500, 1000, 2000):
        talk.wait(wait)
        talk.a.send(MSS, at=2 * MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def tail_loss_probe() -> Conversation:
    """The last segment is lost, and sent again after two round trips (RFC 8985 section 7)."""
    talk = Conversation()
    talk.open()
    _burst(talk, 4)
    talk.wait(39.6)
    talk.b.ack(3 * MSS)
    talk.wait(80)
    talk.a.send(MSS, at=3 * MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def lost_again() -> Conversation:
    """The retransmission is lost as well, and its timer brings it a second time."""
    talk = Conversation()
    talk.open()
    _burst(talk, 5)
    talk.wait(39)
    talk.b.ack(MSS)
    for upto in (3, 4, 5):
        talk.wait(0.1)
        talk.b.ack(MSS, sack=((2 * MSS, upto * MSS),))
    talk.wait(0.1)
    talk.a.send(MSS, at=MSS)
    talk.wait(280)
    talk.a.send(MSS, at=MSS)
    talk.wait(40)
    talk.b.ack()
    talk.wait(0.1)
    _burst(talk, 2)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def too_early() -> Conversation:
    """The timer expires while the acknowledgements are on their way (RFC 5682); D-SACK tells."""
    talk = Conversation()
    talk.open()
    _burst(talk, 3)
    talk.wait(300)
    talk.a.send(MSS, at=0)
    talk.wait(1)
    for upto in (1, 2, 3):
        talk.b.ack(upto * MSS)
        talk.wait(0.1)
    talk.a.send(MSS)
    talk.wait(39)
    talk.b.ack(3 * MSS, sack=((0, MSS),))
    talk.wait(1)
    talk.b.ack()
    talk.close()
    return talk


def limited_transmit() -> Conversation:
    """New data answer the first two duplicate acknowledgements (RFC 3042)."""
    talk = Conversation()
    talk.open()
    _burst(talk, 4)
    talk.wait(39)
    talk.b.ack(MSS)
    for upto in (3, 4):
        talk.wait(0.1)
        talk.b.ack(MSS, sack=((2 * MSS, upto * MSS),))
        talk.wait(0.05)
        talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack(MSS, sack=((2 * MSS, 5 * MSS),))
    talk.wait(0.05)
    talk.a.send(MSS, at=MSS)
    talk.wait(0.1)
    talk.b.ack(MSS, sack=((2 * MSS, 6 * MSS),))
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def inside_segments() -> Conversation:
    """A middlebox cut segments: acknowledgements and SACK blocks end inside of them."""
    talk = Conversation()
    talk.open()
    _burst(talk, 3)
    talk.wait(39)
    for upto in (400, 1200, 2500):
        talk.b.ack(upto)
        talk.wait(1)
    talk.b.ack()
    talk.wait(1)
    _burst(talk, 3)
    talk.wait(39)
    talk.b.ack(3 * MSS + 500)
    talk.wait(0.1)
    talk.b.ack(3 * MSS + 500, sack=((4 * MSS + 300, 5 * MSS + 100),))
    talk.wait(0.1)
    talk.b.ack()
    talk.close()
    return talk


def go_back() -> Conversation:
    """All of a window is lost; what the timer sends first is all that is missing, in order."""
    talk = Conversation(replace(CLIENT, sack=False), replace(SERVER, sack=False))
    talk.open()
    _burst(talk, 4)
    talk.wait(300)
    talk.a.send(MSS, at=0)
    talk.wait(40)
    talk.b.ack(MSS)
    for again in (1, 2, 3):
        talk.wait(0.1)
        talk.a.send(MSS, at=again * MSS)
    talk.wait(40)
    talk.b.ack(3 * MSS)
    talk.wait(0.1)
    talk.b.ack()
    talk.close()
    return talk


def reordering() -> Conversation:
    """Beside the receiver: a segment overtakes another; one duplicate acknowledgement."""
    talk = Conversation()
    talk.open()
    _burst(talk, 1)
    talk.b.ack()
    talk.wait(0.5)
    talk.a.send(MSS, at=2 * MSS)
    talk.wait(0.05)
    talk.b.ack(MSS, sack=((2 * MSS, 3 * MSS),))
    talk.wait(0.5)
    talk.a.send(MSS, at=MSS)
    talk.wait(0.05)
    talk.b.ack()
    talk.wait(1)
    _burst(talk, 2)
    talk.b.ack()
    talk.close()
    return talk


def late_reordering() -> Conversation:
    """Beside the receiver: a segment comes four behind, after three duplicate acknowledgements."""
    talk = Conversation()
    talk.open()
    _burst(talk, 1)
    talk.b.ack()
    talk.wait(0.5)
    for late in (2, 3, 4):
        talk.a.send(MSS, at=late * MSS)
        talk.wait(0.05)
        talk.b.ack(MSS, sack=((2 * MSS, (late + 1) * MSS),))
        talk.wait(0.2)
    talk.a.send(MSS, at=MSS)
    talk.wait(0.05)
    talk.b.ack()
    talk.close()
    return talk


def loss_before_the_capture() -> Conversation:
    """Beside the receiver: a hole, and what fills it a round trip later."""
    talk = Conversation()
    talk.open()
    _burst(talk, 1)
    talk.b.ack()
    talk.wait(0.5)
    for after in (2, 3, 4, 5):
        talk.a.send(MSS, at=after * MSS)
        talk.wait(0.05)
        talk.b.ack(MSS, sack=((2 * MSS, (after + 1) * MSS),))
        talk.wait(0.2)
    talk.wait(80)
    talk.a.send(MSS, at=MSS)
    talk.wait(0.05)
    talk.b.ack()
    talk.close()
    return talk


def hole_across_a_quarter() -> Conversation:
    """Beside the receiver: a segment fills a hole that ends at a quarter of the sequence space."""
    talk = Conversation(replace(CLIENT, isn=2**31 - 1 - 2 * MSS))
    talk.open()
    _burst(talk, 1)
    talk.b.ack()
    talk.wait(0.5)
    talk.a.send(MSS, at=2 * MSS)
    talk.wait(0.05)
    talk.b.ack(MSS, sack=((2 * MSS, 3 * MSS),))
    talk.wait(0.5)
    talk.a.send(MSS, at=MSS)
    talk.wait(0.05)
    talk.b.ack()
    talk.close()
    return talk


def first_lost() -> Conversation:
    """The first data are lost; duplicates acknowledge nothing but the SYN."""
    talk = Conversation()
    talk.open()
    _burst(talk, 4)
    talk.wait(39)
    for upto in (2, 3, 4):
        talk.b.ack(0, sack=((MSS, upto * MSS),))
        talk.wait(0.1)
    talk.a.send(MSS, at=0)
    talk.wait(40)
    talk.b.ack()
    talk.wait(0.1)
    _burst(talk, 2)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def one_byte_again() -> Conversation:
    """A segment of one byte is lost and sent again: no keep-alive, although it looks like one."""
    talk = Conversation()
    talk.open()
    for _ in range(2):
        talk.a.send(1)
        talk.wait(40)
        talk.b.ack()
        talk.wait(100)
    talk.a.send(1)
    talk.wait(250)
    talk.a.send(1, at=2)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def duplication() -> Conversation:
    """Beside the receiver: the network delivers a segment twice, and an acknowledgement."""
    talk = Conversation()
    talk.open()
    _burst(talk, 2)
    talk.duplicate()
    talk.wait(0.05)
    talk.b.ack(2 * MSS)
    talk.wait(0.05)
    talk.b.ack(2 * MSS, sack=((MSS, 2 * MSS),))
    talk.wait(1)
    _burst(talk, 1)
    talk.b.ack()
    talk.wait(0.05)
    talk.duplicate()
    talk.wait(1)
    _burst(talk, 1)
    talk.b.ack()
    talk.close()
    return talk


def longer_again() -> Conversation:
    """A retransmission carries more than the segment that was lost, new data too."""
    talk = Conversation()
    talk.open()
    talk.a.send(300)
    talk.wait(0.1)
    talk.a.send(300)
    talk.wait(300)
    talk.a.send(1000, at=0)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def shorter_again() -> Conversation:
    """A segment is sent again in two, split elsewhere than before."""
    talk = Conversation()
    talk.open()
    talk.a.send(1400)
    talk.wait(0.1)
    talk.a.send(600)
    talk.wait(300)
    talk.a.send(536, at=0)
    talk.wait(40)
    talk.b.ack(536)
    talk.wait(0.1)
    talk.a.send(1464, at=536)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def overlapping() -> Conversation:
    """A segment begins in the middle of the one before it and ends beyond it."""
    talk = Conversation()
    talk.open()
    talk.a.send(1000)
    talk.wait(60)
    talk.a.send(1000, at=500)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


KINDS = (
    fast_retransmit,
    sack,
    many_sack_blocks,
    duplicate_sack,
    spurious,
    timeout_with_backoff,
    tail_loss_probe,
    lost_again,
    too_early,
    limited_transmit,
    inside_segments,
    go_back,
    reordering,
    late_reordering,
    loss_before_the_capture,
    hole_across_a_quarter,
    first_lost,
    one_byte_again,
    duplication,
    longer_again,
    shorter_again,
    overlapping,
)
