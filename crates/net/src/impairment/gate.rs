//! Losses at one place of the path, and what else happens to packets there.

use cclab_packet::{Packet, notes};
use cclab_trace::schema::DropReason;
use cclab_units::Time;

use super::bursts::Bursts;
use super::chance::Chance;
use super::listed::Listed;
use super::random::RandomLoss;
use super::remark::Remark;

/// Decides over each packet that passes: outages first, then each loss in the order of the
/// study, then copying, then corruption, then changes of the codepoint of ECN in the order of the
/// study.
#[derive(Debug, Default)]
pub struct Gate {
    /// Beginning and end of each outage.
    outages: Vec<(Time, Time)>,
    losses: Vec<Loss>,
    duplication: Option<Chance>,
    corruption: Option<Chance>,
    remarks: Vec<Remark>,
}

/// A way to lose packets.
#[derive(Debug)]
pub enum Loss {
    /// Independent losses.
    Random(RandomLoss),
    /// Losses in bursts.
    Bursts(Bursts),
    /// Listed packets.
    Listed(Listed),
}

impl Gate {
    /// Adds an outage from `start` for `duration`.
    pub fn add_outage(&mut self, start: Time, duration: Time) {
        self.outages.push((start, start + duration));
    }

    /// Adds a way to lose packets.
    pub fn add_loss(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    /// The independent losses of its link become `probability` at `at`.
    pub fn change_loss(&mut self, at: Time, probability: f64) {
        for loss in &mut self.losses {
            if let Loss::Random(loss) = loss {
                loss.change(at, probability);
            }
        }
    }

    /// Lets packets pass twice.
    pub fn duplicate(&mut self, chance: Chance) {
        self.duplication = Some(chance);
    }

    /// Lets packets be changed.
    pub fn corrupt(&mut self, chance: Chance) {
        self.corruption = Some(chance);
    }

    /// Adds a change of codepoints.
    pub fn add_remark(&mut self, remark: Remark) {
        self.remarks.push(remark);
    }

    /// Why the packet that passes at `now` is lost; `None` if it is not. A packet that one loss
    /// takes is not seen by the next.
    pub fn judge(&mut self, now: Time, packet: &Packet) -> Option<DropReason> {
        let out = |&(start, end): &(Time, Time)| start <= now && now < end;
        if self.outages.iter().any(out) {
            return Some(DropReason::Outage);
        }
        self.losses.iter_mut().find_map(|loss| match loss {
            Loss::Random(loss) => loss.loses(now).then_some(DropReason::Random),
            Loss::Bursts(loss) => loss.loses().then_some(DropReason::Burst),
            Loss::Listed(loss) => loss.loses(packet).then_some(DropReason::Listed),
        })
    }

    /// Whether the packet that passes does so twice.
    pub fn copies(&mut self) -> bool {
        self.duplication.as_mut().is_some_and(Chance::falls)
    }

    /// `packet` as it comes out of here.
    pub fn touched(&mut self, packet: &Packet) -> Packet {
        let mut packet = *packet;
        if self.corruption.as_mut().is_some_and(Chance::falls) {
            packet.notes |= notes::CORRUPT;
        }
        self.remark(&mut packet);
        packet
    }

    /// Changes the codepoint of a packet that comes out of here.
    pub fn remark(&mut self, packet: &mut Packet) {
        for remark in &mut self.remarks {
            packet.ecn = remark.of(packet.ecn);
        }
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::Stream;

    use super::*;

    fn random(probability: f64, name: &str) -> Loss {
        Loss::Random(RandomLoss::new(
            probability,
            Vec::new(),
            Stream::new(1, name),
        ))
    }

    #[test]
    fn an_outage_loses_everything_from_its_start_to_before_its_end() {
        let mut gate = Gate::default();
        gate.add_outage(Time::from_secs(4), Time::from_millis(100));
        let mut lost = |ms| {
            let packet = Packet::default();
            gate.judge(Time::from_millis(ms), &packet).is_some()
        };
        assert_eq!(
            [3_999, 4_000, 4_099, 4_100].map(&mut lost),
            [false, true, true, false]
        );
    }

    #[test]
    fn two_losses_in_a_row_are_their_joint_loss() {
        let mut gate = Gate::default();
        gate.add_loss(random(0.1, "a"));
        gate.add_loss(random(0.1, "b"));
        let lost = (0..200_000)
            .filter(|_| gate.judge(Time::ZERO, &Packet::default()).is_some())
            .count();
        // Expected 0.19; the standard error is 0.0009.
        assert!((lost as f64 / 2e5 - 0.19).abs() < 0.004, "{lost}");
    }

    #[test]
    fn copies_and_corruption_fall_as_often_as_asked() {
        let mut gate = Gate::default();
        gate.duplicate(Chance::new(0.02, Stream::new(1, "duplicate")));
        gate.corrupt(Chance::new(0.3, Stream::new(1, "corrupt")));
        let copies = (0..100_000).filter(|_| gate.copies()).count();
        let corrupt = (0..100_000)
            .filter(|_| gate.touched(&Packet::default()).is_corrupt())
            .count();
        // The standard errors are 44 and 145.
        assert!(copies.abs_diff(2_000) < 200, "{copies}");
        assert!(corrupt.abs_diff(30_000) < 600, "{corrupt}");
    }
}
