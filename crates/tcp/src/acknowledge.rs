//! What an acknowledgement does: to the window, the scoreboard, the clock, loss recovery and the
//! variant, in this order.

use cclab_cc::{AckSample, Arithmetic, Cx, EcnFeedback, Timestamps};
use cclab_packet::{MAX_SACK_BLOCKS, Packet, flags};
use cclab_units::Time;
use cclab_units::hint::{likely, rarely, unlikely};

use crate::accecn::Newly;
use crate::profile::{Recovery, RttClock};
use crate::receiver::timestamp;
use crate::recovery::flight::Flight;
use crate::recovery::linux::Counts;
use crate::recovery::news::AckNews;
use crate::sender::{LastAck, Sender, State};

impl Sender {
    /// Takes in a packet from the receiver.
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        self.settled = false;
        self.count_mark(packet);
        match self.state {
            State::SynSent => self.on_syn_ack(now, packet),
            State::Established => self.on_ack(now, packet),
            State::Closed | State::Finished | State::Aborted => {}
        }
    }

    /// Counts the codepoint with which a packet came, for the receiver, whose acknowledgements may be
    /// marked as well (RFC 9768 section 3.2).
    fn count_mark(&mut self, packet: &Packet) {
        if unlikely(self.flight.accurate.is_some()) {
            self.count_mark_accurately(packet);
        }
    }

    #[inline(never)]
    fn count_mark_accurately(&mut self, packet: &Packet) {
        if !packet.has(flags::SYN)
            && let Some(accurate) = &mut self.flight.accurate
        {
            let payload = u32::from(packet.payload);
            self.ack_due |= accurate.received.on_packet(packet.ecn, payload).alone;
        }
    }

    fn on_ack(&mut self, now: Time, packet: &Packet) {
        if packet.has(flags::SYN) {
            rarely();
            self.ack_due = true; // our handshake ACK was lost
            return;
        }
        let ack = self.offset_of(packet.ack);
        match likely(self.flight.cc.is_linux()) {
            true => self.on_ack_linux(now, packet, ack),
            false => self.on_ack_own(now, packet, ack),
        }
    }

    /// An acknowledgement of what is before `ack`, where the variant keeps the window.
    #[inline(never)]
    fn on_ack_own(&mut self, now: Time, packet: &Packet, ack: u64) {
        if !packet.has(flags::ACK) || ack > self.flight.snd_nxt || ack < self.flight.snd_una {
            return; // never sent, or older than what is known (RFC 9293 section 3.10.7.4)
        }
        if packet.has(flags::FIN) {
            self.peer_seq = packet.seq.wrapping_add(1);
            self.ack_due = true;
        }
        let counts = self.counts(packet);
        let same_window = self.update_window(packet);
        let prior_in_flight = self.flight.board.in_flight();
        let prior_delivered = self.rate.delivered();
        let outstanding = !self.flight.board.is_empty();
        let was_recovery = self.flight.episode.is_recovery();
        let advanced = ack > self.flight.snd_una;
        let newly_acked = ack - self.flight.snd_una;

        let sampled = self.take_delivered(now, packet, ack);
        let rtt = self.take_rtt(now, packet, &sampled, advanced);
        let newly_delivered = self.rate.delivered() - prior_delivered;

        let cwnd_limited = self.is_cwnd_limited();
        let newly_lost = self.flight.on_news(
            now,
            &AckNews {
                ack,
                advanced,
                newly_acked,
                newly_delivered,
                duplicate: !advanced
                    && outstanding
                    && packet.payload == 0
                    && (same_window
                        || newly_delivered > 0
                        || !self.flight.profile.careful_fast_retransmit),
                dsack: sampled.dsack.is_some(),
                dsack_end: sampled.dsack.unwrap_or(0),
                original_delivered: sampled.original_before_recovery,
                newest_rtt: sampled.newest_rtt,
                tsecr: packet.tsecr,
            },
        );
        let rate = self.rate.on_ack(
            now,
            self.flight.rtt.min_rtt(),
            self.flight.board.lost_ever(),
        );
        self.last_ack = LastAck {
            newly_acked,
            rtt: rtt.or(sampled.last_rtt),
            delivered: rate.map_or(0, |rate| rate.delivered),
            interval: rate.map_or(Time::ZERO, |rate| rate.interval),
        };
        self.flight.tell_losses(now);
        let (ece, newly_marked) = match counts {
            Some(counts) => {
                let marked = self.take_counts(&counts, advanced, newly_delivered);
                (marked > 0, marked)
            }
            None if packet.has(flags::ECE) && self.flight.ecn => (true, newly_delivered),
            None => (false, 0),
        };
        if ece && self.flight.feedback == EcnFeedback::Classic {
            self.flight.on_ecn_echo(now);
        }
        if newly_acked > 0 || newly_delivered > 0 {
            let sample = AckSample {
                newly_acked,
                newly_delivered,
                newly_lost,
                prior_in_flight,
                in_flight: self.flight.board.in_flight(),
                rtt: match self.flight.recovery {
                    // ns-2's Vegas times each packet, whatever became of those before it.
                    Recovery::Vegas => sampled.newest_rtt,
                    _ => sampled.last_rtt,
                },
                srtt: self.flight.rtt.srtt(),
                min_rtt: self.flight.rtt.min_rtt(),
                delivered: self.rate.delivered(),
                lost: self.flight.board.lost_ever(),
                rate,
                stamps: stamps(packet, now),
                snd_una: self.flight.snd_una,
                snd_nxt: self.flight.snd_nxt,
                cwnd_limited,
                in_recovery: self.flight.episode.is_recovery()
                    || (was_recovery && self.leaves_at_ssthresh())
                    || self.flight.reduces_for_mark(),
                until_departure: self.pacer.until_departure(now),
                repair: self.flight.episode.phase().into(),
                ece,
                newly_marked,
            };
            let rng = &mut self.flight.rng;
            self.flight.cc.own().on_ack(&sample, &mut Cx { now, rng });
        }
        if ece && self.flight.feedback != EcnFeedback::Classic {
            self.flight.on_ecn_echo(now); // by the marks counted, this acknowledgement's included
        }
        if advanced {
            self.on_advance(now);
        }
        self.flight.arm_loss_probe(now);
        self.resume_on_ack(now);
        self.cwnd_most = self.cwnd_most.max(self.flight.cc.cwnd());
        self.note_window(now);
        if advanced {
            self.refill();
        }
    }

    /// The bytes that an acknowledgement with `counts` newly tells of that were marked, beside those
    /// that it newly `delivered`.
    fn take_counts(&mut self, counts: &Counts, advanced: bool, delivered: u64) -> u64 {
        let mss = self.flight.mss;
        let Some(accurate) = &mut self.flight.accurate else {
            return 0;
        };
        let newly = Newly {
            packets: delivered.div_ceil(mss) as u32,
            is_news: advanced || delivered > 0 || counts.is_later,
            mss: mss as u32,
        };
        let marked = accurate
            .told
            .on_ack(counts.ace, counts.option.as_ref(), newly);
        self.flight.counters.marks_told += u64::from(marked);
        u64::from(marked) * mss
    }

    /// Takes in the advertised window and the timestamp; returns whether the window is as it was.
    pub(crate) fn update_window(&mut self, packet: &Packet) -> bool {
        let rwnd = u64::from(packet.window) << self.window_shift;
        let same = rwnd == self.rwnd;
        self.rwnd = rwnd;
        if packet.tsval != 0 {
            self.ts_recent = packet.tsval;
        }
        if rwnd > 0 {
            self.persist_at = Time::NEVER;
        }
        same
    }

    /// Takes what was delivered off the scoreboard, cumulatively and selectively.
    fn take_delivered(&mut self, now: Time, packet: &Packet, ack: u64) -> Sampled {
        let mut sampled = Sampled::default();
        if ack > self.flight.snd_una {
            self.timeouts_in_row = 0;
            self.acknowledge(now, ack, &mut sampled);
        }
        if packet.sack_len > 0 && self.flight.recovery.uses_sack() {
            let rtt = self.flight.episode.rack.rtt();
            self.select(now, packet, &mut sampled);
            if sampled.cumulatively {
                self.flight.episode.rack.was_last(rtt);
            }
        }
        self.flight.snd_una = ack;
        sampled
    }

    /// Measures the round trip, if it can be measured, and lets the timer know.
    fn take_rtt(
        &mut self,
        now: Time,
        packet: &Packet,
        sampled: &Sampled,
        advanced: bool,
    ) -> Option<Time> {
        let rtt = self
            .rtt_sample(now, packet, sampled)
            .or_else(|| self.echoed_rtt(now, packet).filter(|_| advanced));
        // RFC 6298 section 5: a backed-off timeout stays until a sample replaces it. Where samples
        // are of the timestamp echo only (ns-3), any new acknowledgement does.
        let echo_clock = matches!(self.flight.profile.rto.clock, RttClock::Echo(_));
        if rtt.is_some() || (advanced && echo_clock) {
            self.flight.rtt.on_new_ack();
        }
        if let Some(rtt) = rtt {
            self.flight
                .rtt
                .on_sample(rtt, self.flight.snd_una, self.flight.snd_nxt);
        }
        rtt
    }

    fn on_advance(&mut self, now: Time) {
        if !self.is_impatient() {
            self.restart_rto(now);
        }
        if self.closed && self.flight.snd_una > self.flight.written {
            self.stop(now, State::Finished);
        }
    }

    /// Takes `ack` off the scoreboard.
    fn acknowledge(&mut self, now: Time, ack: u64, sampled: &mut Sampled) {
        let Sender { flight, rate, .. } = self;
        let Flight {
            board,
            rtt,
            episode,
            ..
        } = flight;
        let min_rtt = rtt.min_rtt();
        let highest_sacked = board.highest_sacked().map(|id| board.get(id).end());
        board.acknowledge(ack, |segment| {
            rate.on_delivered(segment);
            episode.rack.on_delivered(segment, now, min_rtt);
            if !segment.ever_resent {
                if highest_sacked.is_some_and(|high| segment.end() <= high) {
                    episode.rack.on_reordering();
                }
                sampled.original_before_recovery |= segment.end() <= episode.recover();
            }
            sampled.cumulatively = true;
            sampled.on_segment(segment.no_rtt, now - segment.sent);
        });
    }

    /// Takes the SACK blocks of `packet` in.
    fn select(&mut self, now: Time, packet: &Packet, sampled: &mut Sampled) {
        let acked = self.offset_of(packet.ack);
        let mut blocks = [(0, 0); MAX_SACK_BLOCKS];
        let mut len = 0;
        for (i, &(left, right)) in packet.sack_blocks().iter().enumerate() {
            let (left, right) = (self.offset_of(left), self.offset_of(right));
            // RFC 2883 section 4: below the ACK, or inside the second block.
            let second = packet.sack_blocks().get(1).filter(|_| i == 0);
            let inside = second
                .is_some_and(|&(l, r)| self.offset_of(l) <= left && right <= self.offset_of(r));
            if left < right && (right <= acked || inside) {
                sampled.dsack = Some(right);
            } else if left < right && left >= acked && right <= self.flight.snd_nxt {
                blocks[len] = (left, right);
                len += 1;
            }
        }
        let Sender { flight, rate, .. } = self;
        let Flight {
            board,
            rtt,
            episode,
            ..
        } = flight;
        let min_rtt = rtt.min_rtt();
        let highest = board.highest_sacked();
        board.select(&blocks[..len], |id, segment| {
            rate.on_delivered(segment);
            episode.rack.on_delivered(segment, now, min_rtt);
            episode.sack.on_selected(id);
            if !segment.ever_resent {
                if highest.is_some_and(|high| id < high) {
                    episode.rack.on_reordering();
                }
                sampled.original_before_recovery |= segment.end() <= episode.recover();
            }
            sampled.on_sacked(segment.no_rtt, now - segment.sent);
        });
    }

    /// The RTT by the timestamp echo, whole milliseconds, where the profile measures by it what
    /// its clock cannot.
    pub(crate) fn echoed_rtt(&self, now: Time, packet: &Packet) -> Option<Time> {
        if !self.flight.profile.rto.echo_of_retransmissions || packet.tsecr == 0 {
            return None;
        }
        let ticks = timestamp(now).wrapping_sub(packet.tsecr);
        Some(Time::from_millis(u64::from(ticks.max(1))))
    }

    /// The RTT sample for the timer, by the profile's clock.
    fn rtt_sample(&mut self, now: Time, packet: &Packet, sampled: &Sampled) -> Option<Time> {
        let first = sampled.first_rtt?;
        match self.flight.profile.rto.clock {
            RttClock::SendTime => Some(first),
            RttClock::Echo(_) => {
                let echoed = Time::from_millis(u64::from(packet.tsecr.checked_sub(1)?));
                Some(self.flight.rtt.quantise(echoed, now))
            }
            RttClock::OnePerRound(_) => {
                let (end, sent) = self.timing.0?;
                if self.flight.snd_una < end {
                    return None;
                }
                self.timing.0 = None;
                Some(self.flight.rtt.quantise(sent, now))
            }
        }
    }

    /// RFC 6298 section 5: restarted by each ACK of new data, off when nothing is outstanding.
    fn restart_rto(&mut self, now: Time) {
        self.flight.rto_at = if self.flight.board.is_empty() {
            Time::NEVER
        } else {
            now + self.flight.rtt.rto()
        };
    }

    /// Whether the acknowledgement that ends recovery leaves the window at ssthresh (RFC 5681
    /// section 3.2 step 6, RFC 6582 section 3.2 step 3): it covers a window of data, which would
    /// count as growth. The other stacks count a step for each acknowledgement, or what it
    /// delivers, and grow by it.
    fn leaves_at_ssthresh(&self) -> bool {
        self.flight.profile.arithmetic == Arithmetic::Bytes
    }

    /// Whether the timer runs on from an earlier partial acknowledgement.
    fn is_impatient(&self) -> bool {
        self.flight.profile.impatient
            && self.flight.episode.is_recovery()
            && self.flight.episode.partial_acks > 1
    }
}

/// What `packet` says of both clocks.
fn stamps(packet: &Packet, now: Time) -> Option<Timestamps> {
    let stamped = packet.tsval != 0 && packet.tsecr != 0;
    stamped.then(|| Timestamps {
        value: packet.tsval,
        echo: packet.tsecr,
        now: timestamp(now),
    })
}

/// What the segments that an acknowledgement delivered tell.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    /// RTT by the first and the last segment delivered; none if one had been retransmitted.
    first_rtt: Option<Time>,
    last_rtt: Option<Time>,
    /// RTT by the last segment delivered cumulatively; none if it had been retransmitted.
    newest_rtt: Option<Time>,
    tainted: bool,
    /// Whether the cumulative acknowledgement delivered any.
    cumulatively: bool,
    /// A segment that was never retransmitted and left before the episode began.
    original_before_recovery: bool,
    /// The end of a duplicate that was reported.
    dsack: Option<u64>,
}

impl Sampled {
    #[inline]
    fn on_segment(&mut self, no_rtt: bool, rtt: Time) {
        self.newest_rtt = (!no_rtt).then_some(rtt);
        if no_rtt {
            self.tainted = true;
            self.first_rtt = None;
            self.last_rtt = None;
        } else if !self.tainted {
            self.first_rtt = self.first_rtt.or(Some(rtt));
            self.last_rtt = Some(rtt);
        }
    }

    #[inline]
    fn on_sacked(&mut self, no_rtt: bool, rtt: Time) {
        if !no_rtt && !self.tainted {
            self.first_rtt = self.first_rtt.or(Some(rtt));
            self.last_rtt = Some(rtt);
        }
    }
}
