//! A guest as the network sees it: hosts that move in windows of virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cclab_trace::Progress;
use cclab_units::Time;

use super::memory::{Memory, Sent};
use crate::RunError;
use crate::process::{Ended, Limits, Watched};
use cclab_testbed::records::END_MARK as END;

/// How often a guest that runs is looked at.
const TICK: Duration = Duration::from_millis(50);
/// What ends, in messages.
const WHAT: &str = "the guest";
/// It may go on as far as it likes.
const FOR_EVER: u64 = i64::MAX as u64;

/// A guest, which stands still whenever we do not wait for it.
pub struct Guest {
    memory: Memory,
    clock: UnixStream,
    watched: Watched,
    /// Its clock at the run's time zero.
    zero: u64,
    /// Up to there it has run.
    done: Time,
    /// What will reach it and is not in its ring yet, by when, and by which was known first: at
    /// which device, and the frame.
    coming: BTreeMap<(Time, u64), (u32, Vec<u8>)>,
    /// Frames that it was to expect so far.
    expected: u64,
    /// What has left it and the network has not got yet.
    pub sent: VecDeque<Departure>,
    /// How it ended, if it has.
    ended: Option<Ended>,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
}

/// How a guest is started.
pub struct Start {
    /// The command that boots it.
    pub command: Command,
    /// How long it may take.
    pub limits: Limits,
}

/// Something that leaves a guest.
pub struct Departure {
    /// When.
    pub at: Time,
    /// What.
    pub what: Left,
}

/// What leaves a guest.
pub enum Left {
    /// A frame.
    Frame(Vec<u8>),
    /// The agent says that queues are to be sampled now.
    Mark,
    /// The agent says that the run is over.
    End,
}

/// Listens at the socket `place`, whose path may be longer than an address of a socket.
fn listen(place: &Path) -> std::io::Result<UnixListener> {
    let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
        return UnixListener::bind(place);
    };
    let folder = File::open(folder)?;
    UnixListener::bind(
        Path::new("/proc/self/fd")
            .join(folder.as_raw_fd().to_string())
            .join(name),
    )
}

impl Guest {
    /// Boots a guest, whose wire is `memory` and whose clock shows `zero` at the run's
    /// time zero; it listens at the socket `place`. It stands at time zero then.
    ///
    /// # Errors
    /// If it does not come that far.
    pub fn boot(
        memory: Memory,
        start: Start,
        place: &Path,
        zero: u64,
        progress: &Progress,
    ) -> Result<Guest, RunError> {
        let listener = listen(place).map_err(RunError::io(place))?;
        listener
            .set_nonblocking(true)
            .map_err(RunError::io(place))?;
        memory.grant(0, zero);
        let mut watched = Watched::start(start.command, start.limits)?;
        let clock = loop {
            match listener.accept() {
                Ok((clock, _)) => break clock,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(RunError::io(place)(error)),
            }
            if !watched.look(Duration::from_millis(2), progress)? {
                return Err(watched.died(WHAT));
            }
        };
        let ready = clock
            .set_nonblocking(false)
            .and_then(|()| clock.set_read_timeout(Some(TICK)));
        ready.map_err(RunError::io(place))?;
        let mut guest = Guest {
            memory,
            clock,
            watched,
            zero,
            done: Time::ZERO,
            coming: BTreeMap::new(),
            expected: 0,
            sent: VecDeque::new(),
            ended: None,
            spare: Vec::new(),
        };
        guest.wait(progress)?;
        guest.collect();
        guest.sent.clear();
        Ok(guest)
    }

    /// A frame will reach `device` at `at`, or as soon as it can: a way that takes no time at all leads
    /// back into the nanosecond that the guest has done.
    pub fn expect(&mut self, at: Time, device: u32, frame: &[u8]) {
        debug_assert!(
            at + Time::from_nanos(1) >= self.done,
            "it has run to {}",
            self.done
        );
        let at = at.max(self.done);
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(frame);
        self.expected += 1;
        self.coming.insert((at, self.expected), (device, kept));
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
        let coming = self.coming.first_key_value();
        let coming = coming.map_or(Time::NEVER, |(key, _)| key.0);
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
        while let Some(first) = self.coming.first_entry()
            && first.key().0 < until
        {
            let at = first.key().0;
            if !self.memory.has_room() {
                // It goes no further than what it can be told of.
                until = at.max(now + Time::from_nanos(1));
                break;
            }
            let (device, frame) = first.remove();
            self.memory.put(self.zero + at.as_nanos(), device, &frame);
            self.spare.push(frame);
        }
        let free_until = self.zero + until.as_nanos();
        let mut from = self.zero + now.as_nanos();
        loop {
            self.memory.grant(from, free_until);
            self.tell();
            self.wait(progress)?;
            self.collect();
            from = self.memory.request();
            if from >= free_until || self.ended.is_some() {
                break;
            }
            // Its ring was full, and time stands still.
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
        self.tell();
        loop {
            let mut byte = [0];
            match self.clock.read(&mut byte) {
                // Its ring is full of what nobody wants, or it sleeps for ever.
                Ok(1) => {
                    self.collect();
                    self.sent.clear();
                    self.memory.grant(self.memory.request(), FOR_EVER);
                    self.tell();
                }
                Ok(_) => break,
                Err(_) => {}
            }
            if !self.watched.look(Duration::ZERO, progress)? {
                break;
            }
        }
        while self.watched.look(TICK, progress)? {}
        self.watched.end()
    }

    fn tell(&mut self) {
        // If it is gone, waiting for it tells how it ended.
        let _ = self.clock.write_all(&[0]);
    }

    /// Waits until it waits.
    fn wait(&mut self, progress: &Progress) -> Result<(), RunError> {
        let mut passed = self.memory.passed();
        loop {
            let mut byte = [0];
            match self.clock.read(&mut byte) {
                Ok(1) => return Ok(()),
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let now = self.memory.passed();
                    if now != passed {
                        self.watched.moves();
                        passed = now;
                    }
                    if !self.watched.look(Duration::ZERO, progress)? {
                        break;
                    }
                }
                Err(_) => break,
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
            false => Err(ended.died(WHAT)),
        }
    }

    /// Takes what it has sent.
    fn collect(&mut self) {
        while let Some(at) = self.memory.first_sent() {
            let mut frame = self.spare.pop().unwrap_or_default();
            match self.memory.take(&mut frame) {
                _ if at < self.zero => self.spare.push(frame),
                Sent::Frame => self.leaves(at, Left::Frame(frame)),
                Sent::Mark => {
                    let what = match frame.as_slice() {
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

    /// A buffer that is not needed any more.
    pub fn reuse(&mut self, frame: Vec<u8>) {
        self.spare.push(frame);
    }

    /// Takes in what it has printed.
    ///
    /// # Errors
    /// As [`Watched::look`].
    pub fn look(&mut self, progress: &Progress) -> Result<bool, RunError> {
        self.watched.look(Duration::ZERO, progress)
    }
}
