//! Resuming from what an earlier connection found (RFC 9959, on BBR): Startup may send at the rate that
//! is remembered before it has measured it.

use cclab_interface::{Resumption, Tcp};

use super::{Bbr, Mode};

/// Whether the connection resumes (the flag "carefully-resuming").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Resuming {
    #[default]
    No,
    /// At so many bytes a second at least.
    At(u64),
    /// Congestion ended that: what is delivered until Drain is over pushed out others' packets.
    Drains,
}

impl Bbr {
    pub(super) fn take_step(&mut self, tcp: &mut Tcp, step: Resumption) {
        match (step, self.resuming) {
            (Resumption::Begins(rate), _) if self.mode == Mode::Startup => {
                self.resuming = Resuming::At(rate);
                self.raise(tcp);
            }
            (Resumption::Retreats, Resuming::At(_)) => {
                // Out of Startup; below it nothing is tainted.
                self.resuming = match self.mode {
                    Mode::Startup => Resuming::Drains,
                    _ => Resuming::No,
                };
                self.pipe.fill();
            }
            (Resumption::Ends, Resuming::At(_)) => self.resuming = Resuming::No,
            _ => {}
        }
    }

    /// Whether the delivery rate says something of the path.
    pub(super) fn is_tainted(&self) -> bool {
        self.resuming == Resuming::Drains
    }

    /// Behind each acknowledgement: rate and window are those of the rate that is remembered, if that
    /// is more.
    pub(super) fn keep_resuming(&mut self, tcp: &mut Tcp) {
        match (self.resuming, self.mode) {
            (Resuming::At(_), Mode::Startup) => self.raise(tcp),
            (Resuming::Drains, Mode::Startup | Mode::Drain) => {}
            _ => self.resuming = Resuming::No,
        }
    }

    fn raise(&self, tcp: &mut Tcp) {
        let Resuming::At(rate) = self.resuming else {
            return;
        };
        tcp.pacing_rate = tcp.pacing_rate.max(rate).min(tcp.max_pacing_rate);
        let gain = f64::from(self.constants.high_gain) / f64::from(super::UNIT);
        let seconds = match self.rtt.micros() {
            u32::MAX => 0.0,
            micros => f64::from(micros) / 1e6,
        };
        let window = gain * rate as f64 * seconds / f64::from(tcp.mss_cache);
        tcp.snd_cwnd = tcp.snd_cwnd.max(window as u32).min(tcp.snd_cwnd_clamp);
    }
}

#[cfg(test)]
mod tests {
    use cclab_interface::CongestionOps;

    use super::*;
    use crate::bbr::tests::Path;

    /// 2 Mbyte/s over 100 ms are 200 segments; times 739/256.
    #[test]
    fn startup_sends_at_the_rate_remembered_until_it_is_told_otherwise() {
        let mut path = Path::new();
        path.round(10, |_, _| {});
        let before = path.tcp.pacing_rate;
        assert!(before < 2_000_000);
        assert!(
            path.bbr
                .resume(&mut path.tcp, Resumption::Begins(2_000_000))
        );
        assert_eq!((path.tcp.pacing_rate, path.tcp.snd_cwnd), (2_000_000, 577));
        path.round(10, |_, _| {});
        assert_eq!(path.tcp.pacing_rate, 2_000_000);
        path.bbr.resume(&mut path.tcp, Resumption::Ends);
        assert_eq!(path.bbr.resuming, Resuming::No);
        assert_eq!(path.bbr.mode, Mode::Startup);
    }

    /// Congestion ends Startup; what Drain delivers is no bandwidth; when it is over, rates count again.
    #[test]
    fn congestion_drains_and_what_that_delivers_says_nothing() {
        let mut path = Path::new();
        path.round(10, |_, _| {});
        path.bbr
            .resume(&mut path.tcp, Resumption::Begins(2_000_000));
        path.round(100, |_, _| {});
        let known = path.bbr.bw();
        path.bbr.resume(&mut path.tcp, Resumption::Retreats);
        path.round(200, |tcp, _| tcp.packets_out = 250);
        assert_eq!((path.bbr.mode, path.bbr.bw()), (Mode::Drain, known));
        path.round(200, |tcp, _| tcp.packets_out = 10);
        assert_eq!((path.bbr.mode, path.bbr.bw()), (Mode::ProbeBw, known));
        path.round(200, |_, _| {});
        assert!(path.bbr.bw() > known);
    }

    /// Only Startup resumes.
    #[test]
    fn a_pipe_that_was_full_is_not_filled_again() {
        let mut path = Path::in_probe_bw();
        let (rate, cwnd) = (path.tcp.pacing_rate, path.tcp.snd_cwnd);
        path.bbr.resume(&mut path.tcp, Resumption::Begins(1 << 40));
        assert_eq!((path.tcp.pacing_rate, path.tcp.snd_cwnd), (rate, cwnd));
    }
}
