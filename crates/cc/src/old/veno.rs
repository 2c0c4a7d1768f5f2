//! Veno with a window of its own (`tcp_veno.c`).

use cclab_units::Time;

use crate::window::{SegmentWindow, StackWindow, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// Segments in the queue are counted in halves (`V_PARAM_SHIFT`).
const SHIFT: u32 = 1;
/// `beta`: three segments in the queue make a path congested.
const BETA: u64 = 3 << SHIFT;
/// With fewer samples it is Reno; the kernel counts them once for the connection.
const ENOUGH_SAMPLES: u32 = 3;
/// The least window of a step.
const LEAST: u64 = 2;

/// The variant at one flow.
pub(crate) struct Veno {
    stack: StackWindow,
    /// Smallest round-trip time in microseconds and one more; `u64::MAX` before the first.
    base: u64,
    /// The same since the last step.
    min: u64,
    samples: u32,
    /// Segments in the queue, in halves (`diff`).
    queued: u64,
    /// Whether the next window's worth of acknowledgements grows it, where every other does.
    grows: bool,
}

impl Veno {
    pub(crate) fn new(config: &Config) -> Veno {
        Veno {
            stack: StackWindow::new(config),
            base: u64::MAX,
            min: u64::MAX,
            samples: 0,
            queued: 0,
            grows: true,
        }
    }

    fn measure(&mut self) {
        let cwnd = self.stack.window.cwnd;
        let path = match self.min {
            u64::MAX => 0, // no sample since the last step
            rtt => ((u128::from(cwnd << SHIFT) * u128::from(self.base)) / u128::from(rtt)) as u64,
        };
        self.queued = (cwnd << SHIFT) - path;
    }

    /// `tcp_veno_cong_avoid` once there are samples.
    fn step(&mut self, mut acked: u64) {
        self.measure();
        let window = &mut self.stack.window;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        if acked > 0 {
            if self.queued < BETA {
                window.avoid(window.cwnd, acked);
            } else if window.counter >= window.cwnd {
                window.cwnd += u64::from(self.grows);
                self.grows = !self.grows;
                window.counter = 0;
            } else {
                window.counter += acked;
            }
        }
        window.cwnd = window.cwnd.max(LEAST).min(window.most);
    }
}

/// `tcp_veno_ssthresh`: four fifths remain of a window without a queue.
fn remaining(queued: u64, window: &SegmentWindow) -> u64 {
    if queued < BETA {
        (window.cwnd * 4 / 5).max(2)
    } else {
        window.half()
    }
}

impl CongestionControl for Veno {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if let Some(rtt) = ack.rtt {
            let micros = rtt.as_micros() + 1;
            self.base = self.base.min(micros);
            self.min = self.min.min(micros);
            self.samples = self.samples.saturating_add(1);
        }
        if self.stack.reopens(ack) {
            self.min = u64::MAX;
        }
        if !may_grow(ack) {
            return;
        }
        let acked = self.stack.acked(ack);
        if self.stack.is_repairing() {
            return self.stack.window.reno(acked);
        }
        if self.samples < ENOUGH_SAMPLES {
            self.stack.window.reno(acked);
        } else {
            self.step(acked);
        }
        self.min = u64::MAX;
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        let queued = self.queued;
        self.stack
            .reduce(kind, at, |window| remaining(queued, window));
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.stack.undo();
        self.min = u64::MAX;
    }

    /// The path may have changed while nothing was sent: its delay is learnt anew.
    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        self.stack.restart(idle, rto);
        self.base = u64::MAX;
        self.min = u64::MAX;
        self.grows = true;
    }

    fn cwnd(&self) -> u64 {
        self.stack.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.stack.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Bench, ack, config, congestion};
    use crate::{Arithmetic, SlowStart};

    fn flow(cwnd: u64) -> Bench<Veno> {
        let config = config(Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Veno::new(&config));
        flow.cc.stack.window.cwnd = cwnd;
        flow.cc.stack.window.ssthresh = 2;
        flow.cc.base = 40_000;
        flow.cc.samples = ENOUGH_SAMPLES;
        flow
    }

    fn acknowledge(flow: &mut Bench<Veno>, micros: u64) {
        flow.ack(&AckSample {
            rtt: Some(Time::from_micros(micros - 1)),
            ..ack(1_000)
        });
    }

    #[test]
    fn a_loss_without_a_queue_costs_a_fifth_and_with_one_half() {
        let mut flow = flow(20);
        acknowledge(&mut flow, 44_000);
        // 40 halves - 40 * 40000 / 44000 = 36: 4 halves, two segments.
        assert_eq!(flow.cc.queued, 4);
        flow.congestion(Congestion::Loss, &congestion(20_000));
        assert_eq!(flow.cc.cwnd(), 16_000);
        flow.undo();
        acknowledge(&mut flow, 48_000);
        // 40 - 33 = 7 halves: above beta.
        assert_eq!(flow.cc.queued, 7);
        flow.congestion(Congestion::Loss, &congestion(20_000));
        assert_eq!(flow.cc.cwnd(), 10_000);
    }

    #[test]
    fn a_queue_halves_the_growth() {
        let mut free = flow(10);
        for _ in 0..10 {
            acknowledge(&mut free, 41_000);
        }
        assert_eq!(free.cc.stack.window.cwnd, 11);
        // 20 halves - 20 * 40000 / 80000 = 10. Ten are counted and the eleventh grows; the next
        // window's worth does not.
        let mut queued = flow(10);
        let mut seen = Vec::new();
        for _ in 0..4 {
            for _ in 0..12 {
                acknowledge(&mut queued, 80_000);
            }
            seen.push(queued.cc.stack.window.cwnd);
        }
        assert_eq!(seen, [11, 11, 12, 12]);
    }

    #[test]
    fn without_a_sample_the_path_counts_for_nothing() {
        let mut flow = flow(10);
        flow.ack(&ack(1_000));
        assert_eq!(flow.cc.queued, 20);
    }
}
