//! UDP datagrams and ICMP echoes of cross traffic, with a payload of zeros.

use cclab_packet::{Packet, address, flags, port};
use etherparse::{IpNumber, Ipv4Header};

use super::{Headers, MAX_HEADERS, checksum};

/// Bytes of either header.
const HEADER: u16 = 8;
/// ICMP types (RFC 792).
const ECHO: u8 = 8;
/// See [`ECHO`].
const ECHO_REPLY: u8 = 0;

/// The headers of `packet`, a datagram or an echo, as datagram number `identification`.
pub(super) fn headers(packet: &Packet, identification: u16) -> Result<Headers, String> {
    let echo = packet.flags == flags::ECHO;
    let protocol = if echo { IpNumber::ICMP } else { IpNumber::UDP };
    let payload = packet
        .payload
        .checked_add(HEADER)
        .ok_or("a datagram beyond 65535 bytes")?;
    let mut ip = Ipv4Header::new(
        payload,
        64,
        protocol,
        address(packet.flow, packet.backward).octets(),
        address(packet.flow, !packet.backward).octets(),
    )
    .map_err(|error| error.to_string())?;
    ip.identification = identification;
    ip.header_checksum = ip.calc_header_checksum();
    let header = if echo {
        icmp(packet)
    } else {
        udp(packet, &ip, payload)
    };
    let len = ip.header_len() + header.len();
    let mut bytes = [0; MAX_HEADERS];
    bytes[..ip.header_len()].copy_from_slice(&ip.to_bytes());
    bytes[ip.header_len()..len].copy_from_slice(&header);
    Ok(Headers {
        bytes,
        len,
        total_len: ip.header_len() as u32 + u32::from(payload),
    })
}

/// RFC 768; a checksum of zero would say that there is none.
fn udp(packet: &Packet, ip: &Ipv4Header, len: u16) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    header[..2].copy_from_slice(&port(packet.flow, packet.backward).to_be_bytes());
    header[2..4].copy_from_slice(&port(packet.flow, !packet.backward).to_be_bytes());
    header[4..6].copy_from_slice(&len.to_be_bytes());
    let sum = match checksum(ip, &header) {
        [0, 0] => [0xff, 0xff],
        sum => sum,
    };
    header[6..8].copy_from_slice(&sum);
    header
}

/// RFC 792, with the flow as the identifier; a payload of zeros adds nothing to the checksum.
fn icmp(packet: &Packet) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    header[0] = if packet.backward { ECHO_REPLY } else { ECHO };
    header[4..6].copy_from_slice(&(packet.flow as u16).to_be_bytes());
    header[6..8].copy_from_slice(&(packet.seq as u16).to_be_bytes());
    let sum: u32 = header
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    header[2..4].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use etherparse::UdpHeader;

    use super::*;

    #[test]
    fn echoes_and_datagrams_have_checksums() {
        let echo = Packet {
            flow: 3,
            seq: 9,
            payload: 56,
            flags: flags::ECHO,
            ..Packet::default()
        };
        let found = headers(&echo, 1).expect("a possible packet");
        assert_eq!(found.total_len, 84);
        let (ip, icmp) = Ipv4Header::from_slice(found.bytes()).expect("an IPv4 header");
        assert_eq!((ip.protocol, icmp[0]), (IpNumber::ICMP, ECHO));
        let sum: u32 = icmp
            .chunks(2)
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        assert_eq!(sum, 0xffff);
        let datagram = Packet {
            payload: 100,
            flags: flags::DATAGRAM,
            ..Packet::default()
        };
        for flow in 0..70_000 {
            let found = headers(&Packet { flow, ..datagram }, 1).expect("a possible packet");
            let (ip, rest) = Ipv4Header::from_slice(found.bytes()).expect("an IPv4 header");
            let (udp, _) = UdpHeader::from_slice(rest).expect("a header");
            assert_eq!((ip.protocol, udp.length), (IpNumber::UDP, 108));
            let expected = udp.calc_checksum_ipv4(&ip, &[0; 100]);
            assert_eq!(udp.checksum, expected.expect("a length that fits"));
            assert_ne!(udp.checksum, 0);
        }
    }
}
