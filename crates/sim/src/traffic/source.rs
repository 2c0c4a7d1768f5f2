//! What a source of cross traffic is.

use super::arrivals::Arrivals;
use super::datagrams::Datagrams;
use super::exchange::Exchange;

/// What a source does.
pub enum Source {
    /// Datagrams.
    Datagrams(Datagrams),
    /// Transfers, each on a connection of its own.
    Arrivals(Box<Arrivals>),
    /// Requests and responses.
    Exchange(Exchange),
    /// Its connections do everything.
    Typing,
}
