//! The inner state that a variant tells of itself, for traces: columns that it declares, and a
//! number in each.

/// What the number in a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// A real number.
    Number,
    /// A whole number that is not negative.
    Count,
    /// 1 for true, 0 for false.
    Flag,
    /// The place of a word in this list, from 0: a phase of a machine.
    Word(&'static [&'static str]),
}

/// A column of a variant's inner state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateColumn {
    /// Its name, with the unit at its end: `bw_bps`, `min_rtt_ns`, `extra_acked_bytes`.
    pub name: &'static str,
    /// What its numbers are.
    pub kind: StateKind,
    /// What it means.
    pub meaning: &'static str,
}

impl StateColumn {
    const fn of(kind: StateKind, name: &'static str, meaning: &'static str) -> StateColumn {
        StateColumn {
            name,
            kind,
            meaning,
        }
    }

    /// A column of real numbers.
    pub const fn number(name: &'static str, meaning: &'static str) -> StateColumn {
        StateColumn::of(StateKind::Number, name, meaning)
    }

    /// A column of whole numbers.
    pub const fn count(name: &'static str, meaning: &'static str) -> StateColumn {
        StateColumn::of(StateKind::Count, name, meaning)
    }

    /// A column of truth values.
    pub const fn flag(name: &'static str, meaning: &'static str) -> StateColumn {
        StateColumn::of(StateKind::Flag, name, meaning)
    }

    /// A column of `words`.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        meaning: &'static str,
    ) -> StateColumn {
        StateColumn::of(StateKind::Word(words), name, meaning)
    }
}

/// What tables of states call their own columns, so that no variant's is called so.
pub const TAKEN: [&str; 4] = ["time_ns", "time_s", "until_s", "flow"];

/// What of the columns that a file tells cannot be: two of one name, or one that is [`TAKEN`].
pub fn unsound(columns: &[StateColumn]) -> Option<String> {
    let named = |(index, column): (usize, &StateColumn)| {
        let name = column.name;
        if columns[..index].iter().any(|other| other.name == name) {
            return Some(format!("two columns of its state called {name}"));
        }
        let taken = TAKEN.contains(&name);
        taken.then(|| {
            format!(
                "a column of its state called {name}, as tables of states have one of their own"
            )
        })
    };
    columns.iter().enumerate().find_map(named)
}

/// The number of a column where the variant has none.
pub const ABSENT: f64 = f64::NAN;

/// `value` as the number of a column of counts.
pub fn counted(value: impl Into<Option<u64>>) -> f64 {
    value.into().map_or(ABSENT, |value| value as f64)
}

/// `value` as the number of a column of flags.
pub fn flagged(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// Columns that several variants have, or that kernels tell, too (`union tcp_cc_info`).
pub mod columns {
    use super::StateColumn;

    /// The bandwidth that the model has in force (`bbr_bw_lo`, `bbr_bw_hi`).
    pub const BW: StateColumn =
        StateColumn::number("bw_bps", "Bandwidth that the model has in force.");
    /// The smallest round-trip time of the model (`bbr_min_rtt`).
    pub const MIN_RTT: StateColumn = StateColumn::count(
        "min_rtt_ns",
        "Smallest round-trip time of the model; null before the first.",
    );
    /// `bbr_pacing_gain`.
    pub const PACING_GAIN: StateColumn =
        StateColumn::number("pacing_gain", "What the rate has of the bandwidth.");
    /// `bbr_cwnd_gain`.
    pub const CWND_GAIN: StateColumn = StateColumn::number(
        "cwnd_gain",
        "Bandwidth-delay products that the window is to hold.",
    );
    /// `dctcp_alpha`.
    pub const ALPHA: StateColumn = StateColumn::number("alpha", "Estimated share of marked data.");
    /// `dctcp_ce_state`.
    pub const CE_STATE: StateColumn = StateColumn::flag(
        "ce_state",
        "As a receiver: whether the last packet came marked.",
    );
    /// `dctcp_enabled`, `tcpv_enabled`.
    pub const ENABLED: StateColumn = StateColumn::flag(
        "enabled",
        "Whether it acts by its own rule; where not, it acts as Reno.",
    );
    /// `tcpv_rttcnt`.
    pub const ROUND_SAMPLES: StateColumn =
        StateColumn::count("round_samples", "Round-trip times measured in this round.");
    /// `tcpv_rtt`.
    pub const BASE_RTT: StateColumn = StateColumn::count(
        "base_rtt_ns",
        "Smallest round-trip time of the connection; null before the first.",
    );
    /// `tcpv_minrtt`.
    pub const ROUND_MIN_RTT: StateColumn = StateColumn::count(
        "round_min_rtt_ns",
        "Smallest round-trip time of this round; null before the first.",
    );
    /// Rounds of the connection, counted by packets.
    pub const ROUND_COUNT: StateColumn =
        StateColumn::count("round_count", "Rounds so far, counted by packets.");
    /// Whether more rate brings no more bandwidth.
    pub const FULL_BW_REACHED: StateColumn =
        StateColumn::flag("full_bw_reached", "Whether the pipe was found to be full.");
    /// Rounds without growth.
    pub const FULL_BW_COUNT: StateColumn = StateColumn::count(
        "full_bw_count",
        "Rounds in a row in which the bandwidth did not grow by a quarter.",
    );
    /// The largest excess of what acknowledgements delivered at once.
    pub const EXTRA_ACKED: StateColumn = StateColumn::count(
        "extra_acked_bytes",
        "Largest excess of recent rounds over what the bandwidth would have delivered.",
    );
    /// Whether the connection begins again after an idle time.
    pub const IDLE_RESTART: StateColumn = StateColumn::flag(
        "idle_restart",
        "Whether it begins again after an idle time.",
    );
}
