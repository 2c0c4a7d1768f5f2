//! Flows as the agent is told of them.

use cclab_packet::{address, port};
use cclab_spec::{self as spec, Application, Datagrams, Scenario};
use cclab_units::Time;

use crate::modules::name_in_kernel;
use crate::network::Network;
use crate::orders::{Dice, Flow, Work};
use crate::program;
use crate::route::MAX_WINDOW;
use crate::tap;

/// The flow at `index` of `scenario` in the run with `seed`; its datagrams are looked for if `tapped`.
pub(crate) fn flow(
    scenario: &Scenario,
    network: &Network<'_>,
    index: usize,
    seed: u64,
    tapped: bool,
) -> Flow {
    let spec = &scenario.flows[index];
    let (sender, receiver) = network.paths[index].ends();
    let start = spec.start_time(seed);
    let own = || match spec.udp {
        Some(source) => datagrams(scenario, spec, source, start, seed),
        None => Work::Bulk {
            transfer: spec.transfer,
            duration: spec.duration,
            write_size: spec.write_size,
            writes_per_second: spec.writes_per_second,
            nodelay: spec.nodelay,
            schedule: match &spec.application {
                Some(Application::Scheduled { schedule }) => schedule.clone(),
                _ => Vec::new(),
            },
        },
    };
    let number = index as u32;
    Flow {
        name: spec.name.clone(),
        cc: name_in_kernel(scenario, &spec.cc).into_owned(),
        sender: sender.namespace,
        receiver: receiver.namespace,
        source: address(number, false),
        source_port: port(number, false),
        destination: address(number, true),
        destination_port: port(number, true),
        start,
        rwnd: spec.rwnd.map(|rwnd| rwnd.min(MAX_WINDOW)),
        sndbuf: spec.sndbuf,
        taps: tap::taps(scenario, network, index).filter(|_| tapped),
        work: program::work(scenario, index, start).unwrap_or_else(own),
    }
}

/// The work of a flow over UDP that starts at `start`.
fn datagrams(
    scenario: &Scenario,
    flow: &spec::Flow,
    source: Datagrams,
    start: Time,
    seed: u64,
) -> Work {
    let stop = flow.duration.map(|duration| start + duration);
    Work::Datagrams {
        source,
        stop: stop.into_iter().chain(scenario.duration).min(),
        transfer: flow.transfer,
        dice: Dice {
            seed,
            name: format!("application {}", flow.name),
        },
    }
}
