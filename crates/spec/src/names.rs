//! The names the contract knows. A study may name what the backend at hand does not have: the
//! backend refuses it at plan time. What nobody has is a spelling mistake, found here.

use cclab_units::Measure;
use cclab_units::parameter::{Parameter, Relation};

use crate::expect::Metrics;
use crate::traffic::TRAFFIC_KINDS;

/// Names that a study may use for variants, disciplines, stacks, cross traffic and metrics. The
/// default is the contract's list; whoever registers more of them adds their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    /// Variants with the parameters they take: `cc`.
    pub variants: Vec<Parametric>,
    /// Queueing disciplines with the parameters they take: `queue.kind`.
    pub qdiscs: Vec<Parametric>,
    /// Stacks with the size of their packets: `stack`.
    pub stacks: Vec<Stack>,
    /// Kinds of cross traffic with the parameters they take: `traffic.kind`.
    pub traffic: Vec<Parametric>,
    /// Metrics: `expect` and the rule of `repeat`.
    pub metrics: Metrics,
}

/// A name that takes parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parametric {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Taken>,
    /// What they have to do with each other.
    pub relations: Vec<Relation>,
}

/// A parameter as a study may write it.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Its name.
    pub name: String,
    /// What it is a number of; `None`: not known here.
    pub measure: Option<Measure>,
    /// Its value where none is given; `None`: derived, or not known here.
    pub default: Option<f64>,
    /// The smallest value it may take.
    pub least: f64,
    /// The largest value it may take.
    pub most: f64,
}

impl Taken {
    /// A parameter of which only the name is known.
    fn named(name: &str) -> Taken {
        Taken {
            name: name.to_owned(),
            measure: None,
            default: None,
            least: f64::NEG_INFINITY,
            most: f64::INFINITY,
        }
    }
}

impl Parametric {
    /// Lets `parameters` be written, each within its range.
    fn take(&mut self, parameters: &[Parameter]) {
        for parameter in parameters {
            self.params.retain(|known| known.name != parameter.name);
            self.params.push(Taken {
                name: parameter.name.to_owned(),
                measure: Some(parameter.measure),
                default: Some(parameter.default).filter(|value| !value.is_nan()),
                least: parameter.least,
                most: parameter.most,
            });
        }
    }
}

/// Adds `name` with its parameters to `all`, or its parameters to what is there.
fn register(
    all: &mut Vec<Parametric>,
    name: &str,
    parameters: &[Parameter],
    relations: &[Relation],
) {
    let index = all.iter().position(|known| known.name == name);
    let index = index.unwrap_or_else(|| {
        all.push(Parametric {
            name: name.to_owned(),
            params: Vec::new(),
            relations: Vec::new(),
        });
        all.len() - 1
    });
    all[index].take(parameters);
    all[index].relations.extend(relations);
}

impl Names {
    /// Adds a variant of a registry.
    pub fn register_variant(
        &mut self,
        name: &str,
        parameters: &[Parameter],
        relations: &[Relation],
    ) {
        register(&mut self.variants, name, parameters, relations);
    }

    /// Adds a queueing discipline of a registry.
    pub fn register_qdisc(&mut self, name: &str, parameters: &[Parameter], relations: &[Relation]) {
        register(&mut self.qdiscs, name, parameters, relations);
    }

    /// Tells what a parameter of a discipline measures that no registry has.
    pub fn measure_qdisc(&mut self, name: &str, parameter: &str, measure: Measure) {
        let known = self.qdiscs.iter_mut().filter(|known| known.name == name);
        let taken = known.flat_map(|known| &mut known.params);
        for taken in taken.filter(|taken| taken.name == parameter && taken.measure.is_none()) {
            taken.measure = Some(measure);
        }
    }
}

/// A stack, as far as queues must know its packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its name.
    pub name: String,
    /// Maximum segment size in bytes, unless the flow sets one.
    pub mss: u32,
    /// Bytes of a full packet beyond the MSS: headers, options that come on top, framing.
    pub overhead: u32,
    /// Whether a queue must stay below its limit instead of reaching it.
    pub limit_is_exclusive: bool,
}

impl Default for Names {
    fn default() -> Names {
        let parametric = |list: &[(&str, &str)]| {
            list.iter()
                .map(|(name, params)| Parametric {
                    name: (*name).to_owned(),
                    params: params.split_whitespace().map(Taken::named).collect(),
                    relations: Vec::new(),
                })
                .collect()
        };
        Names {
            variants: parametric(
                &VARIANTS
                    .split_whitespace()
                    .map(|name| (name, ""))
                    .collect::<Vec<_>>(),
            ),
            qdiscs: parametric(QDISCS),
            stacks: STACKS
                .iter()
                .map(|&(name, mss, overhead, limit_is_exclusive)| Stack {
                    name: name.to_owned(),
                    mss,
                    overhead,
                    limit_is_exclusive,
                })
                .collect(),
            traffic: TRAFFIC_KINDS
                .iter()
                .map(|kind| {
                    let mut taken = Parametric {
                        name: kind.name.to_owned(),
                        params: Vec::new(),
                        relations: Vec::new(),
                    };
                    taken.take(kind.params);
                    taken
                })
                .collect(),
            metrics: Metrics::default(),
        }
    }
}

/// The variant of a flow that names none: Linux's default.
pub(crate) const DEFAULT_VARIANT: &str = "cubic";
/// The stack of a study that names none.
pub(crate) const DEFAULT_STACK: &str = "linux-6.12";
/// The discipline of a queue that names none.
pub(crate) const DEFAULT_QDISC: &str = "droptail";

const VARIANTS: &str = "tahoe reno newreno sack vegas veno westwood highspeed scalable bic cubic \
    htcp hybla illinois yeah lp dctcp nv cdg bbr bbr3 copa ledbat++ linear-rate constant-rate \
    adaptive-a adaptive-b delay-trend";

/// Parameters are spelt as `tc` spells them.
const QDISCS: &[(&str, &str)] = &[
    ("droptail", ""),
    ("random-drop", ""),
    (
        "red",
        "min max probability burst weight avpkt bandwidth ecn adaptive harddrop gentle",
    ),
    (
        "red-1990s",
        "min max probability weight avpkt bandwidth ecn adaptive harddrop gentle",
    ),
    (
        "adaptive-red",
        "target min max probability weight avpkt bandwidth ecn adaptive harddrop gentle",
    ),
    ("codel", "target interval ce_threshold ecn"),
    (
        "fq_codel",
        "target interval ce_threshold ecn flows quantum memory_limit drop_batch",
    ),
    (
        "pie",
        "target tupdate alpha beta ecn bytemode max_burst derandomize",
    ),
    (
        "fq",
        "flow_limit quantum initial_quantum maxrate buckets pacing ce_threshold horizon",
    ),
    (
        "fq_pie",
        "flows target tupdate alpha beta quantum memory_limit ecn ecn_prob bytemode max_burst \
         derandomize",
    ),
    ("sfq", "perturb quantum depth divisor headdrop flows"),
    ("cake", "bandwidth rtt overhead mpu split-gso ack-filter"),
    ("choke", "min max probability burst bandwidth ecn"),
    ("tbf", "rate burst latency peakrate mtu"),
    ("policer", "rate burst"),
    (
        "dualpi2",
        "target tupdate alpha beta coupling_factor step_thresh ramp classic_protection tshift",
    ),
];

/// Name, MSS, what a full packet has beyond it, and whether queues stay below their limit. The
/// profiles that give the names their meaning are tested against this.
const STACKS: &[(&str, u32, u32, bool)] = &[
    ("linux-6.12", 1460, 54, false),
    ("rfc", 1460, 40, false),
    ("ns2", 1000, 40, true),
    ("ns3-3.1x", 536, 54, true),
];
