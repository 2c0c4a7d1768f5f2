//! Probes: hosts that send an echo at a fixed interval, and hosts that answer.
//!
//! Each probe has one flow number after those of cross traffic: requests travel as data, answers as
//! acknowledgements do. It draws no random numbers.

use std::collections::VecDeque;

use cclab_layout::Layout;
use cclab_net::{Host, Port, Side, ports};
use cclab_packet::{Packet, flags};
use cclab_spec::{Probe, ProbeKind, Scenario};
use cclab_trace::schema::{Echo, ProbeSummary};
use cclab_units::Time;

use crate::flow::{RECEIVER, SENDER};

/// All probes of a scenario.
pub struct Probes {
    /// The flow number of the first.
    first: u32,
    all: Vec<Both>,
    out: VecDeque<(Port, Packet)>,
}

/// Both hosts of a probe.
struct Both {
    spec: Probe,
    ports: [Port; 2],
    /// Bytes of a packet on a link.
    wire_len: u16,
    /// When the next request is due.
    due: Time,
    /// No request is sent from then on.
    stop: Time,
    echoes: Vec<Echo>,
    /// Packets that its hosts sent and got, of both kinds.
    sent: u64,
    received: u64,
}

impl Probes {
    /// The probes of `scenario` before they begin, on their ways over `layout`; their flow numbers
    /// are `first` and those that follow. Links frame packets with `framing` bytes.
    pub fn new(scenario: &Scenario, layout: &Layout, first: u32, framing: u16) -> Probes {
        let end = scenario.duration.unwrap_or(Time::NEVER);
        let both = scenario.probes.iter().zip(&layout.probes);
        let both = both.map(|(spec, journey)| Both {
            ports: ports(journey),
            wire_len: spec.packet_bytes(framing),
            due: spec.start,
            stop: spec.stop.unwrap_or(end).min(end),
            echoes: Vec::new(),
            sent: 0,
            received: 0,
            spec: spec.clone(),
        });
        Probes {
            first,
            all: both.collect(),
            out: VecDeque::new(),
        }
    }

    /// The index of the probe whose packets have the flow number `flow`, if one has.
    pub fn index_of(&self, flow: u32) -> Option<usize> {
        let index = flow.checked_sub(self.first)? as usize;
        (index < self.all.len()).then_some(index)
    }

    /// What each did.
    pub fn summaries(self) -> Vec<ProbeSummary> {
        let all = self.all.into_iter();
        all.map(|both| ProbeSummary {
            name: both.spec.name,
            kind: both.spec.kind.name().to_owned(),
            interval: both.spec.interval,
            packet_bytes: both.wire_len.into(),
            sent_packets: Some(both.sent),
            received_packets: Some(both.received),
            echoes: both.echoes,
        })
        .collect()
    }
}

impl Both {
    /// When it acts next.
    fn deadline(&self) -> Time {
        match self.due < self.stop {
            true => self.due,
            false => Time::NEVER,
        }
    }

    /// The next request, which leaves at `now`.
    fn request(&mut self, now: Time, flow: u32) -> Packet {
        let seq = self.echoes.len() as u32;
        self.echoes.push(Echo {
            sent: now,
            rtt: None,
        });
        self.due += self.spec.interval;
        self.sent += 1;
        Packet {
            flow,
            seq,
            payload: self.spec.payload,
            wire_len: self.wire_len,
            flags: match self.spec.kind {
                ProbeKind::Ping => flags::ECHO,
                ProbeKind::Udp => flags::DATAGRAM,
            },
            ..Packet::default()
        }
    }

    /// An answer came at `now`; of several to one request the first counts.
    fn answered(&mut self, now: Time, seq: u32) {
        if let Some(echo) = self.echoes.get_mut(seq as usize) {
            echo.rtt.get_or_insert(now - echo.sent);
        }
    }
}

impl Host for Probes {
    fn receive(&mut self, now: Time, packet: &Packet) -> Side {
        let Some(index) = self.index_of(packet.flow) else {
            return 0;
        };
        let both = &mut self.all[index];
        both.received += 1;
        if packet.backward {
            both.answered(now, packet.seq);
        } else {
            both.sent += 1;
            let answer = Packet {
                backward: true,
                ..*packet
            };
            self.out.push_back((both.ports[RECEIVER], answer));
        }
        0
    }

    fn act(&mut self, now: Time, _: Time) {
        for (both, flow) in self.all.iter_mut().zip(self.first..) {
            if both.deadline() <= now {
                let request = both.request(now, flow);
                self.out.push_back((both.ports[SENDER], request));
            }
        }
    }

    fn transmit(&mut self, _: Time, _: Side, packet: &mut Packet) -> Option<Port> {
        let (port, next) = self.out.pop_front()?;
        *packet = next;
        Some(port)
    }

    fn deadline(&self, _: Side) -> Time {
        let all = self.all.iter().map(Both::deadline);
        all.min().unwrap_or(Time::NEVER)
    }
}
