//! Every hook, each of which leaves a trace in the connection, and parameters.
#![deny(unsafe_code, warnings)]

use cclab::{
    AckSample, CaEvent, CaState, CongestionOps, Given, Parameter, RateSample, Tcp, ack_flags,
};

const PARAMS: u32 = 2; // a name that the macro must not take

struct Eager {
    beta: f64,
    calls: u32,
}

impl Eager {
    fn new(given: Given) -> Eager {
        let beta = given.get("beta");
        assert!(beta != 0.5, "a half is Reno's");
        Eager {
            beta,
            calls: given.get("first") as u32,
        }
    }
}

impl CongestionOps for Eager {
    fn init(&mut self, tcp: &mut Tcp) {
        self.calls += 1;
        tcp.snd_cwnd = PARAMS;
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        (f64::from(tcp.snd_cwnd) * self.beta) as u32
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        tcp.snd_una = ack;
        tcp.snd_cwnd += acked;
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        tcp.snd_cwnd_cnt = if new == CaState::Loss { 41 } else { 42 };
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        tcp.prior_cwnd = if event == CaEvent::TxStart { 51 } else { 52 };
    }

    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        tcp.ecn_flags = flags & ack_flags::ECE;
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        tcp.delivered = sample.pkts_acked;
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        tcp.pacing_rate = u64::from(ack) + u64::from(flag) + u64::from(sample.acked_sacked);
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.prior_cwnd + 1
    }

    fn min_tso_segs(&mut self, _: &mut Tcp) -> Option<u32> {
        Some(self.calls)
    }

    fn sndbuf_expand(&mut self, _: &mut Tcp) -> Option<u32> {
        None
    }
}

cclab::variant! { name: "eager", start: Eager::new, needs_ecn: true, params: [
    Parameter::new("beta", "what remains at a loss", 0.75, [0.25, 1.0]),
    Parameter::new("first", "where calls begin", 6.0, [0.0, 100.0]),
] }
