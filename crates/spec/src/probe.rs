//! Probes: echoes at a fixed interval along a path, which measure the round trip under load.

use cclab_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::Direction;

/// Headers of IPv4, and of an ICMP echo or of UDP: 20 + 8 bytes.
const HEADERS: u16 = 28;

/// The most data that an echo carries in one packet of Ethernet.
pub(crate) const MAX_PAYLOAD: u16 = 1500 - HEADERS;

/// The least data of an echo over UDP, which tells by them which one it is.
pub(crate) const MIN_UDP_PAYLOAD: u16 = 4;

/// What a probe sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// Echo requests of ICMP, which the other host's kernel answers.
    #[default]
    Ping,
    /// Datagrams of UDP, which a server on the other host sends back.
    Udp,
}

impl ProbeKind {
    /// Its name in study files.
    pub fn name(self) -> &'static str {
        match self {
            ProbeKind::Ping => "ping",
            ProbeKind::Udp => "udp",
        }
    }
}

/// A probe: a host that sends an echo every `interval`, whatever becomes of it, and another one
/// that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Unique name.
    pub name: String,
    /// What it sends.
    pub kind: ProbeKind,
    /// From one to the next.
    pub interval: Time,
    /// Bytes of data of each, beyond its headers.
    pub payload: u16,
    /// Extra one-way delay, each way, so that the path has the base RTT asked for.
    pub extra_delay: Time,
    /// Which way the requests go; the answers go the other way.
    pub direction: Direction,
    /// The first and the last bottleneck that it crosses, counted from 1; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crosses: Option<[u32; 2]>,
    /// The node of a graph that the requests come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The node of a graph that they go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// When the first is sent.
    pub start: Time,
    /// No more are sent from then on; absent: until the run's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
}

impl Probe {
    /// Bytes of one of its packets on a link whose framing takes `framing` bytes. Request and
    /// answer are of one size.
    pub fn packet_bytes(&self, framing: u16) -> u16 {
        self.payload + HEADERS + framing
    }
}
