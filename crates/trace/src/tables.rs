//! The tables of a trace. `docs/trace-schema.md` is printed from these declarations.

use cclab_units::{Rate, Time};

use crate::schema::{
    AckEvent, BandSummary, Carrier, DropEvent, DropReason, FlowSample, FlowSummary, FramesRow,
    LinkSummary, ProbeSample, ProbeSummary, QueueAction, QueueEvent, QueueSample, Resumption,
    TrafficSummary, Transfer, WayRow,
};
use crate::table::{Row, Table, table};

/// `histograms.parquet`: one bin of one histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// `flow`, `link`, `traffic` or `band`.
    pub element: String,
    /// `rtt`, `sojourn`, `delay` or `delay_back`; with `warm_` before it, after the warm-up alone.
    pub metric: String,
    /// Smallest value of the bin in nanoseconds.
    pub low: u64,
    /// Values in the bin.
    pub count: u64,
    /// Sum of all values of the histogram, the same in each of its bins.
    pub sum: u64,
}

table! {
    "flow_samples": "The state of a flow at each multiple of the sampling interval and at the marks: end of the warm-up, last start, first end, end of the run. Over UDP `snd_nxt_bytes`, `received_bytes` and `segments_sent` count, and what TCP alone has is 0 or null.",
    FlowSample,
    "time_ns": Time, "Virtual time since the beginning of the run.";
    "flow": u32 = flow, "Index of the flow in `flows.parquet`.";
    "cwnd_bytes": u64 = cwnd, "Congestion window.";
    "ssthresh_bytes": Option<u64> = ssthresh, "Slow-start threshold; null while unlimited.";
    "srtt_ns": Option<Time> = srtt, "Smoothed RTT; null before the first sample.";
    "in_flight_bytes": u64 = in_flight, "Estimated bytes in the network.";
    "rwnd_bytes": u64 = rwnd, "Window the receiver last advertised, after scaling.";
    "delivery_rate_bps": Option<Rate> = delivery_rate, "Most recent delivery-rate sample.";
    "pacing_rate_bps": Option<Rate> = pacing_rate, "Pacing rate in force; null if the flow does not pace.";
    "snd_una_bytes": u64 = snd_una, "First unacknowledged byte, as an offset from the first byte of data.";
    "snd_nxt_bytes": u64 = snd_nxt, "Next new byte to send, as an offset from the first byte of data.";
    "received_bytes": u64 = bytes_received, "In-order bytes the receiving application got so far; over UDP the payload that arrived.";
    "segments_sent": u64 = segments_sent, "Data segments or datagrams sent so far, retransmissions included.";
    "retransmits": u64 = retransmits, "Segments retransmitted so far.";
}

table! {
    "queue_samples": "The state of the bottleneck at the same instants.",
    QueueSample,
    "time_ns": Time, "Virtual time since the beginning of the run.";
    "link": u32 = link, "Index of the link in `links.parquet`.";
    "backlog_bytes": u64 = backlog, "Bytes waiting.";
    "backlog_packets": u64 = backlog_packets, "Packets waiting.";
    "tx_bytes": u64 = tx_bytes, "Bytes transmitted so far, headers and framing included.";
    "drops": u64 = drops, "Packets dropped by the queue so far.";
    "marks": u64 = marks, "Packets ECN-marked by the queue so far.";
    "capacity_bytes": Option<u64> = capacity, "Bytes that the link could have transmitted so far; null where its rate is constant.";
}

table! {
    "acks": "The sender's state after it took in an acknowledgement. Only with `events = [\"ack\"]`.",
    AckEvent,
    "time_ns": Time, "Virtual time since the beginning of the run.";
    "flow": u32 = flow, "Index of the flow in `flows.parquet`.";
    "snd_una_bytes": u64 = snd_una, "Acknowledged cumulatively, as an offset from the first byte of data.";
    "snd_nxt_bytes": u64 = snd_nxt, "Next new byte to send, as an offset from the first byte of data.";
    "newly_acked_bytes": u64 = newly_acked, "Bytes newly acknowledged cumulatively.";
    "cwnd_bytes": u64 = cwnd, "Congestion window in force, recovery included.";
    "ssthresh_bytes": Option<u64> = ssthresh, "Slow-start threshold; null while unlimited.";
    "rtt_ns": Option<Time> = rtt, "Round-trip time measured by this acknowledgement; null if it measured none.";
    "srtt_ns": Option<Time> = srtt, "Smoothed RTT; null before the first sample.";
    "rto_ns": Option<Time> = rto, "Retransmission timeout in force; null where the backend does not tell.";
    "in_flight_bytes": Option<u64> = in_flight, "Estimated bytes in the network; null where the backend does not tell.";
    "rwnd_bytes": u64 = rwnd, "Window advertised by this acknowledgement, after scaling.";
    "delivery_rate_bps": Option<Rate> = delivery_rate, "Delivery rate sampled by this acknowledgement.";
    "pacing_rate_bps": Option<Rate> = pacing_rate, "Rate that the stack keeps (Linux's `sk_pacing_rate`): a flow that paces leaves by it, and bursts of any flow are sized by it; null where there is none or the backend does not tell.";
    "in_recovery": Option<bool> = in_recovery, "Whether the sender is in loss recovery; null where the backend does not tell.";
}

table! {
    "queue_events": "A packet entered or left the queue of a bottleneck, or of its way back. Only with `events = [\"queue\"]`.",
    QueueEvent,
    "time_ns": Time, "Virtual time since the beginning of the run.";
    "link": u32 = link, "Index of the link in `links.parquet`.";
    "action": QueueAction = action, "`enqueue` or `dequeue`. What the queue refuses does not enter it.";
    "flow": u32 = flow, "Index of the packet's flow in `flows.parquet`; of cross traffic, the number of flows plus its index in `traffic.parquet`; of a probe, the number of both plus its index in `probes.parquet`.";
    "wire_len_bytes": u32 = wire_len, "Bytes of the packet on the link.";
    "backlog_bytes": u64 = backlog, "Bytes waiting after it.";
    "sojourn_ns": Option<Time> = sojourn, "How long the packet waited; null for arrivals.";
}

table! {
    "drops": "A packet was lost, anywhere. Only with `events = [\"drop\"]`.",
    DropEvent,
    "time_ns": Time, "Virtual time since the beginning of the run.";
    "link": u32 = link, "Index of the link in `links.parquet`.";
    "reason": DropReason = reason, "`queue`, `random`, `burst` (Gilbert-Elliott), `listed`, `outage` or `corrupt` (discarded by the receiving host).";
    "flow": u32 = flow, "Index of the packet's flow in `flows.parquet`; of cross traffic, the number of flows plus its index in `traffic.parquet`; of a probe, the number of both plus its index in `probes.parquet`.";
    "offset_bytes": u64 = offset, "Offset of the packet's first byte of data; 0 for packets without data.";
    "wire_len_bytes": u32 = wire_len, "Bytes of the packet on the link.";
}

table! {
    "flows": "What a flow did: one row per flow, in the scenario's order.",
    FlowSummary,
    "flow": u32, "Index of the flow; the rows are in its order.";
    "name": String = name, "Name.";
    "transport": Carrier = transport, "What was seen to carry its data: `tcp`, `udp`, or `nothing` of a program that sent neither.";
    "cc": String = cc, "Variant asked for; empty over UDP.";
    "cc_in_force": String = cc_in_force, "Variant in force, read back.";
    "started_ns": Option<Time> = started, "When the first SYN or datagram left; null if the flow never started.";
    "first_byte_ns": Option<Time> = first_byte, "When the first byte of data reached the receiving application.";
    "last_byte_ns": Option<Time> = last_byte, "When the last byte so far reached the receiving application.";
    "ended_ns": Option<Time> = ended, "When the transfer was acknowledged in full, or a source of datagrams sent its last; null if that did not happen.";
    "aborted": bool = aborted, "Whether the sender gave up after too many timeouts in a row.";
    "mss_bytes": u32 = mss, "Payload bytes of a full segment.";
    "received_bytes": u64 = bytes_received, "In-order bytes the receiving application got; over UDP the payload that arrived, each datagram counted once.";
    "acked_bytes": u64 = bytes_acked, "Bytes acknowledged to the sender.";
    "segments_sent": u64 = segments_sent, "Data segments sent, retransmissions included.";
    "retransmits": u64 = retransmits, "Segments retransmitted.";
    "rtos": u64 = rtos, "Retransmission timeouts.";
    "fast_recoveries": u64 = fast_recoveries, "Episodes of loss recovery that were not timeouts.";
    "undos": u64 = undos, "Window reductions undone as spurious.";
    "tail_loss_probes": u64 = tail_loss_probes, "Tail loss probes sent.";
    "ecn_echoes": u64 = ecn_echoes, "Acknowledgements that carried an ECN echo, or told of marks where they are counted (RFC 9768).";
    "limited_cwnd_ns": Time = limited.cwnd, "Time held back by the congestion window, recovery included.";
    "limited_rwnd_ns": Time = limited.rwnd, "Time held back by the receiver's window.";
    "limited_application_ns": Time = limited.application, "Time held back by the application, which had nothing to send.";
    "limited_sndbuf_ns": Time = limited.sndbuf, "Time held back by the send buffer.";
    "limited_pacing_ns": Time = limited.pacing, "Time held back by the pacing rate.";
    "rtt_min_ns": Option<Time> = rtt_min, "Smallest RTT.";
    "srtt_mean_ns": Option<Time> = srtt_mean, "Mean of srtt over acknowledgements.";
    "cwnd_mean_bytes": f64 = cwnd_mean, "Mean of the congestion window over time from the start to the end.";
    "warm_srtt_mean_ns": Option<Time> = warm_srtt_mean, "Mean of srtt over acknowledgements after the warm-up; null without one.";
}

table! {
    "datagrams": "What datagrams did on a way of a flow over UDP: one row per flow and way on which there were any, and with a warm-up one more of those that left after it. Only with such flows.",
    WayRow,
    "flow": u32, "Index of the flow in `flows.parquet`.";
    "back": bool = back, "Whether it is the way back, not that of the data.";
    "warm": bool = warm, "Whether it is of those alone that left after the warm-up.";
    "sent": u64 = way.sent, "Datagrams that left.";
    "sent_bytes": u64 = way.sent_bytes, "Payload of them.";
    "received": u64 = way.received, "Datagrams that arrived, each counted once.";
    "received_bytes": u64 = way.received_bytes, "Payload of them.";
    "in_flight": u64 = way.in_flight, "Datagrams on their way at the end of the run, neither received nor lost.";
    "duplicates": u64 = way.duplicates, "Arrivals of what had arrived before.";
    "reordered": u64 = way.reordered, "Datagrams that arrived after one that left later.";
    "first_ns": Option<Time> = way.first, "When the first arrived.";
    "last_ns": Option<Time> = way.last, "When the last so far did.";
    "jitter_ns": Option<Time> = way.jitter, "Interarrival jitter after the last arrival (RFC 3550, section 6.4.1).";
}

table! {
    "resumptions": "When a connection resumed from what it remembers of an earlier one (RFC 9959): one row per flow that remembers. Only with such flows.",
    Resumption,
    "flow": u32, "Index of the flow in `flows.parquet`.";
    "jumped_ns": Option<Time> = jumped, "When it went over to half the remembered window; null if it did not.";
    "validated_ns": Option<Time> = validated, "When all that it had sent by that window was acknowledged without congestion; null if that did not happen.";
    "retreated_ns": Option<Time> = retreated, "When congestion made it retreat; null if it did not.";
}

table! {
    "frames": "What became of the frames of a video: one row per flow, and with a warm-up one more of those that were made after it. Only with videos.",
    FramesRow,
    "flow": u32, "Index of the flow in `flows.parquet`.";
    "warm": bool = warm, "Whether it is of those alone that were made after the warm-up.";
    "sent": u64 = frames.sent, "Frames made.";
    "complete": u64 = frames.complete, "Frames of which all arrived.";
    "late": u64 = frames.late, "Those of them that were complete after their deadline only.";
    "lost": u64 = frames.lost, "Frames of which a datagram never arrives; on a connection, frames that were left out.";
    "shown": u64 = frames.shown, "Frames shown.";
    "freezes": u64 = frames.freezes, "Stalls of the playback that count as freezes.";
    "frozen_ns": Time = frames.frozen, "Time between shown frames that counts as frozen.";
}

table! {
    "links": "What a link did: one row per link and direction; 0 is the bottleneck, 1 its way back.",
    LinkSummary,
    "link": u32, "Index of the link; the rows are in its order.";
    "name": String = name, "`bottleneck`, `bottleneck.reverse`, `FLOW.access`, ...";
    "rate_bps": Option<Rate> = rate, "Rate; null when infinite.";
    "offered_packets": u64 = offered, "Packets that were offered to it.";
    "duplicates": u64 = duplicates, "Packets that were born on it: copies of others.";
    "queue_drops": u64 = queue_drops, "Packets lost in the queue.";
    "random_drops": u64 = random_drops, "Packets lost at random, singly or in bursts.";
    "listed_drops": u64 = listed_drops, "Packets lost because they were on a list.";
    "outage_drops": u64 = outage_drops, "Packets lost in outages.";
    "corrupt_drops": u64 = corrupt_drops, "Packets that the host at the far end discarded because their checksum was wrong.";
    "marks": u64 = marks, "Packets ECN-marked.";
    "delivered_packets": u64 = delivered, "Packets handed to the other end.";
    "tx_bytes": u64 = tx_bytes, "Bytes transmitted, headers and framing included.";
    "in_flight_packets": u64 = in_flight, "Packets in the queue and on the wire at the end of the run.";
    "backlog_max_bytes": u64 = backlog_max, "Largest backlog.";
}

table! {
    "bands": "What a queue of the bottleneck's discipline did, where that has several with names: one row per queue and direction, those of a link in the discipline's order. Only of such disciplines.",
    BandSummary,
    "link": u32, "Index of the link in `links.parquet`.";
    "name": String = name, "Name, such as `L` and `C` of dualpi2.";
    "packets": u64 = packets, "Packets that left it for the link.";
    "drops": u64 = drops, "Packets dropped that were in it, or were to go there.";
    "marks": u64 = marks, "Packets of it that were ECN-marked.";
    "warm_packets": u64 = warm_packets, "Packets that left it after the warm-up; 0 without one, as what follows.";
    "warm_drops": u64 = warm_drops, "Packets of it dropped after the warm-up.";
    "warm_marks": u64 = warm_marks, "Packets of it that were ECN-marked after the warm-up.";
}

table! {
    "traffic": "What cross traffic did: one row per source, in the scenario's order. Only with cross traffic.",
    TrafficSummary,
    "source": u32, "Index of the source; the rows are in its order.";
    "name": String = name, "Name.";
    "kind": String = kind, "Kind: `constant-rate`, `on-off`, `random`, `ping-flood`, `poisson`, `request-response` or `telnet`.";
    "sent_packets": u64 = sent, "Packets that its hosts put into the network, both ways.";
    "sent_bytes": u64 = sent_bytes, "Bytes of them, headers and framing included.";
    "received_packets": u64 = received, "Packets that reached its hosts, both ways.";
    "received_bytes": u64 = received_bytes, "Bytes of them, headers and framing included.";
    "started": u64 = started, "Transfers or exchanges that began.";
    "ended": u64 = ended, "Transfers or exchanges that ended in full.";
}

table! {
    "transfers": "A transfer of cross traffic, in the order of their ends, then those that the run's end cut short. Only if there were any.",
    Transfer,
    "start_ns": Time, "When it arrived: its first SYN left, or its request was written.";
    "source": u32 = source, "Index of the source in `traffic.parquet`.";
    "size_bytes": u64 = size, "Its size; of an exchange that of the answer, 0 while the request is on its way.";
    "first_byte_ns": Option<Time> = first_byte, "When its first byte reached the receiving application.";
    "end_ns": Option<Time> = end, "When its last byte did; null if the run ended before, or the sender gave up.";
    "retransmits": u64 = retransmits, "Segments retransmitted.";
    "slowdown": Option<f64> = slowdown, "The time it took over the time it would take alone on the empty path (docs/traffic.md); null of exchanges and of transfers that did not end.";
}

table! {
    "probes": "What a probe was: one row per probe, in the scenario's order. Only with probes.",
    ProbeSummary,
    "probe": u32, "Index of the probe; the rows are in its order.";
    "name": String = name, "Name.";
    "kind": String = kind, "Kind: `ping` or `udp`.";
    "interval_ns": Time = interval, "From one request to the next.";
    "packet_bytes": u32 = packet_bytes, "Bytes of a packet on a link, headers and framing included; an answer is as long as its request.";
    "sent_packets": Option<u64> = sent_packets, "Packets that its two hosts put into the network, requests and answers; null where the backend does not tell.";
    "received_packets": Option<u64> = received_packets, "Packets that reached its two hosts; null where the backend does not tell.";
}

table! {
    "probe_samples": "A request of a probe, in the order in which they left. Only with probes.",
    ProbeSample,
    "sent_ns": Time, "When it left.";
    "probe": u32 = probe, "Index of the probe in `probes.parquet`.";
    "rtt_ns": Option<Time> = rtt, "How long it took until the first answer came; null if none did before the run's end.";
}

table! {
    "histograms": "The non-empty bins of each flow's RTT samples and of its datagrams' one-way delays, of the sojourn times of the bottleneck's two directions and of the named queues there, and of the one-way delays and echo times of cross traffic; of flows, links and bands also what was counted after the warm-up, if there is one (of datagrams, those that left after it). A bin is at most 1/64 of its values wide.",
    Bin,
    "index": u32, "Index of the flow, link or source; of a band, its row in `bands.parquet`.";
    "element": String = element, "`flow`, `link`, `traffic` or `band`.";
    "metric": String = metric, "`rtt`, `delay`, `delay_back`, `frame_delay` (of frames on a connection), and with `warm_` before them, for flows; `sojourn` and `warm_sojourn` for links and bands; `delay` and `rtt` for traffic.";
    "low_ns": u64 = low, "Smallest value of the bin.";
    "count": u64 = count, "Values in the bin.";
    "sum_ns": u64 = sum, "Exact sum of all values of the histogram, the same in each of its bins.";
}

/// Every table of a trace.
pub const TABLES: [Table; 16] = [
    <(Time, FlowSample)>::TABLE,
    <(Time, QueueSample)>::TABLE,
    <(Time, AckEvent)>::TABLE,
    <(Time, QueueEvent)>::TABLE,
    <(Time, DropEvent)>::TABLE,
    <(u32, FlowSummary)>::TABLE,
    <(u32, WayRow)>::TABLE,
    <(u32, FramesRow)>::TABLE,
    <(u32, Resumption)>::TABLE,
    <(u32, LinkSummary)>::TABLE,
    <(u32, BandSummary)>::TABLE,
    <(u32, TrafficSummary)>::TABLE,
    <(Time, Transfer)>::TABLE,
    <(u32, ProbeSummary)>::TABLE,
    <(Time, ProbeSample)>::TABLE,
    <(u32, Bin)>::TABLE,
];

/// The documentation page of the schema, `docs/trace-schema.md`.
pub fn markdown() -> String {
    let mut page = include_str!("schema_intro.md").to_owned();
    for table in TABLES {
        page += &table.markdown();
    }
    page += crate::states::PAGE;
    page
}
