//! Parameters of a queue that make sense only together.

use cclab_units::Rate;
use cclab_units::parameter::Relation;

use crate::error::Problem;
use crate::names::{Names, Parametric};
use crate::scenario::{Limit, Queue};
use crate::written;

/// A problem where what `written` gives is at odds with itself, with defaults or with the limit
/// of `queue`, on a link of `rate` with full packets of `packet` bytes. What is not written is
/// never at fault: where nothing is, the discipline's own settings stand.
pub(super) fn check(
    written: &written::Queue,
    queue: &Queue,
    rate: Option<Rate>,
    packet: u64,
    names: &Names,
) -> Result<(), Problem> {
    let Some(kind) = names.qdiscs.iter().find(|kind| kind.name == queue.kind) else {
        return Ok(());
    };
    let beside = Beside {
        kind,
        queue,
        rate,
        packet: packet as f64,
    };
    for relation in &kind.relations {
        let Some((names, help)) = beside.broken(relation) else {
            continue;
        };
        // At the last of them that is written.
        let Some(key) = names
            .iter()
            .rev()
            .find_map(|name| written.params.keys().find(|key| key.value == *name))
        else {
            continue;
        };
        let values: Vec<String> = names
            .iter()
            .filter_map(|name| Some(format!("{name} = {}", beside.value(name)?)))
            .collect();
        let what = format!("{} of {}", values.join(" and "), queue.kind);
        return Err(Problem::new(what, help).or_at(key.at));
    }
    Ok(())
}

/// What a relation is judged by.
struct Beside<'a> {
    kind: &'a Parametric,
    queue: &'a Queue,
    rate: Option<Rate>,
    packet: f64,
}

impl Beside<'_> {
    /// The value of the parameter `name`: as given, else its default; the rate of a shaper that
    /// has none is that of its link.
    fn value(&self, name: &str) -> Option<f64> {
        let default = || {
            let taken = self.kind.params.iter().find(|taken| taken.name == name);
            taken.and_then(|taken| taken.default)
        };
        let of_link = || match name {
            "rate" => self.rate.map(|rate| rate.bps() as f64),
            _ => None,
        };
        let given = self.queue.params.get(name).copied();
        given.or_else(default).or_else(of_link)
    }

    /// The parameters of `relation` and what would be right, if it does not hold.
    fn broken(&self, relation: &Relation) -> Option<(Vec<&'static str>, String)> {
        match *relation {
            Relation::Below(low, high) => {
                let broken = self.value(low)? >= self.value(high)?;
                broken.then(|| (vec![low, high], format!("{low} lies below {high}")))
            }
            Relation::WithinLimit(name, in_bytes) => {
                let (limit, unit) = match (self.queue.limit, in_bytes) {
                    (Limit::Bytes(bytes), true) => (bytes as f64, "bytes"),
                    (Limit::Packets(packets), true) => (packets as f64 * self.packet, "bytes"),
                    (Limit::Bytes(bytes), false) => (bytes as f64 / self.packet, "packets"),
                    (Limit::Packets(packets), false) => (packets as f64, "packets"),
                };
                let broken = self.value(name)? > limit;
                let help = || format!("the queue holds {limit:.0} {unit}: it never gets there");
                broken.then(|| (vec![name], help()))
            }
            Relation::HoldsPacket(name, beside) => {
                let matters = beside.is_none_or(|other| self.value(other).is_some());
                let broken = matters && self.value(name)? < self.packet;
                let names = [Some(name), beside].into_iter().flatten();
                let help = || {
                    format!(
                        "a full packet of {} bytes must fit, or none ever passes",
                        self.packet
                    )
                };
                broken.then(|| (names.collect(), help()))
            }
            Relation::CountsAtLeast(count, least, size) => {
                let size = size.map_or(Some(1.0), |size| self.value(size))?;
                let packets = self.value(least)? / size;
                let broken = self.value(count)? < packets;
                let help = format!("{least} is {packets:.4} packets; {count} is no less");
                broken.then(|| (vec![least, count], help))
            }
        }
    }
}
