//! The AccECN option of TCP (RFC 9768 section 3.2.3): how many bytes of payload came with which
//! codepoint.

use crate::{Ecn, Packet};

/// Bits of a counter in the option.
const COUNTER: u32 = 0x00ff_ffff;
/// In the first of the places that the option takes, above a counter: it is there, its order, and
/// how many fields it has.
const PRESENT: u32 = 1 << 31;
const ORDER_1: u32 = 1 << 30;
const FIELDS: u32 = 24;
/// SACK blocks that leave the places of the other two to the option.
const BLOCKS_BESIDE: u8 = 2;

/// The order of the option's fields, of which the last may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// ECT(0), CE, ECT(1): kind 172.
    Zero,
    /// ECT(1), CE, ECT(0): kind 174.
    One,
}

impl Order {
    /// The codepoints that the fields count.
    const fn codepoints(self) -> [Ecn; 3] {
        match self {
            Order::Zero => [Ecn::Ect0, Ecn::Ce, Ecn::Ect1],
            Order::One => [Ecn::Ect1, Ecn::Ce, Ecn::Ect0],
        }
    }
}

/// An AccECN option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnBytes {
    order: Order,
    fields: u8,
    counters: [u32; 3],
}

impl EcnBytes {
    /// The option with the first `fields` fields, at most three, each the 24 low bits of what `count`
    /// tells of its codepoint.
    pub fn new(order: Order, fields: u8, count: impl Fn(Ecn) -> u32) -> EcnBytes {
        let fields = fields.min(3);
        let mut counters = [0; 3];
        let told = counters.iter_mut().zip(order.codepoints());
        for (counter, codepoint) in told.take(usize::from(fields)) {
            *counter = count(codepoint) & COUNTER;
        }
        EcnBytes {
            order,
            fields,
            counters,
        }
    }

    /// The low 24 bits of the bytes that came with `codepoint`; `None`: the option does not tell.
    pub fn count(&self, codepoint: Ecn) -> Option<u32> {
        let mut fields = self.order.codepoints().into_iter().zip(self.counters);
        let told = fields.by_ref().take(usize::from(self.fields));
        told.filter(|(of, _)| *of == codepoint)
            .map(|(_, n)| n)
            .next()
    }

    /// Bytes that it takes in a header, filled up to whole words.
    pub const fn wire_len(&self) -> u16 {
        EcnBytes::padded_len(self.fields)
    }

    /// Bytes that an option of `fields` fields takes in a header, filled up to whole words.
    pub const fn padded_len(fields: u8) -> u16 {
        (2 + 3 * fields as u16).next_multiple_of(4)
    }

    /// The option on the wire, filled up with no-operations, and its bytes.
    pub fn to_bytes(&self) -> ([u8; 12], usize) {
        const NO_OPERATION: u8 = 1;
        let mut bytes = [NO_OPERATION; 12];
        bytes[0] = match self.order {
            Order::Zero => 172,
            Order::One => 174,
        };
        bytes[1] = 2 + 3 * self.fields;
        let fields = bytes[2..].chunks_exact_mut(3).zip(self.counters);
        for (field, counter) in fields.take(usize::from(self.fields)) {
            field.copy_from_slice(&counter.to_be_bytes()[1..]);
        }
        (bytes, usize::from(EcnBytes::padded_len(self.fields)))
    }
}

impl Packet {
    /// The AccECN option; `None`: the packet has none.
    #[inline]
    pub fn ecn_bytes(&self) -> Option<EcnBytes> {
        let [_, _, (first, second), (third, _)] = self.sack;
        if self.sack_len > BLOCKS_BESIDE || first & PRESENT == 0 {
            return None;
        }
        Some(EcnBytes {
            order: match first & ORDER_1 {
                0 => Order::Zero,
                _ => Order::One,
            },
            fields: (first >> FIELDS & 0b11) as u8,
            counters: [first, second, third].map(|counter| counter & COUNTER),
        })
    }

    /// Gives the packet an AccECN option.
    ///
    /// # Panics
    /// If it has more than two SACK blocks: the option has the places of the others.
    pub fn set_ecn_bytes(&mut self, option: &EcnBytes) {
        assert!(self.sack_len <= BLOCKS_BESIDE, "no room beside SACK blocks");
        let order = match option.order {
            Order::Zero => 0,
            Order::One => ORDER_1,
        };
        let [first, second, third] = option.counters;
        let first = PRESENT | order | u32::from(option.fields) << FIELDS | first;
        self.sack[2] = (first, second);
        self.sack[3] = (third, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 figure 4 and table 5.
    #[test]
    fn orders_and_lengths_are_those_of_the_rfc() {
        let count = |codepoint| match codepoint {
            Ecn::Ect0 => 0x0100_0102,
            Ecn::Ce => 0x0102_0304,
            Ecn::Ect1 => 0x05,
            Ecn::NotEct => unreachable!("no field counts what could not be marked"),
        };
        let bytes = |order, fields| {
            let (bytes, len) = EcnBytes::new(order, fields, count).to_bytes();
            bytes[..len].to_vec()
        };
        let all = [172, 11, 0, 1, 2, 2, 3, 4, 0, 0, 5, 1];
        assert_eq!(bytes(Order::Zero, 3), all);
        let all = [174, 11, 0, 0, 5, 2, 3, 4, 0, 1, 2, 1];
        assert_eq!(bytes(Order::One, 3), all);
        assert_eq!(bytes(Order::One, 2), [174, 8, 0, 0, 5, 2, 3, 4]);
        assert_eq!(bytes(Order::Zero, 1), [172, 5, 0, 1, 2, 1, 1, 1]);
        assert_eq!(bytes(Order::Zero, 0), [172, 2, 1, 1]);
    }

    #[test]
    fn a_packet_carries_the_option_beside_two_blocks() {
        let mut packet = Packet {
            sack_len: 2,
            sack: [(1, 2), (3, 4), (0, 0), (0, 0)],
            ..Packet::default()
        };
        assert_eq!(packet.ecn_bytes(), None);
        for order in [Order::Zero, Order::One] {
            for fields in 0..=3 {
                let option = EcnBytes::new(order, fields, |codepoint| codepoint as u32 + COUNTER);
                packet.set_ecn_bytes(&option);
                assert_eq!(packet.ecn_bytes(), Some(option));
                assert_eq!(packet.sack_blocks(), [(1, 2), (3, 4)]);
                let told = [Ecn::Ect0, Ecn::Ce, Ecn::Ect1].map(|it| option.count(it));
                assert_eq!(told.iter().flatten().count(), usize::from(fields));
                assert_eq!(option.count(Ecn::NotEct), None);
            }
        }
        packet.sack_len = 3;
        assert_eq!(packet.ecn_bytes(), None, "the places are blocks'");
    }
}
