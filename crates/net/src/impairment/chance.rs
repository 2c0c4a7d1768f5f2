//! Something that happens to each packet with one probability.

use cclab_units::Stream;

/// A probability and its dice.
#[derive(Debug)]
pub struct Chance {
    probability: f64,
    dice: Stream,
}

impl Chance {
    /// Draws from `dice`.
    pub fn new(probability: f64, dice: Stream) -> Chance {
        Chance { probability, dice }
    }

    /// Whether it happens this time.
    pub fn falls(&mut self) -> bool {
        self.dice.chance(self.probability)
    }
}
