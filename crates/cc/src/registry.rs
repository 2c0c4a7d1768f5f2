//! The one list of variants.

use crate::variant::Variant;
use crate::{
    Config, CongestionControl, adaptive_a, adaptive_b, bbr, bbr3, bic, constant_rate, copa, cubic,
    dctcp, delay_trend, highspeed, htcp, hybla, illinois, ledbat_plus_plus, linear_rate, lp,
    newreno, reno, sack, scalable, tahoe, vegas, veno, westwood, yeah,
};

/// Every variant of the simulator.
pub static VARIANTS: &[Variant] = &[
    tahoe::VARIANT,
    reno::VARIANT,
    newreno::VARIANT,
    sack::VARIANT,
    cubic::VARIANT,
    highspeed::VARIANT,
    scalable::VARIANT,
    bic::VARIANT,
    htcp::VARIANT,
    lp::VARIANT,
    linear_rate::VARIANT,
    constant_rate::VARIANT,
    adaptive_a::VARIANT,
    adaptive_b::VARIANT,
    delay_trend::VARIANT,
    vegas::VARIANT,
    veno::VARIANT,
    westwood::VARIANT,
    hybla::VARIANT,
    illinois::VARIANT,
    yeah::VARIANT,
    dctcp::VARIANT,
    bbr::VARIANT,
    bbr3::VARIANT,
    copa::VARIANT,
    ledbat_plus_plus::VARIANT,
];

/// The variant called `name`.
pub fn find(name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|v| v.name == name)
}

/// The variant called `name` at the start of a connection; `None` if there is none of that
/// name.
pub fn build(name: &str, config: &Config) -> Option<Box<dyn CongestionControl>> {
    find(name).map(|v| (v.build)(config))
}
