//! Reno, as Linux's stack has it built in.

use cclab::{CongestionOps, Given, Tcp};

struct Reno;

impl Reno {
    fn new(_: Given) -> Reno {
        Reno
    }
}

impl CongestionOps for Reno {
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.reno_ssthresh()
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        tcp.reno_cong_avoid(acked);
    }
}

cclab::variant! { interface: 1, name: "own-reno", start: Reno::new }
