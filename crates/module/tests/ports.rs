//! The ports of the kernel's modules beside the modules themselves: told the same, they write the
//! same into the connection, after every hook.

mod common;

use std::collections::BTreeMap;

use cclab_cc::interface::{
    AckSample, CaEvent, CaState, CongestionOps, HZ, PacingStatus, RateSample, Tcp, ack_flags,
};
use cclab_cc::{Arithmetic, Config, SlowStart, find};
use cclab_units::Stream;
use cclab_units::parameter::Params;

const MSS: u32 = 1_448;
const SEEDS: u64 = 8;
const STEPS: u64 = 20_000;

/// A port and its original, each with a connection of its own.
struct Pair {
    name: &'static str,
    port: Box<dyn CongestionOps>,
    original: Box<dyn CongestionOps>,
    tcp: Tcp,
    other: Tcp,
    dice: Stream,
    hooks: u64,
    /// Microseconds of the path without a queue.
    base: u32,
    /// Whether a queue stands on it.
    queued: bool,
}

/// What modules write into a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    cwnd: u32,
    counted: u32,
    clamp: u32,
    ssthresh: u32,
    pacing_rate: u64,
    pacing_status: u32,
    ecn_flags: u32,
    ack_pending: u8,
    app_limited: u32,
    dice: u64,
}

impl Written {
    fn of(tcp: &Tcp) -> Written {
        Written {
            cwnd: tcp.snd_cwnd,
            counted: tcp.snd_cwnd_cnt,
            clamp: tcp.snd_cwnd_clamp,
            ssthresh: tcp.snd_ssthresh,
            pacing_rate: tcp.pacing_rate,
            pacing_status: tcp.pacing_status,
            ecn_flags: tcp.ecn_flags,
            ack_pending: tcp.ack_pending,
            app_limited: tcp.app_limited,
            dice: tcp.dice,
        }
    }
}

impl Pair {
    /// Tells both, and compares the connections and what they say.
    fn tell<R: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        hook: impl Fn(&mut dyn CongestionOps, &mut Tcp) -> R,
    ) -> R {
        let before = Written::of(&self.tcp);
        let said = hook(&mut *self.port, &mut self.tcp);
        let also = hook(&mut *self.original, &mut self.other);
        self.hooks += 1;
        let (port, original) = (Written::of(&self.tcp), Written::of(&self.other));
        assert!(
            said == also && port == original,
            "{}, hook {}, {what} in {:?}: {said:?} and not {also:?}\nfrom {before:?}\nto   \
             {port:?}\nnot  {original:?}",
            self.name,
            self.hooks,
            self.tcp.ca(),
        );
        said
    }

    /// Changes both connections as the stack does.
    fn stack(&mut self, change: impl Fn(&mut Tcp)) {
        change(&mut self.tcp);
        change(&mut self.other);
    }

    fn below(&mut self, ceiling: u32) -> u32 {
        (((self.dice.bits() >> 32) * u64::from(ceiling)) >> 32) as u32
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }

    fn set_state(&mut self, new: CaState) {
        self.tell("set_state", |ops, tcp| ops.set_state(tcp, new));
        self.stack(|tcp| tcp.ca_state = new as u8);
    }

    fn event(&mut self, event: CaEvent) {
        self.tell("cwnd_event", |ops, tcp| ops.cwnd_event(tcp, event));
    }

    fn advance(&mut self, micros: u64) {
        self.stack(|tcp| {
            tcp.tcp_mstamp += micros;
            tcp.tcp_clock_cache = tcp.tcp_mstamp * 1_000;
            tcp.jiffies = 5_000 + tcp.tcp_mstamp / 1_000;
            tcp.delivered_mstamp = tcp.tcp_mstamp;
        });
    }

    fn reduce(&mut self) {
        let said = self.tell("ssthresh", |ops, tcp| ops.ssthresh(tcp));
        self.stack(|tcp| {
            tcp.prior_cwnd = tcp.snd_cwnd;
            tcp.prior_ssthresh = tcp.snd_ssthresh;
            tcp.high_seq = tcp.snd_nxt;
            tcp.snd_ssthresh = said;
        });
    }

    fn end_reduction(&mut self) {
        if self.tcp.in_cwnd_reduction() {
            self.stack(|tcp| {
                tcp.snd_cwnd = tcp.snd_ssthresh.min(100_000);
                tcp.snd_cwnd_stamp = tcp.jiffies32();
            });
            self.event(CaEvent::CompleteCwr);
        }
        self.set_state(CaState::Open);
    }

    fn undo(&mut self) {
        let cwnd = self.tell("undo_cwnd", |ops, tcp| ops.undo_cwnd(tcp));
        self.stack(|tcp| {
            tcp.snd_cwnd = cwnd;
            tcp.snd_ssthresh = tcp.snd_ssthresh.max(tcp.prior_ssthresh);
        });
    }

    /// The state machine of an acknowledgement.
    fn state_machine(&mut self) {
        match self.tcp.ca() {
            CaState::Open if self.one_in(60) => self.set_state(CaState::Disorder),
            CaState::Disorder if self.one_in(3) => self.set_state(CaState::Open),
            CaState::Open if self.one_in(150) => {
                self.reduce();
                self.set_state(CaState::Cwr);
            }
            CaState::Open | CaState::Disorder | CaState::Cwr if self.one_in(150) => {
                if self.tcp.ca() == CaState::Cwr && self.one_in(2) {
                    self.end_reduction();
                } else if self.tcp.ca() != CaState::Cwr {
                    self.reduce();
                }
                self.set_state(CaState::Recovery);
            }
            CaState::Cwr | CaState::Recovery => {
                let cwnd = match self.below(4) {
                    0 => self.tcp.packets_in_flight().max(1),
                    _ => self.tcp.snd_cwnd.saturating_sub(1).max(2),
                };
                self.stack(|tcp| tcp.snd_cwnd = cwnd);
                if self.one_in(30) {
                    self.undo();
                }
                if self.tcp.ca() == CaState::Recovery && self.one_in(12) {
                    self.set_state(CaState::Recovery);
                }
                if self.one_in(12) {
                    self.end_reduction();
                }
            }
            CaState::Loss if self.one_in(20) => {
                if self.one_in(3) {
                    self.undo();
                }
                self.set_state(CaState::Open);
            }
            _ => {}
        }
    }

    fn timeout(&mut self) {
        if self.tcp.ca() <= CaState::Disorder || self.one_in(2) {
            self.reduce();
            self.event(CaEvent::Loss);
        }
        self.stack(|tcp| {
            tcp.snd_cwnd = tcp.packets_in_flight() / 4 + 1;
            tcp.snd_cwnd_cnt = 0;
        });
        self.set_state(CaState::Loss);
    }

    fn acknowledge(&mut self) {
        let acked = match self.below(10) {
            0 => 0,
            1 => 1 + self.below(40),
            _ => 1 + self.below(3),
        };
        let queue = match self.queued {
            true => self.below(self.base / 2 + 1) + self.tcp.snd_cwnd.min(4_000) * 3,
            false => 0,
        };
        let rtt_us = match self.below(12) {
            0 => -1,
            1 if self.queued => (self.base + 3 * queue) as i32,
            _ => (self.base + queue) as i32,
        };
        let partial = if self.one_in(9) { self.below(MSS) } else { 0 };
        let is_marked = self.queued && self.one_in(6);
        let marked = if is_marked { acked } else { 0 };
        let (limited, most) = (!self.one_in(8), self.below(self.tcp.snd_cwnd) + 1);
        self.stack(|tcp| {
            let moved = acked * MSS + if acked > 0 { partial } else { 0 };
            tcp.snd_una = tcp.snd_una.wrapping_add(moved);
            let window = tcp.snd_cwnd.wrapping_mul(MSS);
            tcp.snd_nxt = tcp.snd_una.wrapping_add(window);
            tcp.packets_out = tcp.snd_cwnd;
            tcp.delivered += acked;
            tcp.delivered_ce += marked;
            tcp.max_packets_out = most;
            tcp.is_cwnd_limited = u32::from(limited);
            if rtt_us > 0 {
                let srtt = i64::from(tcp.srtt_us);
                tcp.srtt_us = (srtt + (i64::from(rtt_us) - (srtt >> 3))) as u32;
                tcp.rtt_min_us = tcp.rtt_min_us.min(rtt_us as u32);
            }
            tcp.rcv_tsecr = tcp.jiffies32().wrapping_sub(rtt_us.max(0) as u32 / 1_000);
            tcp.rcv_tsval = tcp.jiffies32();
            tcp.saw_tstamp = 1;
        });
        let sample = AckSample {
            pkts_acked: acked,
            rtt_us,
            in_flight: self.tcp.packets_out,
        };
        self.tell("pkts_acked", |ops, tcp| ops.pkts_acked(tcp, &sample));
        let slow = if self.one_in(4) {
            ack_flags::SLOWPATH
        } else {
            0
        };
        let echo = if marked > 0 { ack_flags::ECE } else { 0 };
        self.tell("in_ack_event", |ops, tcp| {
            ops.in_ack_event(tcp, slow | echo)
        });
        self.state_machine();
        if self.port.has_cong_control() {
            let interval = 1 + i64::from(self.below(2 * self.base));
            let sample = RateSample {
                prior_mstamp: self.tcp.tcp_mstamp.saturating_sub(interval as u64),
                prior_delivered: self.tcp.delivered.saturating_sub(self.below(200)),
                delivered: self.below(200) as i32,
                interval_us: interval,
                rtt_us: i64::from(rtt_us),
                losses: i32::from(self.one_in(50)),
                acked_sacked: acked,
                prior_in_flight: self.tcp.packets_out,
                is_app_limited: u8::from(self.one_in(20)),
                is_ack_delayed: u8::from(self.one_in(20)),
                ..RateSample::default()
            };
            self.tell("cong_control", |ops, tcp| {
                let ack = tcp.snd_una;
                ops.cong_control(tcp, ack, 0, &sample)
            });
            self.tell("min_tso_segs", |ops, tcp| ops.min_tso_segs(tcp));
            self.tell("sndbuf_expand", |ops, tcp| ops.sndbuf_expand(tcp));
            return;
        }
        if !self.tcp.in_cwnd_reduction() && acked > 0 {
            self.tell("cong_avoid", |ops, tcp| {
                let ack = tcp.snd_una;
                ops.cong_avoid(tcp, ack, acked);
            });
            self.stack(|tcp| tcp.snd_cwnd_stamp = tcp.jiffies32());
        }
        let paced = u64::from(self.tcp.snd_cwnd) * u64::from(MSS) * 8_000_000 * 2
            / u64::from(self.tcp.srtt_us.max(1));
        self.stack(|tcp| tcp.pacing_rate = paced);
    }

    fn idle(&mut self) {
        let micros = u64::from(self.below(3_000_000));
        self.advance(micros);
        self.event(CaEvent::TxStart);
        if micros > 300_000 {
            self.event(CaEvent::CwndRestart);
            self.stack(|tcp| {
                tcp.snd_ssthresh = tcp.current_ssthresh();
                tcp.snd_cwnd = tcp.snd_cwnd.min(10);
            });
        }
        self.stack(|tcp| tcp.lsndtime = tcp.jiffies32());
    }

    fn step(&mut self) {
        let gap = match self.below(20) {
            0 => 0,
            1 => self.below(20_000),
            _ => self.below(1_500),
        };
        self.advance(u64::from(gap));
        match self.below(2_000) {
            0 => self.timeout(),
            1..6 => self.idle(),
            6..18 => {
                let pending = self.below(4) as u8;
                self.stack(|tcp| {
                    tcp.rcv_nxt += MSS;
                    tcp.ack_pending = pending;
                });
                let marked = self.one_in(2);
                self.event(if marked {
                    CaEvent::EcnIsCe
                } else {
                    CaEvent::EcnNoCe
                });
            }
            // The path's round trip changes, or slow start begins anew.
            18 => self.base = 100 + self.below(200_000),
            19 => self.stack(|tcp| tcp.snd_ssthresh = 2 * tcp.snd_cwnd),
            20 => self.stack(|tcp| tcp.snd_cwnd = tcp.snd_cwnd.min(4)),
            21..25 => self.queued = !self.queued,
            _ => {
                self.acknowledge();
                if !self.one_in(20) {
                    self.stack(|tcp| tcp.lsndtime = tcp.jiffies32());
                }
            }
        }
        if self.tcp.snd_cwnd > 20_000 {
            self.stack(|tcp| tcp.snd_cwnd = 700);
        }
    }
}

type Given<'a> = &'a [(&'a str, f64)];

fn values(given: Given<'_>) -> BTreeMap<String, f64> {
    given.iter().map(|&(k, v)| (k.to_owned(), v)).collect()
}

/// The port `name` with these parameters.
fn port(name: &str, given: Given<'_>) -> Box<dyn CongestionOps> {
    let variant = find(name).expect("a variant");
    let config = Config {
        mss: u64::from(MSS),
        initial_window: 10 * u64::from(MSS),
        initial_ssthresh: u64::MAX,
        slow_start: SlowStart::LinuxHyStart,
        arithmetic: Arithmetic::Segments,
        params: Params::new(variant.params, &values(given)).expect("values in their ranges"),
    };
    (variant.ops.expect("a port"))(&config)
}

/// Hooks compared for the variant `name` from `seed` on.
fn compare(
    name: &'static str,
    seed: u64,
    port: Box<dyn CongestionOps>,
    original: Box<dyn CongestionOps>,
) -> u64 {
    let mut dice = Stream::new(seed, name);
    let base = 100 + (dice.bits() >> 40) as u32 % 100_000;
    let paced = dice.bits() & 1 == 1;
    let tcp = Tcp {
        snd_una: u32::MAX - 500_000,
        snd_nxt: u32::MAX - 500_000,
        tcp_mstamp: 4_200_000_000,
        jiffies: 5_000 + 4_200_000,
        srtt_us: base * 8,
        rtt_min_us: base,
        delivered: 1,
        mss_cache: MSS,
        rcv_nxt: 1,
        ecn_flags: u32::from(seed % 4 != 3),
        rto: HZ / 5,
        pacing_status: if paced {
            PacingStatus::Fq
        } else {
            PacingStatus::None
        } as u32,
        dice: dice.bits(),
        ..Tcp::default()
    };
    let mut pair = Pair {
        name,
        port,
        original,
        other: tcp.clone(),
        tcp,
        dice,
        hooks: 0,
        base,
        queued: true,
    };
    pair.tell("init", |ops, tcp| ops.init(tcp));
    for _ in 0..STEPS {
        pair.step();
    }
    pair.hooks
}

/// The module with the parameters `theirs` beside the port with the parameters `here`.
fn compared(name: &'static str, theirs: Given<'_>, here: Given<'_>) {
    let loaded = common::compiled(&format!("tcp_{name}.c"))
        .load(&values(theirs))
        .unwrap_or_else(|why| panic!("{why}"));
    let make = loaded.make();
    let hooks: u64 = (0..SEEDS)
        .map(|seed| compare(name, seed, port(name, here), Box::new(make())))
        .sum();
    assert!(hooks > 2 * SEEDS * STEPS, "{name}: {hooks} hooks");
}

macro_rules! compared {
    ($($name:ident: [$($given:expr),*] [$($here:expr),*];)*) => {
        $(#[test]
        fn $name() {
            super::compared(stringify!($name), &[$($given),*], &[$($here),*]);
        })*
    };
}

mod by_default {
    compared! {
        bbr: [] [];
        bic: [] [];
        cubic: [] [];
        dctcp: [] [];
        highspeed: [] [];
        htcp: [] [];
        hybla: [] [];
        illinois: [] [];
        lp: [] [];
        scalable: [] [];
        vegas: [] [];
        veno: [] [];
        westwood: [] [];
        yeah: [] [];
    }
}

/// The module's parameters, and those of the port where it has them in other units.
mod with_parameters {
    compared! {
        bic: [("fast_convergence", 0.0), ("max_increment", 40.0), ("low_window", 30.0),
              ("beta", 600.0), ("smooth_part", 9.0)]
             [("fast_convergence", 0.0), ("max_increment", 40.0), ("low_window", 30.0),
              ("beta", 600.0), ("smooth_part", 9.0)];
        cubic: [("beta", 819.0), ("bic_scale", 82.0), ("fast_convergence", 0.0),
                ("tcp_friendliness", 0.0), ("hystart", 0.0)]
               [("beta", 0.8), ("c", 0.801), ("fast_convergence", 0.0),
                ("tcp_friendliness", 0.0), ("hystart", 0.0)];
        dctcp: [("dctcp_shift_g", 2.0), ("dctcp_alpha_on_init", 300.0)]
               [("dctcp_shift_g", 2.0), ("dctcp_alpha_on_init", 300.0)];
        htcp: [("use_rtt_scaling", 0.0), ("use_bandwidth_switch", 0.0)]
              [("use_rtt_scaling", 0.0), ("use_bandwidth_switch", 0.0)];
        hybla: [("rtt0", 60.0)] [("rtt0", 0.06)];
        illinois: [("win_thresh", 40.0), ("theta", 2.0)] [("win_thresh", 40.0), ("theta", 2.0)];
    }
}
