"""Windows: how they are scaled, filled, closed, probed and opened; and keep-alives."""

from __future__ import annotations

from dataclasses import replace

from agreement.conversation import CLIENT, SERVER, Conversation

MSS = 1000


def scaled() -> Conversation:
    """Both ends scale, by other shifts (RFC 7323)."""
    talk = Conversation(replace(CLIENT, scale=7), replace(SERVER, scale=9))
    talk.open()
    for window in (500, 600, 400):
        for _ in range(2):
            talk.a.send(MSS, window=1000)
            talk.wait(0.1)
        talk.wait(40)
        talk.b.ack(window=window)
        talk.wait(0.1)
    talk.close()
    return talk


def scaled_and_silent() -> Conversation:
    """Both ends scale, and one sends nothing after its SYN."""
    talk = Conversation(replace(CLIENT, scale=3), replace(SERVER, scale=3))
    talk.open()
    for _ in range(4):
        talk.a.send(MSS)
        talk.wait(0.1)
    return talk


def scaling_refused() -> Conversation:
    """One end asks for scaling and the other does not answer: no window is scaled."""
    talk = Conversation(replace(CLIENT, scale=7))
    talk.open()
    for window in (50_000, 60_000):
        talk.a.send(MSS, window=30_000)
        talk.wait(40)
        talk.b.ack(window=window)
        talk.wait(0.1)
    talk.close()
    return talk


def shift_of_zero() -> Conversation:
    """Both ends allow scaling, one by a shift of 0."""
    talk = Conversation(replace(CLIENT, scale=0), replace(SERVER, scale=3))
    talk.open()
    for _ in range(2):
        talk.a.send(MSS)
        talk.wait(40)
        talk.b.ack(window=5000)
        talk.wait(0.1)
    talk.close()
    return talk


def shift_too_large() -> Conversation:
    """A shift of 15, which counts as 14 (RFC 7323 section 2.3)."""
    talk = Conversation(replace(CLIENT, scale=2), replace(SERVER, scale=15))
    talk.open()
    for _ in range(2):
        talk.a.send(MSS)
        talk.wait(40)
        talk.b.ack(window=10)
        talk.wait(0.1)
    talk.close()
    return talk


def shrunk() -> Conversation:
    """The receiver takes back what it offered: the right edge moves left."""
    talk = Conversation(b=replace(SERVER, window=6 * MSS))
    talk.open()
    for _ in range(4):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(39)
    talk.b.ack(2 * MSS, window=MSS)
    talk.wait(1)
    talk.b.ack(3 * MSS, window=MSS)
    talk.wait(1)
    talk.b.ack(window=6 * MSS)
    talk.wait(1)
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def updated() -> Conversation:
    """The receiver opens its window step by step, with nothing new to acknowledge."""
    talk = Conversation()
    talk.open()
    talk.a.send(MSS)
    talk.wait(0.1)
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack(window=10_000)
    for window in (20_000, 30_000, 40_000):
        talk.wait(5)
        talk.b.ack(window=window)
    talk.wait(1)
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def updated_in_flight() -> Conversation:
    """The same while data are in flight: these are no duplicate acknowledgements (RFC 5681)."""
    talk = Conversation()
    talk.open()
    for _ in range(4):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(38)
    talk.b.ack(MSS, window=10_000)
    for window in (20_000, 30_000):
        talk.wait(0.3)
        talk.b.ack(MSS, window=window)
    talk.wait(0.3)
    talk.b.ack()
    talk.close()
    return talk


def full() -> Conversation:
    """The sender fills the window to the last byte and waits."""
    talk = Conversation(b=replace(SERVER, window=4 * MSS))
    talk.open()
    for _ in range(3):
        for _ in range(4):
            talk.a.send(MSS)
            talk.wait(0.1)
        talk.wait(40)
        talk.b.ack()
        talk.wait(0.1)
    talk.close()
    return talk


def closed_and_probed() -> Conversation:
    """The window closes; probes of one byte; it opens (RFC 9293 section 3.8.6.1)."""
    talk = Conversation(b=replace(SERVER, window=2 * MSS))
    talk.open()
    for _ in range(2):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(40)
    talk.b.ack(window=0)
    for wait in (300, 600, 1200):
        talk.wait(wait)
        talk.a.send(1, at=2 * MSS)
        talk.wait(40)
        talk.b.ack(2 * MSS)
    talk.wait(100)
    talk.b.ack(2 * MSS, window=2 * MSS)
    talk.wait(0.1)
    talk.a.send(MSS, at=2 * MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def probed_as_linux_does() -> Conversation:
    """Probes without data, one number before the next: as Linux sends them."""
    talk = Conversation(b=replace(SERVER, window=2 * MSS))
    talk.open()
    for _ in range(2):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(40)
    talk.b.ack(window=0)
    for wait in (300, 600):
        talk.wait(wait)
        talk.a.send(0, at=2 * MSS - 1, flags="A")
        talk.wait(40)
        talk.b.ack(2 * MSS)
    talk.wait(100)
    talk.b.ack(2 * MSS, window=2 * MSS)
    talk.wait(0.1)
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def probe_taken() -> Conversation:
    """The receiver takes the byte of the probe."""
    talk = Conversation(b=replace(SERVER, window=2 * MSS))
    talk.open()
    for _ in range(2):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(40)
    talk.b.ack(window=0)
    talk.wait(300)
    talk.a.send(1)
    talk.wait(40)
    talk.b.ack(window=2 * MSS)
    talk.wait(0.1)
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def opened_while_retransmitting() -> Conversation:
    """The window opens and closes; data lost before are sent again into the closed one."""
    talk = Conversation(b=replace(SERVER, window=3 * MSS))
    talk.open()
    for _ in range(3):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(40)
    talk.b.ack(MSS, window=0)
    talk.wait(300)
    talk.a.send(MSS, at=MSS)
    talk.wait(40)
    talk.b.ack(3 * MSS, window=3 * MSS)
    talk.wait(0.1)
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    talk.close()
    return talk


def closed_at_the_end() -> Conversation:
    """The window closes, and its end closes the connection with it."""
    talk = Conversation(b=replace(SERVER, window=2 * MSS))
    talk.open()
    for _ in range(2):
        talk.a.send(MSS)
        talk.wait(0.1)
    talk.wait(40)
    talk.b.ack(window=0)
    talk.close()
    return talk


def kept_alive() -> Conversation:
    """Keep-alives without data, one number before the next (RFC 9293 section 3.8.4)."""
    talk = Conversation()
    talk.open()
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    for _ in range(3):
        talk.wait(10_000)
        talk.a.send(0, at=MSS - 1, flags="A")
        talk.wait(40)
        talk.b.ack()
    talk.close()
    return talk


def kept_alive_with_a_byte() -> Conversation:
    """Keep-alives that carry the last byte again, for old receivers (RFC 1122 section 4.2.3.6)."""
    talk = Conversation()
    talk.open()
    talk.a.send(MSS)
    talk.wait(40)
    talk.b.ack()
    for _ in range(3):
        talk.wait(10_000)
        talk.a.send(1, at=MSS - 1, flags="A")
        talk.wait(40)
        talk.b.ack()
    talk.close()
    return talk


KINDS = (
    scaled,
    scaled_and_silent,
    scaling_refused,
    shift_of_zero,
    shift_too_large,
    shrunk,
    updated,
    updated_in_flight,
    full,
    closed_and_probed,
    probed_as_linux_does,
    probe_taken,
    opened_while_retransmitting,
    closed_at_the_end,
    kept_alive,
    kept_alive_with_a_byte,
)
