//! Samples of the delivery rate, in segments (`tcp_rate.c`).

use cclab_interface::{RateSample, Tcp};
use cclab_units::Time;
use cclab_units::hint::{rarely, unlikely};

use super::{Line, Linux};
use crate::scoreboard::Segment;

/// `tcp_rate_skb_delivered`: the sample is of the segment that left last. `first` is the number of
/// the first byte on the wire, `up` what the clock of the modules is ahead, in microseconds.
#[inline]
pub(super) fn on_delivered(
    tcp: &mut Tcp,
    sample: &mut RateSample,
    segment: &Segment,
    (first, up): (u32, u64),
) {
    let sent = segment.sent.as_micros() + up;
    let end = first.wrapping_add(segment.end() as u32);
    let later = sent > tcp.first_tx_mstamp
        || (sent == tcp.first_tx_mstamp && crate::seq::after(end, sample.last_end_seq));
    if sample.prior_delivered != 0 && !later {
        rarely();
        return;
    }
    sample.prior_delivered_ce = segment.delivered_ce;
    sample.prior_delivered = segment.delivered as u32;
    sample.prior_mstamp = segment.delivered_time.as_micros() + up;
    sample.is_app_limited = u8::from(segment.app_limited);
    sample.is_retrans = u8::from(segment.ever_resent);
    sample.last_end_seq = end;
    tcp.first_tx_mstamp = sent;
    sample.interval_us = sent.saturating_sub(segment.first_sent.as_micros() + up) as i64;
}

impl Linux {
    /// `tcp_count_delivered`.
    pub(super) fn count_delivered(&mut self, segments: u32, ece: bool) {
        self.tcp.delivered = self.tcp.delivered.wrapping_add(segments);
        if unlikely(ece) {
            self.tcp.delivered_ce = self.tcp.delivered_ce.wrapping_add(segments);
        }
    }

    /// `tcp_rate_gen`: completes the sample of an acknowledgement that delivered `delivered`
    /// segments and showed `lost` of them lost.
    pub(super) fn complete(
        &mut self,
        sample: &mut RateSample,
        delivered: u32,
        lost: u32,
        reneged: bool,
    ) {
        let tcp = &mut self.tcp;
        if unlikely(tcp.app_limited != 0) && crate::seq::after(tcp.delivered, tcp.app_limited) {
            tcp.app_limited = 0;
        }
        if delivered > 0 {
            tcp.delivered_mstamp = tcp.tcp_mstamp;
        }
        sample.acked_sacked = delivered;
        sample.losses = lost as i32;
        if sample.prior_mstamp == 0 || reneged {
            rarely();
            sample.delivered = -1;
            sample.interval_us = -1;
            return;
        }
        sample.delivered = tcp.delivered.wrapping_sub(sample.prior_delivered) as i32;
        sample.delivered_ce = tcp.delivered_ce.wrapping_sub(sample.prior_delivered_ce) as i32;
        sample.snd_interval_us = sample.interval_us as u32;
        sample.rcv_interval_us = tcp.tcp_mstamp.saturating_sub(sample.prior_mstamp) as u32;
        let interval = sample.snd_interval_us.max(sample.rcv_interval_us);
        sample.interval_us = match interval < tcp.rtt_min_us {
            true => -1, // from acknowledgements that were compressed
            false => i64::from(interval),
        };
    }

    /// `tcp_rate_skb_sent`: stamps a segment that leaves now.
    #[inline]
    pub fn stamp(&mut self, segment: &mut Segment, line: &Line<'_>) {
        let now = self.micros(line.now);
        let up = self.clocks.uptime_us();
        let tcp = &mut self.tcp;
        if unlikely(line.board.is_empty()) {
            tcp.first_tx_mstamp = now;
            tcp.delivered_mstamp = now;
        }
        segment.sent = line.now;
        segment.first_sent = Time::from_micros(tcp.first_tx_mstamp - up);
        segment.delivered_time = Time::from_micros(tcp.delivered_mstamp - up);
        segment.delivered = u64::from(tcp.delivered);
        segment.delivered_ce = tcp.delivered_ce;
        segment.app_limited = tcp.app_limited != 0;
    }

    /// `tcp_rate_check_app_limited`: nothing is left to send although the window allows it.
    pub fn on_app_limited(&mut self, line: &Line<'_>) {
        let in_flight = Self::in_flight(line);
        if in_flight < self.tcp.snd_cwnd && line.board.counts().waiting == 0 {
            self.tcp.app_limited = self.tcp.delivered.wrapping_add(in_flight).max(1);
        }
    }
}
