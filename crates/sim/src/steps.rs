//! A run that stands still at instants of its owner's choice: what flows did in between is told,
//! and may be answered.

use std::cell::RefCell;

use cclab_spec::Scenario;
use cclab_trace::schema::RunSummary;
use cclab_trace::{Event, Probe};
use cclab_units::{Rate, Time};

use crate::flow::Flow;
use crate::own::OwnVariants;
use crate::world::World;
use crate::{Progress, SimError, Unsupported, unsupported_beside};

/// A run that stands still.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Virtual time.
    pub now: Time,
    /// Whether the run is over.
    pub over: bool,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowStanding>,
}

/// A flow over TCP when the run stands still. Counts are of its life, unless a field says otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowStanding {
    /// Whether it has begun and is not over.
    pub runs: bool,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Bytes of payload acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Bytes of payload delivered, cumulatively or by SACK.
    pub bytes_delivered: u64,
    /// Bytes of payload taken for lost.
    pub bytes_lost: u64,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// Rate at which the variant paces, if it does.
    pub pacing_rate: Option<Rate>,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Time,
    /// Smallest round-trip time; zero before the first sample.
    pub min_rtt: Time,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Acknowledgements since the run last stood still.
    pub acks: u64,
    /// Round trips measured since the run last stood still, and their sum.
    pub rtts: u64,
    /// See `rtts`.
    pub rtt_sum: Time,
}

/// Runs `scenario` with `seed`; `own` are the variants of its files. The run first stands still at
/// its beginning, then whenever the instant comes that `answer` gave, and at its end. It is ended
/// early if `answer` gives none.
///
/// # Errors
/// As [`crate::run_with`].
pub fn in_steps(
    scenario: &Scenario,
    seed: u64,
    own: &OwnVariants,
    mut answer: impl FnMut(&Standing) -> Option<Time>,
) -> Result<Option<RunSummary>, SimError> {
    let mut refused = unsupported_beside(scenario, own).into_iter();
    if let Some(Unsupported { path, what }) = refused.next() {
        return Err(SimError::Unsupported { path, what });
    }
    let progress = Progress::default();
    let intervals = RefCell::new(vec![Interval::default(); scenario.flows.len()]);
    let mut tally = Tally { flows: &intervals };
    let mut world = World::<true>::new(scenario, seed, &mut tally, own);
    let mut standing = Standing::default();
    loop {
        look(&world, &mut intervals.borrow_mut(), &mut standing);
        let Some(until) = answer(&standing) else {
            return Ok(None);
        };
        if standing.over {
            return world.finish(&progress).map(Some);
        }
        standing.over = world.advance(until.max(standing.now), &progress)?;
    }
}

/// Writes how the flows of `world` stand into `standing`, and begins new `intervals`.
fn look(world: &World<'_, true>, intervals: &mut [Interval], standing: &mut Standing) {
    standing.now = world.now();
    standing.flows.clear();
    let flows = world.flows().iter().map(|flow| match flow {
        Flow::Tcp(flow) => {
            let sender = &flow.sender;
            FlowStanding {
                runs: flow.started.time().is_some() && !flow.over,
                segments_sent: sender.counters().segments_sent,
                bytes_acked: sender.bytes_acked(),
                bytes_delivered: sender.delivered(),
                bytes_lost: sender.board().lost_ever(),
                cwnd: sender.window(),
                pacing_rate: sender.pacing_rate(),
                in_flight: sender.board().in_flight(),
                srtt: sender.rtt().srtt(),
                min_rtt: sender.rtt().min_rtt(),
                mss: flow.mss,
                ..FlowStanding::default()
            }
        }
        Flow::Udp(_) => FlowStanding::default(),
    });
    standing.flows.extend(flows);
    for (flow, interval) in standing.flows.iter_mut().zip(intervals) {
        let Interval {
            acks,
            rtts,
            rtt_sum,
        } = std::mem::take(interval);
        *flow = FlowStanding {
            acks,
            rtts,
            rtt_sum,
            ..*flow
        };
    }
}

/// What acknowledgements told a flow since the run last stood still.
#[derive(Clone, Copy, Default)]
struct Interval {
    acks: u64,
    rtts: u64,
    rtt_sum: Time,
}

/// Counts acknowledgements and round trips.
struct Tally<'a> {
    flows: &'a RefCell<Vec<Interval>>,
}

impl Probe for Tally<'_> {
    fn wants_acks(&self, _: Time) -> bool {
        true
    }
    fn looks_at_queues(&self) -> bool {
        false
    }
    fn record(&mut self, _: Time, event: Event<'_>) {
        let Event::Ack(ack) = event else {
            return;
        };
        let interval = &mut self.flows.borrow_mut()[ack.flow as usize];
        interval.acks += 1;
        if let Some(rtt) = ack.rtt {
            interval.rtts += 1;
            interval.rtt_sum += rtt;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cclab_spec::Limit;

    use super::*;
    use crate::world::tests::common;
    use crate::{Steered, Steering};

    fn scenario(cc: &str) -> Scenario {
        let link = common::link(Some(10_000_000), Time::from_millis(20), Limit::Packets(50));
        let flows = vec![common::flow("only", cc)];
        common::dumbbell("linux-6.12", link, flows, Time::from_secs(5))
    }

    /// Standing still changes nothing.
    #[test]
    fn steps_make_the_run_that_is_made_without_them() {
        let scenario = scenario("cubic");
        let whole = crate::run(&scenario, 1, &mut (), &Progress::default()).expect("a run");
        let mut stood = 0_u64;
        let stepped = in_steps(&scenario, 1, &OwnVariants::default(), |standing| {
            stood += 1;
            Some(standing.now + Time::from_millis(13))
        });
        let stepped = stepped.expect("a run").expect("it came to its end");
        assert_eq!(stood, 5_000 / 13 + 2);
        assert_eq!(
            whole.flows[0].bytes_received,
            stepped.flows[0].bytes_received
        );
        assert_eq!(whole.flows[0].retransmits, stepped.flows[0].retransmits);
        assert_eq!(whole.end, stepped.end);
    }

    /// 10 segments over a round trip of 42.4 ms: 40 of delay, and 1.2 for each of the two segments that an
    /// acknowledgement waits for.
    #[test]
    fn a_steered_flow_has_the_window_that_it_is_told() {
        let scenario = scenario("steered");
        let steering = Arc::new(Steering::default());
        steering.set(10, None);
        let steered = Steered::of(&scenario.flows[0], Arc::clone(&steering));
        let own = OwnVariants::new(vec![steered]);
        let mut delivered = Vec::new();
        let ended = in_steps(&scenario, 1, &own, |standing| {
            delivered.push(standing.flows[0].bytes_delivered);
            if standing.now == Time::from_secs(2) {
                steering.set(20, None);
            }
            Some(standing.now + Time::from_secs(1))
        });
        assert!(ended.expect("a run").is_some());
        let per_second: Vec<u64> = delivered.windows(2).map(|w| w[1] - w[0]).collect();
        let of = |window: f64| window * 1_448.0 / 0.0424;
        assert!(
            (per_second[1] as f64 / of(10.0) - 1.0).abs() < 0.02,
            "{per_second:?}"
        );
        assert!(
            (per_second[3] as f64 / of(20.0) - 1.0).abs() < 0.02,
            "{per_second:?}"
        );
    }

    #[test]
    fn a_run_may_be_left() {
        let left = in_steps(&scenario("reno"), 1, &OwnVariants::default(), |_| None);
        assert!(left.expect("no fault").is_none());
    }
}
