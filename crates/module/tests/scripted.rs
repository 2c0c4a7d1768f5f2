//! The kernel's modules over scripted connections, and the Rust ports beside them: after every hook
//! window, threshold and pacing are the same.

mod common;
mod stack;

use std::collections::BTreeMap;
use std::fmt;

use cclab_cc::{Arithmetic, Config, SlowStart, VARIANTS, Variant};
use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, RateSample, Tcp};
use cclab_module::{Hook, Loaded};
use cclab_units::parameter::Params;
use stack::{Connection, SCRIPTS, Script};

/// Acknowledgements of a connection: to compare, and to see that a module runs.
const ACKS: u64 = 20_000;
const FEW: u64 = 4_000;

/// What a hook was told and what it left behind.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Call {
    hook: Hook,
    at: u64,
    told: [u64; 2],
    said: u32,
    cwnd: u32,
    ssthresh: u32,
    pacing: u64,
}

impl fmt::Display for Call {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { at, told, said, .. } = self;
        let (hook, cwnd, ssthresh) = (self.hook.name(), self.cwnd, self.ssthresh);
        let pacing = self.pacing;
        write!(
            out,
            "{hook}{told:?} at {at} us says {said}: cwnd {cwnd}, ssthresh {ssthresh}, pacing {pacing}"
        )
    }
}

/// Notes each call of a congestion control.
struct Noted<O> {
    ops: O,
    calls: Vec<Call>,
}

impl<O> Noted<O> {
    fn new(ops: O) -> Noted<O> {
        Noted {
            ops,
            calls: Vec::new(),
        }
    }

    fn note(&mut self, hook: Hook, tcp: &Tcp, told: [u64; 2], said: u32) {
        self.calls.push(Call {
            hook,
            at: tcp.tcp_mstamp,
            told,
            said,
            cwnd: tcp.snd_cwnd,
            ssthresh: tcp.snd_ssthresh,
            pacing: tcp.pacing_rate,
        });
    }
}

impl<O: CongestionOps> CongestionOps for Noted<O> {
    fn init(&mut self, tcp: &mut Tcp) {
        self.ops.init(tcp);
        self.note(Hook::Init, tcp, [0; 2], 0);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let said = self.ops.ssthresh(tcp);
        self.note(Hook::Ssthresh, tcp, [0; 2], said);
        said
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        self.ops.cong_avoid(tcp, ack, acked);
        self.note(Hook::CongAvoid, tcp, [ack.into(), acked.into()], 0);
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        self.ops.set_state(tcp, new);
        self.note(Hook::SetState, tcp, [new as u64, 0], 0);
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        self.ops.cwnd_event(tcp, event);
        self.note(Hook::CwndEvent, tcp, [event as u64, 0], 0);
    }

    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        self.ops.in_ack_event(tcp, flags);
        self.note(Hook::InAckEvent, tcp, [flags.into(), 0], 0);
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        self.ops.pkts_acked(tcp, sample);
        let told = [sample.pkts_acked.into(), sample.rtt_us as u64];
        self.note(Hook::PktsAcked, tcp, told, 0);
    }

    fn has_cong_control(&self) -> bool {
        self.ops.has_cong_control()
    }

    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        self.ops.cong_control(tcp, ack, flag, sample);
        let told = [ack.into(), sample.interval_us as u64];
        self.note(Hook::CongControl, tcp, told, 0);
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        let said = self.ops.undo_cwnd(tcp);
        self.note(Hook::UndoCwnd, tcp, [0; 2], said);
        said
    }

    fn min_tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        let said = self.ops.min_tso_segs(tcp);
        self.note(Hook::MinTsoSegs, tcp, [0; 2], said.unwrap_or(0));
        said
    }

    fn sndbuf_expand(&mut self, tcp: &mut Tcp) -> Option<u32> {
        let said = self.ops.sndbuf_expand(tcp);
        self.note(Hook::SndbufExpand, tcp, [0; 2], said.unwrap_or(0));
        said
    }
}

/// All calls of a connection with `ops`, until so many acknowledgements have arrived.
fn calls(ops: impl CongestionOps, script: Script, acks: u64) -> Vec<Call> {
    let mut connection = Connection::new(Noted::new(ops), script);
    connection.run(acks);
    connection.ops.calls
}

fn config(variant: &Variant) -> Config {
    Config {
        mss: 1_448,
        initial_window: 14_480,
        initial_ssthresh: u64::MAX,
        slow_start: SlowStart::LinuxHyStart,
        arithmetic: Arithmetic::Segments,
        params: Params::defaults(variant.params),
    }
}

/// Each of the kernel's modules runs, meets what it has hooks for, and does the same again.
#[test]
fn every_module_runs_every_script() {
    let mut undone = 0;
    for (file, name) in common::MODULES {
        let loaded = common::loaded(file);
        let mut met = 0;
        for script in SCRIPTS {
            let calls = calls(loaded.module(), script, FEW);
            for call in &calls {
                met |= 1 << call.hook as u8;
            }
            undone += calls.iter().filter(|c| c.hook == Hook::UndoCwnd).count();
            let again = self::calls(loaded.module(), script, FEW);
            assert!(calls == again, "{name}, {}", script.name);
        }
        for hook in &common::compiled(file).description().hooks {
            let asked = *hook != Hook::Release;
            let bit = 1 << *hook as u8;
            assert!(met & bit != 0 || !asked, "{name}: {}", hook.name());
        }
    }
    assert!(undone > 100, "{undone}");
}

/// Ports whose originals are among the kernel's files, and Reno's: it is no file, but what headers
/// and glue of this crate make of it.
fn originals() -> Vec<(&'static str, Loaded)> {
    let reno = common::own(&common::reno_but("", "")).expect("it compiles");
    let reno = reno.load(&BTreeMap::new()).expect("it loads");
    let mut all = vec![("reno", reno)];
    all.extend(common::MODULES.map(|(file, name)| (name, common::loaded(file))));
    let ported = |name: &str| VARIANTS.iter().any(|v| v.name == name && v.ops.is_some());
    all.retain(|(name, _)| ported(name));
    assert_eq!(all.len(), 15, "ports");
    all
}

/// The first call at which the Rust port `name` does something else than the module of `file`.
fn difference(name: &str, file: &Loaded, script: Script) -> Option<String> {
    let variant = VARIANTS.iter().find(|variant| variant.name == name)?;
    let module = calls(file.module(), script, ACKS);
    let port = calls(variant.ops?(&config(variant)), script, ACKS);
    let first = module.iter().zip(&port).position(|(a, b)| a != b)?;
    let count = module.len();
    let (module, port) = (module[first], port[first]);
    Some(format!(
        "{name}, {script:?}: call {first} of {count}\n  module {module}\n  port   {port}"
    ))
}

/// Compares all ports with their originals over `scripts`.
fn compare(scripts: &[Script]) {
    let originals = originals();
    let mut found = Vec::new();
    for (name, file) in &originals {
        for script in scripts {
            found.extend(difference(name, file, *script));
        }
    }
    let compared = originals.len() * scripts.len();
    let same = compared - found.len();
    println!("{same} of {compared} connections are the same, call by call");
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn ports_do_what_their_originals_do() {
    compare(&SCRIPTS);
}

/// The variable that gives how many scripts are drawn.
const DRAWN: &str = "CCLAB_TEST_SCRIPTS";

#[test]
fn ports_do_what_their_originals_do_whatever_happens() {
    let drawn = std::env::var(DRAWN)
        .ok()
        .and_then(|drawn| drawn.parse().ok());
    let scripts: Vec<Script> = (0..drawn.unwrap_or(6)).map(Script::drawn).collect();
    compare(&scripts);
}
