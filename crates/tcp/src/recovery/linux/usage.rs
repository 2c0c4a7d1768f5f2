//! How the window is used: departures, idle times, and whether it limits the sender.

use cclab_interface::{CaEvent, CaState};
use cclab_units::hint::rarely;

use super::{Line, Linux};

/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in per cent.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;
/// Eighths of a microsecond in a second.
const EIGHTHS: u64 = 8_000_000;

impl Linux {
    /// `tcp_slow_start_after_idle_check`: the application wrote while nothing was outstanding.
    pub fn on_written(&mut self, line: &Line<'_>) {
        if !line.profile.idle_restart || !line.board.is_empty() || self.controls {
            return;
        }
        self.set_clock(line.now);
        let idle = self.tcp.jiffies32().wrapping_sub(self.tcp.lsndtime) as i32;
        if i64::from(idle) > i64::from(self.tcp.rto) {
            self.see(line);
            self.restart(idle);
        }
    }

    /// `tcp_cwnd_restart`: halved for each timeout spent idle, down to the initial window.
    fn restart(&mut self, idle: i32) {
        self.event(CaEvent::CwndRestart);
        let tcp = &mut self.tcp;
        tcp.snd_ssthresh = tcp.current_ssthresh();
        let floor = self.initial.min(tcp.snd_cwnd);
        let rto = i64::from(tcp.rto.max(1));
        let mut left = i64::from(idle) - rto;
        while left > 0 && tcp.snd_cwnd > floor {
            tcp.snd_cwnd >>= 1;
            left -= rto;
        }
        tcp.snd_cwnd = tcp.snd_cwnd.max(floor);
        tcp.snd_cwnd_stamp = tcp.jiffies32();
        self.cwnd_used = 0;
    }

    /// `tcp_event_data_sent`: a segment with payload is about to leave, for the first time or again.
    #[inline]
    pub fn on_departure(&mut self, line: &Line<'_>) {
        self.set_clock(line.now);
        if line.board.segments_in_flight() == 0 {
            self.begin_to_transmit(line);
        }
        self.tcp.lsndtime = self.tcp.jiffies32();
    }

    #[cold]
    fn begin_to_transmit(&mut self, line: &Line<'_>) {
        self.see(line);
        self.event(CaEvent::TxStart);
    }

    /// New data left (`tcp_event_new_data_sent`, and the end of `tcp_write_xmit`).
    #[inline]
    pub fn on_new_sent(&mut self, line: &mut Line<'_>) {
        self.sent_new += 1;
        if self.tcp.in_cwnd_reduction() {
            self.prr_out += 1;
        }
        self.set_timer_for_new(line, self.probe_due);
    }

    /// A segment left again with timestamp `stamp` (`tcp_retransmit_skb`), or as a probe
    /// (`__tcp_retransmit_skb`).
    pub fn on_resent(&mut self, line: &mut Line<'_>, stamp: u32, is_head: bool) {
        self.total_retrans += 1;
        if self.probe_due {
            return;
        }
        if self.retrans_stamp == 0 {
            self.retrans_stamp = stamp;
        }
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
        if std::mem::take(&mut self.head_due) {
            return; // the timeout set the timer
        }
        if self.tcp.in_cwnd_reduction() {
            self.prr_out += 1;
        }
        if is_head {
            self.set_timer_for_head(line);
        }
    }

    /// Nothing more leaves now (the end of `tcp_write_xmit`). `limited` tells that the window holds
    /// data back for a burst, `waiting` that there is data, and `writer_waits` that the application
    /// has more than the send buffer holds.
    pub fn on_pause(&mut self, line: &Line<'_>, limited: bool, waiting: bool, writer_waits: bool) {
        let sent = std::mem::take(&mut self.sent_new);
        if sent == 0 && !waiting {
            return;
        }
        let limited = limited || Self::in_flight(line) >= self.tcp.snd_cwnd;
        if sent > 0 || limited {
            self.set_clock(line.now);
            self.validate(line, limited, writer_waits);
        }
    }

    /// `tcp_cwnd_validate`.
    fn validate(&mut self, line: &Line<'_>, limited: bool, writer_waits: bool) {
        let out = line.board.segments() as u32;
        let tcp = &mut self.tcp;
        let unlimited_peak = tcp.is_cwnd_limited == 0 && out > tcp.max_packets_out;
        if limited || *line.snd_una >= self.cwnd_usage_seq || unlimited_peak {
            tcp.is_cwnd_limited = u32::from(limited);
            tcp.max_packets_out = out;
            self.cwnd_usage_seq = line.snd_nxt;
        }
        if tcp.is_cwnd_limited() {
            self.cwnd_used = 0;
            tcp.snd_cwnd_stamp = tcp.jiffies32();
            return;
        }
        rarely();
        self.cwnd_used = self.cwnd_used.max(out);
        let unused = tcp.jiffies32().wrapping_sub(tcp.snd_cwnd_stamp) as i32;
        if line.profile.idle_restart && unused >= tcp.rto as i32 && !self.controls {
            self.shrink_to_use(writer_waits);
        }
    }

    /// `tcp_cwnd_application_limited`: halfway to what was used, for a timeout spent below it.
    fn shrink_to_use(&mut self, writer_waits: bool) {
        let tcp = &mut self.tcp;
        if tcp.ca() == CaState::Open && !writer_waits {
            let used = self.cwnd_used.max(self.initial);
            if used < tcp.snd_cwnd {
                tcp.snd_ssthresh = tcp.current_ssthresh();
                tcp.snd_cwnd = tcp.snd_cwnd.midpoint(used);
            }
            self.cwnd_used = 0;
        }
        tcp.snd_cwnd_stamp = tcp.jiffies32();
    }

    /// `tcp_update_pacing_rate`: for variants that set none, a figure that sizes bursts.
    pub(super) fn update_pacing_rate(&mut self) {
        let tcp = &mut self.tcp;
        let percent = if tcp.snd_cwnd < tcp.snd_ssthresh / 2 {
            SLOW_START_PERCENT
        } else {
            AVOIDANCE_PERCENT
        };
        let window = u64::from(tcp.snd_cwnd.max(tcp.packets_out));
        let rate = (u64::from(tcp.mss_cache) * (EIGHTHS / 100) * percent).saturating_mul(window);
        let rate = match tcp.srtt_us {
            0 => rate,
            srtt => rate / u64::from(srtt),
        };
        tcp.pacing_rate = rate.min(tcp.max_pacing_rate);
    }
}
