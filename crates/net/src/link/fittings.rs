//! What few links have, out of the way of those that do not.

use cclab_packet::Packet;
use cclab_trace::Histogram;
use cclab_units::Time;

use crate::impairment::{Course, Gate};

/// What a link may have beside a queue, a transmitter and a wire.
#[derive(Default)]
pub struct Fittings {
    /// What happens to packets before the queue.
    pub entry: Option<Box<Gate>>,
    /// What happens to packets after the wire.
    pub exit: Option<Box<Gate>>,
    /// What the wire adds to the delay.
    pub course: Option<Box<Course>>,
    /// How long packets waited; kept where asked.
    pub sojourn: Option<Box<Histogram>>,
    /// The named queues of the discipline, and how long packets waited in each; as `sojourn`.
    pub bands: Vec<(&'static str, Histogram)>,
    /// Whether every packet takes the same time, whatever its size.
    pub(super) per_packet: bool,
    /// Whether this link feeds the next ones ahead of time: then its own wire stays empty.
    pub feeds_ahead: bool,
    /// Whether hosts are told of its packets ahead of time.
    pub announces: bool,
}

impl Fittings {
    /// Whether there is anything for a packet that is put on the wire.
    #[inline]
    pub fn concerns_wire(&self) -> bool {
        self.course.is_some() || self.announces
    }

    /// When `packet`, which is put on the wire next and leaves at `departs`, reaches the far end, if
    /// that is `expected` where nothing is wrong with the wire.
    #[inline]
    pub fn arrival(&mut self, departs: Time, expected: Time, packet: &Packet) -> Time {
        match &mut self.course {
            None => expected,
            Some(course) => course.arrival(departs, expected, packet),
        }
    }

    /// Whether there is nothing: a link does better without them.
    pub(super) fn is_bare(&self) -> bool {
        let Fittings {
            entry,
            exit,
            course,
            sojourn,
            bands,
            per_packet,
            feeds_ahead,
            announces,
        } = self;
        entry.is_none()
            && exit.is_none()
            && course.is_none()
            && sojourn.is_none()
            && bands.is_empty()
            && !per_packet
            && !feeds_ahead
            && !announces
    }
}
