//! Flows as the agent is told of them.

use cclab_packet::{address, port};
use cclab_spec::Scenario;

use crate::network::Network;
use crate::orders::{Flow, Work};
use crate::program;
use crate::route::MAX_WINDOW;

/// The flow at `index` of `scenario` in the run with `seed`.
pub(crate) fn flow(scenario: &Scenario, network: &Network<'_>, index: usize, seed: u64) -> Flow {
    let spec = &scenario.flows[index];
    let (sender, receiver) = network.paths[index].ends();
    let start = spec.start_time(seed);
    let bulk = || Work::Bulk {
        transfer: spec.transfer,
        duration: spec.duration,
        write_size: spec.write_size,
        writes_per_second: spec.writes_per_second,
    };
    let number = index as u32;
    Flow {
        name: spec.name.clone(),
        cc: spec.cc.clone(),
        sender: sender.namespace,
        receiver: receiver.namespace,
        source: address(number, false),
        source_port: port(number, false),
        destination: address(number, true),
        destination_port: port(number, true),
        start,
        rwnd: spec.rwnd.map(|rwnd| rwnd.min(MAX_WINDOW)),
        sndbuf: spec.sndbuf,
        work: program::work(scenario, index, start).unwrap_or_else(bulk),
    }
}
