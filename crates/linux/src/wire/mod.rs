//! Hosts of kernels on our own network: guests whose network devices lead into `net`, which is their
//! clock as well.

mod datagrams;
mod frames;
mod guest;
mod memory;
mod sight;
mod world;

use std::path::Path;

use cclab_harvest::Beside;
use cclab_layout::Layout;
use cclab_spec::Run;
use cclab_testbed::{Machine, Orders, orders};
use cclab_trace::{Progress, Recorder};

use cclab_units::Time;

use crate::RunError;
use crate::guest::BOOT_TIME_NS;
use crate::process::Ended;
use datagrams::Datagrams;
use frames::ETHERNET;
use guest::Guest;
pub use guest::Start;
use memory::Memory;
use world::{Hosts, Place, Records, World};

/// The wire of a guest.
pub struct Wire {
    memory: Memory,
    zero: u64,
}

/// A guest of a run.
pub struct Part<'a> {
    /// What it is of the run.
    pub machine: &'a Machine,
    /// Its wire.
    pub wire: Wire,
    /// How it is started.
    pub start: Start,
}

impl Wire {
    /// A wire for the hosts of `orders`.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(orders: &Orders) -> Result<Wire, RunError> {
        let orders::Wire {
            zero, mtu, news, ..
        } = orders.wire.expect("orders for hosts on a wire");
        let devices = orders.namespaces.len() as u32 + u32::from(news.is_some());
        let memory = Memory::new(devices, ETHERNET + mtu as usize);
        Ok(Wire {
            memory: memory.map_err(RunError::io("wire"))?,
            zero,
        })
    }

    /// The name of its memory for other processes, as long as it is there.
    pub fn path(&self) -> String {
        self.memory.path()
    }
}

/// Boots the guests that are `parts` of `run`, all at a time, and carries it out by its `orders`.
/// Hosts run ahead of the network no longer than `window`; what is seen there of datagrams lies in
/// the folder `raw`. How each guest ended, and what the network did.
///
/// # Errors
/// If a guest dies or stands still, and if the run is cancelled.
pub fn carry(
    run: &Run,
    orders: &Orders,
    parts: Vec<Part<'_>>,
    window: Option<Time>,
    raw: &Path,
    recorder: &mut Recorder,
    progress: &Progress,
) -> Result<(Vec<Ended>, Beside), RunError> {
    let layout = Layout::of(&run.scenario);
    let hosts = hosts(orders, &parts);
    let zero = orders.wire.expect("orders for hosts on a wire").zero;
    let each = parts.into_iter();
    let started = each.map(|part| Guest::start(part.wire.memory, part.start, part.wire.zero));
    let mut guests = started.collect::<Result<Vec<Guest>, RunError>>()?;
    for guest in &mut guests {
        guest.boot(progress)?;
    }
    let mut world = World::new(
        &run.scenario,
        &layout,
        run.seed,
        &mut guests,
        &hosts,
        Records {
            recorder,
            datagrams: Datagrams::create(orders, raw)?,
            realtime_zero: BOOT_TIME_NS + zero,
        },
    );
    if let Some(window) = window {
        world.move_at_most(window);
    }
    let (beside, datagrams) = world.run(progress)?;
    datagrams.finish(raw)?;
    let ended = guests.into_iter().map(|guest| guest.finish(progress));
    Ok((ended.collect::<Result<_, RunError>>()?, beside))
}

/// Where the hosts of the run by `orders` are in `parts`: a host's device has its number.
fn hosts(orders: &Orders, parts: &[Part<'_>]) -> Hosts {
    let behind = orders.flows.len();
    let nowhere = Place {
        guest: 0,
        device: 0,
    };
    let mut places = vec![[nowhere; 2]; behind + orders.probes.len()];
    for (guest, part) in parts.iter().enumerate() {
        let Machine {
            orders,
            flows,
            probes,
            ..
        } = part.machine;
        let ends = orders.flows.iter().map(|one| [one.sender, one.receiver]);
        let asked = orders.probes.iter().map(|one| [one.sender, one.receiver]);
        let probes = probes.iter().map(|index| behind + index);
        let numbers = flows.iter().copied().chain(probes);
        for (number, ends) in numbers.zip(ends.chain(asked)) {
            places[number] = ends.map(|host| Place {
                guest,
                device: host as u32,
            });
        }
    }
    let news = |part: &Part<'_>| part.machine.orders.wire.and_then(|wire| wire.news);
    Hosts {
        places,
        news: parts.iter().map(news).collect(),
        with_flows: parts
            .iter()
            .filter(|part| !part.machine.flows.is_empty())
            .count(),
    }
}
