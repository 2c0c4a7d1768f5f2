//! What a sender holds and lets go at once.

use cclab_units::Time;

/// How much leaves at once (Linux `tcp_tso_autosize`, `tcp_tso_should_defer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// A burst lasts `2^-rate_shift` seconds at the flow's rate (`sk_pacing_shift`).
    pub rate_shift: u32,
    /// The rate in per cent of window over round-trip time (`tcp_pacing_ca_ratio`).
    pub percent: u64,
    /// The same below half of ssthresh (`tcp_pacing_ss_ratio`).
    pub slow_start_percent: u64,
    /// Segments at least (`tcp_min_tso_segs`).
    pub least: u64,
    /// Bytes at most (`gso_max_size`).
    pub most: u64,
    /// On short paths that many bytes more, halved for each `2^rtt_log` microseconds of the
    /// round-trip time (`tcp_tso_rtt_log`).
    pub rtt_log: u32,
    /// This part of the window leaves whatever a full burst is (`tcp_tso_win_divisor`).
    pub part_of_window: u64,
    /// The longest wait for the next acknowledgement.
    pub patience: Time,
}

/// A send buffer that grows with the congestion window (Linux `tcp_sndbuf_expand`), twice as
/// large: what is in it when the application stops still leaves. It holds back a flow whose
/// window comes near its largest size only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBuffer {
    /// Bytes of memory for each segment of the largest window so far.
    pub per_segment: u64,
    /// Bytes of memory at most (`tcp_wmem[2]`).
    pub most: u64,
    /// The memory of a full packet of this many bytes of payload (`gso_max_size`) is that many
    /// bytes more than they.
    pub packet: u64,
    /// See `packet`.
    pub overhead: u64,
    /// Bytes of payload of a packet at most (`sk_gso_max_size`).
    pub packet_most: u64,
    /// It does not grow (`tcp_wmem` with the same default and maximum), and the application asks
    /// how much of it is free before it writes that (`SO_MEMINFO`).
    pub is_fixed: bool,
}

impl SendBuffer {
    /// Bytes of payload that it holds when the largest window was of `segments`.
    pub(crate) fn payload(&self, segments: u64) -> u64 {
        let memory = (self.per_segment * segments).min(self.most);
        memory * self.packet / (self.packet + self.overhead)
    }

    /// Bytes of payload that it ever holds.
    pub fn most_payload(&self) -> u64 {
        self.fill(self.most)
    }

    /// Bytes of payload that it lets go in a round trip of a flow whose window is larger, at most.
    ///
    /// A third of the memory has to be free before the application writes (`sk_stream_is_writeable`).
    /// What is in flight then takes up to two thirds, `least_burst` bytes of payload to a packet at
    /// least, and counts for more than its payload; so two writes come within a round trip, not
    /// three, and of a buffer in which a write fills more than that is left, one.
    pub fn payload_of_round(&self, least_burst: u64) -> u64 {
        let held = self.most * 2 / 3;
        let write = self.fill(self.most - held);
        let in_flight = held * least_burst / (least_burst + self.overhead);
        if in_flight < write { write } else { 2 * write }
    }

    /// Bytes of payload that go into `room` bytes of memory: the last packet goes in whole.
    pub(crate) fn fill(&self, room: u64) -> u64 {
        room.div_ceil(self.packet + self.overhead) * self.packet
    }
}
