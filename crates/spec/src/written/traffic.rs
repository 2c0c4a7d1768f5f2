//! Cross traffic as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Params, placed_table};
use crate::de::At;
use crate::names;
use crate::text::{SizeText, TimeText};

placed_table! {
    /// Cross traffic, with the parameters of its kind beside it.
    #[schemars(!deny_unknown_fields)]
    Traffic {
        /// Unique name, which no flow has. Default: "traffic1", "traffic2", ...
        name: Option<At<String>>,
        /// What it is: "constant-rate", "on-off", "random", "ping-flood", "poisson",
        /// "request-response" or "telnet".
        kind: At<String>,
        /// When it begins. Default: "0s".
        start: Option<At<TimeText>>,
        /// When it ends. Default: with the run.
        stop: Option<At<TimeText>>,
        /// The variant, of kinds that are TCP. Default: "cubic".
        #[schemars(extend("anyOf" = names::variants()))]
        cc: Option<At<String>>,
        /// Parameters of the variant.
        #[serde(default)]
        cc_params: Params,
        /// Bytes of each transfer (poisson, request-response).
        transfer: Option<At<SizeText>>,
        /// The distribution of the sizes of transfers (poisson, request-response).
        sizes: Option<At<Sizes>>,
        /// The source whose arrivals and sizes it has as well, each at the same instant (poisson).
        twin_of: Option<At<String>>,
        /// Parameters of the kind.
        #[schemars(flatten)]
        params: Params,
    }
}

/// How large transfers are.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { kind = \"lognormal\", mean = \"30kB\", sigma = 1.5 }"
)]
pub(crate) struct Sizes {
    /// The distribution: "lognormal", "pareto" or "empirical".
    pub kind: At<String>,
    /// Mean (lognormal, pareto).
    pub mean: Option<SizeText>,
    /// Standard deviation of the logarithm (lognormal).
    pub sigma: Option<f64>,
    /// Exponent of the tail, above 1 (pareto).
    pub shape: Option<f64>,
    /// File of lines `size,cdf`, bytes and cumulative shares, beside the study (empirical).
    pub file: Option<At<String>>,
}
