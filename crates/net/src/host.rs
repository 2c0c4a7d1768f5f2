//! What stands at the ports of a network.

use cclab_packet::Packet;
use cclab_units::Time;

/// Where packets enter a network: the first link of their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(pub u32);

/// One of the places of a host that send on their own account, numbered by the host: the two ends
/// of a connection, say. What a host does at one of them makes no other send.
pub type Side = usize;

/// A host, or hosts that act as one.
///
/// A host never looks at a clock: it is told the time. After [`Host::receive`] the side that it
/// names is asked what it sends; after [`Host::act`] each of its sides is, in order. Each time
/// that a side was asked, [`Host::deadline`] says when the host is to act next for it.
///
/// A host may be another process that moves in windows of virtual time. It is told of packets that
/// [`Network::announced`](crate::Network::announced) has as soon as it is certain when they come, and runs, in [`Host::act`], from now to
/// the horizon, before which nothing comes that it was not told of. What it sends meanwhile it keeps
/// until [`Host::transmit`] is asked at the time of each; its deadline is the first of these times and
/// of its own next act.
pub trait Host {
    /// A packet comes at `now`; returns the side that it came to.
    fn receive(&mut self, now: Time, packet: &Packet) -> Side;

    /// Does what is due by `now`.
    fn act(&mut self, now: Time, horizon: Time);

    /// Puts into `packet` the next packet that `side` sends at `now`, and says where it enters the
    /// network; `None`, and any packet, if there is none.
    fn transmit(&mut self, now: Time, side: Side, packet: &mut Packet) -> Option<Port>;

    /// Whether it is known, and cheaper to know than to ask [`Host::transmit`], that `side` sends nothing
    /// more at this time.
    #[inline]
    fn has_sent_all(&self, _side: Side) -> bool {
        false
    }

    /// When it acts next for `side` on its own; [`Time::NEVER`] if nothing is to be done.
    fn deadline(&self, side: Side) -> Time;
}
