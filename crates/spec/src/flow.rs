//! A flow of a scenario.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use cclab_units::{Stream, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

use crate::application::Application;
use crate::datagrams::Datagrams;
use crate::ecn::Ecn;
use crate::misbehaviour::Misbehaviour;

/// When a flow starts: at `at`, or, to break phase effects, at a uniformly random time within
/// `spread` after it, drawn from the run's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The earliest start.
    pub at: Time,
    /// The width of the interval the start is drawn from.
    pub spread: Time,
}

/// Which way a flow's data travels over the bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// With the bottleneck.
    #[default]
    Forward,
    /// Against it.
    Reverse,
}

/// Where a flow's base delay is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DelayAt {
    /// On a router, outside every host.
    #[default]
    Router,
    /// On the sending host's own interface.
    Sender,
}

/// What carries a flow's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Segments of TCP, under congestion control.
    #[default]
    Tcp,
    /// Datagrams of UDP, which nothing slows down and nobody sends again.
    Udp,
}

/// What an earlier connection on the same path left (RFC 9959).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remembered {
    /// Bytes that it had in flight.
    pub window: u64,
    /// Its smallest round-trip time.
    pub rtt: Time,
}

/// One flow: its name, and what flows of a `count` have in common. That lies in one place for all of
/// them, so that a flow more takes little memory, and gets a place of its own where it is changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "FlowFields", into = "FlowFields")]
pub struct Flow {
    /// Unique name; flows of a `count` are `name.1`, `name.2`, ...
    pub name: String,
    /// The rest; its name is empty.
    fields: Arc<FlowFields>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Flow")]
pub struct FlowFields {
    // Inside a `Flow` this is empty, as the `Flow` has the name: hence it is not public.
    /// Unique name; flows of a `count` are `name.1`, `name.2`, ...
    pub(crate) name: String,
    /// The group that the study file names; [`Flow::group`] knows those of a `count`, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Name of the variant, or the label of a file of `Scenario::variant_files`; empty of a flow
    /// with `Flow::udp`, which has none.
    pub cc: String,
    /// The name of its two hosts' kernel; absent: that of the scenario. (Backend `linux`.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Parameters of the variant, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cc_params: BTreeMap<String, f64>,
    /// What sends datagrams of UDP; absent: the flow is TCP, or a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Datagrams>,
    /// Extra one-way delay that this flow's access link adds, each way, so that the path has
    /// the base RTT asked for.
    pub extra_delay: Time,
    /// When it starts.
    pub start: Start,
    /// Bytes to send; absent: as many as time allows.
    pub transfer: Option<u64>,
    /// How long it sends after its start; absent: until the transfer or the run ends.
    pub duration: Option<Time>,
    /// The largest window the receiver advertises, in bytes; absent: the profile's.
    pub rwnd: Option<u64>,
    /// Bytes of memory of the send buffer; absent: the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sndbuf: Option<u64>,
    /// Maximum segment size in bytes; absent: the profile's.
    pub mss: Option<u32>,
    /// Bytes per write of the application; absent: as large as fits.
    pub write_size: Option<u64>,
    /// Writes per second; absent: as often as there is room.
    pub writes_per_second: Option<f64>,
    /// Whether short segments leave at once although data is outstanding (no Nagle algorithm).
    #[serde(default, skip_serializing_if = "is_false")]
    pub nodelay: bool,
    /// Packets per second that each of its two hosts handles, sent and received together;
    /// absent: whatever comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_rate: Option<u64>,
    /// The feedback of marks that the flow asks for; `false`: it negotiates no ECN, unless its variant
    /// always does.
    pub ecn: Ecn,
    /// The most that its receiver agrees to; absent: whatever it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_ecn: Option<Ecn>,
    /// Segments per acknowledgement; absent: the profile's. 1 acknowledges every segment.
    pub delayed_ack: Option<u32>,
    /// What its receiver does otherwise than an honest one; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Misbehaviour>,
    /// What its connection remembers of an earlier one on its path (RFC 9959); absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Remembered>,
    /// Which way the data goes.
    pub direction: Direction,
    /// The first and the last bottleneck that the flow crosses, counted from 1; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crosses: Option<[u32; 2]>,
    /// The node of a graph that the data come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The node of a graph that the data go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The application; absent: bulk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// A program to run instead (kernel backends).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The receiving host's program beside `command`; absent: the known counterpart of the
    /// client, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Vec<String>>,
    /// Where the base delay is added (kernel backends).
    #[serde(default)]
    pub delay_at: DelayAt,
    /// Packets that the sending host's interface holds, delayed or waiting for the link; absent:
    /// all that come. With `delay_at` of the sender alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_limit: Option<u32>,
    /// Kernel settings by their sysctl name; lists are joined by spaces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
}

impl From<FlowFields> for Flow {
    fn from(mut fields: FlowFields) -> Flow {
        Flow {
            name: std::mem::take(&mut fields.name),
            fields: Arc::new(fields),
        }
    }
}

impl From<Flow> for FlowFields {
    fn from(flow: Flow) -> FlowFields {
        FlowFields {
            name: flow.name,
            ..Arc::unwrap_or_clone(flow.fields)
        }
    }
}

impl Deref for Flow {
    type Target = FlowFields;

    fn deref(&self) -> &FlowFields {
        &self.fields
    }
}

impl DerefMut for Flow {
    fn deref_mut(&mut self) -> &mut FlowFields {
        Arc::make_mut(&mut self.fields)
    }
}

impl JsonSchema for Flow {
    fn schema_name() -> Cow<'static, str> {
        FlowFields::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        FlowFields::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        FlowFields::json_schema(generator)
    }
}

impl Flow {
    /// A bulk flow of the variant `cc` that starts at once and ends with the run, with all else as
    /// it is by default.
    pub fn bulk(name: impl Into<String>, cc: impl Into<String>) -> Flow {
        Flow::from(FlowFields {
            name: name.into(),
            group: None,
            cc: cc.into(),
            kernel: None,
            cc_params: BTreeMap::new(),
            udp: None,
            extra_delay: Time::ZERO,
            start: Start {
                at: Time::ZERO,
                spread: Time::ZERO,
            },
            transfer: None,
            duration: None,
            rwnd: None,
            sndbuf: None,
            mss: None,
            write_size: None,
            writes_per_second: None,
            nodelay: false,
            packet_rate: None,
            ecn: Ecn::Off,
            receiver_ecn: None,
            delayed_ack: None,
            receiver: None,
            remembered: None,
            direction: Direction::Forward,
            crosses: None,
            from: None,
            to: None,
            application: None,
            command: None,
            server: None,
            delay_at: DelayAt::Router,
            delay_limit: None,
            sysctl: BTreeMap::new(),
        })
    }

    /// The same flow, after `change`.
    pub fn with(mut self, change: impl FnOnce(&mut Flow)) -> Flow {
        change(&mut self);
        self
    }

    /// The same flow under another name: what else there is lies where it is for both.
    pub fn named(&self, name: impl Into<String>) -> Flow {
        Flow {
            name: name.into(),
            fields: Arc::clone(&self.fields),
        }
    }

    /// The group that the flow is in: the one that the study file names, or the flows of its
    /// `count`, of which alone a name has a dot.
    pub fn group(&self) -> Option<&str> {
        let of_count = || self.name.split_once('.').map(|(name, _)| name);
        self.group.as_deref().or_else(of_count)
    }

    /// What the study says that carries its data. What a program sends, only a run shows.
    pub fn transport(&self) -> Transport {
        match self.udp {
            None => Transport::Tcp,
            Some(_) => Transport::Udp,
        }
    }

    /// When the flow starts in the run with `seed`, the same on every backend.
    pub fn start_time(&self, seed: u64) -> Time {
        self.start_and_dice(seed).0
    }

    /// When the flow starts, and the flow's own stream of random numbers after that drawing.
    pub fn start_and_dice(&self, seed: u64) -> (Time, Stream) {
        let mut dice = Stream::new(seed, &format!("flow {}", self.name));
        let drawn = dice.uniform(); // drawn even if unused: the dice fall alike for every spread
        let offset = (self.start.spread.as_nanos() as f64 * drawn) as u64;
        (self.start.at + Time::from_nanos(offset), dice)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Flows of a document, of which those that are alike one after the other lie in one place.
pub(crate) fn alike<'de, D: Deserializer<'de>>(document: D) -> Result<Vec<Flow>, D::Error> {
    let mut flows: Vec<Flow> = Vec::deserialize(document)?;
    for at in 1..flows.len() {
        let (before, flow) = (&flows[at - 1], &flows[at]);
        if before.fields == flow.fields {
            flows[at].fields = Arc::clone(&flows[at - 1].fields);
        }
    }
    flows.shrink_to_fit();
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Document {
        #[serde(deserialize_with = "alike")]
        flows: Vec<Flow>,
    }

    #[test]
    fn what_flows_have_in_common_lies_once_until_it_is_changed() {
        let first = Flow::bulk("f.1", "cubic").with(|flow| flow.mss = Some(1_000));
        let other = Flow::bulk("g", "reno");
        let flows = vec![first.clone(), first.named("f.2"), other, first.named("f.3")];
        let written = serde_json::json!({ "flows": flows });
        let mut read: Document = serde_json::from_value(written).expect("what was written");
        assert_eq!(read.flows, flows);
        let one_place = |a: &Flow, b: &Flow| Arc::ptr_eq(&a.fields, &b.fields);
        assert!(one_place(&read.flows[0], &read.flows[1]));
        assert!(!one_place(&read.flows[1], &read.flows[2]));
        read.flows[1].mss = None;
        assert_eq!([0, 1].map(|at| read.flows[at].mss), [Some(1_000), None]);
        let names = read.flows.iter().map(|flow| flow.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["f.1", "f.2", "g", "f.3"]);
    }
}
