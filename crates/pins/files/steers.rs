//! Sets window and rate at each acknowledgement from what its sample says.

use cclab::{AckSample, CaEvent, CaState, CongestionOps, Given, Parameter, RateSample, Tcp};

struct Steers {
    gain: f64,
    fastest: u32,
    seen: u64,
}

impl Steers {
    fn new(given: Given) -> Steers {
        Steers {
            gain: given.get("gain"),
            fastest: u32::MAX,
            seen: 0,
        }
    }

    fn take(&mut self, value: u64) {
        self.seen = (self.seen ^ value).wrapping_mul(1_099_511_628_211);
    }
}

impl CongestionOps for Steers {
    fn init(&mut self, tcp: &mut Tcp) {
        tcp.pacing_status = 1;
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        (tcp.snd_cwnd * 7 / 10).max(2)
    }

    fn cong_avoid(&mut self, _: &mut Tcp, _: u32, _: u32) {}

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        self.take(u64::from(tcp.ca_state) * 8 + new as u64);
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        self.take(event as u64 + tcp.jiffies);
    }

    fn in_ack_event(&mut self, _: &mut Tcp, flags: u32) {
        self.take(u64::from(flags));
    }

    fn pkts_acked(&mut self, _: &mut Tcp, sample: &AckSample) {
        if let Ok(rtt) = u32::try_from(sample.rtt_us) {
            self.fastest = self.fastest.min(rtt);
        }
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        self.take(u64::from(ack) << 8 | u64::from(flag & 0xff));
        self.take(sample.prior_mstamp ^ sample.rtt_us as u64);
        if sample.interval_us <= 0 || sample.delivered <= 0 || self.fastest == u32::MAX {
            return;
        }
        let segments = sample.delivered as f64 * 1e6 / sample.interval_us as f64;
        let some = f64::from(tcp.random_u32_below(3)) + (self.seen % 2) as f64;
        let window = self.gain * segments * f64::from(self.fastest) / 1e6 + some;
        tcp.snd_cwnd = (window as u32).clamp(4, 500);
        tcp.pacing_rate = (segments * self.gain * f64::from(tcp.mss_cache)) as u64 + 10_000;
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.snd_cwnd.max(tcp.prior_cwnd)
    }
}

cclab::variant! {
    interface: 1,
    name: "steers",
    start: Steers::new,
    params: [Parameter::new("gain", "of the rate that was delivered", 1.2, [1.0, 2.0])],
}
