//! What the model tells traces.

use cclab_interface::Tcp;
use cclab_interface::state::columns::{
    BW, CWND_GAIN, EXTRA_ACKED, FULL_BW_COUNT, FULL_BW_REACHED, IDLE_RESTART, MIN_RTT, PACING_GAIN,
    ROUND_COUNT,
};
use cclab_interface::state::{StateColumn, counted, flagged};

use super::control::bytes_per_second;
use super::{Bbr, Mode, UNIT};

const PHASES: &[&str] = &["startup", "drain", "probe_bw", "probe_rtt"];

/// The columns.
pub(super) const COLUMNS: &[StateColumn] = &[
    StateColumn::word("phase", PHASES, "State of the machine (`bbr_mode`)."),
    BW,
    MIN_RTT,
    PACING_GAIN,
    CWND_GAIN,
    FULL_BW_REACHED,
    FULL_BW_COUNT,
    ROUND_COUNT,
    EXTRA_ACKED,
    IDLE_RESTART,
    StateColumn::flag("lt_use_bw", "Whether the rate of a policer is in force."),
];

impl Bbr {
    /// Writes the state into a number for each of [`COLUMNS`].
    pub(super) fn tell(&self, tcp: &Tcp, values: &mut [f64]) {
        let phase = match self.mode {
            Mode::Startup => 0.0,
            Mode::Drain => 1.0,
            Mode::ProbeBw => 2.0,
            Mode::ProbeRtt => 3.0,
        };
        let gain = |gain| f64::from(gain) / f64::from(UNIT);
        let micros = Some(self.rtt.micros()).filter(|&micros| micros != u32::MAX);
        values.copy_from_slice(&[
            phase,
            // bbr_bw_to_pacing_rate without gain and margin
            bytes_per_second(self.bw(), tcp.mss_cache, UNIT, 0) as f64 * 8.0,
            counted(micros.map(|micros| u64::from(micros) * 1_000)),
            gain(self.gains.pacing),
            gain(self.gains.cwnd),
            flagged(self.pipe.is_full()),
            counted(u64::from(self.pipe.rounds())),
            counted(u64::from(self.bandwidth.rounds())),
            counted(u64::from(self.aggregation.extra()) * u64::from(tcp.mss_cache)),
            flagged(self.idle_restart),
            flagged(self.policer.in_use().is_some()),
        ]);
    }
}
