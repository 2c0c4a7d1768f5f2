//! What is remembered of an earlier connection (`crate::resuming`), in the units of the kernel's BBR.

use cclab_interface::{Resumption, Tcp};

use super::{Bbr, Mode};
use crate::resuming::{Pace, Stage, Turn};

impl Bbr {
    pub(super) fn take_step(&mut self, tcp: &mut Tcp, step: Resumption) {
        let now = Pace {
            rate: tcp.pacing_rate,
            window: u64::from(tcp.snd_cwnd),
        };
        match self.resuming.take(step, self.stage(), now) {
            Some(Turn::Raise(rate)) => self.raise(tcp, rate),
            Some(Turn::Fill) => self.pipe.fill(),
            Some(Turn::GiveBack(before)) => self.give_back(tcp, before),
            None => {}
        }
    }

    /// Behind each acknowledgement: rate and window are those of the rate that is remembered, if that
    /// is more.
    pub(super) fn keep_resuming(&mut self, tcp: &mut Tcp) {
        if let Some(rate) = self.resuming.keep(self.stage()) {
            self.raise(tcp, rate);
        }
    }

    fn stage(&self) -> Stage {
        match self.mode {
            Mode::Startup => Stage::Startup,
            Mode::Drain => Stage::Drain,
            Mode::ProbeBw | Mode::ProbeRtt => Stage::Later,
        }
    }

    fn raise(&self, tcp: &mut Tcp, rate: u64) {
        tcp.pacing_rate = tcp.pacing_rate.max(rate).min(tcp.max_pacing_rate);
        let gain = f64::from(self.constants.high_gain) / f64::from(super::UNIT);
        let seconds = match self.rtt.micros() {
            u32::MAX => 0.0,
            micros => f64::from(micros) / 1e6,
        };
        let window = gain * rate as f64 * seconds / f64::from(tcp.mss_cache);
        tcp.snd_cwnd = tcp.snd_cwnd.max(window as u32).min(tcp.snd_cwnd_clamp);
    }

    /// `bbr_set_pacing_rate` never does so before the pipe is full.
    fn give_back(&self, tcp: &mut Tcp, before: Pace) {
        let bw = self.bw();
        let measured = self.rate_of(tcp, bw, self.gains.pacing);
        tcp.pacing_rate = tcp.pacing_rate.min(measured.max(before.rate));
        let window = u64::from(self.inflight(tcp, bw, self.gains.cwnd)).max(before.window);
        tcp.snd_cwnd = u64::from(tcp.snd_cwnd).min(window) as u32;
    }
}

#[cfg(test)]
mod tests {
    use cclab_interface::CongestionOps;

    use super::*;
    use crate::bbr::tests::Path;
    use crate::resuming::Resuming;

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
        // Ten segments a round trip are what was measured: a rate that none spoke for is given back.
        let measured = path
            .bbr
            .rate_of(&path.tcp, path.bbr.bw(), path.bbr.gains.pacing);
        assert_eq!(path.tcp.pacing_rate, measured.max(before));
        assert!(path.tcp.snd_cwnd < 100, "{}", path.tcp.snd_cwnd);
        path.round(10, |_, _| {});
        assert!(path.tcp.pacing_rate < 2_000_000);
    }

    /// What was delivered at the rate remembered keeps it up.
    #[test]
    fn a_rate_that_was_validated_stays() {
        let mut path = Path::new();
        path.round(10, |_, _| {});
        path.bbr
            .resume(&mut path.tcp, Resumption::Begins(2_000_000));
        path.round(138, |_, _| {});
        path.bbr.resume(&mut path.tcp, Resumption::Ends);
        assert!(path.tcp.pacing_rate >= 2_000_000);
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
