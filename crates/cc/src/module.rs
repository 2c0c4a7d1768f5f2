//! The frame of a variant that Linux has as a module: what `struct tcp_congestion_ops` asks of it,
//! in the order in which the kernel asks (`tcp_input.c`).

use cclab_units::{Stream, Time};

use crate::window::{SegmentWindow, StackWindow, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx, Timestamps};

/// What an acknowledgement measured (`struct ack_sample`), and the state before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) rtt: Option<Time>,
    pub(crate) stamps: Option<Timestamps>,
    pub(crate) state: CaState,
}

/// The state of the stack (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaState {
    /// `TCP_CA_Open`.
    Open,
    /// `TCP_CA_Disorder`: segments arrived out of order, none is taken for lost.
    Disorder,
    /// `TCP_CA_Recovery`: losses are being repaired, and the window in force is recovery's.
    Recovery,
    /// `TCP_CA_CWR` or `TCP_CA_Loss`: what was outstanding at a mark or a timeout is not yet
    /// acknowledged.
    Reduced,
}

/// What a module says; where it says nothing, Reno does.
pub(crate) trait Module: Send {
    /// `pkts_acked`: for every acknowledgement, before the window may grow.
    fn on_measured(&mut self, measured: &Measured, window: &mut SegmentWindow, dice: &mut Stream) {
        let _ = (measured, window, dice);
    }

    /// `cong_avoid`: `acked` segments were delivered to a full window.
    fn grow(&mut self, window: &mut SegmentWindow, acked: u64, now: Time);

    /// `ssthresh`: what remains of the window, in segments.
    fn ssthresh(&mut self, window: &SegmentWindow, now: Time) -> u64;

    /// `set_state` after the window was reduced, by a timeout or by less.
    fn on_reduced(&mut self, timeout: bool, now: Time) {
        let _ = (timeout, now);
    }

    /// `set_state`: the stack is in its state Open again.
    fn on_open(&mut self, now: Time) {
        let _ = now;
    }

    /// `undo_cwnd`, beside the window, which the stack gives back.
    fn on_undo(&mut self) {}
}

/// A module at one flow.
pub(crate) struct Modular<M> {
    pub(crate) stack: StackWindow,
    pub(crate) module: M,
}

impl<M: Module> Modular<M> {
    pub(crate) fn new(config: &Config, module: M) -> Modular<M> {
        Modular {
            stack: StackWindow::new(config),
            module,
        }
    }

    fn state(&self, ack: &AckSample) -> CaState {
        if ack.in_recovery {
            CaState::Recovery
        } else if self.stack.is_repairing() {
            CaState::Reduced
        } else if ack.newly_acked == 0 && ack.newly_delivered > 0 {
            CaState::Disorder
        } else {
            CaState::Open
        }
    }
}

impl<M: Module> CongestionControl for Modular<M> {
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        let measured = Measured {
            rtt: ack.rtt,
            stamps: ack.stamps,
            state: self.state(ack),
        };
        self.module
            .on_measured(&measured, &mut self.stack.window, cx.rng);
        if self.stack.reopens(ack) {
            self.module.on_open(cx.now);
        }
        if may_grow(ack) {
            let acked = self.stack.acked(ack);
            let window = &mut self.stack.window;
            self.module.grow(window, acked, cx.now);
            window.cwnd = window.cwnd.min(window.most);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, cx: &mut Cx<'_>) {
        let Modular { stack, module } = self;
        stack.reduce(kind, at, |window| module.ssthresh(window, cx.now));
        module.on_reduced(kind == Congestion::Rto, cx.now);
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.module.on_undo();
        self.stack.undo();
    }

    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        self.stack.restart(idle, rto);
    }

    fn cwnd(&self) -> u64 {
        self.stack.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.stack.ssthresh()
    }
}
