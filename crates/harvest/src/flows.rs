//! What flows did.

use std::collections::BTreeMap;

use cclab_testbed::orders::Work;
use cclab_testbed::records::{FlowOutcome, Sample, TcpInfo};
use cclab_trace::schema::{FlowSummary, Limited};
use cclab_units::Time;

use crate::connection::{Connection, MICROSECOND};
use crate::limits::Told;
use crate::records::{Run, acked, is_program, payload, sent};
use crate::tally::{FlowTally, RoundTrips, Tally};

/// Counters of windows that were restored (include/uapi/linux/snmp.h).
const UNDOS: [&str; 4] = [
    "TCPFullUndo",
    "TCPPartialUndo",
    "TCPDSACKUndo",
    "TCPLossUndo",
];
/// The counter of tail loss probes.
const PROBES: &str = "TCPLossProbes";

/// One row per flow.
pub fn summaries(run: &Run<'_>, samples: &[Sample], tally: &Tally) -> Vec<FlowSummary> {
    (0..run.orders.flows.len())
        .map(|index| {
            let warm = tally.warm.as_ref().map(|warm| &warm.flows[index]);
            Flow::new(run, index, samples, &tally.flows[index]).summary(warm)
        })
        .collect()
}

/// SYNs that a flow sent again.
pub fn syns_again(tally: &FlowTally) -> u64 {
    tally.connections.iter().map(|c| c.syn_retransmits).sum()
}

struct Flow<'a> {
    run: &'a Run<'a>,
    index: usize,
    outcome: &'a FlowOutcome,
    tally: &'a FlowTally,
    samples: Vec<(Time, &'a TcpInfo)>,
}

impl<'a> Flow<'a> {
    fn new(
        run: &'a Run<'a>,
        index: usize,
        samples: &'a [Sample],
        tally: &'a FlowTally,
    ) -> Flow<'a> {
        let own = samples.iter().filter_map(|sample| match sample {
            Sample::Flow {
                at,
                flow,
                sender: Some(info),
                ..
            } if *flow as usize == index => Some((Time::from_nanos(*at), &**info)),
            _ => None,
        });
        Flow {
            run,
            index,
            outcome: &run.outcome.flows[index],
            tally,
            samples: own.collect(),
        }
    }

    fn summary(&self, warm: Option<&RoundTrips>) -> FlowSummary {
        let [whole, warm] = self.round_trips(warm);
        let orders = &self.run.orders.flows[self.index];
        let outcome = self.outcome;
        let started = self.tally.started.or(time(outcome.started));
        let ended = self.ended();
        let end = ended.unwrap_or(self.run.end());
        FlowSummary {
            name: orders.name.clone(),
            cc: orders.cc.clone(),
            cc_in_force: outcome.cc_in_force.clone(),
            started,
            first_byte: match self.arrivals() {
                Some((first, _)) => Some(first),
                None => time(outcome.first_byte),
            },
            last_byte: self.last_byte(),
            ended,
            aborted: outcome.error.is_some(),
            mss: self.main().map_or(0, |info| info.snd_mss),
            bytes_received: self.received(),
            bytes_acked: outcome.sender.iter().map(acked).sum(),
            segments_sent: self.sum(|info| info.data_segs_out.into()),
            retransmits: self.retransmits(),
            rtos: self.sum(|info| info.total_rto.into()),
            fast_recoveries: self.of_connections(|c| c.fast_recoveries),
            undos: self.undos(),
            tail_loss_probes: self
                .counter(&[PROBES])
                .unwrap_or_else(|| self.of_connections(|c| c.probes)),
            ecn_echoes: self.sum(|info| info.delivered_ce.into()),
            limited: self.limited(end - started.unwrap_or(end)),
            rtt_min: self.rtt_min(),
            srtt_mean: whole.srtt_mean(),
            warm_srtt_mean: warm.srtt_mean(),
            cwnd_mean: self.cwnd_mean(started.unwrap_or(end), end),
            rtt: whole.rtt,
            warm_rtt: warm.rtt,
            ..FlowSummary::default()
        }
    }

    /// TCP_INFO of the connection that carried most.
    fn main(&self) -> Option<&TcpInfo> {
        // The first of equals.
        self.outcome
            .sender
            .iter()
            .rev()
            .max_by_key(|info| acked(info))
    }

    fn sum(&self, of: fn(&TcpInfo) -> u64) -> u64 {
        self.outcome.sender.iter().map(of).sum()
    }

    fn of_connections(&self, of: fn(&Connection) -> u64) -> u64 {
        self.tally.connections.iter().map(of).sum()
    }

    /// When the last byte was acknowledged: to the event, where events tell.
    fn ended(&self) -> Option<Time> {
        let seen = time(self.outcome.ended)?;
        let exact = match self.tally.connections.as_slice() {
            [only] if only.data == Some(only.acked) => Some(only.acked_at),
            _ => None,
        };
        Some(exact.unwrap_or(seen))
    }

    /// When the first and the last data of a program arrived, by its acknowledgements: its sockets
    /// are its own. Connections with less than a hundredth of what all carried, such as those by
    /// which iperf3's two sides agree, do not stretch the time.
    fn arrivals(&self) -> Option<(Time, Time)> {
        if !is_program(&self.run.orders.flows[self.index]) {
            return None;
        }
        let all = self.of_connections(|c| c.acked);
        let connections = self.tally.connections.iter();
        let telling = connections.filter(|c| c.acked * 100 >= all);
        let spans: Vec<(Time, Time)> = telling.filter_map(Connection::arrivals).collect();
        let first = spans.iter().map(|(first, _)| *first).min()?;
        let last = spans.iter().map(|(_, last)| *last).max()?;
        Some((first, last))
    }

    /// When the last byte so far arrived; the kernel tells milliseconds since then.
    fn last_byte(&self) -> Option<Time> {
        if let Some((_, last)) = self.arrivals() {
            return Some(last);
        }
        let ages = self.outcome.receiver.iter();
        let ages = ages.filter(|info| info.bytes_received > 0);
        let age = ages
            .map(|info| Time::from_millis(info.last_data_recv.into()))
            .min();
        time(self.outcome.received_all).or_else(|| Some(self.run.end() - age?))
    }

    /// In-order bytes that arrived.
    fn received(&self) -> u64 {
        let receivers = self.outcome.receiver.iter();
        let counted = receivers.map(|info| info.bytes_received).sum();
        let known = self.outcome.sender.iter().map(sent).sum();
        payload(counted, known, self.outcome.receiver.len())
    }

    /// Segments with data sent again. The kernel counts SYN and FIN too.
    fn retransmits(&self) -> u64 {
        if self.sum(|info| info.bytes_retrans) == 0 {
            return 0;
        }
        let bare = self.of_connections(|c| c.syn_retransmits + c.fin_retransmits);
        self.sum(|info| info.total_retrans.into())
            .saturating_sub(bare)
    }

    /// The sum of the sender's host's counters, if the host sends for no other flow.
    fn counter(&self, names: &[&str]) -> Option<u64> {
        let flows = &self.run.orders.flows;
        let host = flows[self.index].sender;
        let alone = flows.iter().filter(|flow| flow.sender == host).count() == 1;
        let counters: &BTreeMap<String, u64> =
            self.run.outcome.counters.get(host).filter(|_| alone)?;
        let counts = names.iter().map(|name| counters.get(*name));
        // A kernel that lacks one of them says nothing of the sum.
        counts.sum::<Option<u64>>()
    }

    fn undos(&self) -> u64 {
        self.counter(&UNDOS)
            .unwrap_or_else(|| self.of_connections(|c| c.undos))
    }

    /// What held the flow back during its life of `life`.
    fn limited(&self, life: Time) -> Limited {
        let variant = cclab_cc::find(&self.outcome.cc_in_force);
        let told = Told {
            sockets: &self.outcome.sender,
            open: self.tally.connections.iter().map(|c| c.open.time()).sum(),
            paces: variant.is_some_and(|variant| variant.paces),
            pauses: pauses(&self.run.orders.flows[self.index].work),
            samples: &self.samples,
        };
        told.limited(life)
    }

    /// The round trips of its whole life, and those after the warm-up if there is one: those of
    /// acknowledgements, or, where no event tells of them, the smoothed ones of the samples.
    fn round_trips(&self, warm: Option<&RoundTrips>) -> [RoundTrips; 2] {
        let mut whole = self.tally.round_trips();
        let mut after = warm.map_or_else(RoundTrips::default, |before| whole.since(before));
        let warmup = self.run.scenario.warmup;
        let sampled = self.samples.iter().filter(|(_, info)| info.rtt > 0);
        let sampled = sampled.map(|(at, info)| (*at, u64::from(info.rtt) * MICROSECOND));
        let [no_rtt, no_srtt] = [whole.rtt.count() == 0, whole.srtt.1 == 0];
        for (at, nanos) in sampled {
            let is_warm = warmup > Time::ZERO && at > warmup;
            let counted = [Some(&mut whole), Some(&mut after).filter(|_| is_warm)];
            for round_trips in counted.into_iter().flatten() {
                if no_rtt {
                    round_trips.rtt.record(nanos);
                }
                if no_srtt {
                    round_trips.srtt.0 += u128::from(nanos);
                    round_trips.srtt.1 += 1;
                }
            }
        }
        [whole, after]
    }

    fn rtt_min(&self) -> Option<Time> {
        let known = self.outcome.sender.iter().map(|info| info.min_rtt);
        let known = known.filter(|&rtt| rtt > 0 && rtt < u32::MAX);
        let exact = known.min().map(|rtt| Time::from_micros(rtt.into()));
        // The kernel forgets what is older than some minutes (tcp_min_rtt_wlen).
        let seen = self.tally.connections.iter().filter_map(|c| c.rtt_min);
        seen.chain(exact).min()
    }

    fn cwnd_mean(&self, start: Time, end: Time) -> f64 {
        let main = self.tally.main().and_then(|c| c.cwnd_mean(start, end));
        main.unwrap_or_else(|| {
            // Each sample stands for the time until the next.
            let nexts = self.samples.iter().skip(1).map(|(at, _)| *at).chain([end]);
            let (mut area, mut span) = (0_u128, 0_u64);
            for ((at, info), next) in self.samples.iter().zip(nexts) {
                let time = (next.min(end) - *at).as_nanos();
                let cwnd = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
                area += u128::from(cwnd) * u128::from(time);
                span += time;
            }
            if span > 0 {
                area as f64 / span as f64
            } else {
                0.0
            }
        })
    }
}

/// Whether the application may have nothing to send before its end.
fn pauses(work: &Work) -> bool {
    match work {
        Work::Bulk {
            writes_per_second, ..
        } => writes_per_second.is_some(),
        _ => true,
    }
}

fn time(nanos: Option<u64>) -> Option<Time> {
    nanos.map(Time::from_nanos)
}
