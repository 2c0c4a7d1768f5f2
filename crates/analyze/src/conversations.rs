//! The numbers of a direction over UDP: a row of the table `conversations`.

use cclab_trace::{named_cell, table};

/// What a conversation speaks, as far as it can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speaks {
    /// Something over UDP.
    #[default]
    Udp,
    /// QUIC: a long header was seen.
    Quic,
}

named_cell!(Speaks {
    Speaks::Udp = "udp",
    Speaks::Quic = "quic",
});

macro_rules! talk {
    ($($column:literal: $type:ty = $field:ident, $doc:literal;)+) => {
        /// One direction of a conversation. What was not seen is None.
        #[derive(Clone, Debug, Default)]
        pub struct Talk {
            /// Number of its conversation.
            pub conversation: u32,
            $(#[doc = $doc] pub $field: $type,)+
        }
        table! {
            "conversations": "A direction of a conversation over UDP: all datagrams between two addresses and ports. Rows come in pairs: what the end sent that sent the conversation's first datagram, then what the other sent.",
            struct Talk,
            "conversation": u32 = conversation, "The conversation's number, from 1, in the order of first datagrams.";
            $($column: $type = $field, $doc;)+
        }
    };
}

talk! {
    "source": String = source, "Address that this direction's datagrams come from.";
    "source_port": u32 = source_port, "Its port.";
    "destination": String = destination, "Address that they go to.";
    "destination_port": u32 = destination_port, "Its port.";
    "speaks": Speaks = speaks, "`quic` if a long header of a version that is known was seen (RFC 8999, RFC 9000, RFC 9369, drafts), else `udp`. A capture that begins after the handshake, or keeps fewer than 64 bytes of each packet, does not tell QUIC.";
    "quic_version": Option<String> = quic_version, "The version of the latest long header: `v1`, `v2`, `draft-29`, or a number; null if none was seen.";
    "started_ns": u64 = started_ns, "Time of the conversation's first datagram, nanoseconds since the capture's epoch.";
    "elapsed_s": f64 = elapsed_s, "From the conversation's first datagram to its last, of either direction.";
    "first_packet_s": Option<f64> = first_packet_s, "This direction's first datagram, since the conversation's.";
    "last_packet_s": Option<f64> = last_packet_s, "This direction's last datagram, since the conversation's first.";
    "packets": u64 = packets, "Datagrams.";
    "total_bytes": u64 = total_bytes, "Payload: what follows the UDP headers. Datagrams that were sent twice count twice: nothing tells them from others.";
    "interval_bytes": u64 = interval_bytes, "That of the interval asked for.";
    "throughput_bps": Option<f64> = throughput_bps, "`total_bytes` in bits over `elapsed_s`.";
    "rate_bps": Option<f64> = rate_bps, "`total_bytes` in bits over the time from this direction's first datagram to its last.";
    "size_min_bytes": Option<u64> = size_min_bytes, "The least payload of a datagram.";
    "size_mean_bytes": Option<f64> = size_mean_bytes, "The mean.";
    "size_max_bytes": Option<u64> = size_max_bytes, "The most. More than the path's MTU tells of a capture before segmentation offload (UDP GSO).";
    "size_stdev_bytes": Option<f64> = size_stdev_bytes, "The standard deviation, with one degree of freedom less than datagrams.";
    "gap_min_s": Option<f64> = gap_min_s, "The least time between two datagrams of this direction, at the capture point.";
    "gap_mean_s": Option<f64> = gap_mean_s, "The mean.";
    "gap_max_s": Option<f64> = gap_max_s, "The greatest.";
    "gap_stdev_s": Option<f64> = gap_stdev_s, "The standard deviation, with one degree of freedom less than gaps: how unevenly datagrams come. The jitter of RFC 3550 needs the times at which they were sent, which only RTP tells; of a sender that sends evenly this is what the network adds.";
    "gap_p50_s": Option<f64> = gap_p50_s, "The median, within 0.8 %; so are the other percentiles.";
    "gap_p95_s": Option<f64> = gap_p95_s, "The 95th percentile.";
    "gap_p99_s": Option<f64> = gap_p99_s, "The 99th percentile.";
    "ce_packets": u64 = ce_packets, "Datagrams whose packets were marked: CE.";
    "quic_handshake_rtt_s": Option<f64> = quic_handshake_rtt_s, "From the first Initial packet of the end that opens the connection, in its row, to the first long header of the other: the RTT from the capture point to `destination` and back, and the time that it takes to answer. Null in the other row, where the beginning was not seen, and where Initial packets further apart than a tenth of that time leave open which was answered.";
    "quic_initial_packets": Option<u64> = quic_initial_packets, "Datagrams that begin with an Initial packet of QUIC; null where the conversation is not known to be QUIC, and so are the next four.";
    "quic_zero_rtt_packets": Option<u64> = quic_zero_rtt_packets, "Datagrams that begin with a 0-RTT packet.";
    "quic_handshake_packets": Option<u64> = quic_handshake_packets, "Datagrams that begin with a Handshake packet.";
    "quic_retry_packets": Option<u64> = quic_retry_packets, "Retry packets.";
    "quic_negotiation_packets": Option<u64> = quic_negotiation_packets, "Version Negotiation packets.";
}
