//! The one list of variants.

use crate::variant::Variant;
use crate::{
    Config, CongestionControl, adaptive_a, adaptive_b, bbr, bbr3, bic, cdg, constant_rate, copa,
    cubic, dctcp, delay_trend, highspeed, htcp, hybla, illinois, ledbat_plus_plus, linear_rate, lp,
    newreno, nv, reno, sack, scalable, tahoe, vegas, veno, westwood, yeah,
};

/// Every variant that there is, on whichever backend.
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
    nv::VARIANT,
    cdg::VARIANT,
];

/// The variants of the simulator.
pub fn simulated() -> impl Iterator<Item = &'static Variant> + Clone {
    VARIANTS.iter().filter(|variant| variant.build.is_some())
}

/// The variants that a kernel has.
pub fn of_kernel() -> impl Iterator<Item = &'static Variant> + Clone {
    VARIANTS.iter().filter(|variant| variant.kernel.is_some())
}

/// The variant called `name`, whichever backend has it.
pub fn find(name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|v| v.name == name)
}

/// The variant of the simulator called `name`.
pub fn find_simulated(name: &str) -> Option<&'static Variant> {
    simulated().find(|v| v.name == name)
}

/// The variant called `name` at the start of a connection; `None` if the simulator has none of
/// that name.
pub fn build(name: &str, config: &Config) -> Option<Box<dyn CongestionControl>> {
    find(name)?.build.map(|build| build(config))
}
