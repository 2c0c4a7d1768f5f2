//! The hooks of a module.

use std::ffi::c_int;

use cclab_interface::{AckSample, RateSample, Tcp};

/// The types of the hooks of each acknowledgement.
pub(crate) type CongAvoid = unsafe extern "C" fn(*mut Tcp, u32, u32);
pub(crate) type InAckEvent = unsafe extern "C" fn(*mut Tcp, u32);
pub(crate) type PktsAcked = unsafe extern "C" fn(*mut Tcp, *const AckSample);

/// The functions of a `struct tcp_congestion_ops` that the stack calls, in the order of
/// [`Hook::OF_OPS`]: `struct hooks` of glue/hooks.c.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Hooks {
    pub ssthresh: Option<unsafe extern "C" fn(*mut Tcp) -> u32>,
    pub cong_avoid: Option<CongAvoid>,
    pub set_state: Option<unsafe extern "C" fn(*mut Tcp, u8)>,
    pub cwnd_event: Option<unsafe extern "C" fn(*mut Tcp, u32)>,
    pub in_ack_event: Option<InAckEvent>,
    pub pkts_acked: Option<PktsAcked>,
    pub min_tso_segs: Option<unsafe extern "C" fn(*mut Tcp) -> u32>,
    pub cong_control: Option<unsafe extern "C" fn(*mut Tcp, u32, c_int, *const RateSample)>,
    pub undo_cwnd: Option<unsafe extern "C" fn(*mut Tcp) -> u32>,
    pub sndbuf_expand: Option<unsafe extern "C" fn(*mut Tcp) -> u32>,
    pub init: Option<unsafe extern "C" fn(*mut Tcp)>,
    pub release: Option<unsafe extern "C" fn(*mut Tcp)>,
}

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
    /// What tells traces the inner state, of files in Rust.
    TellState,
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
            13 => "module_exit",
            _ => "tell_state",
        }
    }

    pub(crate) const fn bit(self) -> u32 {
        1 << self as u8
    }
}
