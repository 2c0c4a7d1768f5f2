//! A sender and its receiver, wired back to back: 50 ms each way, nothing in between but what a
//! script drops.

#![allow(dead_code, reason = "each script uses some of the words")]

use std::collections::VecDeque;
use std::sync::Arc;

use cclab_packet::Packet;
use cclab_tcp::{Receiver, ReceiverConfig, Sender};
use cclab_units::Time;

use super::common::{MSS, PEER_ISN, ms};

/// One way.
const DELAY: Time = Time::from_millis(50);

/// A connection over two wires.
pub struct Pair {
    /// One end.
    pub sender: Sender,
    /// The other.
    pub receiver: Receiver,
    /// The clock.
    pub now: Time,
    /// What the sender sent, with the instant.
    pub sent: Vec<(Time, Packet)>,
    forth: VecDeque<(Time, Packet)>,
    back: VecDeque<(Time, Packet)>,
    /// Which packets with payload are lost, by count from 0.
    pub lost_data: Vec<usize>,
    data_count: usize,
    /// Until when acknowledgements are lost.
    pub acks_lost_until: Time,
    /// What the receiver sent, with the instant.
    pub answered: Vec<(Time, Packet)>,
    /// What happens to packets on the way there, and back; whether they are lost.
    pub forth_by: Box<dyn FnMut(&mut Packet) -> bool>,
    /// See `forth_by`.
    pub back_by: Box<dyn FnMut(&mut Packet) -> bool>,
}

impl Pair {
    /// A connection that starts at 0.
    pub fn new(sender: Sender, profile: &cclab_tcp::profile::Profile, rwnd: u64) -> Pair {
        let mut wire = profile.wire;
        wire.sack = true;
        let config = ReceiverConfig {
            wire,
            ack: profile.ack,
            rwnd_max: rwnd,
            buffer: None,
            ecn: cclab_tcp::EcnMode::Off,
            feedback: cclab_cc::EcnFeedback::Classic,
            codepoint: cclab_packet::Ecn::Ect0,
            mss_payload: MSS as u32,
            misbehaviour: None,
        };
        Pair::with(sender, config)
    }

    /// A connection that starts at 0, with a receiver as `config` has it.
    pub fn with(sender: Sender, config: ReceiverConfig) -> Pair {
        let receiver = Receiver::new(0, PEER_ISN, Arc::new(config));
        let mut pair = Pair {
            sender,
            receiver,
            now: ms(0),
            sent: Vec::new(),
            forth: VecDeque::new(),
            back: VecDeque::new(),
            lost_data: Vec::new(),
            data_count: 0,
            acks_lost_until: ms(0),
            answered: Vec::new(),
            forth_by: Box::new(|_| false),
            back_by: Box::new(|_| false),
        };
        pair.sender.connect(ms(0));
        pair
    }

    fn poll(&mut self) {
        while let Some(mut packet) = self.sender.poll_transmit(self.now) {
            self.sent.push((self.now, packet));
            let count = self.data_count;
            self.data_count += usize::from(packet.payload > 0);
            let lost = packet.payload > 0 && self.lost_data.contains(&count);
            if !(self.forth_by)(&mut packet) && !lost {
                self.forth.push_back((self.now + DELAY, packet));
            }
        }
        while let Some(mut packet) = self.receiver.poll_transmit(self.now) {
            self.answered.push((self.now, packet));
            let lost = self.now < self.acks_lost_until;
            if !(self.back_by)(&mut packet) && !lost {
                self.back.push_back((self.now + DELAY, packet));
            }
        }
    }

    /// Runs until `end`, or until nothing can happen any more.
    pub fn run_until(&mut self, end: Time) {
        loop {
            self.poll();
            let next = [
                self.forth.front().map_or(Time::NEVER, |&(at, _)| at),
                self.back.front().map_or(Time::NEVER, |&(at, _)| at),
                self.sender.deadline(),
                self.receiver.deadline(),
            ]
            .into_iter()
            .min()
            .unwrap_or(Time::NEVER);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if let Some((_, packet)) = due(&mut self.forth, next) {
                self.receiver.on_packet(next, &packet);
            } else if let Some((_, packet)) = due(&mut self.back, next) {
                self.sender.on_packet(next, &packet);
            } else if self.sender.deadline() <= next {
                self.sender.on_timer(next);
            } else {
                self.receiver.on_timer(next);
            }
        }
    }

    /// When segments without payload left after `from`, in ms: acknowledgements and probes.
    pub fn empty_after(&self, from: u64) -> Vec<u64> {
        let empty = self.sent.iter().filter(|(_, p)| p.seq_len() == 0);
        let times = empty.map(|(at, _)| at.as_millis());
        times.filter(|&at| at > from).collect()
    }

    /// When segments with payload left after `from`, in ms.
    pub fn data_after(&self, from: u64) -> Vec<u64> {
        let data = self.sent.iter().filter(|(_, p)| p.payload > 0);
        let times = data.map(|(at, _)| at.as_millis());
        times.filter(|&at| at > from).collect()
    }
}

/// What arrives first, if it does so by `now`.
fn due(wire: &mut VecDeque<(Time, Packet)>, now: Time) -> Option<(Time, Packet)> {
    let &(at, _) = wire.front()?;
    if at <= now { wire.pop_front() } else { None }
}
