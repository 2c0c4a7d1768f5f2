//! The timer of the sender. It is one, for timeouts, tail loss probes and reordering in turn
//! (`icsk_pending`): setting it for one unsets it for the others.

use cclab_interface::CaState;
use cclab_units::Time;
use cclab_units::hint::rarely;

use super::{Line, Linux, Resend};
use crate::due::Due;

/// `TCP_TIMEOUT_MIN_US`: the least that a probe waits beyond two round trips.
const LEAST_SLACK: Time = Time::from_millis(2);
/// The least that is left of a timeout that runs since a segment left.
const LEAST_REST: Time = Time::from_micros(1);

impl Linux {
    /// A timeout is due after `wait`; never: none is (`inet_csk_reset_xmit_timer`).
    pub(super) fn set_rto(&self, line: &mut Line<'_>, wait: Time) {
        *line.rto_at = line.profile.timer.expiry(line.now, wait);
        *line.probe_at = Due::NEVER;
        *line.reorder_at = Time::NEVER;
    }

    /// As [`Linux::set_rto`], counted from when the pacer lets the next segment go
    /// (`tcp_reset_xmit_timer`).
    fn set_paced_rto(&self, line: &mut Line<'_>, wait: Time) {
        self.set_rto(line, wait + self.pacing_delay());
    }

    pub(super) fn set_reorder_timer(&self, line: &mut Line<'_>, due: Time) {
        *line.rto_at = Time::NEVER;
        *line.probe_at = Due::NEVER;
        let timer = &line.profile.timer;
        let latest = timer.expiry(line.now, line.rtt.rto());
        *line.reorder_at = timer.overdue(line.now, due).min(latest);
    }

    /// Whole ticks until the pacer lets the next segment go (`tcp_pacing_delay`).
    fn pacing_delay(&self) -> Time {
        let delay = self
            .tcp
            .tcp_wstamp_ns
            .saturating_sub(self.tcp.tcp_clock_cache);
        Time::from_millis(Time::from_nanos(delay).as_millis())
    }

    /// What is left of a timeout that runs since the first segment left; zero: it is over
    /// (`tcp_rto_delta_us`).
    fn rest_of_first(line: &Line<'_>) -> Time {
        let sent = line.board.get(line.board.ids().start).sent;
        // As exactly as the kernel keeps them (`tcp_skb_timestamp_us`).
        sent.whole_micros() + line.rtt.rto() - line.now.whole_micros()
    }

    /// `tcp_rearm_rto`: from now; but where the timer was for a probe or reordering, from when the
    /// first segment left.
    #[inline(never)]
    pub(super) fn rearm_rto(&self, line: &mut Line<'_>) {
        let wait = if line.board.is_empty() {
            Time::NEVER
        } else if !line.probe_at.is_never() || *line.reorder_at != Time::NEVER {
            Self::rest_of_first(line).max(LEAST_REST)
        } else {
            line.rtt.rto()
        };
        self.set_paced_rto(line, wait);
    }

    /// `tcp_set_xmit_timer`.
    pub(super) fn set_timer(&self, line: &mut Line<'_>) {
        if !self.schedule_probe(line, line.rtt.rto()) {
            self.rearm_rto(line);
        }
    }

    /// `tcp_schedule_loss_probe`: RFC 8985 section 7.2, in Open and CWR, with SACK; not later than a
    /// timeout that `rest` is left of.
    fn schedule_probe(&self, line: &mut Line<'_>, rest: Time) -> bool {
        let quiet = matches!(self.tcp.ca(), CaState::Open | CaState::Cwr);
        let probes = line.profile.tail_loss_probes && self.finder.has_sack();
        if line.board.is_empty() || !quiet || !probes {
            return false;
        }
        let (eighths, _) = line.rtt.scaled();
        let mut wait = if eighths > 0 {
            let lone = line.board.segments() == 1;
            Time::from_micros(eighths / 4)
                + if lone {
                    line.profile.rto.min
                } else {
                    LEAST_SLACK
                }
        } else {
            rarely();
            line.profile.rto.initial
        };
        if rest > Time::ZERO {
            wait = wait.min(rest);
        }
        *line.rto_at = Time::NEVER;
        *line.reorder_at = Time::NEVER;
        *line.probe_at = Due::after(line.now, wait + self.pacing_delay());
        true
    }

    /// The pacer lets the next segment go at `departure`, which moves a probe.
    pub fn on_paced(&mut self, line: &mut Line<'_>, departure: Time) {
        self.tcp.tcp_wstamp_ns = departure.as_nanos();
        if !line.probe_at.is_never() {
            let rest = Self::rest_of_first(line);
            self.schedule_probe(line, rest);
        }
    }

    /// New data left: the first starts the timer, and a probe is due after the last.
    pub(super) fn set_timer_for_new(&self, line: &mut Line<'_>, is_probe: bool) {
        // A probe takes the timer from a timeout, which is worked out only where none is set.
        if !is_probe {
            let rest = Self::rest_of_first(line);
            if self.schedule_probe(line, rest) {
                return;
            }
        }
        rarely();
        if line.board.segments() == 1 || !line.probe_at.is_never() {
            self.rearm_rto(line);
        }
    }

    /// The first segment left again.
    pub(super) fn set_timer_for_head(&self, line: &mut Line<'_>) {
        if *line.reorder_at == Time::NEVER {
            self.set_paced_rto(line, line.rtt.rto());
        }
    }

    /// `tcp_send_loss_probe`: one at a time; it leaves when the sender is asked next.
    pub fn on_probe_timer(&mut self, line: &mut Line<'_>) {
        self.set_clock(line.now);
        if line.board.is_empty() {
            return;
        }
        if self.tlp_high_seq.is_some() {
            self.set_paced_rto(line, Self::rest_of_first(line).max(LEAST_REST));
            return;
        }
        line.counters.tail_loss_probes += 1;
        self.probe_due = true;
        self.set_paced_rto(line, line.rtt.rto());
    }

    /// The probe left, as a retransmission or as new data.
    pub fn on_probe_sent(&mut self, line: &mut Line<'_>, resent: bool) {
        self.probe_due = false;
        self.tlp_retrans = resent;
        self.tlp_high_seq = Some(line.snd_nxt);
        self.set_paced_rto(line, line.rtt.rto());
    }

    /// `tcp_rack_reo_timeout`: what was overdue waited out the reordering window.
    pub fn on_reorder_timer(&mut self, line: &mut Line<'_>) {
        self.set_clock(line.now);
        if line.board.is_empty() {
            return;
        }
        let lost = line.board.counts().lost_ever;
        let in_flight = Self::in_flight(line);
        self.detect(line);
        if in_flight != Self::in_flight(line) {
            if self.tcp.ca() != CaState::Recovery {
                self.enter_recovery(line, false);
                if !self.controls {
                    let lost = line.board.counts().lost_ever.wrapping_sub(lost);
                    self.reduce(line, 1, lost, 0); // the timer counts as a delivery
                }
            }
            self.resend = Resend::Lost;
        }
        self.set_paced_rto(line, Self::rest_of_first(line).max(LEAST_REST));
    }
}
