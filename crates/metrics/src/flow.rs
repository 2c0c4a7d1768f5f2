//! The numbers of one flow.

use cclab_spec::Direction;
use cclab_trace::Trace;
use cclab_trace::schema::{Carrier, FlowSummary, Resumption};
use cclab_units::Time;
use serde::{Deserialize, Serialize};

use crate::contest::Contest;
use crate::datagrams::{
    BackMetrics, DatagramMetrics, FrameMetrics, WindowBackMetrics, WindowDatagramMetrics,
    WindowFrameMetrics,
};
use crate::meetings::{Apart, Shared};
use crate::series::value_at;
use crate::table::Quantity::{
    Count, Delay, Duration, Factor, Index, Percentage, Power, Rate, Ratio, Segments, Size, Text,
};
use crate::table::{Metric, group, measured, row};
use crate::window::Window;

/// Bits per byte.
const BITS: f64 = 8.0;

/// A flow and what is known of it.
pub(crate) struct OfFlow<'a> {
    /// Its summary.
    pub flow: &'a FlowSummary,
    /// The instants at which the bytes that it received are known.
    pub received: &'a [(Time, u64)],
    /// The time in which it was active.
    pub active: Option<Window>,
    /// What of that came after the warm-up, if there is one.
    pub window: Option<Window>,
    /// Whether its data go with the bottleneck or against it.
    pub direction: Direction,
    /// The time in which all flows were.
    pub steady: Option<Window>,
    /// The group that it is in.
    pub group: Option<&'a str>,
    /// Whether it has a transfer.
    pub finite: bool,
    /// How long that takes alone on the empty path.
    pub alone_s: Option<f64>,
    /// Its number among the flows.
    pub index: usize,
    /// What it and those that it meets had of each other.
    pub contest: &'a Contest,
    /// What is shared where it has its bottleneck.
    pub shared: Option<&'a Shared>,
}

measured! {
    /// The numbers of one flow.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct FlowMetrics as "flow." of &OfFlow<'_> {
        name: String = |of| of.flow.name.clone(),
            "Name of the flow.",
            row(Text, "", "study");

        #[serde(default)]
        group: Option<String> = |of| of.group.map(str::to_owned),
            "The group that it is in; null if in none.",
            row(Text, "", "study").shape("named");

        transport: Option<String> = |of| transport(of.flow),
            "What was seen to carry its data: tcp, udp (QUIC is in it); null of a program that sent neither.",
            row(Text, "run", "sender").shape("transport");

        cc: Option<String> = |of| of_tcp(of, |flow| flow.cc.clone()),
            "Variant asked for; null of what is not TCP, as all that TCP alone has.",
            row(Text, "", "study").shape("variant");

        cc_in_force: Option<String> = |of| of_tcp(of, |flow| flow.cc_in_force.clone()),
            "Variant in force, read back.",
            row(Text, "", "sender").shape("variant");

        direction: String = |of| word(of.direction).to_owned(),
            "Whether its data go with the bottleneck, `forward`, or against it, `reverse` (see Directions).",
            row(Text, "", "study");

        #[serde(default)]
        bottleneck: Option<String> = |of| of.shared.map(|shared| shared.name.clone()),
            "The link that is its bottleneck (see Bottlenecks); null if nothing slows it down.",
            row(Text, "", "study").shape("named");

        bytes_received: u64 = |of| of.flow.bytes_received,
            "Unique in-order bytes that the receiving application got; over UDP the payload that reached the receiving host, each datagram counted once.",
            row(Size, "run", "receiver");

        bytes_acked: Option<u64> = |of| of_tcp(of, |flow| flow.bytes_acked),
            "Bytes acknowledged cumulatively.",
            row(Size, "run", "sender");

        started_s: Option<f64> = |of| of.flow.started.map(Time::as_secs_f64),
            "When the first SYN or datagram left; null if the flow never started.",
            row(Duration, "", "sender").of_one_run();

        ended_s: Option<f64> = |of| of.flow.ended.map(Time::as_secs_f64),
            "When the transfer was acknowledged in full, or a source of datagrams sent its last; null if that did not happen.",
            row(Duration, "", "sender").of_one_run();

        elapsed_s: Option<f64> = |of| of.active.map(Window::seconds),
            "Length of the active window.",
            row(Duration, "active", "sender").lower().compared(20);

        throughput_bps: Option<f64> = throughput_bps,
            "8 bytes_received / elapsed_s: what a user waits for, handshake and last acknowledgement included.",
            row(Rate, "active", "receiver").higher().rank(3);

        goodput_bps: Option<f64> = |of| goodput_bps(of.flow),
            "8 bytes_received / (last - first instant at which bytes reached the application); null without data or if all arrived at one instant.",
            row(Rate, "first to last byte received", "receiver").higher().rank(1).compared(10).queried().column("goodput", 2);

        steady_goodput_bps: Option<f64> = steady_goodput_bps,
            "8 (bytes received until the window's end - until its beginning) / its length; null if the window is empty.",
            row(Rate, "steady", "receiver").higher().rank(4);

        window_goodput_bps: Option<f64> = window_goodput_bps,
            "8 (bytes received until the window's end - until its beginning) / its length; null without a warm-up, as all that begins with `window_`.",
            row(Rate, "flow's window", "receiver").higher();

        segments_sent: Option<u64> = |of| of_tcp(of, |flow| flow.segments_sent),
            "Data segments sent, retransmissions included.",
            row(Count, "run", "sender");

        retransmits: Option<u64> = |of| of_tcp(of, |flow| flow.retransmits),
            "Segments retransmitted.",
            row(Count, "run", "sender").lower().compared(30).column("retransmits", 0);

        rtos: Option<u64> = |of| of_tcp(of, |flow| flow.rtos),
            "Retransmission timeouts.",
            row(Count, "run", "sender").lower();

        srtt_mean_s: Option<f64> = |of| srtt_mean_s(of.flow),
            "Mean of the smoothed RTT over acknowledgements.",
            row(Delay, "run", "sender").lower().compared(40).queried().column("srtt", 1);

        rtt_min_s: Option<f64> = |of| of.flow.rtt_min.map(Time::as_secs_f64),
            "Smallest RTT sample.",
            row(Delay, "run", "sender");

        rtt_p95_s: Option<f64> = |of| of.flow.rtt.quantile(0.95).map(|ns| ns / 1e9),
            "95th percentile of the RTT samples, within 0.8% (histogram of 64 bins per octave).",
            row(Delay, "run", "sender").lower().compared(50);

        window_srtt_mean_s: Option<f64> = |of| of.window.and(of.flow.warm_srtt_mean).map(Time::as_secs_f64),
            "Mean of the smoothed RTT over acknowledgements after the warm-up.",
            row(Delay, "flow's window", "sender").lower();

        window_rtt_p95_s: Option<f64> = |of| of.window.and(of.flow.warm_rtt.quantile(0.95)).map(|ns| ns / 1e9),
            "95th percentile of the RTT samples after the warm-up, within 0.8%.",
            row(Delay, "flow's window", "sender").lower();

        cwnd_mean_segments: Option<f64> = cwnd_mean_segments,
            "Mean of the congestion window over time / mss.",
            row(Segments, "active", "sender");

        limited: Option<LimitedShares> = |of| of.active.filter(|_| is_tcp(of.flow)).map(|active| LimitedShares::measure((of.flow, active))),
            "What held the flow back; null of what is not TCP.",
            group(&[LimitedShares::ROWS]);

        #[serde(default)]
        bottleneck_goodput_bps: Option<f64> = |of| of.shared?.goodput,
            "Sum of goodput_bps of the flows whose data cross its bottleneck: what its share is of.",
            row(Rate, "first to last byte received", "receivers").of_one_run();

        #[serde(default)]
        window_bottleneck_goodput_bps: Option<f64> = |of| of.shared?.window_goodput,
            "Sum of window_goodput_bps of the same flows.",
            row(Rate, "flow's window", "receivers").of_one_run();

        #[serde(default)]
        bottleneck_utilization: Option<f64> = |of| apart(of)?.utilization,
            "utilization of its bottleneck; null where all flows of its direction have the same, and of a link whose queue is not sampled.",
            row(Percentage, "loaded", "bottleneck's transmitter").within(0.0, f64::INFINITY)
                .higher().column_if_measured("its bottleneck's utilization", 1);

        #[serde(default)]
        bottleneck_jain: Option<f64> = |of| apart(of)?.jain,
            "Jain's index, as of jain, over the flows whose data cross its bottleneck; null where all flows of its direction have the same.",
            row(Index, "first to last byte received", "receivers").higher().column_if_measured("Jain there", 3);

        #[serde(default)]
        window_bottleneck_jain: Option<f64> = |of| apart(of)?.window_jain,
            "The same over window_goodput_bps.",
            row(Index, "flow's window", "receivers").higher();

        max_min_bps: Option<f64> = |of| of.contest.fair_bps(of.index),
            "Its goodput if the network were shared max-min fairly (see Max-min fair rates); null where that is not known.",
            row(Rate, "steady", "study")
                .source("Bertsekas and Gallager, Data Networks (1992), section 6.5.2; RFC 5166, section 2.3");

        max_min_share: Option<f64> = max_min_share,
            "steady_goodput_bps / max_min_bps.",
            row(Ratio, "steady", "receiver").source("Prudentia (Philip et al., SIGCOMM 2024)");

        least_share: Option<f64> = |of| of.contest.least_share(of.index),
            "The smallest, over every 5 buckets in a row, of the bytes that it received / the bytes that all flows whose data cross its bottleneck received; null with fewer buckets.",
            row(Percentage, "steady", "receiver").higher()
                .source("the ratio of Arun et al., Starvation in End-to-End Congestion Control (SIGCOMM 2022), over a sliding window");

        starved_s: Option<f64> = |of| of.contest.starved_s(of.index),
            "Length of the longest row of buckets in each of which it received less than a tenth of max_min_bps; 0 if there is none.",
            row(Duration, "steady", "receiver").lower().source("own definition; RFC 9743 asks for starvation to be looked for");

        goodput_cov: Option<f64> = |of| of.contest.variation(of.index),
            "Coefficient of variation: standard deviation of the bytes received in a bucket (over n) / their mean; null with fewer than 2 buckets.",
            row(Ratio, "steady", "receiver").lower()
                .source("RFC 5166, section 2.2; Floyd et al., Equation-Based Congestion Control (SIGCOMM 2000)");

        power: Option<f64> = power,
            "goodput_bps / srtt_mean_s.",
            row(Power, "run", "receiver, sender").higher().source("Kleinrock, Power and Deterministic Rules of Thumb (ICC 1979)");

        fct_s: Option<f64> = fct_s,
            "Flow completion time: from the first SYN to the arrival of the last byte; null of a flow without a transfer, and of one that did not end.",
            row(Duration, "run", "receiver").lower().column_if_measured("FCT", 2)
                .source("docs/traffic.md; Dukkipati and McKeown, Why Flow-Completion Time is the Right Metric (CCR 2006)");

        slowdown: Option<f64> = |of| fct_s(of).zip(of.alone_s).map(|(fct, alone)| fct / alone),
            "fct_s / the time alone on the empty path in closed form (docs/traffic.md); null where something else than the path sets the pace: an application, writes, a program, packet rates.",
            row(Factor, "run", "receiver").lower().source("docs/traffic.md");

        datagrams: Option<DatagramMetrics> = |of| is_udp(of.flow).then(|| DatagramMetrics::measure(&of.flow.datagrams)),
            "What its datagrams did on the way of the data; null unless it is UDP.",
            group(&[DatagramMetrics::ROWS]);

        back: Option<BackMetrics> = |of| (is_udp(of.flow) && of.flow.back.sent > 0).then(|| BackMetrics::measure(&of.flow.back)),
            "What datagrams did on the way back; null unless there were any.",
            group(&[BackMetrics::ROWS]);

        frames: Option<FrameMetrics> = |of| (of.flow.frames.sent > 0).then(|| FrameMetrics::measure((&of.flow.frames, &of.flow.frame_delay))),
            "What became of the frames of a video; null of other flows.",
            group(&[FrameMetrics::ROWS]);

        #[serde(default)]
        resumption: Option<ResumptionMetrics> = |of| of.flow.resumption.zip(of.flow.started).map(ResumptionMetrics::measure),
            "When its connection resumed from what it remembers of an earlier one; null of one that remembers nothing.",
            group(&[ResumptionMetrics::ROWS]);

        #[serde(default)]
        window_datagrams: Option<WindowDatagramMetrics> = |of| of.window.filter(|_| is_udp(of.flow)).map(|_| WindowDatagramMetrics::measure(&of.flow.warm_datagrams)),
            "datagrams of those that left after the warm-up.",
            group(&[WindowDatagramMetrics::ROWS]);

        #[serde(default)]
        window_back: Option<WindowBackMetrics> = |of| of.window.filter(|_| is_udp(of.flow) && of.flow.back.sent > 0).map(|_| WindowBackMetrics::measure(&of.flow.warm_back)),
            "back of those that left after the warm-up.",
            group(&[WindowBackMetrics::ROWS]);

        #[serde(default)]
        window_frames: Option<WindowFrameMetrics> = |of| of.window.filter(|_| of.flow.frames.sent > 0).map(|_| WindowFrameMetrics::measure((&of.flow.warm_frames, &of.flow.warm_frame_delay))),
            "frames of those that were made after the warm-up.",
            group(&[WindowFrameMetrics::ROWS]);
    }
}

measured! {
    /// When a connection resumed from what it remembers of an earlier one.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct ResumptionMetrics as "flow.resumption." of (Resumption, Time) {
        jump_s: Option<f64> = |(it, started)| it.jumped.map(|at| (at - started).as_secs_f64()),
            "From the first SYN until it went over to half the remembered window; null if it did not.",
            row(Duration, "run", "sender").source("RFC 9959, Unvalidated Phase");

        validation_s: Option<f64> = |(it, started)| it.validated.map(|at| (at - started).as_secs_f64()),
            "From the first SYN until all that it had sent by that window was acknowledged without congestion; null if that did not happen.",
            row(Duration, "run", "sender").source("RFC 9959, Validating Phase");

        retreat_s: Option<f64> = |(it, started)| it.retreated.map(|at| (at - started).as_secs_f64()),
            "From the first SYN until congestion made it retreat; null if it did not.",
            row(Duration, "run", "sender").source("RFC 9959, Safe Retreat Phase");
    }
}

measured! {
    /// Shares of a flow's active time that it was held back by each limit.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct LimitedShares as "flow.limited." of (&FlowSummary, Window) {
        cwnd: f64 = |(flow, active)| part(flow.limited.cwnd, active),
            "Share of the time held back by the congestion window, recovery included.",
            row(Percentage, "active", "sender").of_one_run();

        rwnd: f64 = |(flow, active)| part(flow.limited.rwnd, active),
            "Share of the time held back by the receiver's window.",
            row(Percentage, "active", "sender").of_one_run();

        application: f64 = |(flow, active)| part(flow.limited.application, active),
            "Share of the time with nothing to send, also while what was sent is on its way.",
            row(Percentage, "active", "sender").of_one_run();

        sndbuf: f64 = |(flow, active)| part(flow.limited.sndbuf, active),
            "Share of the time held back by the send buffer.",
            row(Percentage, "active", "sender").of_one_run();

        pacing: f64 = |(flow, active)| part(flow.limited.pacing, active),
            "Share of the time in which the pacing rate let the next segment wait, whatever else would have held it.",
            row(Percentage, "active", "sender").of_one_run();
    }
}

/// What the package makes of the flows of a run: estimated as their own numbers are, and in none of
/// them.
pub(crate) const SHARE: &[Metric] = &[Metric {
    name: "flow.share",
    definition: "A flow's goodput / the sum of the goodputs of all flows whose data cross its bottleneck: window_goodput_bps if there is a warm-up, else goodput_bps; null for a flow that is alone there.",
    ..row(
        Percentage,
        "flow's window, or first to last byte received",
        "receiver",
    )
    .of_summary()
    .rank(2)
    .queried()
    .column("share", 1)
}];

/// Whether anything of the flow can be measured: of a program that sent neither TCP nor UDP nothing is.
pub(crate) fn is_seen(flow: &FlowSummary) -> bool {
    flow.transport != Carrier::Nothing
}

pub(crate) fn is_tcp(flow: &FlowSummary) -> bool {
    flow.transport == Carrier::Tcp
}

pub(crate) fn is_udp(flow: &FlowSummary) -> bool {
    flow.transport == Carrier::Udp
}

fn transport(flow: &FlowSummary) -> Option<String> {
    let name = match flow.transport {
        Carrier::Tcp => "tcp",
        Carrier::Udp => "udp",
        Carrier::Nothing => return None,
    };
    Some(name.to_owned())
}

/// What only TCP has; `None` of a flow without.
fn of_tcp<T>(of: &OfFlow<'_>, value: impl Fn(&FlowSummary) -> T) -> Option<T> {
    is_tcp(of.flow).then(|| value(of.flow))
}

fn throughput_bps(of: &OfFlow<'_>) -> Option<f64> {
    let active = of.active.filter(|_| is_seen(of.flow))?;
    Some(of.flow.bytes_received as f64 * BITS / active.seconds())
}

fn apart<'a>(of: &OfFlow<'a>) -> Option<&'a Apart> {
    of.shared?.apart.as_ref()
}

/// How a direction is spelled.
fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    }
}

pub(crate) fn window_goodput_bps(of: &OfFlow<'_>) -> Option<f64> {
    let window = of.window.filter(|_| is_seen(of.flow))?;
    let before = value_at(of.received, window.from)?;
    // A transfer has arrived in full when it is acknowledged in full. Datagrams arrive after the last
    // has left: what waited in queues then was sent before as much of the window as that took.
    let until = match of.flow.ended.filter(|_| is_tcp(of.flow)) {
        Some(_) => of.flow.bytes_received as f64,
        None => value_at(of.received, window.to)?,
    };
    Some((until - before) * BITS / window.seconds())
}

fn srtt_mean_s(flow: &FlowSummary) -> Option<f64> {
    flow.srtt_mean.map(Time::as_secs_f64)
}

fn cwnd_mean_segments(of: &OfFlow<'_>) -> Option<f64> {
    (of.active.is_some() && is_tcp(of.flow) && of.flow.mss > 0)
        .then(|| of.flow.cwnd_mean / f64::from(of.flow.mss))
}

fn max_min_share(of: &OfFlow<'_>) -> Option<f64> {
    let (got, fair) = steady_goodput_bps(of).zip(of.contest.fair_bps(of.index))?;
    (fair > 0.0).then(|| got / fair)
}

fn power(of: &OfFlow<'_>) -> Option<f64> {
    let rtt = srtt_mean_s(of.flow).filter(|&rtt| rtt > 0.0);
    goodput_bps(of.flow)
        .zip(rtt)
        .map(|(goodput, rtt)| goodput / rtt)
}

/// From the SYN to the arrival of the last byte, of a transfer that ended in full; of datagrams, of
/// one of which all arrived.
fn fct_s(of: &OfFlow<'_>) -> Option<f64> {
    let flow = of.flow;
    let whole = is_tcp(flow) || flow.datagrams.received == flow.datagrams.sent;
    flow.ended.filter(|_| of.finite && whole)?;
    Some((flow.last_byte? - flow.started?).as_secs_f64())
}

/// What a flow weighs in Jain's index: its goodput; zero if it started and got nothing through,
/// for starving is the most unfair outcome; `None` if it never started, if nothing was seen of it,
/// or if all its data arrived at one instant, which has no rate.
pub(crate) fn share(flow: &FlowSummary) -> Option<f64> {
    match (flow.started.filter(|_| is_seen(flow)), flow.bytes_received) {
        (None, _) => None,
        (Some(_), 0) => Some(0.0),
        (Some(_), _) => goodput_bps(flow),
    }
}

pub(crate) fn goodput_bps(flow: &FlowSummary) -> Option<f64> {
    let window = Window::new(flow.first_byte?, flow.last_byte?)?;
    Some(flow.bytes_received as f64 * BITS / window.seconds())
}

fn steady_goodput_bps(of: &OfFlow<'_>) -> Option<f64> {
    let window = of.steady.filter(|_| is_seen(of.flow))?;
    let bytes = value_at(of.received, window.to)? - value_at(of.received, window.from)?;
    Some(bytes * BITS / window.seconds())
}

/// For each flow the instants at which the bytes received are known: its samples, and, if it has
/// any, its start and the end of the run.
pub(crate) fn received(trace: &Trace) -> Vec<Vec<(Time, u64)>> {
    let run = &trace.summary;
    let mut flows = vec![Vec::new(); run.flows.len()];
    for (at, sample) in &trace.flow_samples {
        if let Some(points) = flows.get_mut(sample.flow as usize) {
            points.push((*at, sample.bytes_received));
        }
    }
    for (points, flow) in flows.iter_mut().zip(&run.flows) {
        let Some(start) = flow.started.filter(|_| !points.is_empty()) else {
            continue;
        };
        points.insert(points.partition_point(|&(at, _)| at < start), (start, 0));
        if points.last().is_some_and(|&(at, _)| at < run.end) {
            points.push((run.end, flow.bytes_received));
        }
    }
    flows
}

fn part(time: Time, active: Window) -> f64 {
    time.as_secs_f64() / active.seconds()
}
