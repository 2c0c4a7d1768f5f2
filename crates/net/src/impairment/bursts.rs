//! Losses in bursts.

use cclab_spec::GilbertElliott;
use cclab_units::Stream;

/// The channel of two states of Gilbert and Elliott, as netem's `loss gemodel` steps it: the
/// state that a packet finds decides over it, and may change behind it.
///
/// In the long run p / (p + r) of the packets find the bad state; a run of them there is 1/r
/// packets long on average.
#[derive(Debug)]
pub struct Bursts {
    model: GilbertElliott,
    bad: bool,
    dice: Stream,
}

impl Bursts {
    /// A channel in its good state.
    pub fn new(model: GilbertElliott, dice: Stream) -> Bursts {
        Bursts {
            model,
            bad: false,
            dice,
        }
    }

    /// Whether the next packet is lost.
    pub fn loses(&mut self) -> bool {
        let GilbertElliott { p, r, good, bad } = self.model;
        let (change, loss) = if self.bad { (r, bad) } else { (p, good) };
        // Both are drawn for every packet: the states do not depend on the losses.
        let changes = self.dice.uniform() < change;
        let lost = self.dice.uniform() < loss;
        self.bad ^= changes;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the runs of losses, and the share of packets lost.
    fn run(model: GilbertElliott, packets: usize) -> (Vec<usize>, f64) {
        let mut bursts = Bursts::new(model, Stream::new(5, "bursts"));
        let lost: Vec<bool> = (0..packets).map(|_| bursts.loses()).collect();
        let runs = lost
            .chunk_by(|a, b| a == b)
            .filter(|run| run[0])
            .map(<[bool]>::len)
            .collect();
        let share = lost.iter().filter(|&&lost| lost).count() as f64 / packets as f64;
        (runs, share)
    }

    /// Gilbert's own model, a bad state that loses all: of the packets p / (p + r) are lost, in
    /// bursts of 1 / r.
    #[test]
    fn stationary_loss_and_mean_burst_are_those_of_the_chain() {
        for (p, r) in [(0.01, 0.3), (0.05, 0.1), (0.001, 0.5)] {
            let model = GilbertElliott {
                p,
                r,
                good: 0.0,
                bad: 1.0,
            };
            let (runs, share) = run(model, 4_000_000);
            let mean = runs.iter().sum::<usize>() as f64 / runs.len() as f64;
            // At least 4,000 bursts: four standard errors are under 7%.
            let tolerance = 4.0 / (runs.len() as f64).sqrt();
            let expected = p / (p + r);
            assert!(
                (share / expected - 1.0).abs() < 2.0 * tolerance,
                "{share}, {expected}"
            );
            assert!((mean * r - 1.0).abs() < tolerance, "{mean}, {r}");
        }
    }

    #[test]
    fn each_state_loses_its_own_share() {
        let model = GilbertElliott {
            p: 0.2,
            r: 0.2,
            good: 0.1,
            bad: 0.5,
        };
        let (_, share) = run(model, 1_000_000);
        // Half of the packets find either state; neighbours are correlated by 0.6.
        assert!((share - 0.3).abs() < 0.005, "{share}");
    }

    #[test]
    fn a_channel_begins_good_and_turns_behind_a_packet() {
        let model = GilbertElliott {
            p: 1.0,
            r: 1.0,
            good: 0.0,
            bad: 1.0,
        };
        let mut bursts = Bursts::new(model, Stream::new(1, "bursts"));
        let lost: Vec<bool> = (0..4).map(|_| bursts.loses()).collect();
        assert_eq!(lost, [false, true, false, true]);
    }
}
