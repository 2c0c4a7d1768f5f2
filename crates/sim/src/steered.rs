//! A variant whose window and rate somebody outside the run sets while it stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cclab_cc::EcnFeedback;
use cclab_cc::interface::{CongestionOps, PacingStatus, RateSample, Tcp};
use cclab_spec::Flow;

use crate::own::OwnVariant;

/// What a flow is told to do. It holds from the next acknowledgement on.
#[derive(Debug, Default)]
pub struct Steering {
    /// Segments; zero: as the window is.
    cwnd: AtomicU32,
    /// Bytes of payload a second; zero: no pacing.
    pacing_rate: AtomicU64,
}

impl Steering {
    /// Sets the window, in segments (at least 1), and the rate, in bytes of payload a second; no
    /// rate: packets leave as acknowledgements come.
    pub fn set(&self, cwnd: u32, pacing_rate: Option<u64>) {
        self.cwnd.store(cwnd.max(1), Ordering::Relaxed);
        let rate = pacing_rate.map_or(0, |rate| rate.max(1));
        self.pacing_rate.store(rate, Ordering::Relaxed);
    }
}

/// The variant of one connection.
pub struct Steered {
    steering: Arc<Steering>,
}

impl Steered {
    /// The variant of `flow`, to be steered by `steering`.
    pub fn of(flow: &Flow, steering: Arc<Steering>) -> OwnVariant {
        OwnVariant {
            label: flow.cc.clone(),
            params: flow.cc_params.clone(),
            ecn: EcnFeedback::Classic,
            make: Arc::new(move |_| {
                let steering = Arc::clone(&steering);
                Box::new(Steered { steering })
            }),
        }
    }

    fn obey(&self, tcp: &mut Tcp) {
        match self.steering.cwnd.load(Ordering::Relaxed) {
            0 => {}
            cwnd => tcp.snd_cwnd = cwnd.min(tcp.snd_cwnd_clamp),
        }
        match self.steering.pacing_rate.load(Ordering::Relaxed) {
            0 => tcp.pacing_rate = u64::MAX,
            rate => {
                tcp.pacing_status = PacingStatus::Needed as u32;
                tcp.pacing_rate = rate.min(tcp.max_pacing_rate);
            }
        }
    }
}

impl CongestionOps for Steered {
    fn init(&mut self, tcp: &mut Tcp) {
        self.obey(tcp);
    }

    /// Losses are for who steers to answer.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.snd_cwnd.max(2)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, _acked: u32) {
        self.obey(tcp);
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tcp: &mut Tcp, _ack: u32, _flag: u32, _sample: &RateSample) {
        self.obey(tcp);
    }
}
