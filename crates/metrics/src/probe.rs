//! The numbers of probes: the round trip under load, from the echoes that were sent after the
//! warm-up.

use cclab_trace::Trace;
use cclab_trace::schema::{Echo, ProbeSummary};
use cclab_units::{Rate, Time};
use serde::{Deserialize, Serialize};

use crate::of_many::{mean, nearest_rank};
use crate::table::Quantity::{Count, Delay, Percentage, Rate as BitRate, Size, Text};
use crate::table::{measured, row};

/// A probe, and of its echoes those that count.
pub(crate) struct OfProbe<'a> {
    probe: &'a ProbeSummary,
    /// Requests of which it is known what became of them.
    sent: u64,
    /// Seconds of the round trips, in the order in which the requests left.
    rtts: Vec<f64>,
    /// The same from the least to the largest.
    ordered: Vec<f64>,
    /// The rate of the slower direction of the bottleneck.
    slower: Option<Rate>,
}

measured! {
    /// The numbers of a probe.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct ProbeMetrics as "probe." of &OfProbe<'_> {
        name: String = |of| of.probe.name.clone(),
            "Name of a probe; present only with some.",
            row(Text, "", "study");

        kind: String = |of| of.probe.kind.clone(),
            "Its kind.",
            row(Text, "", "study");

        sent: u64 = |of| of.sent,
            "Requests sent. Those without an answer that left within the longest round trip measured before the run's end count as on their way, not as sent.",
            row(Count, "after warm-up", "sender").of_one_run();

        lost: u64 = |of| of.sent - of.rtts.len() as u64,
            "Those of them that were not answered: the request was lost, or its answer.",
            row(Count, "after warm-up", "sender").of_one_run();

        loss_rate: Option<f64> = |of| share(of.sent - of.rtts.len() as u64, of.sent),
            "lost / sent.",
            row(Percentage, "after warm-up", "sender").lower().compared(210).queried().column("loss", 1);

        rtt_min_s: Option<f64> = |of| of.ordered.first().copied(),
            "Least time from a request to its answer; exact, as all round trips of probes.",
            row(Delay, "after warm-up", "sender").lower().column("min", 2);

        rtt_mean_s: Option<f64> = |of| mean(&of.rtts),
            "Mean of the same.",
            row(Delay, "after warm-up", "sender").lower().compared(180).column("mean", 2);

        rtt_p50_s: Option<f64> = |of| nearest_rank(&of.ordered, 0.5),
            "Median: the least round trip that at least half of all do not pass.",
            row(Delay, "after warm-up", "sender").lower().compared(190).queried().column("p50", 2);

        rtt_p95_s: Option<f64> = |of| nearest_rank(&of.ordered, 0.95),
            "95th percentile, likewise.",
            row(Delay, "after warm-up", "sender").lower().queried().column("p95", 2);

        rtt_p99_s: Option<f64> = |of| nearest_rank(&of.ordered, 0.99),
            "99th percentile, likewise.",
            row(Delay, "after warm-up", "sender").lower().compared(200).queried().column("p99", 2);

        rtt_max_s: Option<f64> = |of| of.ordered.last().copied(),
            "The largest.",
            row(Delay, "after warm-up", "sender").lower();

        jitter_s: Option<f64> = |of| jitter(&of.rtts),
            "Mean of |difference| between the round trips of one request and of the next that was answered.",
            row(Delay, "after warm-up", "sender").lower().column("jitter", 2)
                .source("RFC 3393, section 4.5, with consecutive packets and absolute values");

        packet_bytes: u64 = |of| of.probe.packet_bytes.into(),
            "Bytes of a packet on a link, headers and framing included; an answer is as long as its request.",
            row(Size, "", "study").of_one_run();

        load_bps: Option<f64> = load_bps,
            "What it adds to the path, each way: 8 packet_bytes / interval.",
            row(BitRate, "", "study").column("adds", 2);

        load_share: Option<f64> = |of| Some(load_bps(of)? / of.slower?.bps() as f64),
            "load_bps / rate of the bottleneck, of its slower direction; null if that is infinitely fast.",
            row(Percentage, "", "study").within(0.0, f64::INFINITY).column("of bottleneck", 2);
    }
}

/// The numbers of every probe of `trace`; requests that left before `warmup` are left out.
pub(crate) fn measure(trace: &Trace, warmup: Time) -> Vec<ProbeMetrics> {
    let run = &trace.summary;
    let rates = run.links.iter().take(2).filter_map(|link| link.rate);
    let slower = rates.min_by_key(|rate| rate.bps());
    let probes = run.probes.iter();
    probes
        .map(|probe| ProbeMetrics::measure(&OfProbe::new(probe, warmup, run.end, slower)))
        .collect()
}

impl<'a> OfProbe<'a> {
    fn new(probe: &'a ProbeSummary, warmup: Time, end: Time, slower: Option<Rate>) -> OfProbe<'a> {
        let longest = probe.echoes.iter().filter_map(|echo| echo.rtt).max();
        let longest = longest.unwrap_or(Time::ZERO);
        // Nobody knows of a request that left shortly before the end whether it is lost.
        let known = |echo: &&Echo| echo.rtt.is_some() || echo.sent + longest < end;
        let counted = probe.echoes.iter().filter(|echo| echo.sent >= warmup);
        let counted: Vec<&Echo> = counted.filter(known).collect();
        let rtts = counted.iter().filter_map(|echo| echo.rtt);
        let rtts: Vec<f64> = rtts.map(Time::as_secs_f64).collect();
        let mut ordered = rtts.clone();
        ordered.sort_unstable_by(f64::total_cmp);
        OfProbe {
            probe,
            sent: counted.len() as u64,
            rtts,
            ordered,
            slower,
        }
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn jitter(rtts: &[f64]) -> Option<f64> {
    let steps = rtts.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    mean(&steps.collect::<Vec<f64>>())
}

fn load_bps(of: &OfProbe<'_>) -> Option<f64> {
    let interval = of.probe.interval.as_secs_f64();
    (interval > 0.0).then(|| f64::from(of.probe.packet_bytes) * 8.0 / interval)
}

#[cfg(test)]
mod tests {
    use cclab_trace::schema::{LinkSummary, RunSummary};

    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// A run of ten seconds with an echo a second, answered after so many milliseconds.
    fn trace(rtts: [Option<u64>; 10]) -> Trace {
        let echoes = (0..).zip(rtts).map(|(second, rtt)| Echo {
            sent: Time::from_secs(second),
            rtt: rtt.map(ms),
        });
        let link = |mbit: u64| LinkSummary {
            rate: Rate::from_bps(mbit * 1_000_000),
            ..LinkSummary::default()
        };
        Trace {
            summary: RunSummary {
                end: Time::from_secs(10),
                links: vec![link(10), link(1)],
                probes: vec![ProbeSummary {
                    interval: Time::from_secs(1),
                    packet_bytes: 125,
                    echoes: echoes.collect(),
                    ..ProbeSummary::default()
                }],
                ..RunSummary::default()
            },
            ..Trace::default()
        }
    }

    fn of(rtts: [Option<u64>; 10], warmup: Time) -> ProbeMetrics {
        measure(&trace(rtts), warmup).remove(0)
    }

    #[test]
    fn percentiles_are_round_trips_that_were_measured() {
        let ten = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100].map(Some);
        let found = of(ten, Time::ZERO);
        let close = |value: Option<f64>, ms: f64| {
            assert!(
                (value.expect("a number") * 1e3 - ms).abs() < 1e-9,
                "{value:?} of {ms}"
            );
        };
        close(found.rtt_min_s, 10.0);
        close(found.rtt_mean_s, 55.0);
        close(found.rtt_p50_s, 50.0);
        close(found.rtt_p95_s, 100.0);
        close(found.rtt_max_s, 100.0);
        close(found.jitter_s, 10.0);
        assert_eq!((found.sent, found.lost), (10, 0));
    }

    #[test]
    fn requests_of_the_warm_up_are_left_out() {
        let found = of(
            [900, 900, 10, 10, 10, 10, 10, 10, 10, 10].map(Some),
            Time::from_secs(2),
        );
        assert_eq!((found.sent, found.rtt_max_s), (8, Some(0.01)));
    }

    #[test]
    fn what_is_on_its_way_at_the_end_is_not_lost() {
        let mut rtts = [Some(1_500); 10];
        (rtts[3], rtts[8], rtts[9]) = (None, None, None);
        let found = of(rtts, Time::ZERO);
        // That of second 8 may come until 9.5 s and has not: it is lost. That of second 9 may
        // still come.
        assert_eq!((found.sent, found.lost), (9, 2));
        assert_eq!(found.loss_rate, Some(2.0 / 9.0));
    }

    #[test]
    fn without_any_answer_everything_is_lost_and_nothing_measured() {
        let found = of([None; 10], Time::ZERO);
        assert_eq!((found.sent, found.lost), (10, 10));
        assert_eq!((found.rtt_p50_s, found.jitter_s), (None, None));
    }

    #[test]
    fn a_probe_says_what_it_adds_to_the_slower_direction() {
        let found = of([Some(1); 10], Time::ZERO);
        assert_eq!((found.packet_bytes, found.load_bps), (125, Some(1_000.0)));
        assert_eq!(found.load_share, Some(0.001));
    }
}
