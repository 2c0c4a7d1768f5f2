//! Which links may take packets ahead of their time.
//!
//! The access link behind a bottleneck is fed by the bottleneck alone, in order, and is at
//! least as fast: when a packet reaches the bottleneck's queue, its way to the host is known.
//! One event at the host is then enough, where there were two.

use std::collections::BTreeSet;

use crate::forwarding::{Forwarding, HOST};
use crate::link::Link;

/// Lets links feed the next ones ahead of time wherever that changes nothing. Links that hosts
/// send into are in `entries`.
///
/// All that a link leads to must allow it, and what is fed ahead does not feed ahead itself.
/// Impairments must be in their places before.
pub fn fuse(links: &mut [Link], forwarding: &Forwarding, entries: &BTreeSet<u32>) {
    let mut feeders = vec![0_u32; links.len()];
    for link in 0..links.len() {
        for next in forwarding
            .all_next(link)
            .into_iter()
            .filter(|&next| next != HOST)
        {
            feeders[next as usize] += 1;
        }
    }
    for index in 0..links.len() {
        let next = forwarding.all_next(index);
        let feeder = &links[index];
        let fits = |&next: &u32| {
            next != HOST
                && feeders[next as usize] == 1
                && !entries.contains(&next)
                && links[next as usize].may_be_fed_ahead(feeder)
                && !links[next as usize].feeds_ahead()
        };
        let fuses =
            feeder.may_feed_ahead() && feeder.aside.fed_by.is_none() && next.iter().all(fits);
        if fuses && !next.is_empty() {
            links[index].fit().feeds_ahead = true;
            for next in next {
                links[next as usize].aside.fed_by = Some(index as u32);
            }
        }
    }
}
