//! What an end makes of the other's counters (RFC 9768 section 3.2.2.5.2, appendix A).

use cclab_packet::{Ecn, EcnBytes};

/// Values that three flags tell apart.
const CYCLE: u32 = 8;
/// Of a counter of bytes in the option.
const CYCLE_OF_BYTES: u32 = 1 << 24;
/// Marked packets are taken to be no smaller, on average, than full ones by this factor
/// (`SAFETY_FACTOR`, appendix A.2.2).
const SAFETY_FACTOR: u64 = 2;
/// Packets per acknowledgement, on average, from which on a number of more than seven says nothing
/// of acknowledgements that are missing (appendix A.2.1: "well below 8"; Linux' `ACK_COMP_THRESH`).
const THINNED: u32 = 4;
/// The average moves by one part in 2^6 at each acknowledgement, and is kept in 2^-6
/// (`PKTS_ACKED_WEIGHT`, `PKTS_ACKED_PREC`).
const AVERAGE_SHIFT: u32 = 6;

/// The counters of a sender: `s.cep`, `s.ceb`, and how many packets an acknowledgement covers.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    packets: u32,
    bytes: u32,
    average: u32,
}

/// What an acknowledgement newly acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newly {
    /// Packets with data, cumulatively or by SACK.
    pub packets: u32,
    /// It is not superseded: it acknowledges something, or its timestamp is later than any before.
    pub is_news: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

impl Told {
    /// Section 3.2.1.
    pub fn new() -> Told {
        Told {
            packets: 5,
            bytes: 0,
            average: 0,
        }
    }

    /// Takes in the three flags and the option of an acknowledgement. Returns how many packets it
    /// newly tells of that were marked: the least that is safe, if the flags may have gone round.
    #[inline]
    pub fn on_ack(&mut self, ace: u8, option: Option<&EcnBytes>, newly: Newly) -> u32 {
        if !newly.is_news {
            return 0;
        }
        if newly.packets > 0 {
            let sample = newly.packets.min(u32::from(u16::MAX)) << AVERAGE_SHIFT;
            self.average = match self.average {
                0 => sample,
                average => average - (average >> AVERAGE_SHIFT) + (sample >> AVERAGE_SHIFT),
            };
        }
        let least = (u32::from(ace) + CYCLE - self.packets % CYCLE) % CYCLE;
        let bytes = option.map(|option| {
            // What the option leaves out has not grown.
            let count = option.count(Ecn::Ce).unwrap_or(self.bytes % CYCLE_OF_BYTES);
            let bytes = (count + CYCLE_OF_BYTES - self.bytes % CYCLE_OF_BYTES) % CYCLE_OF_BYTES;
            self.bytes = self.bytes.wrapping_add(bytes);
            bytes
        });
        let marked = match bytes {
            None if self.average >= THINNED << AVERAGE_SHIFT => least,
            bytes => safe(least, newly.packets, bytes, newly.mss),
        };
        self.packets = self.packets.wrapping_add(marked);
        marked
    }
}

/// Appendix A.2: how many packets were marked, of `packets` that are newly acknowledged, where the
/// flags tell at `least` so many and an option, if there was one, of so many `bytes`.
fn safe(least: u32, packets: u32, bytes: Option<u32>, mss: u32) -> u32 {
    // More marks than packets: control packets are marked as well.
    let Some(beyond) = packets.checked_sub(least) else {
        return least;
    };
    let most = packets - beyond % CYCLE;
    let (least_64, most_64, mss) = (u64::from(least), u64::from(most), u64::from(mss));
    match bytes.map(u64::from) {
        Some(bytes)
            if most > least && bytes <= mss * least_64 && SAFETY_FACTOR * bytes < mss * most_64 =>
        {
            least
        }
        _ => most,
    }
}

#[cfg(test)]
mod tests {
    use cclab_packet::Order;

    use super::*;

    const MSS: u32 = 1_460;

    /// RFC 9768 appendix A.2.1: its two worked examples.
    #[test]
    fn without_an_option_the_flags_are_taken_to_have_gone_round_where_they_could() {
        assert_eq!(safe(2, 9, None, MSS), 2);
        assert_eq!(safe(2, 10, None, MSS), 10);
        assert_eq!(safe(3, 2, None, MSS), 3, "control packets");
    }

    /// RFC 9768 appendix A.2.2: its three worked examples. The safer numbers there are 8, 10 and 15.
    #[test]
    fn with_an_option_the_size_of_marked_packets_decides() {
        assert_eq!(safe(0, 8, Some(1_460), MSS), 8);
        assert_eq!(safe(2, 10, Some(1_460), MSS), 2);
        assert_eq!(safe(7, 15, Some(10_200), MSS), 7);
        assert_eq!(safe(7, 15, Some(15 * 1_460), MSS), 15);
    }

    fn ack(packets: u32) -> Newly {
        Newly {
            packets,
            is_news: true,
            mss: MSS,
        }
    }

    fn option(bytes: u32) -> EcnBytes {
        EcnBytes::new(Order::One, 2, |codepoint| match codepoint {
            Ecn::Ce => bytes,
            _ => 1,
        })
    }

    /// RFC 9768 appendix A.1: its worked example.
    #[test]
    fn bytes_are_counted_beyond_24_bits() {
        let mut told = Told {
            bytes: 33_554_433,
            ..Told::new()
        };
        told.on_ack(5, Some(&option(1_461)), ack(1));
        assert_eq!(told.bytes, 33_555_893);
        told.on_ack(5, Some(&EcnBytes::new(Order::Zero, 1, |_| 7)), ack(1));
        assert_eq!(told.bytes, 33_555_893, "left out: not grown");
    }

    #[test]
    fn flags_count_up_from_five_and_go_round() {
        let mut told = Told::new();
        let marked = [5, 6, 0, 0, 7, 3].map(|ace| told.on_ack(ace, None, ack(2)));
        assert_eq!(marked, [0, 1, 2, 0, 7, 4]);
        assert_eq!(told.packets, 5 + 14);
        let old = Newly {
            is_news: false,
            ..ack(0)
        };
        assert_eq!(told.on_ack(0, None, old), 0, "superseded");
        assert_eq!(told.packets, 5 + 14);
    }

    /// Where acknowledgements are thinned on purpose, nothing is missing (appendix A.2.1).
    #[test]
    fn thinned_acknowledgements_are_taken_at_their_word() {
        let mut told = Told::new();
        assert_eq!(told.on_ack(5, None, ack(2)), 0);
        assert_eq!(told.on_ack(7, None, ack(10)), 10, "two of two before");
        let mut thinned = Told::new();
        assert_eq!(thinned.on_ack(5, None, ack(16)), 0, "all acknowledge 16");
        assert_eq!(thinned.on_ack(7, None, ack(16)), 2);
        // An option is believed all the same.
        assert_eq!(thinned.on_ack(7, Some(&option(16 * MSS)), ack(16)), 16);
    }
}
