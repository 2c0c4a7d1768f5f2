//! A module at a flow.

#![allow(unsafe_code, reason = "functions of a shared object are called")]

use std::sync::Arc;

use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, RateSample, Tcp};

use crate::guard;
use crate::hook::Hook;
use crate::loaded::Instance;
use crate::private::Private;
use crate::windows;

/// The congestion control of a module at a flow. Where the module has no hook, what the kernel does
/// without it happens.
///
/// The connection is lent to the module for the time of a call. What its own memory and the
/// hooks' code can do is guarded by [`guard`](crate::guard); windows that cannot be are told at
/// once.
pub struct Module {
    of: Arc<Instance>,
    /// Its `struct tcp_congestion_ops`: a module may give a flow another of its own.
    ops: u64,
    hooks: u32,
    _private: Private,
    /// Where its bytes begin.
    private_at: u64,
    /// `init` has been called, and `release` has to be.
    begun: bool,
    /// What `release` reads of the clock.
    clock: [u64; 2],
}

impl Module {
    pub(crate) fn new(of: Arc<Instance>) -> Module {
        // SAFETY: the address came from the module.
        let hooks = unsafe { (of.functions.hooks)(of.ops) };
        let private = Private::new();
        Module {
            ops: of.ops,
            hooks,
            private_at: private.address(),
            _private: private,
            begun: false,
            clock: [0; 2],
            of,
        }
    }

    #[inline]
    fn has(&self, hook: Hook) -> bool {
        self.hooks & hook.bit() != 0
    }

    /// Calls `hook`, with the flow's own data in `tcp`.
    #[inline]
    fn call<R>(
        &mut self,
        hook: Hook,
        tcp: &mut Tcp,
        by: impl FnOnce(&Instance, *mut Tcp) -> R,
    ) -> R {
        tcp.ca_ops = self.ops;
        tcp.ca_priv = self.private_at;
        guard::enter(self.of.file, hook);
        let said = by(&self.of, tcp);
        guard::leave();
        if tcp.ca_ops != self.ops {
            self.change(tcp.ca_ops);
        }
        windows::check(self.of.file, hook, tcp);
        said
    }

    /// The module has given the flow other hooks of its own.
    #[cold]
    fn change(&mut self, ops: u64) {
        self.ops = ops;
        // SAFETY: the address came from the module.
        self.hooks = unsafe { (self.of.functions.hooks)(ops) };
    }

    /// A number of segments that a hook returned.
    #[inline]
    fn segments(&self, hook: Hook, said: u32) -> u32 {
        windows::segments(self.of.file, hook, said)
    }
}

// SAFETY, of all hooks: glue/hooks.c calls the module's function with the connection, which has the
// memory of a `struct tcp_sock`, is lent for the time of the call, and names its ops and private
// bytes; `has` says that the function is there.
impl CongestionOps for Module {
    fn init(&mut self, tcp: &mut Tcp) {
        tcp.prior_ssthresh = 0;
        self.begun = true;
        if self.has(Hook::Init) {
            // SAFETY: see above.
            self.call(Hook::Init, tcp, |of, tcp| unsafe {
                (of.functions.init)(tcp)
            });
        }
        self.clock = [tcp.jiffies, tcp.tcp_clock_cache];
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        // SAFETY: see above.
        let said = self.call(Hook::Ssthresh, tcp, |of, tcp| unsafe {
            (of.functions.ssthresh)(tcp)
        });
        self.segments(Hook::Ssthresh, said)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        if self.has(Hook::CongAvoid) {
            // SAFETY: see above.
            self.call(Hook::CongAvoid, tcp, |of, tcp| unsafe {
                (of.functions.cong_avoid)(tcp, ack, acked)
            });
        }
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        if self.has(Hook::SetState) {
            // SAFETY: see above.
            self.call(Hook::SetState, tcp, |of, tcp| unsafe {
                (of.functions.set_state)(tcp, new as u8)
            });
        }
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        if self.has(Hook::CwndEvent) {
            // SAFETY: see above.
            self.call(Hook::CwndEvent, tcp, |of, tcp| unsafe {
                (of.functions.cwnd_event)(tcp, event as u32)
            });
        }
    }

    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        if self.has(Hook::InAckEvent) {
            // SAFETY: see above.
            self.call(Hook::InAckEvent, tcp, |of, tcp| unsafe {
                (of.functions.in_ack_event)(tcp, flags)
            });
        }
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        if self.has(Hook::PktsAcked) {
            // SAFETY: see above; the sample lives through the call.
            self.call(Hook::PktsAcked, tcp, |of, tcp| unsafe {
                (of.functions.pkts_acked)(tcp, sample)
            });
        }
    }

    fn has_cong_control(&self) -> bool {
        self.has(Hook::CongControl)
    }

    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        if self.has(Hook::CongControl) {
            // SAFETY: see above; the sample lives through the call.
            self.call(Hook::CongControl, tcp, |of, tcp| unsafe {
                (of.functions.cong_control)(tcp, ack, flag as i32, sample)
            });
        }
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        // SAFETY: see above.
        let said = self.call(Hook::UndoCwnd, tcp, |of, tcp| unsafe {
            (of.functions.undo_cwnd)(tcp)
        });
        self.segments(Hook::UndoCwnd, said)
    }

    fn min_tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        // SAFETY: see above.
        self.has(Hook::MinTsoSegs).then(|| {
            self.call(Hook::MinTsoSegs, tcp, |of, tcp| unsafe {
                (of.functions.min_tso_segs)(tcp)
            })
        })
    }

    fn sndbuf_expand(&mut self, tcp: &mut Tcp) -> Option<u32> {
        // SAFETY: see above.
        self.has(Hook::SndbufExpand).then(|| {
            self.call(Hook::SndbufExpand, tcp, |of, tcp| unsafe {
                (of.functions.sndbuf_expand)(tcp)
            })
        })
    }
}

impl Drop for Module {
    /// Calls `release` with a connection of which only the clock and the private bytes are left.
    fn drop(&mut self) {
        if self.begun && self.has(Hook::Release) {
            let mut tcp = Tcp {
                jiffies: self.clock[0],
                tcp_clock_cache: self.clock[1],
                tcp_mstamp: self.clock[1] / 1_000,
                state: CLOSE,
                ..Tcp::default()
            };
            // SAFETY: as of the other hooks.
            self.call(Hook::Release, &mut tcp, |of, tcp| unsafe {
                (of.functions.release)(tcp)
            });
        }
    }
}

/// `TCP_CLOSE`.
const CLOSE: u8 = 7;
