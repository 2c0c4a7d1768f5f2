//! Reno that tells what it is at.

use cclab::state::{ABSENT, counted, flagged};
use cclab::{CongestionOps, Given, StateColumn, Tcp};

struct Phases {
    reductions: u64,
    last: Option<u64>,
}

impl Phases {
    fn new(_: Given) -> Phases {
        Phases {
            reductions: 0,
            last: None,
        }
    }
}

const COLUMNS: &[StateColumn] = &[
    StateColumn::word("phase", &["slow_start", "avoidance"], "Which of the two."),
    StateColumn::count("reductions", "Reductions so far."),
    StateColumn::flag("reduced", "Whether there was one."),
    StateColumn::number("share", "What of the window was kept; null before the first."),
];

impl CongestionOps for Phases {
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        self.reductions += 1;
        self.last = Some(self.reductions);
        tcp.reno_ssthresh()
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        tcp.reno_cong_avoid(acked);
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        COLUMNS
    }

    fn tell_state(&self, tcp: &Tcp, values: &mut [f64]) {
        values.copy_from_slice(&[
            f64::from(u8::from(tcp.snd_cwnd >= tcp.snd_ssthresh)),
            counted(self.reductions),
            flagged(self.last.is_some()),
            self.last.map_or(ABSENT, |_| 0.5),
        ]);
    }
}

cclab::variant! { interface: 1, name: "phases", start: Phases::new }
