//! Which backend does what of a scenario.

use cclab_spec::{Baseline, By, Language, Scenario, VariantFile};
use cclab_testbed::Target;

/// Every backend.
pub const BACKENDS: [&str; 3] = ["sim", "linux", "netns"];

/// A key of a study and what a backend does not do of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The key.
    pub path: String,
    /// What is not done of it.
    pub what: String,
}

/// The networks of backend `linux`: how someone asks for them who is there, and who is elsewhere.
const NETWORKS: [(By, &str, &str); 2] = [
    (
        By::Simulator,
        "network.by = \"simulator\"",
        "linux with network.by = \"simulator\"",
    ),
    (
        By::Kernel,
        "network.by = \"kernel\"",
        "linux with network.by = \"kernel\"",
    ),
];

/// What else than `backend` could run `scenario`, each with the keys of what it does not do of it.
pub(crate) fn others(scenario: &Scenario, backend: &str) -> Vec<(&'static str, Vec<String>)> {
    let refused = |scenario: &Scenario, backend: &str| {
        let reasons = unsupported(scenario, backend).into_iter();
        let paths = reasons.map(|reason| reason.path);
        paths.chain(disregarded(scenario, backend)).collect()
    };
    let backends = BACKENDS.into_iter().filter(|other| *other != backend);
    let mut found: Vec<_> = backends
        .map(|other| (other, refused(scenario, other)))
        .collect();
    for (by, key, backend_and_key) in NETWORKS {
        if Target::in_guest(scenario) != Target::on(by) {
            let mut between = scenario.clone();
            between.network.by = Some(by);
            let told = match backend {
                "linux" => key,
                _ => backend_and_key,
            };
            found.push((told, refused(&between, "linux")));
        }
    }
    found
}

/// Those of `others` that refuse neither the key `path`, nor what it is a part of, nor a part of
/// it. A network is told of only where the backend does not do it without.
pub(crate) fn doing(others: &[(&'static str, Vec<String>)], path: &str) -> Vec<&'static str> {
    let within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let does = |refused: &Vec<String>| {
        let touches = |other: &String| within(path, other) || within(other, path);
        !refused.iter().any(touches)
    };
    let doing = others.iter().filter(|(_, refused)| does(refused));
    let mut names: Vec<_> = doing.map(|(name, _)| *name).collect();
    if names.contains(&"linux") {
        let is_backend_and_key = |name: &&str| NETWORKS.iter().any(|network| network.2 == *name);
        names.retain(|name| !is_backend_and_key(name));
    }
    names
}

/// The backends that find nothing in `scenario` that they do not do; where only one network of
/// backend `linux` does it, with the key that asks for that.
pub fn doing_all(scenario: &Scenario) -> Vec<&'static str> {
    let does = |scenario: &Scenario, backend: &str| unsupported(scenario, backend).is_empty();
    let on = |by| {
        let mut there = scenario.clone();
        there.network.by = Some(by);
        does(&there, "linux")
    };
    let one = |backend| match does(scenario, backend) {
        true => Some(backend),
        false if backend == "linux" => NETWORKS
            .into_iter()
            .find_map(|(by, _, backend_and_key)| on(by).then_some(backend_and_key)),
        false => None,
    };
    BACKENDS.into_iter().filter_map(one).collect()
}

/// The keys of `scenario` that `backend` takes no notice of, though it runs the scenario.
pub(crate) fn disregarded(scenario: &Scenario, backend: &str) -> Vec<String> {
    match backend {
        "sim" => cclab_sim::disregarded(scenario),
        _ => Vec::new(),
    }
}

/// Whether the simulator runs variants of files like `file`.
fn runs(file: &VariantFile) -> bool {
    match file.language {
        Language::C | Language::Python | Language::Rust => true,
    }
}

/// What `backend` does not do of `scenario`.
pub fn unsupported(scenario: &Scenario, backend: &str) -> Vec<Reason> {
    let on_kernel = |guest| {
        let reasons = cclab_linux::unsupported(scenario, guest).into_iter();
        reasons.map(|reason| (reason.path, reason.what)).collect()
    };
    let found: Vec<(String, String)> = match backend {
        "linux" => on_kernel(true),
        "netns" => on_kernel(false),
        _ => cclab_sim::unsupported_but_files(scenario, &runs)
            .into_iter()
            .map(|reason| (reason.path, reason.what))
            .collect(),
    };
    let reason = |(path, what)| Reason { path, what };
    found.into_iter().map(reason).collect()
}

/// What `backend` does not do of the runs that the flows of `scenario` are compared with, though it does
/// that itself: a change may wait for a state of the variant that another takes the place of.
pub(crate) fn unsupported_beside(
    scenario: &Scenario,
    baselines: &[Baseline],
    backend: &str,
) -> Vec<Reason> {
    let mut found: Vec<Reason> = Vec::new();
    if scenario.whens().is_empty() {
        return found;
    }
    let of_all = baselines.iter().flat_map(|baseline| {
        let flows = scenario.flows.iter().enumerate();
        flows.filter_map(|(index, flow)| Some((flow, baseline.of(scenario, index)?)))
    });
    for (flow, other) in of_all {
        for Reason { path, what } in unsupported(&other, backend) {
            let what = format!(
                "{what}, in the run that {} is compared with among its own kind (leave \"self\" out of \
                 `baselines`, and checks of what needs it)",
                flow.name
            );
            let reason = Reason { path, what };
            if !found.contains(&reason) {
                found.push(reason);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others_with(paths: [(&'static str, &[&str]); 3]) -> Vec<(&'static str, Vec<String>)> {
        let owned = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect();
        paths.map(|(name, paths)| (name, owned(paths))).into()
    }

    #[test]
    fn a_backend_that_refuses_a_part_or_the_whole_of_a_key_does_not_do_it() {
        let others = others_with([
            ("linux", &["network.bottleneck"]),
            ("netns", &["network.bottleneck.loss.model"]),
            ("sim", &["network.bottleneck.lossy"]),
        ]);
        assert_eq!(doing(&others, "network.bottleneck.loss"), ["sim"]);
        assert_eq!(doing(&others, "flow.a.cc"), ["linux", "netns", "sim"]);
    }

    #[test]
    fn a_network_of_linux_is_named_only_where_linux_does_not_do_it_without() {
        let [(_, key, elsewhere), _] = NETWORKS;
        let others = others_with([("linux", &["flow"]), (key, &[]), (elsewhere, &[])]);
        assert_eq!(doing(&others, "flow.a"), [key, elsewhere]);
        let others = others_with([("linux", &[]), (key, &[]), (elsewhere, &[])]);
        assert_eq!(doing(&others, "flow.a"), ["linux", key]);
    }
}
