//! Stack profiles: everything in which one TCP differs from another, as data.
//!
//! - `rfc`: the standards as written today.
//! - `linux-6.12`: the kernel of that version, as configured by default.
//! - `ns2`: the one-way agents of ns-2.35.
//! - `ns3-3.1x`: ns-3 as it was up to 2015 (the release matched is 3.22).

mod linux;
mod ns2;
mod ns3;
mod receiving;
mod rfc;
mod sending;
mod settings;
mod timers;

use cclab_cc::{Arithmetic, SlowStart};

pub(crate) use receiving::SHARES;
pub use receiving::{AckDelay, AckPolicy, Compression, DefaultRwnd, PacketMemory, ReceiveBuffer};
pub use sending::{Bursts, SendBuffer};
pub use settings::settings;
pub use timers::{CoarseTimer, RtoFloor, RtoRules, RttClock, SynRules};

/// How a stack behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Name in study files.
    pub name: &'static str,
    /// The version of its behaviour. Whoever changes what it does raises it: runs of the older
    /// version are then other runs.
    pub version: u32,
    /// One line for people.
    pub summary: &'static str,
    /// Sizes on the wire and options in use.
    pub wire: Wire,
    /// Window at the start, in segments.
    pub initial_window_segments: u64,
    /// Slow-start threshold at the start.
    pub initial_ssthresh: InitialSsthresh,
    /// How windows are counted.
    pub arithmetic: Arithmetic,
    /// How CUBIC leaves slow start.
    pub cubic_slow_start: SlowStart,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// The retransmission timer.
    pub rto: RtoRules,
    /// What a lost SYN costs.
    pub syn: SynRules,
    /// Loss recovery of a variant that does not name its own.
    pub recovery: Recovery,
    /// How exactly the timers expire that wait for reordered segments (RFC 8985 section 6.2), and,
    /// where Linux's stack keeps the window, those for timeouts and probes.
    pub timer: CoarseTimer,
    /// How long RACK waits for reordered segments.
    pub reordering_window: ReorderingWindow,
    /// Whether a probe asks after the tail of what was sent (RFC 8985 section 7), where recovery has
    /// probes.
    pub tail_loss_probes: bool,
    /// Whether variants that name a classic recovery (reno, newreno, sack) get it, or the
    /// profile's, as in a kernel where these are only window rules.
    pub classic_variants: bool,
    /// New data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Whether duplicate ACKs for data sent before the last reduction are ignored (RFC 6582
    /// section 3.2, step 2).
    pub careful_fast_retransmit: bool,
    /// Whether only the first partial ACK of a NewReno recovery restarts the timer, so that a
    /// timeout ends a recovery of many losses (RFC 6582 section 4, "impatient"), or each does.
    pub impatient: bool,
    /// Detection of spurious timeouts (F-RTO, RFC 5682) and undo of spurious reductions.
    pub undo: bool,
    /// Window after an idle time back to the initial one (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// How much leaves at once; `None`: each segment as soon as it may.
    pub bursts: Option<Bursts>,
    /// Largest window that the receiver advertises.
    pub default_rwnd: DefaultRwnd,
    /// Bytes the application can have written and not acknowledged; `u64::MAX`: no limit.
    pub sndbuf: u64,
    /// What a send buffer holds beyond what is in flight, for a flow whose time is up; `None`:
    /// nothing.
    pub send_buffer: Option<SendBuffer>,
    /// Whether a queue must stay below its limit instead of reaching it.
    pub queue_limit_is_exclusive: bool,
}

impl Profile {
    /// Gives the sender a buffer of `bytes` from the start, which does not grow.
    pub fn fix_send_buffer(&mut self, bytes: u64) {
        match &mut self.send_buffer {
            // What the first segment asks for is all of it.
            Some(buffer) => {
                (buffer.most, buffer.per_segment) = (bytes, bytes);
                buffer.is_fixed = true;
            }
            None => self.sndbuf = bytes,
        }
    }

    /// Payload bytes of a full segment where the MSS is `mss`: options come out of it or on top.
    pub fn payload_of(&self, mss: u32) -> u32 {
        let wire = &self.wire;
        let options = if wire.timestamps && wire.mss_includes_options {
            12
        } else {
            0
        };
        mss.saturating_sub(options).max(1)
    }

    /// The largest window that a receiver advertises, in bytes, of segments with `payload` bytes:
    /// the one `asked` for, as far as the header can say it.
    pub fn rwnd_of(&self, asked: Option<u64>, payload: u32) -> u64 {
        let default = self.default_rwnd.most(u64::from(payload));
        let largest = if self.wire.window_scaling {
            65_535 << 14
        } else {
            65_535
        };
        asked.unwrap_or(default).min(largest)
    }
}

/// Sizes on the wire and options in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Maximum segment size unless the flow sets one.
    pub mss: u32,
    /// Whether options take room from the MSS (RFC 6691) or come on top of it.
    pub mss_includes_options: bool,
    /// Bytes of an IP header.
    pub ip_header: u16,
    /// Bytes of a TCP header without options.
    pub tcp_header: u16,
    /// Bytes of link framing that queues and links count.
    pub framing: u16,
    /// Timestamps (RFC 7323): 12 bytes of every segment.
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Selective acknowledgements (RFC 2018), duplicates reported (RFC 2883).
    pub sack: bool,
}

impl Wire {
    /// Bytes of a full packet beyond the MSS: headers, options that come on top, framing.
    pub fn overhead(&self) -> u32 {
        let options = match self.timestamps && !self.mss_includes_options {
            true => TIMESTAMPS,
            false => 0,
        };
        u32::from(self.ip_header + self.tcp_header + self.framing + options)
    }
}

/// Bytes of a header that timestamps take (RFC 7323 appendix A).
const TIMESTAMPS: u16 = 12;

/// Slow-start threshold at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialSsthresh {
    /// None: slow start until congestion.
    Unlimited,
    /// Bytes.
    Bytes(u64),
    /// The receiver's window.
    Rwnd,
}

/// How long RACK waits for reordered segments, as far as that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReorderingWindow {
    /// It widens when duplicates are reported (`TCP_RACK_STATIC_REO_WND` is not set).
    pub widens: bool,
    /// Enough segments delivered above show a loss without waiting, as long as nothing was
    /// reordered (`TCP_RACK_NO_DUPTHRESH` is not set).
    pub counts: bool,
}

impl ReorderingWindow {
    /// As RFC 8985 section 6.2 has it.
    pub const RFC_8985: ReorderingWindow = ReorderingWindow {
        widens: true,
        counts: true,
    };
}

/// How lost data is found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment (Tahoe).
    Tahoe,
    /// Fast retransmit and fast recovery that the first new ACK ends (Reno).
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno,
    /// Reno's with a fine-grained timeout beside it (ns-2's Vegas).
    Vegas,
    /// The SACK scoreboard with its pipe (RFC 6675).
    Sack,
    /// RACK-TLP (RFC 8985) over SACK, with proportional rate reduction (RFC 9937).
    RackPrr,
}

impl Recovery {
    /// Whether it needs selective acknowledgements.
    pub fn uses_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::RackPrr)
    }
}

/// Every profile.
pub static PROFILES: [&Profile; 4] = [&linux::LINUX_6_12, &rfc::RFC, &ns2::NS2, &ns3::NS3_3_1X];

/// The profile called `name`.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().copied().find(|p| p.name == name)
}
