//! Long headers of QUIC: the part of its packets that is the same in every version (RFC 8999), and
//! the types of those versions that are known.

/// Bytes before the destination's connection ID: the first byte, the version, the ID's length.
const BEFORE_IDS: usize = 6;
/// The longest connection ID of the versions that are known (RFC 9000 section 17.2).
const LONGEST_ID: u8 = 20;

/// A version of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuicVersion(pub u32);

impl QuicVersion {
    /// RFC 9000.
    pub const V1: QuicVersion = QuicVersion(1);
    /// RFC 9369.
    pub const V2: QuicVersion = QuicVersion(0x6b33_43cf);

    /// Its name: `v1`, `v2`, `draft-29`, or its number in hexadecimal digits.
    pub fn name(self) -> String {
        match self {
            QuicVersion::V1 => "v1".to_owned(),
            QuicVersion::V2 => "v2".to_owned(),
            QuicVersion(draft @ 0xff00_0000..=0xff00_00ff) => format!("draft-{}", draft & 0xff),
            QuicVersion(other) => format!("{other:#010x}"),
        }
    }

    /// Whether it is one whose packets are known here. The numbers that ask for a negotiation
    /// (RFC 9000 section 15) are sent as often as they are reserved: seldom, but by browsers.
    fn is_known(self) -> bool {
        const RESERVED: u32 = 0x0a0a_0a0a;
        matches!(
            self,
            QuicVersion::V1 | QuicVersion::V2 | QuicVersion(0xff00_0001..=0xff00_00ff)
        ) || self.0 & 0x0f0f_0f0f == RESERVED
    }
}

/// What a packet with a long header is for (RFC 9000 section 17.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongType {
    /// It opens the connection.
    Initial,
    /// It carries data before the handshake is done.
    ZeroRtt,
    /// It carries the handshake.
    Handshake,
    /// The server wants the client to show its address first.
    Retry,
    /// The server speaks other versions.
    VersionNegotiation,
}

crate::named_cell!(LongType {
    LongType::Initial = "initial",
    LongType::ZeroRtt = "0-rtt",
    LongType::Handshake = "handshake",
    LongType::Retry = "retry",
    LongType::VersionNegotiation = "version-negotiation",
});

/// A long header of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongHeader {
    /// The version of its connection; None in a negotiation of one.
    pub version: Option<QuicVersion>,
    /// What its packet is for.
    pub kind: LongType,
}

impl LongHeader {
    /// The long header that `payload` begins with. Nothing marks QUIC but its version, so that
    /// only versions that are known count, and IDs that fit.
    pub(super) fn parse(payload: &[u8]) -> Option<LongHeader> {
        const LONG: u8 = 0x80;
        const FIXED: u8 = 0x40;
        let &[first, a, b, c, d, destination] = payload.first_chunk::<BEFORE_IDS>()?;
        if first & LONG == 0 || destination > LONGEST_ID {
            return None;
        }
        let source = *payload.get(BEFORE_IDS + usize::from(destination))?;
        let version = QuicVersion(u32::from_be_bytes([a, b, c, d]));
        if source > LONGEST_ID {
            return None;
        }
        if version.0 == 0 {
            // A list of versions of four bytes each follows the IDs (RFC 8999 section 6).
            let before = BEFORE_IDS + 1 + usize::from(destination) + usize::from(source);
            let versions = payload.len().checked_sub(before)?;
            return (versions > 0 && versions.is_multiple_of(4)).then_some(LongHeader {
                version: None,
                kind: LongType::VersionNegotiation,
            });
        }
        if first & FIXED == 0 || !version.is_known() {
            return None;
        }
        // Version 2 numbers them otherwise (RFC 9369 section 3.2).
        let shift = u8::from(version == QuicVersion::V2);
        let kind = match ((first >> 4 & 0b11) + 4 - shift) % 4 {
            0 => LongType::Initial,
            1 => LongType::ZeroRtt,
            2 => LongType::Handshake,
            _ => LongType::Retry,
        };
        Some(LongHeader {
            version: Some(version),
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of a packet, with IDs of 8 and 0 bytes.
    fn head(first: u8, version: u32) -> Vec<u8> {
        let mut bytes = vec![first];
        bytes.extend(version.to_be_bytes());
        bytes.push(8);
        bytes.extend([0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08, 0]);
        bytes
    }

    fn kind(first: u8, version: u32) -> Option<LongType> {
        LongHeader::parse(&head(first, version)).map(|header| header.kind)
    }

    #[test]
    fn the_initial_packet_of_the_worked_example_of_rfc_9001() {
        // Appendix A.2: c000000001088394c8f03e5157080000449e7f...
        let mut bytes = head(0xc0, 1);
        bytes.extend([0x00, 0x44, 0x9e, 0x7f]);
        let header = LongHeader::parse(&bytes).expect("an Initial packet");
        assert_eq!(header.kind, LongType::Initial);
        assert_eq!(header.version.map(QuicVersion::name), Some("v1".into()));
    }

    #[test]
    fn the_initial_packet_of_the_worked_example_of_rfc_9369() {
        // Appendix A.2: d36b3343cf088394c8f03e515708...
        let header = LongHeader::parse(&head(0xd3, 0x6b33_43cf)).expect("an Initial packet");
        assert_eq!(header.kind, LongType::Initial);
        assert_eq!(header.version.map(QuicVersion::name), Some("v2".into()));
    }

    #[test]
    fn types_of_both_versions() {
        use LongType::{Handshake, Initial, Retry, ZeroRtt};
        for (bits, v1, v2) in [
            (0, Initial, Retry),
            (1, ZeroRtt, Initial),
            (2, Handshake, ZeroRtt),
            (3, Retry, Handshake),
        ] {
            assert_eq!(kind(0xc0 | bits << 4, 1), Some(v1));
            assert_eq!(kind(0xc0 | bits << 4, 0x6b33_43cf), Some(v2));
        }
    }

    #[test]
    fn drafts_and_reserved_versions_have_names() {
        let name = |version| {
            let header = LongHeader::parse(&head(0xc0, version))?;
            header.version.map(QuicVersion::name)
        };
        assert_eq!(name(0xff00_001d), Some("draft-29".into()));
        assert_eq!(name(0x1a2a_3a4a), Some("0x1a2a3a4a".into()));
    }

    #[test]
    fn a_negotiation_lists_versions() {
        let mut bytes = head(0x80, 0);
        assert_eq!(LongHeader::parse(&bytes), None, "no version");
        bytes.extend([0, 0, 0, 1]);
        let header = LongHeader::parse(&bytes).expect("a negotiation");
        assert_eq!(header.kind, LongType::VersionNegotiation);
        assert_eq!(header.version, None);
        bytes.push(0);
        assert_eq!(LongHeader::parse(&bytes), None, "a version and a quarter");
    }

    #[test]
    fn other_payloads_are_none() {
        assert_eq!(LongHeader::parse(&[]), None);
        assert_eq!(kind(0x40, 1), None, "a short header");
        assert_eq!(kind(0x80, 1), None, "without the fixed bit");
        assert_eq!(kind(0xc0, 0x1234_5678), None, "of no version");
        let mut long = head(0xc0, 1);
        long[5] = 21;
        assert_eq!(LongHeader::parse(&long), None, "an ID too long");
        assert_eq!(LongHeader::parse(&head(0xc0, 1)[..14]), None, "cut");
    }
}
