//! A simulated packet as the bytes of an IPv4 datagram: what a capture point would have seen.
//!
//! The payload is zeros, so that the TCP checksum of a whole segment is known from its headers
//! alone and stays right when the snap length cuts the packet.
//!
//! [`cclab_packet::address`] and [`cclab_packet::port`] say which addresses and ports a flow has.

use cclab_packet::{EcnBytes, Packet, address, flags, port};
use etherparse::checksum::Sum16BitWords;
use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, TcpOptionWriteError,
};

/// What a capture needs to know of a flow beyond its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireOptions {
    /// Maximum segment size that both ends announce in their SYN.
    pub mss: u16,
    /// Whether both ends announce that they understand SACK (RFC 2018).
    pub sack_permitted: bool,
}

/// Connections of cross traffic announce what Ethernet carries.
impl Default for WireOptions {
    fn default() -> WireOptions {
        WireOptions {
            mss: 1460,
            sack_permitted: true,
        }
    }
}

/// The most bytes of headers: IPv4 without options, TCP with as many as fit.
pub const MAX_HEADERS: usize = 20 + 60;

/// The most bytes of TCP options.
const MAX_OPTIONS: usize = 40;

mod datagram;

/// The headers of a datagram and its total length.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    bytes: [u8; MAX_HEADERS],
    len: usize,
    /// Bytes of the whole datagram.
    pub total_len: u32,
}

impl Headers {
    /// The bytes of both headers.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The headers of `packet` as datagram number `identification`; the error says why they cannot
/// exist on a wire.
pub fn headers(
    packet: &Packet,
    options: WireOptions,
    identification: u16,
) -> Result<Headers, String> {
    if !packet.is_tcp() {
        return datagram::headers(packet, identification);
    }
    let (from_receiver, to_receiver) = (packet.backward, !packet.backward);
    let tcp = tcp_header(packet, options).map_err(|e| e.to_string())?;
    let segment_len = tcp.header_len() + usize::from(packet.payload);
    let segment_len = u16::try_from(segment_len).map_err(|e| e.to_string())?;

    let mut ip = Ipv4Header::new(
        segment_len,
        64,
        IpNumber::TCP,
        address(packet.flow, from_receiver).octets(),
        address(packet.flow, to_receiver).octets(),
    )
    .map_err(|e| e.to_string())?;
    ip.identification = identification;
    ip.dont_fragment = true;
    ip.dscp = IpDscp::default();
    ip.ecn = IpEcn::try_new(packet.ecn as u8).map_err(|e| e.to_string())?;
    ip.header_checksum = ip.calc_header_checksum();

    let mut headers = Headers {
        bytes: [0; MAX_HEADERS],
        len: ip.header_len() + tcp.header_len(),
        total_len: ip.header_len() as u32 + u32::from(segment_len),
    };
    let (ip_bytes, tcp_bytes) = headers.bytes[..headers.len].split_at_mut(ip.header_len());
    ip_bytes.copy_from_slice(&ip.to_bytes());
    tcp_bytes.copy_from_slice(&tcp.to_bytes());
    let checksum = checksum(&ip, tcp_bytes);
    tcp_bytes[16..18].copy_from_slice(&checksum);
    Ok(headers)
}

/// RFC 9293 section 3.1 and RFC 768 over the pseudo header, the `header` of what `ip` carries and a
/// payload of zeros, which add nothing to the sum but their length in the pseudo header.
fn checksum(ip: &Ipv4Header, header: &[u8]) -> [u8; 2] {
    let carried = ip.total_len - ip.header_len() as u16;
    Sum16BitWords::new()
        .add_4bytes(ip.source)
        .add_4bytes(ip.destination)
        .add_2bytes([0, ip.protocol.0])
        .add_2bytes(carried.to_be_bytes())
        .add_slice(header)
        .ones_complement()
        .to_ne_bytes()
}

fn tcp_header(packet: &Packet, options: WireOptions) -> Result<TcpHeader, TcpOptionWriteError> {
    let mut tcp = TcpHeader::new(
        port(packet.flow, packet.backward),
        port(packet.flow, !packet.backward),
        packet.seq,
        packet.window,
    );
    tcp.acknowledgment_number = packet.ack;
    tcp.fin = packet.has(flags::FIN);
    tcp.syn = packet.has(flags::SYN);
    tcp.psh = packet.has(flags::PSH);
    tcp.ack = packet.has(flags::ACK);
    tcp.ns = packet.has(flags::AE); // the bit of the nonce that was, now Accurate ECN's
    tcp.ece = packet.has(flags::ECE);
    tcp.cwr = packet.has(flags::CWR);
    set_options(&mut tcp, packet, options)?;
    Ok(tcp)
}

/// Options as Linux lays them out: each group aligned to four bytes by no-operations.
fn set_options(
    tcp: &mut TcpHeader,
    packet: &Packet,
    options: WireOptions,
) -> Result<(), TcpOptionWriteError> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    let syn = packet.has(flags::SYN);
    let timestamp = (packet.tsval != 0).then_some(Timestamp(packet.tsval, packet.tsecr));
    let sack_permitted = syn && options.sack_permitted;
    // No-operations fill up to four bytes unless "SACK permitted", two bytes, does it.
    let mut list = [const { Noop }; 12];
    let mut len = 0;
    let mut add = |element: TcpOptionElement| {
        list[len] = element;
        len += 1;
    };
    if syn {
        add(MaximumSegmentSize(options.mss));
    }
    if sack_permitted {
        add(SelectiveAcknowledgementPermitted);
    }
    if let Some(timestamp) = timestamp {
        if !sack_permitted {
            add(Noop);
            add(Noop);
        }
        add(timestamp);
    } else if sack_permitted {
        add(Noop);
        add(Noop);
    }
    if syn && packet.wscale_plus_one > 0 {
        add(Noop);
        add(WindowScale(packet.wscale_plus_one - 1));
    }
    if let Some((&first, rest)) = packet.sack_blocks().split_first() {
        let mut others = [None; 3];
        for (slot, &block) in others.iter_mut().zip(rest) {
            *slot = Some(block);
        }
        add(Noop);
        add(Noop);
        add(SelectiveAcknowledgement(first, others));
    }
    tcp.set_options(&list[..len])?;
    if let Some(option) = packet.ecn_bytes() {
        add_ecn_bytes(tcp, &option)?;
    }
    Ok(())
}

/// Puts an AccECN option behind the others, which end at a whole word.
fn add_ecn_bytes(tcp: &mut TcpHeader, option: &EcnBytes) -> Result<(), TcpOptionWriteError> {
    let (added, added_len) = option.to_bytes();
    let len = tcp.options.len();
    let mut bytes = [0; MAX_OPTIONS];
    let end = len + added_len;
    if end > MAX_OPTIONS {
        return Err(TcpOptionWriteError::NotEnoughSpace(end));
    }
    bytes[..len].copy_from_slice(tcp.options.as_slice());
    bytes[len..end].copy_from_slice(&added[..added_len]);
    tcp.set_options_raw(&bytes[..end])
}

#[cfg(test)]
mod tests {
    use cclab_packet::{Ecn, Order};

    use super::*;

    const OPTIONS: WireOptions = WireOptions {
        mss: 1460,
        sack_permitted: true,
    };

    #[test]
    fn checksums_equal_those_over_the_materialised_payload() {
        for payload in [0, 1, 3, 1448, 9000, 65_000] {
            let packet = Packet {
                flow: 777,
                seq: u32::MAX - 5,
                ack: 12,
                tsval: 99,
                window: 7,
                payload,
                flags: flags::ACK,
                ..Packet::default()
            };
            let headers = headers(&packet, OPTIONS, 3).expect("a possible packet");
            let (ip, rest) = Ipv4Header::from_slice(headers.bytes()).expect("an IPv4 header");
            let (tcp, rest) = TcpHeader::from_slice(rest).expect("a TCP header");
            assert!(rest.is_empty());
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            let zeros = vec![0; usize::from(payload)];
            let expected = tcp
                .calc_checksum_ipv4(&ip, &zeros)
                .expect("a length that fits");
            assert_eq!(tcp.checksum, expected, "payload {payload}");
            assert_eq!(
                usize::from(ip.total_len),
                headers.bytes().len() + usize::from(payload)
            );
        }
    }

    #[test]
    fn a_flow_has_the_planned_addresses_both_ways() {
        let parse = |backward| {
            let packet = Packet {
                flow: 251,
                backward,
                ..Packet::default()
            };
            let headers = headers(&packet, OPTIONS, 0).expect("a possible packet");
            let (ip, rest) = Ipv4Header::from_slice(headers.bytes()).expect("an IPv4 header");
            let (tcp, _) = TcpHeader::from_slice(rest).expect("a TCP header");
            (
                ip.source,
                tcp.source_port,
                ip.destination,
                tcp.destination_port,
            )
        };
        assert_eq!(parse(false), ([10, 0, 1, 2], 40_251, [10, 1, 1, 2], 5252));
        assert_eq!(parse(true), ([10, 1, 1, 2], 5252, [10, 0, 1, 2], 40_251));
    }

    #[test]
    fn sack_blocks_that_leave_no_room_for_a_timestamp_are_an_error() {
        let packet = Packet {
            tsval: 1,
            sack_len: 4,
            ..Packet::default()
        };
        assert!(headers(&packet, OPTIONS, 0).is_err());
    }

    /// RFC 9768 sections 3.2.2 and 3.2.3: the three flags, and the option behind the others, in whole
    /// words.
    #[test]
    fn counts_of_marks_are_flags_and_an_option() {
        let mut packet = Packet {
            tsval: 7,
            tsecr: 3,
            flags: flags::ACK | flags::AE | flags::ECE,
            sack_len: 2,
            sack: [(100, 200), (300, 400), (0, 0), (0, 0)],
            ..Packet::default()
        };
        let told = EcnBytes::new(Order::One, 2, |codepoint| match codepoint {
            Ecn::Ect1 => 0x0a0b0c,
            _ => 1_448,
        });
        packet.set_ecn_bytes(&told);
        let headers = headers(&packet, OPTIONS, 0).expect("40 bytes of options");
        let (_, rest) = Ipv4Header::from_slice(headers.bytes()).expect("an IPv4 header");
        let (tcp, _) = TcpHeader::from_slice(rest).expect("a TCP header");
        assert_eq!(
            (tcp.ns, tcp.cwr, tcp.ece, tcp.ack),
            (true, false, true, true)
        );
        let options = tcp.options.as_slice();
        assert_eq!(options.len(), 40);
        assert_eq!(options[32..], [174, 8, 0x0a, 0x0b, 0x0c, 0, 5, 0xa8]);
        let three = EcnBytes::new(Order::One, 3, |_| 1);
        packet.set_ecn_bytes(&three);
        assert!(super::headers(&packet, OPTIONS, 0).is_err(), "44 bytes");
    }
}
