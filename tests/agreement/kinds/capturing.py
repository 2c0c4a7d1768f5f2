"""What captures are like: their link layers and headers, what they cut off and what they miss."""

from __future__ import annotations

from dataclasses import replace

from agreement.conversation import (
    CLIENT,
    COOKED,
    COOKED_2,
    LOOPBACK,
    PPPOE,
    QINQ,
    RAW,
    SERVER,
    V4_OPTIONS,
    V6,
    V6_EXTENDED,
    VLAN,
    Conversation,
)

MSS = 1000


def _with_a_loss(talk: Conversation) -> Conversation:
    """A short transfer that has some of everything: a loss, SACK, data of both ends."""
    talk.open()
    for _ in range(5):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(39)
    talk.b.ack(MSS)
    for upto in (3, 4, 5):
        talk.wait(0.1)
        talk.b.ack(MSS, sack=((2 * MSS, upto * MSS),))
    talk.wait(0.1)
    talk.a.send(MSS, at=MSS)
    talk.wait(40)
    talk.b.send(300, ack=talk.a.next)
    talk.wait(0.1)
    talk.a.ack()
    talk.close()
    return talk


def ipv6() -> Conversation:
    """IPv6."""
    return _with_a_loss(Conversation(hosts=V6))


def ipv6_extended() -> Conversation:
    """IPv6 with extension headers: hop-by-hop and destination options."""
    return _with_a_loss(Conversation(hosts=V6_EXTENDED))


def vlan() -> Conversation:
    """Ethernet with a VLAN tag."""
    return _with_a_loss(Conversation(framing=VLAN))


def qinq() -> Conversation:
    """Ethernet with two tags."""
    return _with_a_loss(Conversation(framing=QINQ))


def cooked() -> Conversation:
    """Linux cooked, as a capture on `any` has it."""
    return _with_a_loss(Conversation(framing=COOKED))


def raw() -> Conversation:
    """Raw IP, as a capture on a tunnel has it."""
    return _with_a_loss(Conversation(framing=RAW))


def cooked_2() -> Conversation:
    """Linux cooked, the second version."""
    return _with_a_loss(Conversation(framing=COOKED_2))


def loopback() -> Conversation:
    """BSD loopback."""
    return _with_a_loss(Conversation(framing=LOOPBACK))


def pppoe() -> Conversation:
    """PPP over Ethernet, as on the line of a DSL modem."""
    return _with_a_loss(Conversation(framing=PPPOE))


def ipv4_options() -> Conversation:
    """IPv4 with options."""
    return _with_a_loss(Conversation(hosts=V4_OPTIONS))


def twice() -> Conversation:
    """A mirror port that shows each packet as it enters the switch and as it leaves."""
    talk = _with_a_loss(Conversation())
    talk.frames = [(at + late, frame) for at, frame in talk.frames for late in (0, 4)]
    return talk


def snapped() -> Conversation:
    """96 bytes of each packet: the headers with all options, and little data."""
    ends = (replace(end, timestamps=True, scale=7) for end in (CLIENT, SERVER))
    return _with_a_loss(Conversation(*ends, snap=96))


def one_way_data() -> Conversation:
    """Only what the sender of the data sends was captured."""
    talk = Conversation()
    with talk.unseen(talk.b):
        return _with_a_loss(talk)


def one_way_acks() -> Conversation:
    """Only what the receiver of the data sends was captured."""
    talk = Conversation()
    with talk.unseen(talk.a):
        return _with_a_loss(talk)


def missed_data() -> Conversation:
    """The capture dropped a packet that arrived: it is acknowledged and never seen."""
    talk = Conversation()
    talk.open()
    for n in range(6):
        if n == 2:
            with talk.unseen():
                talk.a.send(MSS)
        else:
            talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(39)
    for upto in (2, 4, 6):
        talk.b.ack(upto * MSS)
        talk.wait(0.1)
    talk.close()
    return talk


def missed_and_again() -> Conversation:
    """The capture dropped data that were acknowledged, and then they come again."""
    talk = Conversation()
    talk.open()
    talk.a.send(MSS)
    talk.wait(0.1)
    with talk.unseen():
        talk.a.send(MSS)
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    talk.wait(260)
    talk.a.send(MSS, at=MSS)
    talk.wait(40)
    talk.b.ack(sack=((MSS, 2 * MSS),))
    talk.close()
    return talk


def missed_end() -> Conversation:
    """The capture missed the last data of all, which are acknowledged."""
    talk = Conversation()
    talk.open()
    for _ in range(2):
        talk.a.send(MSS)
        talk.wait(0.1)
    with talk.unseen():
        talk.a.send(MSS)
    talk.wait(39)
    talk.b.ack()
    talk.wait(1)
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def missed_acks() -> Conversation:
    """The capture dropped acknowledgements: later ones tell of more."""
    talk = Conversation()
    talk.open()
    for n in range(4):
        for _ in range(2):
            talk.a.send(MSS)
            talk.wait(0.1)
        talk.wait(39)
        if n % 2:
            talk.b.ack()
        else:
            with talk.unseen():
                talk.b.ack()
        talk.wait(0.1)
    talk.close()
    return talk


KINDS = (
    ipv6,
    ipv6_extended,
    vlan,
    qinq,
    cooked,
    raw,
    cooked_2,
    loopback,
    pppoe,
    ipv4_options,
    twice,
    snapped,
    one_way_data,
    one_way_acks,
    missed_data,
    missed_and_again,
    missed_end,
    missed_acks,
)
