//! What one end of a connection sends, and what the other says about it.

mod bytes;
mod marks;
mod probes;
mod windows;

use cclab_trace::Histogram;
use cclab_trace::captured::{Ecn, TcpFlags, TcpOptions, TcpSegment};
use cclab_units::Time;

use self::bytes::Bytes;
use self::marks::{Marks, agree_on_counts};
use self::probes::Probe;
use crate::limits::Limits;
use crate::moments::{Extremes, Moments};
use crate::quantile::Quantile;
use crate::segments::{Flags, Kind, Segment};
use crate::sent::{Sent, Timing};
use crate::timeline::Timeline;
use crate::timeouts::Timeouts;

pub(crate) use self::marks::agree;

/// Bytes that timestamps take of each segment, padding included (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u64 = 12;

/// Each so many segments with data a gap between two of them is looked at.
const GAPS_SAMPLED: u64 = 8;

/// When a segment was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The time.
    pub now: Time,
    /// When a segment of the connection was last seen; of the first one, now.
    pub latest: Time,
    /// When the capture began.
    pub origin: Time,
    /// Whether the interval asked for has it.
    pub counted: bool,
}

impl Moment {
    /// A copy for what is seldom called: where it is handed on by its address, it would be kept in memory for all.
    #[inline(always)]
    fn apart(&self) -> Moment {
        Moment { ..*self }
    }
}

/// An acknowledgement that can be true.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    /// The position up to which it acknowledges.
    ack: u64,
    /// Whether it tells of a mark.
    marked: bool,
}

/// Counters of one direction; the columns of `connections` define them.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub first_data: Option<Time>,
    pub last_data: Option<Time>,
    pub idle_max: Option<Time>,
    pub packets: u64,
    pub pure_acks: u64,
    pub unique_bytes: u64,
    pub interval_bytes: u64,
    /// Segments sent again, or late, within the interval asked for.
    pub interval_lost: u64,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    pub repeated_syn_fin: u64,
    pub spurious: u64,
    pub timer_retransmits: u64,
    pub out_of_order: u64,
    pub duplicate_acks: u64,
    pub sacks: u64,
    pub sack_blocks: u64,
    pub sack_blocks_max: usize,
    pub dsacks: u64,
    pub keep_alives: u64,
    pub window_probes: u64,
    pub window_full: u64,
    pub syns: u64,
    pub fins: u64,
    pub rsts: u64,
    pub urgent: u64,
    pub ce: u64,
    pub ece: u64,
    pub cwr: u64,
    marks: Marks,
    pub syn_options: Option<TcpOptions>,
    pub syn_flags: Option<TcpFlags>,
    pub timestamps: bool,
    pub payload: Extremes,
    /// Windows of segments other than SYNs, and those of SYNs, which are never scaled.
    window: Extremes,
    syn_window: Extremes,
    pub zero_windows: u64,
    pub outstanding: Extremes,
    pub initial_window_bytes: u64,
    pub initial_window_packets: u64,
    /// Times from one segment with data to the next that is as large as any, of some of them.
    pub gaps: Gaps,
    pub rtt: Moments,
    pub rtts: Histogram,
    /// The least RTT of data: that of a SYN knows of no delayed acknowledgement.
    pub data_rtt_min: Option<Time>,
    pub rtt_ambiguous: u64,
    pub timeouts: Timeouts,
    pub limits: Limits,
    /// New payload over time.
    pub carried: Timeline,
    /// Segments sent again, or late, over time.
    pub lost: Timeline,
    /// Sequence number of the first SYN.
    pub isn: Option<u32>,
    /// Whether windows of both directions are scaled, as far as is known, and how its own are.
    scaling: Option<bool>,
    shift: u8,
    /// The window of its latest segment, scaled; None before any.
    last_window: Option<u64>,
    /// The highest end of a window that the other advertised, and the latest; 0 before any: no position is.
    highest_edge: u64,
    edge: u64,
    /// Bytes it sent.
    sent: Sent,
    /// Where sequence numbers count from: the SYN's position.
    origin: Option<u64>,
    /// Data in the latest probe of a closed window, until it is acknowledged.
    probe: Option<Probe>,
    /// Everything below was acknowledged by the other; None before an acknowledgement.
    acknowledged: Option<u64>,
    /// Whether the other acknowledged more than the SYN.
    data_acknowledged: bool,
}

/// The time that a tenth of the gaps between full segments do not pass.
#[derive(Debug)]
pub(crate) struct Gaps(pub Quantile);

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps(Quantile::new(0.1))
    }
}

impl Sending {
    /// Takes in `segment` of this direction, `other` being the opposite one, and tells what it
    /// was; whose it was is left open.
    #[inline(always)]
    pub fn take(&mut self, segment: &TcpSegment, moment: Moment, other: &mut Sending) -> Segment {
        let now = moment.now;
        let flags = segment.flags;
        let marked = self.count(segment, now);
        if flags.syn {
            self.settle_scaling(other);
            self.settle_marks(flags, other);
        }
        let start = self.sent.position(segment.seq);
        if flags.syn && self.syns == 1 {
            // Whatever was seen before was about an older connection, or came too early.
            self.origin = Some(start);
        }
        let origin = *self.origin.get_or_insert(start - u64::from(!flags.syn));
        let Bytes {
            mut kind,
            unseen,
            flies,
        } = self.take_bytes(segment, start, moment, other);
        let mut told = Segment {
            time: now,
            seq: start.wrapping_sub(origin).cast_signed(),
            payload: segment.payload,
            flags: Flags(flags),
            ..Segment::default()
        };
        let ack = other.sent.position(segment.ack);
        let believed = (flags.ack && other.can_have_sent(ack)).then_some(ack);
        if believed.is_some() {
            let (duplicate, rtt) = self.take_ack(segment, ack, moment, other);
            told.rtt = rtt;
            if duplicate && kind == Kind::Ack {
                kind = Kind::DuplicateAck;
            }
        }
        told.ack = flags.ack.then(|| other.since_origin(ack));
        told.kind = kind;
        if flags.rst {
            // Its window means nothing, and nothing follows it.
            return told;
        }
        let acknowledged = believed.map(|ack| Acknowledged { ack, marked });
        told.window = Some(self.take_window(segment, now, acknowledged, other));
        if segment.payload > 0 && unseen && !self.data_acknowledged {
            self.initial_window_bytes += u64::from(segment.payload);
            self.initial_window_packets += 1;
        }
        if flies && !flags.syn {
            let outstanding = self.outstanding_after(start, segment.payload);
            self.outstanding.add(outstanding);
            told.outstanding = (segment.payload > 0).then_some(outstanding);
        }
        told
    }

    /// A SYN-ACK with `flags` may agree to the counts of marks that `other` asked for.
    fn settle_marks(&mut self, flags: TcpFlags, other: &mut Sending) {
        let asked = other.syn_flags.filter(|asked| flags.ack && !asked.ack);
        if asked.is_some_and(|asked| agree_on_counts(asked, flags)) {
            self.marks.count(false);
            other.marks.count(true);
        }
    }

    /// Payload of a full segment, as both SYNs leave it; None if neither tells.
    pub fn mss_of(a: &Sending, b: &Sending) -> Option<u64> {
        let announced = |sending: &Sending| sending.syn_options.and_then(|options| options.mss);
        let mss = [announced(a), announced(b)].into_iter().flatten().min()?;
        let timestamps = if a.timestamps && b.timestamps {
            TIMESTAMPS_LEN
        } else {
            0
        };
        u64::from(mss)
            .checked_sub(timestamps)
            .filter(|&mss| mss > 0)
    }

    /// The sequence number `seq`, counted from the SYN's and without wraps.
    #[inline]
    pub fn relative(&self, seq: u32) -> i64 {
        self.since_origin(self.sent.position(seq))
    }

    #[inline]
    fn since_origin(&self, position: u64) -> i64 {
        let from = self.origin.unwrap_or(position);
        position.wrapping_sub(from).cast_signed()
    }

    /// Bytes that were acknowledged and never seen.
    pub fn missed(&self) -> u64 {
        self.acknowledged.map_or(0, |ack| self.sent.missed(ack))
    }

    /// Bytes of memory that it takes beyond its own size.
    pub fn memory(&self) -> usize {
        let timelines = self.carried.memory() + self.lost.memory();
        self.sent.memory() + self.rtts.bins_memory() + self.limits.memory() + timelines
    }

    /// Segments with data.
    pub fn data_packets(&self) -> u64 {
        self.payload.count
    }

    /// The counters that need to know nothing of earlier segments; whether it tells of a mark.
    #[inline(always)]
    fn count(&mut self, segment: &TcpSegment, now: Time) -> bool {
        let flags = segment.flags;
        match self.last.replace(now) {
            Some(last) => {
                let idle = now - last;
                if self.idle_max.is_none_or(|most| most < idle) {
                    self.idle_max = Some(idle);
                }
            }
            None => self.first = Some(now),
        }
        self.packets += 1;
        self.syns += u64::from(flags.syn);
        self.fins += u64::from(flags.fin);
        self.rsts += u64::from(flags.rst);
        self.urgent += u64::from(flags.urg);
        // What is seldom so is looked at, not added: a counter lies in a line of its own.
        if segment.ecn == Ecn::Ce {
            self.ce += 1;
        }
        let told = self.marks.take(segment);
        if told.mark {
            self.ece += 1;
        }
        if told.reduced {
            self.cwr += 1;
        }
        if segment.payload > 0 {
            self.payload.add(u64::from(segment.payload));
            if let Some(last) = self.last_data
                && self.data_packets().is_multiple_of(GAPS_SAMPLED)
                && self.payload.max() == Some(u64::from(segment.payload))
            {
                self.gaps.0.add((now - last).as_nanos() as f64);
            }
            if self.last_data.replace(now).is_none() {
                self.first_data = Some(now);
            }
        } else if flags.ack && !flags.syn && !flags.fin && !flags.rst {
            self.pure_acks += 1;
        }
        let options = &segment.options;
        self.timestamps |= options.timestamps.is_some();
        if !options.sack.is_empty() {
            self.sacks += 1;
            self.sack_blocks += options.sack.len() as u64;
            self.sack_blocks_max = self.sack_blocks_max.max(options.sack.len());
            self.dsacks += u64::from(tells_of_a_duplicate(segment));
        }
        if flags.syn {
            self.isn.get_or_insert(segment.seq);
            self.syn_flags.get_or_insert(flags);
            // Of options that were not kept nothing is known.
            if !segment.options_cut {
                self.syn_options.get_or_insert(*options);
            }
        }
        told.mark
    }

    /// The acknowledgement in `segment`, which is about what `other` sent, up to the position `ack`:
    /// whether it is a duplicate, and the RTT it measures.
    #[inline(always)]
    fn take_ack(
        &mut self,
        segment: &TcpSegment,
        ack: u64,
        moment: Moment,
        other: &mut Sending,
    ) -> (bool, Option<Time>) {
        let now = moment.now;
        let flags = segment.flags;
        let bare = segment.payload == 0 && !flags.syn && !flags.fin && !flags.rst;
        let again = other.acknowledged == Some(ack);
        // Where the data were not captured, SACK blocks tell that there are some.
        let in_flight = |sent: &Sent| match sent.end() {
            Some(end) => end > ack,
            None => !segment.options.sack.is_empty(),
        };
        // RFC 5681 section 2.
        let duplicate = again
            && bare
            && in_flight(&other.sent)
            && self.last_window == Some(self.scaled_window(segment));
        if duplicate {
            other.duplicate_acks += 1;
        }
        if let Some(probe) = other.probe.take_if(|probe| probe.start < ack) {
            other.probe_accepted(probe, moment.apart());
        }
        if other.origin.is_none() {
            // Nothing was seen of what it acknowledges.
            other.origin = Some(ack - 1);
        }
        let mut measured = None;
        match other.sent.acknowledge(ack, now) {
            Timing::Sample(rtt) => {
                other.rtt.add(rtt.as_nanos());
                let of_data = other
                    .isn
                    .is_none_or(|isn| segment.ack != isn.wrapping_add(1));
                if of_data {
                    let least = other.data_rtt_min.map_or(rtt, |least| least.min(rtt));
                    other.data_rtt_min = Some(least);
                }
                other.rtts.record(rtt.as_nanos());
                other.timeouts.sample(rtt);
                other.limits.sample(rtt);
                measured = Some(rtt);
            }
            Timing::Ambiguous => other.rtt_ambiguous += 1,
            Timing::Delayed | Timing::Nothing => {}
        }
        if other.acknowledged.is_none_or(|before| before < ack) {
            other.acknowledged = Some(ack);
            other.timeouts.advance(now);
        }
        if !again && !other.data_acknowledged {
            other.data_acknowledged = other
                .isn
                .is_none_or(|isn| segment.ack != isn.wrapping_add(1));
        }
        (duplicate, measured)
    }

    /// Bytes in flight once `payload` bytes from `start` on are sent; all from the SYN on, or
    /// from the first seen, while nothing was acknowledged.
    #[inline]
    fn outstanding_after(&self, start: u64, payload: u32) -> u64 {
        let first = self.origin.map_or(start, |origin| origin + 1);
        let below = self.acknowledged.unwrap_or(first);
        (start + u64::from(payload)).saturating_sub(below)
    }
}

/// Whether the first SACK block of `segment` is a D-SACK (RFC 2883 section 4): it lies below the
/// acknowledgement, or within the second block.
pub(crate) fn tells_of_a_duplicate(segment: &TcpSegment) -> bool {
    let before = |a: u32, b: u32| (a.wrapping_sub(b) as i32) < 0;
    let mut blocks = segment.options.sack.iter();
    let Some((start, end)) = blocks.next() else {
        return false;
    };
    let within = |(outer_start, outer_end): (u32, u32)| {
        !before(start, outer_start) && !before(outer_end, end)
    };
    before(start, segment.ack) || blocks.next().is_some_and(within)
}
