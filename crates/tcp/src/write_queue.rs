//! The packets in which a Linux sender's data lie between the application and the wire.
//!
//! What the application writes enters the send buffer in packets of many segments, as large as half
//! of the receiver's widest window allows (`tcp_sendmsg_locked`, `tcp_xmit_size_goal`). Where they
//! end is seen on the wire: a burst is cut off the first of them, which takes in what it lacks from
//! the second (`tcp_write_xmit`, `tcp_grow_skb`), a burst that is all that is left of a packet waits
//! for no more room (`tcp_tso_should_defer`), and the last packet of a write carries a push
//! (`tcp_mark_push`).

mod pieces;
mod sent;

use std::collections::VecDeque;
use std::sync::Arc;

use cclab_units::hint::rarely;
use cclab_units::memory::push_back;

use self::pieces::{MOST, Runs};
use self::sent::Sent;
use crate::profile::{Profile, SendBuffer};

/// Windows up to this are not halved (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u64 = 536;
/// Bytes that `sendfile` hands over in one call (a pipe of 16 pages).
const CALL: u64 = 65_536;

/// A packet, or what has not left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    /// Offset after its last byte.
    end: u64,
    /// Its last segment carries a push, also when it leaves again.
    push: bool,
}

/// The first packet that waits, for who cuts a burst off it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Its bytes that have not left.
    pub len: u64,
    /// No other waits behind it: it may yet get more.
    pub is_last: bool,
    pub push: bool,
}

/// The send buffer of a sender, packet by packet.
#[derive(Debug)]
pub(crate) struct WriteQueue {
    /// Shared by flows of one stack; it has the rules of a send buffer.
    profile: Arc<Profile>,
    mss: u64,
    waiting: VecDeque<Packet>,
    /// Those that left and are not acknowledged.
    sent: Sent,
    runs: Runs,
    /// Up to where the application has written, what has left, and what is acknowledged.
    written: u64,
    left: u64,
    acked: u64,
    /// Memory that it may use (`sk_sndbuf`).
    limit: u64,
    /// The widest window that the receiver has offered (`max_window`).
    widest: u64,
    /// Up to where a push was marked (`pushed_seq`).
    pushed: u64,
    /// Up to where the application may write, which asks how much is free where the buffer does not
    /// grow.
    offered: u64,
    application: Application,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Application {
    /// It writes when it has something.
    Free,
    /// It waits for room (`SOCK_NOSPACE`).
    Starved,
    /// It waited, and there is room.
    Told,
    /// It writes, since so many bytes.
    Writes { began: u64 },
}

/// What may leave after a step of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Nothing yet.
    Nothing,
    /// One packet, however small (`tcp_push_one`).
    One,
    /// What the window allows.
    All,
    /// The same, and a segment that is not full does not wait for another (`TCP_NAGLE_PUSH`).
    Pushed,
    /// The same, but a segment that is not full waits for what the application writes next
    /// (`TCP_NAGLE_CORK`: `sendfile` says that there is more).
    Corked,
}

impl WriteQueue {
    /// An empty buffer, of no size yet; `None` if that of the stack is not modelled.
    pub fn new(profile: &Arc<Profile>, mss: u64) -> Option<WriteQueue> {
        profile.send_buffer.as_ref()?;
        Some(WriteQueue {
            profile: Arc::clone(profile),
            mss,
            waiting: VecDeque::new(),
            sent: Sent::new(mss),
            runs: Runs::default(),
            written: 0,
            left: 0,
            acked: 0,
            limit: 0,
            widest: 0,
            pushed: 0,
            offered: u64::MAX,
            application: Application::Free,
        })
    }

    #[inline]
    fn rules(&self) -> &SendBuffer {
        let rules = &self.profile.send_buffer;
        rules
            .as_ref()
            .expect("a queue is made where there are rules")
    }

    /// Up to where data are in the buffer.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether the application waited for room, has been told of it, and finds it when it looks: what
    /// has left meanwhile takes more memory (`tcp_poll`).
    pub fn finds_room(&mut self) -> bool {
        if self.application == Application::Told && !self.is_writeable() {
            self.application = Application::Starved;
        }
        self.application == Application::Told
    }

    /// Whether the application is about to write its first byte.
    pub fn is_beginning(&self) -> bool {
        self.application
            == Application::Writes {
                began: self.written,
            }
    }

    /// The receiver offers `window` bytes.
    pub fn on_window(&mut self, window: u64) {
        self.widest = self.widest.max(window);
    }

    /// Everything up to `una` is acknowledged.
    pub fn on_acked(&mut self, una: u64) {
        self.acked = una;
        self.sent.acknowledge(una);
        self.runs.forget_before(una);
    }

    /// `[start, end)` was selectively acknowledged; `again` tells that it left again although it was
    /// not taken for lost.
    pub fn on_selected(&mut self, start: u64, end: u64, again: bool) {
        self.sent.select(start, end, again, &self.runs);
    }

    /// Nothing that left counts as selected any more (`tcp_timeout_mark_lost`, of a receiver that
    /// let go of what it had).
    pub fn forget_selected(&mut self) {
        self.sent.forget_selected();
    }

    /// A segment left that ends at `end`: the first of a burst, or one more of the last.
    pub fn on_sent(&mut self, end: u64, is_first: bool) {
        self.left = end;
        let push = self.waiting.front().is_some_and(|w| w.push && w.end <= end);
        self.sent.push(Packet { end, push }, is_first);
        while self.waiting.front().is_some_and(|first| first.end <= end) {
            self.waiting.pop_front();
        }
    }

    /// The first packet that waits, which takes in what it lacks of `wanted` bytes from the second;
    /// `None`: all has left.
    #[inline]
    pub fn head(&mut self, wanted: u64) -> Option<Head> {
        let mut first = *self.waiting.front()?;
        let lacking = (self.left + wanted).saturating_sub(first.end);
        if lacking > 0
            && let Some(&second) = self.waiting.get(1)
        {
            rarely();
            first = self.fill_first(first, second, lacking);
        }
        Some(Head {
            len: first.end - self.left,
            is_last: self.waiting.len() == 1,
            push: first.push,
        })
    }

    /// The first packet that waits, which takes in the `lacking` bytes from the second.
    #[inline(never)]
    fn fill_first(&mut self, first: Packet, second: Packet, lacking: u64) -> Packet {
        let end = (first.end + lacking).min(second.end);
        // One that has no room for all the pieces gets none of them (`skb_shift`).
        if self.runs.pieces(self.left, end) <= MOST {
            if end < second.end {
                self.waiting[0].end = end;
            } else {
                self.waiting.pop_front();
                self.waiting[0].push |= first.push;
            }
        }
        self.waiting[0]
    }

    /// Where the packet ends that left with the byte at `offset`.
    pub fn packet_end(&mut self, offset: u64) -> u64 {
        self.sent.end_of(offset).unwrap_or(self.left)
    }

    /// Whether what left up to `end` carries a push, however it leaves.
    pub fn pushes(&self, end: u64) -> bool {
        self.sent.pushes(end)
    }

    /// What left is cut in two at `offset` (`tcp_fragment`).
    pub fn split(&mut self, offset: u64) {
        self.sent.split(offset);
    }

    /// Memory in use (`sk_wmem_queued`).
    fn used(&self) -> u64 {
        let packets = self.waiting.len() + self.sent.len();
        self.written - self.acked + packets as u64 * self.rules().overhead
    }

    /// Bytes of a packet (`tcp_xmit_size_goal`).
    fn goal(&self) -> u64 {
        let half = match self.widest {
            0 => u64::MAX,
            small @ ..=SMALL_WINDOW => small,
            wide => wide / 2,
        };
        (half.min(self.rules().packet_most) / self.mss).max(1) * self.mss
    }

    /// The buffer is to hold `windows` times what `segments` take (`tcp_sndbuf_expand`).
    pub fn expand(&mut self, segments: u64, windows: u64) {
        // No algorithm leaves a buffer of nothing: Linux begins with that of `net.ipv4.tcp_wmem`.
        let wanted = (self.rules().per_segment * segments).saturating_mul(windows.max(1)) / 2;
        self.limit = self.limit.max(wanted.min(self.rules().most));
    }

    /// Whether the application waits for room.
    pub fn is_waited_for(&self) -> bool {
        self.application == Application::Starved
    }

    /// Room may have come (`tcp_check_space`). The buffer grows to so many `windows` of `segments`,
    /// unless the congestion window is full, and the application is told if there is enough room
    /// (`sk_stream_is_writeable`).
    pub fn check_space(&mut self, segments_and_windows: Option<(u64, u64)>) {
        if !self.is_waited_for() {
            return;
        }
        if let Some((segments, windows)) = segments_and_windows {
            self.expand(segments, windows);
        }
        if self.is_writeable() {
            self.application = Application::Told;
        }
    }

    /// `sk_stream_is_writeable`.
    fn is_writeable(&self) -> bool {
        3 * self.used() <= 2 * self.limit
    }

    /// The application, which has bytes up to `to`, begins to write, if it has more than before.
    pub fn begin(&mut self, to: u64) {
        if self.application != Application::Starved && self.written < to {
            self.begin_call();
        }
    }

    /// The application writes, if there is room.
    fn begin_call(&mut self) {
        if self.rules().is_fixed {
            let free = self.limit.saturating_sub(self.used());
            if free == 0 || !self.is_writeable() {
                self.application = Application::Starved;
                return;
            }
            self.offered = self.written + free;
        }
        self.application = Application::Writes {
            began: self.written,
        };
        self.runs.begin(self.written);
    }

    /// The next step of writing up to `to`, and what it lets leave; `None`: nothing is being written.
    pub fn step(&mut self, to: u64) -> Option<Leave> {
        let Application::Writes { began } = self.application else {
            return None;
        };
        if self.written >= to.min(self.offered) {
            self.application = Application::Free;
            self.mark_push();
            self.begin(to);
            return Some(Leave::All);
        }
        let to = to.min(self.offered);
        let goal = self.goal();
        let mut start = match self.waiting.len() {
            0 | 1 => self.left,
            several => self.waiting[several - 2].end,
        };
        let last = self.waiting.back().map_or(start, |last| last.end);
        let has_room =
            !self.waiting.is_empty() && last < start + goal && last < self.runs.room(start);
        if has_room {
            let begins = (self.written - began).is_multiple_of(CALL);
            if let Some(last) = self.waiting.back_mut() {
                last.push &= !begins;
            }
        } else {
            if last < start + goal {
                self.mark_push(); // full of pieces
            }
            if self.used() >= self.limit {
                self.application = Application::Starved;
                if (self.written - began).is_multiple_of(CALL) {
                    return Some(Leave::Nothing); // a call that wrote nothing pushes nothing
                }
                self.mark_push();
                return Some(Leave::Pushed);
            }
            start = self.written;
            push_back(
                &mut self.waiting,
                Packet {
                    end: start,
                    push: false,
                },
            );
        }
        // What one call carries.
        let call = CALL - (self.written - began) % CALL;
        let end = (start + goal).min(self.runs.room(start));
        let bytes = (end - self.written).min(to - self.written).min(call);
        self.written += bytes;
        if let Some(last) = self.waiting.back_mut() {
            last.end = self.written;
        }
        let forced = self.written > self.pushed + self.widest / 2;
        let is_full = self.written == start + goal;
        if (is_full || bytes == call) && forced {
            self.mark_push();
            return Some(Leave::Pushed);
        }
        Some(match (bytes == call, is_full && self.waiting.len() == 1) {
            (true, _) => Leave::Corked,
            (false, true) => Leave::One,
            (false, false) => Leave::Nothing,
        })
    }

    fn mark_push(&mut self) {
        if let Some(last) = self.waiting.back_mut() {
            last.push = true;
        }
        self.pushed = self.written;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::find;

    const MSS: u64 = 1448;

    const ENDLESS: u64 = 1 << 40;

    /// A connection over Ethernet that begins: ten segments, a window of 65,160 bytes in the SYN-ACK.
    fn begun() -> WriteQueue {
        let profile = find("linux-6.12").expect("a profile of the registry");
        let queue = WriteQueue::new(&Arc::new(profile.clone()), MSS);
        let mut queue = queue.expect("a buffer that is modelled");
        queue.on_window(65_160);
        queue.expand(10, 2);
        queue.begin(ENDLESS);
        queue
    }

    /// `packets` of `segments` leave.
    fn leave(queue: &mut WriteQueue, packets: u64, segments: u64) {
        for _ in 0..packets {
            queue.on_sent(queue.left + segments * MSS, true);
        }
    }

    fn ends(queue: &WriteQueue) -> Vec<(u64, bool)> {
        let waiting = queue.waiting.iter();
        waiting.map(|one| (one.end / MSS, one.push)).collect()
    }

    /// The first write of the guest's Reno at 50 Mbit/s and 10 ms, which sends by two: it goes on
    /// to segment 32. `tcp_bound_to_half_wnd`: 32,580 bytes are 22 segments; what is the first to
    /// leave and full is pushed (`tcp_push_one`), and takes more where some of it left. With 24
    /// more than half a window was written (`forced_push`). 46,080 bytes are the buffer of ten
    /// segments (`tcp_sndbuf_expand`), and asked for before a packet (`sk_stream_memory_free`).
    #[test]
    fn a_write_fills_packets_and_pushes_them_on_its_way() {
        let mut queue = begun();
        assert_eq!(queue.step(ENDLESS), Some(Leave::One));
        leave(&mut queue, 1, 2);
        assert_eq!(queue.step(ENDLESS), Some(Leave::Pushed));
        assert_eq!(ends(&queue), [(24, true)]);
        leave(&mut queue, 4, 2);
        assert_eq!(queue.step(ENDLESS), Some(Leave::One));
        assert_eq!(queue.step(ENDLESS), Some(Leave::Pushed));
        assert_eq!(ends(&queue), [(32, true)]);
        assert_eq!(queue.step(ENDLESS), None); // waits for room
        queue.begin(ENDLESS);
        assert_eq!(queue.step(ENDLESS), None);
    }

    /// `sk_stream_is_writeable`: 32 segments and six packets in 51,712 bytes are too many for 69,120
    /// bytes, those of 15 segments, and few enough for those of 17.
    #[test]
    fn who_waits_is_told_when_a_third_is_free() {
        let mut queue = begun();
        while let Some(leaves) = queue.step(ENDLESS) {
            if leaves != Leave::Nothing && queue.left < 10 * MSS {
                leave(&mut queue, 5, 2);
            }
        }
        queue.check_space(Some((15, 2)));
        assert!(!queue.finds_room());
        queue.check_space(None);
        assert!(!queue.finds_room()); // a full window does not let it grow
        queue.check_space(Some((17, 2)));
        assert!(queue.finds_room());
        queue.begin(ENDLESS);
        assert!(queue.is_beginning());
    }

    /// Three packets of 22 segments.
    fn filled() -> WriteQueue {
        let mut queue = begun();
        queue.expand(20, 2);
        while queue.step(ENDLESS).is_some() {}
        assert_eq!(ends(&queue)[..3], [(22, false), (44, true), (66, true)]);
        queue
    }

    /// `tcp_grow_skb`: what the first packet lacks comes from the second, once.
    #[test]
    fn a_burst_is_made_of_two_packets_at_most() {
        let mut queue = filled();
        queue.on_sent(20 * MSS, true);
        let head = |len, is_last, push| {
            Some(Head {
                len: len * MSS,
                is_last,
                push,
            })
        };
        assert_eq!(queue.head(2 * MSS), head(2, false, false));
        assert_eq!(queue.head(10 * MSS), head(10, false, false));
        assert_eq!(ends(&queue), [(30, false), (44, true), (66, true)]);
        queue.on_sent(29 * MSS, true);
        assert_eq!(queue.head(20 * MSS), head(15, false, true)); // all of the second, no third
        assert_eq!(ends(&queue), [(44, true), (66, true)]);
    }

    /// `tcp_fragment`: what left as one packet is one until part of it leaves again.
    #[test]
    fn what_left_together_is_known_until_it_is_cut() {
        let mut queue = filled();
        queue.on_sent(MSS, true);
        queue.on_sent(2 * MSS, false);
        queue.on_sent(3 * MSS, false);
        queue.on_sent(4 * MSS, true);
        assert_eq!(queue.packet_end(0), 3 * MSS);
        assert_eq!(queue.packet_end(3 * MSS), 4 * MSS);
        queue.split(MSS);
        assert_eq!((queue.packet_end(0), queue.packet_end(MSS)), (MSS, 3 * MSS));
    }
}
