//! Link layers: where the IP packet in a frame begins.
//!
//! Numbers and layouts are those of the registry of link types (<https://www.tcpdump.org/linktypes.html>).

use super::Fault;

/// A link type of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: the address family in the host's byte order.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// PPP, with or without its HDLC-like framing (RFC 1661, RFC 1662).
    pub const PPP: LinkType = LinkType(9);
    /// PPP in HDLC-like framing.
    pub const PPP_HDLC: LinkType = LinkType(50);
    /// PPP over Ethernet, from PPPoE's header on.
    pub const PPP_ETHER: LinkType = LinkType(51);
    /// Cisco HDLC.
    pub const C_HDLC: LinkType = LinkType(104);
    /// PPP with a direction in the place of the address.
    pub const PPP_PPPD: LinkType = LinkType(166);
    /// An IPv4 or IPv6 packet.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: the address family in network byte order.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux cooked, version 1.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// An IPv4 packet.
    pub const IPV4: LinkType = LinkType(228);
    /// An IPv6 packet.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux cooked, version 2.
    pub const LINUX_SLL2: LinkType = LinkType(276);
}

/// What raw IP is called in the files of some systems, by their own number of it.
const RAW_ELSEWHERE: [u16; 2] = [12, 14];

pub(super) const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad, and the numbers QinQ had before it.
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
const ETHERTYPES_MPLS: [u16; 2] = [0x8847, 0x8848];
/// The largest number in the place of an Ethernet type that is a length (IEEE 802.3 section 3.2.6).
const LONGEST_802_3: u16 = 1500;
/// LLC's header before an Ethernet type (RFC 1042).
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// Tags and labels that are taken off; a frame has a few at most where standards are kept.
const MOST_TAGS: usize = 8;

/// The bytes of the IP packet in a frame of `link`, from its header on; None if it carries
/// something else.
pub(super) fn ip_packet(link: LinkType, frame: &[u8]) -> Result<Option<&[u8]>, Fault> {
    match link {
        LinkType::ETHERNET => ethernet(frame),
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => Ok(Some(frame)),
        LinkType::LINUX_SLL => ethertype(word(frame, 14)?, after(frame, 16)?),
        LinkType::LINUX_SLL2 => ethertype(word(frame, 0)?, after(frame, 20)?),
        LinkType::C_HDLC => ethertype(word(frame, 2)?, after(frame, 4)?),
        LinkType::PPP_ETHER => ppp(after(frame, 6)?),
        LinkType::NULL | LinkType::LOOP => loopback(frame),
        LinkType::PPP | LinkType::PPP_HDLC => match frame {
            [0xff, 0x03, rest @ ..] => ppp(rest),
            _ => ppp(frame),
        },
        LinkType::PPP_PPPD => ppp(after(frame, 2)?),
        LinkType(number) if RAW_ELSEWHERE.contains(&number) => Ok(Some(frame)),
        LinkType(_) => Err(Fault::UnknownLink),
    }
}

/// The IP packet in an Ethernet frame, if there is one.
pub(super) fn ethernet(frame: &[u8]) -> Result<Option<&[u8]>, Fault> {
    ethertype(word(frame, 12)?, after(frame, 14)?)
}

/// The IP packet behind an Ethernet type and the tags and labels that follow it, if there is one.
pub(super) fn ethertype(mut number: u16, mut rest: &[u8]) -> Result<Option<&[u8]>, Fault> {
    for _ in 0..MOST_TAGS {
        match number {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Ok(Some(rest)),
            ETHERTYPE_PPPOE_SESSION => return ppp(after(rest, 6)?),
            tag if ETHERTYPES_VLAN.contains(&tag) => {
                number = word(rest, 2)?;
                rest = after(rest, 4)?;
            }
            label if ETHERTYPES_MPLS.contains(&label) => return mpls(rest),
            ..=LONGEST_802_3 if rest.starts_with(&SNAP) => {
                number = word(rest, 6)?;
                rest = after(rest, 8)?;
            }
            _ => return Ok(None),
        }
    }
    Err(Fault::BadHeader)
}

/// The IP packet behind MPLS labels (RFC 3032), if there is one: nothing says what follows the
/// last label, so that IP is known by its version.
fn mpls(mut rest: &[u8]) -> Result<Option<&[u8]>, Fault> {
    const LAST: u16 = 0x0100;
    for _ in 0..MOST_TAGS {
        let last = word(rest, 2)? & LAST != 0;
        rest = after(rest, 4)?;
        if last {
            let version = rest.first().map(|first| first >> 4);
            return Ok(matches!(version, Some(4 | 6)).then_some(rest));
        }
    }
    Err(Fault::BadHeader)
}

/// A protocol number, of one byte where it was compressed (RFC 1661 section 6.5), and a packet.
fn ppp(bytes: &[u8]) -> Result<Option<&[u8]>, Fault> {
    let first = *bytes.first().ok_or(Fault::BadHeader)?;
    let (protocol, rest) = if first & 1 == 1 {
        (u16::from(first), after(bytes, 1)?)
    } else {
        (word(bytes, 0)?, after(bytes, 2)?)
    };
    Ok(matches!(protocol, PPP_IPV4 | PPP_IPV6).then_some(rest))
}

/// An address family, whose numbers differ between systems and byte orders between hosts; the
/// version in the IP header tells what follows. No family of IP is 2^16 or more in either order.
fn loopback(frame: &[u8]) -> Result<Option<&[u8]>, Fault> {
    let family = frame.first_chunk::<4>().ok_or(Fault::BadHeader)?;
    let family = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    // AF_INET, and AF_INET6 of Linux, of the BSDs and of macOS.
    let ip = matches!(family, 2 | 10 | 24 | 28 | 30);
    Ok(ip.then_some(&frame[4..]))
}

/// The 16-bit word at `at`.
fn word(bytes: &[u8], at: usize) -> Result<u16, Fault> {
    match bytes.get(at..at + 2) {
        Some(&[high, low]) => Ok(u16::from_be_bytes([high, low])),
        _ => Err(Fault::BadHeader),
    }
}

/// The bytes from `at` on.
fn after(bytes: &[u8], at: usize) -> Result<&[u8], Fault> {
    bytes.get(at..).ok_or(Fault::BadHeader)
}
