//! Parameters of a queue or a variant that make sense only together.

use std::collections::BTreeMap;

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
    let before = Before {
        limit: queue.limit,
        rate,
        packet: packet as f64,
    };
    let kind = names.qdiscs.iter().find(|kind| kind.name == queue.kind);
    kind.map_or(Ok(()), |kind| {
        together(&written.params, kind, &queue.params, Some(before))
    })
}

/// As [`check`], of the parameters of the variant `cc`.
pub(super) fn of_variant(
    written: &written::Params,
    given: &BTreeMap<String, f64>,
    cc: &str,
    names: &Names,
) -> Result<(), Problem> {
    let kind = names.variants.iter().find(|kind| kind.name == cc);
    kind.map_or(Ok(()), |kind| together(written, kind, given, None))
}

fn together(
    written: &written::Params,
    kind: &Parametric,
    given: &BTreeMap<String, f64>,
    before: Option<Before>,
) -> Result<(), Problem> {
    let beside = Beside {
        kind,
        given,
        before,
    };
    for relation in &kind.relations {
        let Some((names, help)) = beside.broken(relation) else {
            continue;
        };
        // At the last of them that is written.
        let Some(key) = names
            .iter()
            .rev()
            .find_map(|name| written.keys().find(|key| key.value == *name))
        else {
            continue;
        };
        let values: Vec<String> = names
            .iter()
            .filter_map(|name| Some(format!("{name} = {}", beside.written(name)?)))
            .collect();
        let what = format!("{} of {}", values.join(" and "), kind.name);
        return Err(Problem::new(what, help).or_at(key.at));
    }
    Ok(())
}

/// What a queue stands before, and how much it holds.
#[derive(Clone, Copy)]
struct Before {
    limit: Limit,
    rate: Option<Rate>,
    packet: f64,
}

/// What a relation is judged by.
struct Beside<'a> {
    kind: &'a Parametric,
    given: &'a BTreeMap<String, f64>,
    /// Of queues only.
    before: Option<Before>,
}

impl Beside<'_> {
    /// The value of the parameter `name`: as given, else its default; the rate of a shaper that
    /// has none is that of its link.
    fn value(&self, name: &str) -> Option<f64> {
        let default = || {
            let default = self.kind.param(name)?.default;
            (!default.is_nan()).then_some(default)
        };
        let of_link = || match name {
            "rate" => self.before?.rate.map(|rate| rate.bps() as f64),
            _ => None,
        };
        let given = self.given.get(name).copied();
        given.or_else(default).or_else(of_link)
    }

    /// The value of the parameter `name` as a study file has it.
    fn written(&self, name: &str) -> Option<String> {
        let value = self.value(name)?;
        Some(self.kind.param(name)?.measure.write(value))
    }

    /// The parameters of `relation` and what would be right, if it does not hold.
    fn broken(&self, relation: &Relation) -> Option<(Vec<&'static str>, String)> {
        match *relation {
            Relation::Below(low, high) => {
                let broken = self.value(low)? >= self.value(high)?;
                broken.then(|| (vec![low, high], format!("{low} lies below {high}")))
            }
            Relation::AtMost(low, high) => {
                let broken = self.value(low)? > self.value(high)?;
                broken.then(|| (vec![low, high], format!("{low} is no more than {high}")))
            }
            Relation::WithinLimit(name, in_bytes) => {
                let Before { limit, packet, .. } = self.before?;
                let (limit, unit) = match (limit, in_bytes) {
                    (Limit::Bytes(bytes), true) => (bytes as f64, "bytes"),
                    (Limit::Packets(packets), true) => (packets as f64 * packet, "bytes"),
                    (Limit::Bytes(bytes), false) => (bytes as f64 / packet, "packets"),
                    (Limit::Packets(packets), false) => (packets as f64, "packets"),
                };
                let broken = self.value(name)? > limit;
                let help = || format!("the queue holds {limit:.0} {unit}: it never gets there");
                broken.then(|| (vec![name], help()))
            }
            Relation::HoldsPacket(name, beside) => {
                let matters = beside.is_none_or(|other| self.value(other).is_some());
                let packet = self.before?.packet;
                let broken = matters && self.value(name)? < packet;
                let names = [Some(name), beside].into_iter().flatten();
                let help =
                    || format!("a full packet of {packet} bytes must fit, or none ever passes");
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
