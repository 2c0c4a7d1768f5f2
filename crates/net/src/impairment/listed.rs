//! Losses of listed packets.

use std::collections::VecDeque;

use cclab_packet::Packet;

/// Loses the n-th data packets that pass, retransmissions included.
#[derive(Debug)]
pub struct Listed {
    /// Numbers still to come, in order, counted from 1.
    to_come: VecDeque<u64>,
    /// Whose packets count; `None`: those of all flows.
    flow: Option<u32>,
    passed: u64,
}

impl Listed {
    /// Loses the packets with these numbers.
    pub fn new(packets: &[u64], flow: Option<u32>) -> Listed {
        Listed {
            to_come: packets.iter().copied().collect(),
            flow,
            passed: 0,
        }
    }

    /// Whether `packet`, which passes, is lost.
    pub fn loses(&mut self, packet: &Packet) -> bool {
        let counts = packet.payload > 0 && self.flow.is_none_or(|flow| flow == packet.flow);
        if !counts {
            return false;
        }
        self.passed += 1;
        let listed = self.to_come.front() == Some(&self.passed);
        if listed {
            self.to_come.pop_front();
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u32, payload: u16) -> Packet {
        Packet {
            flow,
            payload,
            ..Packet::default()
        }
    }

    #[test]
    fn only_data_of_the_flow_counts() {
        let mut listed = Listed::new(&[1, 3], Some(7));
        let passing = [
            (packet(7, 0), false), // its SYN
            (packet(2, 1000), false),
            (packet(7, 1000), true),
            (packet(7, 1000), false),
            (packet(7, 0), false),
            (packet(7, 1), true),
            (packet(7, 1000), false),
        ];
        for (index, (packet, lost)) in passing.iter().enumerate() {
            assert_eq!(listed.loses(packet), *lost, "packet {index}");
        }
    }

    #[test]
    fn without_a_flow_the_data_of_all_count() {
        let mut listed = Listed::new(&[2], None);
        assert!(!listed.loses(&packet(0, 1)));
        assert!(listed.loses(&packet(1, 1)));
    }
}
