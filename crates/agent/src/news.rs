//! What happens on other machines of the run, as the network tells it.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use cclab_testbed::orders::News;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{MsgFlags, recv};

use crate::failure::{During, Step, failure};
use crate::offload;
use crate::sys;

/// The device by which the agent is told.
pub struct Hearing(OwnedFd);

impl Hearing {
    /// Listens at the `device` of the wire, which stays in the agent's own namespace.
    pub fn open(device: u32) -> Step<Hearing> {
        let step = "news of other machines";
        let name = format!("eth{device}");
        offload::up(&name).during(step)?;
        let index = if_nametoindex(name.as_str()).during(step)?;
        let socket = sys::packet_socket(index, News::ETHERTYPE).during(step)?;
        Ok(Hearing(socket))
    }

    /// What waits there; to be asked when something does.
    pub fn hear(&self) -> Step<News> {
        let step = "news of other machines";
        let mut payload = [0; 64];
        let len = recv(self.0.as_raw_fd(), &mut payload, MsgFlags::empty()).during(step)?;
        News::read(&payload[..len]).ok_or_else(|| failure(step, "a frame that says nothing"))
    }
}

impl AsFd for Hearing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
