"""A TCP conversation as a capture shows it, written down segment by segment.

Nothing is computed that a TCP would compute: who sends what and when is what a kind says. Numbers
are those of the data: byte 0 is the first, and an acknowledgement of 1000 says that bytes 0..999
arrived. A FIN counts as one byte after the last.
"""

from __future__ import annotations

import contextlib
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, Unpack

from scapy.layers.inet import IP, TCP, IPOption_NOP, IPOption_RR
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether, Loopback
from scapy.layers.ppp import PPP, PPPoE
from scapy.packet import Packet, Raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EPOCH_S = 1_000_000_000
"""When every conversation begins, seconds since the epoch."""

MAC = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b")

Framing = tuple[int, "Callable[[Packet], Packet]"]
"""A link type of the registry (https://www.tcpdump.org/linktypes.html), and a packet in it."""

ETHERNET: Framing = (1, lambda ip: MAC / ip)
VLAN: Framing = (1, lambda ip: MAC / Dot1Q(vlan=7) / ip)
QINQ: Framing = (1, lambda ip: MAC / Dot1AD(vlan=7) / Dot1Q(vlan=8) / ip)
RAW: Framing = (101, lambda ip: ip)
COOKED: Framing = (113, lambda ip: CookedLinux() / ip)
COOKED_2: Framing = (276, lambda ip: CookedLinuxV2() / ip)
LOOPBACK: Framing = (0, lambda ip: Loopback() / ip)
PPPOE: Framing = (1, lambda ip: MAC / PPPoE(sessionid=1) / PPP() / ip)

ROUTE = [IPOption_RR(), IPOption_NOP()]
V4 = (IP(src="10.0.0.1", dst="10.0.0.2"), IP(src="10.0.0.2", dst="10.0.0.1"))
V4_OPTIONS = (
    IP(src="10.0.0.1", dst="10.0.0.2", options=ROUTE),
    IP(src="10.0.0.2", dst="10.0.0.1", options=ROUTE),
)
"""With options: a record of the route."""
V6 = (IPv6(src="fd00::1", dst="fd00::2"), IPv6(src="fd00::2", dst="fd00::1"))
V6_EXTENDED = (
    V6[0] / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt(),
    V6[1] / IPv6ExtHdrDestOpt(),
)
"""With extension headers, other ones in each direction."""


@dataclass(frozen=True)
class Setup:
    """What an end is, and what it asks for in its SYN."""

    port: int
    isn: int
    window: int = 64_000
    """As it stands in the header."""
    mss: int | None = 1460
    scale: int | None = None
    sack: bool = True
    timestamps: bool = False


CLIENT = Setup(40_000, 1_000_000)
SERVER = Setup(5_001, 7_000_000)


class Told(TypedDict, total=False):
    """What else a segment tells."""

    window: int
    """As it stands in the header, from now on."""
    sack: tuple[tuple[int, int], ...]
    """Ranges of bytes of the other: the first and the one after the last."""
    urgent: int
    ecn: int
    """The bits of the IP header (RFC 3168 section 5)."""


@dataclass
class End:
    """One end of a conversation."""

    talk: Conversation
    ip: Packet
    setup: Setup
    other: End = field(init=False)
    window: int = field(init=False)
    """What it advertises until told otherwise, as it stands in the header."""
    next: int = 0
    """The byte that it sends next."""
    acknowledged: int = 0
    """What it acknowledged last."""
    heard: int = 0
    """The latest timestamp of the other."""

    def __post_init__(self) -> None:
        """It begins with the window of its setup."""
        self.window = self.setup.window

    def send(
        self,
        length: int,
        *,
        at: int | None = None,
        ack: int | None = None,
        flags: str = "PA",
        **more: Unpack[Told],
    ) -> None:
        """Sends `length` bytes from the byte `at` on, the next one if None."""
        start = self.next if at is None else at
        self.next = max(self.next, start + length + ("F" in flags))
        self._segment(flags, start, length, ack, **more)

    def ack(self, upto: int | None = None, **more: Unpack[Told]) -> None:
        """Acknowledges all bytes before `upto`, what the other has sent if None."""
        upto = self.other.next if upto is None else upto
        self._segment("A", self.next, 0, upto, **more)

    def syn(self, flags: str = "S", *, length: int = 0, ack: int = 0) -> None:
        """Opens the connection, or answers the other's SYN if `flags` are SA."""
        self.next = length
        self._segment(flags, -1, length, ack)

    def fin(self, *, at: int | None = None, ack: int | None = None, length: int = 0) -> None:
        """Says that nothing follows, after `length` bytes of data."""
        self.send(length, at=at, ack=self.other.next if ack is None else ack, flags="FA")

    def rst(self, flags: str = "R", *, at: int | None = None, ack: int | None = None) -> None:
        """Aborts the connection."""
        upto = self.other.next if ack is None else ack
        start = self.next if at is None else at
        self._segment(flags, start, 0, upto, window=0)

    def _segment(
        self,
        flags: str,
        start: int,
        length: int,
        ack: int | None,
        **more: Unpack[Told],
    ) -> None:
        """Sends a segment with `length` bytes from the byte `start` on."""
        setup, of_other = self.setup, self.other.setup
        if ack is not None:
            self.acknowledged = ack
        self.window = more.get("window", self.window)
        syn = "S" in flags
        options: list[tuple[str, object]] = []
        if syn and setup.mss is not None:
            options.append(("MSS", setup.mss))
        if syn and setup.sack:
            options.append(("SAckOK", b""))
        if setup.timestamps and (syn or of_other.timestamps):
            own = self.talk.now // 1000
            options.append(("Timestamp", (own, self.heard)))
            self.other.heard = own
        if syn and setup.scale is not None:
            options += [("NOP", None), ("WScale", setup.scale)]
        if blocks := more.get("sack"):
            edges = [(of_other.isn + 1 + edge) % 2**32 for block in blocks for edge in block]
            options += [("NOP", None), ("NOP", None), ("SAck", tuple(edges))]
        segment = TCP(
            sport=setup.port,
            dport=of_other.port,
            seq=(setup.isn + 1 + start) % 2**32,
            ack=(of_other.isn + 1 + self.acknowledged) % 2**32 if "A" in flags else 0,
            flags=flags,
            window=self.window,
            urgptr=more.get("urgent", 0),
            options=options,
        )
        ip = self.ip.copy()
        self.talk.sent += 1
        if IP in ip:
            ip[IP].id = self.talk.sent
        setattr(ip, "tos" if IP in ip else "tc", more.get("ecn", 0))
        self.talk.take(self, ip / segment / Raw(b"x" * length))


class Conversation:
    """Segments of the ends `a` and `b`, as they pass a capture point; `a` is to speak first."""

    def __init__(
        self,
        a: Setup = CLIENT,
        b: Setup = SERVER,
        *,
        hosts: tuple[Packet, Packet] = V4,
        framing: Framing = ETHERNET,
        snap: int = 65_535,
    ) -> None:
        """A conversation in which nothing was said yet."""
        self.a, self.b = (End(self, ip, setup) for ip, setup in zip(hosts, (a, b), strict=True))
        self.a.other, self.b.other = self.b, self.a
        self.now = 0
        """Microseconds since it began."""
        self.sent = 0
        """Segments, captured or not."""
        self.frames: list[tuple[int, Packet]] = []
        """Of each packet that was captured, when and what."""
        self._framing = framing
        self._snap = snap
        self._unseen: set[int] = set()

    def wait(self, ms: float) -> None:
        """Lets `ms` milliseconds pass, with as many digits as a capture has."""
        self.now += round(ms * 1000)

    @contextlib.contextmanager
    def unseen(self, *ends: End) -> Iterator[None]:
        """The capture misses what `ends` send meanwhile; what either sends if none is named."""
        before = set(self._unseen)
        self._unseen |= {id(end) for end in ends or (self.a, self.b)}
        yield
        self._unseen = before

    def open(self, rtt_ms: float = 40.0) -> None:
        """The three segments that open a connection, seen beside `a`."""
        self.a.syn()
        self.wait(rtt_ms)
        self.b.syn("SA")
        self.wait(0.1)
        self.a.ack(0)
        self.wait(1)

    def close(self, rtt_ms: float = 40.0) -> None:
        """`a` and then `b` have no more to send."""
        self.wait(1)
        self.a.fin()
        self.wait(rtt_ms)
        self.b.fin()
        self.wait(0.1)
        self.a.ack()

    def reopen(self, a: Setup) -> None:
        """Begins another conversation in the same capture: `a` starts anew as told, `b` as well."""
        for end, setup in ((self.a, a), (self.b, self.b.setup)):
            end.setup, end.window = setup, setup.window
            end.next = end.acknowledged = end.heard = 0

    def duplicate(self, index: int = -1) -> None:
        """The capture sees one of its packets again: the network delivered it twice."""
        self.frames.append((self.now, self.frames[index][1]))

    def take(self, end: End, packet: Packet) -> None:
        """Captures `packet` of `end`, unless the capture misses it."""
        if id(end) not in self._unseen:
            self.frames.append((self.now, packet))

    def write(self, file: Path, port: int = CLIENT.port) -> None:
        """Writes the capture, classic pcap with times in microseconds; `port` is that of `a`."""
        link, framed = self._framing
        with file.open("wb") as pcap:
            pcap.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, self._snap, link))
            for now, packet in self.frames:
                of_a = packet[TCP].dport == self.b.setup.port
                setattr(packet[TCP], "sport" if of_a else "dport", port)
                frame = bytes(framed(packet))
                kept = frame[: self._snap]
                seconds, microseconds = divmod(now, 1_000_000)
                lengths = len(kept), len(frame)
                pcap.write(struct.pack("<IIII", EPOCH_S + seconds, microseconds, *lengths) + kept)
