//! Kernel settings that a profile honours, by their sysctl names.

use super::{DefaultRwnd, Profile, Recovery, ReorderingWindow};

/// A kernel setting that is modelled: its name, and what a value of it does to a profile. `None`:
/// the value makes no sense.
struct Setting {
    name: &'static str,
    apply: fn(&mut Profile, &str) -> Option<()>,
}

/// Every kernel setting that is modelled.
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
        // Bits: RACK, a window for reordering that never widens, and one that no count shortens.
        // Without RACK the segments SACKed above a hole are counted, and a retransmission that is
        // lost waits for the timeout.
        name: "net.ipv4.tcp_recovery",
        apply: |profile, value| {
            let bits = switch(value)
                .map(u8::from)
                .or_else(|| value.parse().ok().filter(|&bits: &u8| bits < 8))?;
            if bits & 1 == 0 && profile.recovery == Recovery::RackPrr {
                profile.recovery = Recovery::Sack;
            }
            profile.reordering_window = ReorderingWindow {
                widens: bits & 2 == 0,
                counts: bits & 4 == 0,
            };
            Some(())
        },
    },
    Setting {
        // 3 and 4 ask for tail loss probes; what 1 and 2 once asked for, no kernel has.
        name: "net.ipv4.tcp_early_retrans",
        apply: |profile, value| {
            let mode = value.parse().ok().filter(|&mode: &u8| mode <= 4)?;
            profile.tail_loss_probes = mode >= 3;
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

/// Names of the kernel settings that profiles honour.
pub fn settings() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}

impl Profile {
    /// Sets the kernel setting `name`; `None`, and nothing is changed, if it is not modelled or
    /// makes no sense of `value`.
    pub fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let setting = SETTINGS.iter().find(|setting| setting.name == name)?;
        (setting.apply)(self, value)
    }
}
