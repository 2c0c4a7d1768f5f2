//! The ends of a flow as its path sees them: sizes of packets, and windows.

use cclab_spec::{Flow, Scenario};
use cclab_tcp::profile::{self, Profile};
use cclab_tcp::receiver::syn_options_len;

/// The profile of `flow`: the scenario's, with its send buffer and those of its kernel settings that
/// profiles honour; `None` if there is no stack of that name.
pub fn profile_of(scenario: &Scenario, flow: &Flow) -> Option<Profile> {
    let mut profile = profile::find(&scenario.stack)?.clone();
    for (name, value) in &flow.sysctl {
        // A backend refuses what it does not do; here the rest of them decides nothing.
        let _ = profile.set(name, value);
    }
    if let Some(bytes) = flow.sndbuf {
        profile.fix_send_buffer(bytes);
    }
    Some(profile)
}

/// Bytes of the header of UDP (RFC 768).
const UDP_HEADER: u16 = 8;

/// What the two ends of a flow put on their path. Over UDP there are full datagrams and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Payload bytes of a full segment.
    pub payload: u64,
    /// Bytes on a link beyond the payload, which are an acknowledgement's size.
    pub overhead: u64,
    /// Bytes of a SYN and of its answer on a link.
    pub syn: u64,
    /// Segments per acknowledgement.
    pub ack_every: u32,
    /// Initial window in segments.
    pub initial_window: u64,
    /// Largest window that the receiver advertises, in bytes.
    pub rwnd: u64,
    /// Bytes of payload that the send buffer holds; `None`: no limit, or one that grows.
    pub sndbuf: Option<u64>,
}

impl Ends {
    /// The ends of `flow` on the stack of `profile`.
    pub fn of(profile: &Profile, flow: &Flow) -> Ends {
        let wire = &profile.wire;
        if let Some(source) = &flow.udp {
            return Ends {
                payload: u64::from(source.payload()),
                overhead: u64::from(wire.ip_header + UDP_HEADER + wire.framing),
                syn: 0,
                ack_every: 0,
                initial_window: 0,
                rwnd: u64::MAX,
                sndbuf: None,
            };
        }
        let headers = u64::from(wire.ip_header + wire.tcp_header + wire.framing);
        let options = if wire.timestamps { 12 } else { 0 };
        let payload = profile.payload_of(flow.mss.unwrap_or(wire.mss));
        Ends {
            payload: u64::from(payload),
            overhead: headers + options,
            syn: headers + u64::from(syn_options_len(wire)),
            ack_every: flow.delayed_ack.unwrap_or(profile.ack.every),
            initial_window: profile.initial_window_segments,
            rwnd: profile.rwnd_of(flow.rwnd, payload),
            sndbuf: match &profile.send_buffer {
                Some(buffer) => flow.sndbuf.map(|_| buffer.most_payload()),
                None => Some(profile.sndbuf).filter(|&bytes| bytes != u64::MAX),
            },
        }
    }

    /// Bytes of a full packet on a link.
    pub fn packet(&self) -> u64 {
        self.payload + self.overhead
    }
}
