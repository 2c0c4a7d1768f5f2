//! What the model tells traces, by the draft's names (section 2).

use cclab_interface::state::columns::{
    BW, CWND_GAIN, EXTRA_ACKED, FULL_BW_COUNT, FULL_BW_REACHED, IDLE_RESTART, MIN_RTT, PACING_GAIN,
    ROUND_COUNT,
};
use cclab_interface::state::{ABSENT, StateColumn, counted, flagged};
use cclab_units::Time;

use super::{Bbr3, State};

const PHASES: &[&str] = &[
    "startup",
    "drain",
    "probe_bw_down",
    "probe_bw_cruise",
    "probe_bw_refill",
    "probe_bw_up",
    "probe_rtt",
];

/// The columns.
pub(super) const COLUMNS: &[StateColumn] = &[
    StateColumn::word("phase", PHASES, "State of the machine (`BBR.state`)."),
    BW,
    MIN_RTT,
    PACING_GAIN,
    CWND_GAIN,
    FULL_BW_REACHED,
    FULL_BW_COUNT,
    ROUND_COUNT,
    EXTRA_ACKED,
    IDLE_RESTART,
    StateColumn::number("max_bw_bps", "Largest delivery rate of two cycles."),
    StateColumn::number(
        "bw_shortterm_bps",
        "Bound of the bandwidth that losses of this cycle set; null without one.",
    ),
    StateColumn::count(
        "inflight_shortterm_bytes",
        "Bound of what is in flight that losses of this cycle set; null without one.",
    ),
    StateColumn::count(
        "inflight_longterm_bytes",
        "Bound of what is in flight that probes found; null without one.",
    ),
    StateColumn::flag(
        "full_bw_now",
        "Whether the pipe is found to be full since the estimate began.",
    ),
    StateColumn::count(
        "probe_rtt_min_delay_ns",
        "Smallest round-trip time since a dip was last due; null before the first.",
    ),
];

/// Bits per second of `rate` in bytes; absent where there is no bound.
fn bits(rate: f64) -> f64 {
    match rate.is_finite() {
        true => rate * 8.0,
        false => ABSENT,
    }
}

fn bound(bytes: u64) -> f64 {
    counted(Some(bytes).filter(|&bytes| bytes != u64::MAX))
}

impl Bbr3 {
    /// Writes the state into a number for each of [`COLUMNS`].
    pub(super) fn tell(&self, values: &mut [f64]) {
        let phase = match self.state {
            State::Startup => 0.0,
            State::Drain => 1.0,
            State::Down => 2.0,
            State::Cruise => 3.0,
            State::Refill => 4.0,
            State::Up => 5.0,
            State::ProbeRtt => 6.0,
        };
        let (pacing_gain, cwnd_gain) = self.state.gains(&self.constants);
        let nanos = |time: Option<Time>| counted(time.map(Time::as_nanos));
        values.copy_from_slice(&[
            phase,
            bits(self.bw),
            nanos(self.rtt.get()),
            pacing_gain,
            cwnd_gain,
            flagged(self.pipe.reached()),
            counted(u64::from(self.pipe.count())),
            counted(self.bandwidth.rounds),
            counted(self.aggregation.extra()),
            flagged(self.idle_restart),
            bits(self.bandwidth.max()),
            bits(self.loss.bw),
            bound(self.loss.inflight),
            bound(self.long_term.bound),
            flagged(self.pipe.is_full_now()),
            nanos(self.rtt.recent()),
        ]);
    }
}
