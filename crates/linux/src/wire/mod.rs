//! Hosts of kernels on our own network: guests whose network devices lead into `net`, which is their
//! clock as well.

mod frames;
mod guest;
mod memory;
mod world;

use std::path::Path;

use cclab_harvest::Beside;
use cclab_layout::{Layout, NodeId};
use cclab_spec::Run;
use cclab_testbed::{Orders, devices};
use cclab_trace::{Progress, Recorder};

use crate::RunError;
use crate::process::{Ended, Limits};
use frames::ETHERNET;
use guest::Guest;
use memory::Memory;
use world::World;

/// Where the guest finds its clock, in its folder.
pub const SOCKET: &str = "wire";
/// Bytes of the largest packet where no flow's are larger, without framing.
const MTU: usize = 1500;

/// The wire of the only guest of a run.
pub struct Wire {
    memory: Memory,
    zero: u64,
}

impl Wire {
    /// A wire for the hosts of `orders`.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(orders: &Orders) -> Result<Wire, RunError> {
        let devices = orders.namespaces.len() as u32;
        let memory = Memory::new(devices, 1, ETHERNET + MTU.max(9000));
        Ok(Wire {
            memory: memory.map_err(RunError::io("wire"))?,
            zero: orders.zero.unwrap_or(0),
        })
    }

    /// What a guest is told of it on its command line.
    pub fn argument(&self) -> String {
        format!("wire={}:{SOCKET}", self.memory.path())
    }

    /// Boots the guest with `command` in the folder `raw`, and carries `run` out.
    ///
    /// # Errors
    /// If the guest dies or stands still, and if the run is cancelled.
    pub fn carry(
        self,
        run: &Run,
        raw: &Path,
        command: std::process::Command,
        limits: Limits,
        recorder: &mut Recorder,
        progress: &Progress,
    ) -> Result<(Ended, Beside), RunError> {
        let place = raw.join(SOCKET);
        let guest = Guest::boot(self.memory, command, &place, self.zero, limits, progress)?;
        let mut guests = [guest];
        let layout = Layout::of(&run.scenario);
        let devices = devices(&layout);
        let hosts = |node: NodeId| (0, devices[&node]);
        let world = World::new(
            &run.scenario,
            &layout,
            run.seed,
            &mut guests,
            &hosts,
            recorder,
        );
        let beside = world.run(progress)?;
        let [guest] = guests;
        Ok((guest.finish(progress)?, beside))
    }
}
