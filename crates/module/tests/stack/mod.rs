//! A connection of Linux's stack, small and scripted: it calls a congestion control in the order of
//! `tcp_ack` (net/ipv4/tcp_input.c of Linux 6.12) with the state machine, proportional rate
//! reduction, undo, restart and rate samples of the kernel, over one bottleneck whose losses, marks
//! and delays a script gives. Times are in microseconds.

mod network;
mod sender;

pub use network::Script;
pub use sender::Connection;

/// Connections that between them meet whatever a congestion control is told.
pub const SCRIPTS: [Script; 16] = {
    let plain = Script::PLAIN;
    [
        Script {
            name: "small buffer",
            queue: 20,
            ..plain
        },
        Script {
            name: "large buffer",
            queue: 400,
            ..plain
        },
        Script {
            name: "an ACK per segment",
            ack_every: 1,
            ..plain
        },
        Script {
            name: "stretch ACKs",
            ack_every: 9,
            ..plain
        },
        Script {
            name: "random loss",
            loss_per_10k: 100,
            ..plain
        },
        Script {
            name: "heavy loss",
            loss_per_10k: 600,
            ..plain
        },
        Script {
            name: "reordering",
            late_per_10k: 200,
            late_by: 9_000,
            ..plain
        },
        Script {
            name: "reordering that is taken for loss",
            late_per_10k: 60,
            late_by: 70_000,
            ..plain
        },
        Script {
            name: "marks",
            mark_at: 15,
            ..plain
        },
        Script {
            name: "marks and loss",
            mark_at: 15,
            loss_per_10k: 50,
            ..plain
        },
        Script {
            name: "idle times",
            burst: 700,
            idle: 900_000,
            ..plain
        },
        Script {
            name: "small writes",
            burst: 12,
            idle: 15_000,
            loss_per_10k: 20,
            ..plain
        },
        Script {
            name: "outages",
            outage_every: 6_000_000,
            outage: 900_000,
            ..plain
        },
        Script {
            name: "long path",
            delay: 150_000,
            queue: 300,
            loss_per_10k: 2,
            ..plain
        },
        Script {
            name: "short path with loss",
            delay: 150,
            service: 120,
            loss_per_10k: 100,
            ..plain
        },
        Script {
            name: "jitter, loss and marks",
            jitter: 8_000,
            loss_per_10k: 30,
            late_per_10k: 20,
            late_by: 30_000,
            mark_at: 60,
            ..plain
        },
    ]
};
