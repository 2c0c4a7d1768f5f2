//! Carries out the orders of a run: builds its network, starts its flows at exact times, records
//! what the kernel does.
//!
//! As PID 1 of a guest it finds its folder in the environment (`cclab_dir`, in hexadecimal
//! digits) and powers the guest off at the end. On a host it is given the folder as its argument
//! and leaves with status 0, or 1 if the run failed. Either way `outcome.json` in the folder says
//! what came of it, and the standard output how far it is:
//!
//! - `cclab at N`: N nanoseconds of the run have passed;
//! - `cclab done`: the outcome is written;
//! - `cclab failed STEP: PROBLEM`: it could not be.
//!
//! As `cclab-agent --tied PARENT PROGRAM ...` it becomes PROGRAM, which ends with its parent; with
//! `--tied-guest` (module `tied`), a guest's kernel, which is confined; with `--program`, a flow's
//! program in a guest (module `confined`).

mod calls;
mod capabilities;
mod capture;
mod clock;
mod command;
mod confined;
mod counters;
mod datagrams;
mod diag;
mod echo;
mod failure;
mod fidelity;
mod flow;
mod guardian;
mod guest;
mod host;
mod jail;
mod kernel;
mod namespaces;
mod netlink;
mod news;
mod offload;
mod outcome;
mod program;
mod qdisc;
mod recent;
mod run;
mod setup;
mod socket;
mod sys;
mod tcp_info;
mod tied;
mod tracing;
mod udp_flow;
mod watch;

use cclab_testbed::{PROGRAM, TIED, TIED_GUEST};

fn main() {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if std::process::id() == 1 {
        guest::main()
    } else if first == TIED || first == TIED_GUEST {
        tied::main(first == TIED_GUEST)
    } else if first == PROGRAM {
        confined::main()
    } else {
        host::main()
    }
}
