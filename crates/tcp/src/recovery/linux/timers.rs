//! The timer of the sender. It is one, for timeouts, tail loss probes and reordering in turn
//! (`icsk_pending`): setting it for one unsets it for the others.

use cclab_interface::CaState;
use cclab_units::Time;

use super::{Line, Linux, Resend};

/// `TCP_TIMEOUT_MIN_US`: the least that a probe waits beyond two round trips.
const LEAST_SLACK: Time = Time::from_millis(2);

impl Linux {
    pub(super) fn set_rto(&self, line: &mut Line<'_>, at: Time) {
        *line.rto_at = at;
        *line.probe_at = Time::NEVER;
        *line.reorder_at = Time::NEVER;
    }

    pub(super) fn set_reorder_timer(&self, line: &mut Line<'_>, due: Time) {
        *line.rto_at = Time::NEVER;
        *line.probe_at = Time::NEVER;
        *line.reorder_at = line.profile.reorder_timer.expiry(line.now, due);
    }

    /// When a timeout is due that runs since the first segment left.
    fn rto_of_first(line: &Line<'_>) -> Time {
        line.board.get(line.board.ids().start).sent + line.rtt.rto()
    }

    /// `tcp_rearm_rto`: from now; but where the timer was for a probe or reordering, from when the
    /// first segment left.
    pub(super) fn rearm_rto(&self, line: &mut Line<'_>) {
        let at = if line.board.is_empty() {
            Time::NEVER
        } else if *line.probe_at != Time::NEVER || *line.reorder_at != Time::NEVER {
            Self::rto_of_first(line).max(line.now + Time::from_millis(1))
        } else {
            line.now + line.rtt.rto()
        };
        self.set_rto(line, at);
    }

    /// `tcp_set_xmit_timer`.
    pub(super) fn set_timer(&self, line: &mut Line<'_>) {
        let due = line.now + line.rtt.rto();
        if !self.schedule_probe(line, due) {
            self.rearm_rto(line);
        }
    }

    /// `tcp_schedule_loss_probe`: RFC 8985 section 7.2, in Open and CWR, with SACK; not later than a
    /// timeout at `rto_due`.
    fn schedule_probe(&self, line: &mut Line<'_>, rto_due: Time) -> bool {
        let quiet = matches!(self.tcp.ca(), CaState::Open | CaState::Cwr);
        let probes = line.profile.tail_loss_probes && self.finder.has_sack();
        if line.board.is_empty() || !quiet || !probes {
            return false;
        }
        let srtt = line.rtt.srtt();
        let wait = if srtt > Time::ZERO {
            let lone = line.board.segments() == 1;
            srtt * 2
                + if lone {
                    line.profile.rto.min
                } else {
                    LEAST_SLACK
                }
        } else {
            line.profile.rto.initial
        };
        let mut at = line.now + wait;
        if rto_due > line.now {
            at = at.min(rto_due);
        }
        self.set_rto(line, Time::NEVER);
        *line.probe_at = at;
        true
    }

    /// New data left: the first starts the timer, and a probe is due after the last.
    pub(super) fn set_timer_for_new(&self, line: &mut Line<'_>, is_probe: bool) {
        if line.board.segments() == 1 || *line.probe_at != Time::NEVER {
            self.rearm_rto(line);
        }
        if !is_probe {
            let due = Self::rto_of_first(line);
            self.schedule_probe(line, due);
        }
    }

    /// The first segment left again.
    pub(super) fn set_timer_for_head(&self, line: &mut Line<'_>) {
        if *line.reorder_at == Time::NEVER {
            let at = line.now + line.rtt.rto();
            self.set_rto(line, at);
        }
    }

    /// `tcp_send_loss_probe`: one at a time; it leaves when the sender is asked next.
    pub fn on_probe_timer(&mut self, line: &mut Line<'_>) {
        self.set_clock(line.now);
        if line.board.is_empty() {
            return;
        }
        if self.tlp_high_seq.is_some() {
            let at = Self::rto_of_first(line).max(line.now + Time::from_millis(1));
            self.set_rto(line, at);
            return;
        }
        line.counters.tail_loss_probes += 1;
        self.probe_due = true;
        let at = line.now + line.rtt.rto();
        self.set_rto(line, at);
    }

    /// The probe left, as a retransmission or as new data.
    pub fn on_probe_sent(&mut self, line: &mut Line<'_>, resent: bool) {
        self.probe_due = false;
        self.tlp_retrans = resent;
        self.tlp_high_seq = Some(line.snd_nxt);
        let at = line.now + line.rtt.rto();
        self.set_rto(line, at);
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
        let at = Self::rto_of_first(line).max(line.now + Time::from_millis(1));
        self.set_rto(line, at);
    }
}
