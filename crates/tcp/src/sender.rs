//! The sending side of a flow, sans-I/O: packets and instants in, packets and deadlines out.
//!
//! ```text
//! connect -> poll_transmit* -> on_packet -> poll_transmit* -> on_timer -> poll_transmit* ...
//! ```
//!
//! Positions in the stream are 64-bit offsets from the first byte of data; the 32-bit numbers
//! of the wire exist only at the edges.

use cclab_cc::{
    AckSample, Arithmetic, Congestion, CongestionControl, CongestionSample, Cx, RateSample,
};
use cclab_packet::{MAX_SACK_BLOCKS, Packet, flags};
use cclab_units::{Stream, Time};

use crate::limits::Limits;
use crate::pacing::Pacer;
use crate::profile::{Profile, Recovery, RttClock};
use crate::rate::RateEstimator;
use crate::receiver::timestamp;
use crate::recovery::Episode;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::seq;

/// What a sender is built from.
pub struct Config {
    /// Index of the flow.
    pub flow: u32,
    /// How the stack behaves.
    pub profile: Profile,
    /// How lost data is found and repaired.
    pub recovery: Recovery,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial sequence number.
    pub isn: u32,
    /// Whether the flow asks for ECN.
    pub ecn: bool,
    /// Window control, and what it was built from: a lost SYN builds it again with a window of
    /// one segment (RFC 5681 section 3.1).
    pub cc: cclab_cc::Config,
    /// Builds the window control.
    pub build_cc: fn(&cclab_cc::Config) -> Box<dyn CongestionControl>,
    /// The flow's stream of random numbers.
    pub rng: Stream,
}

/// Where a connection is (RFC 9293 section 3.3.2, the active opener's side).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not started.
    Closed,
    /// SYN to send or sent.
    SynSent,
    /// Data flows.
    Established,
    /// The FIN is acknowledged.
    Finished,
    /// Given up after too many timeouts in a row.
    Aborted,
}

/// Timeouts in a row before a connection is given up (RFC 9293 section 3.8.3, R2; Linux
/// `tcp_retries2`).
const MAX_RETRIES: u32 = 15;

/// What a sender did over its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Episodes of recovery that were not timeouts.
    pub fast_recoveries: u64,
    /// Reductions undone as spurious.
    pub undos: u64,
    /// Tail loss probes.
    pub tail_loss_probes: u64,
    /// Acknowledgements with an ECN echo.
    pub ecn_echoes: u64,
}

/// What the last acknowledgement told, for traces.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastAck {
    /// Bytes newly acknowledged cumulatively.
    pub newly_acked: u64,
    /// Round-trip time it measured.
    pub rtt: Option<Time>,
    /// Delivery rate it measured.
    pub rate: Option<RateSample>,
}

/// The sending side of a flow.
pub struct Sender {
    pub(crate) flow: u32,
    pub(crate) profile: Profile,
    pub(crate) recovery: Recovery,
    pub(crate) mss: u64,
    pub(crate) isn: u32,
    cc_config: cclab_cc::Config,
    build_cc: fn(&cclab_cc::Config) -> Box<dyn CongestionControl>,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) rng: Stream,

    pub(crate) state: State,
    /// SYN, handshake ACK, probe: control packets waiting to leave.
    pub(crate) syn_due: bool,
    pub(crate) ack_due: bool,
    pub(crate) window_probe_due: bool,
    syn_sent: Time,
    syn_tries: u32,
    pub(crate) ecn: bool,
    pub(crate) cwr_due: bool,
    /// `snd_nxt` at the last reduction by a mark.
    marked_until: Option<u64>,

    pub(crate) board: Scoreboard,
    pub(crate) rtt: RttEstimator,
    pub(crate) rate: RateEstimator,
    pub(crate) episode: Episode,
    pub(crate) pacer: Pacer,
    pub(crate) limits: Limits,
    pub(crate) counters: Counters,
    last_ack: LastAck,

    pub(crate) snd_una: u64,
    pub(crate) snd_nxt: u64,
    /// What the application has offered so far, as an offset; it enters the send buffer as room
    /// appears there.
    pub(crate) written: u64,
    /// The application has closed: `written` is final.
    pub(crate) closed: bool,
    pub(crate) rwnd: u64,
    window_shift: u32,
    /// Latest timestamp of the peer, to echo.
    pub(crate) ts_recent: u32,
    pub(crate) peer_seq: u32,
    /// When data last left (idle restart).
    pub(crate) last_sent: Time,
    pub(crate) rto_at: Time,
    persist_at: Time,
    persist_backoff: u32,
    timeouts_in_row: u32,
    cwnd_usage: CwndUsage,
    /// The segment being timed, for clocks that time one per round.
    pub(crate) timed: Option<Timed>,
}

/// A segment being timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    pub end: u64,
    pub sent: Time,
}

/// Whether the window is what limits the sender, judged once per round (Linux
/// `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct CwndUsage {
    limited: bool,
    max_in_flight: u64,
    round_end: u64,
}

impl Sender {
    /// A sender that has not started.
    pub fn new(config: Config) -> Sender {
        let Config {
            flow,
            profile,
            recovery,
            mss,
            isn,
            ecn,
            cc,
            build_cc,
            rng,
        } = config;
        Sender {
            flow,
            recovery,
            mss: u64::from(mss),
            isn,
            cc_config: cc,
            build_cc,
            cc: build_cc(&cc),
            rng,
            state: State::Closed,
            syn_due: false,
            ack_due: false,
            window_probe_due: false,
            syn_sent: Time::ZERO,
            syn_tries: 0,
            ecn,
            cwr_due: false,
            marked_until: None,
            board: Scoreboard::default(),
            rtt: RttEstimator::new(&profile.rto),
            rate: RateEstimator::default(),
            episode: Episode::default(),
            pacer: Pacer::default(),
            limits: Limits::default(),
            counters: Counters::default(),
            last_ack: LastAck::default(),
            snd_una: 0,
            snd_nxt: 0,
            written: 0,
            closed: false,
            rwnd: 0,
            window_shift: 0,
            ts_recent: 0,
            peer_seq: 0,
            last_sent: Time::ZERO,
            rto_at: Time::NEVER,
            persist_at: Time::NEVER,
            persist_backoff: 0,
            timeouts_in_row: 0,
            cwnd_usage: CwndUsage::default(),
            timed: None,
            profile,
        }
    }

    /// Begins the handshake.
    pub fn connect(&mut self, now: Time) {
        self.state = State::SynSent;
        self.syn_due = true;
        self.syn_tries = 0;
        self.limits.start(now, self.cc.cwnd());
    }

    /// The application offers its stream up to offset `to`; what was offered stays so.
    pub fn write(&mut self, to: u64) {
        if !self.closed {
            self.written = self.written.max(to);
        }
    }

    /// The application has nothing more to write.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The application has nothing more to write and what it wrote but was never sent is
    /// dropped: a flow whose time is up.
    pub fn close_now(&mut self) {
        let fin_sent = self.closed && self.snd_nxt > self.written;
        if !fin_sent {
            self.written = self.snd_nxt;
            self.closed = true;
        }
    }

    /// Where the connection is.
    pub fn state(&self) -> State {
        self.state
    }

    /// What the sender did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What held the sender back so far.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the last acknowledgement told.
    pub fn last_ack(&self) -> &LastAck {
        &self.last_ack
    }

    /// Round-trip times.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The window control.
    pub fn cc(&self) -> &dyn CongestionControl {
        &*self.cc
    }

    /// The scoreboard.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// First unacknowledged offset.
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Next new offset.
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// Window last advertised by the receiver, in bytes.
    pub fn rwnd(&self) -> u64 {
        self.rwnd
    }

    /// Bytes of data acknowledged cumulatively.
    pub fn bytes_acked(&self) -> u64 {
        self.snd_una.min(self.written)
    }

    /// Whether losses are being repaired, whether acknowledgements or the timer found them.
    pub fn in_recovery(&self) -> bool {
        self.episode.phase() != crate::recovery::Phase::Open
    }

    /// The offset of sequence number `seq` on the wire.
    pub fn offset_of(&self, seq: u32) -> u64 {
        seq::unwrap(seq.wrapping_sub(self.isn.wrapping_add(1)), self.snd_una)
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// Takes in a packet from the receiver.
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        match self.state {
            State::SynSent => self.on_syn_ack(now, packet),
            State::Established => self.on_ack(now, packet),
            State::Closed | State::Finished | State::Aborted => {}
        }
    }

    fn on_syn_ack(&mut self, now: Time, packet: &Packet) {
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
        self.ecn &= packet.has(flags::ECE);
        self.rto_at = Time::NEVER;
        if self.syn_tries <= 1 {
            self.rtt
                .on_sample(self.rtt.quantise(self.syn_sent, now), 0, 0);
        } else {
            self.on_syn_lost(now, packet);
        }
        self.limits.on_cwnd(now, self.cc.cwnd());
    }

    /// The handshake is done, but not with the first SYN: which of them was answered only
    /// timestamps tell (Karn).
    fn on_syn_lost(&mut self, now: Time, packet: &Packet) {
        if self.syn_tries > self.profile.syn.restart_from {
            self.cc_config.initial_window = self.cc_config.mss;
            self.cc = (self.build_cc)(&self.cc_config);
        }
        self.rtt.on_new_ack();
        match self.echoed_rtt(now, packet) {
            Some(rtt) => self.rtt.on_sample(rtt, 0, 0),
            None => self.rtt.start_from(self.profile.syn.fallback),
        }
    }

    fn on_ack(&mut self, now: Time, packet: &Packet) {
        if packet.has(flags::SYN) {
            self.ack_due = true; // our handshake ACK was lost
            return;
        }
        if !packet.has(flags::ACK) {
            return;
        }
        let ack = seq::unwrap(
            packet.ack.wrapping_sub(self.isn.wrapping_add(1)),
            self.snd_una,
        );
        if ack > self.snd_nxt || ack < self.snd_una {
            return; // never sent, or older than what is known (RFC 9293 section 3.10.7.4)
        }
        let rwnd = u64::from(packet.window) << self.window_shift;
        let same_window = rwnd == self.rwnd;
        self.rwnd = rwnd;
        if packet.tsval != 0 {
            self.ts_recent = packet.tsval;
        }
        if self.persist_at != Time::NEVER && rwnd > 0 {
            self.persist_at = Time::NEVER;
        }

        let prior_in_flight = self.board.in_flight();
        let prior_delivered = self.rate.delivered();
        let outstanding = !self.board.is_empty();
        let advanced = ack > self.snd_una;
        let mut sampled = Sampled::default();
        let highest_sacked = self
            .board
            .highest_sacked()
            .map(|id| self.board.get(id).end());
        if advanced {
            self.acknowledge(now, ack, highest_sacked, &mut sampled);
        }
        if packet.sack_len > 0 && self.recovery.uses_sack() {
            self.select(now, packet, &mut sampled);
        }
        let newly_acked = ack - self.snd_una;
        self.snd_una = ack;
        if advanced {
            self.timeouts_in_row = 0;
        }
        let rtt = self
            .rtt_sample(now, packet, &sampled)
            .or_else(|| self.echoed_rtt(now, packet).filter(|_| advanced));
        // RFC 6298 section 5: a backed-off timeout stays until a sample replaces it. Where samples
        // are of the timestamp echo only (ns-3), any new acknowledgement does.
        let echo_clock = matches!(self.profile.rto.clock, RttClock::Echo(_));
        if rtt.is_some() || (advanced && echo_clock) {
            self.rtt.on_new_ack();
        }
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt, self.snd_una, self.snd_nxt);
        }
        let newly_delivered = self.rate.delivered() - prior_delivered;
        let rate = self.rate.on_ack(now, self.rtt.min_rtt());

        let news = AckNews {
            ack,
            advanced,
            newly_acked,
            newly_delivered,
            duplicate: !advanced
                && outstanding
                && packet.payload == 0
                && (same_window || newly_delivered > 0 || !self.profile.careful_fast_retransmit),
            dsack: sampled.dsack.is_some(),
            dsack_end: sampled.dsack.unwrap_or(0),
            original_delivered: sampled.original_before_recovery,
            tsecr: packet.tsecr,
        };
        let growth_allowed = self.is_cwnd_limited();
        let was_recovery = self.episode.is_recovery();
        let newly_lost = self.on_news(now, &news);
        if packet.has(flags::ECE) && self.ecn {
            self.on_ecn_echo(now);
        }

        let sample = AckSample {
            newly_acked,
            newly_delivered,
            newly_lost,
            prior_in_flight,
            in_flight: self.board.in_flight(),
            rtt: sampled.last_rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivered: self.rate.delivered(),
            rate,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            cwnd_limited: growth_allowed,
            in_recovery: self.episode.is_recovery() || (was_recovery && self.leaves_at_ssthresh()),
            ece: packet.has(flags::ECE),
        };
        if newly_acked > 0 || newly_delivered > 0 {
            self.cc.on_ack(
                &sample,
                &mut Cx {
                    now,
                    rng: &mut self.rng,
                },
            );
        }
        self.last_ack = LastAck {
            newly_acked,
            rtt: rtt.or(sampled.last_rtt),
            rate,
        };

        if advanced {
            if !self.is_impatient() {
                self.restart_rto(now);
            }
            if self.closed && self.snd_una > self.written {
                self.stop(now, State::Finished);
            }
        }
        self.arm_loss_probe(now);
        self.limits.on_cwnd(now, self.window());
    }

    /// Takes `ack` off the scoreboard.
    fn acknowledge(
        &mut self,
        now: Time,
        ack: u64,
        highest_sacked: Option<u64>,
        sampled: &mut Sampled,
    ) {
        let Sender {
            board,
            rate,
            episode,
            rtt,
            ..
        } = self;
        let min_rtt = rtt.min_rtt();
        board.acknowledge(ack, |segment| {
            rate.on_delivered(segment);
            episode.rack.on_delivered(segment, now, min_rtt);
            if !segment.ever_resent {
                if highest_sacked.is_some_and(|high| segment.end() <= high) {
                    episode.rack.on_reordering();
                }
                sampled.original_before_recovery |= segment.end() <= episode.recover();
            }
            sampled.on_segment(segment.no_rtt, now - segment.sent);
        });
    }

    /// Takes the SACK blocks of `packet` in.
    fn select(&mut self, now: Time, packet: &Packet, sampled: &mut Sampled) {
        let base = self.isn.wrapping_add(1);
        let mut blocks = [(0, 0); MAX_SACK_BLOCKS];
        let mut len = 0;
        for (i, &(left, right)) in packet.sack_blocks().iter().enumerate() {
            let left = seq::unwrap(left.wrapping_sub(base), self.snd_una);
            let right = seq::unwrap(right.wrapping_sub(base), self.snd_una);
            // RFC 2883 section 4: below the ACK, or inside the second block.
            let second = packet.sack_blocks().get(1).map(|&(l, r)| {
                let l = seq::unwrap(l.wrapping_sub(base), self.snd_una);
                (l, seq::unwrap(r.wrapping_sub(base), self.snd_una))
            });
            let acked = seq::unwrap(packet.ack.wrapping_sub(base), self.snd_una);
            let inside = i == 0 && second.is_some_and(|(l, r)| l <= left && right <= r);
            if left < right && (right <= acked || inside) {
                sampled.dsack = Some(right);
            } else if left < right && left >= acked && right <= self.snd_nxt {
                blocks[len] = (left, right);
                len += 1;
            }
        }
        let Sender {
            board,
            rate,
            episode,
            rtt,
            ..
        } = self;
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
    fn echoed_rtt(&self, now: Time, packet: &Packet) -> Option<Time> {
        if !self.profile.rto.echo_of_retransmissions || packet.tsecr == 0 {
            return None;
        }
        let ticks = timestamp(now).wrapping_sub(packet.tsecr);
        Some(Time::from_millis(u64::from(ticks.max(1))))
    }

    /// The RTT sample for the timer, by the profile's clock.
    fn rtt_sample(&mut self, now: Time, packet: &Packet, sampled: &Sampled) -> Option<Time> {
        let first = sampled.first_rtt?;
        match self.profile.rto.clock {
            RttClock::SendTime => Some(first),
            RttClock::Echo(_) => {
                let echoed = Time::from_millis(u64::from(packet.tsecr.checked_sub(1)?));
                Some(self.rtt.quantise(echoed, now))
            }
            RttClock::OnePerRound(_) => {
                let timed = self.timed.filter(|t| self.snd_una >= t.end)?;
                self.timed = None;
                Some(self.rtt.quantise(timed.sent, now))
            }
        }
    }

    /// RFC 3168 section 6.1.2: one reduction per window of data, whether losses or marks showed
    /// the congestion. Echoes go on until the receiver has seen CWR, which came after that window.
    fn on_ecn_echo(&mut self, now: Time) {
        self.counters.ecn_echoes += 1;
        let reduced_until = self.marked_until.max(self.episode.recover);
        if reduced_until.is_none_or(|until| self.snd_una > until) {
            self.marked_until = Some(self.snd_nxt);
            self.episode.undo.end(); // what it knows is of an earlier reduction
            self.congestion(now, Congestion::Ecn, false);
        }
    }

    /// Whether a mark already reduced the window for the data that is outstanding first.
    pub(crate) fn reduced_by_mark(&self) -> bool {
        self.marked_until.is_some_and(|until| self.snd_una < until)
    }

    /// Tells the variant of congestion.
    pub(crate) fn congestion(&mut self, now: Time, kind: Congestion, repeated: bool) {
        self.cwr_due = self.ecn; // whatever the reason (RFC 3168 section 6.1.2)
        let at = CongestionSample {
            flight_size: self.board.outstanding(),
            in_flight: self.board.in_flight(),
            snd_nxt: self.snd_nxt,
            repeated,
        };
        self.cc.on_congestion(
            kind,
            &at,
            &mut Cx {
                now,
                rng: &mut self.rng,
            },
        );
    }

    /// RFC 6298 section 5: restarted by each ACK of new data, off when nothing is outstanding.
    fn restart_rto(&mut self, now: Time) {
        self.rto_at = if self.board.is_empty() {
            Time::NEVER
        } else {
            now + self.rtt.rto()
        };
    }

    /// Whether the acknowledgement that ends recovery leaves the window at ssthresh (RFC 5681
    /// section 3.2 step 6, RFC 6582 section 3.2 step 3): it covers a window of data, which would
    /// count as growth. The other stacks count a step for each acknowledgement, or what it
    /// delivers, and grow by it.
    fn leaves_at_ssthresh(&self) -> bool {
        self.profile.arithmetic == Arithmetic::Bytes
    }

    /// Whether the timer runs on from an earlier partial acknowledgement.
    fn is_impatient(&self) -> bool {
        self.profile.impatient && self.episode.is_recovery() && self.episode.partial_acks > 1
    }

    fn stop(&mut self, now: Time, state: State) {
        self.state = state;
        self.rto_at = Time::NEVER;
        self.persist_at = Time::NEVER;
        self.episode.stop_timers();
        self.limits.stop(now);
    }

    /// The window in force: the variant's, or recovery's while losses are repaired.
    pub fn window(&self) -> u64 {
        self.episode.window(self.recovery, self.cc.cwnd(), self.mss) + self.limited_transmit()
    }

    fn is_cwnd_limited(&self) -> bool {
        let usage = &self.cwnd_usage;
        let cwnd = self.cc.cwnd();
        if cwnd < self.cc.ssthresh() {
            return cwnd < 2 * usage.max_in_flight.max(self.mss);
        }
        usage.limited
    }

    pub(crate) fn note_cwnd_usage(&mut self, limited: bool) {
        let usage = &mut self.cwnd_usage;
        let in_flight = self.board.outstanding();
        if self.snd_una >= usage.round_end
            || limited
            || (!usage.limited && in_flight > usage.max_in_flight)
        {
            *usage = CwndUsage {
                limited,
                max_in_flight: in_flight,
                round_end: self.snd_nxt,
            };
        }
    }

    /// When [`Sender::on_timer`] wants to be called.
    pub fn deadline(&self) -> Time {
        self.rto_at
            .min(self.persist_at)
            .min(self.episode.deadline())
            .min(self.pacer.deadline())
    }

    /// Something is due.
    pub fn on_timer(&mut self, now: Time) {
        self.pacer.on_timer(now);
        if self.episode.reorder_at <= now {
            self.episode.reorder_at = Time::NEVER;
            self.on_reorder_timer(now);
        }
        if self.episode.probe_at <= now {
            self.episode.probe_at = Time::NEVER;
            self.on_probe_timer(now);
        }
        if self.persist_at <= now {
            self.on_persist_timer(now);
        }
        if self.rto_at <= now {
            self.rto_at = Time::NEVER;
            match self.state {
                State::SynSent if self.syn_tries > self.profile.syn.retries => {
                    self.stop(now, State::Aborted)
                }
                State::SynSent => {
                    self.syn_due = true;
                    if self.syn_tries > self.profile.syn.linear_timeouts {
                        self.rtt.back_off();
                    }
                }
                State::Established if self.timeouts_in_row >= MAX_RETRIES => {
                    self.stop(now, State::Aborted);
                }
                State::Established => {
                    self.timeouts_in_row += 1;
                    self.on_rto(now);
                }
                State::Closed | State::Finished | State::Aborted => {}
            }
        }
        self.limits.on_cwnd(now, self.window());
    }

    /// RFC 9293 section 3.8.6.1: a closed window is probed, ever more rarely.
    fn on_persist_timer(&mut self, now: Time) {
        self.window_probe_due = true;
        self.persist_backoff = (self.persist_backoff + 1).min(16);
        self.arm_persist(now);
    }

    pub(crate) fn start_persist(&mut self, now: Time) {
        if self.persist_at == Time::NEVER {
            self.persist_backoff = 0;
            self.arm_persist(now);
        }
    }

    fn arm_persist(&mut self, now: Time) {
        let wait = self.rtt.rto() * (1 << self.persist_backoff);
        self.persist_at = now + wait.min(self.profile.rto.max);
    }

    pub(crate) fn on_syn_sent(&mut self, now: Time) {
        self.syn_due = false;
        self.syn_sent = now;
        self.syn_tries += 1;
        self.rto_at = now + self.rtt.rto();
    }
}

/// What the segments that an acknowledgement delivered tell.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    /// RTT by the first and the last segment delivered; none if one had been retransmitted.
    first_rtt: Option<Time>,
    last_rtt: Option<Time>,
    tainted: bool,
    /// A segment that was never retransmitted and left before the episode began.
    original_before_recovery: bool,
    /// The end of a duplicate that was reported.
    dsack: Option<u64>,
}

impl Sampled {
    #[inline]
    fn on_segment(&mut self, no_rtt: bool, rtt: Time) {
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

/// What an acknowledgement means for loss recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckNews {
    pub ack: u64,
    pub advanced: bool,
    pub newly_acked: u64,
    pub newly_delivered: u64,
    /// A duplicate acknowledgement (RFC 5681 section 2).
    pub duplicate: bool,
    /// A duplicate segment was reported (RFC 2883).
    pub dsack: bool,
    /// Where what was reported ends; 0 if nothing was.
    pub dsack_end: u64,
    /// A segment was delivered that left before the episode and was never retransmitted.
    pub original_delivered: bool,
    pub tsecr: u32,
}
