//! From the names in a scenario to a stack: profile, kernel settings, form of recovery.

use std::sync::Arc;

use cclab_cc::{Arithmetic, RecoveryName, Variant};
use cclab_spec::{Flow, Scenario};
use cclab_tcp::ReceiverConfig;
use cclab_tcp::profile::{self, DefaultRwnd, Profile, Recovery};

/// The profiles in use: flows that behave alike have one in common, so that it costs memory
/// and cache once.
#[derive(Default)]
pub struct Profiles {
    known: Vec<Arc<Profile>>,
    /// How receivers answer.
    answers: Vec<Arc<ReceiverConfig>>,
}

impl Profiles {
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

/// A kernel setting that the simulator models: its name, and what a value of it does to a
/// profile. `None`: the value makes no sense.
struct Setting {
    name: &'static str,
    apply: fn(&mut Profile, &str) -> Option<()>,
}

/// Every kernel setting that the simulator models.
const SETTINGS: &[Setting] = &[
    Setting {
        name: "net.ipv4.tcp_sack",
        apply: |profile, value| {
            profile.wire.sack = switch(value)?;
            if !profile.wire.sack {
                profile.recovery = Recovery::NewReno;
            }
            Some(())
        },
    },
    Setting {
        name: "net.ipv4.tcp_timestamps",
        apply: |profile, value| {
            // 2: without an offset for each connection, which the simulator's clocks never have.
            profile.wire.timestamps = value == "2" || switch(value)?;
            Some(())
        },
    },
    Setting {
        name: "net.ipv4.tcp_window_scaling",
        apply: |profile, value| {
            profile.wire.window_scaling = switch(value)?;
            Some(())
        },
    },
    Setting {
        name: "net.ipv4.tcp_slow_start_after_idle",
        apply: |profile, value| {
            profile.idle_restart = switch(value)?;
            Some(())
        },
    },
    Setting {
        name: "net.ipv4.tcp_moderate_rcvbuf",
        apply: |profile, value| {
            let moderated = switch(value)?;
            if let DefaultRwnd::Growing(buffer) = &mut profile.default_rwnd {
                buffer.moderated = moderated;
            }
            Some(())
        },
    },
    Setting {
        // Every run begins without metrics of earlier ones.
        name: "net.ipv4.tcp_no_metrics_save",
        apply: |_, value| switch(value)?.then_some(()),
    },
    Setting {
        name: "net.ipv4.tcp_rmem",
        apply: |profile, value| {
            if let DefaultRwnd::Growing(buffer) = &mut profile.default_rwnd {
                let [_, initial, most] = sizes(value)?;
                (buffer.initial, buffer.most) = (initial.min(most), most);
            }
            Some(())
        },
    },
    Setting {
        name: "net.ipv4.tcp_wmem",
        apply: |profile, value| {
            let most = maximum(value)?;
            match &mut profile.send_buffer {
                Some(buffer) => buffer.most = most,
                None => profile.sndbuf = most,
            }
            Some(())
        },
    },
    Setting {
        // Without RACK: the scoreboard of RFC 6675, where a retransmission that is lost waits
        // for the timeout. The kernel then still has its tail loss probes.
        name: "net.ipv4.tcp_recovery",
        apply: |profile, value| {
            if !switch(value)? && profile.recovery == Recovery::RackPrr {
                profile.recovery = Recovery::Sack;
            }
            Some(())
        },
    },
    Setting {
        name: "net.ipv4.tcp_tso_win_divisor",
        apply: |profile, value| {
            // The kernel's is one byte; 0 is another rule there, which is not modelled.
            let part = value.parse().ok().filter(|&part: &u8| part > 0)?;
            if let Some(bursts) = &mut profile.bursts {
                bursts.part_of_window = u64::from(part);
            }
            Some(())
        },
    },
];

fn switch(value: &str) -> Option<bool> {
    match value {
        "0" | "false" => Some(false),
        "1" | "true" => Some(true),
        _ => None,
    }
}

/// The last of "min default max".
fn maximum(value: &str) -> Option<u64> {
    sizes(value).map(|[_, _, most]| most)
}

/// "min default max".
fn sizes(value: &str) -> Option<[u64; 3]> {
    let parse = |word: &str| word.parse().ok().filter(|&bytes| bytes > 0);
    let sizes: Option<Vec<u64>> = value.split_whitespace().map(parse).collect();
    sizes?.try_into().ok()
}

/// Names of the kernel settings that the simulator models.
pub fn settings() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}

/// Why the simulator cannot honour a kernel setting; `None` if it can.
pub fn unsupported_setting(name: &str, value: &str) -> Option<String> {
    let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
        let known: Vec<&str> = settings().collect();
        return Some(format!(
            "kernel setting {name} (modelled: {})",
            known.join(", ")
        ));
    };
    let mut scratch = profile::PROFILES[0].clone();
    match (setting.apply)(&mut scratch, value) {
        Some(()) => None,
        None => Some(format!("kernel setting {name} = {value}")),
    }
}

/// The profile of `flow`: the scenario's, with the flow's kernel settings.
pub fn profile_of(scenario: &Scenario, flow: &Flow) -> Profile {
    let mut profile = profile::find(&scenario.stack)
        .expect("unknown stacks are refused before a run")
        .clone();
    for (name, value) in &flow.sysctl {
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        let applied = setting.and_then(|setting| (setting.apply)(&mut profile, value));
        applied.expect("settings that are not modelled are refused before a run");
    }
    profile
}

/// The form of recovery that `variant` gets on the stack of `profile`.
pub fn recovery_of(variant: &Variant, profile: &Profile) -> Recovery {
    let own = match variant.recovery {
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
