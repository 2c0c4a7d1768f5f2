//! Samples of flows and queues.

use cclab_layout::Layout;
use cclab_spec::Rates;
use cclab_testbed::records::{QueueCounters, Sample, TcpInfo};
use cclab_trace::schema::{FlowSample, QueueSample};
use cclab_trace::{Event, Probe, Recorder};
use cclab_units::{Rate, Time};

use crate::connection::{MICROSECOND, UNLIMITED};
use crate::datagrams::Progress;
use crate::error::HarvestError;
use crate::flows::Carried;
use crate::records::{Run, acked, payload, sent};
use crate::states::States;

/// Hands the rows of `samples` to `recorder`. `syns` are the SYNs that each flow sent again,
/// which the kernel counts as retransmissions, and `carried` is what carried each flow's data.
///
/// # Errors
/// If a sample is of a flow or a link that the run did not have.
pub fn record(
    run: &Run<'_>,
    samples: &[Sample],
    syns: &[u64],
    carried: &[Carried],
    recorder: &mut Recorder,
) -> Result<(), String> {
    let rates = bottleneck_rates(run.layout);
    let mut states = States::of(run.scenario);
    let mut progress: Vec<_> = carried.iter().map(Carried::progress).collect();
    for sample in samples {
        match sample {
            Sample::Flow {
                at,
                flow,
                sender,
                received,
            } => {
                let index = *flow as usize;
                let outcome = run.outcome.flows.get(index);
                let outcome = outcome.ok_or_else(|| format!("there is no flow {flow}"))?;
                if let Some(there) = &mut progress[index] {
                    let row = there.next().filter(|there| there.sent > 0);
                    if let Some(row) = row.map(|there| of_datagrams(*flow, there)) {
                        recorder.record(Time::from_nanos(*at), Event::FlowSample(row));
                    }
                } else if let Some(info) = sender {
                    // A flow that has not started has no state.
                    let paces = cclab_testbed::paces(run.scenario, &outcome.cc_in_force);
                    let row = flow_sample(*flow, info, *received, syns[index], paces);
                    let at = Time::from_nanos(*at);
                    recorder.record(at, Event::FlowSample(row));
                    if recorder.wants_states(at) {
                        states.tell(index, info, at, recorder);
                    }
                }
            }
            Sample::Queue {
                at,
                link,
                root,
                discipline,
            } => {
                if !run.orders.queues.iter().any(|queue| queue.link == *link) {
                    return Err(format!("link {link} has no queue"));
                }
                let at = Time::from_nanos(*at);
                let capacity = rates
                    .get(*link as usize)
                    .and_then(|rates| rates.capacity(at));
                let row = queue_sample(*link, root, discipline, capacity);
                recorder.record(at, Event::QueueSample(row));
            }
        }
    }
    Ok(())
}

/// The state of a flow as its sender's socket tells it. `received` may count the FIN.
fn flow_sample(flow: u32, info: &TcpInfo, received: u64, syns: u64, paces: bool) -> FlowSample {
    let mss = u64::from(info.snd_mss);
    let gone = u64::from(info.sacked) + u64::from(info.lost);
    let in_flight = (u64::from(info.unacked) + u64::from(info.retrans)).saturating_sub(gone);
    FlowSample {
        flow,
        cwnd: u64::from(info.snd_cwnd) * mss,
        ssthresh: threshold(info.snd_ssthresh, mss),
        srtt: microseconds(info.rtt),
        in_flight: in_flight * mss,
        rwnd: u64::from(info.snd_wnd),
        delivery_rate: bit_rate(info.delivery_rate),
        pacing_rate: bit_rate(info.pacing_rate).filter(|_| paces),
        snd_una: acked(info),
        snd_nxt: sent(info),
        bytes_received: payload(received, sent(info), 1),
        segments_sent: u64::from(info.data_segs_out),
        retransmits: u64::from(info.total_retrans)
            .saturating_sub(syns)
            .min(u64::from(info.data_segs_out)),
    }
}

/// The state of a flow over UDP.
fn of_datagrams(flow: u32, there: &Progress) -> FlowSample {
    FlowSample {
        flow,
        snd_nxt: there.sent_bytes,
        bytes_received: there.received_bytes,
        segments_sent: there.sent,
        ..FlowSample::default()
    }
}

/// The rates over time of the bottlenecks and their ways back, by which they could have sent.
fn bottleneck_rates(layout: &Layout) -> Vec<Rates> {
    let lines = layout.bottlenecks.iter().flatten();
    let lines = lines.filter_map(|&link| layout.line(link));
    lines
        .map(|line| Rates::new(line.rate, &line.schedule))
        .collect()
}

fn queue_sample(
    link: u32,
    root: &QueueCounters,
    discipline: &QueueCounters,
    capacity: Option<u64>,
) -> QueueSample {
    QueueSample {
        link,
        backlog: root.backlog,
        backlog_packets: root.packets,
        tx_bytes: root.tx_bytes,
        drops: discipline.drops,
        marks: discipline.marks,
        capacity,
    }
}

/// A threshold in segments as bytes; `None` while unlimited.
pub fn threshold(segments: u32, mss: u64) -> Option<u64> {
    (segments < UNLIMITED).then(|| u64::from(segments) * mss)
}

/// Microseconds of which 0 means that nothing was measured.
pub fn microseconds(count: u32) -> Option<Time> {
    (count > 0).then(|| Time::from_nanos(u64::from(count) * MICROSECOND))
}

/// Bytes per second as a rate; `None` for zero and for "unlimited".
fn bit_rate(bytes: u64) -> Option<Rate> {
    Rate::from_bps(bytes.checked_mul(8)?)
}

/// The error of a sample that does not fit the run.
pub fn misfit(run: &Run<'_>, reason: String) -> HarvestError {
    HarvestError::damaged(&run.raw.join(cclab_testbed::records::SAMPLES), reason)
}
