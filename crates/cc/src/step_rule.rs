//! The frame of the five window rules of 1999 that give long round trips more: in avoidance each
//! acknowledgement adds a step to a counter, and when the counter passes the window, the window
//! grows by one segment and the counter starts again. Reno's step is 1; theirs depends on the
//! round-trip time in whole ticks of the kernel's clock, divided as integers are.
//!
//! One form on every stack, with the rest as in Linux 2.0: a segment per acknowledgement in slow
//! start, half of the window at a loss. Two rules of this laboratory hold as for every variant: a
//! window that is not used does not grow, and an idle time shrinks it.

use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{Measure, Time};

use crate::window::{StackWindow, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// Name of the parameter in [`TICK`].
const TICK_NAME: &str = "tick";

/// The tick of the clock that round trips are measured by.
pub(crate) const TICK: Parameter = Parameter {
    name: TICK_NAME,
    measure: Measure::Time,
    meaning: "tick of the clock that round trips are measured by",
    default: 0.001,
    least: 1e-6,
    most: 1.0,
};

/// What an acknowledgement counts for.
pub(crate) trait StepRule: Send {
    /// The step of an acknowledgement in avoidance that measured `rtt`; `before` are the two
    /// measured before it, the latest first. In ticks.
    fn step(&mut self, rtt: u64, before: [Option<u64>; 2]) -> u64;
}

/// A rule at one flow.
pub(crate) struct Counted<R> {
    stack: StackWindow,
    rule: R,
    tick: u64,
    before: [Option<u64>; 2],
}

impl<R: StepRule> Counted<R> {
    pub(crate) fn new(config: &Config, rule: R) -> Counted<R> {
        let tick = Time::from_secs_f64(config.params.get(TICK_NAME));
        Counted {
            stack: StackWindow::new(config),
            rule,
            tick: tick.as_nanos().max(1),
            before: [None; 2],
        }
    }

    fn grow(&mut self, rtt: Option<u64>) {
        let window = &mut self.stack.window;
        if window.in_slow_start() {
            window.slow_start(1);
        } else if let Some(rtt) = rtt {
            // What measures no round trip counts for nothing.
            let step = self.rule.step(rtt, self.before);
            window.counter = window.counter.saturating_add(step);
            if window.counter > window.cwnd {
                window.counter = 0;
                window.cwnd = (window.cwnd + 1).min(window.most);
            }
        }
    }
}

impl<R: StepRule> CongestionControl for Counted<R> {
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        // Ticks between sending and now, as a clock that is read at both shows them.
        let at = |time: Time| time.as_nanos() / self.tick;
        let rtt = ack.rtt.map(|rtt| at(cx.now) - at(cx.now - rtt));
        if may_grow(ack) {
            self.grow(rtt);
        }
        if rtt.is_some() {
            self.before = [rtt, self.before[0]];
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.stack.reduce(kind, at, |window| window.half());
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.stack.undo();
    }

    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        self.stack.restart(idle, rto);
    }

    fn cwnd(&self) -> u64 {
        self.stack.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.stack.ssthresh()
    }
}

/// A divisor that moves by steps between a floor and a ceiling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovingDivisor {
    pub(crate) c: u64,
    step: u64,
    floor: u64,
    ceiling: u64,
}

impl MovingDivisor {
    /// From the parameters `start`, `step`, `floor` and `ceiling`; at a floor above the ceiling it
    /// stays at the floor.
    pub(crate) fn new(config: &Config) -> MovingDivisor {
        let whole = |name| config.params.get(name) as u64;
        let floor = whole("floor");
        let ceiling = whole("ceiling").max(floor);
        MovingDivisor {
            c: whole("start").clamp(floor, ceiling),
            step: whole("step"),
            floor,
            ceiling,
        }
    }

    pub(crate) fn rise(&mut self) {
        self.c = (self.c + self.step).min(self.ceiling);
    }

    pub(crate) fn fall(&mut self) {
        self.c = self.c.saturating_sub(self.step).max(self.floor);
    }

    /// The rule that A and B share: up when the round trip rose, else down.
    pub(crate) fn follow(&mut self, rtt: u64, before: Option<u64>) {
        match before {
            Some(before) if rtt > before => self.rise(),
            Some(_) => self.fall(),
            None => {}
        }
    }
}

/// `start`, `step`, `floor`, `ceiling` and `tick` with these defaults.
pub(crate) const fn moving_params(defaults: [f64; 4]) -> [Parameter; 5] {
    const fn divisor(name: &'static str, meaning: &'static str, default: f64) -> Parameter {
        Parameter {
            name,
            measure: Measure::Whole,
            meaning,
            default,
            least: 1.0,
            most: 1e9,
        }
    }
    [
        divisor("start", "the divisor c' at the start", defaults[0]),
        divisor("step", "by how much c' moves", defaults[1]),
        divisor("floor", "the least c'", defaults[2]),
        divisor("ceiling", "the largest c'", defaults[3]),
        TICK,
    ]
}

/// What they have to do with each other.
pub(crate) const MOVING_RELATIONS: &[Relation] = &[
    Relation::AtMost("floor", "ceiling"),
    Relation::AtMost("floor", "start"),
    Relation::AtMost("start", "ceiling"),
];

#[cfg(test)]
pub(crate) mod tests {
    use cclab_units::parameter::Params;

    use super::*;
    use crate::tests::{Bench, ack, config_of, congestion, started};
    use crate::variant::Variant;
    use crate::{Arithmetic, SlowStart};

    /// A flow in avoidance with a window of ten segments.
    pub(crate) fn avoiding(
        variant: &Variant,
        given: &[(&str, f64)],
    ) -> Bench<Box<dyn CongestionControl>> {
        let given = given.iter().map(|&(name, value)| (name.to_owned(), value));
        let config = Config {
            initial_ssthresh: 10_000,
            params: Params::new(variant.params, &given.collect()).expect("declared and in range"),
            ..config_of(variant, Arithmetic::Segments, SlowStart::Plain)
        };
        Bench::new(started(variant, &config))
    }

    /// An acknowledgement of two segments that measured `ms`.
    pub(crate) fn timed(ms: u64) -> AckSample {
        AckSample {
            rtt: Some(Time::from_millis(ms)),
            ..ack(2_000)
        }
    }

    /// Windows in segments after each of `rtts`.
    pub(crate) fn windows(
        flow: &mut Bench<Box<dyn CongestionControl>>,
        rtts: impl IntoIterator<Item = u64>,
    ) -> Vec<u64> {
        rtts.into_iter()
            .map(|ms| {
                flow.ack(&timed(ms));
                flow.cc.cwnd() / 1_000
            })
            .collect()
    }

    /// Reno in this form: one per acknowledgement.
    struct Reno;

    impl StepRule for Reno {
        fn step(&mut self, _rtt: u64, _before: [Option<u64>; 2]) -> u64 {
            1
        }
    }

    fn reno() -> Bench<Counted<Reno>> {
        let config = config_of(
            &crate::linear_rate::VARIANT,
            Arithmetic::Segments,
            SlowStart::Plain,
        );
        Bench::new(Counted::new(&config, Reno))
    }

    #[test]
    fn a_segment_is_added_when_the_counter_passes_the_window() {
        let mut flow = reno();
        flow.ack(&timed(1));
        assert_eq!(flow.cc.cwnd(), 11_000); // slow start: one per ACK, of two segments too
        flow.congestion(Congestion::Loss, &congestion(40_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (5_000, 5_000));
        for _ in 0..5 {
            flow.ack(&timed(1));
        }
        assert_eq!(flow.cc.cwnd(), 5_000); // 5 is not past 5
        flow.ack(&timed(1));
        assert_eq!(flow.cc.cwnd(), 6_000);
        flow.congestion(Congestion::Rto, &congestion(6_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 3_000));
        flow.undo();
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (6_000, 5_000));
    }

    #[test]
    fn round_trips_are_ticks_of_a_clock() {
        let mut flow = reno();
        let mut ticks = |now_us, rtt_us| {
            flow.now = Time::from_micros(now_us);
            flow.ack(&AckSample {
                rtt: Some(Time::from_micros(rtt_us)),
                ..ack(1_000)
            });
            flow.cc.before[0]
        };
        assert_eq!(ticks(10_000_500, 400), Some(0)); // sent and acknowledged in one tick
        assert_eq!(ticks(10_000_300, 400), Some(1)); // a tick lies between
        assert_eq!(ticks(10_002_000, 2_000), Some(2));
    }
}
