//! The names that a study may use. It may name what the backend at hand does not have: the backend
//! refuses it at plan time. What nobody has is a spelling mistake, found here.

use cclab_cc::{Near, VARIANTS};
use cclab_qdisc::QDISCS;
use cclab_tcp::profile::PROFILES;
use cclab_units::parameter::{Parameter, Relation};

use serde_json::{Value as Json, json};

use crate::expect::Metrics;
use crate::traffic::TRAFFIC_KINDS;

/// Names that a study may use for variants, disciplines, stacks, cross traffic and metrics. The
/// default is what the registries declare, and no metrics: whoever measures registers those.
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
    pub params: Vec<Parameter>,
    /// What they have to do with each other.
    pub relations: Vec<Relation>,
    /// Names that nobody has and of which it is the nearest by meaning.
    pub near: &'static [Near],
}

impl Parametric {
    /// `name` with what is declared of it.
    pub fn new<'a>(
        name: &str,
        params: impl IntoIterator<Item = &'a Parameter>,
        relations: &[Relation],
    ) -> Parametric {
        Parametric {
            name: name.to_owned(),
            params: params.into_iter().copied().collect(),
            relations: relations.to_vec(),
            near: &[],
        }
    }

    /// The parameter called `name`.
    pub fn param(&self, name: &str) -> Option<&Parameter> {
        self.params.iter().find(|known| known.name == name)
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
        let variants = VARIANTS.iter();
        let qdiscs = QDISCS.iter();
        let traffic = TRAFFIC_KINDS.iter();
        Names {
            variants: variants
                .map(|v| Parametric {
                    near: v.near,
                    ..Parametric::new(v.name, v.params, v.relations)
                })
                .collect(),
            qdiscs: qdiscs
                .map(|d| Parametric::new(d.name, d.params_of_all(), d.relations))
                .collect(),
            stacks: PROFILES
                .iter()
                .map(|profile| Stack {
                    name: profile.name.to_owned(),
                    mss: profile.wire.mss,
                    overhead: profile.wire.overhead(),
                    limit_is_exclusive: profile.queue_limit_is_exclusive,
                })
                .collect(),
            traffic: traffic
                .map(|kind| Parametric::new(kind.name, kind.params, &[]))
                .collect(),
            metrics: Metrics::default(),
        }
    }
}

/// What the JSON Schema has where a variant is named: those that are built in, and paths of files.
pub(crate) fn variants() -> Json {
    let names: Vec<&str> = VARIANTS.iter().map(|variant| variant.name).collect();
    json!([{ "enum": names }, { "pattern": r"/|\.(c|rs)$|\.py(:|$)" }])
}

/// The disciplines that the JSON Schema lists.
pub(crate) fn qdiscs() -> Vec<&'static str> {
    QDISCS.iter().map(|discipline| discipline.name).collect()
}

/// The variant of a flow that names none: Linux's default.
pub(crate) const DEFAULT_VARIANT: &str = "cubic";
/// The stack of a study that names none.
pub(crate) const DEFAULT_STACK: &str = "linux-6.12";
/// The discipline of a queue that names none.
pub(crate) const DEFAULT_QDISC: &str = "droptail";
