//! One connection: both its directions, and when another on the same ports begins.

use cclab_trace::captured::{Endpoint, TcpFlags, TcpSegment};
use cclab_units::Time;

use crate::connections::End;
use crate::direction::{Moment, Sending, agree};
use crate::segments::Segment;

/// A connection as far as it was seen.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Who sent its first packet that was seen, and to whom.
    pub ends: [Endpoint; 2],
    /// When its first packet was seen.
    pub first: Time,
    /// When its last packet was seen.
    pub last: Time,
    /// Packets that were seen at an earlier time than one before them here.
    pub backwards: u64,
    /// What each end sent.
    pub sending: [Sending; 2],
    /// Whether the greater of its ends sent the first packet.
    turned: bool,
    handshake: Handshake,
}

/// The times of the three segments that open a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// The latest SYN without ACK.
    asked: Option<Time>,
    /// The latest SYN with ACK.
    answered: Option<Time>,
    /// The first segment after it of the side that asked.
    agreed: Option<Time>,
}

impl Connection {
    /// The connection that `segment`, seen at `now`, is the first of; `turned` is whether the greater of its ends
    /// sent it, here and below.
    pub fn new(segment: &TcpSegment, turned: bool, now: Time) -> Connection {
        Connection {
            ends: [segment.source, segment.destination],
            first: now,
            last: now,
            backwards: 0,
            sending: Default::default(),
            turned,
            handshake: Handshake::default(),
        }
    }

    /// Whether `segment` opens another connection on the same ports: a SYN with another initial
    /// sequence number (RFC 9293 section 3.6.1), or one after segments without.
    #[inline]
    pub fn is_over_by(&self, segment: &TcpSegment, turned: bool) -> bool {
        if !segment.flags.syn {
            return false;
        }
        let side = self.side(turned);
        let (sending, other) = (&self.sending[side], &self.sending[1 - side]);
        // What it sent before may have been about an older connection.
        let answers = |isn: u32| segment.flags.ack && segment.ack == isn.wrapping_add(1);
        match sending.isn {
            Some(isn) => isn != segment.seq,
            None => sending.packets > 0 && !other.isn.is_some_and(answers),
        }
    }

    /// Takes in `segment` and tells what it was.
    #[inline(always)]
    pub fn take(&mut self, segment: &TcpSegment, turned: bool, mut moment: Moment) -> Segment {
        self.backwards += u64::from(moment.now < self.last);
        // Time that runs backwards counts as standing still.
        moment.now = moment.now.max(self.last);
        moment.latest = self.last;
        self.last = moment.now;
        let side = self.side(turned);
        if self.handshake.agreed.is_none() {
            self.shake_hands(segment.flags, side, moment.now);
        }
        let [a, b] = &mut self.sending;
        let (own, other) = if side == 0 { (a, b) } else { (b, a) };
        Segment {
            sender: side as u32,
            ..own.take(segment, moment, other)
        }
    }

    /// Whether both SYNs agree on ECN (RFC 3168 section 6.1.1, RFC 9768 section 3.1); None if one was
    /// not seen.
    pub fn ecn(&self) -> Option<bool> {
        let [a, b] = self.sending.each_ref().map(|sending| sending.syn_flags);
        Some(agree(a?, b?))
    }

    /// From the SYN to the acknowledgement of its answer, if each was sent once.
    pub fn handshake_rtt(&self) -> Option<Time> {
        let Handshake { asked, agreed, .. } = self.handshake;
        let once = self.sending.iter().all(|sending| sending.syns == 1);
        once.then(|| Some(agreed? - asked?)).flatten()
    }

    /// The SACK blocks in `segment`, as sequence numbers of the end that they tell about.
    pub fn sack_blocks(
        &self,
        segment: &TcpSegment,
        turned: bool,
    ) -> impl Iterator<Item = (i64, i64)> {
        let about = &self.sending[1 - self.side(turned)];
        let blocks = segment.options.sack.iter();
        blocks.map(|(start, end)| (about.relative(start), about.relative(end)))
    }

    /// Bytes of memory that it takes beyond its own size.
    pub fn memory(&self) -> usize {
        self.sending.iter().map(Sending::memory).sum()
    }

    /// Takes note of the segments that open the connection. The time between the answer and the
    /// next segment of the side that asked is that from the capture point to that side and back;
    /// between the SYN and the answer it is that to the other side.
    #[inline(never)]
    fn shake_hands(&mut self, flags: TcpFlags, side: usize, now: Time) {
        let TcpFlags { syn, ack, rst, .. } = flags;
        let shaken = &mut self.handshake;
        match (syn, ack) {
            (true, false) => shaken.asked = Some(now),
            (true, true) => shaken.answered = Some(now),
            (false, true) if !rst => {
                let Some((asked, answered)) = shaken.asked.zip(shaken.answered) else {
                    return;
                };
                // The other side may send before the acknowledgement of its SYN is seen.
                if self.sending[side].syn_flags.is_none_or(|flags| flags.ack) {
                    return;
                }
                shaken.agreed = Some(now);
                let [a, b] = &mut self.sending;
                let mss = Sending::mss_of(a, b);
                let away = [now - answered, answered - asked];
                a.limits.handshake(away[side], mss);
                b.limits.handshake(away[1 - side], mss);
            }
            _ => {}
        }
    }

    /// How it ended.
    pub fn end(&self) -> End {
        let [a, b] = &self.sending;
        let all = |count: fn(&Sending) -> u64| count(a) > 0 && count(b) > 0;
        if a.rsts + b.rsts > 0 {
            End::Reset
        } else if all(|sending| sending.syns) && all(|sending| sending.fins) {
            End::Complete
        } else {
            End::Open
        }
    }

    #[inline]
    fn side(&self, turned: bool) -> usize {
        usize::from(turned != self.turned)
    }
}
