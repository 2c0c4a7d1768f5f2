//! What the agent is told to do: `orders.json`. Everything is spelt out, so that the agent
//! decides nothing and a person can read what a run was made of.
//!
//! The agent works in this order: namespaces; `links` in one `ip -batch`; then for each namespace
//! its sysctls, its `ip` batch, its interfaces' offloads, its `tc` batch, its `iptables` rules;
//! then captures and tracing; then it waits for time zero.

pub use cclab_spec::ProbeKind;
use cclab_spec::{Datagrams, PaceChange};
use cclab_units::Time;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::os::unix::ffi::OsStringExt;

/// Name and version of the format.
pub const SCHEMA: &str = "cclab-orders/1";

/// A run, spelt out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// [`SCHEMA`].
    pub schema: String,
    /// When the run ends; absent: when every flow has ended.
    pub end: Option<Time>,
    /// Distance of the samples; zero: none but those at `marks`, at the first end and at the run's
    /// end.
    pub interval: Time,
    /// The wire that the hosts' interfaces lead to; absent: the orders lay the whole network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// Further instants to sample at, the last start among them.
    pub marks: Vec<Time>,
    /// Kernel settings of the agent's own namespace, which those made later begin with.
    pub sysctl: Vec<Setting>,
    /// Hosts, routers and the namespace of wires.
    pub namespaces: Vec<Namespace>,
    /// Lines of `ip -batch` that make the veth pairs, run in the agent's own namespace; `netns
    /// NAME` puts an end where it belongs.
    pub links: Vec<String>,
    /// The queues that are sampled.
    pub queues: Vec<Queue>,
    /// The flows, in the scenario's order.
    pub flows: Vec<Flow>,
    /// The probes, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    /// What is changed while the run goes on, in the order of time.
    pub changes: Vec<Change>,
    /// Where packets are captured.
    pub captures: Vec<Capture>,
    /// Bytes kept of each captured packet; 0 keeps whole packets.
    pub snaplen: u32,
    /// Captures begin here.
    pub capture_from: Time,
    /// Captures end here; absent: at the run's end.
    pub capture_until: Option<Time>,
    /// Which of the kernel's events are recorded.
    pub events: Events,
}

/// A network that is another process's, and so is the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// CLOCK_MONOTONIC at the run's time zero in nanoseconds.
    pub zero: u64,
    /// The interfaces' MTU.
    pub mtu: u32,
    /// Whether the run goes on when all flows are over, as cross traffic does.
    pub lasts: bool,
    /// The device by which the agent is told what happens on other machines ([`News`]): it goes on
    /// when its own flows are over. Absent: there are no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub news: Option<u32>,
    /// Whether a flow of another machine may end before the run does: what flows here had done by then
    /// is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looks_back: bool,
}

/// What an agent is told of other machines, in a frame of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A flow has ended at that time, the first of all.
    OneHasEnded(Time),
    /// All flows are over, and so is the run at that time, when all machines know it.
    End(Time),
}

impl News {
    /// The type of its frames: one of those for experiments (IEEE 802, section 9.2.3).
    pub const ETHERTYPE: u16 = 0x88b5;

    /// Its frame, for everybody.
    pub fn to_frame(self) -> Vec<u8> {
        let (all, at) = match self {
            News::OneHasEnded(at) => (false, at),
            News::End(at) => (true, at),
        };
        let mut frame = vec![0xff; 12];
        frame.extend(News::ETHERTYPE.to_be_bytes());
        frame.extend(at.as_nanos().to_be_bytes());
        frame.push(all.into());
        frame
    }

    /// What a frame without its header says; `None` if it is cut off.
    pub fn read(payload: &[u8]) -> Option<News> {
        let (at, rest) = payload.split_first_chunk()?;
        let at = Time::from_nanos(u64::from_be_bytes(*at));
        Some(match rest.first()? {
            0 => News::OneHasEnded(at),
            _ => News::End(at),
        })
    }
}

/// A kernel setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Its sysctl name, such as `net.ipv4.tcp_sack`.
    pub name: String,
    /// Its value; lists are joined by spaces.
    pub value: String,
}

/// A network namespace and what is set up in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Namespace {
    /// Unique name: letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// Kernel settings, written before anything else.
    pub sysctl: Vec<Setting>,
    /// Its interfaces, whose offloads are turned off.
    pub interfaces: Vec<String>,
    /// Lines of `ip -batch`: addresses, states, routes.
    pub ip: Vec<String>,
    /// Lines of `tc -batch`.
    pub tc: Vec<String>,
    /// Arguments of one `iptables` command each.
    pub iptables: Vec<Vec<String>>,
}

/// A queue that is sampled: the root qdisc of an interface, which counts what its children do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Index of the link in the trace's list of links.
    pub link: u32,
    /// Index of the namespace.
    pub namespace: usize,
    /// The interface.
    pub interface: String,
    /// Handle of the root qdisc as the kernel has it, the major number in the upper 16 bits;
    /// unique in the run: the kernel's events name it.
    pub handle: u32,
    /// Handle of the qdisc whose drops and marks are those of the queue, and not of a loss.
    pub discipline: u32,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// What the kernel calls the variant asked for: in force by the sender's route, and read back; empty without TCP.
    pub cc: String,
    /// Index of the sender's namespace.
    pub sender: usize,
    /// Index of the receiver's namespace.
    pub receiver: usize,
    /// Address that the sender binds.
    pub source: Ipv4Addr,
    /// Port that the sender binds.
    pub source_port: u16,
    /// Address of the receiver.
    pub destination: Ipv4Addr,
    /// Port of the receiver.
    pub destination_port: u16,
    /// When it connects, sends its first datagram, or when the program starts.
    pub start: Time,
    /// The largest window that the receiver advertises, in bytes; absent: as the kernel likes.
    /// The receiver's route clamps the window of the handshake, but the kernel sets a clamp of
    /// its own at the first full segment: the agent sets `TCP_WINDOW_CLAMP` once data are there.
    pub rwnd: Option<u64>,
    /// Bytes of memory of the send buffer, which `tcp_wmem` of the sender's host fixes; absent: as
    /// the kernel likes. The kernel holds a writer to it only where the writer begins a new packet,
    /// so that one in a hurry exceeds it many times: the agent writes what is free in it, no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sndbuf: Option<u64>,
    /// Where its datagrams are seen as they leave its hosts; absent: they are not looked for, or the
    /// wire sees them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taps: Option<Taps>,
    /// What it does.
    pub work: Work,
}

impl Orders {
    /// Whether the datagrams of the flow at `index` are looked for: by taps, or on a wire wherever a
    /// flow is made of them or a program may send them.
    pub fn watches(&self, index: usize) -> bool {
        let flow = &self.flows[index];
        let may_send = matches!(flow.work, Work::Datagrams { .. } | Work::Command { .. });
        flow.taps.is_some() || (self.wire.is_some() && may_send)
    }
}

/// Interfaces that get a copy of each packet of UDP that a host sends. What arrives at a host is
/// seen by a socket instead, which gets whole datagrams, and those alone that the host accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taps {
    /// That of the sender's host.
    pub sender: String,
    /// That of the receiver's host.
    pub receiver: String,
}

/// What a flow does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Work {
    /// The agent sends as fast as TCP takes it.
    Bulk {
        /// Bytes to send; absent: as many as time allows.
        transfer: Option<u64>,
        /// How long it sends after its start; absent: until the transfer or the run ends.
        duration: Option<Time>,
        /// Bytes per write; absent: as large as fits.
        write_size: Option<u64>,
        /// Writes per second; absent: as often as there is room.
        writes_per_second: Option<f64>,
        /// Whether short segments leave at once although data is outstanding.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        nodelay: bool,
        /// How much it writes from given times on, in their order; before the first as much as fits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        schedule: Vec<PaceChange>,
    },
    /// Programs of the host, unmodified. All connections between the flow's two addresses count
    /// as the flow.
    Command {
        /// The sender's program and its arguments.
        client: Vec<String>,
        /// The receiver's program and its arguments, started at time zero; absent: the agent
        /// accepts connections and datagrams at the destination port and discards what comes.
        server: Option<Vec<String>>,
        /// When the program is ended; absent: when it ends of itself, or the run does.
        until: Option<Time>,
    },
    /// The agent sends datagrams to the destination port, where nobody reads them. Each begins with
    /// its number, counted from 0, and the time at which it was due, 8 bytes each, big endian.
    Datagrams {
        /// What sends them.
        source: Datagrams,
        /// None leaves from then on; absent: until the transfer or the run ends.
        stop: Option<Time>,
        /// Bytes to send; absent: as many as time allows.
        transfer: Option<u64>,
        /// What the source draws comes from this stream.
        dice: Dice,
    },
}

impl Work {
    /// Whether it may be done before the run is over, at `end` if that is known.
    pub fn may_end(&self, end: Option<Time>) -> bool {
        let before = |at: &Time| end.is_none_or(|end| *at < end);
        match self {
            Work::Bulk {
                transfer, duration, ..
            } => transfer.is_some() || duration.is_some(),
            Work::Command { .. } => true,
            Work::Datagrams { stop, transfer, .. } => {
                transfer.is_some() || stop.as_ref().is_some_and(before)
            }
        }
    }
}

/// A stream of random numbers: that of a run's seed with that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dice {
    /// The run's seed.
    pub seed: u64,
    /// The name.
    pub name: String,
}

/// A probe, both of whose hosts are the agent's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Name.
    pub name: String,
    /// What it sends.
    pub kind: ProbeKind,
    /// Index of the namespace that requests leave.
    pub sender: usize,
    /// Index of the namespace that answers them.
    pub receiver: usize,
    /// Address that requests come from.
    pub source: Ipv4Addr,
    /// Port that they come from, of UDP.
    pub source_port: u16,
    /// Address that they go to.
    pub destination: Ipv4Addr,
    /// Port that they go to, of UDP.
    pub destination_port: u16,
    /// When the first leaves.
    pub start: Time,
    /// None leaves from then on.
    pub stop: Time,
    /// From one to the next.
    pub interval: Time,
    /// Bytes of data of each.
    pub payload: u16,
}

/// Commands run at an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at: Time,
    /// Index of the namespace.
    pub namespace: usize,
    /// Lines of `tc -batch`.
    pub tc: Vec<String>,
    /// Arguments of one `iptables` command each.
    pub iptables: Vec<Vec<String>>,
}

/// A point of packet capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Its name in the study, such as `bottleneck`.
    pub point: String,
    /// Index of the namespace.
    pub namespace: usize,
    /// The interface.
    pub interface: String,
    /// Index of the one flow it is about; absent: every packet.
    pub flow: Option<u32>,
}

/// The kernel's events that are recorded. What is not asked for costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// Each acknowledgement taken in by a sender.
    pub acks: bool,
    /// Each packet that leaves a sampled queue, with its sojourn time.
    pub dequeues: bool,
    /// Each packet that enters a sampled queue.
    pub enqueues: bool,
    /// Each packet that is lost.
    pub losses: bool,
}

/// `surroundings.json`: what a program of a flow finds around it on the host. It stands beside the
/// orders, which say what a run is and must not differ from one folder or user to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surroundings {
    /// Its working directory.
    pub directory: Bytes,
    /// Folders in which programs are looked for, with colons between them.
    pub path: Bytes,
    /// [`crate::VERSION`] of what spelt the orders out; the agent's own must be the same.
    pub version: u32,
}

/// What the system calls something: text, or bytes where it is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bytes {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Other(Vec<u8>),
}

impl From<OsString> for Bytes {
    fn from(name: OsString) -> Bytes {
        match name.into_string() {
            Ok(text) => Bytes::Text(text),
            Err(name) => Bytes::Other(name.into_vec()),
        }
    }
}

impl From<Bytes> for OsString {
    fn from(name: Bytes) -> OsString {
        match name {
            Bytes::Text(text) => text.into(),
            Bytes::Other(bytes) => OsString::from_vec(bytes),
        }
    }
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::Text(String::new())
    }
}

/// The name of the file with [`Surroundings`].
pub const SURROUNDINGS: &str = "surroundings.json";
