//! Linux's stack where it keeps the window: the machine of its five states, and the hooks of the
//! variant in the kernel's order (`net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`,
//! `tcp_rate.c` and `tcp_recovery.c` of Linux 6.12).
//!
//! - `acknowledge`: what an acknowledgement does, from `tcp_clean_rtx_queue` to
//!   `tcp_cong_control`;
//! - `sack`: what its SACK blocks tell (`tcp_sacktag_write_queue`);
//! - `alert`: the machine (`tcp_fastretrans_alert`);
//! - `losses`: which segments are lost (`tcp_identify_packet_loss`, `tcp_mark_head_lost`);
//! - `duplicates`: what stands for selective acknowledgements where there are none
//!   (`tcp_add_reno_sack`);
//! - `reduction`: the window on its way down, and the way back (`tcp_cwnd_reduction`,
//!   `tcp_undo_cwnd_reduction`);
//! - `timeout`: the retransmission timer and F-RTO (`tcp_enter_loss`, `tcp_process_loss`);
//! - `timers`: the one timer that is for timeouts, probes and reordering in turn;
//! - `usage`: whether the window is used, idle times, departures (`tcp_cwnd_validate`);
//! - `rate`: samples of the delivery rate (`tcp_rate_gen`).

mod acknowledge;
mod alert;
mod duplicates;
mod flag;
mod losses;
mod rate;
mod reduction;
mod rtt_min;
mod sack;
mod timeout;
mod timers;
mod usage;

use cclab_cc::{Config, Resumption, StampClocks, StateColumn};
use cclab_interface::{CaEvent, CaState, CongestionOps, PacingStatus, TCP_INFINITE_SSTHRESH, Tcp};
use cclab_units::memory::prefetch;
use cclab_units::{Rate, Time};

use super::episode::Rack;
use super::flight::Counters;
use crate::accecn::Accurate;
use crate::due::Due;
use crate::profile::Profile;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use rtt_min::RttMin;
use sack::Selected;

pub(crate) use acknowledge::{Ack, Counts};
pub(crate) use losses::Finder;
use losses::Scan;

/// The ticks at the start of a connection: the 32-bit clock wraps after five minutes
/// (`INITIAL_JIFFIES`), and zero is left to mean "not set".
const FIRST_JIFFIES: u64 = (1 << 32) - 300_000;
/// Duplicates that the kernel takes for a loss where nothing shows reordering
/// (`sysctl_tcp_reordering`), and the largest distance that it believes (`tcp_max_reordering`).
const REORDERING: u32 = 3;
const MAX_REORDERING: u32 = 300;
/// `TCP_INIT_CWND`.
const INITIAL_CWND: u32 = 10;
/// `TCP_ECN_OK` and `TCP_ECN_QUEUE_CWR` of [`Tcp::ecn_flags`].
const ECN_OK: u32 = 1;
const ECN_QUEUE_CWR: u32 = 2;

/// What leaves next while losses are repaired (`REXMIT_`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Resend {
    /// Nothing that was lost.
    #[default]
    Nothing,
    /// What was lost, then new data.
    Lost,
    /// New data, to see whether the timeout was genuine; if there is none, what was lost.
    New,
}

/// Linux's stack at one flow, which keeps the window.
pub(crate) struct Linux {
    /// The connection as the variant sees it.
    pub tcp: Tcp,
    ops: Box<dyn CongestionOps>,
    finder: Finder,
    /// The variant sets window and rate at each acknowledgement.
    controls: bool,
    mss: u64,
    /// The initial window, in segments.
    initial: u32,
    /// The number of the first byte on the wire.
    first: u32,
    /// The clocks of timestamps as modules see them, and when those of [`Tcp`] were last set.
    clocks: StampClocks,
    clock: Time,
    /// The last timestamp echoed, by the clock that began with the run; 0: none.
    echo: u32,

    /// `snd_nxt` when the state was entered.
    high_seq: u64,
    /// `snd_una` when the reduction began that may be taken back.
    undo_marker: Option<u64>,
    /// Retransmissions that were not reported as duplicates; `None`: there was none.
    undo_retrans: Option<u32>,
    /// The timestamp of the first retransmission of the episode; 0: none.
    retrans_stamp: u32,
    prr_delivered: u32,
    prr_out: u32,
    frto: bool,
    /// Timeouts since `snd_una` moved (`icsk_retransmits`).
    retransmits: u32,
    /// The receiver let go of what it had acknowledged selectively.
    reneged: bool,
    /// Segments that arrive out of place and are not taken for a loss.
    reordering: u32,
    /// Where the count of what was SACKed above stands.
    scan: Scan,
    /// Duplicates reported and retransmissions over the connection's life, in segments.
    dsack_dups: u32,
    total_retrans: u32,

    /// What the acknowledgement selected.
    pub selected: Selected,
    pub resend: Resend,
    /// The timer expired: the first segment leaves, whatever the window says.
    pub head_due: bool,
    /// A probe is to leave.
    pub probe_due: bool,
    /// `snd_nxt` when the probe left that is under way, and whether it was a retransmission.
    tlp_high_seq: Option<u64>,
    tlp_retrans: bool,

    /// The round in which the use of the window is judged ends here.
    cwnd_usage_seq: u64,
    /// Most segments in flight since the window last limited the sender.
    cwnd_used: u32,
    /// New segments that left since the window was last judged.
    sent_new: u32,
    rtt_min: RttMin,
}

/// What the stack works on beside its own state.
pub(crate) struct Line<'a> {
    pub now: Time,
    pub board: &'a mut Scoreboard,
    pub rack: &'a mut Rack,
    pub rtt: &'a mut RttEstimator,
    pub counters: &'a mut Counters,
    pub cwr_due: &'a mut bool,
    pub rto_at: &'a mut Time,
    pub probe_at: &'a mut Due,
    pub reorder_at: &'a mut Time,
    pub profile: &'a Profile,
    pub ecn: bool,
    pub accurate: &'a mut Option<Box<Accurate>>,
    pub snd_una: &'a mut u64,
    pub snd_nxt: u64,
}

impl Linux {
    /// The stack before the handshake.
    pub fn new(config: &Config, ops: Box<dyn CongestionOps>, finder: Finder) -> Linux {
        let initial = (config.initial_window / config.mss).max(1) as u32;
        let tcp = Tcp {
            snd_cwnd: initial,
            snd_ssthresh: match config.initial_ssthresh {
                u64::MAX => TCP_INFINITE_SSTHRESH,
                bytes => (bytes / config.mss).clamp(2, u64::from(TCP_INFINITE_SSTHRESH)) as u32,
            },
            mss_cache: config.mss as u32,
            ..Tcp::default()
        };
        Linux {
            tcp,
            controls: ops.has_cong_control(),
            ops,
            finder,
            mss: config.mss,
            initial,
            clocks: StampClocks::of(&config.params),
            clock: Time::NEVER,
            echo: 0,
            first: 1,
            high_seq: 0,
            undo_marker: None,
            undo_retrans: None,
            retrans_stamp: 0,
            prr_delivered: 0,
            prr_out: 0,
            frto: false,
            retransmits: 0,
            reneged: false,
            reordering: REORDERING,
            scan: Scan::default(),
            dsack_dups: 0,
            total_retrans: 0,
            selected: Selected::default(),
            resend: Resend::Nothing,
            head_due: false,
            probe_due: false,
            tlp_high_seq: None,
            tlp_retrans: false,
            cwnd_usage_seq: 0,
            cwnd_used: 0,
            sent_new: 0,
            rtt_min: RttMin::default(),
        }
    }

    /// Has the memory of the variant fetched.
    #[inline]
    pub fn fetch_variant(&self) {
        prefetch(&*self.ops);
    }

    /// A SYN was lost more than once: the connection begins with one segment
    /// (`tcp_init_transfer`). What an idle time leaves is the initial window all the same.
    pub fn begin_with_one(&mut self) {
        self.tcp.snd_cwnd = 1;
    }

    /// `tcp_finish_connect`, `tcp_init_transfer`: the handshake is done; `rtt` is what it measured,
    /// if it could, and `dice` the state of the flow's random numbers.
    pub fn on_established(&mut self, line: &mut Line<'_>, rtt: Option<Time>, dice: u64, isn: u32) {
        self.set_clock(line.now);
        if let Some(rtt) = rtt {
            self.note_rtt_min(rtt.as_micros());
            line.rack.was_last(rtt); // the SYN's
        }
        self.take_rtt(line);
        let tcp = &mut self.tcp;
        tcp.dice = dice;
        tcp.delivered = 1; // the SYN
        tcp.delivered_mstamp = tcp.tcp_mstamp;
        tcp.lsndtime = tcp.jiffies32();
        tcp.snd_cwnd_stamp = tcp.jiffies32();
        tcp.ecn_flags = u32::from(line.ecn) * ECN_OK;
        self.first = isn.wrapping_add(1);
        if !self.controls {
            self.update_pacing_rate();
        }
        self.see(line);
        self.tcp.prior_ssthresh = 0;
        self.ops.init(&mut self.tcp);
        self.controls = self.ops.has_cong_control();
    }

    /// The window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        u64::from(self.tcp.snd_cwnd) * self.mss
    }

    /// Whether it moves the window itself, as the variant has no `cong_control`.
    pub fn keeps_window(&self) -> bool {
        !self.controls
    }

    /// Tells a variant with `cong_control` that its connection resumes.
    pub fn resume(&mut self, step: Resumption) -> bool {
        self.ops.resume(&mut self.tcp, step)
    }

    /// The window is `bytes`, a segment at least.
    pub fn set_window(&mut self, bytes: u64) {
        let segments = (bytes / self.mss).clamp(1, u64::from(self.tcp.snd_cwnd_clamp));
        self.tcp.snd_cwnd = segments as u32;
        self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
    }

    /// The window is `window` bytes at most, and what a reduction leads to `threshold`.
    pub fn confine(&mut self, window: u64, threshold: u64) {
        if window < self.cwnd() {
            self.set_window(window);
        }
        if threshold < self.ssthresh() {
            self.set_ssthresh(threshold);
        }
    }

    /// The slow-start threshold is `bytes`, two segments at least.
    pub fn set_ssthresh(&mut self, bytes: u64) {
        let most = u64::from(TCP_INFINITE_SSTHRESH - 1);
        self.tcp.snd_ssthresh = (bytes / self.mss).clamp(2, most) as u32;
    }

    /// The slow-start threshold in bytes; `u64::MAX` before it is known.
    pub fn ssthresh(&self) -> u64 {
        match self.tcp.snd_ssthresh {
            TCP_INFINITE_SSTHRESH.. => u64::MAX,
            segments => u64::from(segments) * self.mss,
        }
    }

    /// The rate at which the variant asks segments to leave.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        match self.tcp.pacing_status == PacingStatus::Needed as u32 {
            true => self.kept_rate(),
            false => None,
        }
    }

    /// The columns of the variant's inner state.
    pub fn state_columns(&self) -> &'static [StateColumn] {
        self.ops.state_columns()
    }

    /// Writes the variant's inner state into `values`, one for each column.
    pub fn tell_state(&self, values: &mut [f64]) {
        self.ops.tell_state(&self.tcp, values);
    }

    /// `sk_pacing_rate`, whether segments leave by it or not; `None`: there is no limit.
    pub fn kept_rate(&self) -> Option<Rate> {
        match self.tcp.pacing_rate {
            u64::MAX => None,
            rate => Rate::from_bps(rate.saturating_mul(8)),
        }
    }

    /// Bytes a second by which bursts are sized (`sk_pacing_rate`).
    pub fn burst_rate(&self) -> u64 {
        self.tcp.pacing_rate
    }

    /// The smallest round-trip time of the last minutes, in microseconds.
    pub fn min_rtt_us(&self) -> u64 {
        u64::from(self.tcp.rtt_min_us)
    }

    /// The segments of a burst, if the variant decides that.
    pub fn burst_segments(&mut self) -> Option<u64> {
        self.ops.tso_segs(&mut self.tcp).map(u64::from)
    }

    /// The least segments of a burst, if the variant has a say.
    pub fn least_burst(&mut self) -> Option<u64> {
        self.ops.min_tso_segs(&mut self.tcp).map(u64::from)
    }

    /// Segments of a window by which the send buffer grows (`tcp_sndbuf_expand`).
    pub fn buffered_segments(&self) -> u64 {
        u64::from(INITIAL_CWND.max(self.tcp.snd_cwnd).max(self.reordering + 1))
    }

    /// Windows that the send buffer holds (`sndbuf_expand`).
    pub fn buffered_windows(&mut self) -> u64 {
        self.ops.sndbuf_expand(&mut self.tcp).map_or(2, u64::from)
    }

    /// Whether losses or a mark are being dealt with, and whether after a timeout.
    pub fn congestion_seen(&self) -> (bool, bool) {
        let state = self.tcp.ca();
        (state >= CaState::Cwr, state == CaState::Loss)
    }

    /// Whether losses are being repaired.
    pub fn in_recovery(&self) -> bool {
        self.tcp.ca() >= CaState::Recovery
    }

    /// Whether new data left since the state was entered.
    pub fn sent_beyond(&self, snd_nxt: u64) -> bool {
        snd_nxt > self.high_seq
    }

    /// New data was to show whether the timeout was genuine, and there is none to send.
    pub fn give_up_on_new(&mut self) {
        self.frto = false;
        self.resend = Resend::Lost;
    }

    /// `time` by the clock of the modules, in microseconds.
    fn micros(&self, time: Time) -> u64 {
        time.as_micros() + self.clocks.uptime_us()
    }

    #[inline]
    fn set_clock(&mut self, now: Time) {
        if now == self.clock {
            return;
        }
        self.clock = now;
        self.tcp.tcp_mstamp = self.micros(now);
        self.tcp.tcp_clock_cache = now.as_nanos();
        self.tcp.jiffies = FIRST_JIFFIES + now.as_millis();
    }

    /// Takes in what the scoreboard counts, so that hooks see it.
    #[inline]
    fn see(&mut self, line: &Line<'_>) {
        let counts = line.board.counts();
        let tcp = &mut self.tcp;
        tcp.packets_out = line.board.segments() as u32;
        tcp.sacked_out = line.board.delivered_segments() as u32;
        tcp.lost_out = counts.lost;
        tcp.retrans_out = counts.resent;
        tcp.lost = counts.lost_ever;
        self.tcp.snd_una = self.wire(*line.snd_una);
        self.tcp.snd_nxt = self.wire(line.snd_nxt);
        self.tcp.high_seq = self.wire(self.high_seq);
    }

    /// The number on the wire of an offset.
    fn wire(&self, offset: u64) -> u32 {
        self.first.wrapping_add(offset as u32)
    }

    /// Takes in what the clock of round trips says.
    fn take_rtt(&mut self, line: &Line<'_>) {
        let (srtt, mdev) = line.rtt.scaled();
        self.tcp.srtt_us = srtt as u32;
        self.tcp.mdev_us = mdev as u32;
        self.tcp.rto = line.rtt.rto().as_millis() as u32;
    }

    #[inline(always)] // once for each acknowledgement: a call costs more than what it does
    fn note_rtt_min(&mut self, rtt_us: u64) {
        let sample = u32::try_from(rtt_us).unwrap_or(u32::MAX);
        let jiffies = self.tcp.jiffies32();
        self.tcp.rtt_min_us = self.rtt_min.update(jiffies, sample);
    }

    fn event(&mut self, event: CaEvent) {
        self.ops.cwnd_event(&mut self.tcp, event);
    }

    /// `tcp_set_ca_state`: the variant is told before the state changes.
    fn set_state(&mut self, new: CaState) {
        self.ops.set_state(&mut self.tcp, new);
        self.tcp.ca_state = new as u8;
    }

    /// `tcp_packets_in_flight`.
    fn in_flight(line: &Line<'_>) -> u32 {
        line.board.segments_in_flight() as u32
    }

    fn min_rtt(&self) -> Time {
        Time::from_micros(self.min_rtt_us())
    }
}
