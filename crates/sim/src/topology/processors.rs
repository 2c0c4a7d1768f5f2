//! Hosts and routers whose processor is the limit: so many packets per second, whatever their
//! size, both directions together.
//!
//! A processor is a link without delay that takes the same time for every packet; the routes of
//! both directions lead over it.

use cclab_qdisc::{Config as QueueConfig, Limit};
use cclab_units::Time;
use cclab_units::parameter::Params;

use super::Builder;

/// Packets that may wait for a host's processor: `net.core.netdev_max_backlog` of Linux.
pub(super) const HOST_BACKLOG: u64 = 1000;

impl Builder<'_> {
    /// A processor that handles `packet_rate` packets per second while `backlog` may wait.
    pub(super) fn processor(&mut self, name: String, packet_rate: u64, backlog: u64) -> u32 {
        let config = QueueConfig {
            limit: Limit::Packets(backlog),
            limit_is_exclusive: false,
            rate: None,
            params: Params::defaults(&[]),
        };
        let queue = cclab_qdisc::build("droptail", &config).expect("droptail is registered");
        let index = self.add(name, None, Time::ZERO, queue);
        self.network.links[index as usize].pace_packets(packet_rate);
        index
    }

    /// The processors of the routers, in a row, if the scenario limits them.
    pub(super) fn routers(&mut self) -> Vec<u32> {
        let Some(router) = self.scenario.network.router else {
            return Vec::new();
        };
        let count = self.scenario.network.bottlenecks + 1;
        (1..=count)
            .map(|number| self.processor(format!("r{number}"), router.packet_rate, router.backlog))
            .collect()
    }
}

/// `route` with the processors of the `routers` that it passes, of which there may be none.
/// Bottleneck `k`, links `2k` and `2k + 1`, lies between routers `k` and `k + 1`.
pub(super) fn through_routers(route: &[u32], routers: &[u32]) -> Vec<u32> {
    let mut through = Vec::new();
    for &link in route {
        let number = link as usize / 2;
        if number + 1 >= routers.len() {
            through.push(link); // no bottleneck
            continue;
        }
        let (before, behind) = match link % 2 {
            0 => (routers[number], routers[number + 1]),
            _ => (routers[number + 1], routers[number]),
        };
        if through.last() != Some(&before) {
            through.push(before);
        }
        through.extend([link, behind]);
    }
    through
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_router_on_the_way_is_passed_once() {
        // Two bottlenecks (0 to 3), three routers (10 to 12), access links from 4 on.
        let routers = [10, 11, 12];
        assert_eq!(
            through_routers(&[4, 0, 2, 6], &routers),
            [4, 10, 0, 11, 2, 12, 6]
        );
        assert_eq!(
            through_routers(&[7, 3, 1, 5], &routers),
            [7, 12, 3, 11, 1, 10, 5]
        );
        assert_eq!(through_routers(&[4, 2, 6], &routers), [4, 11, 2, 12, 6]);
        assert_eq!(through_routers(&[4, 0, 2, 6], &[]), [4, 0, 2, 6]);
    }
}
