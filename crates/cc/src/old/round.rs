//! The round-trip times of one round and of all, for Vegas and YeAH with windows of their own.

use cclab_units::Time;

use crate::window::StackWindow;
use crate::{AckSample, Config};

/// Fewer samples than these may all be of delayed acknowledgements.
const ENOUGH_SAMPLES: u32 = 3;

/// `struct vegas`. Times are in microseconds and one more, so that none is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Smallest of all (`baseRTT`); `u64::MAX` before the first.
    pub(crate) base: u64,
    /// Smallest of the round (`minRTT`); `u64::MAX` before the first.
    pub(crate) min: u64,
    /// Samples in the round (`cntRTT`).
    pub(crate) samples: u32,
    /// Past this offset the round is over (`beg_snd_nxt`).
    end: u64,
}

impl Round {
    pub(crate) fn new() -> Round {
        Round {
            base: u64::MAX,
            min: u64::MAX,
            samples: 0,
            end: 0,
        }
    }

    /// `tcp_vegas_pkts_acked`.
    pub(crate) fn take(&mut self, ack: &AckSample) {
        let Some(rtt) = ack.rtt else { return };
        let micros = rtt.as_micros() + 1;
        self.base = self.base.min(micros);
        self.min = self.min.min(micros);
        self.samples = self.samples.saturating_add(1);
    }

    /// Starts a round that ends when what is sent so far is acknowledged.
    pub(crate) fn begin(&mut self, snd_nxt: u64) {
        self.end = snd_nxt;
        self.min = u64::MAX;
        self.samples = 0;
    }

    pub(crate) fn is_over(&self, ack: &AckSample) -> bool {
        ack.snd_una > self.end
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.samples >= ENOUGH_SAMPLES
    }
}

/// A window of Linux's stack that is decided upon round by round.
pub(crate) struct Rounds {
    pub(crate) stack: StackWindow,
    pub(crate) round: Round,
    /// Where a round begins that follows an idle time or a mistake.
    pub(crate) snd_nxt: u64,
}

impl Rounds {
    pub(crate) fn new(config: &Config) -> Rounds {
        Rounds {
            stack: StackWindow::new(config),
            round: Round::new(),
            snd_nxt: 0,
        }
    }

    /// Takes in an acknowledgement; measuring begins anew when the stack is Open again.
    pub(crate) fn take(&mut self, ack: &AckSample) {
        self.round.take(ack);
        self.snd_nxt = ack.snd_nxt;
        if self.stack.reopens(ack) {
            self.round.begin(ack.snd_nxt);
        }
    }

    pub(crate) fn undo(&mut self) {
        self.stack.undo();
        self.round.begin(self.snd_nxt);
    }

    /// The path may have changed while nothing was sent: its delay is learnt anew.
    pub(crate) fn restart(&mut self, idle: Time, rto: Time) {
        self.stack.restart(idle, rto);
        self.round = Round::new();
        self.round.begin(self.snd_nxt);
    }
}
