//! What is a flow's own at the link of its host, and what a host's interface does of its own.

use cclab_layout::{Journey, Layout, LinkId, LinkKind, NodeId, Role};
use cclab_spec::{DelayAt, Direction, Flow};
use cclab_units::{Rate, Time};

/// What is added to the base RTT of flows at a link of their host, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Added {
    /// Delay each way, or of data alone where their host adds it.
    pub extra: Time,
    /// Where it is added.
    pub at: DelayAt,
    direction: Direction,
}

impl Added {
    /// What is added for `flow`, which goes the way of `journey`, at the link `id` or its way back
    /// between its host and a router.
    pub fn of(layout: &Layout, id: LinkId, flow: &Flow, journey: &Journey) -> Added {
        let link = layout.link(id);
        let host = host_of(layout, id);
        let here = |&other: &LinkId| match layout.link(other).kind {
            LinkKind::Line { extra, .. } if other == id || Some(other) == link.back => Some(extra),
            LinkKind::Delay(delay) if layout.link(other).from == host => Some(delay),
            _ => None,
        };
        let extra: Time = journey.data.iter().filter_map(here).sum();
        match extra > Time::ZERO {
            true => Added {
                extra,
                at: flow.delay_at,
                direction: flow.direction,
            },
            false => Added::default(),
        }
    }
}

/// The host that the link `id` joins with a router.
pub(crate) fn host_of(layout: &Layout, id: LinkId) -> NodeId {
    let link = layout.link(id);
    match layout.node(link.from).role {
        Role::Router => link.to,
        Role::Host | Role::SharedHost | Role::Any => link.from,
    }
}

/// What a host's own interface does to the packets that leave it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Own {
    /// How long it delays them.
    pub delay: Time,
    /// How many packets it holds, delayed or waiting for the link; absent: all that come.
    pub limit: Option<u32>,
    /// The link's rate, where that limit is.
    pub rate: Option<Rate>,
}
