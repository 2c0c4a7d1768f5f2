//! A video as who watches it sees it: what arrives of its frames, and when the picture stands still.
//!
//! Frame `k` is made at `made(k)` and due a fixed `deadline` later. It is shown then if all of it has
//! arrived, and if the frames of its group before it, which it needs one after the other, had
//! arrived by then as well. A picture that is not there is left out, never waited for.

use cclab_spec::Video;
use cclab_units::Time;

use crate::histogram::Histogram;
use crate::schema::Frames;

/// The least of what an interval exceeds the mean by to be a freeze.
const NOTICED: Time = Time::from_millis(150);
/// How often the mean interval fits an interval that is a freeze.
const TIMES: u64 = 3;
/// Intervals that the mean is taken over.
const REMEMBERED: usize = 30;

/// What has arrived of each frame.
#[derive(Clone, Debug)]
pub struct Playback {
    video: Video,
    start: Time,
    /// For each frame of which anything is known, its pieces that are missing and its last arrival.
    frames: Vec<Arrived>,
}

#[derive(Clone, Copy, Debug)]
struct Arrived {
    missing: u64,
    last: Time,
    lost: bool,
}

impl Playback {
    /// Nothing yet of `video`, whose first frame is made at `start`.
    pub fn new(video: Video, start: Time) -> Playback {
        Playback {
            video,
            start,
            frames: Vec::new(),
        }
    }

    fn frame(&mut self, number: u64) -> &mut Arrived {
        let (frame, _) = self.video.frame_of(number);
        for next in self.frames.len() as u64..=frame {
            self.frames.push(Arrived {
                missing: self.video.pieces(next),
                last: Time::ZERO,
                lost: false,
            });
        }
        &mut self.frames[frame as usize]
    }

    /// Datagram `number` has arrived for the first time.
    pub fn take(&mut self, now: Time, number: u64) {
        let frame = self.frame(number);
        frame.missing -= 1;
        frame.last = now;
    }

    /// Datagram `number` never arrives.
    pub fn lose(&mut self, number: u64) {
        self.frame(number).lost = true;
    }

    /// From when each complete frame was made to when the last of it arrived, in nanoseconds, of those
    /// made from `since` on.
    pub fn delays(&self, since: Time) -> Histogram {
        let mut delays = Histogram::new();
        for (index, frame) in (0..).zip(&self.frames) {
            let made = self.start + self.video.made(index);
            if frame.missing == 0 && made >= since {
                delays.record((frame.last - made).as_nanos());
            }
        }
        delays
    }

    /// What became of the frames if `sent` datagrams have left, in a run that ends at `end`: a frame
    /// that was not due by then is neither shown nor missed. And what became of those that were made
    /// after the `warmup`, if it takes any time.
    pub fn finish(mut self, sent: u64, end: Time, warmup: Time) -> [Frames; 2] {
        if let Some(last) = sent.checked_sub(1) {
            self.frame(last);
        }
        let whole = self.watch(Time::ZERO, end);
        let warm = (warmup > Time::ZERO).then(|| self.watch(warmup, end));
        [whole, warm.unwrap_or_default()]
    }

    /// What became of the frames that were made from `since` on. What was shown before says how long
    /// an interval usually is, and where the first one begins.
    fn watch(&self, since: Time, end: Time) -> Frames {
        let mut found = Frames::default();
        let mut watched = Watched::from(self.due(0), self.video.frame_rate);
        // When the last frame and all that it needs were there.
        let mut ready: Option<Time> = None;
        for (index, frame) in (0..).zip(&self.frames) {
            let due = self.due(index);
            let complete = (frame.missing == 0).then_some(frame.last);
            let counts = self.start + self.video.made(index) >= since;
            let count = |is_so: bool| u64::from(is_so && counts);
            found.sent += count(true);
            found.complete += count(complete.is_some());
            found.late += count(complete.is_some_and(|at| at > due));
            found.lost += count(complete.is_none() && frame.lost);
            ready = match self.video.is_whole(index) {
                true => complete,
                false => complete.zip(ready).map(|(own, before)| own.max(before)),
            };
            if due > end {
                continue;
            }
            watched.counts = counts;
            match ready.is_some_and(|at| at <= due) {
                true => {
                    found.shown += count(true);
                    watched.show(due);
                }
                false => watched.end = due,
            }
        }
        (found.freezes, found.frozen) = watched.freezes();
        found
    }

    fn due(&self, index: u64) -> Time {
        self.start + self.video.made(index) + self.video.deadline
    }
}

/// The intervals between pictures, judged as the W3C's statistics for WebRTC define `freezeCount`: an
/// interval is a freeze if it is at least max(3 d, d + 150 ms), with d the mean of the last 30
/// intervals. What that leaves open: playback begins when the first frame is due, shown or not; d is
/// the distance of frames before there is an interval; a stall at the end counts up to when the last
/// frame was due.
struct Watched {
    usual: Time,
    /// The last intervals, the oldest first.
    intervals: std::collections::VecDeque<Time>,
    /// When the last picture was shown, and when the last one was due.
    last: Time,
    end: Time,
    /// Whether an interval counts that ends now.
    counts: bool,
    freezes: u64,
    frozen: Time,
}

impl Watched {
    fn from(begin: Time, frame_rate: f64) -> Watched {
        Watched {
            usual: Time::from_secs_f64(1.0 / frame_rate),
            intervals: std::collections::VecDeque::with_capacity(REMEMBERED),
            last: begin,
            end: begin,
            counts: true,
            freezes: 0,
            frozen: Time::ZERO,
        }
    }

    fn show(&mut self, now: Time) {
        if now > self.last {
            self.judge(now - self.last);
            if self.intervals.len() == REMEMBERED {
                self.intervals.pop_front();
            }
            self.intervals.push_back(now - self.last);
        }
        (self.last, self.end) = (now, now);
    }

    fn judge(&mut self, interval: Time) {
        let mean = match self.intervals.len() as u64 {
            0 => self.usual,
            count => self.intervals.iter().copied().sum::<Time>() / count,
        };
        if self.counts && interval >= (mean * TIMES).max(mean + NOTICED) {
            self.freezes += 1;
            self.frozen += interval;
        }
    }

    fn freezes(mut self) -> (u64, Time) {
        if self.end > self.last {
            self.judge(self.end - self.last);
        }
        (self.freezes, self.frozen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 25 frames a second, of one datagram each, in groups of `group`.
    fn video(group: u32) -> Video {
        Video {
            frame_rate: 25.0,
            i_frame: 1_000,
            p_frame: 1_000,
            group,
            deadline: Time::from_millis(100),
            payload: 1_000,
        }
    }

    const LONG: Time = Time::from_secs(1_000);

    /// A hundred frames that take 10 ms each, but for those that `delay` says something else of:
    /// `None`, it is lost.
    fn watched(group: u32, delay: impl Fn(u64) -> Option<u64>, end: Time) -> Frames {
        let video = video(group);
        let mut playback = Playback::new(video, Time::ZERO);
        for number in 0..100 {
            match delay(number) {
                Some(ms) => playback.take(video.made(number) + Time::from_millis(ms), number),
                None => playback.lose(number),
            }
        }
        playback.finish(100, end, Time::ZERO)[0]
    }

    fn but(range: std::ops::Range<u64>, other: Option<u64>) -> impl Fn(u64) -> Option<u64> {
        move |number| {
            if range.contains(&number) {
                other
            } else {
                Some(10)
            }
        }
    }

    #[test]
    fn all_in_time() {
        let found = watched(1, but(0..0, None), LONG);
        let expected = Frames {
            sent: 100,
            complete: 100,
            shown: 100,
            ..Frames::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_freeze_is_as_long_as_the_definition_says() {
        // max(3 * 40, 40 + 150) = 190 ms: three pictures missing are an interval of 160 ms, four one
        // of 200 ms.
        let three = watched(1, but(50..53, None), LONG);
        assert_eq!((three.lost, three.shown, three.freezes), (3, 97, 0));
        let four = watched(1, but(50..54, None), LONG);
        assert_eq!((four.lost, four.shown, four.freezes), (4, 96, 1));
        assert_eq!(four.frozen, Time::from_millis(200));
        // Late ones are not shown either; one at its deadline is.
        let late = watched(1, but(50..54, Some(101)), LONG);
        assert_eq!((late.late, late.lost, late.freezes), (4, 0, 1));
        let just = watched(1, but(50..54, Some(100)), LONG);
        assert_eq!((just.late, just.shown, just.freezes), (0, 100, 0));
    }

    #[test]
    fn the_mean_is_that_of_the_last_thirty_intervals() {
        // Of four groups of five, four frames each are lost: intervals of 200 ms. The first of them is
        // judged by 40 ms, the second by (29 * 40 + 200) / 30 = 45.3 ms, the third by 50.7 ms: its
        // bound is 200.7 ms, and it is none, nor is the fourth.
        let found = watched(
            1,
            |n| (!(50..70).contains(&n) || n % 5 == 4).then_some(10),
            LONG,
        );
        assert_eq!((found.lost, found.freezes), (16, 2));
        assert_eq!(found.frozen, Time::from_millis(400));
    }

    #[test]
    fn a_lost_frame_takes_the_rest_of_its_group_along() {
        // Frame 41 of the group 40 to 49: 41 to 49 are not shown, 40 to 50 are 400 ms apart.
        let found = watched(10, but(41..42, None), LONG);
        assert_eq!((found.lost, found.complete, found.shown), (1, 99, 91));
        assert_eq!((found.freezes, found.frozen), (1, Time::from_millis(400)));
        // Only late, it is there for those that are due after it: 41 is left out, 42 is shown.
        let late = watched(10, but(41..42, Some(130)), LONG);
        assert_eq!((late.late, late.shown, late.freezes), (1, 99, 0));
    }

    #[test]
    fn stalls_at_both_ends_count() {
        // Nothing of frames 0 to 9: the picture comes 400 ms after the first was due.
        let slow = watched(1, but(0..10, None), LONG);
        assert_eq!((slow.freezes, slow.frozen), (1, Time::from_millis(400)));
        // Nothing from 90 on: 89 stands until 99 was due.
        let broken = watched(1, but(90..100, None), LONG);
        assert_eq!((broken.freezes, broken.frozen), (1, Time::from_millis(400)));
        // A run that ends at 2 s knows of frames due until then: 0 to 47, the last at 1.98 s.
        let short = watched(1, but(40..100, None), Time::from_secs(2));
        assert_eq!((short.shown, short.freezes), (40, 1));
        assert_eq!(short.frozen, Time::from_millis(320));
        assert_eq!(watched(1, |_| None, LONG).frozen, Time::from_millis(3_960));
    }

    #[test]
    fn frames_made_after_the_warm_up_are_counted_apart() {
        let video = video(1);
        let mut playback = Playback::new(video, Time::ZERO);
        // 10 to 19 are lost, which is a freeze, and 48 to 59, which is one that begins before 2 s,
        // when 50 is made, and ends after.
        for number in 0..100 {
            match (10..20).contains(&number) || (48..60).contains(&number) {
                true => playback.lose(number),
                false => playback.take(video.made(number), number),
            }
        }
        let [whole, warm] = playback.finish(100, LONG, Time::from_secs(2));
        assert_eq!((whole.sent, whole.lost, whole.freezes), (100, 22, 2));
        assert_eq!((warm.sent, warm.lost, warm.shown), (50, 10, 40));
        assert_eq!((warm.freezes, warm.frozen), (1, Time::from_millis(520)));
    }

    #[test]
    fn a_frame_is_complete_with_its_last_piece() {
        let video = Video {
            i_frame: 2_500,
            ..video(3)
        };
        let mut playback = Playback::new(video, Time::from_secs(1));
        // Pieces 0 to 2 are the I frame; 1 arrives last, and late. 3 is in time but needs it.
        let came = [(0, 1_010), (2, 1_011), (3, 1_050), (1, 1_120), (4, 1_130)];
        for (number, ms) in came {
            playback.take(Time::from_millis(ms), number);
        }
        let [found, _] = playback.finish(8, LONG, Time::ZERO); // the next I frame is on its way
        assert_eq!((found.sent, found.complete), (4, 3));
        assert_eq!((found.late, found.lost, found.shown), (1, 0, 2));
    }
}
