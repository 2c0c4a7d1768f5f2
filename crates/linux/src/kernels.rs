//! The kernels of a run, and which machine each of them is.

use std::path::PathBuf;

use cclab_spec::{Flow, Scenario};
use cclab_testbed::{Machine, Orders, disagree, is_machine_wide};

/// A kernel that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What a scenario calls it; `None`: the one used by default.
    pub called: Option<String>,
    /// What it is called where it was built.
    pub name: String,
    /// What it is made of: two kernels of one key are the same.
    pub key: String,
    /// Its program.
    pub path: PathBuf,
}

impl Kernel {
    /// The one used by default, which goes by the path of its program.
    pub fn at(path: PathBuf) -> Kernel {
        let name = path.to_string_lossy().into_owned();
        Kernel {
            called: None,
            key: name.clone(),
            name,
            path,
        }
    }
}

/// The machines of the run of `scenario` by `orders`, each with the one of `kernels` that it has. A
/// kernel that goes by two names is one machine, unless their flows ask for different settings of
/// the whole machine.
pub(crate) fn machines<'a>(
    scenario: &Scenario,
    orders: &Orders,
    kernels: &'a [Kernel],
) -> Result<Vec<(&'a Kernel, Machine)>, Option<String>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    for called in scenario.kernels() {
        let found = kernels.iter().find(|one| one.called.as_deref() == called);
        let kernel = found.ok_or_else(|| called.map(str::to_owned))?;
        let flows = scenario.flows.iter().enumerate();
        let flows = flows.filter(|(_, flow)| scenario.kernel_of(flow) == called);
        let flows: Vec<usize> = flows.map(|(index, _)| index).collect();
        let probes: Vec<usize> = match called == scenario.kernel.as_deref() {
            true => (0..orders.probes.len()).collect(),
            false => Vec::new(),
        };
        let fits = |part: &&mut Part<'_>| {
            let own = flows.iter().map(|&index| &scenario.flows[index]);
            part.kernel.key == kernel.key
                && part.agrees(scenario, own)
                && part.shares_modules(scenario, &flows)
        };
        match parts.iter_mut().find(fits) {
            Some(part) => {
                part.flows.extend(flows);
                part.probes.extend(probes);
            }
            None => parts.push(Part {
                kernel,
                flows,
                probes,
            }),
        }
    }
    if let [only] = parts.as_slice() {
        return Ok(vec![(only.kernel, Machine::whole(orders.clone()))]);
    }
    let machine = |mut part: Part<'a>| {
        part.flows.sort_unstable();
        let machine = Machine::part(scenario, orders, part.flows, part.probes);
        (part.kernel, machine)
    };
    Ok(parts.into_iter().map(machine).collect())
}

/// What a machine has of a run.
struct Part<'a> {
    kernel: &'a Kernel,
    flows: Vec<usize>,
    probes: Vec<usize>,
}

impl Part<'_> {
    /// Whether no module has other parameters for `others`.
    fn shares_modules(&self, scenario: &Scenario, others: &[usize]) -> bool {
        let apart = |&own: &usize| others.iter().any(|&other| disagree(scenario, own, other));
        !self.flows.iter().any(apart)
    }

    /// Whether no setting of the whole machine is another for `others`.
    fn agrees<'s>(&self, scenario: &'s Scenario, others: impl Iterator<Item = &'s Flow>) -> bool {
        let wide = |flow: &'s Flow| {
            let settings = flow.sysctl.iter();
            settings.filter(|(name, _)| is_machine_wide(name))
        };
        let own = || self.flows.iter().map(|&index| &scenario.flows[index]);
        others.flat_map(wide).all(|(name, value)| {
            let mut known = own().flat_map(wide).filter(|(known, _)| *known == name);
            known.all(|(_, known)| known == value)
        })
    }
}

#[cfg(test)]
mod tests {
    use cclab_spec::{Overrides, Study};
    use cclab_testbed::Target;

    use super::*;

    fn scenario(flows: &str) -> Scenario {
        let text = format!(
            "duration = \"1s\"\n[network.bottleneck]\nrate = \"1Mbit\"\ndelay = \"1ms\"\n\
             queue = {{ limit = \"10p\" }}\n{flows}"
        );
        let plan = Study::load(&text, "study.toml")
            .and_then(|study| study.plan(&Overrides::default(), &|_, _| String::new()));
        plan.expect("a good study")
            .scenarios
            .swap_remove(0)
            .scenario
    }

    fn kernel(called: Option<&str>, key: &str) -> Kernel {
        Kernel {
            called: called.map(str::to_owned),
            name: called.unwrap_or("6.12").to_owned(),
            key: key.to_owned(),
            path: PathBuf::from(key),
        }
    }

    fn flows_of_each(scenario: &Scenario, kernels: &[Kernel]) -> Vec<(String, Vec<usize>)> {
        let orders = cclab_testbed::orders(scenario, 1, Target::Wire);
        let machines = machines(scenario, &orders, kernels).expect("all kernels are there");
        let each = machines.into_iter();
        each.map(|(kernel, machine)| (kernel.key.clone(), machine.flows))
            .collect()
    }

    #[test]
    fn kernels_of_one_key_are_one_machine_unless_their_settings_differ() {
        let kernels = [
            kernel(None, "new"),
            kernel(Some("6.12"), "new"),
            kernel(Some("6.1"), "old"),
        ];
        let flow = |name: &str, keys: &str| format!("[[flow]]\nname = \"{name}\"\n{keys}\n");
        let study = |setting: &str| {
            let flows = [
                flow("a", "kernel = \"6.12\""),
                flow("b", "kernel = \"6.1\""),
                flow("c", setting),
            ];
            scenario(&flows.concat())
        };
        let alike = flows_of_each(&study(""), &kernels);
        let two = [("new", vec![0, 2]), ("old", vec![1])];
        assert_eq!(alike, two.map(|(key, flows)| (key.to_owned(), flows)));
        let mut apart = study("sysctl = { \"net.core.netdev_budget\" = 7 }");
        // What one of them leaves open is no contradiction.
        assert_eq!(flows_of_each(&apart, &kernels).len(), 2);
        let setting = ("net.core.netdev_budget".to_owned(), "8".to_owned());
        apart.flows[0].sysctl.extend([setting]);
        let three = [("new", vec![0]), ("old", vec![1]), ("new", vec![2])];
        assert_eq!(
            flows_of_each(&apart, &kernels),
            three.map(|(key, flows)| (key.to_owned(), flows))
        );
    }

    #[test]
    fn a_kernel_that_was_not_given_is_named() {
        let scenario = scenario("[[flow]]\nkernel = \"5.10\"\n");
        let orders = cclab_testbed::orders(&scenario, 1, Target::Wire);
        let kernels = [kernel(None, "new")];
        let lacking = machines(&scenario, &orders, &kernels);
        assert_eq!(lacking.err(), Some(Some("5.10".to_owned())));
    }
}
