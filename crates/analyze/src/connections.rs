//! The numbers of a direction: a row of the table `connections`.

use cclab_trace::{named_cell, table};

/// How a connection ended, as far as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Both SYNs and both FINs were seen, and no RST.
    Complete,
    /// An RST was seen.
    Reset,
    /// Neither.
    #[default]
    Open,
}

named_cell!(End {
    End::Complete = "complete",
    End::Reset = "reset",
    End::Open = "open",
});

/// What limited the rate of a direction, by the names of T-RAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The application did not hand over data fast enough.
    Application,
    /// The window that the receiver advertised.
    ReceiverWindow,
    /// A window that the sender did not let grow: its buffer, most often.
    SenderWindow,
    /// Losses or ECN marks of the network.
    Congestion,
    /// The rate of the path, whose queue took what was too much.
    Bandwidth,
    /// The data were at their end before the window had grown.
    Opportunity,
}

named_cell!(Limit {
    Limit::Application = "application",
    Limit::ReceiverWindow = "receiver-window",
    Limit::SenderWindow = "sender-window",
    Limit::Congestion = "congestion",
    Limit::Bandwidth = "bandwidth",
    Limit::Opportunity = "opportunity",
});

macro_rules! direction {
    ($($column:literal: $type:ty = $field:ident, $doc:literal;)+) => {
        /// One direction of a connection. What was not seen is None.
        #[derive(Clone, Debug, Default)]
        pub struct Direction {
            /// Number of its connection.
            pub connection: u32,
            $(#[doc = $doc] pub $field: $type,)+
        }
        table! {
            "connections": "A direction of a connection. Rows come in pairs: what the end sent that sent the connection's first packet, then what the other sent.",
            struct Direction,
            "connection": u32 = connection, "The connection's number, from 1, in the order of first packets. A SYN with another sequence number on the same ports begins a new one.";
            $($column: $type = $field, $doc;)+
        }
    };
}

direction! {
    "source": String = source, "Address that this direction's packets come from.";
    "source_port": u32 = source_port, "Its port.";
    "destination": String = destination, "Address that they go to.";
    "destination_port": u32 = destination_port, "Its port.";
    "end": End = end, "How the connection ended: `complete` (both SYNs and both FINs seen, no RST), `reset` (an RST seen), `open`.";
    "started_ns": u64 = started_ns, "Time of the connection's first packet, nanoseconds since the capture's epoch.";
    "elapsed_s": f64 = elapsed_s, "From the connection's first packet to its last, of either direction.";
    "first_packet_s": Option<f64> = first_packet_s, "This direction's first packet, since the connection's.";
    "last_packet_s": Option<f64> = last_packet_s, "This direction's last packet, since the connection's first.";
    "idle_max_s": Option<f64> = idle_max_s, "The longest time between two packets of this direction.";
    "data_s": Option<f64> = data_s, "From the first packet with data to the last.";
    "handshake_rtt_s": Option<f64> = handshake_rtt_s, "From the SYN to the acknowledgement of its answer: the RTT of the whole path, wherever the capture point lies. Null if either was sent again.";
    "packets": u64 = packets, "Segments.";
    "data_packets": u64 = data_packets, "Segments with payload.";
    "pure_acks": u64 = pure_acks, "Segments with nothing but an acknowledgement.";
    "total_bytes": u64 = total_bytes, "Payload.";
    "unique_bytes": u64 = unique_bytes, "Payload, each byte counted once.";
    "missed_bytes": u64 = missed_bytes, "Sequence numbers that were acknowledged and never seen: what the capture missed.";
    "throughput_bps": Option<f64> = throughput_bps, "`unique_bytes` in bits over `elapsed_s`.";
    "goodput_bps": Option<f64> = goodput_bps, "`unique_bytes` in bits over `data_s`.";
    "interval_bytes": u64 = interval_bytes, "Payload not seen before, within the interval asked for.";
    "retransmitted_packets": u64 = retransmitted_packets, "Segments that carry payload seen before.";
    "retransmitted_bytes": u64 = retransmitted_bytes, "That payload.";
    "retransmitted_syn_fin": u64 = retransmitted_syn_fin, "SYNs and FINs that were sent again.";
    "spurious_retransmits": u64 = spurious_retransmits, "Of `retransmitted_packets`, those whose payload had all been acknowledged when they were seen.";
    "timer_retransmits": u64 = timer_retransmits, "Of `retransmitted_packets`, those before which neither end had sent anything for 200 ms, Linux's shortest retransmission timeout. At the sender's capture point they were sent by a timer (RTO or tail loss probe) for certain; an RTO on a path that is not silent is not among them.";
    "rto_events": u64 = rto_events, "Times that the earliest byte in flight was sent again after neither it was sent nor another acknowledged for 9/10 of the smoothed RTT plus 200 ms: retransmission timeouts, each backed-off one counted, and tail loss probes that come as late.";
    "out_of_order_packets": u64 = out_of_order_packets, "Segments with new payload below payload already seen: at the receiver's capture point, what fills a hole.";
    "duplicate_acks": u64 = duplicate_acks, "Acknowledgements of this direction's data that repeat the one before them, window and all, while data are in flight (RFC 5681 section 2). A receiver that is tuning its window says the same with changing ones, which do not count.";
    "sacks": u64 = sacks, "Segments of this direction that have SACK blocks.";
    "sack_blocks": u64 = sack_blocks, "SACK blocks in them.";
    "sack_blocks_max": Option<u32> = sack_blocks_max, "The most of them in one segment.";
    "dsacks": u64 = dsacks, "Segments of this direction whose first SACK block tells of bytes that arrived twice: it lies below the acknowledgement or within the second block (RFC 2883 section 4).";
    "keep_alives": u64 = keep_alives, "Segments with the last byte sent, or none, whose sequence number is one below the next, after everything was acknowledged (RFC 9293 section 3.8.4). They count neither as new data nor as sent again.";
    "window_probes": u64 = window_probes, "Segments beyond a window of zero, or one sequence number below the next into one. Their payload counts when it is acknowledged.";
    "window_full_packets": u64 = window_full_packets, "Segments with payload up to the very end of the window.";
    "syns": u64 = syns, "Segments with SYN.";
    "fins": u64 = fins, "Segments with FIN.";
    "rsts": u64 = rsts, "Segments with RST.";
    "urgent_packets": u64 = urgent_packets, "Segments with URG.";
    "mss_announced_bytes": Option<u32> = mss_announced_bytes, "MSS in this direction's first SYN; null if none was seen, or it has none.";
    "window_scale_announced": Option<u32> = window_scale_announced, "Window scale in it.";
    "window_scaling": Option<bool> = window_scaling, "Whether windows are scaled: both SYNs ask for it; null if one was not seen and the other leaves it open; then windows are as the headers have them, and so are those of an end whose own SYN was not seen.";
    "sack_permitted": Option<bool> = sack_permitted, "Whether this direction's SYN permits SACK.";
    "timestamps": bool = timestamps, "Whether this direction has timestamps.";
    "ecn": Option<bool> = ecn, "Whether both SYNs agree on ECN (RFC 3168 section 6.1.1, RFC 9768 section 3.1).";
    "ce_packets": u64 = ce_packets, "Packets of this direction that were marked: CE.";
    "ece_packets": u64 = ece_packets, "Segments of this direction that tell of marks: ECE, SYNs left out; where marks are counted (RFC 9768), those with another count than the one before.";
    "cwr_packets": u64 = cwr_packets, "Segments that tell of a reduced window: CWR, SYNs left out; none where marks are counted.";
    "segment_min_bytes": Option<u64> = segment_min_bytes, "The least payload of a segment that has any.";
    "segment_max_bytes": Option<u64> = segment_max_bytes, "The most: the MSS as it is used, unless offloading makes segments of several.";
    "window_min_bytes": Option<u64> = window_min_bytes, "The least window that `source` advertises, scaled. Where windows are scaled, those of SYNs, which never are, do not count.";
    "window_mean_bytes": Option<f64> = window_mean_bytes, "The mean over segments.";
    "window_max_bytes": Option<u64> = window_max_bytes, "The greatest.";
    "zero_windows": u64 = zero_windows, "Acknowledgements with a window of zero.";
    "outstanding_mean_bytes": Option<f64> = outstanding_mean_bytes, "Payload sent and not acknowledged, as it stands after each segment that is neither repeated nor out of order: the mean.";
    "outstanding_max_bytes": Option<u64> = outstanding_max_bytes, "The most.";
    "initial_window_bytes": Option<u64> = initial_window_bytes, "Payload sent before the first acknowledgement of payload; null if no SYN or no payload was seen.";
    "initial_window_packets": Option<u64> = initial_window_packets, "Segments of it.";
    "rtt_samples": u64 = rtt_samples, "Segments whose acknowledgement times them: it ends where they end, they were sent once (Karn's rule), and none before them was sent again since. SYNs and FINs count, and segments of which a part was acknowledged before.";
    "rtt_ambiguous": u64 = rtt_ambiguous, "Acknowledgements of segments that were sent more than once, which time nothing.";
    "rtt_min_s": Option<f64> = rtt_min_s, "The least sample of the RTT, from the capture point to the receiver and back.";
    "rtt_mean_s": Option<f64> = rtt_mean_s, "The mean.";
    "rtt_max_s": Option<f64> = rtt_max_s, "The greatest.";
    "rtt_stdev_s": Option<f64> = rtt_stdev_s, "The standard deviation, with one degree of freedom less than samples.";
    "rtt_p05_s": Option<f64> = rtt_p05_s, "The 5th percentile, within 0.8 %; so are the others.";
    "rtt_p50_s": Option<f64> = rtt_p50_s, "The median.";
    "rtt_p95_s": Option<f64> = rtt_p95_s, "The 95th percentile.";
    "rtt_p99_s": Option<f64> = rtt_p99_s, "The 99th percentile.";
    "limited_cwnd": Option<f64> = limited_cwnd, "Share of the time, from the first data to the last acknowledged, in which the sender was held by its congestion window, or by losses it recovered from.";
    "limited_rwnd": Option<f64> = limited_rwnd, "Share in which the receiver's window had no room for a full segment; 0 where it was not seen how windows are scaled.";
    "limited_application": Option<f64> = limited_application, "Share in which the sender had nothing to send: nothing was in flight, its last segment was not full, or, as far as that can be seen near the sender, acknowledgements made room that it did not use. Where data are lost before the capture point, the silence until a timeout looks the same.";
    "limited_by": Option<Limit> = limited_by, "An estimate of what limited the rate: `application`, `receiver-window`, `sender-window`, `congestion`, `bandwidth`, `opportunity`; null without data.";
    "limited_because": Option<String> = limited_because, "What the estimate rests on.";
}
