//! gentle: Reno that gives up a quarter of its window at a loss, not half of it.
//!
//! The simulator's stack calls it as Linux's calls a module of the kernel, and the names are the
//! kernel's. `cclab run study.toml` compiles it with `rustc`; it may use the standard library.
//! Change what you like: whatever you change, its runs are new ones.

use cclab::{CongestionOps, Given, Parameter, Tcp};

/// What one flow remembers: each flow has its own.
struct Gentle {
    /// What remains of the window at a loss.
    beta: f64,
}

impl Gentle {
    /// A flow begins. `given` has the study's `cc_params`, or the defaults declared below.
    fn new(given: Given) -> Gentle {
        Gentle {
            beta: given.get("beta"),
        }
    }
}

impl CongestionOps for Gentle {
    /// Data was lost, or marked. The answer is the window, in segments, that the stack comes down
    /// to while it repairs the loss, and from which it goes on; after a timeout it begins anew
    /// from one.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let left = f64::from(tcp.snd_cwnd) * self.beta;
        (left as u32).max(2) // fewer than two could wait for a delayed ACK
    }

    /// An acknowledgement of `acked` segments, with nothing amiss: the window may grow.
    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, mut acked: u32) {
        if !tcp.is_cwnd_limited() {
            return; // what was not used shows nothing of the path
        }
        if tcp.in_slow_start() {
            acked = tcp.slow_start(acked); // doubles each round trip, up to ssthresh
        }
        // What is left counts towards a segment for each window acknowledged: one a round trip.
        if acked > 0 {
            tcp.cong_avoid_ai(tcp.snd_cwnd, acked);
        }
    }

    // More hooks that a variant may have: init, pkts_acked (round-trip times), cong_control (window
    // and pacing rate at each acknowledgement), set_state, cwnd_event, in_ack_event, undo_cwnd.
}

cclab::variant! {
    interface: 1, // the version that this file is written for: another one is refused by its number
    name: "gentle", // what tables call it, up to 15 characters
    start: Gentle::new,
    // Studies set them: cc_params = { beta = 0.9 }. Name, meaning, default, least and most.
    params: [Parameter::new("beta", "what remains of the window at a loss", 0.75, [0.1, 0.99])],
}
