//! The numbers of cross traffic.

use cclab_trace::Trace;
use cclab_trace::schema::{TrafficSummary, Transfer};
use cclab_units::Time;

use crate::run_metrics::{Distribution, SizeClass, TrafficMetrics, TransferMetrics};

/// Kinds whose packets are not transfers.
const DATAGRAMS: [&str; 4] = ["constant-rate", "on-off", "random", "ping-flood"];

/// The upper ends of the classes of sizes, in bytes: a packet or a few, a window or a few, and
/// what takes many round trips.
const CLASSES: [Option<u64>; 4] = [Some(10_000), Some(100_000), Some(1_000_000), None];

/// The numbers of every source of `trace`; transfers that began before `warmup` are left out of
/// theirs.
pub(crate) fn measure_traffic(trace: &Trace, warmup: Time) -> Vec<TrafficMetrics> {
    let sources = (0..).zip(&trace.summary.traffic);
    sources
        .map(|(index, source)| one(trace, index, source, warmup))
        .collect()
}

fn one(trace: &Trace, index: u32, source: &TrafficSummary, warmup: Time) -> TrafficMetrics {
    let seconds = trace.summary.end.as_secs_f64();
    let datagrams = DATAGRAMS.contains(&source.kind.as_str());
    let lost = source.sent.saturating_sub(source.received);
    TrafficMetrics {
        name: source.name.clone(),
        kind: source.kind.clone(),
        packets_sent: source.sent,
        packets_received: source.received,
        sent_bps: (seconds > 0.0).then(|| source.sent_bytes as f64 * 8.0 / seconds),
        received_bps: (seconds > 0.0).then(|| source.received_bytes as f64 * 8.0 / seconds),
        loss_rate: (datagrams && source.sent > 0).then(|| lost as f64 / source.sent as f64),
        delay_mean_s: source.delay.mean().map(|ns| ns / 1e9),
        delay_p95_s: source.delay.quantile(0.95).map(|ns| ns / 1e9),
        rtt_mean_s: source.rtt.mean().map(|ns| ns / 1e9),
        rtt_p95_s: source.rtt.quantile(0.95).map(|ns| ns / 1e9),
        transfers: (source.started > 0).then(|| transfers(trace, index, source, warmup)),
    }
}

fn transfers(trace: &Trace, index: u32, source: &TrafficSummary, warmup: Time) -> TransferMetrics {
    let ended: Vec<(f64, &Transfer)> = trace
        .transfers
        .iter()
        .filter(|(start, transfer)| transfer.source == index && *start >= warmup)
        .filter_map(|(start, transfer)| {
            let took = transfer.end? - *start;
            Some((took.as_secs_f64(), transfer))
        })
        .collect();
    let mut floor = 0;
    let classes = CLASSES.map(|most| {
        let from = std::mem::replace(&mut floor, most.unwrap_or(u64::MAX));
        let inside = |size: u64| size > from && most.is_none_or(|most| size <= most);
        let of_class: Vec<(f64, &Transfer)> = ended
            .iter()
            .filter(|(_, transfer)| inside(transfer.size))
            .copied()
            .collect();
        SizeClass {
            above_bytes: from,
            up_to_bytes: most,
            count: of_class.len() as u64,
            fct_s: times(&of_class),
            slowdown: slowdowns(&of_class),
        }
    });
    TransferMetrics {
        started: source.started,
        ended: source.ended,
        retransmits: ended.iter().map(|(_, transfer)| transfer.retransmits).sum(),
        fct_s: times(&ended),
        slowdown: slowdowns(&ended),
        classes: classes
            .into_iter()
            .filter(|class| class.count > 0)
            .collect(),
    }
}

fn times(ended: &[(f64, &Transfer)]) -> Option<Distribution> {
    distribution(ended.iter().map(|&(took, _)| took).collect())
}

fn slowdowns(ended: &[(f64, &Transfer)]) -> Option<Distribution> {
    distribution(
        ended
            .iter()
            .filter_map(|(_, transfer)| transfer.slowdown)
            .collect(),
    )
}

/// Mean and quantiles of `values`, exact: the smallest value that at least that share of all does
/// not pass.
fn distribution(mut values: Vec<f64>) -> Option<Distribution> {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    let quantile = |share: f64| {
        let rank = (share * count as f64).ceil() as usize;
        values.get(rank.clamp(1, count.max(1)) - 1).copied()
    };
    Some(Distribution {
        mean: values.iter().sum::<f64>() / count as f64,
        median: quantile(0.5)?,
        p95: quantile(0.95)?,
        p99: quantile(0.99)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let hundred = distribution((1..=100).map(f64::from).collect()).expect("values");
        assert_eq!(
            hundred,
            Distribution {
                mean: 50.5,
                median: 50.0,
                p95: 95.0,
                p99: 99.0
            }
        );
        assert_eq!(distribution(Vec::new()), None);
        assert_eq!(distribution(vec![3.0]).map(|one| one.p99), Some(3.0));
    }

    #[test]
    fn transfers_fall_into_classes_of_size() {
        let transfer = |start_ms: u64, took_ms: Option<u64>, size| {
            let start = Time::from_millis(start_ms);
            let transfer = Transfer {
                size,
                end: took_ms.map(|took| start + Time::from_millis(took)),
                slowdown: took_ms.map(|_| 2.0),
                retransmits: 1,
                ..Transfer::default()
            };
            (start, transfer)
        };
        let trace = Trace {
            transfers: vec![
                transfer(0, Some(900), 10_000),
                transfer(1_000, Some(100), 10_000),
                transfer(1_000, Some(300), 10_001),
                transfer(2_000, None, 5_000_000),
            ],
            ..Trace::default()
        };
        let source = TrafficSummary {
            started: 4,
            ended: 3,
            ..TrafficSummary::default()
        };
        let found = transfers(&trace, 0, &source, Time::from_secs(1));
        let counts: Vec<(u64, u64)> = found
            .classes
            .iter()
            .map(|class| (class.above_bytes, class.count))
            .collect();
        assert_eq!(counts, [(0, 1), (10_000, 1)]);
        let fct = found.fct_s.expect("two ended after the warm-up");
        assert!((fct.mean - 0.2).abs() < 1e-12 && (fct.median - 0.1).abs() < 1e-12);
        assert_eq!((found.retransmits, found.ended), (2, 3));
    }
}
