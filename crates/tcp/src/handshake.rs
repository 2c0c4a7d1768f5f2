//! The active opener's handshake (RFC 9293 section 3.5).

use cclab_cc::{Cx, EcnFeedback};
use cclab_packet::{Ecn, Packet, flags};
use cclab_units::Time;

use crate::accecn::{Accurate, EcnMode, agreed, is_mangled};
use crate::recovery::control::Control;
use crate::sender::{Sender, State};

impl Sender {
    pub(crate) fn on_syn_sent(&mut self, now: Time) {
        self.syn_due = false;
        self.syn_sent = now;
        self.syn_tries += 1;
        self.flight.rto_at = now + self.flight.rtt.rto();
    }

    pub(crate) fn on_syn_ack(&mut self, now: Time, packet: &Packet) {
        let expected = self.isn.wrapping_add(1);
        if !packet.has(flags::SYN | flags::ACK) || packet.ack != expected {
            return;
        }
        self.state = State::Established;
        self.syn_due = false;
        self.ack_due = true;
        self.peer_seq = packet.seq.wrapping_add(1);
        self.ts_recent = packet.tsval;
        self.rwnd = u64::from(packet.window);
        self.window_shift = u32::from(packet.wscale_plus_one.saturating_sub(1)).min(14);
        let arrived = self.agree_on_ecn(packet);
        self.flight.rto_at = Time::NEVER;
        if arrived == Some(Ecn::Ce) {
            self.begin_with_one(); // what it says of congestion (RFC 9768 section 3.2.2.2)
        }
        if self.syn_tries <= 1 {
            let rtt = match self.flight.cc.is_linux() {
                true => now.whole_micros() - self.syn_sent.whole_micros(),
                false => self.flight.rtt.quantise(self.syn_sent, now),
            };
            self.flight.rtt.on_sample(rtt, 0, 0);
        } else {
            self.on_syn_lost(now, packet);
        }
        self.blueprint = None;
        let measured = Some(self.flight.rtt.srtt()).filter(|&srtt| srtt > Time::ZERO);
        let isn = self.isn;
        if self.flight.cc.is_linux() {
            let dice = self.flight.rng.fork().bits();
            if let Some((linux, mut line)) = self.flight.linux(now) {
                linux.on_established(&mut line, measured, dice, isn);
            }
        } else {
            let rng = &mut self.flight.rng;
            let cc = self.flight.cc.own();
            cc.on_established(measured, &mut Cx { now, rng });
        }
        self.note_window(now);
        if let (Some(queue), Control::Linux(linux)) = (&mut self.queue, &mut self.flight.cc) {
            queue.on_window(self.rwnd);
            queue.expand(linux.buffered_segments(), linux.buffered_windows()); // `tcp_init_buffer_space`
            self.begin_write();
        }
    }

    /// The handshake is done, but not with the first SYN: which of them was answered only
    /// timestamps tell (Karn).
    fn on_syn_lost(&mut self, now: Time, packet: &Packet) {
        if self.syn_tries > self.flight.profile.syn.restart_from {
            self.begin_with_one();
        }
        self.flight.rtt.on_new_ack();
        match self.echoed_rtt(now, packet) {
            Some(rtt) => self.flight.rtt.on_sample(rtt, 0, 0),
            None => self.flight.rtt.start_from(self.flight.profile.syn.fallback),
        }
    }

    /// The first window is of one segment.
    fn begin_with_one(&mut self) {
        let Some(blueprint) = &mut self.blueprint else {
            return;
        };
        if let Control::Linux(linux) = &mut self.flight.cc {
            linux.begin_with_one();
        } else {
            blueprint.config.initial_window = blueprint.config.mss;
            let (config, flight) = (&blueprint.config, &mut self.flight);
            let recovery = flight.recovery;
            flight.cc = Control::new(&blueprint.maker, config, &flight.profile, recovery);
        }
    }

    /// Enters the feedback of marks that a SYN-ACK agrees to, if it is what was asked for or the
    /// variant can do with less. Returns how the SYN came, as far as that is told.
    fn agree_on_ecn(&mut self, packet: &Packet) -> Option<Ecn> {
        let (mode, arrived) = agreed(self.asks, packet.flags);
        let enough = self.flight.feedback != EcnFeedback::Accurate || mode == EcnMode::Accurate;
        self.flight.ecn = mode != EcnMode::Off && enough;
        if mode == EcnMode::Accurate {
            let sent = self.syn_codepoint;
            let mut accurate = Accurate::new(!arrived.is_some_and(|it| is_mangled(sent, it)));
            if packet.ecn == Ecn::Ce {
                accurate.received.on_marked_syn_ack();
            }
            accurate.handshake = Some(packet.ecn);
            self.flight.accurate = Some(Box::new(accurate));
        }
        if self.asks != EcnMode::Off && !self.flight.ecn {
            self.flight.cc.without_ecn();
        }
        arrived
    }
}
