//! Tunnels: IP packets inside IP packets.

use super::Fault;
use super::link::{ethernet, ethertype};

/// The ports of UDP whose packets are Ethernet frames in a tunnel.
const VXLAN_PORT: u16 = 4789;
const GENEVE_PORT: u16 = 6081;
/// Ethernet in GRE and in Geneve (RFC 1701, RFC 8926).
const TRANSPARENT_ETHERNET: u16 = 0x6558;

/// The IP packet in a GRE packet (RFC 2784, RFC 2890), if there is one; version 1 is that of PPTP
/// (RFC 2637).
pub(super) fn gre(bytes: &[u8]) -> Result<Option<&[u8]>, Fault> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const VERSION: u16 = 0x0007;
    let (flags, inside) = (word(bytes, 0)?, word(bytes, 2)?);
    if flags & (ROUTING | VERSION) != 0 {
        return Ok(None);
    }
    let options = [CHECKSUM, KEY, SEQUENCE];
    let present = options.into_iter().filter(|option| flags & option != 0);
    inner(inside, bytes, 4 + 4 * present.count())
}

/// The IP packet in a UDP packet of VXLAN (RFC 7348) or Geneve (RFC 8926), if it is one.
pub(super) fn udp(bytes: &[u8]) -> Result<Option<&[u8]>, Fault> {
    const UDP: usize = 8;
    match word(bytes, 2) {
        // The flag says that there is a network's number.
        Ok(VXLAN_PORT) if word(bytes, UDP)? & 0x0800 != 0 => {
            inner(TRANSPARENT_ETHERNET, bytes, UDP + 8)
        }
        Ok(GENEVE_PORT) if word(bytes, UDP)? & 0xc000 == 0 => {
            let options = usize::from(word(bytes, UDP)? >> 8 & 0x3f) * 4;
            inner(word(bytes, UDP + 2)?, bytes, UDP + 8 + options)
        }
        // Most of UDP is no tunnel, and none of it has to be read.
        _ => Ok(None),
    }
}

fn inner(inside: u16, bytes: &[u8], at: usize) -> Result<Option<&[u8]>, Fault> {
    let rest = bytes.get(at..).ok_or(Fault::HeaderCut)?;
    match inside {
        TRANSPARENT_ETHERNET => ethernet(rest),
        _ => ethertype(inside, rest),
    }
}

fn word(bytes: &[u8], at: usize) -> Result<u16, Fault> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    bytes
        .copied()
        .map(u16::from_be_bytes)
        .ok_or(Fault::HeaderCut)
}
