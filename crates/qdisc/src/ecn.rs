//! Marking instead of dropping (RFC 3168).

use cclab_packet::Ecn;

use crate::Descriptor;

/// Marks `packet` as having experienced congestion; false if it is not ECN-capable, and so must
/// be dropped to tell its sender anything. A packet that was marked before counts as marked, as in
/// Linux's `INET_ECN_set_ce`.
pub(crate) fn mark(packet: &mut Descriptor) -> bool {
    let capable = packet.ecn != Ecn::NotEct;
    if capable {
        packet.ecn = Ecn::Ce;
    }
    capable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_capable_packets_are_marked() {
        for (ecn, capable) in [
            (Ecn::NotEct, false),
            (Ecn::Ect0, true),
            (Ecn::Ect1, true),
            (Ecn::Ce, true),
        ] {
            let mut packet = Descriptor {
                ecn,
                ..Descriptor::default()
            };
            assert_eq!(mark(&mut packet), capable, "{ecn:?}");
            let after = if capable { Ecn::Ce } else { Ecn::NotEct };
            assert_eq!(packet.ecn, after);
        }
    }
}
