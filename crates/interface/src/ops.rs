//! The hooks of a congestion control.

use crate::{AckSample, RateSample, StateColumn, Tcp};

/// The state of the stack (`enum tcp_ca_state`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing is amiss.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs arrived; nothing is taken for lost yet.
    Disorder = 1,
    /// The window falls after a mark.
    Cwr = 2,
    /// The window falls after a loss, which is being repaired.
    Recovery = 3,
    /// The retransmission timer expired.
    Loss = 4,
}

impl CaState {
    /// The state whose number is `number`; a number that is none counts as Open.
    pub const fn of(number: u8) -> CaState {
        match number {
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            4 => CaState::Loss,
            _ => CaState::Open,
        }
    }
}

/// What `cwnd_event` is told (`enum tcp_ca_event`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// The first transmission with nothing in flight.
    TxStart = 0,
    /// The window restarts after an idle time.
    CwndRestart = 1,
    /// The reduction of the window is complete.
    CompleteCwr = 2,
    /// The retransmission timer found losses.
    Loss = 3,
    /// Data arrived without a mark: told where marks are echoed for each packet.
    EcnNoCe = 4,
    /// Data arrived with a mark.
    EcnIsCe = 5,
}

impl CaEvent {
    /// The event whose number is `number`, if there is one.
    pub const fn of(number: u8) -> Option<CaEvent> {
        Some(match number {
            0 => CaEvent::TxStart,
            1 => CaEvent::CwndRestart,
            2 => CaEvent::CompleteCwr,
            3 => CaEvent::Loss,
            4 => CaEvent::EcnNoCe,
            5 => CaEvent::EcnIsCe,
            _ => return None,
        })
    }
}

/// What `in_ack_event` is told (`enum tcp_ca_ack_event_flags`).
pub mod ack_flags {
    /// An acknowledgement of the slow path.
    pub const SLOWPATH: u32 = 1 << 0;
    /// The acknowledgement updated the receiver's window.
    pub const WIN_UPDATE: u32 = 1 << 1;
    /// The acknowledgement carried an ECN echo.
    pub const ECE: u32 = 1 << 2;
}

/// What a connection that resumes from what an earlier one found (RFC 9959) tells a variant that sets
/// window and rate itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// It may send as many bytes a second as this, if that is more than it would, until told otherwise.
    Begins(u64),
    /// Congestion while it did: it drains the path, and what it measures meanwhile says nothing.
    Retreats,
    /// All that it sent meanwhile is acknowledged, or it did not use it.
    Ends,
}

/// A congestion control of Linux's stack (`struct tcp_congestion_ops`).
///
/// At an acknowledgement the stack calls, in this order: [`pkts_acked`](Self::pkts_acked),
/// [`in_ack_event`](Self::in_ack_event), what the state machine asks
/// ([`ssthresh`](Self::ssthresh), [`set_state`](Self::set_state),
/// [`cwnd_event`](Self::cwnd_event), [`undo_cwnd`](Self::undo_cwnd)), then
/// [`cong_control`](Self::cong_control) or [`cong_avoid`](Self::cong_avoid). The stack keeps the
/// window, [`Tcp::snd_cwnd`]; each hook may write it.
pub trait CongestionOps: Send {
    /// `init`: the handshake is done, data leaves from now on.
    fn init(&mut self, tcp: &mut Tcp) {
        let _ = tcp;
    }

    /// `ssthresh`: the slow-start threshold after a loss or a mark, in segments.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32;

    /// `cong_avoid`: the window may grow; `ack` is the number acknowledged, `acked` counts the
    /// segments delivered.
    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32);

    /// `set_state`: the stack goes from `tcp.ca_state` to `new`.
    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        let _ = (tcp, new);
    }

    /// `cwnd_event`.
    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        let _ = (tcp, event);
    }

    /// `in_ack_event`: an acknowledgement with these [`ack_flags`].
    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        let _ = (tcp, flags);
    }

    /// `pkts_acked`: segments were acknowledged.
    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        let _ = (tcp, sample);
    }

    /// Whether [`cong_control`](Self::cong_control) sets window and rate in place of the stack's
    /// reduction and of [`cong_avoid`](Self::cong_avoid). Asked before [`init`](Self::init) and again
    /// behind it, where a module may have become another.
    fn has_cong_control(&self) -> bool {
        false
    }

    /// `cong_control`: `ack` is the number acknowledged, `flag` the stack's own word on the
    /// acknowledgement.
    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        let _ = (tcp, ack, flag, sample);
    }

    /// `undo_cwnd`: the window after a reduction that was a mistake, in segments.
    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.reno_undo_cwnd()
    }

    /// `min_tso_segs`: the least segments of a burst, if the module has a say.
    fn min_tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        let _ = tcp;
        None
    }

    /// `tso_segs` of trees that have it in place of [`min_tso_segs`](Self::min_tso_segs): the segments
    /// of a burst, whatever the stack's rule is, if the module has a say.
    fn tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        let _ = tcp;
        None
    }

    /// `sndbuf_expand`: windows' worth of data that the send buffer holds, if the module has a
    /// say; two without one.
    fn sndbuf_expand(&mut self, tcp: &mut Tcp) -> Option<u32> {
        let _ = tcp;
        None
    }

    /// A connection resumes, asked only of one with [`cong_control`](Self::cong_control): whether it
    /// does what it is told. No hook of the kernel's.
    fn resume(&mut self, tcp: &mut Tcp, step: Resumption) -> bool {
        let _ = (tcp, step);
        false
    }

    /// The columns of the inner state that it tells traces, the same at any time.
    fn state_columns(&self) -> &'static [StateColumn] {
        &[]
    }

    /// Writes its inner state into `values`, of which there is one for each column.
    fn tell_state(&self, tcp: &Tcp, values: &mut [f64]) {
        let _ = (tcp, values);
    }
}

impl<O: CongestionOps + ?Sized> CongestionOps for Box<O> {
    fn init(&mut self, tcp: &mut Tcp) {
        (**self).init(tcp);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        (**self).ssthresh(tcp)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        (**self).cong_avoid(tcp, ack, acked);
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        (**self).set_state(tcp, new);
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        (**self).cwnd_event(tcp, event);
    }

    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        (**self).in_ack_event(tcp, flags);
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        (**self).pkts_acked(tcp, sample);
    }

    fn has_cong_control(&self) -> bool {
        (**self).has_cong_control()
    }

    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        (**self).cong_control(tcp, ack, flag, sample);
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        (**self).undo_cwnd(tcp)
    }

    fn min_tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        (**self).min_tso_segs(tcp)
    }

    fn tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        (**self).tso_segs(tcp)
    }

    fn sndbuf_expand(&mut self, tcp: &mut Tcp) -> Option<u32> {
        (**self).sndbuf_expand(tcp)
    }

    fn resume(&mut self, tcp: &mut Tcp, step: Resumption) -> bool {
        (**self).resume(tcp, step)
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        (**self).state_columns()
    }

    fn tell_state(&self, tcp: &Tcp, values: &mut [f64]) {
        (**self).tell_state(tcp, values);
    }
}
