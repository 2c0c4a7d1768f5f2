//! What the stack measured at an acknowledgement.

/// What `pkts_acked` is told (`struct ack_sample`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSample {
    /// Segments acknowledged cumulatively, and by SACK those that were not before.
    pub pkts_acked: u32,
    /// Round-trip time in microseconds; -1 if the acknowledgement measured none.
    pub rtt_us: i32,
    /// Segments in flight when what is acknowledged was sent.
    pub in_flight: u32,
}

/// A sample of the delivery rate (`struct rate_sample`), as `cong_control` is told it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Start of the sampled interval, in microseconds.
    pub prior_mstamp: u64,
    /// [`Tcp::delivered`](crate::Tcp::delivered) at `prior_mstamp`.
    pub prior_delivered: u32,
    /// [`Tcp::delivered_ce`](crate::Tcp::delivered_ce) at `prior_mstamp`.
    pub prior_delivered_ce: u32,
    /// Segments delivered over the interval; -1 if the sample is not valid.
    pub delivered: i32,
    /// Of these, segments that arrived with a mark.
    pub delivered_ce: i32,
    /// The longer of the send and the acknowledgement interval, in microseconds; -1 if the sample
    /// is not valid.
    pub interval_us: i64,
    /// The send interval, in microseconds.
    pub snd_interval_us: u32,
    /// The acknowledgement interval, in microseconds.
    pub rcv_interval_us: u32,
    /// Round-trip time of the last segment delivered, in microseconds; -1 if there is none.
    pub rtt_us: i64,
    /// Segments newly marked lost.
    pub losses: i32,
    /// Segments newly delivered, cumulatively or by SACK.
    pub acked_sacked: u32,
    /// Segments in flight before this acknowledgement.
    pub prior_in_flight: u32,
    /// End of the most recently sent segment that is acknowledged.
    pub last_end_seq: u32,
    /// Whether the application may have limited the sample (not zero: yes).
    pub is_app_limited: u8,
    /// Whether the sample is of a retransmission (not zero: yes).
    pub is_retrans: u8,
    /// Whether the acknowledgement was probably delayed (not zero: yes).
    pub is_ack_delayed: u8,
    /// Nothing: with it a new sample is cleared from [`RateSample::last_end_seq`] on by one write, where
    /// two overlapped, for which whoever reads that field would wait.
    pub reserved: u8,
}
