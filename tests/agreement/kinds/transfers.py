"""Transfers in which nothing is lost."""

from __future__ import annotations

from dataclasses import replace

from agreement.conversation import CLIENT, SERVER, Conversation

MSS = 1460


def plain() -> Conversation:
    """A transfer in order, an acknowledgement for each two segments."""
    talk = Conversation()
    talk.open()
    for _ in range(4):
        for _ in range(4):
            talk.a.send(MSS)
            talk.wait(0.1)
        talk.wait(39)
        talk.b.ack(talk.a.next - 2 * MSS)
        talk.wait(0.2)
        talk.b.ack()
        talk.wait(0.1)
    talk.close()
    return talk


def delayed_acks() -> Conversation:
    """Single segments, each acknowledged when the timer of delayed acknowledgements expires."""
    talk = Conversation()
    talk.open()
    for _ in range(4):
        talk.a.send(500)
        talk.wait(240)
        talk.b.ack()
        talk.wait(5)
    talk.close()
    return talk


def uneven() -> Conversation:
    """Round-trip times with all digits that a capture has."""
    talk = Conversation()
    talk.open(rtt_ms=121.758)
    for rtt_ms in (200.061, 130.06, 10.051, 0.003):
        talk.a.send(777)
        talk.wait(rtt_ms)
        talk.b.ack()
        talk.wait(0.777)
    talk.close(rtt_ms=201.959)
    return talk


def telnet() -> Conversation:
    """One byte at a time, each echoed and the echo acknowledged."""
    talk = Conversation()
    talk.open()
    for _ in range(6):
        talk.a.send(1)
        talk.wait(40)
        talk.b.send(1, ack=talk.a.next)
        talk.wait(3)
        talk.a.ack()
        talk.wait(150)
    talk.close()
    return talk


def requests() -> Conversation:
    """Requests of one end and larger responses of the other, which acknowledge them."""
    talk = Conversation()
    talk.open()
    for size in (3000, 200, 1460):
        talk.a.send(120, ack=talk.b.next)
        talk.wait(45)
        request = talk.a.next
        for start in range(0, size, MSS):
            talk.b.send(min(MSS, size - start), ack=request)
            talk.wait(0.2)
        talk.a.ack()
        talk.wait(30)
    talk.close()
    return talk


def both_ways() -> Conversation:
    """Both ends send at once, and acknowledge in their segments with data."""
    talk = Conversation()
    talk.open()
    for _ in range(5):
        told = talk.b.next
        talk.a.send(1000, ack=told)
        talk.wait(1)
        talk.a.send(1000, ack=told)
        talk.wait(20)
        talk.b.send(700, ack=talk.a.next)
        talk.wait(1)
    talk.wait(5)
    talk.a.ack()
    talk.close()
    return talk


def offloaded() -> Conversation:
    """Segments larger than the MSS, as a host with segmentation offload hands them down."""
    talk = Conversation()
    talk.open()
    for size in (10 * MSS, 20 * MSS, 30 * MSS):
        talk.a.send(size)
        talk.wait(41)
        talk.b.ack()
        talk.wait(0.1)
    talk.close()
    return talk


def timestamps() -> Conversation:
    """Both ends ask for timestamps and send them in every segment."""
    talk = Conversation(replace(CLIENT, timestamps=True), replace(SERVER, timestamps=True))
    talk.open()
    for _ in range(6):
        talk.a.send(1448)
        talk.wait(0.1)
        talk.a.send(1448)
        talk.wait(40)
        talk.b.ack()
        talk.wait(0.1)
    talk.close()
    return talk


def at_the_receiver() -> Conversation:
    """Captured beside the receiver: acknowledgements follow at once, data after a round trip."""
    talk = Conversation()
    talk.a.syn()
    talk.wait(0.1)
    talk.b.syn("SA")
    talk.wait(40)
    talk.a.ack(0)
    for _ in range(4):
        talk.wait(0.5)
        talk.a.send(MSS)
        talk.wait(0.5)
        talk.a.send(MSS)
        talk.wait(0.02)
        talk.b.ack()
        talk.wait(38)
    talk.a.fin()
    talk.wait(0.1)
    talk.b.fin()
    talk.wait(40)
    talk.a.ack()
    return talk


def wrapped() -> Conversation:
    """Sequence numbers of both ends wrap around in the middle of the data."""
    talk = Conversation(replace(CLIENT, isn=2**32 - 5_000), replace(SERVER, isn=2**32 - 1_000))
    talk.open()
    for _ in range(5):
        talk.a.send(MSS, ack=talk.b.next)
        talk.wait(0.1)
        talk.a.send(MSS)
        talk.wait(40)
        talk.b.send(400, ack=talk.a.next)
        talk.wait(1)
    talk.a.ack()
    talk.close()
    return talk


def wrapped_in_flight() -> Conversation:
    """Sequence numbers wrap around between two segments that are in flight."""
    talk = Conversation(replace(CLIENT, isn=2**32 - 1 - MSS))
    talk.open()
    for _ in range(3):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def quarter() -> Conversation:
    """A segment that lies across a quarter of the sequence space."""
    talk = Conversation(replace(CLIENT, isn=2**30 - 4_000))
    talk.open()
    for _ in range(3):
        talk.a.send(MSS)
        talk.wait(0.1)
        talk.a.send(MSS)
        talk.wait(40)
        talk.b.ack()
        talk.wait(0.1)
    talk.close()
    return talk


def without_options() -> Conversation:
    """SYNs without any option: segments of 536 bytes (RFC 9293 section 3.7.1)."""
    talk = Conversation(
        replace(CLIENT, mss=None, sack=False), replace(SERVER, mss=None, sack=False)
    )
    talk.open()
    for _ in range(4):
        talk.a.send(536)
        talk.wait(40)
        talk.b.ack()
        talk.wait(0.1)
    talk.close()
    return talk


def ecn() -> Conversation:
    """Congestion is marked instead of dropped: CE, echoed by ECE until CWR answers (RFC 3168)."""
    talk = Conversation()
    talk.a.syn("SEC")
    talk.wait(40)
    talk.b.syn("SAE")
    talk.wait(0.1)
    talk.a.ack(0)
    talk.wait(1)
    for ecn in (2, 3, 2):
        talk.a.send(MSS, ecn=ecn)
        talk.wait(0.1)
    talk.wait(39)
    talk.b.send(0, ack=MSS, flags="A")
    talk.wait(0.1)
    for upto in (2 * MSS, 3 * MSS):
        talk.b.send(0, ack=upto, flags="AE")
        talk.wait(0.1)
    talk.a.send(MSS, ecn=2, flags="PAC")
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def urgent() -> Conversation:
    """Some data are urgent (RFC 9293 section 3.8.5)."""
    talk = Conversation()
    talk.open()
    talk.a.send(100)
    talk.wait(1)
    talk.a.send(10, flags="PAU", urgent=10)
    talk.wait(1)
    talk.a.send(100)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


KINDS = (
    plain,
    delayed_acks,
    uneven,
    telnet,
    requests,
    both_ways,
    offloaded,
    timestamps,
    at_the_receiver,
    wrapped,
    wrapped_in_flight,
    quarter,
    without_options,
    ecn,
    urgent,
)
