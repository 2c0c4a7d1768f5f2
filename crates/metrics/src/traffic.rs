//! The numbers of cross traffic.

use cclab_trace::Trace;
use cclab_trace::schema::{TrafficSummary, Transfer};
use cclab_units::Time;
use serde::{Deserialize, Serialize};

use crate::of_many::{mean, nearest_rank};
use crate::table::Quantity::{Count, Delay, Factor, List, Percentage, Rate, Text};
use crate::table::{Told, group, measured, row};

/// Kinds whose packets are not transfers.
const DATAGRAMS: [&str; 4] = ["constant-rate", "on-off", "random", "ping-flood"];

/// The upper ends of the classes of sizes, in bytes: a packet or a few, a window or a few, and
/// what takes many round trips.
const CLASSES: [Option<u64>; 4] = [Some(10_000), Some(100_000), Some(1_000_000), None];

/// A source of cross traffic.
pub(crate) struct OfSource<'a> {
    trace: &'a Trace,
    index: u32,
    source: &'a TrafficSummary,
    warmup: Time,
}

measured! {
    /// The numbers of a source of cross traffic.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct TrafficMetrics as "traffic." of &OfSource<'_> {
        name: String = |of| of.source.name.clone(),
            "Name of a source of cross traffic; present only with some.",
            row(Text, "", "study");

        kind: String = |of| of.source.kind.clone(),
            "Its kind.",
            row(Text, "", "study");

        packets_sent: u64 = |of| of.source.sent,
            "Packets that the hosts of a source of cross traffic sent, both ways.",
            row(Count, "run", "hosts").of_one_run();

        packets_received: u64 = |of| of.source.received,
            "Packets that reached them, both ways.",
            row(Count, "run", "hosts").of_one_run();

        sent_bps: Option<f64> = |of| rate_bps(of, of.source.sent_bytes),
            "8 bytes sent on a link, headers and framing included / length of the run.",
            row(Rate, "run", "hosts").column("sent", 2);

        received_bps: Option<f64> = |of| rate_bps(of, of.source.received_bytes),
            "8 bytes that arrived / length of the run.",
            row(Rate, "run", "hosts").higher().queried();

        loss_rate: Option<f64> = |of| loss_rate(of.source),
            "Of datagrams: (sent - received) / sent; those on their way at the end count as lost.",
            row(Percentage, "run", "hosts").lower().compared(120).queried().column("loss", 1);

        delay_mean_s: Option<f64> = |of| of.source.delay.mean().map(|ns| ns / 1e9),
            "Mean time of datagrams from host to host; exact.",
            row(Delay, "run", "receiver").lower().compared(110).column("delay", 2);

        delay_p95_s: Option<f64> = |of| of.source.delay.quantile(0.95).map(|ns| ns / 1e9),
            "95th percentile of the same, within 0.8%.",
            row(Delay, "run", "receiver").lower();

        rtt_mean_s: Option<f64> = |of| of.source.rtt.mean().map(|ns| ns / 1e9),
            "Mean time from an echo request to its reply; exact.",
            row(Delay, "run", "sender").lower().compared(130).column("RTT", 2);

        rtt_p95_s: Option<f64> = |of| of.source.rtt.quantile(0.95).map(|ns| ns / 1e9),
            "95th percentile of the same, within 0.8%.",
            row(Delay, "run", "sender").lower();

        transfers: Option<TransferMetrics> = transfers,
            "Its transfers or exchanges; null of other kinds.",
            group(&[TransferMetrics::ROWS]);
    }
}

/// A source of transfers.
pub(crate) struct OfTransfers<'a> {
    source: &'a TrafficSummary,
    /// Those that began after the warm-up and ended, with the seconds that each took.
    ended: Vec<(f64, &'a Transfer)>,
}

measured! {
    /// The numbers of transfers.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct TransferMetrics as "traffic.transfers." of &OfTransfers<'_> {
        started: u64 = |of| of.source.started,
            "Transfers that arrived, or requests that were made.",
            row(Count, "run", "sender");

        ended: u64 = |of| of.source.ended,
            "Those of which every byte arrived.",
            row(Count, "run", "receiver").higher().column("transfers", 0);

        retransmits: u64 = |of| of.ended.iter().map(|(_, transfer)| transfer.retransmits).sum(),
            "Segments retransmitted by the transfers that ended.",
            row(Count, "after warm-up", "sender").of_one_run();

        fct_s: Option<Distribution> = |of| times(&of.ended),
            "Flow completion time: from the arrival of a transfer (its SYN, or its request) to its last byte, over transfers that began after the warm-up and ended: mean, median, p95, p99, which are values that occurred.",
            row(Delay, "after warm-up", "receiver").lower().column("FCT", 1).spread(&[
                Told::of("mean").compared(60).queried().column(),
                Told::of("median").compared(70),
                Told::of("p95"),
                Told::of("p99").compared(80).column(),
            ]);

        slowdown: Option<Distribution> = |of| slowdowns(&of.ended),
            "Flow completion time / the time alone on the empty path in closed form (docs/traffic.md): mean, median, p95, p99; null of exchanges.",
            row(Factor, "after warm-up", "receiver").lower().column("slowdown", 2).spread(&[
                Told::of("mean").compared(90).column(),
                Told::of("median"),
                Told::of("p95"),
                Told::of("p99").compared(100).column(),
            ]);

        classes: Vec<SizeClass> = |of| classes(&of.ended),
            "The same for sizes up to 10 kB, 100 kB, 1 MB, and above; classes without a transfer are left out.",
            row(List, "after warm-up", "receiver").shape("classes");
    }
}

/// Transfers of similar size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// They are larger than this.
    pub above_bytes: u64,
    /// And not larger than this; absent: as large as they come.
    pub up_to_bytes: Option<u64>,
    /// How many ended.
    pub count: u64,
    /// See [`TransferMetrics::fct_s`].
    pub fct_s: Option<Distribution>,
    /// See [`TransferMetrics::slowdown`].
    pub slowdown: Option<Distribution>,
}

/// What is told of many values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// The numbers of every source of `trace`; transfers that began before `warmup` are left out of
/// theirs.
pub(crate) fn measure(trace: &Trace, warmup: Time) -> Vec<TrafficMetrics> {
    let sources = (0..).zip(&trace.summary.traffic);
    sources
        .map(|(index, source)| {
            TrafficMetrics::measure(&OfSource {
                trace,
                index,
                source,
                warmup,
            })
        })
        .collect()
}

fn rate_bps(of: &OfSource<'_>, bytes: u64) -> Option<f64> {
    let seconds = of.trace.summary.end.as_secs_f64();
    (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds)
}

fn loss_rate(source: &TrafficSummary) -> Option<f64> {
    let datagrams = DATAGRAMS.contains(&source.kind.as_str());
    let lost = source.sent.saturating_sub(source.received);
    (datagrams && source.sent > 0).then(|| lost as f64 / source.sent as f64)
}

fn transfers(of: &OfSource<'_>) -> Option<TransferMetrics> {
    let ended = of
        .trace
        .transfers
        .iter()
        .filter(|(start, transfer)| transfer.source == of.index && *start >= of.warmup)
        .filter_map(|(start, transfer)| {
            let took = transfer.end? - *start;
            Some((took.as_secs_f64(), transfer))
        })
        .collect();
    let source = of.source;
    (source.started > 0).then(|| TransferMetrics::measure(&OfTransfers { source, ended }))
}

/// The classes of sizes that `ended` has transfers of.
fn classes(ended: &[(f64, &Transfer)]) -> Vec<SizeClass> {
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
    classes
        .into_iter()
        .filter(|class| class.count > 0)
        .collect()
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
    let quantile = |share: f64| nearest_rank(&values, share);
    Some(Distribution {
        mean: mean(&values)?,
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
        let found = transfers(&OfSource {
            trace: &trace,
            index: 0,
            source: &source,
            warmup: Time::from_secs(1),
        });
        let found = found.expect("some began");
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
