//! General AIMD in real numbers: the window of `w` segments grows by `a(w)` for each window
//! acknowledged and falls by the share `b(w)` at a loss.

mod stack;

use cclab_units::Time;

use crate::window::{CountedSlowStart, MAX_WINDOW, Prior, may_grow};
use crate::{AckSample, Arithmetic, Config, Congestion, CongestionControl, CongestionSample, Cx};

pub(crate) use stack::StackAimd;

/// `L` of RFC 3465 section 2.2.
const SLOW_START_LIMIT: u64 = 2;

/// The two functions.
pub(crate) trait Rule: Send {
    /// `a(w)`: segments per window acknowledged.
    fn increase(&mut self, w: f64) -> f64;

    /// `b(w)`: the share of the window given up, between 0 and 1.
    fn decrease(&mut self, w: f64) -> f64;
}

/// A rule at one flow; windows in segments.
pub(crate) struct GeneralAimd<R> {
    mss: u64,
    initial_window: f64,
    most: f64,
    /// Whether an acknowledgement is one step, or as many as it covers segments.
    per_ack: bool,
    cwnd: f64,
    ssthresh: f64,
    slow_start: CountedSlowStart,
    rule: R,
    prior: Option<Prior<f64>>,
}

impl<R: Rule> GeneralAimd<R> {
    pub(crate) fn new(config: &Config, rule: R) -> GeneralAimd<R> {
        let in_segments = |bytes: u64| bytes as f64 / config.mss as f64;
        let initial_window = in_segments(config.initial_window).max(1.0);
        GeneralAimd {
            mss: config.mss,
            initial_window,
            most: in_segments(MAX_WINDOW),
            per_ack: matches!(
                config.arithmetic,
                Arithmetic::PerAckBytes | Arithmetic::PerAckSegments
            ),
            cwnd: initial_window,
            ssthresh: match config.initial_ssthresh {
                u64::MAX => f64::INFINITY,
                bytes => in_segments(bytes),
            },
            slow_start: CountedSlowStart::new(config.mss, SLOW_START_LIMIT),
            rule,
            prior: None,
        }
    }

    /// What the stack counts an acknowledgement for, in segments.
    fn steps(&self, bytes: u64) -> f64 {
        match self.per_ack {
            true => 1.0,
            false => bytes as f64 / self.mss as f64,
        }
    }
}

impl<R: Rule> CongestionControl for GeneralAimd<R> {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if !may_grow(ack) {
            return;
        }
        self.cwnd += if self.cwnd < self.ssthresh {
            self.steps(self.slow_start.step(ack))
        } else {
            // An ACK of more than a window, after a gap was filled, is worth one window.
            let share = (self.steps(ack.newly_acked) / self.cwnd).min(1.0);
            self.rule.increase(self.cwnd) * share
        };
        self.cwnd = self.cwnd.min(self.most);
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        let timeout = kind == Congestion::Rto;
        if timeout {
            self.slow_start.on_timeout(at.snd_nxt);
            if at.repeated {
                self.cwnd = 1.0;
                return; // RFC 5681 section 3.1 holds ssthresh constant
            }
        }
        self.prior = Some(Prior {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
        });
        let kept = self.cwnd * (1.0 - self.rule.decrease(self.cwnd));
        self.ssthresh = kept.max(2.0);
        self.cwnd = match timeout {
            true => 1.0,
            false => self.cwnd.min(self.ssthresh),
        };
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some(prior) = self.prior.take() {
            self.cwnd = self.cwnd.max(prior.cwnd);
            self.ssthresh = self.ssthresh.max(prior.ssthresh);
        }
    }

    /// RFC 5681 section 4.1: the restart window after more than a timeout of silence.
    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        if idle > rto {
            self.cwnd = self.cwnd.min(self.initial_window);
        }
    }

    fn cwnd(&self) -> u64 {
        ((self.cwnd * self.mss as f64) as u64).max(self.mss)
    }

    fn ssthresh(&self) -> u64 {
        (self.ssthresh * self.mss as f64) as u64 // infinity saturates
    }
}
