//! Reno as Linux's stack has it built in (`tcp_cong.c`): the stack keeps the window.

use cclab_interface::{CongestionOps, Tcp};

/// `tcp_reno`.
pub(crate) struct Reno;

impl CongestionOps for Reno {
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.reno_ssthresh()
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        tcp.reno_cong_avoid(acked);
    }
}
