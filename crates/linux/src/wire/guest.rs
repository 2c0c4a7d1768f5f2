//! A guest as the network sees it: hosts that move in windows of virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::process::Command;
use std::time::Duration;

use cclab_trace::Progress;
use cclab_units::Time;

use super::memory::{Frame, Memory, Sent, Turn};
use crate::RunError;
use crate::process::{Ended, Limits, Watched};
use cclab_testbed::records::END_MARK as END;

/// How often a guest that runs is looked at.
const TICK: Duration = Duration::from_millis(50);
/// The most that is kept of frames that leave while time stands, in bytes: what the initial windows
/// of more flows come to than a guest has the memory for.
const MOST_AT_ONCE: usize = 64 << 20;
/// The most that is kept of frames which the network has not got yet, in bytes: a guest that has sent
/// more waits for the network, however far it may run ahead.
const MOST_AHEAD: usize = 64 << 20;
/// The most buffers that wait for another use.
const MOST_SPARE: usize = 1 << 14;
/// It may go on as far as it likes.
const FOR_EVER: u64 = i64::MAX as u64;

/// A guest, which stands still whenever we do not wait for it.
pub struct Guest {
    memory: Memory,
    watched: Watched,
    /// Its clock at the run's time zero.
    zero: u64,
    /// Up to there it has run.
    done: Time,
    /// What will reach it and is not in its ring yet. The ways to it have delays of their own, so
    /// what is known later often comes first.
    coming: BinaryHeap<Reverse<Coming>>,
    /// How many frames were known to come.
    known: u64,
    /// What has left it and the network has not got yet, and the bytes that are kept of it.
    sent: VecDeque<Departure>,
    waiting_bytes: usize,
    /// Bytes that were kept of all that has ever left it.
    sent_bytes: usize,
    /// How it ended, if it has.
    ended: Option<Ended>,
    /// Buffers to be used again.
    spare: Vec<Frame>,
}

/// A frame that will reach a guest, in the order of when, and of which was known first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    at: Time,
    known: u64,
    device: u32,
    frame: Frame,
}

/// How a guest is started.
pub struct Start {
    /// What it is called in messages.
    pub what: String,
    /// The command that boots it.
    pub command: Command,
    /// How long it may take.
    pub limits: Limits,
}

/// Something that leaves a guest.
struct Departure {
    at: Time,
    what: Left,
}

/// What leaves a guest.
pub enum Left {
    /// A frame.
    Frame(Frame),
    /// The agent says that queues are to be sampled now.
    Mark,
    /// The agent says that the run is over.
    End,
}

/// What keeping `frame` takes.
fn bytes_of(frame: &Frame) -> usize {
    frame.kept.len() + size_of::<Departure>()
}

impl Guest {
    /// Starts a guest, whose wire is `memory` and whose clock shows `zero` at the run's time zero.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(memory: Memory, start: Start, zero: u64) -> Result<Guest, RunError> {
        memory.grant(0, zero);
        Ok(Guest {
            memory,
            watched: Watched::start(&start.what, start.command, start.limits)?,
            zero,
            done: Time::ZERO,
            coming: BinaryHeap::new(),
            known: 0,
            sent: VecDeque::new(),
            sent_bytes: 0,
            waiting_bytes: 0,
            ended: None,
            spare: Vec::new(),
        })
    }

    /// Waits until it has booted and stands at time zero.
    ///
    /// # Errors
    /// If it does not come that far.
    pub fn boot(&mut self, progress: &Progress) -> Result<(), RunError> {
        self.wait(progress)?;
        self.collect();
        self.sent.clear();
        self.waiting_bytes = 0;
        Ok(())
    }

    /// A frame will reach `device` at `at`, or as soon as it can: a way that takes no time at all leads
    /// back into the nanosecond that the guest has done.
    pub fn expect(&mut self, at: Time, device: u32, frame: &Frame) {
        debug_assert!(
            at + Time::from_nanos(1) >= self.done,
            "it has run to {}",
            self.done
        );
        let at = at.max(self.done);
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.kept.clear();
        kept.kept.extend_from_slice(&frame.kept);
        kept.len = frame.len;
        self.coming.push(Reverse(Coming {
            at,
            known: self.known,
            device,
            frame: kept,
        }));
        self.known += 1;
    }

    /// When it, or a frame that it has sent, is to go on.
    pub fn deadline(&self) -> Time {
        let sent = self.sent.front().map_or(Time::NEVER, |first| first.at);
        sent.min(self.next())
    }

    /// Whether it has come to its end.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// When it has something to do.
    fn next(&self) -> Time {
        let coming = self.coming.peek().map_or(Time::NEVER, |first| first.0.at);
        let own = match self.memory.request() {
            _ if self.ended.is_some() => return Time::NEVER,
            FOR_EVER => Time::NEVER,
            at => Time::from_nanos(at.saturating_sub(self.zero)),
        };
        coming.min(own)
    }

    /// Lets it run from `now` to `horizon`, if it has something to do by `now`.
    ///
    /// # Errors
    /// If it dies, stands still, or the run is cancelled.
    pub fn run(&mut self, now: Time, horizon: Time, progress: &Progress) -> Result<(), RunError> {
        if self.next() > now {
            return Ok(());
        }
        let mut until = horizon.max(now + Time::from_nanos(1));
        while let Some(&Reverse(Coming { at, .. })) = self.coming.peek()
            && at < until
        {
            if !self.memory.has_room() {
                // It goes no further than what it can be told of.
                until = at.max(now + Time::from_nanos(1));
                break;
            }
            let Some(Reverse(Coming { device, frame, .. })) = self.coming.pop() else {
                break;
            };
            self.memory.put(self.zero + at.as_nanos(), device, &frame);
            self.reuse(frame);
        }
        let free_until = self.zero + until.as_nanos();
        let mut from = self.zero + now.as_nanos();
        let mut stands = (from, self.sent_bytes);
        loop {
            self.memory.grant(from, free_until);
            self.memory.pass_turn();
            self.wait(progress)?;
            self.collect();
            from = self.memory.request();
            if from >= free_until || self.ended.is_some() {
                break;
            }
            if self.waiting_bytes > MOST_AHEAD && from > self.zero + now.as_nanos() {
                until = Time::from_nanos(from - self.zero);
                break;
            }
            // Its ring was full, and time stands still.
            if from > stands.0 {
                stands = (from, self.sent_bytes);
                self.watched.moves();
            } else if self.sent_bytes - stands.1 > MOST_AT_ONCE {
                let what = self.watched.what.clone();
                let at = Time::from_nanos(from.saturating_sub(self.zero));
                return Err(RunError::Floods { what, at });
            }
            self.watched.look(Duration::ZERO, progress)?;
        }
        self.done = until;
        Ok(())
    }

    /// Lets it go on for ever, without a network, until it has ended.
    ///
    /// # Errors
    /// If it stands still, or the run is cancelled.
    pub fn finish(mut self, progress: &Progress) -> Result<Ended, RunError> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        self.memory.grant(self.memory.request(), FOR_EVER);
        self.memory.pass_turn();
        loop {
            match self.memory.await_turn(TICK) {
                // Its ring is full of what nobody wants, or it sleeps for ever.
                Turn::Ours => {
                    self.collect();
                    self.sent.clear();
                    self.memory.grant(self.memory.request(), FOR_EVER);
                    self.memory.pass_turn();
                }
                Turn::Nobodys => break,
                Turn::Guests => {}
            }
            if !self.watched.look(Duration::ZERO, progress)? {
                break;
            }
        }
        while self.watched.look(TICK, progress)? {}
        self.watched.end()
    }

    /// Waits until it waits.
    fn wait(&mut self, progress: &Progress) -> Result<(), RunError> {
        let mut passed = self.memory.passed();
        let mut is_new = true;
        loop {
            match self.memory.await_turn(TICK) {
                Turn::Ours => return Ok(()),
                Turn::Nobodys => break,
                Turn::Guests => {
                    let now = self.memory.passed();
                    // It stood still as long as others moved.
                    if now != passed || std::mem::take(&mut is_new) {
                        self.watched.moves();
                        passed = now;
                    }
                    if !self.watched.look(Duration::ZERO, progress)? {
                        break;
                    }
                }
            }
        }
        while self.watched.look(TICK, progress)? {}
        // It may have come to the run's end within a window that lasts longer.
        let ended = self.watched.end()?;
        match ended.console.done {
            true => {
                self.ended = Some(ended);
                Ok(())
            }
            false => Err(ended.died()),
        }
    }

    /// Takes what it has sent.
    fn collect(&mut self) {
        while let Some(at) = self.memory.first_sent() {
            let mut frame = self.spare.pop().unwrap_or_default();
            match self.memory.take(&mut frame) {
                _ if at < self.zero => self.spare.push(frame),
                Sent::Frame => {
                    let bytes = bytes_of(&frame);
                    self.sent_bytes += bytes;
                    self.waiting_bytes += bytes;
                    self.leaves(at, Left::Frame(frame));
                }
                Sent::Mark => {
                    let what = match frame.kept.as_slice() {
                        END => Left::End,
                        _ => Left::Mark,
                    };
                    self.spare.push(frame);
                    self.leaves(at, what);
                }
            }
        }
    }

    fn leaves(&mut self, at: u64, what: Left) {
        let at = Time::from_nanos(at - self.zero);
        self.sent.push_back(Departure { at, what });
    }

    /// What has left it by `now` and was not taken before, the first of it.
    pub fn next_sent(&mut self, now: Time) -> Option<Left> {
        self.sent.front().filter(|first| first.at <= now)?;
        let Departure { what, .. } = self.sent.pop_front()?;
        if let Left::Frame(frame) = &what {
            self.waiting_bytes -= bytes_of(frame);
        }
        Some(what)
    }

    /// A buffer that is not needed any more.
    pub fn reuse(&mut self, frame: Frame) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(frame);
        }
    }

    /// Takes in what it, which has just moved, has printed.
    ///
    /// # Errors
    /// As [`Watched::look`].
    pub fn look(&mut self, progress: &Progress) -> Result<bool, RunError> {
        self.watched.moves();
        self.watched.look(Duration::ZERO, progress)
    }
}
