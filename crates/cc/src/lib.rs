//! Congestion control: how much may be in flight, and how fast it may leave.

mod adaptive_a;
mod adaptive_b;
mod aimd;
mod bbr;
mod bbr3;
mod bic;
mod cdg;
mod constant_rate;
mod copa;
mod cubic;
mod dctcp;
mod delay_trend;
pub mod fuzzing;
mod gaimd;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod ledbat_plus_plus;
mod lent;
mod linear_rate;
mod lp;
mod module;
mod newreno;
mod nv;
mod prague;
mod registry;
mod reno;
mod resuming;
mod sack;
mod scalable;
mod stamps;
mod step_rule;
mod tahoe;
#[cfg(test)]
mod tests;
mod unresponsive;
mod variant;
mod vegas;
mod veno;
mod westwood;
mod window;
mod windowed_max;
mod yeah;

use cclab_units::parameter::Params;
use cclab_units::{Rate, Stream, Time};

pub use cclab_interface as interface;
pub use cclab_interface::state::StateColumn;
pub use cclab_interface::{CongestionOps, Resumption, Tcp};
pub use lent::Lent;
pub use registry::{VARIANTS, build, find, find_simulated, of_kernel, simulated};
pub use stamps::StampClocks;
pub use variant::{
    Build, BuildOfFile, BuildOps, Control, Departure, EcnFeedback, Maker, Near, RecoveryName,
    Signal, Variant, WindowInRecovery,
};

/// What surrounds a call: the instant and the flow's own dice.
pub struct Cx<'a> {
    /// Virtual time.
    pub now: Time,
    /// The flow's stream of random numbers.
    pub rng: &'a mut Stream,
}

/// What an acknowledgement tells a variant. Counts are in bytes of payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Newly acknowledged, cumulatively (what moved `snd_una`).
    pub newly_acked: u64,
    /// Newly delivered: cumulatively or by SACK, whichever came first.
    pub newly_delivered: u64,
    /// Newly marked lost.
    pub newly_lost: u64,
    /// In flight before and after this acknowledgement.
    pub prior_in_flight: u64,
    /// See `prior_in_flight`.
    pub in_flight: u64,
    /// The round-trip time measured by this acknowledgement, if it measured one.
    pub rtt: Option<Time>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Time,
    /// Smallest round-trip time of the connection so far; zero before the first sample.
    pub min_rtt: Time,
    /// Bytes delivered over the connection's life.
    pub delivered: u64,
    /// Bytes taken for lost over the connection's life, a segment as often as it was.
    pub lost: u64,
    /// Delivery rate sampled by this acknowledgement.
    pub rate: Option<RateSample>,
    /// What the acknowledgement's timestamps say; `None` without timestamps.
    pub stamps: Option<Timestamps>,
    /// `snd_una` and `snd_nxt` as offsets from the first byte: rounds begin and end there.
    pub snd_una: u64,
    /// See `snd_una`.
    pub snd_nxt: u64,
    /// Whether cwnd was what limited the sender: growth without use is refused (RFC 7661,
    /// RFC 9438 section 4.2).
    pub cwnd_limited: bool,
    /// Whether the sender is repairing losses: a window that reacts to loss must not grow.
    pub in_recovery: bool,
    /// How long until the pacer lets the next segment go.
    pub until_departure: Time,
    /// What the sender repairs once this acknowledgement is taken in.
    pub repair: Repair,
    /// Whether the acknowledgement carried an ECN echo, or told of marks.
    pub ece: bool,
    /// Of what was newly delivered, what came marked, as far as the receiver tells; beside an echo all
    /// of it.
    pub newly_marked: u64,
}

/// The timestamps of an acknowledgement (RFC 7323), in ticks of a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The receiver's clock when it acknowledged (TSval). Both ends' clocks begin together here.
    pub value: u32,
    /// The sender's clock when what is acknowledged left (TSecr).
    pub echo: u32,
    /// The sender's clock now.
    pub now: u32,
}

/// What a sender repairs (the `TCP_CA_` states of Linux that a window of its own must know).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// Nothing.
    #[default]
    Nothing,
    /// Losses that acknowledgements showed.
    Losses,
    /// What was outstanding when the retransmission timer expired.
    Timeout,
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longer of the send and the ACK interval.
    pub interval: Time,
    /// Bytes delivered when the acknowledged segment was sent.
    pub prior_delivered: u64,
    /// Whether the application, not the network, may have limited the sample.
    pub app_limited: bool,
    /// Bytes in flight when the acknowledged segment left, itself included.
    pub tx_in_flight: u64,
    /// Bytes taken for lost since then.
    pub lost: u64,
}

/// A segment that was just taken for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its bytes.
    pub len: u64,
    /// Bytes in flight when it last left, itself included.
    pub tx_in_flight: u64,
    /// Bytes taken for lost since then, itself included.
    pub lost: u64,
    /// Whether it left while the application limited the sender.
    pub app_limited: bool,
}

impl RateSample {
    /// The rate; `None` over an empty interval.
    pub fn rate(&self) -> Option<Rate> {
        Rate::from_bytes_per(self.delivered, self.interval)
    }
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Loss found by duplicate ACKs, SACK or RACK: once per round of recovery.
    Loss,
    /// An ECN echo: once per round.
    Ecn,
    /// The retransmission timer expired.
    Rto,
}

/// The state of the sender at a sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct CongestionSample {
    /// Bytes sent and not acknowledged cumulatively (`FlightSize`, RFC 5681).
    pub flight_size: u64,
    /// Estimated bytes in the network.
    pub in_flight: u64,
    /// `snd_nxt` as an offset from the first byte.
    pub snd_nxt: u64,
    /// Whether this is a repeated timeout of the same data: RFC 5681 section 3.1 keeps
    /// ssthresh then. For a loss that Vegas found by its own timer: whether that segment had
    /// been sent more than once.
    pub repeated: bool,
}

/// What a variant starts from.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold in bytes; `u64::MAX` when unlimited.
    pub initial_ssthresh: u64,
    /// How slow start ends before a loss.
    pub slow_start: SlowStart,
    /// How windows are counted.
    pub arithmetic: Arithmetic,
    /// The variant's own parameters.
    pub params: Params,
}

/// How slow start may end before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStart {
    /// At ssthresh only.
    Plain,
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus,
    /// HyStart as Linux 6.12 has it in CUBIC.
    LinuxHyStart,
}

/// How a window is counted: stacks differ here, and small windows show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Bytes with appropriate byte counting: a segment for every window acknowledged, and at
    /// most `2 mss` per ACK in slow start (RFC 5681, RFC 3465).
    Bytes,
    /// Whole segments with a counter of acknowledged ones (Linux).
    Segments,
    /// Per-ACK steps whatever the ACK covers: `cwnd += mss`, `cwnd += max(1, mss*mss/cwnd)`
    /// in bytes (ns-3 up to 3.2x).
    PerAckBytes,
    /// Per-ACK steps in fractions of a segment: `cwnd += 1/cwnd` (ns-2).
    PerAckSegments,
}

/// A variant. Windows are in bytes of payload.
///
/// The sender asks `on_congestion` once per episode, then repairs losses on its own; while it
/// does, `cwnd` is the window to return to. A variant that paces or that models the path
/// overrides `pacing_rate` and reads [`AckSample::rate`].
pub trait CongestionControl: Send {
    /// The handshake is done; `rtt` is what it measured, if it could. Data leaves from now on.
    fn on_established(&mut self, rtt: Option<Time>, cx: &mut Cx<'_>) {
        let _ = (rtt, cx);
    }

    /// The flow asked for ECN, and the other end has none that the variant can do with: no mark will
    /// be told. Told before [`on_established`](Self::on_established).
    fn without_ecn(&mut self) {}

    /// A segment was taken for lost. Told only to variants whose window holds during recovery
    /// ([`WindowInRecovery::Own`]), before the acknowledgement that showed it.
    fn on_lost(&mut self, segment: &LostSegment, cx: &mut Cx<'_>) {
        let _ = (segment, cx);
    }

    /// Takes in an acknowledgement.
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>);

    /// Reduces the window.
    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, cx: &mut Cx<'_>);

    /// The last reduction was a mistake: returns to the window before it.
    fn on_undo(&mut self, cx: &mut Cx<'_>);

    /// Data leaves after an idle time of `idle` with nothing in flight. A variant restarts from
    /// a smaller window only if `idle` is longer than `rto`; a curve of time waits in any case.
    fn on_restart(&mut self, idle: Time, rto: Time, cx: &mut Cx<'_>) {
        let _ = (idle, rto, cx);
    }

    /// A connection resumes from what an earlier one found (RFC 9959): whether it does what it is told.
    fn resume(&mut self, step: Resumption) -> bool {
        let _ = step;
        false
    }

    /// The congestion window in bytes.
    fn cwnd(&self) -> u64;

    /// The slow-start threshold in bytes; `u64::MAX` before it is known.
    fn ssthresh(&self) -> u64;

    /// The rate at which payload leaves, which is what [`RateSample::rate`] measures; `None`: as
    /// the stack decides.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The least segments of a burst, where the stack sends in bursts and not by its own rule
    /// (`min_tso_segs` of Linux).
    fn least_burst(&self) -> Option<u64> {
        None
    }

    /// The columns of the inner state that it tells traces, the same at any time.
    fn state_columns(&self) -> &'static [StateColumn] {
        &[]
    }

    /// Writes its inner state into `values`, of which there is one for each column.
    fn tell_state(&self, values: &mut [f64]) {
        let _ = values;
    }
}

impl<C: CongestionControl + ?Sized> CongestionControl for Box<C> {
    fn on_established(&mut self, rtt: Option<Time>, cx: &mut Cx<'_>) {
        (**self).on_established(rtt, cx);
    }

    fn without_ecn(&mut self) {
        (**self).without_ecn();
    }

    fn on_lost(&mut self, segment: &LostSegment, cx: &mut Cx<'_>) {
        (**self).on_lost(segment, cx);
    }

    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        (**self).on_ack(ack, cx);
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, cx: &mut Cx<'_>) {
        (**self).on_congestion(kind, at, cx);
    }

    fn on_undo(&mut self, cx: &mut Cx<'_>) {
        (**self).on_undo(cx);
    }

    fn on_restart(&mut self, idle: Time, rto: Time, cx: &mut Cx<'_>) {
        (**self).on_restart(idle, rto, cx);
    }

    fn resume(&mut self, step: Resumption) -> bool {
        (**self).resume(step)
    }

    fn cwnd(&self) -> u64 {
        (**self).cwnd()
    }

    fn ssthresh(&self) -> u64 {
        (**self).ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (**self).pacing_rate()
    }

    fn least_burst(&self) -> Option<u64> {
        (**self).least_burst()
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        (**self).state_columns()
    }

    fn tell_state(&self, values: &mut [f64]) {
        (**self).tell_state(values);
    }
}
