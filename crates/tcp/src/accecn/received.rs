//! What an end counts of the packets that it receives (RFC 9768 section 3.2), and when it tells.

use cclab_packet::{Ecn, EcnBytes, Order};

/// Marks since the last acknowledgement at which one is due, while data wait for theirs, and
/// otherwise (section 3.2.2.5.1).
const MARKS_BESIDE_DATA: u32 = 2;
const MARKS_ALONE: u32 = 3;

/// The counters of a receiver, `r.cep` and the bytes by codepoint.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Packets that came marked.
    packets: u32,
    /// Bytes of payload by codepoint: ECT(1), ECT(0), CE.
    bytes: [u32; 3],
    /// Codepoints whose bytes have ever grown, and have grown since the last option.
    ever: [bool; 3],
    fresh: [bool; 3],
    /// Marks since the last acknowledgement.
    untold: u32,
    /// The last packet was marked.
    was_marked: bool,
}

/// What the arrival of a packet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asks {
    /// An acknowledgement is due at once if data wait for theirs.
    pub beside_data: bool,
    /// One is due whether they do or not.
    pub alone: bool,
}

impl Received {
    /// Section 3.2.1: not zero, so that zeros are seen to be none of these.
    pub fn new() -> Received {
        Received {
            packets: 5,
            bytes: [1, 1, 0],
            ever: [false; 3],
            fresh: [false; 3],
            untold: 0,
            was_marked: false,
        }
    }

    /// The SYN-ACK came marked: that counts once (section 3.2.2.2).
    pub fn on_marked_syn_ack(&mut self) {
        self.packets = 6;
    }

    /// A packet with `payload` bytes came, and is acceptable.
    #[inline]
    pub fn on_packet(&mut self, codepoint: Ecn, payload: u32) -> Asks {
        let marked = codepoint == Ecn::Ce;
        let begins = marked && !self.was_marked && payload > 0;
        self.was_marked = marked;
        if marked {
            self.packets = self.packets.wrapping_add(1);
            self.untold += 1;
        }
        if payload > 0
            && let Some(place) = place(codepoint)
        {
            self.bytes[place] = self.bytes[place].wrapping_add(payload);
            self.ever[place] = true;
            self.fresh[place] = true;
        }
        Asks {
            beside_data: begins || (marked && self.untold >= MARKS_BESIDE_DATA),
            alone: marked && self.untold >= MARKS_ALONE,
        }
    }

    /// The number for the three flags of a segment that leaves now.
    pub fn tell(&mut self) -> u8 {
        self.untold = 0;
        (self.packets % 8) as u8
    }

    /// Whether an acknowledgement that leaves now has bytes to tell (section 3.2.3.3).
    pub fn has_bytes_to_tell(&self) -> bool {
        self.fresh.contains(&true)
    }

    /// The option for an acknowledgement with `room` bytes for it: all that has ever grown, if it
    /// fits, and otherwise all that has grown since the last option; `None` if not even that fits.
    pub fn option(&mut self, room: u16) -> Option<EcnBytes> {
        let (order, fields) = [self.ever, self.fresh]
            .into_iter()
            .map(|grown| self.shortest(grown))
            .find(|&(_, fields)| EcnBytes::padded_len(fields) <= room)?;
        self.fresh = [false; 3];
        Some(self.write(order, fields))
    }

    /// The option of a packet of the handshake, with all counters (section 3.2.3.2.1).
    pub fn first_option(&self) -> EcnBytes {
        self.write(Order::One, 3)
    }

    /// The order in which the codepoints that have `grown` take the fewest fields, and how many.
    fn shortest(&self, grown: [bool; 3]) -> (Order, u8) {
        let [ect1, ect0, ce] = grown;
        // Where neither of the other two has grown, the order is that of before.
        let order = match (ect1 || (self.ever[0] && !ect0), ect0) {
            (true, _) => Order::One,
            (false, _) => Order::Zero,
        };
        let (first, last) = match order {
            Order::One => (ect1, ect0),
            Order::Zero => (ect0, ect1),
        };
        let fields = match (first, ce, last) {
            (_, _, true) => 3,
            (_, true, false) => 2,
            (true, false, false) => 1,
            (false, false, false) => 0,
        };
        (order, fields)
    }

    fn write(&self, order: Order, fields: u8) -> EcnBytes {
        EcnBytes::new(order, fields, |codepoint| {
            place(codepoint).map_or(0, |place| self.bytes[place])
        })
    }
}

/// The place of a codepoint among the counters of bytes; `None`: nobody counts them.
const fn place(codepoint: Ecn) -> Option<usize> {
    match codepoint {
        Ecn::NotEct => None,
        Ecn::Ect1 => Some(0),
        Ecn::Ect0 => Some(1),
        Ecn::Ce => Some(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(received: &mut Received, room: u16) -> Option<[Option<u32>; 3]> {
        let option = received.option(room)?;
        Some([Ecn::Ect1, Ecn::Ce, Ecn::Ect0].map(|it| option.count(it)))
    }

    /// RFC 9768 section 3.2.1, and section 3.2.3.3's example of the simple scheme.
    #[test]
    fn counters_begin_as_the_rfc_says_and_only_those_that_grew_are_told() {
        let mut received = Received::new();
        assert_eq!(received.tell(), 5);
        let first = received.first_option();
        let all = [Ecn::Ect1, Ecn::Ce, Ecn::Ect0].map(|it| first.count(it));
        assert_eq!(all, [Some(1), Some(0), Some(1)]);
        assert!(!received.has_bytes_to_tell());
        received.on_packet(Ecn::Ect0, 1_000);
        assert!(received.has_bytes_to_tell());
        assert_eq!(told(&mut received, 40), Some([None, None, Some(1_001)]));
        assert!(!received.has_bytes_to_tell());
        received.on_packet(Ecn::Ce, 500);
        assert_eq!(
            told(&mut received, 40),
            Some([None, Some(500), Some(1_001)])
        );
        received.on_packet(Ecn::Ect1, 1_000);
        let all = Some([Some(1_001), Some(500), Some(1_001)]);
        assert_eq!(told(&mut received, 40), all);
        received.on_packet(Ecn::NotEct, 1_000);
        assert!(!received.has_bytes_to_tell());
        assert_eq!(received.tell(), 6);
    }

    /// Section 3.2.3.3: fields may be left out, but for those that have grown since the last option.
    #[test]
    fn where_room_is_short_what_grew_is_told_or_nothing() {
        let mut received = Received::new();
        for codepoint in [Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            received.on_packet(codepoint, 100);
        }
        assert_eq!(told(&mut received, 8), None, "all three have grown");
        assert_eq!(
            told(&mut received, 12),
            Some([Some(101), Some(100), Some(101)])
        );
        received.on_packet(Ecn::Ect1, 100);
        received.on_packet(Ecn::Ce, 100);
        assert_eq!(told(&mut received, 8), Some([Some(201), Some(200), None]));
        received.on_packet(Ecn::Ect0, 100);
        assert_eq!(told(&mut received, 8), Some([None, None, Some(201)]));
        received.on_packet(Ecn::Ect0, 100);
        assert_eq!(told(&mut received, 4), None);
    }

    /// Section 3.2.2.5.1.
    #[test]
    fn a_first_mark_and_every_second_one_ask_for_an_acknowledgement() {
        let mut received = Received::new();
        let mut asks = |codepoint, payload| {
            let asks = received.on_packet(codepoint, payload);
            let told = (asks.beside_data, asks.alone);
            if asks.beside_data {
                received.tell();
            }
            told
        };
        assert_eq!(asks(Ecn::Ect1, 100), (false, false));
        assert_eq!(asks(Ecn::Ce, 100), (true, false), "marks begin");
        assert_eq!(asks(Ecn::Ce, 100), (false, false));
        assert_eq!(asks(Ecn::Ce, 100), (true, false), "two since the last");
        assert_eq!(asks(Ecn::Ect1, 100), (false, false));
        let mut acks = Received::new();
        let alone = [0; 4].map(|_| acks.on_packet(Ecn::Ce, 0).alone);
        assert_eq!(
            alone,
            [false, false, true, true],
            "without data at the third"
        );
        acks.tell();
        assert!(!acks.on_packet(Ecn::Ce, 0).alone);
    }

    #[test]
    fn a_marked_syn_ack_counts_once() {
        let mut received = Received::new();
        received.on_marked_syn_ack();
        received.on_marked_syn_ack();
        assert_eq!(received.tell(), 6);
        for _ in 0..3 {
            received.on_packet(Ecn::Ce, 0);
        }
        assert_eq!(received.tell(), 1);
    }
}
