//! From the names in a scenario to a stack: profile, kernel settings, form of recovery.

use std::sync::Arc;

use cclab_cc::{Arithmetic, RecoveryName, Variant};
use cclab_spec::{Flow, Scenario};
use cclab_tcp::ReceiverConfig;
pub use cclab_tcp::profile::settings;
use cclab_tcp::profile::{self, Profile, Recovery};

use crate::own::OwnVariants;

/// The profiles in use: flows that behave alike have one in common, so that it costs memory
/// and cache once.
#[derive(Default)]
pub struct Profiles {
    known: Vec<Arc<Profile>>,
    /// How receivers answer.
    answers: Vec<Arc<ReceiverConfig>>,
    /// The variants of the scenario's own files.
    pub own: OwnVariants,
}

impl Profiles {
    /// None yet, of flows whose variants of files are `own`.
    pub fn new(own: OwnVariants) -> Profiles {
        Profiles {
            own,
            ..Profiles::default()
        }
    }

    /// `profile`, shared with the flows that have it already.
    pub fn share(&mut self, profile: Profile) -> Arc<Profile> {
        share(&mut self.known, profile)
    }

    /// `answers`, shared with the receivers that have it already.
    pub fn share_answers(&mut self, answers: ReceiverConfig) -> Arc<ReceiverConfig> {
        share(&mut self.answers, answers)
    }
}

fn share<T: PartialEq>(known: &mut Vec<Arc<T>>, value: T) -> Arc<T> {
    if let Some(known) = known.iter().find(|known| ***known == value) {
        return Arc::clone(known);
    }
    let new = Arc::new(value);
    known.push(Arc::clone(&new));
    new
}

/// Why the simulator cannot honour a kernel setting; `None` if it can.
pub fn unsupported_setting(name: &str, value: &str) -> Option<String> {
    if !settings().any(|known| known == name) {
        let known: Vec<&str> = settings().collect();
        return Some(format!(
            "kernel setting {name} (modelled: {})",
            known.join(", ")
        ));
    }
    match profile::PROFILES[0].clone().set(name, value) {
        Some(()) => None,
        None => Some(format!("kernel setting {name} = {value}")),
    }
}

/// The profile of `flow`: the scenario's, with the flow's kernel settings.
pub fn profile_of(scenario: &Scenario, flow: &Flow) -> Profile {
    cclab_layout::profile_of(scenario, flow).expect("unknown stacks are refused before a run")
}

/// The form of recovery that `variant` gets on the stack of `profile`; `None`: one of a file, which
/// takes the stack's.
pub fn recovery_of(variant: Option<&Variant>, profile: &Profile) -> Recovery {
    let own = match variant.and_then(|variant| variant.recovery) {
        // Tahoe is its recovery, on every stack.
        Some(RecoveryName::Tahoe) => Some(Recovery::Tahoe),
        Some(RecoveryName::Reno) if profile.classic_variants => Some(Recovery::Reno),
        Some(RecoveryName::NewReno) if profile.classic_variants => Some(Recovery::NewReno),
        Some(RecoveryName::Sack) if profile.classic_variants => Some(Recovery::Sack),
        // Where windows are counted as ns-2 counts them, Vegas finds losses as its agent does.
        Some(RecoveryName::Vegas) if profile.arithmetic == Arithmetic::PerAckSegments => {
            Some(Recovery::Vegas)
        }
        _ => None,
    };
    own.unwrap_or(profile.recovery)
}
