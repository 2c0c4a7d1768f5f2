//! Probes as written.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::de::At;
use crate::probe::ProbeKind;
use crate::scenario::Direction;
use crate::text::{SizeText, TimeText};

/// A probe: an echo at a fixed interval along a path, which measures the round trip under load.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(crate) struct Probe {
    /// Unique name, which no flow and no traffic has. Default: "probe1", "probe2", ...
    pub name: Option<At<String>>,
    /// What it sends: echo requests of ICMP, or datagrams of UDP that a server sends back. Default:
    /// "ping".
    pub kind: Option<ProbeKind>,
    /// From one to the next. Default: "200ms".
    pub interval: Option<At<TimeText>>,
    /// Bytes of data of each, as `ping -s`: 28 bytes of headers and the framing come on top. Default:
    /// "56B".
    pub payload: Option<At<SizeText>>,
    /// When the first is sent. Default: "0s".
    pub start: Option<At<TimeText>>,
    /// No more are sent from then on. Default: until the run's end.
    pub stop: Option<At<TimeText>>,
    /// Base RTT of its path. Default: what the path has.
    pub rtt: Option<At<TimeText>>,
    /// Which way the requests travel over the bottleneck; the answers travel the other way. Default:
    /// "forward".
    pub direction: Option<Direction>,
    /// The first and the last bottleneck of a parking lot that it crosses. Default: all.
    pub crosses: Option<At<[u32; 2]>>,
    /// The node of a graph that the requests come from.
    pub from: Option<At<String>>,
    /// The node of a graph that they go to.
    pub to: Option<At<String>>,
}
