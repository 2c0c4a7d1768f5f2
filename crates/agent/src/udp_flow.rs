//! Flows over UDP: the agent sends what a source says, when it says so.

use std::io;
use std::os::fd::OwnedFd;

use cclab_spec::Schedule;
use cclab_testbed::orders::{Flow as Orders, Work};
use cclab_testbed::records::FlowOutcome;
use cclab_units::{Stream, Time};

use crate::failure::{During, Step, failure};
use crate::namespaces::Namespaces;
use crate::socket;

/// How long a run without a duration waits at least for what is on its way after the last datagram.
const LINGER: Time = Time::from_secs(1);

/// Both ends of a flow over UDP. What reaches the receiver is seen as that of programs is.
pub struct UdpFlow {
    orders: Orders,
    schedule: Schedule,
    sender: OwnedFd,
    /// Takes in what arrives.
    _receiver: OwnedFd,
    /// A datagram: its number, its time, then zeros.
    datagram: Vec<u8>,
    sent: u64,
    /// When the last datagram left so far, and how long it is waited for.
    last: Time,
    patience: Time,
    over: bool,
    outcome: FlowOutcome,
}

impl UdpFlow {
    /// A flow whose two sockets are there.
    pub fn open(orders: &Orders, namespaces: &Namespaces) -> Step<UdpFlow> {
        let Work::Datagrams {
            source,
            stop,
            transfer,
            dice,
        } = &orders.work
        else {
            unreachable!("another kind of flow")
        };
        let dice = Stream::new(dice.seed, &dice.name);
        let stop = stop.unwrap_or(Time::NEVER);
        let step = |side: &str| format!("{side} of flow {}", orders.name);
        let receiver = namespaces.within(orders.receiver, || {
            socket::sink(orders.destination, orders.destination_port).during(&step("receiver"))
        })?;
        let sender = namespaces.within(orders.sender, || {
            socket::datagrams(orders.source, orders.source_port).during(&step("sender"))
        })?;
        Ok(UdpFlow {
            schedule: Schedule::new(*source, orders.start, stop, *transfer, dice),
            datagram: vec![0; source.payload() as usize],
            sender,
            _receiver: receiver,
            sent: 0,
            last: orders.start,
            // A frame is judged when it was due.
            patience: source
                .video()
                .map_or(LINGER, |video| video.deadline.max(LINGER)),
            over: false,
            outcome: FlowOutcome::default(),
            orders: orders.clone(),
        })
    }

    /// Sends what is due at `now`.
    pub fn act(&mut self, now: Time) -> Step<()> {
        self.outcome.started.get_or_insert(now.as_nanos());
        while let Some(sending) = self.schedule.peek().filter(|sending| sending.at <= now) {
            let bytes = &mut self.datagram[..sending.payload as usize];
            // The last one of a transfer may have no room for both.
            let head = [self.sent.to_be_bytes(), sending.at.as_nanos().to_be_bytes()];
            for (to, from) in bytes.iter_mut().zip(head.concat()) {
                *to = from;
            }
            let to = (self.orders.destination, self.orders.destination_port);
            socket::send(&self.sender, bytes, to).map_err(|error| {
                let why = match error.kind() {
                    io::ErrorKind::WouldBlock => {
                        "the host holds too much that its own link cannot send; lower the `rate`"
                            .to_owned()
                    }
                    _ => error.to_string(),
                };
                failure(format!("sender of flow {}", self.orders.name), why)
            })?;
            self.sent += 1;
            self.last = now;
            self.schedule.next();
        }
        if self.schedule.peek().is_none() {
            self.outcome.ended.get_or_insert(now.as_nanos());
            self.over |= now >= self.last + self.patience;
        }
        Ok(())
    }

    /// When it acts next on its own.
    pub fn deadline(&self) -> Option<Time> {
        match self.schedule.peek() {
            Some(sending) => Some(sending.at),
            None if self.outcome.started.is_none() => Some(self.orders.start),
            None => (!self.over).then_some(self.last + self.patience),
        }
    }

    /// Whether nothing more comes of it.
    pub fn over(&self) -> bool {
        self.over
    }

    /// What it came to.
    pub fn outcome(self) -> FlowOutcome {
        self.outcome
    }
}
