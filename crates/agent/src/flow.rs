//! Bulk flows: the agent is the application on both sides.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use cclab_spec::{Pace, PaceChange};
use cclab_testbed::orders::{Flow as Orders, Work};
use cclab_testbed::records::{FlowOutcome, TcpInfo};
use cclab_units::Time;
use nix::sys::socket::{MsgFlags, Shutdown, send, shutdown};

use crate::failure::{During, Step, failure};
use crate::namespaces::Namespaces;
use crate::socket::{self, ReadResult};
use crate::tcp_info;

/// Bytes of the file that senders send over and over.
pub const PAYLOAD: usize = 4 << 20;

/// Bytes of a timed write whose size nobody gives.
const FULL_SEGMENT: usize = 1448;

/// Both ends of a bulk flow.
pub struct Bulk {
    orders: Orders,
    application: Application,
    listener: OwnedFd,
    sender: Option<OwnedFd>,
    receiver: Option<OwnedFd>,
    connected: bool,
    /// Whether the sender has said that nothing more comes.
    finished: bool,
    outcome: FlowOutcome,
    last: TcpInfo,
    received: u64,
}

/// What a flow has still to write, and when.
struct Application {
    /// Bytes written so far, and at most.
    written: u64,
    total: u64,
    /// Bytes that may be written so far.
    allowed: u64,
    write_size: Option<usize>,
    /// Time between writes, if they are timed, and when the next is due.
    interval: Option<(Time, Time)>,
    /// The changes of its pace to come, the next one last.
    changes: Vec<PaceChange>,
    start: Time,
    stop: Option<Time>,
}

impl Application {
    fn new(orders: &Orders) -> Application {
        let Work::Bulk {
            transfer,
            duration,
            write_size,
            writes_per_second,
            schedule,
            ..
        } = &orders.work
        else {
            unreachable!("another kind of flow")
        };
        let interval =
            writes_per_second.map(|rate| (Time::from_secs_f64(1.0 / rate), orders.start));
        let write_size = write_size.map(|bytes| bytes as usize);
        let mut application = Application {
            written: 0,
            total: transfer.unwrap_or(u64::MAX),
            allowed: if interval.is_some() { 0 } else { u64::MAX },
            write_size: write_size.or(interval.map(|_| FULL_SEGMENT)),
            interval,
            start: orders.start,
            changes: schedule.iter().rev().copied().collect(),
            stop: duration.map(|duration| orders.start + duration),
        };
        if !schedule.is_empty() {
            application.change(orders.start);
        }
        application
    }

    /// Makes the changes of its pace that have come by `now`, and writes at the rates in force until
    /// then.
    fn change(&mut self, now: Time) {
        while let Some(change) = self.changes.pop_if(|change| change.at <= now) {
            self.allow_until(change.at);
            // What did not fit when there was room for all it was never written.
            if self.allowed == u64::MAX {
                self.allowed = self.written;
            }
            self.interval = None;
            match change.pace() {
                Pace::Unlimited => self.allowed = u64::MAX,
                Pace::Limited(rate) => {
                    let from = change.at.max(self.start);
                    self.interval = Some((rate.time_of(FULL_SEGMENT as u64), from));
                }
                Pace::Paused => {}
            }
        }
        self.allow_until(now + Time::from_nanos(1));
    }

    /// Lets the timed writes be made that come before `end`.
    fn allow_until(&mut self, end: Time) {
        if let Some((interval, next)) = &mut self.interval {
            let size = self.write_size.unwrap_or(FULL_SEGMENT) as u64;
            while *next < end {
                self.allowed = self.allowed.saturating_add(size);
                *next += *interval;
            }
        }
    }

    /// Bytes that it would write now.
    fn room(&self) -> u64 {
        self.total.min(self.allowed) - self.written
    }

    /// When it acts next on its own.
    fn deadline(&self) -> Option<Time> {
        let write = self.interval.map(|(_, next)| next);
        let change = self.changes.last().map(|change| change.at);
        [write, change, self.stop].into_iter().flatten().min()
    }

    /// Acts at `now`; true once nothing more will be written.
    fn act(&mut self, now: Time) -> bool {
        self.change(now);
        if self.stop.is_some_and(|stop| stop <= now) {
            self.total = self.written;
            self.stop = None;
            self.interval = None;
            self.changes.clear();
        }
        self.written == self.total
    }
}

impl Bulk {
    /// A flow whose receiver listens.
    pub fn listen(orders: &Orders, namespaces: &Namespaces) -> Step<Bulk> {
        let listener = namespaces.within(orders.receiver, || {
            socket::listener(orders.destination, orders.destination_port)
                .during(&format!("receiver of flow {}", orders.name))
        })?;
        Ok(Bulk {
            application: Application::new(orders),
            orders: orders.clone(),
            listener,
            sender: None,
            receiver: None,
            connected: false,
            finished: false,
            outcome: FlowOutcome::default(),
            last: TcpInfo::default(),
            received: 0,
        })
    }

    /// The socket that waits for the connection.
    pub fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// Connects, at `now`; the sender's socket.
    pub fn start(&mut self, now: Time, namespaces: &Namespaces) -> Step<&OwnedFd> {
        let orders = &self.orders;
        let socket = namespaces.within(orders.sender, || {
            let source = (orders.source, orders.source_port);
            let destination = (orders.destination, orders.destination_port);
            let at_once = matches!(orders.work, Work::Bulk { nodelay: true, .. });
            socket::connecting(source, destination, at_once)
                .during(&format!("sender of flow {}", orders.name))
        })?;
        self.outcome.started = Some(now.as_nanos());
        Ok(self.sender.insert(socket))
    }

    /// Takes the connection that came; the receiver's socket, the first time.
    pub fn accept(&mut self) -> Step<Option<&OwnedFd>> {
        let step = format!("receiver of flow {}", self.orders.name);
        match socket::accepted(&self.listener).during(&step)? {
            Some(connection) if self.receiver.is_none() => {
                Ok(Some(self.receiver.insert(connection)))
            }
            _ => Ok(None),
        }
    }

    /// The sender's socket can be written, or its connection has ended.
    pub fn sender_ready(&mut self, clock: &dyn Fn() -> Time, payload: &File) -> Step<()> {
        let step = format!("sender of flow {}", self.orders.name);
        let Some(socket) = &self.sender else {
            return Ok(());
        };
        if let Some(error) = socket::error_of(socket) {
            self.outcome.error = Some(error.to_string());
            self.close();
            return Ok(());
        }
        if !self.connected {
            self.connected = true;
            self.outcome.cc_in_force = socket::variant(socket).during(&step)?;
        }
        if !self.finished {
            return self.write(payload);
        }
        // The other side closes when it has everything.
        match socket::read_away(socket, &mut [0; 64]) {
            Ok(ReadResult::End(_)) => {
                self.outcome.ended = Some(clock().as_nanos());
                self.close();
                Ok(())
            }
            Ok(ReadResult::Bytes(_)) => Ok(()),
            Err(error) => {
                self.outcome.error = Some(error.to_string());
                self.close();
                Ok(())
            }
        }
    }

    fn write(&mut self, payload: &File) -> Step<()> {
        let Some(socket) = &self.sender else {
            return Ok(());
        };
        let application = &mut self.application;
        let held = self.orders.sndbuf.is_some();
        while application.room() > 0 {
            let free = if held {
                socket::free_to_send(socket)
            } else {
                Ok(u64::MAX)
            };
            match free.and_then(|free| push(socket, payload, application, free)) {
                Ok(0) => break,
                Ok(bytes) => application.written += bytes,
                Err(error) => {
                    self.outcome.error = Some(error.to_string());
                    self.close();
                    return Ok(());
                }
            }
        }
        if application.written == application.total {
            self.finish()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Step<()> {
        let Some(socket) = &self.sender else {
            return Ok(());
        };
        if !self.finished {
            self.finished = true;
            match shutdown(socket.as_raw_fd(), Shutdown::Write) {
                Ok(()) | Err(nix::Error::ENOTCONN) => {}
                Err(error) => return Err(failure(format!("flow {}", self.orders.name), error)),
            }
        }
        Ok(())
    }

    /// The receiver's socket has data, or the end of them.
    pub fn receiver_ready(&mut self, clock: &dyn Fn() -> Time, buffer: &mut [u8]) -> Step<()> {
        let Some(socket) = &self.receiver else {
            return Ok(());
        };
        let result = socket::read_away(socket, buffer);
        let got = matches!(result, Ok(ReadResult::Bytes(1..) | ReadResult::End(1..)));
        if got && self.outcome.first_byte.is_none() {
            self.outcome.first_byte = Some(clock().as_nanos());
            if let Some(rwnd) = self.orders.rwnd {
                // The route's clamp holds only until the kernel has measured a full segment.
                let step = format!("receive window of flow {}", self.orders.name);
                socket::clamp_window(socket, rwnd).during(&step)?;
            }
            socket::discard(socket);
        }
        let over = match result {
            Ok(ReadResult::Bytes(_)) => false,
            Ok(ReadResult::End(_)) => {
                self.outcome.received_all = Some(clock().as_nanos());
                true
            }
            // The sender gave up; its own error says why.
            Err(_) => true,
        };
        if over {
            self.read_receiver();
            self.outcome.receiver = vec![self.receiver_info()];
            self.receiver = None;
        }
        Ok(())
    }

    /// Whether its application writes at times of its own.
    pub fn writes_at_times(&self) -> bool {
        self.application.interval.is_some()
    }

    /// When the flow acts next on its own.
    pub fn deadline(&self) -> Option<Time> {
        match (&self.sender, self.finished) {
            (Some(_), false) => self.application.deadline(),
            (None, _) if !self.over() => Some(self.orders.start),
            _ => None,
        }
    }

    /// Whether it has yet to start.
    pub fn waits_to_start(&self) -> bool {
        self.outcome.started.is_none()
    }

    /// Acts at `now`, when its deadline has come.
    pub fn act(&mut self, now: Time, payload: &File) -> Step<()> {
        let nothing_more = self.application.act(now);
        if !self.connected {
            return Ok(());
        }
        if nothing_more {
            self.finish()
        } else {
            self.write(payload)
        }
    }

    /// Whether nothing more comes of it.
    pub fn over(&self) -> bool {
        self.outcome.ended.is_some() || self.outcome.error.is_some()
    }

    /// Gives up the sender's socket, with its last state kept.
    fn close(&mut self) {
        self.read_sender();
        self.sender = None;
        self.finished = true;
    }

    fn read_sender(&mut self) {
        if let Some(Ok(info)) = self.sender.as_ref().map(|s| tcp_info::of(s.as_raw_fd())) {
            self.last = info;
        }
    }

    fn receiver_info(&self) -> TcpInfo {
        self.receiver
            .as_ref()
            .and_then(|socket| tcp_info::of(socket.as_raw_fd()).ok())
            .unwrap_or_default()
    }

    fn read_receiver(&mut self) {
        if self.receiver.is_some() {
            self.received = self.receiver_info().bytes_received;
        }
    }

    /// The sender's state and the bytes that reached the receiver, now.
    pub fn sample(&mut self) -> (Option<TcpInfo>, u64) {
        self.read_sender();
        self.read_receiver();
        (self.connected.then_some(self.last), self.received)
    }

    /// What it came to.
    pub fn outcome(mut self) -> FlowOutcome {
        self.read_sender();
        if self.outcome.started.is_some() {
            self.outcome.sender = vec![self.last];
        }
        if self.receiver.is_some() {
            self.outcome.receiver = vec![self.receiver_info()];
        }
        self.outcome
    }
}

/// Hands bytes to TCP, `free` at most; how many it took, 0 when it has no room.
fn push(socket: &OwnedFd, payload: &File, application: &Application, free: u64) -> io::Result<u64> {
    let room = usize::try_from(application.room().min(free)).unwrap_or(usize::MAX);
    if room == 0 {
        return Ok(0);
    }
    let result = match application.write_size {
        // What was left of a write goes first.
        Some(size) => {
            let rest = size - (application.written % size as u64) as usize;
            static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
            let bytes = rest.min(room).min(ZEROS.len());
            send(socket.as_raw_fd(), &ZEROS[..bytes], MsgFlags::MSG_NOSIGNAL)
        }
        None => {
            let mut offset = 0;
            let bytes = room.min(PAYLOAD);
            nix::sys::sendfile::sendfile(socket.as_fd(), payload.as_fd(), Some(&mut offset), bytes)
        }
    };
    match result {
        Ok(bytes) => Ok(bytes as u64),
        Err(nix::Error::EAGAIN) => Ok(0),
        Err(error) => Err(error.into()),
    }
}
