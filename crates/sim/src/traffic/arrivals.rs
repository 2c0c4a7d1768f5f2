//! Transfers that arrive as a Poisson process, each on a connection of its own.

use cclab_layout::Ideal;
use cclab_net::Port;
use cclab_spec::{Flow as Spec, Sizes};
use cclab_units::{Stream, Time};

use super::connection::{Connections, Order, Purpose};
use super::draw;
use crate::application::Application;

/// A source of transfers.
pub struct Arrivals {
    pub source: u32,
    pub route: usize,
    /// Its flow number.
    pub flow: u32,
    pub ports: [Port; 2],
    /// The ends of every connection but for the size.
    pub spec: Spec,
    /// Mean time between arrivals.
    pub gap: Time,
    pub sizes: Sizes,
    pub stop: Time,
    pub dice: Stream,
    pub ideal: Ideal,
    /// When the next arrives.
    pub due: Time,
}

impl Arrivals {
    /// Opens the connection that is due at `now`; the caller lets it send.
    pub fn open(&mut self, now: Time, connections: &mut Connections<'_>) -> Option<u32> {
        if now >= self.stop {
            return None;
        }
        let size = draw::size(&mut self.dice, &self.sizes);
        self.spec.transfer = Some(size);
        let order = Order {
            source: self.source,
            route: self.route,
            like: self.flow,
            ports: self.ports,
            spec: &self.spec,
            purpose: Purpose::Transfer(size),
            application: Application::new(&self.spec, now, 1, self.dice.fork()),
            dice: self.dice.fork(),
        };
        Some(connections.open(now, order))
    }

    /// When the next arrives; never after the stop.
    pub fn next(&mut self) -> Time {
        self.due += self.dice.exponential(self.gap);
        match self.due < self.stop {
            true => self.due,
            false => Time::NEVER,
        }
    }

    /// How many times longer than alone on the empty path a transfer of `size` bytes took.
    pub fn slowdown(&self, size: u64, took: Time) -> f64 {
        took.as_secs_f64() / self.ideal.completion(size).as_secs_f64()
    }
}
