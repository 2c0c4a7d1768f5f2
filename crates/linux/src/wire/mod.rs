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
use cclab_testbed::{Orders, device, orders};
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
use world::{Records, World};

/// Where the guest finds its clock, in its folder.
pub const SOCKET: &str = "wire";

/// The wire of the only guest of a run.
pub struct Wire {
    memory: Memory,
    zero: u64,
    window: Option<Time>,
}

impl Wire {
    /// A wire for the hosts of `orders`, who run ahead no longer than `window`.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(orders: &Orders, window: Option<Time>) -> Result<Wire, RunError> {
        let orders::Wire { zero, mtu, .. } = orders.wire.expect("orders for hosts on a wire");
        let devices = orders.namespaces.len() as u32;
        let memory = Memory::new(devices, ETHERNET + mtu as usize);
        Ok(Wire {
            memory: memory.map_err(RunError::io("wire"))?,
            zero,
            window,
        })
    }

    /// What a guest is told of it on its command line.
    pub fn argument(&self) -> String {
        format!("wire={}:{SOCKET}", self.memory.path())
    }

    /// Boots the guest in the folder `raw`, and carries `run` out.
    ///
    /// # Errors
    /// If the guest dies or stands still, and if the run is cancelled.
    pub fn carry(
        self,
        run: &Run,
        orders: &Orders,
        raw: &Path,
        start: Start,
        recorder: &mut Recorder,
        progress: &Progress,
    ) -> Result<(Ended, Beside), RunError> {
        let place = raw.join(SOCKET);
        let guest = Guest::boot(self.memory, start, &place, self.zero, progress)?;
        let mut guests = [guest];
        let layout = Layout::of(&run.scenario);
        let hosts = |flow, receiver| (0, device(flow, receiver));
        let mut world = World::new(
            &run.scenario,
            &layout,
            run.seed,
            &mut guests,
            &hosts,
            Records {
                recorder,
                datagrams: Datagrams::create(orders, raw)?,
                realtime_zero: BOOT_TIME_NS + self.zero,
            },
        );
        if let Some(window) = self.window {
            world.move_at_most(window);
        }
        let (beside, datagrams) = world.run(progress)?;
        datagrams.finish(raw)?;
        let [guest] = guests;
        Ok((guest.finish(progress)?, beside))
    }
}
