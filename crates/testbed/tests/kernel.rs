//! The kernel of the linux backend is configured with what is declared, and with no variant or
//! discipline that nobody declares. Its file is one of the inputs that name a kernel, so it stays
//! as it is written and is compared here.

use std::collections::BTreeSet;

use cclab_testbed::{PARTS, probes};

const FRAGMENT: &str = include_str!("../../../python/cclab/kernel/fragment.config");

/// Options of the kernel that begin with `prefix`, without those that `but` names.
fn configured(prefix: &str, but: &[&str]) -> BTreeSet<&'static str> {
    FRAGMENT
        .lines()
        .filter_map(|line| line.strip_suffix("=y"))
        .filter(|symbol| symbol.starts_with(prefix) && !but.contains(symbol))
        .collect()
}

#[test]
fn it_has_the_variants_that_are_declared() {
    let declared = cclab_cc::of_kernel().filter_map(|variant| variant.kernel?.symbol());
    // The menu that the variants are in.
    let menu = ["CONFIG_TCP_CONG_ADVANCED"];
    assert_eq!(
        configured("CONFIG_TCP_CONG_", &menu),
        declared.collect::<BTreeSet<_>>()
    );
}

#[test]
fn it_has_the_disciplines_that_are_declared_and_those_of_links() {
    let declared = probes().filter_map(|probe| probe.part.symbol());
    let parts: BTreeSet<&str> = PARTS.iter().filter_map(|part| part.part.symbol()).collect();
    let all = configured("CONFIG_", &[]);
    assert!(parts.is_subset(&all), "{parts:?}");
    // For what people try in a guest by hand; no study has them.
    let by_hand = [
        "CONFIG_NET_SCH_PRIO",
        "CONFIG_NET_SCH_GRED",
        "CONFIG_NET_SCH_ETS",
    ];
    let mut disciplines = configured("CONFIG_NET_SCH_", &by_hand);
    disciplines.retain(|symbol| !parts.contains(symbol));
    assert_eq!(disciplines, declared.collect::<BTreeSet<_>>());
}
