//! A variant of Linux's stack on another stack: it is lent a window and called as nearly in the
//! kernel's order as that stack's events allow.

use cclab_interface::{
    AckSample as PktsAcked, CaEvent, CaState, CongestionOps, PacingStatus, RateSample as OpsRate,
    Resumption, StateColumn, TCP_INFINITE_SSTHRESH, Tcp, ack_flags,
};
use cclab_units::{Rate, Time};

use crate::window::{MAX_WINDOW, segments};
use crate::{
    AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx, Repair, StampClocks,
};

/// `TCP_ECN_OK` of [`Tcp::ecn_flags`].
const ECN_OK: u32 = 1;

/// The variant `ops` with a window of its own, at the start of a connection.
pub(crate) fn lent(
    config: &Config,
    ops: impl CongestionOps + 'static,
) -> Box<dyn CongestionControl> {
    Box::new(Lent::new(config, ops))
}

/// A variant whose window is lent to it, at one flow.
pub struct Lent<O> {
    /// The connection as the variant sees it.
    pub(crate) tcp: Tcp,
    pub(crate) ops: O,
    mss: u64,
    initial: u32,
    clocks: StampClocks,
    /// Where the episode ends that keeps the stack out of its state Open.
    open_from: Option<u64>,
    /// `ssthresh` was asked for in this episode: undo gives back what was before.
    may_undo: bool,
}

impl<O: CongestionOps> Lent<O> {
    /// The variant `ops` at the start of a connection.
    pub fn new(config: &Config, ops: O) -> Lent<O> {
        let initial = (segments(config.initial_window, config.mss).max(1)) as u32;
        let tcp = Tcp {
            snd_cwnd: initial,
            snd_cwnd_clamp: (MAX_WINDOW / config.mss).min(u64::from(u32::MAX)) as u32,
            snd_ssthresh: match config.initial_ssthresh {
                u64::MAX => TCP_INFINITE_SSTHRESH,
                bytes => (bytes / config.mss).clamp(2, u64::from(TCP_INFINITE_SSTHRESH)) as u32,
            },
            mss_cache: config.mss as u32,
            // Until the handshake tells.
            ecn_flags: ECN_OK,
            ..Tcp::default()
        };
        Lent {
            tcp,
            ops,
            mss: config.mss,
            initial,
            clocks: StampClocks::of(&config.params),
            open_from: None,
            may_undo: false,
        }
    }

    /// Whole segments of `bytes`, a partial one counted.
    fn whole(&self, bytes: u64) -> u32 {
        segments(bytes, self.mss) as u32
    }

    fn set_clock(&mut self, now: Time) {
        self.tcp.tcp_mstamp = now.as_micros() + self.clocks.uptime_us();
        self.tcp.tcp_clock_cache = now.as_nanos();
        self.tcp.jiffies = now.as_millis();
    }

    fn set_state(&mut self, new: CaState) {
        self.ops.set_state(&mut self.tcp, new);
        self.tcp.ca_state = new as u8;
    }

    /// Takes in what the stack says of the connection.
    fn observe(&mut self, ack: &AckSample, now: Time) {
        self.set_clock(now);
        let lost = self.whole(ack.lost);
        let marked = self.whole(ack.newly_marked);
        let out = self.whole(ack.snd_nxt.saturating_sub(ack.snd_una));
        let in_flight = self.whole(ack.in_flight);
        let tcp = &mut self.tcp;
        tcp.srtt_us = (ack.srtt.as_micros() << 3) as u32;
        tcp.rtt_min_us = match ack.min_rtt {
            Time::ZERO => u32::MAX,
            least => least.as_micros() as u32,
        };
        tcp.snd_una = ack.snd_una as u32;
        tcp.snd_nxt = ack.snd_nxt as u32;
        tcp.packets_out = out;
        // Of what left the network, how much by SACK and how much by loss other stacks do not say.
        tcp.sacked_out = out.saturating_sub(in_flight);
        tcp.lost_out = 0;
        tcp.retrans_out = in_flight.saturating_sub(out);
        tcp.delivered = (ack.delivered / self.mss) as u32;
        tcp.delivered_mstamp = tcp.tcp_mstamp;
        tcp.lost = lost;
        tcp.is_cwnd_limited = u32::from(ack.cwnd_limited);
        tcp.max_packets_out = 0;
        tcp.saw_tstamp = u32::from(ack.stamps.is_some());
        if let Some(stamps) = ack.stamps {
            self.clocks.stamp(tcp, stamps.value, stamps.echo);
        }
        tcp.delivered_ce = tcp.delivered_ce.wrapping_add(marked);
    }

    /// The state that the acknowledgement finds.
    fn state(&self, ack: &AckSample) -> CaState {
        match ack.repair {
            Repair::Timeout => CaState::Loss,
            Repair::Losses => CaState::Recovery,
            Repair::Nothing if self.open_from.is_some() => self.tcp.ca(),
            Repair::Nothing if ack.newly_acked == 0 && ack.newly_delivered > 0 => CaState::Disorder,
            Repair::Nothing => CaState::Open,
        }
    }

    /// `tcp_cwnd_restart`: halved for each timeout spent idle, down to the initial window.
    fn restart(&mut self, idle: Time, rto: Time) {
        self.ops.cwnd_event(&mut self.tcp, CaEvent::CwndRestart);
        let tcp = &mut self.tcp;
        tcp.snd_ssthresh = tcp.current_ssthresh();
        let floor = self.initial.min(tcp.snd_cwnd);
        let mut cwnd = tcp.snd_cwnd;
        let mut left = idle - rto;
        while left > Time::ZERO && cwnd > floor {
            cwnd >>= 1;
            left = left - rto;
        }
        tcp.snd_cwnd = cwnd.max(floor);
        tcp.snd_cwnd_stamp = tcp.jiffies32();
    }

    fn rate_sample(&self, ack: &AckSample) -> OpsRate {
        let losses = self.whole(ack.newly_lost) as i32;
        let acked_sacked = self.whole(ack.newly_delivered);
        let rtt_us = ack.rtt.map_or(-1, |rtt| rtt.as_micros().max(1) as i64);
        let none = OpsRate {
            delivered: -1,
            interval_us: -1,
            rtt_us,
            losses,
            acked_sacked,
            prior_in_flight: self.whole(ack.prior_in_flight),
            ..OpsRate::default()
        };
        match ack.rate {
            None => none,
            Some(rate) => OpsRate {
                prior_mstamp: (self.tcp.tcp_mstamp).saturating_sub(rate.interval.as_micros()),
                prior_delivered: (rate.prior_delivered / self.mss) as u32,
                delivered: self.whole(rate.delivered) as i32,
                interval_us: rate.interval.as_micros() as i64,
                is_app_limited: u8::from(rate.app_limited),
                ..none
            },
        }
    }
}

impl<O: CongestionOps> CongestionControl for Lent<O> {
    fn on_established(&mut self, rtt: Option<Time>, cx: &mut Cx<'_>) {
        self.set_clock(cx.now);
        self.tcp.dice = cx.rng.fork().bits();
        self.tcp.delivered_mstamp = self.tcp.tcp_mstamp;
        self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        if let Some(rtt) = rtt {
            self.tcp.srtt_us = (rtt.as_micros() << 3) as u32;
            self.tcp.rtt_min_us = rtt.as_micros() as u32;
        }
        self.ops.init(&mut self.tcp);
    }

    fn without_ecn(&mut self) {
        self.tcp.ecn_flags &= !ECN_OK;
    }

    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        self.observe(ack, cx.now);
        let acked = self.whole(ack.newly_delivered);
        let state = self.state(ack);
        if state == CaState::Disorder && self.tcp.ca() == CaState::Open {
            self.tcp.ca_state = state as u8;
        }
        if ack.newly_acked > 0 || ack.newly_delivered > 0 {
            let sample = PktsAcked {
                pkts_acked: self.whole(ack.newly_acked),
                rtt_us: ack.rtt.map_or(-1, |rtt| rtt.as_micros().max(1) as i32),
                in_flight: self.whole(ack.prior_in_flight),
            };
            self.ops.pkts_acked(&mut self.tcp, &sample);
        }
        let flags = if ack.ece { ack_flags::ECE } else { 0 };
        self.ops
            .in_ack_event(&mut self.tcp, flags | ack_flags::SLOWPATH);
        let over = self.open_from.is_some_and(|end| ack.snd_una >= end);
        if over && !ack.in_recovery {
            self.open_from = None;
            if self.tcp.in_cwnd_reduction() {
                self.ops.cwnd_event(&mut self.tcp, CaEvent::CompleteCwr);
            }
            self.set_state(CaState::Open);
        } else if self.open_from.is_none() && self.tcp.ca_state != CaState::Open as u8 {
            let back = state == CaState::Open;
            if back {
                self.set_state(CaState::Open);
            }
        }
        if self.ops.has_cong_control() {
            let sample = self.rate_sample(ack);
            let una = self.tcp.snd_una;
            self.ops.cong_control(&mut self.tcp, una, 0, &sample);
        } else if ack.newly_acked > 0 && !ack.in_recovery && !ack.ece {
            let una = self.tcp.snd_una;
            self.ops.cong_avoid(&mut self.tcp, una, acked);
            self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        }
        self.tcp.snd_cwnd = self.tcp.snd_cwnd.min(self.tcp.snd_cwnd_clamp);
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, cx: &mut Cx<'_>) {
        self.set_clock(cx.now);
        self.open_from = Some(at.snd_nxt);
        self.tcp.high_seq = at.snd_nxt as u32;
        self.tcp.packets_out = self.whole(at.flight_size);
        let timeout = kind == Congestion::Rto;
        if !(timeout && at.repeated) {
            self.tcp.prior_cwnd = self.tcp.snd_cwnd;
            self.tcp.prior_ssthresh = self.tcp.snd_ssthresh;
            self.may_undo = true;
            self.tcp.snd_ssthresh = self.ops.ssthresh(&mut self.tcp);
        }
        let state = match kind {
            Congestion::Rto => CaState::Loss,
            Congestion::Loss => CaState::Recovery,
            Congestion::Ecn => CaState::Cwr,
        };
        if timeout {
            self.ops.cwnd_event(&mut self.tcp, CaEvent::Loss);
            self.tcp.snd_cwnd = 1;
            self.tcp.snd_cwnd_cnt = 0;
            self.set_state(state);
        } else {
            self.set_state(state);
            if !self.ops.has_cong_control() {
                self.tcp.snd_cwnd = self.tcp.snd_cwnd.min(self.tcp.snd_ssthresh);
                self.tcp.snd_cwnd_cnt = 0;
            }
        }
        self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
    }

    fn on_undo(&mut self, cx: &mut Cx<'_>) {
        self.set_clock(cx.now);
        self.open_from = None;
        if std::mem::take(&mut self.may_undo) {
            self.tcp.snd_cwnd = self.ops.undo_cwnd(&mut self.tcp);
            self.tcp.snd_ssthresh = self.tcp.snd_ssthresh.max(self.tcp.prior_ssthresh);
        }
        if self.tcp.in_cwnd_reduction() {
            self.ops.cwnd_event(&mut self.tcp, CaEvent::CompleteCwr);
        }
        self.set_state(CaState::Open);
    }

    fn on_restart(&mut self, idle: Time, rto: Time, cx: &mut Cx<'_>) {
        self.set_clock(cx.now);
        let last = cx.now.as_millis().saturating_sub(idle.as_millis());
        self.tcp.lsndtime = last as u32;
        self.ops.cwnd_event(&mut self.tcp, CaEvent::TxStart);
        if idle > rto && rto > Time::ZERO && !self.ops.has_cong_control() {
            self.restart(idle, rto);
        }
    }

    fn resume(&mut self, step: Resumption) -> bool {
        self.ops.resume(&mut self.tcp, step)
    }

    fn cwnd(&self) -> u64 {
        u64::from(self.tcp.snd_cwnd) * self.mss
    }

    fn ssthresh(&self) -> u64 {
        match self.tcp.snd_ssthresh {
            TCP_INFINITE_SSTHRESH.. => u64::MAX,
            segments => u64::from(segments) * self.mss,
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let asked = self.tcp.pacing_status == PacingStatus::Needed as u32;
        let limited = self.tcp.pacing_rate < u64::MAX;
        let rate = Rate::from_bps(self.tcp.pacing_rate.saturating_mul(8));
        rate.filter(|_| asked && limited)
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        self.ops.state_columns()
    }

    fn tell_state(&self, values: &mut [f64]) {
        self.ops.tell_state(&self.tcp, values);
    }
}
