//! Frames of audio or video that are written to a connection when they are made.

use std::collections::VecDeque;

use cclab_spec::{Media, Video};
use cclab_trace::Playback;
use cclab_units::Time;

/// Frames in the making, on their way, and watched.
#[derive(Clone, Debug)]
pub struct Frames {
    video: Video,
    skip_after: Option<Time>,
    start: Time,
    /// None is made from then on.
    stop: Time,
    /// The frame that is made next.
    next: u64,
    /// Whether frames are left out until one that needs no other.
    skips: bool,
    /// Frames of which not all has left, and of which not all has arrived, each with the offset after
    /// its last byte.
    waiting: VecDeque<(u64, u64)>,
    under_way: VecDeque<(u64, u64)>,
    playback: Playback,
}

impl Frames {
    /// The frames of `media` that are made from `start` until before `stop`.
    pub fn new(media: &Media, start: Time, stop: Time) -> Frames {
        Frames {
            video: media.video(),
            skip_after: media.skip_after,
            start,
            stop,
            next: 0,
            skips: false,
            waiting: VecDeque::new(),
            under_way: VecDeque::new(),
            playback: Playback::new(media.video(), start),
        }
    }

    /// None is made from `end` on either.
    pub fn end_at(&mut self, end: Time) {
        self.stop = self.stop.min(end);
    }

    /// Everything up to offset `sent` has left.
    pub fn on_sent(&mut self, sent: u64) {
        while self.waiting.front().is_some_and(|&(_, end)| end <= sent) {
            self.waiting.pop_front();
        }
    }

    /// Everything up to offset `received` has arrived, in order, at `now`.
    pub fn on_received(&mut self, now: Time, received: u64) {
        while let Some(&(frame, end)) = self.under_way.front()
            && end <= received
        {
            self.playback.take(now, frame);
            self.under_way.pop_front();
        }
    }

    /// Makes the frames that are due at `now` behind the `written` bytes; up to where is written then,
    /// and when the next is made.
    pub fn write(&mut self, now: Time, mut written: u64) -> (u64, Time) {
        while self.due() <= now {
            let frame = self.next;
            self.next += 1;
            if self.is_left_out(frame) {
                self.playback.lose(frame);
                continue;
            }
            written += self.video.size(frame);
            self.waiting.push_back((frame, written));
            self.under_way.push_back((frame, written));
        }
        (written, self.due())
    }

    /// When the next frame is made.
    fn due(&self) -> Time {
        let made = self.made(self.next);
        if made < self.stop { made } else { Time::NEVER }
    }

    /// Whether `frame`, which is made now, comes too late behind what waits, or needs one that did.
    fn is_left_out(&mut self, frame: u64) -> bool {
        self.skips &= !self.video.is_whole(frame);
        if let (Some(patience), Some(&(oldest, _))) = (self.skip_after, self.waiting.front()) {
            self.skips |= self.made(frame) - self.made(oldest) > patience;
        }
        self.skips
    }

    fn made(&self, frame: u64) -> Time {
        self.start + self.video.made(frame)
    }

    /// What who watches has seen so far, and how many frames were made.
    pub fn playback(self) -> (Playback, u64) {
        (self.playback, self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten frames a second of 1000 bytes, the first of each five of 4000.
    fn media(skip_after: Option<Time>) -> Media {
        Media {
            frame_rate: 10.0,
            i_frame: 4_000,
            p_frame: 1_000,
            group: 5,
            deadline: Time::from_millis(150),
            skip_after,
        }
    }

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_frame_is_complete_with_its_last_byte() {
        let mut frames = Frames::new(&media(None), Time::ZERO, Time::NEVER);
        assert_eq!(frames.write(Time::ZERO, 0), (4_000, ms(100)));
        frames.on_received(ms(50), 3_999);
        assert_eq!(frames.write(ms(100), 4_000), (5_000, ms(200)));
        frames.on_received(ms(160), 5_000); // the first is late, the second is not
        let (playback, made) = frames.playback();
        let [watched, _] = playback.finish(made, ms(1_000), Time::ZERO);
        assert_eq!((watched.sent, watched.complete, watched.late), (2, 2, 1));
    }

    #[test]
    fn none_is_made_at_the_end() {
        let mut frames = Frames::new(&media(None), Time::ZERO, Time::NEVER);
        frames.end_at(ms(200));
        assert_eq!(frames.write(ms(100), 0), (5_000, Time::NEVER));
        assert_eq!(frames.write(ms(200), 5_000), (5_000, Time::NEVER));
    }

    #[test]
    fn frames_behind_one_that_waits_are_left_out_until_the_next_group() {
        let mut frames = Frames::new(&media(Some(ms(250))), Time::ZERO, Time::NEVER);
        // Nothing leaves: frames 0 to 2 are written, 3 is made 300 ms after the first, and left out.
        let (written, next) = frames.write(ms(300), 0);
        assert_eq!((written, next), (6_000, ms(400)));
        // All has left, but 4 needs 3; 5 needs no other.
        frames.on_sent(6_000);
        assert_eq!(frames.write(ms(400), 6_000), (6_000, ms(500)));
        assert_eq!(frames.write(ms(500), 6_000), (10_000, ms(600)));
        frames.on_received(ms(550), 10_000);
        let (playback, made) = frames.playback();
        let [watched, _] = playback.finish(made, ms(5_000), Time::ZERO);
        assert_eq!((watched.sent, watched.complete, watched.lost), (6, 4, 2));
    }
}
