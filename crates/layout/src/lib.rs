//! A scenario as nodes, directed links and the ways that packets take over them: one layout for
//! every backend.
//!
//! [`Layout::of`] is all there is to it. The simulator makes a queue and a wire of each link, a
//! kernel backend makes a namespace of each node and a cable of each link with its way back, and
//! what reads traces finds a link by its id. The topologies are generators, one file each, in
//! `topology`.
//!
//! Beside the layout stand what a stack makes of it: the sizes of packets and windows of a flow
//! ([`Ends`]), how long a transfer takes alone ([`Ideal`]), and all of it for people
//! ([`describe`]).

mod builder;
mod describe;
mod ends;
mod ideal;
mod impairment;
mod layout;
mod lowering;
mod topology;

pub use describe::{
    Description, FlowFacts, LinkFacts, ProbeFacts, TrafficFacts, describe, description_schema,
};
pub use ends::{Ends, profile_of};
pub use ideal::{Hop, Ideal, alone};
pub use layout::{
    BOTTLENECK, BOTTLENECK_REVERSE, Impairment, Journey, Layout, LineId, Link, LinkId, LinkKind,
    Node, NodeId, Role,
};
