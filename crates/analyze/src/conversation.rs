//! What two endpoints sent to each other over UDP.

use cclab_trace::Histogram;
use cclab_trace::captured::{Ecn, Endpoint, LongHeader, LongType, QuicVersion, UdpDatagram};
use cclab_units::Time;

use crate::conversations::{Speaks, Talk};
use crate::direction::Moment;
use crate::moments::Moments;
use crate::segments::Datagram;
use crate::timeline::Timeline;

/// Initial packets that were sent again leave open which of them was answered, unless they lie no
/// further apart than this share of the time to the answer: those of one flight do.
const ONE_FLIGHT: u64 = 10;

/// A conversation as far as it was seen.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// Who sent its first datagram that was seen, and to whom.
    ends: [Endpoint; 2],
    first: Time,
    last: Time,
    /// Datagrams that were seen at an earlier time than one before them here.
    pub backwards: u64,
    /// What each end sent.
    pub sending: [Sending; 2],
    quic: bool,
    handshake: Handshake,
    /// The version of the latest long header that has one and was not answered by another.
    version: Option<QuicVersion>,
}

/// How a handshake of QUIC begins.
#[derive(Clone, Copy, Debug, Default)]
enum Handshake {
    /// No Initial packet was seen.
    #[default]
    Ahead,
    /// One end sent Initial packets, the first and the latest of them then, and the other nothing.
    Asked {
        side: usize,
        first: Time,
        latest: Time,
    },
    /// The end `side` was answered so long after its first Initial packet.
    Answered { side: usize, after: Time },
    /// That cannot be told.
    Unknown,
}

impl Handshake {
    /// The next datagram is one of `side`, with a long header of that kind or none; `silent` is
    /// whether the other end has sent nothing so far.
    fn after(self, side: usize, long: Option<LongType>, now: Time, silent: bool) -> Handshake {
        match (self, long) {
            (Handshake::Ahead, Some(LongType::Initial)) if silent => Handshake::Asked {
                side,
                first: now,
                latest: now,
            },
            (Handshake::Ahead, Some(LongType::Initial)) => Handshake::Unknown,
            (Handshake::Asked { side: own, .. }, None) if own != side => Handshake::Unknown,
            (
                Handshake::Asked {
                    side: own,
                    first,
                    latest,
                },
                Some(kind),
            ) => match kind {
                _ if own != side && (latest - first) * ONE_FLIGHT <= now - first => {
                    Handshake::Answered {
                        side: own,
                        after: now - first,
                    }
                }
                _ if own != side => Handshake::Unknown,
                LongType::Initial => Handshake::Asked {
                    side,
                    first,
                    latest: now,
                },
                _ => self,
            },
            _ => self,
        }
    }
}

/// What one end sent.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    first: Option<Time>,
    last: Option<Time>,
    size: Moments,
    /// Payload, all of it and that of the interval asked for.
    pub bytes: u64,
    pub interval_bytes: u64,
    /// Payload over time.
    pub carried: Timeline,
    gap: Moments,
    gaps: Histogram,
    ce: u64,
    long: [u64; 5],
}

impl Conversation {
    /// The conversation that `datagram`, seen at `now`, is the first of.
    pub fn new(datagram: &UdpDatagram, now: Time) -> Conversation {
        Conversation {
            ends: [datagram.source, datagram.destination],
            first: now,
            last: now,
            backwards: 0,
            sending: Default::default(),
            quic: false,
            handshake: Handshake::default(),
            version: None,
        }
    }

    /// Takes in `datagram` and tells what it was.
    pub fn take(&mut self, datagram: &UdpDatagram, moment: Moment) -> Datagram {
        self.backwards += u64::from(moment.now < self.last);
        // Time that runs backwards counts as standing still.
        let now = moment.now.max(self.last);
        self.last = now;
        let sender = usize::from(datagram.source != self.ends[0]);
        let silent = self.sending[1 - sender].first.is_none();
        let long = datagram.quic.map(|header| header.kind);
        self.handshake = self.handshake.after(sender, long, now, silent);
        let own = &mut self.sending[sender];
        if let Some(before) = own.last.replace(now) {
            let gap = (now - before).as_nanos();
            own.gap.add(gap);
            own.gaps.record(gap);
        }
        own.first.get_or_insert(now);
        own.size.add(datagram.payload.into());
        let payload = u64::from(datagram.payload);
        own.bytes += payload;
        own.interval_bytes += payload * u64::from(moment.counted);
        own.carried.add(now - moment.origin, payload);
        own.ce += u64::from(datagram.ecn == Ecn::Ce);
        if let Some(LongHeader { version, kind }) = datagram.quic {
            self.quic = true;
            own.long[place(kind)] += 1;
            self.version = version.or(self.version);
        }
        Datagram {
            time: now,
            conversation: 0,
            sender: sender as u32,
            payload: datagram.payload,
            long,
        }
    }

    /// Bytes of memory that it takes beyond its own size.
    pub fn memory(&self) -> usize {
        let each = |own: &Sending| own.gaps.bins_memory() + own.carried.memory();
        self.sending.iter().map(each).sum()
    }

    /// Both directions of the conversation, which has that `number`.
    pub fn rows(&self, number: u32) -> [Talk; 2] {
        [0, 1].map(|side| self.row(number, side))
    }

    fn row(&self, conversation: u32, side: usize) -> Talk {
        let own = &self.sending[side];
        let (source, destination) = (self.ends[side], self.ends[1 - side]);
        let since_first = |time: Option<Time>| time.map(|t| (t - self.first).as_secs_f64());
        let elapsed_s = (self.last - self.first).as_secs_f64();
        let rate = |seconds: f64| (seconds > 0.0).then(|| own.bytes as f64 * 8.0 / seconds);
        let sent_s = own
            .first
            .zip(own.last)
            .map(|(first, last)| (last - first).as_secs_f64());
        let of_quic = |kind| self.quic.then(|| own.long[place(kind)]);
        // The middle of a bin may lie beyond the samples in it.
        let bounds = own.gap.min().zip(own.gap.max());
        let gap = |q| {
            let (least, most) = bounds?;
            let within = own.gaps.quantile(q)?.clamp(least as f64, most as f64);
            Some(within / 1e9)
        };
        Talk {
            conversation,
            source: source.address.to_string(),
            source_port: source.port.into(),
            destination: destination.address.to_string(),
            destination_port: destination.port.into(),
            speaks: if self.quic { Speaks::Quic } else { Speaks::Udp },
            quic_version: self.version.map(QuicVersion::name),
            started_ns: self.first.as_nanos(),
            elapsed_s,
            first_packet_s: since_first(own.first),
            last_packet_s: since_first(own.last),
            packets: own.size.count(),
            total_bytes: own.bytes,
            interval_bytes: own.interval_bytes,
            throughput_bps: rate(elapsed_s),
            rate_bps: sent_s.and_then(rate),
            size_min_bytes: own.size.min(),
            size_mean_bytes: own.size.mean(),
            size_max_bytes: own.size.max(),
            size_stdev_bytes: own.size.stdev(),
            gap_min_s: own.gap.min().map(|ns| ns as f64 / 1e9),
            gap_mean_s: own.gap.mean().map(|ns| ns / 1e9),
            gap_max_s: own.gap.max().map(|ns| ns as f64 / 1e9),
            gap_stdev_s: own.gap.stdev().map(|ns| ns / 1e9),
            gap_p50_s: gap(0.5),
            gap_p95_s: gap(0.95),
            gap_p99_s: gap(0.99),
            ce_packets: own.ce,
            quic_handshake_rtt_s: match self.handshake {
                Handshake::Answered { side: own, after } if own == side => {
                    Some(after.as_secs_f64())
                }
                _ => None,
            },
            quic_initial_packets: of_quic(LongType::Initial),
            quic_zero_rtt_packets: of_quic(LongType::ZeroRtt),
            quic_handshake_packets: of_quic(LongType::Handshake),
            quic_retry_packets: of_quic(LongType::Retry),
            quic_negotiation_packets: of_quic(LongType::VersionNegotiation),
        }
    }
}

/// Where packets of a kind are counted.
fn place(kind: LongType) -> usize {
    match kind {
        LongType::Initial => 0,
        LongType::ZeroRtt => 1,
        LongType::Handshake => 2,
        LongType::Retry => 3,
        LongType::VersionNegotiation => 4,
    }
}
