//! DCTCP: the window falls by half of the share of data that was marked, so that a queue held by
//! a low marking threshold costs no throughput (RFC 8257).
//!
//! Reacts to marks in proportion, to loss as Reno. Needs a receiver that tells each mark
//! ([`EcnFeedback::PerPacket`]); without ECN it is Reno. One form, that of Linux 6.12
//! (`tcp_dctcp.c`) in integers, on every stack.

use cclab_interface::state::columns::{ALPHA, CE_STATE, ENABLED};
use cclab_interface::state::flagged;
use cclab_interface::{CaEvent, CaState, CongestionOps, StateColumn, Tcp, before};
use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::Config;
use crate::lent::lent;
use crate::variant::{ECT1, EcnFeedback, Near, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "dctcp",
    version: 2,
    summary: "Reduces by the share of marked data; for networks that mark at a low threshold",
    reference: "RFC 8257; Linux 6.12",
    near: &[Near::with("dcqcn", "`ecn = true`")],
    kernel: Some(InKernel::Module {
        name: "tcp_dctcp",
        symbol: "CONFIG_TCP_CONG_DCTCP",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::PerPacket,
    signal: Signal::Losses,
    departures: &[],
    params: &[
        Parameter {
            name: "dctcp_shift_g",
            measure: Measure::Whole,
            meaning: "the share's estimate moves by 2^-shift of the way each round (g)",
            default: 4.0,
            least: 0.0,
            most: 10.0,
        },
        Parameter {
            name: "dctcp_alpha_on_init",
            measure: Measure::Whole,
            meaning: "the estimate at the start, in 1/1024",
            default: 1024.0,
            least: 0.0,
            most: 1024.0,
        },
        Parameter {
            name: ECT1,
            measure: Measure::Switch,
            meaning: "packets are ECT(1), for the L4S queue of dualpi2, instead of ECT(0) as the kernel has it",
            default: 0.0,
            least: 0.0,
            most: 1.0,
        },
    ],
    relations: &[],
    ops: Some(|config| Box::new(Dctcp::new(config))),
    build: Some(|config| lent(config, Dctcp::new(config))),
};

/// `DCTCP_MAX_ALPHA`: all data is marked.
const MAX_ALPHA: u32 = 1 << 10;
/// `TCP_ECN_OK`: the flow negotiated ECN.
const ECN_OK: u32 = 1;
/// `TCP_ECN_DEMAND_CWR`: acknowledgements echo a mark.
const ECN_DEMAND_CWR: u32 = 4;
/// `ICSK_ACK_NOW`: an acknowledgement is due at once.
const ACK_NOW: u8 = 16;
/// `TCP_CLOSE` and `TCP_LISTEN`: what the flow negotiates is not known yet.
const UNCONNECTED: [u8; 2] = [7, 10];

/// The module at one flow (`struct dctcp`), in the kernel's widths: what wraps there wraps here.
///
/// As the receiver it asks for an acknowledgement when marks begin or end, but sends none of what
/// came before: a module cannot. PLB, which moves a flow whose path is marked, is off in the
/// kernel unless asked for, and left out.
struct Dctcp {
    shift_g: u32,
    alpha_on_init: u32,
    /// No ECN: Reno (`dctcp_reno`).
    is_reno: bool,
    /// Estimated share of marked data, in 1/1024 (`dctcp_alpha`).
    alpha: u32,
    /// The round ends when this number is acknowledged.
    next_seq: u32,
    /// `delivered` and `delivered_ce` when it began.
    old_delivered: u32,
    old_delivered_ce: u32,
    /// The window before the last reduction.
    loss_cwnd: u32,
    /// Whether the last packet that came carried a mark.
    ce_state: bool,
}

impl Dctcp {
    fn new(config: &Config) -> Dctcp {
        Dctcp {
            shift_g: config.params.get("dctcp_shift_g") as u32,
            alpha_on_init: config.params.get("dctcp_alpha_on_init") as u32,
            is_reno: false,
            alpha: 0,
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            loss_cwnd: 0,
            ce_state: false,
        }
    }

    /// `dctcp_reset`: a round begins.
    fn start_round(&mut self, tcp: &Tcp) {
        self.next_seq = tcp.snd_nxt;
        self.old_delivered = tcp.delivered;
        self.old_delivered_ce = tcp.delivered_ce;
    }

    /// `dctcp_react_to_loss`: a loss costs what it costs Reno (RFC 8257 section 3.5).
    fn react_to_loss(&mut self, tcp: &mut Tcp) {
        self.loss_cwnd = tcp.snd_cwnd;
        tcp.snd_ssthresh = tcp.reno_ssthresh();
    }

    /// `dctcp_ece_ack_update`, the receiver's part.
    fn echo(&mut self, tcp: &mut Tcp, marked: bool) {
        if self.ce_state != marked {
            tcp.ack_pending |= ACK_NOW;
        }
        self.ce_state = marked;
        match marked {
            true => tcp.ecn_flags |= ECN_DEMAND_CWR,
            false => tcp.ecn_flags &= !ECN_DEMAND_CWR,
        }
    }
}

impl CongestionOps for Dctcp {
    fn init(&mut self, tcp: &mut Tcp) {
        self.is_reno = tcp.ecn_flags & ECN_OK == 0 && !UNCONNECTED.contains(&tcp.state);
        if self.is_reno {
            return;
        }
        self.alpha = self.alpha_on_init.min(MAX_ALPHA);
        self.loss_cwnd = 0;
        self.ce_state = false;
        self.start_round(tcp);
    }

    /// RFC 8257 section 3.3 step 9, whatever asks: [`set_state`](Self::set_state) says what a loss
    /// costs.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        if self.is_reno {
            return tcp.reno_ssthresh();
        }
        self.loss_cwnd = tcp.snd_cwnd;
        let cut = tcp.snd_cwnd.wrapping_mul(self.alpha) >> 11;
        tcp.snd_cwnd.wrapping_sub(cut).max(2)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        tcp.reno_cong_avoid(acked);
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        if !self.is_reno && new == CaState::Recovery && tcp.ca() != new {
            self.react_to_loss(tcp);
        }
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        if self.is_reno {
            return;
        }
        match event {
            CaEvent::EcnIsCe => self.echo(tcp, true),
            CaEvent::EcnNoCe => self.echo(tcp, false),
            CaEvent::Loss => self.react_to_loss(tcp),
            _ => {}
        }
    }

    /// RFC 8257 section 3.3, steps 4 to 8 (`dctcp_update_alpha`): once a round, and by what was
    /// delivered up to the acknowledgement that ends it.
    fn in_ack_event(&mut self, tcp: &mut Tcp, _flags: u32) {
        if self.is_reno || before(tcp.snd_una, self.next_seq) {
            return;
        }
        let delivered = tcp.delivered.wrapping_sub(self.old_delivered);
        let marked = tcp.delivered_ce.wrapping_sub(self.old_delivered_ce);
        // An estimate below a step is forgotten.
        self.alpha -= match self.alpha >> self.shift_g {
            0 => self.alpha,
            part => part,
        };
        if marked > 0 {
            let share = (marked << (10 - self.shift_g)) / delivered.max(1);
            self.alpha = self.alpha.wrapping_add(share).min(MAX_ALPHA);
        }
        self.start_round(tcp);
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        match self.is_reno {
            true => tcp.reno_undo_cwnd(),
            false => tcp.snd_cwnd.max(self.loss_cwnd),
        }
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        &[ENABLED, ALPHA, CE_STATE]
    }

    fn tell_state(&self, _tcp: &Tcp, values: &mut [f64]) {
        values.copy_from_slice(&[
            flagged(!self.is_reno),
            f64::from(self.alpha) / f64::from(MAX_ALPHA),
            flagged(self.ce_state),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_units::Time;

    use crate::Lent;
    use crate::tests::{Bench, ack, config_with, lent};

    /// A flow with ECN and a window of `cwnd` in use.
    fn flow_with(given: &[(&str, f64)], cwnd: u32) -> (Dctcp, Tcp) {
        let mut dctcp = Dctcp::new(&config_with(&VARIANT, given));
        let mut tcp = Tcp {
            ecn_flags: ECN_OK,
            snd_una: 1,
            snd_nxt: 11,
            delivered: 1, // the SYN
            ..lent(cwnd, 2)
        };
        dctcp.init(&mut tcp);
        (dctcp, tcp)
    }

    fn flow(cwnd: u32) -> (Dctcp, Tcp) {
        flow_with(&[], cwnd)
    }

    /// The estimate after the acknowledgement that ends a round in which so many segments were
    /// delivered and marked.
    fn round((dctcp, tcp): &mut (Dctcp, Tcp), delivered: u32, marked: u32) -> u32 {
        tcp.delivered += delivered;
        tcp.delivered_ce += marked;
        tcp.snd_una = tcp.snd_nxt;
        tcp.snd_nxt += delivered;
        dctcp.in_ack_event(tcp, 0);
        dctcp.alpha
    }

    /// RFC 8257 section 3.3 with g = 1/16, by hand, in 1/1024.
    #[test]
    fn the_estimate_follows_the_share_of_marked_data() {
        let mut flow = flow(10);
        assert_eq!(flow.0.alpha, 1_024);
        assert_eq!(round(&mut flow, 10, 0), 960); // nothing was marked: 1024 - 64
        flow.1.snd_una = flow.1.snd_nxt - 1;
        flow.0.in_ack_event(&mut flow.1, 0);
        assert_eq!(flow.0.alpha, 960, "within a round nothing moves");
        // Six of ten: 960 - 60 + (6 << 6) / 10.
        assert_eq!(round(&mut flow, 10, 6), 938);
        // All: 938 - 58 + 64; the estimate is no more than all.
        assert_eq!(round(&mut flow, 10, 10), 944);
        flow.0.alpha = 1_024;
        assert_eq!(round(&mut flow, 10, 10), 1_024);
        // A mark without a delivery counts as one of one.
        assert_eq!(round(&mut flow, 0, 1), 1_024);
        flow.0.alpha = 15; // 15 >> 4 is nothing: all of it goes
        assert_eq!((round(&mut flow, 1, 0), round(&mut flow, 1, 0)), (0, 0));
    }

    #[test]
    fn marks_cut_by_half_the_share() {
        let (mut dctcp, mut tcp) = flow(20);
        // All data marked is Reno; half of it costs a quarter; 20 * 100 >> 11 is nothing yet.
        let left = [1_024, 512, 100].map(|alpha| {
            dctcp.alpha = alpha;
            dctcp.ssthresh(&mut tcp)
        });
        assert_eq!(left, [10, 15, 20]);
        tcp.snd_ssthresh = 15;
        dctcp.set_state(&mut tcp, CaState::Cwr);
        assert_eq!(tcp.snd_ssthresh, 15);
    }

    /// A loss halves the window in force, also one that falls after a mark.
    #[test]
    fn losses_cut_by_half() {
        let (mut dctcp, mut tcp) = flow(20);
        dctcp.alpha = 100;
        tcp.snd_ssthresh = dctcp.ssthresh(&mut tcp);
        tcp.ca_state = CaState::Cwr as u8;
        tcp.snd_cwnd = 17;
        dctcp.set_state(&mut tcp, CaState::Recovery);
        assert_eq!((tcp.snd_ssthresh, dctcp.loss_cwnd), (8, 17));
        // In Recovery already: nothing more.
        tcp.ca_state = CaState::Recovery as u8;
        tcp.snd_cwnd = 12;
        dctcp.set_state(&mut tcp, CaState::Recovery);
        assert_eq!((tcp.snd_ssthresh, dctcp.loss_cwnd), (8, 17));
        assert_eq!(dctcp.undo_cwnd(&mut tcp), 17);
        tcp.snd_cwnd = 18;
        assert_eq!(dctcp.undo_cwnd(&mut tcp), 18);
    }

    #[test]
    fn a_timeout_halves_by_its_event() {
        let (mut dctcp, mut tcp) = flow(21);
        for event in [CaEvent::TxStart, CaEvent::CwndRestart, CaEvent::CompleteCwr] {
            dctcp.cwnd_event(&mut tcp, event);
        }
        dctcp.set_state(&mut tcp, CaState::Loss);
        assert_eq!((tcp.snd_ssthresh, dctcp.loss_cwnd), (2, 0));
        dctcp.cwnd_event(&mut tcp, CaEvent::Loss);
        assert_eq!((tcp.snd_ssthresh, dctcp.loss_cwnd), (10, 21));
    }

    #[test]
    fn marks_are_echoed_for_each_packet_and_a_change_at_once() {
        let (mut dctcp, mut tcp) = flow(10);
        let mut told = |event| {
            tcp.ack_pending = 0;
            dctcp.cwnd_event(&mut tcp, event);
            (tcp.ecn_flags & ECN_DEMAND_CWR, tcp.ack_pending)
        };
        assert_eq!(told(CaEvent::EcnNoCe), (0, 0));
        assert_eq!(told(CaEvent::EcnIsCe), (4, 16));
        assert_eq!(told(CaEvent::EcnIsCe), (4, 0));
        assert_eq!(told(CaEvent::EcnNoCe), (0, 16));
    }

    #[test]
    fn without_ecn_it_is_reno() {
        let (mut dctcp, mut tcp) = flow(20);
        tcp.ecn_flags = 0;
        dctcp.init(&mut tcp);
        dctcp.alpha = 0;
        assert_eq!(dctcp.ssthresh(&mut tcp), 10);
        dctcp.set_state(&mut tcp, CaState::Recovery);
        dctcp.cwnd_event(&mut tcp, CaEvent::Loss);
        dctcp.cwnd_event(&mut tcp, CaEvent::EcnIsCe);
        assert_eq!(
            (tcp.snd_ssthresh, tcp.ecn_flags, tcp.ack_pending),
            (2, 0, 0)
        );
        tcp.prior_cwnd = 30;
        assert_eq!(dctcp.undo_cwnd(&mut tcp), 30);
        // A socket that listens does not know yet.
        tcp.state = 10;
        dctcp.init(&mut tcp);
        assert!(!dctcp.is_reno);
    }

    /// On a stack that lends the window: half of a round marked, and of the estimate 960.
    #[test]
    fn a_window_that_is_lent_knows_marks() {
        let config = config_with(&VARIANT, &[]);
        let mut flow = Bench::new(Lent::new(&config, Dctcp::new(&config)));
        flow.established(Time::from_millis(10));
        let mut told = |una: u64, ece| {
            flow.ack(&crate::AckSample {
                snd_una: una * 1_000,
                snd_nxt: 10_000,
                delivered: una * 1_000,
                ece,
                newly_marked: if ece { 5_000 } else { 0 },
                ..ack(5_000)
            });
            flow.cc.ops.alpha
        };
        assert_eq!(told(0, false), 960); // the first round ends at once, without a mark
        assert_eq!(told(5, true), 960);
        assert_eq!(told(10, false), 932); // 960 - 60 + 32
    }

    #[test]
    fn growth_is_renos() {
        let (mut dctcp, mut tcp) = flow(20);
        dctcp.cong_avoid(&mut tcp, 0, 20);
        assert_eq!(tcp.snd_cwnd, 21);
    }

    #[test]
    fn the_gain_and_the_start_are_parameters() {
        let given = [("dctcp_shift_g", 1.0), ("dctcp_alpha_on_init", 0.0)];
        let mut flow = flow_with(&given, 10);
        assert_eq!(flow.0.alpha, 0);
        assert_eq!(round(&mut flow, 1, 1), 512); // one of one was marked: (1 << 9) / 1
        assert_eq!(round(&mut flow, 10, 0), 256); // none of ten
    }
}
