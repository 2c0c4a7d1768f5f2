//! Probes as written.

use super::placed_table;
use crate::de::At;
use crate::probe::ProbeKind;
use crate::text::{SizeText, TimeText};

placed_table! {
    /// A probe: an echo at a fixed interval along a path, which measures the round trip under load.
    Probe {
        /// Unique name, which no flow and no traffic has. Default: "probe1", "probe2", ...
        name: Option<At<String>>,
        /// What it sends: echo requests of ICMP, or datagrams of UDP that a server sends back. Default:
        /// "ping".
        kind: Option<ProbeKind>,
        /// From one to the next. Default: "200ms".
        interval: Option<At<TimeText>>,
        /// Bytes of data of each, as `ping -s`: 28 bytes of headers and the framing come on top. Default:
        /// "56B".
        payload: Option<At<SizeText>>,
        /// When the first is sent. Default: "0s".
        start: Option<At<TimeText>>,
        /// No more are sent from then on. Default: until the run's end.
        stop: Option<At<TimeText>>,
    }
}
