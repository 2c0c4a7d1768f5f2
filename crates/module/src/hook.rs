//! The hooks of a module.

/// A hook of `struct tcp_congestion_ops`, or a function that begins or ends the module.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// `ssthresh`.
    Ssthresh = 0,
    /// `cong_avoid`.
    CongAvoid,
    /// `set_state`.
    SetState,
    /// `cwnd_event`.
    CwndEvent,
    /// `in_ack_event`.
    InAckEvent,
    /// `pkts_acked`.
    PktsAcked,
    /// `min_tso_segs`.
    MinTsoSegs,
    /// `cong_control`.
    CongControl,
    /// `undo_cwnd`.
    UndoCwnd,
    /// `sndbuf_expand`.
    SndbufExpand,
    /// `init`.
    Init,
    /// `release`.
    Release,
    /// The function that `module_init` names.
    ModuleInit,
    /// The function that `module_exit` names.
    ModuleExit,
}

impl Hook {
    /// All that a `struct tcp_congestion_ops` may have, in the order of the bits that tell which it
    /// has.
    pub const OF_OPS: [Hook; 12] = [
        Hook::Ssthresh,
        Hook::CongAvoid,
        Hook::SetState,
        Hook::CwndEvent,
        Hook::InAckEvent,
        Hook::PktsAcked,
        Hook::MinTsoSegs,
        Hook::CongControl,
        Hook::UndoCwnd,
        Hook::SndbufExpand,
        Hook::Init,
        Hook::Release,
    ];

    /// Its name in the kernel.
    pub const fn name(self) -> &'static str {
        Hook::name_at(self as u8)
    }

    pub(crate) const fn name_at(number: u8) -> &'static str {
        match number {
            0 => "ssthresh",
            1 => "cong_avoid",
            2 => "set_state",
            3 => "cwnd_event",
            4 => "in_ack_event",
            5 => "pkts_acked",
            6 => "min_tso_segs",
            7 => "cong_control",
            8 => "undo_cwnd",
            9 => "sndbuf_expand",
            10 => "init",
            11 => "release",
            12 => "module_init",
            _ => "module_exit",
        }
    }

    pub(crate) const fn bit(self) -> u32 {
        1 << self as u8
    }
}
