//! A variant that returns nonsense ends the run, by name.

#[path = "../../tests/common/mod.rs"]
mod common;

use cclab_cc::{AckSample, Congestion, CongestionControl, CongestionSample, Cx, WindowInRecovery};
use cclab_spec::Limit;
use cclab_units::Time;

use super::*;
use crate::stack;

/// Holds its window, and forgets how to count in the end.
struct Broken {
    cwnd: f64,
}

impl CongestionControl for Broken {
    fn on_ack(&mut self, ack: &AckSample, _: &mut Cx<'_>) {
        if ack.snd_una > 100_000 {
            self.cwnd = f64::NAN;
        }
    }
    fn on_congestion(&mut self, _: Congestion, _: &CongestionSample, _: &mut Cx<'_>) {}
    fn on_undo(&mut self, _: &mut Cx<'_>) {}
    fn cwnd(&self) -> u64 {
        self.cwnd as u64
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
}

#[test]
fn nonsense_ends_the_run_and_names_the_variant() {
    let bottleneck = common::link(Some(10_000_000), Time::from_millis(5), Limit::Packets(50));
    let flows = vec![common::flow("good", "reno"), common::flow("bad", "cubic")];
    let scenario = common::dumbbell("rfc", bottleneck, flows, Time::from_secs(10));
    let mut probe = ();
    let mut world = World::new(&scenario, 1, &mut probe);
    let profile = stack::profile_of(&scenario, &scenario.flows[1]);
    let mss = u64::from(world.flows[1].mss);
    world.flows[1].sender = cclab_tcp::Sender::new(cclab_tcp::Config {
        flow: 1,
        recovery: profile.recovery,
        mss: world.flows[1].mss,
        isn: 0,
        ecn: false,
        cc: cclab_cc::Config {
            mss,
            initial_window: 10 * mss,
            initial_ssthresh: u64::MAX,
            slow_start: profile.cubic_slow_start,
            arithmetic: profile.arithmetic,
            params: cclab_units::parameter::Params::defaults(&[]),
        },
        build_cc: |config| {
            Box::new(Broken {
                cwnd: config.initial_window as f64,
            })
        },
        window: WindowInRecovery::Stack,
        feedback: cclab_cc::EcnFeedback::Classic,
        rng: cclab_units::Stream::new(1, "broken"),
        profile: profile.into(),
    });
    let error = world.run(&Progress::default()).expect_err("nonsense");
    assert_eq!(
        error.to_string(),
        "flow bad: its variant cubic returned a congestion window of 0 bytes (or one that is no \
         number)"
    );
}
