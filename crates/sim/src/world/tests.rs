//! A variant that returns nonsense ends the run, by name.

#[path = "../../tests/common/mod.rs"]
pub(crate) mod common;

use cclab_cc::{AckSample, Congestion, CongestionControl, CongestionSample, Cx, WindowInRecovery};
use cclab_spec::Limit;
use cclab_units::{Rate, Time};

use super::*;
use crate::own::OwnVariants;
use crate::stack;

/// Nonsense that a variant may return.
#[derive(Clone, Copy)]
enum Nonsense {
    NotANumber,
    NoWindow,
    EndlessWindow,
    /// A rate of nothing cannot be written down: the least is a bit per second.
    NoRate,
    EndlessRate,
}

/// Holds its window, and talks nonsense after some acknowledgements.
struct Broken {
    nonsense: Nonsense,
    cwnd: f64,
    pacing_rate: Option<Rate>,
}

impl CongestionControl for Broken {
    fn on_ack(&mut self, ack: &AckSample, _: &mut Cx<'_>) {
        if ack.snd_una < 100_000 {
            return;
        }
        match self.nonsense {
            Nonsense::NotANumber => self.cwnd = f64::NAN,
            Nonsense::NoWindow => self.cwnd = 0.0,
            Nonsense::EndlessWindow => self.cwnd = f64::INFINITY,
            Nonsense::NoRate => self.pacing_rate = Rate::from_bps(1),
            Nonsense::EndlessRate => self.pacing_rate = Rate::from_bps(u64::MAX),
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
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
}

/// A variant's way to build itself that forgets its sense, as each of [`Nonsense`].
macro_rules! broken {
    ($nonsense:ident) => {
        |config| {
            Box::new(Broken {
                nonsense: Nonsense::$nonsense,
                cwnd: config.initial_window as f64,
                pacing_rate: None,
            })
        }
    };
}

type Build = fn(&cclab_cc::Config) -> Box<dyn CongestionControl>;

/// How a run of two flows ends whose second one has the variant that `build_cc` builds.
fn end_of_a_run_with(build_cc: Build) -> Result<RunSummary, SimError> {
    let bottleneck = common::link(Some(10_000_000), Time::from_millis(5), Limit::Packets(50));
    let flows = vec![common::flow("good", "reno"), common::flow("bad", "cubic")];
    let scenario = common::dumbbell("rfc", bottleneck, flows, Time::from_secs(10));
    let mut probe = ();
    let mut world = World::<true>::new(&scenario, 1, &mut probe, &OwnVariants::default());
    let profile = stack::profile_of(&scenario, &scenario.flows[1]);
    let Flow::Tcp(flow) = &mut world.hosts.flows[1] else {
        panic!("the flow is TCP");
    };
    let mss = flow.mss;
    flow.sender = cclab_tcp::Sender::new(cclab_tcp::Config {
        flow: 1,
        recovery: profile.recovery,
        mss,
        isn: 0,
        ecn: cclab_tcp::EcnMode::Off,
        cc: cclab_cc::Config {
            mss: u64::from(mss),
            initial_window: 10 * u64::from(mss),
            initial_ssthresh: u64::MAX,
            slow_start: profile.cubic_slow_start,
            arithmetic: profile.arithmetic,
            params: cclab_units::parameter::Params::defaults(&[]),
        },
        maker: cclab_cc::Maker::Own(build_cc),
        window: WindowInRecovery::Stack,
        feedback: cclab_cc::EcnFeedback::Classic,
        codepoint: cclab_packet::Ecn::Ect0,
        rng: cclab_units::Stream::new(1, "broken"),
        remembered: None,
        profile: profile.into(),
    });
    world.run(&Progress::default())
}

#[test]
fn nonsense_of_each_kind_ends_the_run_and_names_the_variant() {
    let no_window = "a congestion window of 0 bytes (or one that is no number)";
    let cases: [(Build, String); 5] = [
        (broken!(NotANumber), no_window.to_owned()),
        (broken!(NoWindow), no_window.to_owned()),
        (
            broken!(EndlessWindow),
            format!("a congestion window of {} bytes", u64::MAX),
        ),
        (broken!(NoRate), "a pacing rate of 1bit/s".to_owned()),
        (
            broken!(EndlessRate),
            "a pacing rate of 18446744073.709553Gbit/s".to_owned(),
        ),
    ];
    for (build_cc, what) in cases {
        let error = end_of_a_run_with(build_cc).expect_err(&what);
        let expected = SimError::Variant {
            flow: "bad".to_owned(),
            variant: "cubic".to_owned(),
            what: what.clone(),
        };
        assert_eq!(error, expected);
        let message = format!("flow bad: its variant cubic returned {what}");
        assert_eq!(error.to_string(), message);
    }
}
