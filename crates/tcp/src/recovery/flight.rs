//! What is in flight: the state that acknowledgements, loss recovery and transmission share.

use std::sync::Arc;

use cclab_cc::{Congestion, CongestionSample, Cx, EcnFeedback, WindowInRecovery};
use cclab_units::hint::{likely, rarely, unlikely};
use cclab_units::{Stream, Time};

use super::control::Control;
use super::episode::{Episode, Phase};
use super::linux::{Line, Linux};
use super::news::DUP_THRESH;
use crate::accecn::Accurate;
use crate::profile::{Profile, Recovery};
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;

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
    /// Acknowledgements with an ECN echo, or that tell of marks.
    pub ecn_echoes: u64,
    /// Marked packets that they tell of, where marks are counted.
    pub marks_told: u64,
}

/// What a sender has in flight, what limits it, and what is known of its losses.
///
/// Loss recovery reads and writes this and no more of a sender: handshake, application, send
/// buffer, pacing and packets are beyond it.
pub(crate) struct Flight {
    /// Shared by flows of one stack: it stays in the cache.
    pub profile: Arc<Profile>,
    pub recovery: Recovery,
    pub mss: u64,

    pub cc: Control,
    pub rng: Stream,
    pub window: WindowInRecovery,

    pub board: Scoreboard,
    pub rtt: RttEstimator,
    pub episode: Episode,
    pub counters: Counters,
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// What the application has offered so far, as an offset; it enters the send buffer as room
    /// appears there.
    pub written: u64,
    /// When the retransmission timer fires.
    pub rto_at: Time,

    /// Whether the flow uses ECN; where its feedback is accurate, what is known by it; and what the
    /// variant makes of marks.
    pub ecn: bool,
    pub accurate: Option<Box<Accurate>>,
    pub feedback: EcnFeedback,
    pub cwr_due: bool,
    /// `snd_nxt` at the last reduction by a mark.
    pub marked_until: Option<u64>,
}

impl Flight {
    /// The window in force: the variant's, or recovery's while losses are repaired.
    #[inline]
    pub fn window_in_force(&self) -> u64 {
        self.window_of(self.cc.cwnd())
    }

    #[inline]
    pub fn window_of(&self, cwnd: u64) -> u64 {
        if likely(self.cc.is_linux()) {
            return cwnd;
        }
        self.own_window_of(cwnd)
    }

    #[inline(never)]
    fn own_window_of(&self, cwnd: u64) -> u64 {
        match (self.window, self.recovery) {
            (WindowInRecovery::Own, Recovery::RackPrr) => cwnd,
            // Without SACK what inflates the window stands for what has left the network: it
            // belongs to the estimate of the pipe, whoever owns the window.
            _ => self.episode.window(self.recovery, cwnd, self.mss) + self.limited_transmit(),
        }
    }

    /// RFC 3042: new data on the first two duplicate ACKs. With SACK the scoreboard already
    /// counts them out of the network.
    fn limited_transmit(&self) -> u64 {
        let applies = self.profile.limited_transmit
            && self.episode.phase == Phase::Open
            && self.episode.dup_acks > 0
            && self.episode.dup_acks < DUP_THRESH
            && !self.recovery.uses_sack()
            && self.recovery != Recovery::Vegas;
        if applies {
            u64::from(self.episode.dup_acks) * self.mss
        } else {
            0
        }
    }

    /// Whole segments of `window`: Linux's stack counts its own in them.
    #[inline]
    pub fn segments_of(&self, window: u64) -> u64 {
        match &self.cc {
            Control::Linux(linux) if window == linux.cwnd() => u64::from(linux.tcp.snd_cwnd),
            _ => {
                rarely();
                window / self.mss
            }
        }
    }

    #[inline]
    pub fn fits(&self, len: u64, window: u64) -> bool {
        if self.cc.is_linux() {
            return self.board.segments_in_flight() < self.segments_of(window);
        }
        rarely();
        let in_flight = self.board.in_flight();
        in_flight + len <= window || in_flight == 0
    }

    /// Linux's stack, where it keeps the window, and what it works on.
    #[inline]
    pub fn linux(&mut self, now: Time) -> Option<(&mut Linux, Line<'_>)> {
        let Control::Linux(linux) = &mut self.cc else {
            rarely();
            return None;
        };
        let line = Line {
            now,
            board: &mut self.board,
            rack: &mut self.episode.rack,
            rtt: &mut self.rtt,
            counters: &mut self.counters,
            cwr_due: &mut self.cwr_due,
            rto_at: &mut self.rto_at,
            probe_at: &mut self.episode.probe_at,
            reorder_at: &mut self.episode.reorder_at,
            profile: &self.profile,
            ecn: self.ecn,
            accurate: &mut self.accurate,
            snd_una: &mut self.snd_una,
            snd_nxt: self.snd_nxt,
        };
        Some((linux, line))
    }

    /// Whether losses are being repaired, whether acknowledgements or the timer found them.
    pub fn in_recovery(&self) -> bool {
        match &self.cc {
            Control::Linux(linux) => linux.in_recovery(),
            Control::Own(_) => self.episode.phase() != Phase::Open,
        }
    }

    /// Whether losses or a mark are being dealt with, and whether after a timeout.
    pub fn congestion_seen(&self) -> (bool, bool) {
        match &self.cc {
            Control::Linux(linux) => linux.congestion_seen(),
            Control::Own(_) => {
                let phase = self.episode.phase();
                (phase != Phase::Open, phase == Phase::Loss)
            }
        }
    }

    /// Tells the variant of congestion.
    pub fn congestion(&mut self, now: Time, kind: Congestion, repeated: bool) {
        // Whatever the reason (RFC 3168 section 6.1.2); not beside counts (RFC 9768 section 3.1.5).
        self.cwr_due = self.ecn && self.accurate.is_none();
        let at = CongestionSample {
            flight_size: self.board.outstanding(),
            in_flight: self.board.in_flight(),
            snd_nxt: self.snd_nxt,
            repeated,
        };
        self.cc.own().on_congestion(
            kind,
            &at,
            &mut Cx {
                now,
                rng: &mut self.rng,
            },
        );
    }

    /// Tells the variant what was taken for lost, if it wants to know.
    #[inline]
    pub fn tell_losses(&mut self, now: Time) {
        if unlikely(self.board.tells()) {
            self.tell_each(now);
        }
    }

    #[inline(never)]
    fn tell_each(&mut self, now: Time) {
        for segment in self.board.lists.just_lost.drain(..) {
            let rng = &mut self.rng;
            self.cc.own().on_lost(&segment, &mut Cx { now, rng });
        }
    }
}
