//! The round-trip times of one round and of all, as Linux's Vegas and YeAH measure them.

use cclab_interface::{AckSample, CaEvent, CaState, Tcp, after};

/// Up to so many samples may all be of delayed acknowledgements.
const FEW_SAMPLES: u16 = 2;

/// `struct vegas`. Round-trip times are in microseconds and one more, so that none is zero.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// Past this number the round is over (`beg_snd_nxt`).
    pub(crate) end: u32,
    /// Whether the stack is Open (`doing_vegas_now`).
    pub(crate) enabled: bool,
    /// Samples in the round (`cntRTT`), 16 bits of them.
    pub(crate) samples: u16,
    /// Smallest of the round (`minRTT`).
    pub(crate) min: u32,
    /// Smallest since the connection was last idle (`baseRTT`).
    pub(crate) base: u32,
}

impl Round {
    /// A round-trip time before there is one.
    pub(crate) const UNKNOWN: u32 = 0x7fff_ffff;

    /// `tcp_vegas_init`: the path is learnt anew.
    pub(crate) fn forget(&mut self, tcp: &Tcp) {
        self.base = Round::UNKNOWN;
        self.enable(tcp);
    }

    /// `vegas_enable`.
    fn enable(&mut self, tcp: &Tcp) {
        self.enabled = true;
        self.begin(tcp);
    }

    /// Begins a round, which ends when what is sent so far is acknowledged.
    pub(crate) fn begin(&mut self, tcp: &Tcp) {
        self.end = tcp.snd_nxt;
        self.samples = 0;
        self.min = Round::UNKNOWN;
    }

    pub(crate) fn is_over(&self, ack: u32) -> bool {
        after(ack, self.end)
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.samples > FEW_SAMPLES
    }

    /// `tcp_vegas_pkts_acked`.
    pub(crate) fn pkts_acked(&mut self, sample: &AckSample) {
        if sample.rtt_us < 0 {
            return;
        }
        let rtt = sample.rtt_us as u32 + 1;
        self.base = self.base.min(rtt);
        self.min = self.min.min(rtt);
        self.samples = self.samples.wrapping_add(1);
    }

    /// `tcp_vegas_state`.
    pub(crate) fn set_state(&mut self, tcp: &Tcp, new: CaState) {
        match new {
            CaState::Open => self.enable(tcp),
            _ => self.enabled = false,
        }
    }

    /// `tcp_vegas_cwnd_event`: the path may have changed while nothing was sent.
    pub(crate) fn cwnd_event(&mut self, tcp: &Tcp, event: CaEvent) {
        if matches!(event, CaEvent::CwndRestart | CaEvent::TxStart) {
            self.forget(tcp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::lent;

    fn sample(rtt_us: i32) -> AckSample {
        AckSample {
            rtt_us,
            ..AckSample::default()
        }
    }

    #[test]
    fn a_round_takes_the_smallest_of_three_samples_and_more() {
        let mut tcp = lent(10, 2);
        let mut round = Round::default();
        round.forget(&tcp);
        let mut seen = Vec::new();
        for rtt in [40_000, -1, 30_000, 50_000] {
            round.pkts_acked(&sample(rtt));
            seen.push((round.min, round.is_measured()));
        }
        let expected = [
            (40_001, false),
            (40_001, false),
            (30_001, false),
            (30_001, true),
        ];
        assert_eq!(seen, expected);
        // The numbers wrap: 5 comes after 2^32 - 5, which ends the round no more than itself.
        tcp.snd_nxt = u32::MAX - 4;
        round.begin(&tcp);
        assert!(round.is_over(5) && !round.is_over(u32::MAX - 4));
        assert_eq!((round.min, round.base), (Round::UNKNOWN, 30_001));
        round.samples = u16::MAX;
        round.pkts_acked(&sample(1));
        assert!(!round.is_measured());
    }

    #[test]
    fn open_begins_a_round_and_an_idle_time_forgets_the_base() {
        let mut tcp = lent(10, 2);
        let mut round = Round::default();
        round.forget(&tcp);
        round.pkts_acked(&sample(40_000));
        tcp.snd_nxt = 7_000;
        for state in [
            CaState::Disorder,
            CaState::Cwr,
            CaState::Recovery,
            CaState::Loss,
        ] {
            round.set_state(&tcp, CaState::Open);
            round.set_state(&tcp, state);
            assert!(!round.enabled, "{state:?}");
        }
        assert_eq!((round.end, round.samples, round.base), (7_000, 0, 40_001));
        round.cwnd_event(&tcp, CaEvent::CompleteCwr);
        assert_eq!((round.enabled, round.base), (false, 40_001));
        for event in [CaEvent::CwndRestart, CaEvent::TxStart] {
            round.pkts_acked(&sample(40_000));
            round.set_state(&tcp, CaState::Loss);
            round.cwnd_event(&tcp, event);
            assert_eq!((round.enabled, round.base), (true, Round::UNKNOWN));
        }
    }
}
