//! What the agent waits for.

use std::os::fd::AsFd;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::failure::{During, Step};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// The timer went off.
    Timer,
    /// Someone connects to a flow.
    Listener(usize),
    /// A flow's sender can write, or its connection ended.
    Sender(usize),
    /// A flow's receiver has data, or their end.
    Receiver(usize),
    /// The program of a flow ended.
    Process(usize),
    /// A connection of a flow's program ended.
    Connections(usize),
    /// An answer came to a probe.
    Answer(usize),
    /// A probe is to be answered.
    Request(usize),
    /// Something happened on another machine.
    News,
}

impl Ready {
    fn to_number(self) -> u64 {
        let (kind, index) = match self {
            Ready::Timer => (0, 0),
            Ready::Listener(index) => (1, index),
            Ready::Sender(index) => (2, index),
            Ready::Receiver(index) => (3, index),
            Ready::Process(index) => (4, index),
            Ready::Connections(index) => (5, index),
            Ready::Answer(index) => (6, index),
            Ready::Request(index) => (7, index),
            Ready::News => (8, 0),
        };
        kind << 32 | index as u64
    }

    fn from_number(number: u64) -> Ready {
        let index = (number & 0xffff_ffff) as usize;
        match number >> 32 {
            1 => Ready::Listener(index),
            2 => Ready::Sender(index),
            3 => Ready::Receiver(index),
            4 => Ready::Process(index),
            5 => Ready::Connections(index),
            6 => Ready::Answer(index),
            7 => Ready::Request(index),
            8 => Ready::News,
            _ => Ready::Timer,
        }
    }
}

/// Waits for many things at once.
pub struct Watch {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl Watch {
    /// Waits for nothing yet.
    pub fn new() -> Step<Watch> {
        Ok(Watch {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).during("epoll")?,
            events: vec![EpollEvent::empty(); 64],
        })
    }

    /// Waits for `descriptor` to become readable, as `ready`.
    pub fn readable(&self, descriptor: impl AsFd, ready: Ready) -> Step<()> {
        self.add(descriptor, ready, EpollFlags::EPOLLIN)
    }

    /// Tells once each time that `descriptor` becomes readable, writable or closed.
    pub fn edges(&self, descriptor: impl AsFd, ready: Ready) -> Step<()> {
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        self.add(descriptor, ready, flags)
    }

    fn add(&self, descriptor: impl AsFd, ready: Ready, flags: EpollFlags) -> Step<()> {
        self.epoll
            .add(descriptor, EpollEvent::new(flags, ready.to_number()))
            .during("epoll")
    }

    /// Stops waiting for `descriptor`.
    pub fn forget(&self, descriptor: impl AsFd) -> Step<()> {
        self.epoll.delete(descriptor).during("epoll")
    }

    /// Waits until something happens; all that has.
    pub fn wait(&mut self) -> Step<Vec<Ready>> {
        loop {
            match self.epoll.wait(&mut self.events, EpollTimeout::NONE) {
                Ok(count) => {
                    let events = self.events[..count].iter();
                    return Ok(events.map(|e| Ready::from_number(e.data())).collect());
                }
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error).during("epoll"),
            }
        }
    }
}
