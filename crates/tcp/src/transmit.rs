//! What the sender sends next.

use cclab_cc::Arithmetic;
use cclab_packet::{Packet, notes};
use cclab_units::Time;
use cclab_units::hint::{rarely, unlikely};

use crate::limits::Limit;
use crate::profile::{Recovery, RttClock};
use crate::recovery::control::Control;
use crate::recovery::episode::Frto;
use crate::recovery::linux::Resend;
use crate::scoreboard::{Segment, SegmentId};
use crate::sender::{Sender, State};
use crate::transmit_linux::UNPACED;
use crate::write_queue::Leave;

impl Sender {
    /// The next packet to leave at `now`; `None` when something holds the sender back, which
    /// [`Sender::limits`] then accounts for.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let mut packet = Packet::default();
        self.transmit(now, &mut packet).then_some(packet)
    }

    /// Writes the next packet to leave at `now` into `packet`, where it stays: a packet that is
    /// copied while it is new waits for the small writes that made it. Returns whether there is
    /// one.
    #[inline]
    pub fn transmit(&mut self, now: Time, packet: &mut Packet) -> bool {
        match self.state {
            State::Established => self.transmit_established(now, packet),
            _ => self.transmit_elsewhere(now, packet),
        }
    }

    /// Before the connection stands, and behind its end.
    #[cold]
    fn transmit_elsewhere(&mut self, now: Time, packet: &mut Packet) -> bool {
        match self.state {
            State::SynSent if self.syn_due => *packet = self.syn(now),
            State::Finished if self.ack_due => *packet = self.bare_ack(now),
            _ => return false,
        }
        true
    }

    #[inline(always)] // at its only place
    fn transmit_established(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.settled {
            return false;
        }
        // The application writes once all has left that may, and then more may leave.
        while !self.transmit_buffered(now, packet) {
            if !self.write_on() {
                self.leave = Leave::All;
                self.settled = self.flight.cc.is_linux();
                return false;
            }
        }
        true
    }

    #[inline]
    fn transmit_buffered(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.is_due() {
            return self.transmit_due(now, packet);
        }
        if self.burst_left > 0 && self.queue.is_some() {
            self.go_on(now, packet);
            return true;
        }
        if self.leave == Leave::Nothing {
            return false; // only a send buffer of packets says so
        }
        let pacing_rate = self.pace();
        // A burst that has begun leaves at once.
        if self.burst_left == 0 && !self.pacer.may_send(now, pacing_rate) {
            self.on_paced(now);
            return false;
        }
        if !self.next_data(now, packet) {
            self.burst_left = 0;
            self.burst_sent = 0;
            return false;
        }
        if self.flight.cc.is_linux() {
            self.pace_packet(now, packet);
            return true;
        }
        rarely();
        if let Some(rate) = pacing_rate
            && self.is_paced()
        {
            self.pacer.on_sent(now, u64::from(packet.payload), rate);
        }
        true
    }

    /// The pacer holds the sender back.
    #[inline(never)]
    fn on_paced(&mut self, now: Time) {
        self.limits.on_limit(now, Limit::Pacing);
        if self.flight.cc.is_linux() {
            self.note_cwnd_usage(now, false);
        }
    }

    /// Linux lets the first segments of a connection go unpaced.
    fn is_paced(&self) -> bool {
        self.flight.profile.arithmetic != Arithmetic::Segments
            || self.flight.counters.segments_sent > UNPACED
    }

    /// Data by the rules of the window: lost segments first, then new ones.
    fn next_data(&mut self, now: Time, packet: &mut Packet) -> bool {
        let resend = match &self.flight.cc {
            Control::Linux(linux) => linux.resend,
            Control::Own(_) => {
                rarely();
                match self.flight.episode.frto {
                    Frto::Probing => Resend::New,
                    _ => Resend::Lost,
                }
            }
        };
        let window = self.flight.window_in_force();
        if resend == Resend::Lost
            && let Some(id) = self.flight.board.next_lost()
        {
            rarely();
            return self.resend_lost(now, id, window, packet);
        }
        match self.next_new(window) {
            Ok((len, fin)) => {
                if self.burst_left == 0 {
                    let window = self.window_after_idle(now, window);
                    match self.burst(now, window) {
                        Ok(segments) => {
                            self.burst_left = segments;
                            self.burst_of_several = segments > 1;
                        }
                        Err(limit) => {
                            self.limits.on_limit(now, limit);
                            self.note_cwnd_usage(now, limit == Limit::Cwnd);
                            return false;
                        }
                    }
                }
                let len = self.of_packet(len);
                self.send_of_burst(now, len, fin, packet);
                true
            }
            Err(Limit::Cwnd) if resend != Resend::New => {
                self.on_blocked(now, Limit::Cwnd, window);
                false
            }
            Err(limit) => self.next_without(now, limit, resend == Resend::New, window, packet),
        }
    }

    /// Segment `id` was lost, and leaves again if the window has room for it.
    #[inline(never)]
    fn resend_lost(&mut self, now: Time, id: SegmentId, window: u64, packet: &mut Packet) -> bool {
        let len = u64::from(self.flight.board.get(id).len);
        if self.flight.episode.retransmit_first || self.flight.fits(len, window) {
            if self.queue.is_some() {
                self.resend_left = self.resend_of(id) - 1;
                self.resend_of_several = self.resend_left > 0;
            }
            self.resend(now, id, packet);
            return true;
        }
        self.limits.on_limit(now, Limit::Cwnd);
        self.note_cwnd_usage(now, true);
        false
    }

    /// Nothing new can leave, because of `limit`: perhaps something else does.
    #[inline(never)]
    fn next_without(
        &mut self,
        now: Time,
        limit: Limit,
        new_first: bool,
        window: u64,
        packet: &mut Packet,
    ) -> bool {
        if let Some(id) = self.next_despite(limit, new_first, window) {
            self.resend(now, id, packet);
            return true;
        }
        if limit == Limit::Rwnd {
            self.fill_packet(window);
        }
        self.on_blocked(now, limit, window);
        false
    }

    /// One more segment of the packet of which some have left: nothing that holds others back is looked at
    /// again. Hosts ask until nothing more leaves, so nothing has come since the packet was cut.
    #[inline]
    fn go_on(&mut self, now: Time, packet: &mut Packet) {
        let (len, fin) = self.next_of_packet();
        self.send_of_burst(now, len, fin, packet);
        self.pace_packet(now, packet);
    }

    /// What else may leave when nothing new can.
    fn next_despite(&mut self, limit: Limit, new_first: bool, window: u64) -> Option<SegmentId> {
        if let Control::Linux(linux) = &mut self.flight.cc
            && new_first
        {
            if linux.sent_beyond(self.flight.snd_nxt) {
                return None;
            }
            linux.give_up_on_new();
        }
        if limit == Limit::Cwnd || !self.flight.fits(self.flight.mss, window) {
            return None;
        }
        if new_first {
            return self.flight.board.next_lost();
        }
        let by_sack = self.flight.recovery == Recovery::Sack && self.flight.episode.is_recovery();
        if by_sack {
            self.flight.next_by_sack(window)
        } else {
            None
        }
    }

    /// The next segment of a packet that is cut already, and whether it carries the FIN.
    #[inline]
    pub(crate) fn next_of_packet(&self) -> (u64, bool) {
        let len = (self.burst_end - self.flight.snd_nxt).min(self.flight.mss);
        let end = self.flight.snd_nxt + len;
        (len, self.closed && end >= self.flight.written)
    }

    /// The length of the next new segment and whether it carries the FIN, or what forbids it.
    #[inline(always)] // once for each packet: a call costs more than what it does
    pub(crate) fn next_new(&self, window: u64) -> Result<(u64, bool), Limit> {
        let buffered = self
            .flight
            .written
            .min(
                self.flight
                    .snd_una
                    .saturating_add(self.flight.profile.sndbuf),
            )
            .min(self.buffered);
        let mut len = buffered
            .saturating_sub(self.flight.snd_nxt)
            .min(self.flight.mss);
        let last = self.closed && self.flight.snd_nxt + len >= self.flight.written;
        if len == 0 && !(last && self.flight.snd_nxt == self.flight.written) {
            rarely();
            let full = buffered < self.flight.written;
            return Err(if full {
                Limit::Sndbuf
            } else {
                Limit::Application
            });
        }
        // Nagle (RFC 9293 section 3.7.4): a short segment waits while data is outstanding, unless
        // the application has turned that off.
        let waits = || match self.queue {
            Some(_) => self.holds_back_short(),
            None => !self.nodelay && !self.flight.board.is_empty(),
        };
        if unlikely(len < self.flight.mss) && !last && waits() {
            let full = buffered < self.flight.written;
            return Err(if full {
                Limit::Sndbuf
            } else {
                Limit::Application
            });
        }
        let outstanding = self.flight.board.outstanding();
        let by_cwnd = !self.flight.fits(len, window);
        let by_rwnd = outstanding + len > self.rwnd;
        if unlikely(by_rwnd) && !by_cwnd && outstanding == 0 && self.rwnd > 0 {
            len = len.min(self.rwnd); // a window below one segment: what fits
            return Ok((
                len,
                last && self.flight.snd_nxt + len >= self.flight.written,
            ));
        }
        match (by_cwnd, by_rwnd) {
            (false, false) => Ok((len, last)),
            (true, false) => Err(Limit::Cwnd),
            (true, true) if self.rwnd >= window => Err(Limit::Cwnd),
            (_, true) => {
                rarely();
                Err(Limit::Rwnd)
            }
        }
    }

    fn on_blocked(&mut self, now: Time, limit: Limit, window: u64) {
        self.limits.on_limit(now, limit);
        self.note_cwnd_usage(now, limit == Limit::Cwnd);
        match limit {
            Limit::Application if self.flight.fits(self.flight.mss, window) => {
                rarely();
                self.note_app_limited();
            }
            Limit::Rwnd if self.flight.board.is_empty() => {
                rarely();
                self.start_persist(now);
            }
            _ => {}
        }
    }

    pub(crate) fn send_new(&mut self, now: Time, payload: u64, fin: bool, packet: &mut Packet) {
        let nothing_in_flight = self.flight.board.is_empty();
        if let Some((linux, line)) = self.flight.linux(now) {
            if payload > 0 {
                linux.on_departure(&line);
            }
        } else if nothing_in_flight && self.last_sent > Time::ZERO {
            rarely();
            self.on_restart(now);
        }
        let len = payload + u64::from(fin);
        let mut segment = Segment {
            start: self.flight.snd_nxt,
            len: len as u32,
            tx_in_flight: self.in_flight_with(len),
            lost_ever: self.flight.board.lost_ever() as u32,
            fin,
            no_rtt: self.flight.snd_nxt == self.flight.snd_una
                && matches!(self.flight.profile.rto.clock, RttClock::Echo(_)),
            ..Segment::default()
        };
        match self.flight.linux(now) {
            Some((linux, line)) => linux.stamp(&mut segment, &line),
            None => {
                rarely();
                self.rate.on_send(&mut segment, now, nothing_in_flight);
            }
        }
        self.flight.board.push(segment);
        self.flight.snd_nxt += len;
        if let Some(queue) = &mut self.queue {
            queue.on_sent(self.flight.snd_nxt, self.burst_sent == 0);
        }
        if self.flight.episode.is_recovery() {
            rarely();
            self.flight.episode.prr.on_sent(len);
        }
        *packet = self.data_packet(now, &segment);
        self.on_data_sent(now, &segment);
        match self.flight.linux(now) {
            Some((linux, mut line)) => linux.on_new_sent(&mut line),
            None => {
                rarely();
                let timed = (self.flight.snd_nxt, now);
                if matches!(self.flight.profile.rto.clock, RttClock::OnePerRound(_)) {
                    self.timing.0.get_or_insert(timed);
                }
                self.flight.arm_loss_probe(now);
            }
        }
    }

    /// Data leaves after the pipe was empty. Where the window is to outlive idle times, no idle
    /// time is long enough to shrink it.
    fn on_restart(&mut self, now: Time) {
        let patience = if self.flight.profile.idle_restart {
            self.flight.rtt.rto()
        } else {
            Time::NEVER
        };
        let mut cx = cclab_cc::Cx {
            now,
            rng: &mut self.flight.rng,
        };
        self.flight
            .cc
            .own()
            .on_restart(now - self.last_sent, patience, &mut cx);
    }

    pub(crate) fn resend(&mut self, now: Time, id: SegmentId, packet: &mut Packet) {
        if self.flight.cc.is_linux() {
            self.resend_linux(now, id, packet);
            return;
        }
        self.flight.episode.retransmit_first = false;
        let is_first = id == self.flight.board.ids().start;
        let nothing_in_flight = self.flight.board.in_flight() == 0;
        let tx_in_flight = self.in_flight_with(u64::from(self.flight.board.get(id).len));
        let lost_ever = self.flight.board.lost_ever() as u32;
        let rate = &mut self.rate;
        let segment = self.flight.board.mark_resent(id, |segment| {
            rate.on_send(segment, now, nothing_in_flight);
            segment.tx_in_flight = tx_in_flight;
            segment.lost_ever = lost_ever;
        });
        if self.flight.recovery == Recovery::RackPrr {
            self.flight.episode.rack.on_resent(id, now);
        }
        if self.timing.0.is_some() {
            self.timing.0 = None; // Karn: what is timed may be what is sent again
        }
        if self.flight.episode.is_recovery() {
            self.flight.episode.prr.on_sent(u64::from(segment.len));
        }
        *packet = self.data_packet(now, &segment);
        packet.notes |= notes::RETRANSMISSION;
        packet.ecn = self.control_ecn(); // RFC 3168 section 6.1.5
        self.flight.episode.undo.on_resent(packet.tsval);
        self.flight.counters.retransmits += u64::from(segment.payload() > 0);
        self.on_data_sent(now, &segment);
        if is_first && self.flight.recovery.uses_sack() {
            self.flight.rto_at = now + self.flight.rtt.rto();
        }
    }

    /// Bytes in flight with `len` more.
    fn in_flight_with(&self, len: u64) -> u32 {
        u32::try_from(self.flight.board.in_flight() + len).unwrap_or(u32::MAX)
    }

    pub(crate) fn on_data_sent(&mut self, now: Time, segment: &Segment) {
        self.flight.counters.segments_sent += u64::from(segment.payload() > 0);
        self.last_sent = now;
        if !self.flight.cc.is_linux() && self.flight.rto_at == Time::NEVER {
            rarely();
            self.flight.rto_at = now + self.flight.rtt.rto(); // RFC 6298 section 5.1
        }
    }
}
