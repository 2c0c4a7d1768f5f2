//! The one list of variants.

use crate::variant::Variant;
use crate::{Config, CongestionControl};

/// Every variant that there is, on whichever backend.
pub static VARIANTS: &[Variant] = &[
    crate::tahoe::VARIANT,
    crate::reno::VARIANT,
    crate::newreno::VARIANT,
    crate::sack::VARIANT,
    crate::cubic::VARIANT,
    crate::highspeed::VARIANT,
    crate::scalable::VARIANT,
    crate::bic::VARIANT,
    crate::htcp::VARIANT,
    crate::lp::VARIANT,
    crate::linear_rate::VARIANT,
    crate::constant_rate::VARIANT,
    crate::adaptive_a::VARIANT,
    crate::adaptive_b::VARIANT,
    crate::delay_trend::VARIANT,
    crate::unresponsive::VARIANT,
    crate::vegas::VARIANT,
    crate::veno::VARIANT,
    crate::westwood::VARIANT,
    crate::hybla::VARIANT,
    crate::illinois::VARIANT,
    crate::yeah::VARIANT,
    crate::dctcp::VARIANT,
    crate::prague::VARIANT,
    crate::bbr::VARIANT,
    crate::bbr3::VARIANT,
    crate::copa::VARIANT,
    crate::ledbat_plus_plus::VARIANT,
    crate::nv::VARIANT,
    crate::cdg::VARIANT,
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
