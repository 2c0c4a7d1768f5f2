//! The kernel's events that make a trace, out of the data of the ring.
//!
//! `tcp_ack_taken`, `packet_queued`, `packet_dequeued` and `packet_lost` are those of this
//! project's patches; the others are in every kernel. Events of other kinds are passed over.

use std::net::Ipv4Addr;

use cclab_testbed::records::EventFormats;

use crate::format::{Field, Format};

/// Addresses and ports of a socket or a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The socket's own address; of a packet, where it comes from.
    pub source: Ipv4Addr,
    /// The other address.
    pub destination: Ipv4Addr,
    /// Ports of both.
    pub source_port: u16,
    /// See `source_port`.
    pub destination_port: u16,
}

/// A sender's state at an acknowledgement. Windows in segments, sequence numbers as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The sender's socket.
    pub ends: Ends,
    /// First unacknowledged sequence number.
    pub snd_una: u32,
    /// Next new sequence number.
    pub snd_nxt: u32,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Window that the peer advertised, in bytes.
    pub rwnd: u32,
    /// Smoothed RTT in microseconds; 0 before the first sample.
    pub srtt_us: u32,
    /// What only `tcp_ack_taken` tells.
    pub taken: Option<Taken>,
}

/// The part of an [`Ack`] that `tcp_probe` lacks. With it the state is that after the
/// acknowledgement was taken in, without it that before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// First unacknowledged sequence number before.
    pub prior_una: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// RTT that it measured, in microseconds; negative if none.
    pub rtt_us: i32,
    /// Retransmission timeout in microseconds.
    pub rto_us: u32,
    /// Segments of the delivery rate's sample, and the microseconds that they took.
    pub delivered: u32,
    /// See `delivered`.
    pub interval_us: u32,
    /// `sk_pacing_rate`, in bytes a second; absent where the kernel does not tell.
    pub pacing_rate: Option<u64>,
    /// Congestion state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
}

/// A packet at the root qdisc of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtQueue {
    /// How long it waited, in nanoseconds.
    pub sojourn: u64,
    /// Handle of the qdisc.
    pub handle: u32,
    /// Bytes of the packet, framing included.
    pub len: u32,
    /// Bytes waiting after it.
    pub backlog: u32,
    /// Whose packet it is.
    pub ends: Ends,
}

/// A packet that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Inode number of the namespace.
    pub netns: u32,
    /// Index of the interface in it.
    pub ifindex: u32,
    /// Bytes of the packet from its IP header on.
    pub len: u32,
    /// Its sequence number.
    pub seq: u32,
    /// Its payload bytes.
    pub payload: u32,
    /// Whether netfilter dropped it, on its way into the host.
    pub in_netfilter: bool,
    /// Whether a queue dropped it.
    pub queued: bool,
    /// Whose packet it is.
    pub ends: Ends,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A sender took in an acknowledgement.
    Ack(Ack),
    /// The congestion state of a socket was set.
    Congestion(Ends, u8),
    /// A socket, in that state of TCP, sent a segment again.
    Retransmit(Ends, u8),
    /// A socket went to that state of TCP.
    State(Ends, u8),
    /// A packet entered a queue.
    Queued(AtQueue),
    /// A packet left a queue.
    Dequeued(AtQueue),
    /// A packet was lost.
    Lost(Lost),
}

/// Makes events of data.
#[derive(Debug)]
pub struct Decoder {
    /// Layouts by the number of the event.
    layouts: Vec<Option<Layout>>,
    common_type: Field,
}

impl Decoder {
    /// A decoder of events of these formats.
    ///
    /// # Errors
    /// If a format cannot be read, or lacks a field without which its event says nothing.
    pub fn new(formats: &EventFormats) -> Result<Decoder, String> {
        let formats = formats.events.iter().map(|text| Format::parse(text));
        let formats = formats.collect::<Result<Vec<Format>, _>>()?;
        let takes_acks = formats.iter().any(|format| format.name == "tcp_ack_taken");
        let mut decoder = Decoder {
            layouts: Vec::new(),
            common_type: Field::COMMON_TYPE,
        };
        for format in &formats {
            // Where both tell, the better one does.
            if format.name == "tcp_probe" && takes_acks {
                continue;
            }
            let index = usize::from(format.id);
            if decoder.layouts.len() <= index {
                decoder.layouts.resize_with(index + 1, || None);
            }
            decoder.layouts[index] = Layout::of(format)?;
            decoder.common_type = format.required("common_type")?;
        }
        Ok(decoder)
    }

    /// The event in `data`; `None` if it is of a kind that makes no trace.
    ///
    /// # Errors
    /// If the data end before the event does.
    pub fn event(&self, data: &[u8]) -> Result<Option<Event>, String> {
        let kind = self.common_type.number(data).ok_or("an event of no kind")?;
        let layout = usize::try_from(kind).ok().and_then(|i| self.layouts.get(i));
        let Some(Some(layout)) = layout else {
            return Ok(None);
        };
        match layout.read(data) {
            Some(event) => Ok(Some(event)),
            None => Err(format!("{} bytes are too few for event {kind}", data.len())),
        }
    }
}

/// Where the fields of an event are.
#[derive(Debug)]
enum Layout {
    Ack(Box<AckLayout>),
    Congestion(EndsLayout, Field),
    Retransmit(EndsLayout, Field),
    State(EndsLayout, Field),
    Queued(AtQueueLayout),
    Dequeued(AtQueueLayout),
    Lost(Box<LostLayout>),
}

impl Layout {
    fn of(format: &Format) -> Result<Option<Layout>, String> {
        let ends = || EndsLayout::of(format);
        let layout = match format.name.as_str() {
            "tcp_ack_taken" | "tcp_probe" => Layout::Ack(Box::new(AckLayout::of(format)?)),
            "tcp_cong_state_set" => Layout::Congestion(ends()?, format.required("cong_state")?),
            "tcp_retransmit_skb" => Layout::Retransmit(ends()?, format.required("state")?),
            "inet_sock_set_state" => Layout::State(ends()?, format.required("newstate")?),
            "packet_queued" => Layout::Queued(AtQueueLayout::of(format)?),
            "packet_dequeued" => Layout::Dequeued(AtQueueLayout::of(format)?),
            "packet_lost" => Layout::Lost(Box::new(LostLayout::of(format)?)),
            _ => return Ok(None),
        };
        Ok(Some(layout))
    }

    fn read(&self, data: &[u8]) -> Option<Event> {
        let byte = |field: Field| field.number(data).map(|value| value as u8);
        Some(match self {
            Layout::Ack(layout) => Event::Ack(layout.read(data)?),
            Layout::Congestion(ends, state) => Event::Congestion(ends.read(data)?, byte(*state)?),
            Layout::Retransmit(ends, state) => Event::Retransmit(ends.read(data)?, byte(*state)?),
            Layout::State(ends, state) => Event::State(ends.read(data)?, byte(*state)?),
            Layout::Queued(layout) => Event::Queued(layout.read(data)?),
            Layout::Dequeued(layout) => Event::Dequeued(layout.read(data)?),
            Layout::Lost(layout) => Event::Lost(layout.read(data)?),
        })
    }
}

#[derive(Debug)]
struct EndsLayout {
    source: Field,
    destination: Field,
    source_port: Field,
    destination_port: Field,
}

impl EndsLayout {
    fn of(format: &Format) -> Result<EndsLayout, String> {
        Ok(EndsLayout {
            source: format.required("saddr")?,
            destination: format.required("daddr")?,
            source_port: format.required("sport")?,
            destination_port: format.required("dport")?,
        })
    }

    fn read(&self, data: &[u8]) -> Option<Ends> {
        Some(Ends {
            source: self.source.address(data)?,
            destination: self.destination.address(data)?,
            source_port: self.source_port.number(data)? as u16,
            destination_port: self.destination_port.number(data)? as u16,
        })
    }
}

#[derive(Debug)]
struct AckLayout {
    ends: EndsLayout,
    snd_una: Field,
    snd_nxt: Field,
    cwnd: Field,
    ssthresh: Field,
    rwnd: Field,
    srtt_us: Field,
    taken: Option<TakenLayout>,
}

impl AckLayout {
    fn of(format: &Format) -> Result<AckLayout, String> {
        let taken = format.name == "tcp_ack_taken";
        Ok(AckLayout {
            ends: EndsLayout::of(format)?,
            snd_una: format.required("snd_una")?,
            snd_nxt: format.required("snd_nxt")?,
            cwnd: format.required("snd_cwnd")?,
            ssthresh: format.required("ssthresh")?,
            rwnd: format.required("snd_wnd")?,
            srtt_us: format.required(if taken { "srtt_us" } else { "srtt" })?,
            taken: taken.then(|| TakenLayout::of(format)).transpose()?,
        })
    }

    fn read(&self, data: &[u8]) -> Option<Ack> {
        let number = |field: Field| field.number(data).map(|value| value as u32);
        Some(Ack {
            ends: self.ends.read(data)?,
            snd_una: number(self.snd_una)?,
            snd_nxt: number(self.snd_nxt)?,
            cwnd: number(self.cwnd)?,
            ssthresh: number(self.ssthresh)?,
            rwnd: number(self.rwnd)?,
            srtt_us: number(self.srtt_us)?,
            taken: match &self.taken {
                Some(layout) => Some(layout.read(data)?),
                None => None,
            },
        })
    }
}

#[derive(Debug)]
struct TakenLayout {
    prior_una: Field,
    mss: Field,
    in_flight: Field,
    rtt_us: Field,
    rto_us: Field,
    delivered: Field,
    interval_us: Field,
    /// Kernels built by an older version do not tell.
    pacing_rate: Option<Field>,
    ca_state: Field,
}

impl TakenLayout {
    fn of(format: &Format) -> Result<TakenLayout, String> {
        Ok(TakenLayout {
            prior_una: format.required("prior_una")?,
            mss: format.required("mss")?,
            in_flight: format.required("packets_in_flight")?,
            rtt_us: format.required("rtt_us")?,
            rto_us: format.required("rto_us")?,
            delivered: format.required("delivered")?,
            interval_us: format.required("interval_us")?,
            pacing_rate: format.field("pacing_rate"),
            ca_state: format.required("ca_state")?,
        })
    }

    fn read(&self, data: &[u8]) -> Option<Taken> {
        let number = |field: Field| field.number(data).map(|value| value as u32);
        Some(Taken {
            prior_una: number(self.prior_una)?,
            mss: number(self.mss)?,
            in_flight: number(self.in_flight)?,
            rtt_us: number(self.rtt_us)?.cast_signed(),
            rto_us: number(self.rto_us)?,
            delivered: number(self.delivered)?,
            interval_us: number(self.interval_us)?,
            pacing_rate: match self.pacing_rate {
                Some(field) => Some(field.number(data)?),
                None => None,
            },
            ca_state: number(self.ca_state)? as u8,
        })
    }
}

#[derive(Debug)]
struct AtQueueLayout {
    sojourn: Field,
    handle: Field,
    len: Field,
    backlog: Field,
    ends: EndsLayout,
}

impl AtQueueLayout {
    fn of(format: &Format) -> Result<AtQueueLayout, String> {
        Ok(AtQueueLayout {
            sojourn: format.required("sojourn")?,
            handle: format.required("handle")?,
            len: format.required("len")?,
            backlog: format.required("backlog")?,
            ends: EndsLayout::of(format)?,
        })
    }

    fn read(&self, data: &[u8]) -> Option<AtQueue> {
        let number = |field: Field| field.number(data).map(|value| value as u32);
        Some(AtQueue {
            sojourn: self.sojourn.number(data)?,
            handle: number(self.handle)?,
            len: number(self.len)?,
            backlog: number(self.backlog)?,
            ends: self.ends.read(data)?,
        })
    }
}

#[derive(Debug)]
struct LostLayout {
    netns: Field,
    ifindex: Field,
    len: Field,
    seq: Field,
    payload: Field,
    in_netfilter: Field,
    queued: Field,
    ends: EndsLayout,
}

impl LostLayout {
    fn of(format: &Format) -> Result<LostLayout, String> {
        Ok(LostLayout {
            netns: format.required("netns")?,
            ifindex: format.required("ifindex")?,
            len: format.required("len")?,
            seq: format.required("seq")?,
            payload: format.required("payload")?,
            in_netfilter: format.required("in_netfilter")?,
            queued: format.required("queued")?,
            ends: EndsLayout::of(format)?,
        })
    }

    fn read(&self, data: &[u8]) -> Option<Lost> {
        let number = |field: Field| field.number(data).map(|value| value as u32);
        Some(Lost {
            netns: number(self.netns)?,
            ifindex: number(self.ifindex)?,
            len: number(self.len)?,
            seq: number(self.seq)?,
            payload: number(self.payload)?,
            in_netfilter: number(self.in_netfilter)? != 0,
            queued: number(self.queued)? != 0,
            ends: self.ends.read(data)?,
        })
    }
}
