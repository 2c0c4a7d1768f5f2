//! What links did.

use cclab_layout::LinkId;
use cclab_spec::{Link, Place};
use cclab_testbed::records::{QueueCounters, Sample};
use cclab_trace::Histogram;
use cclab_trace::schema::LinkSummary;
use cclab_units::{Rate, Time};

use crate::records::Run;
use crate::tally::Tally;

/// One row per link: bottlenecks, then the links of hosts on which packets were lost.
pub fn summaries(run: &Run<'_>, samples: &[Sample], tally: &Tally) -> Vec<LinkSummary> {
    let bottlenecks = run.layout.bottlenecks.iter().flatten();
    let bottlenecks = bottlenecks.map(|&link| bottleneck(run, link, samples, tally));
    let hosts = tally.places.hosts.iter().map(|host| host.summary(run));
    bottlenecks.chain(hosts).collect()
}

/// The counters of a queue at an instant: root and discipline.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Time,
    root: QueueCounters,
    discipline: QueueCounters,
}

impl Reading {
    /// Packets lost on the line, which the root counts beside what its discipline drops.
    fn line_losses(&self) -> u64 {
        self.root.drops.saturating_sub(self.discipline.drops)
    }
}

fn bottleneck(run: &Run<'_>, link: LinkId, samples: &[Sample], tally: &Tally) -> LinkSummary {
    let mut summary = LinkSummary {
        name: run.layout.link(link).name.clone(),
        rate: run.layout.rate(link),
        ..LinkSummary::default()
    };
    let readings: Vec<Reading> = readings(link, samples).collect();
    let queue = run.orders.queues.iter().position(|q| q.link == link.0);
    if let Some(queue) = queue {
        summary.sojourn = tally.queues[queue].sojourn.clone();
        if let Some(warm) = &tally.warm {
            summary.warm_sojourn = summary.sojourn.since(&warm.sojourns[queue]);
        }
        summary.backlog_max = tally.queues[queue].backlog_max;
    }
    let Some(last) = readings.last() else {
        return summary;
    };
    let sampled = readings.iter().map(|reading| reading.root.backlog).max();
    summary.backlog_max = summary.backlog_max.max(sampled.unwrap_or(0));
    if summary.sojourn.count() == 0 {
        let line = run.layout.line(link);
        summary.sojourn = sampled_sojourns(line, &readings, Time::ZERO);
        let warmup = run.scenario.warmup;
        if warmup > Time::ZERO {
            summary.warm_sojourn = sampled_sojourns(line, &readings, warmup);
        }
    }
    let lost = last.line_losses();
    let in_outages = match run.layout.bottlenecks.iter().any(|pair| pair[0] == link) {
        true => outage_losses(run, &readings).min(lost),
        false => 0,
    };
    summary.queue_drops = last.discipline.drops;
    summary.outage_drops = in_outages;
    summary.random_drops = lost - in_outages;
    summary.marks = last.discipline.marks;
    summary.delivered = last.root.tx_packets;
    summary.tx_bytes = last.root.tx_bytes;
    summary.in_flight = last.root.packets;
    summary.offered = summary.delivered + summary.in_flight + summary.queue_drops + lost;
    summary
}

/// How long packets waited after `from`, by a kernel that does not report each: the time that the
/// backlog of every sample takes to leave. Where nothing was sent since the sample before, nothing
/// waited.
fn sampled_sojourns(line: Option<&Link>, readings: &[Reading], from: Time) -> Histogram {
    let mut sojourns = Histogram::default();
    for pair in readings.windows(2).filter(|pair| pair[1].at > from) {
        let [before, after] = [&pair[0].root, &pair[1].root];
        let rate = line.and_then(|line| rate_at(line, pair[1].at));
        if let Some(rate) = rate.filter(|_| after.tx_bytes > before.tx_bytes) {
            sojourns.record(rate.time_of(after.backlog).as_nanos());
        }
    }
    sojourns
}

/// The rate of a link at an instant, if it has one.
fn rate_at(link: &Link, at: Time) -> Option<Rate> {
    let past = link.schedule.iter().filter(|change| change.at <= at);
    past.filter_map(|change| change.rate)
        .next_back()
        .or(link.rate)
}

fn readings(link: LinkId, samples: &[Sample]) -> impl Iterator<Item = Reading> {
    samples.iter().filter_map(move |sample| match sample {
        Sample::Queue {
            at,
            link: of,
            root,
            discipline,
        } if *of == link.0 => Some(Reading {
            at: Time::from_nanos(*at),
            root: *root,
            discipline: *discipline,
        }),
        _ => None,
    })
}

/// Packets lost on the line between the edges of outages, at which samples were taken.
fn outage_losses(run: &Run<'_>, readings: &[Reading]) -> u64 {
    let outages = run.scenario.network.bottleneck.outage.iter();
    let mut spans: Vec<(Time, Time)> = outages
        .filter(|outage| outage.at == Place::Router)
        .map(|outage| (outage.start, outage.start + outage.duration))
        .collect();
    spans.sort_unstable();
    let mut lost = 0;
    let mut covered = Time::ZERO;
    for (from, to) in spans {
        // Outages may overlap.
        lost += losses_at(readings, to.max(covered)) - losses_at(readings, from.max(covered));
        covered = covered.max(to);
    }
    lost
}

/// Line losses counted at the first reading from `at` on, or at the last one.
fn losses_at(readings: &[Reading], at: Time) -> u64 {
    let reading = readings.iter().find(|reading| reading.at >= at);
    let reading = reading.or(readings.last());
    reading.map_or(0, Reading::line_losses)
}
