//! A bottleneck of 10 Mbit/s and 40 ms that falls at 10 s: what a stale model does to those that have
//! one. The expected numbers are of the papers' rules by hand.

mod common;

use cclab_spec::{Change, Flow, Limit};
use cclab_trace::schema::FlowSample;
use cclab_units::Time;

use common::{Marks, dumbbell, flow, link, rate, run_with};

const FULL: f64 = 1514.0 * 8.0;
const PAYLOAD: f64 = 1448.0;
const BEFORE: f64 = 10e6;
const PROPAGATION: f64 = 0.04;

/// The samples of a flow alone in front of 250 packets, each 100 ms of 60 s.
struct Fall {
    samples: Vec<(Time, FlowSample)>,
}

impl Fall {
    fn of(sender: Flow, to: f64) -> Fall {
        let mut bottleneck = link(
            Some(BEFORE as u64),
            Time::from_millis(20),
            Limit::Packets(250),
        );
        bottleneck.schedule = vec![Change {
            at: Time::from_secs(10),
            rate: Some(rate(to as u64)),
            delay: None,
            loss: None,
        }];
        let duration = Time::from_secs(60);
        let mut scenario = dumbbell("linux-6.12", bottleneck, vec![sender], duration);
        scenario.trace.interval = Time::from_millis(100);
        let mut marks = Marks::default();
        run_with(&scenario, 1, &mut marks);
        Fall {
            samples: marks.samples,
        }
    }

    /// From `from` s to `to` s.
    fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &FlowSample> {
        let span = Time::from_secs(from)..Time::from_secs(to);
        let inside = self.samples.iter().filter(move |(at, _)| span.contains(at));
        inside.map(|(_, sample)| sample)
    }

    fn rtt(&self, from: u64, to: u64) -> f64 {
        let rtts = self.between(from, to).filter_map(|sample| sample.srtt);
        let (sum, count) = rtts.fold((0.0, 0), |(sum, count), rtt| {
            (sum + rtt.as_secs_f64(), count + 1)
        });
        sum / f64::from(count)
    }

    /// The smallest and the largest pacing rate, in bit/s.
    fn paced(&self, from: u64, to: u64) -> (u64, u64) {
        let rates = self
            .between(from, to)
            .filter_map(|sample| sample.pacing_rate);
        rates.fold((u64::MAX, 0), |(least, most), rate| {
            (least.min(rate.bps()), most.max(rate.bps()))
        })
    }
}

/// What a bottleneck of `bps` delivers of payload.
fn delivered(bps: f64) -> f64 {
    bps * PAYLOAD * 8.0 / FULL
}

/// draft-ietf-ccwg-bbr-06, 5.6.4.5: a dip holds half a product of the rate that is remembered. That is
/// `BEFORE / 2` times the round trip, more than the path holds once the rate fell below half.
#[test]
fn a_dip_of_bbr3_by_a_stale_rate_leaves_the_queue() {
    for to in [1.5e6, 2e6, 3e6] {
        let fall = Fall::of(flow("f", "bbr3"), to);
        let dip = fall.between(10, 13).map(|sample| sample.in_flight).min();
        let in_flight = dip.expect("samples") as f64 / PAYLOAD;
        let half = BEFORE / 2.0 * (PROPAGATION + FULL / BEFORE) / FULL;
        assert!((in_flight - half).abs() < 2.0, "{in_flight} of {half}");
        assert!(in_flight > 1.2 * to * PROPAGATION / FULL, "{in_flight}");
    }
}

/// 5.5.6: rates are remembered for two cycles. A cycle ends before the next dip where five rounds of two
/// products of the old rate are short enough, as with a fall to the half.
#[test]
fn bbr3_follows_a_rate_that_falls_to_the_half() {
    for to in [7e6, 5e6] {
        let fall = Fall::of(flow("f", "bbr3"), to);
        let (_, most) = fall.paced(30, 60);
        assert!(most as f64 <= 1.26 * delivered(to), "{most} of {to}");
        let rtt = fall.rtt(30, 60);
        assert!(rtt < 2.0 * PROPAGATION, "{rtt}");
    }
}

/// After a fall to 15% these rounds last 0.53 s and grow with each dip that does not drain the queue: no cycle
/// ends, and the rate stays. It is the draft's rule; were it ours no more, the page of the variant
/// would have to say so.
#[test]
fn bbr3_never_forgets_a_rate_that_falls_to_a_seventh() {
    let to = 1.5e6;
    let fall = Fall::of(flow("f", "bbr3"), to);
    let (_, most) = fall.paced(50, 60);
    assert!(most as f64 > 0.97 * delivered(BEFORE), "{most}");
    let rtt = fall.rtt(30, 60);
    let full = 250.0 * FULL / to;
    assert!((0.7 * full..full + 0.1).contains(&rtt), "{rtt} of {full}");
    // Version 1 forgets after ten rounds, whatever they last.
    let fall = Fall::of(flow("f", "bbr"), to);
    let (_, most) = fall.paced(30, 60);
    assert!(most as f64 <= 1.26 * delivered(to), "{most}");
}

fn copa(mode_switching: bool) -> Flow {
    let mut sender = flow("f", "copa");
    let switch = f64::from(mode_switching);
    sender.cc_params.insert("mode_switching".into(), switch);
    sender
}

/// Copa's section 3: the queue of a flow swings between nothing and 2.5 / delta segments, 1.25 / delta in
/// the mean, whatever the rate.
#[test]
fn copa_in_default_mode_keeps_its_queue_over_a_fall() {
    let to = 1.5e6;
    let fall = Fall::of(copa(false), to);
    for (bps, from, until) in [(BEFORE, 3, 10), (to, 20, 60)] {
        let expected = PROPAGATION + (1.0 + 1.25 / 0.5) * FULL / bps;
        let rtt = fall.rtt(from, until);
        assert!((rtt / expected - 1.0).abs() < 0.1, "{rtt} of {expected}");
    }
}

/// Section 2.2: five round trips without an empty queue are taken for the work of others. After the fall
/// no default mode drains it so soon. Competing, the flow keeps more in the queue than the path holds, which no
/// swing empties; and after 10 s the standing queue is the smallest round trip (section 2.1).
#[test]
fn copa_that_switches_modes_keeps_the_queue_of_a_fall() {
    let to = 1.5e6;
    let fall = Fall::of(copa(true), to);
    let rtt = fall.rtt(20, 60);
    let default = PROPAGATION + (1.0 + 1.25 / 0.5) * FULL / to;
    assert!(rtt > 5.0 * default, "{rtt} of {default}");
}
