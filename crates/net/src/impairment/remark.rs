//! Codepoints of ECN that are changed on the way.

use cclab_packet::Ecn;
use cclab_spec::{Codepoint, Remark as Spec};

use super::chance::Chance;

/// A change of codepoints.
#[derive(Debug)]
pub struct Remark {
    /// What each becomes, by its bits.
    to: [Ecn; 4],
    chance: Chance,
}

impl Remark {
    /// What `spec` asks for, by the dice of `chance`.
    pub fn new(spec: &Spec, chance: Chance) -> Remark {
        let mut to = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        for (&from, &becomes) in &spec.to {
            to[codepoint(from) as usize] = codepoint(becomes);
        }
        Remark { to, chance }
    }

    /// What a packet with `ecn` has behind here. Dice fall for each that could be changed.
    pub fn of(&mut self, ecn: Ecn) -> Ecn {
        let to = self.to[ecn as usize];
        match to != ecn && self.chance.falls() {
            true => to,
            false => ecn,
        }
    }
}

fn codepoint(named: Codepoint) -> Ecn {
    match named {
        Codepoint::NotEct => Ecn::NotEct,
        Codepoint::Ect1 => Ecn::Ect1,
        Codepoint::Ect0 => Ecn::Ect0,
        Codepoint::Ce => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use cclab_spec::Place;
    use cclab_units::Stream;

    use super::*;

    const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    fn remark(to: &[(Codepoint, Codepoint)], probability: f64) -> Remark {
        let spec = Spec {
            at: Place::Router,
            to: to.iter().copied().collect(),
            probability,
        };
        Remark::new(&spec, Chance::new(probability, Stream::new(1, "remark")))
    }

    #[test]
    fn each_codepoint_becomes_what_is_asked_at_once() {
        use Codepoint::{Ce, Ect0, Ect1, NotEct};
        let mut bleach = remark(&[(Ect1, NotEct), (Ect0, NotEct), (Ce, NotEct)], 1.0);
        assert_eq!(ALL.map(|ecn| bleach.of(ecn)), [Ecn::NotEct; 4]);
        let mut swapped = remark(&[(Ect1, Ect0), (Ect0, Ect1)], 1.0);
        let there = ALL.map(|ecn| swapped.of(ecn));
        assert_eq!(there, [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    }

    #[test]
    fn a_share_of_packets_is_changed() {
        let mut marks = remark(&[(Codepoint::Ect0, Codepoint::Ce)], 0.2);
        let marked = (0..100_000)
            .filter(|_| marks.of(Ecn::Ect0) == Ecn::Ce)
            .count();
        // The standard error is 126.
        assert!(marked.abs_diff(20_000) < 600, "{marked}");
    }
}
