//! A module at a flow.

#![allow(unsafe_code, reason = "functions of a shared object are called")]

use std::sync::Arc;

use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, RateSample, StateColumn, Tcp};

use crate::guard::{self, Watched};
use crate::hook::{CongAvoid, Hook, Hooks, InAckEvent, PktsAcked};
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
    hooks: Hooks,
    /// Its `struct tcp_congestion_ops`: a module may give a flow another of its own.
    ops: u64,
    /// Whether its window grows as the stack's own does.
    is_reno: bool,
    /// Where its bytes begin.
    private_at: u64,
    /// What a call needs of the instance.
    file: Watched,
    clock: *mut *const u64,
    /// `init` has been called, and `release` has to be.
    begun: bool,
    /// What `release` reads of the clock.
    last_clock: [u64; 2],
    _private: Private,
    of: Arc<Instance>,
}

// SAFETY: the pointer is to a variable of the instance, which lives as long.
unsafe impl Send for Module {}

impl Module {
    pub(crate) fn new(of: Arc<Instance>) -> Module {
        of.check_thread();
        let private = Private::new();
        let mut module = Module {
            hooks: Hooks::default(),
            ops: of.ops,
            is_reno: false,
            private_at: private.address(),
            file: of.file,
            clock: of.clock,
            begun: false,
            last_clock: [0; 2],
            _private: private,
            of,
        };
        module.change(module.ops);
        module
    }

    /// Calls a hook of the module, with the flow's own data in `tcp`.
    #[inline(always)]
    fn call<R>(&mut self, hook: Hook, tcp: &mut Tcp, by: impl FnOnce(*mut Tcp) -> R) -> R {
        // Writing what is there would have the hook's code wait for it.
        if tcp.ca_priv != self.private_at {
            tcp.ca_priv = self.private_at;
            tcp.ca_ops = self.ops;
        }
        self.file.enter(hook);
        // SAFETY: the variable is the instance's, which lives as long; nobody reads it between calls.
        unsafe { self.clock.write(&tcp.jiffies) };
        let said = by(tcp);
        guard::leave();
        if tcp.ca_ops != self.ops {
            self.change(tcp.ca_ops);
        }
        windows::check(self.file, hook, tcp);
        said
    }

    /// The flow has the hooks of `ops`, which are the module's own.
    #[cold]
    fn change(&mut self, ops: u64) {
        self.ops = ops;
        // SAFETY: the address came from the module.
        unsafe { (self.of.functions.hooks)(ops, &mut self.hooks) };
        let stacks = self.of.functions.reno_cong_avoid;
        self.is_reno = (self.hooks.cong_avoid).is_some_and(|own| std::ptr::fn_addr_eq(own, stacks));
    }

    /// A number of segments that a hook returned.
    #[inline]
    fn segments(&self, hook: Hook, said: u32) -> u32 {
        windows::segments(self.file, hook, said)
    }
}

/// Linux registers nothing without such a hook, but a module may give a flow what it did not register.
const LACKING: &str = "the struct tcp_congestion_ops that it gave the flow has no such hook";

// SAFETY, of all hooks: they are the module's own functions with the kernel's signatures; the connection has
// the memory of a `struct tcp_sock`, is lent for the time of the call, and names its ops and private bytes.
impl CongestionOps for Module {
    fn init(&mut self, tcp: &mut Tcp) {
        tcp.prior_ssthresh = 0;
        self.begun = true;
        if let Some(init) = self.hooks.init {
            // SAFETY: see above.
            self.call(Hook::Init, tcp, |tcp| unsafe { init(tcp) });
        }
        self.last_clock = [tcp.jiffies, tcp.tcp_clock_cache];
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let Some(ssthresh) = self.hooks.ssthresh else {
            self.file.told(Hook::Ssthresh, LACKING);
        };
        // SAFETY: see above.
        let said = self.call(Hook::Ssthresh, tcp, |tcp| unsafe { ssthresh(tcp) });
        self.segments(Hook::Ssthresh, said)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        match self.hooks.cong_avoid {
            // The module's own code is not reached.
            _ if self.is_reno => tcp.reno_cong_avoid(acked),
            Some(by) => self.call_cong_avoid(by, tcp, ack, acked),
            None => {}
        }
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        if let Some(set_state) = self.hooks.set_state {
            // SAFETY: see above.
            self.call(Hook::SetState, tcp, |tcp| unsafe {
                set_state(tcp, new as u8)
            });
        }
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        if let Some(cwnd_event) = self.hooks.cwnd_event {
            // SAFETY: see above.
            self.call(Hook::CwndEvent, tcp, |tcp| unsafe {
                cwnd_event(tcp, event as u32)
            });
        }
    }

    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        if let Some(by) = self.hooks.in_ack_event {
            self.call_in_ack_event(by, tcp, flags);
        }
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        if let Some(by) = self.hooks.pkts_acked {
            self.call_pkts_acked(by, tcp, sample);
        }
    }

    fn has_cong_control(&self) -> bool {
        self.hooks.cong_control.is_some()
    }

    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        if let Some(cong_control) = self.hooks.cong_control {
            // SAFETY: see above; the sample lives through the call.
            self.call(Hook::CongControl, tcp, |tcp| unsafe {
                cong_control(tcp, ack, flag as i32, sample)
            });
        }
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        let Some(undo_cwnd) = self.hooks.undo_cwnd else {
            self.file.told(Hook::UndoCwnd, LACKING);
        };
        // SAFETY: see above.
        let said = self.call(Hook::UndoCwnd, tcp, |tcp| unsafe { undo_cwnd(tcp) });
        self.segments(Hook::UndoCwnd, said)
    }

    fn min_tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        let min_tso_segs = self.hooks.min_tso_segs?;
        // SAFETY: see above.
        Some(self.call(Hook::MinTsoSegs, tcp, |tcp| unsafe { min_tso_segs(tcp) }))
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        self.of.traced.columns
    }

    fn tell_state(&self, _: &Tcp, values: &mut [f64]) {
        self.of.traced.tell(self.private_at, values);
    }

    fn sndbuf_expand(&mut self, tcp: &mut Tcp) -> Option<u32> {
        let sndbuf_expand = self.hooks.sndbuf_expand?;
        // SAFETY: see above.
        Some(self.call(Hook::SndbufExpand, tcp, |tcp| unsafe { sndbuf_expand(tcp) }))
    }
}

/// The hooks of each acknowledgement, as calls of their own: what a module does not have costs no more
/// than the question.
impl Module {
    #[inline(never)]
    fn call_cong_avoid(&mut self, by: CongAvoid, tcp: &mut Tcp, ack: u32, acked: u32) {
        // SAFETY: see above.
        self.call(Hook::CongAvoid, tcp, |tcp| unsafe { by(tcp, ack, acked) });
    }

    #[inline(never)]
    fn call_in_ack_event(&mut self, by: InAckEvent, tcp: &mut Tcp, flags: u32) {
        // SAFETY: see above.
        self.call(Hook::InAckEvent, tcp, |tcp| unsafe { by(tcp, flags) });
    }

    #[inline(never)]
    fn call_pkts_acked(&mut self, by: PktsAcked, tcp: &mut Tcp, sample: &AckSample) {
        // SAFETY: see above; the sample lives through the call.
        self.call(Hook::PktsAcked, tcp, |tcp| unsafe { by(tcp, sample) });
    }
}

impl Drop for Module {
    /// Calls `release` with a connection of which only the clock and the private bytes are left.
    fn drop(&mut self) {
        if let Some(release) = self.hooks.release.filter(|_| self.begun) {
            let mut tcp = Tcp {
                jiffies: self.last_clock[0],
                tcp_clock_cache: self.last_clock[1],
                tcp_mstamp: self.last_clock[1] / 1_000,
                state: CLOSE,
                ..Tcp::default()
            };
            // SAFETY: as of the other hooks.
            self.call(Hook::Release, &mut tcp, |tcp| unsafe { release(tcp) });
        }
    }
}

/// `TCP_CLOSE`.
const CLOSE: u8 = 7;
