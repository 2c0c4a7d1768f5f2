"""An upload by QUIC, as a program of a study: `server ADDRESS PORT` or `client ADDRESS PORT BYTES`.

Both sides print, as JSON, what they themselves counted: bytes of the stream, and datagrams with
their payload and the time from the first to the last of them that arrived.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import ssl
import sys
from typing import TYPE_CHECKING, Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from aioquic.quic.connection import NetworkAddress

PROTOCOL = "upload"


class Counting(QuicConnectionProtocol):
    """A side of a connection that counts what arrives."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.stream = 0
        self.datagrams = 0
        self.payload = 0
        self.first: float | None = None
        self.last = 0.0

    def datagram_received(self, data: bytes | str, addr: NetworkAddress) -> None:
        self.last = asyncio.get_running_loop().time()
        self.first = self.last if self.first is None else self.first
        self.datagrams += 1
        self.payload += len(data)
        super().datagram_received(data, addr)

    def tell(self) -> None:
        """Prints what has arrived so far."""
        seconds = self.last - (self.first or 0.0)
        told = {
            "stream": self.stream,
            "datagrams": self.datagrams,
            "payload": self.payload,
            "seconds": seconds,
        }
        print(json.dumps(told), flush=True)


class Server(Counting):
    """Says what it got when the stream ends."""

    def quic_event_received(self, event: QuicEvent) -> None:
        match event:
            case StreamDataReceived(stream_id=stream, data=data, end_stream=end):
                self.stream += len(data)
                if end:
                    self._quic.send_stream_data(stream, b"all of it", end_stream=True)
            case ConnectionTerminated():
                self.tell()
            case _:
                pass


def certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """One of its own, which no client checks."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "upload")])
    begin = datetime.datetime(1970, 1, 1)  # also of a clock that begins there
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(datetime.datetime(2100, 1, 1))
        .sign(key, hashes.SHA256())
    )
    return made, key


async def receive(host: str, port: int) -> None:
    """Serves until it is ended."""
    settings = QuicConfiguration(is_client=False, alpn_protocols=[PROTOCOL])
    settings.certificate, settings.private_key = certificate()
    await serve(host, port, configuration=settings, create_protocol=Server)
    await asyncio.Event().wait()


async def send(host: str, port: int, size: int) -> None:
    """Uploads `size` bytes and waits for the server to have them."""
    settings = QuicConfiguration(alpn_protocols=[PROTOCOL], verify_mode=ssl.CERT_NONE)
    settings.max_stream_data = settings.max_data = 16 << 20
    async with connect(host, port, configuration=settings, create_protocol=Counting) as client:
        assert isinstance(client, Counting)
        reader, writer = await client.create_stream()
        writer.write(bytes(size))
        writer.write_eof()
        client.stream = len(await reader.read())
    client.tell()


if __name__ == "__main__":
    role, address, number, *rest = sys.argv[1:]
    if role == "server":
        asyncio.run(receive(address, int(number)))
    else:
        asyncio.run(send(address, int(number), int(rest[0])))
