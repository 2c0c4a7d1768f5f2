//! What a variant says of itself to the registry.

use std::sync::Arc;

use cclab_interface::{CongestionOps, Resumption, StateColumn, Tcp};
use cclab_units::InKernel;
use cclab_units::parameter::{Parameter, Params, Relation};

use crate::lent::Lent;
use crate::{Arithmetic, Config, CongestionControl, SlowStart};

/// The parameter by which a flow asks for low latency (RFC 9331 section 4.1), of the variants that
/// declare it.
pub(crate) const ECT1: &str = "ect1";

/// The loss recovery that a classic variant is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryName {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery that the first new ACK ends.
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno,
    /// The SACK scoreboard (RFC 6675).
    Sack,
    /// Reno's, with a fine-grained timeout that duplicate and new ACKs look at (ns-2's Vegas).
    Vegas,
}

/// Whose window holds while losses are repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowInRecovery {
    /// The form of recovery's, on its way to the variant's.
    #[default]
    Stack,
    /// The variant's own: recovery finds losses and repairs them, no more (BBR).
    Own,
}

/// How the receiver reports marks to a variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// An echo until CWR (RFC 3168), on flows that negotiate ECN.
    #[default]
    Classic,
    /// Whether each packet was marked (RFC 8257 section 3.2); the flow always negotiates ECN.
    PerPacket,
    /// How many packets were marked (RFC 9768). The flow always negotiates that, and goes without ECN
    /// where the other end does not have it.
    Accurate,
}

/// What tells a variant that it sends too fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Losses and marks: on a path without them it only grows.
    Losses,
    /// Round trips or one-way delays that grow, and losses.
    Delay,
    /// Its own model of the path's rate and round trip.
    Model,
}

/// What a variant does by its definition that the laws of windows forbid the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// An acknowledgement may narrow its window: it reacts to delay.
    NarrowedByDelay,
    /// Its window may grow whether it was used or not: Vegas as Linux has it, and Westwood+ where
    /// its estimate is above what the loss left.
    GrowsUnused,
    /// The end of a reduction, also of one taken back, sets its window to its estimate: Westwood+.
    EndsAtItsEstimate,
    /// A timeout leaves two segments: Vegas as ns-2 has it.
    RestartsByTwo,
    /// Slow start does not double the window each round trip: it runs in the background, or there is none.
    SlowerSlowStart,
}

/// Makes a variant at the start of a connection.
pub type Build = fn(&Config) -> Box<dyn CongestionControl>;

/// Makes a variant whose window the stack keeps, at the start of a connection.
pub type BuildOps = fn(&Config) -> Box<dyn CongestionOps>;

/// Makes a variant of a file at the start of a connection.
pub type BuildOfFile = Arc<dyn Fn(&Config) -> Box<dyn CongestionOps> + Send + Sync>;

/// A variant at one connection.
pub enum Control {
    /// It keeps a window of its own.
    Own(Box<dyn CongestionControl>),
    /// The stack keeps the window and calls its hooks, as Linux does.
    Stack(Box<dyn CongestionOps>),
}

impl Control {
    /// The variant for a stack that keeps no window: one whose window the stack should keep is
    /// lent one.
    pub fn lent(self, config: &Config) -> Box<dyn CongestionControl> {
        match self {
            Control::Own(own) => own,
            Control::Stack(ops) => Box::new(Lent::new(config, ops)),
        }
    }
}

/// What makes the variant of a connection.
#[derive(Clone)]
pub enum Maker {
    /// One with a window of its own.
    Own(Build),
    /// One whose window the stack keeps.
    Stack(BuildOps),
    /// One of a file, whose window the stack keeps.
    File(BuildOfFile),
}

impl Maker {
    /// The variant at the start of a connection.
    pub fn make(&self, config: &Config) -> Control {
        match self {
            Maker::Own(build) => Control::Own(build(config)),
            Maker::Stack(build) => Control::Stack(build(config)),
            Maker::File(build) => Control::Stack(build(config)),
        }
    }
}

/// A variant, as study files, backends and lists know it: its one declaration.
#[derive(Clone, Copy)]
pub struct Variant {
    /// Its name in study files.
    pub name: &'static str,
    /// The version of its behaviour. Whoever changes what it does raises it: runs of the older
    /// version are then other runs.
    pub version: u32,
    /// One line for `cclab list variants`.
    pub summary: &'static str,
    /// Where it is defined.
    pub reference: &'static str,
    /// Other names that people ask for and of which it is the nearest by meaning.
    pub near: &'static [Near],
    /// Where a kernel has it, under the same name; `None`: no kernel does.
    pub kernel: Option<InKernel>,
    /// The loss recovery that belongs to it; `None`: the stack's own.
    pub recovery: Option<RecoveryName>,
    /// Whose window holds while losses are repaired.
    pub window: WindowInRecovery,
    /// Whether it says at which rate packets leave; of others, a pacing rate is a figure that nothing
    /// obeys.
    pub paces: bool,
    /// How marks come back to it.
    pub ecn: EcnFeedback,
    /// What it obeys.
    pub signal: Signal,
    /// What it does that others must not.
    pub departures: &'static [Departure],
    /// The parameters that the simulator's takes; those of a kernel take none.
    pub params: &'static [Parameter],
    /// What the parameters have to do with each other.
    pub relations: &'static [Relation],
    /// Makes one as Linux has it, whose window the stack keeps; `None`: it has none such.
    pub ops: Option<BuildOps>,
    /// Makes one for the simulator, with a window of its own; `None`: only kernels have it.
    pub build: Option<Build>,
}

/// A name that no variant here has, for which one is the nearest by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// The name, in small letters.
    pub name: &'static str,
    /// What comes nearest only together with the variant; empty: nothing.
    pub with: &'static str,
}

impl Near {
    /// The variant alone comes nearest to what is called `name`.
    pub const fn of(name: &'static str) -> Near {
        Near { name, with: "" }
    }

    /// The variant comes nearest to what is called `name` together with what `with` says.
    pub const fn with(name: &'static str, with: &'static str) -> Near {
        Near { name, with }
    }
}

impl Variant {
    /// Whether its ECN-capable packets are ECT(1) with these parameters, and not ECT(0).
    pub fn sends_ect1(&self, params: &Params) -> bool {
        let declared = self.params.iter().any(|known| known.name == ECT1);
        declared && params.get(ECT1) != 0.0
    }

    /// Whether a connection can resume from what an earlier one found (RFC 9959) where windows are
    /// counted so: Linux's stack moves its window, or it sets its own and does what it is told.
    pub fn resumes(&self, arithmetic: Arithmetic) -> bool {
        let config = self.any();
        let step = Resumption::Ends;
        match (self.ops, self.build) {
            (Some(ops), _) if arithmetic == Arithmetic::Segments => {
                let mut ops = ops(&config);
                !ops.has_cong_control() || ops.resume(&mut Tcp::default(), step)
            }
            (_, Some(build)) => build(&config).resume(step),
            _ => false,
        }
    }

    /// What makes one for a stack that counts windows so; `None`: only kernels have it.
    pub fn maker(&self, arithmetic: Arithmetic) -> Option<Maker> {
        match (self.ops, arithmetic) {
            (Some(ops), Arithmetic::Segments) => Some(Maker::Stack(ops)),
            _ => self.build.map(Maker::Own),
        }
    }

    /// The columns of the inner state that it tells traces of the simulator; none of one that only
    /// kernels have.
    pub fn state_columns(&self) -> &'static [StateColumn] {
        let config = self.any();
        match (self.ops, self.build) {
            (Some(ops), _) => ops(&config).state_columns(),
            (None, Some(build)) => build(&config).state_columns(),
            (None, None) => &[],
        }
    }

    /// What one is built from that nothing is sent by.
    fn any(&self) -> Config {
        Config {
            mss: 1_460,
            initial_window: 14_600,
            initial_ssthresh: u64::MAX,
            slow_start: SlowStart::Plain,
            arithmetic: Arithmetic::Segments,
            params: Params::defaults(self.params),
        }
    }

    /// Whether it departs from the laws of windows in this way.
    pub fn departs(&self, departure: Departure) -> bool {
        self.departures.contains(&departure)
    }
}
