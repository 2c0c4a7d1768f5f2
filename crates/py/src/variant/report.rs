//! What a round trip showed, added up without Python.

use cclab_cc::interface::{AckSample, Tcp};

use super::told::Report;

/// A round trip under way.
#[derive(Default)]
pub struct Round {
    /// The acknowledgement that ends it; `None`: nothing was acknowledged yet.
    end: Option<u32>,
    began_ns: u64,
    delivered: u32,
    delivered_ce: u32,
    lost: u32,
    rtts: u32,
    rtt_sum_us: u64,
    rtt_min_us: u32,
    rtt_max_us: u32,
}

impl Round {
    /// The round that begins now.
    fn from(tcp: &Tcp) -> Round {
        Round {
            end: Some(tcp.snd_nxt),
            began_ns: tcp.tcp_clock_cache,
            delivered: tcp.delivered,
            delivered_ce: tcp.delivered_ce,
            lost: tcp.lost,
            ..Round::default()
        }
    }

    /// The stack measured `sample`.
    pub fn add(&mut self, sample: &AckSample) {
        let Ok(rtt) = u32::try_from(sample.rtt_us) else {
            return;
        };
        self.rtt_min_us = match self.rtts {
            0 => rtt,
            _ => self.rtt_min_us.min(rtt),
        };
        self.rtt_max_us = self.rtt_max_us.max(rtt);
        self.rtt_sum_us += u64::from(rtt);
        self.rtts += 1;
    }

    /// What the round showed, if the acknowledgement that `tcp` has just taken in ends it.
    pub fn over(&mut self, tcp: &Tcp) -> Option<Report> {
        let Some(end) = self.end else {
            *self = Round::from(tcp);
            return None;
        };
        // Sequence numbers wrap.
        if (tcp.snd_una.wrapping_sub(end) as i32) < 0 {
            return None;
        }
        let round = std::mem::replace(self, Round::from(tcp));
        let interval = seconds(tcp.tcp_clock_cache - round.began_ns);
        let acked = tcp.delivered.wrapping_sub(round.delivered);
        let measured = |us: f64| (round.rtts > 0).then_some(us * 1e-6).into();
        Some(Report {
            now: seconds(tcp.tcp_clock_cache),
            interval,
            acked,
            lost: tcp.lost.wrapping_sub(round.lost),
            marked: tcp.delivered_ce.wrapping_sub(round.delivered_ce),
            rtt: measured(round.rtt_sum_us as f64 / f64::from(round.rtts.max(1))),
            rtt_min: measured(f64::from(round.rtt_min_us)),
            rtt_max: measured(f64::from(round.rtt_max_us)),
            min_rtt: f64::from(tcp.rtt_min_us) * 1e-6,
            delivery_rate: match interval > 0.0 {
                true => f64::from(acked) * f64::from(tcp.mss_cache) / interval,
                false => 0.0,
            },
            in_flight: tcp.packets_in_flight(),
            cwnd_limited: tcp.is_cwnd_limited(),
        })
    }
}

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
