//! Choices that bytes spell: numbers, and quantities as studies write them.

use cclab_units::parameter::Parameter;
use cclab_units::{Measure, Time};
use serde_json::{Value, json};

/// Bytes that spell choices; zeros when used up, which choose the least of everything.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    /// True in `share` of 256 cases.
    pub fn chance(&mut self, share: u8) -> bool {
        self.next() > 255 - share
    }

    /// A whole number from `least` to `most`.
    pub fn whole(&mut self, least: u64, most: u64) -> u64 {
        let drawn = u64::from(self.next()) << 8 | u64::from(self.next());
        least + drawn % (most - least + 1)
    }

    /// One of `all`.
    pub fn one_of<'b, T>(&mut self, all: &'b [T]) -> &'b T {
        let most = all.len() as u64 - 1;
        &all[self.whole(0, most) as usize]
    }

    /// From 0 to 1, both included.
    fn share(&mut self) -> f64 {
        self.whole(0, 65_535) as f64 / 65_535.0
    }

    /// A time from nothing to some tens of milliseconds, or some hundreds now and then.
    pub fn time(&mut self) -> Value {
        match self.next() {
            0..=150 => json!(format!("{}us", self.whole(0, 30_000))),
            151..=250 => json!(format!("{}ms", self.whole(1, 400))),
            _ => json!(format!("{}ns", self.whole(0, 65_535))),
        }
    }

    /// A rate up to 20 Mbit/s.
    pub fn rate(&mut self) -> Value {
        match self.next() {
            0..=200 => json!(format!("{}kbit", self.whole(300, 20_000))),
            201..=250 => json!(format!("{}bit", self.whole(8_000, 65_000))),
            _ => json!(format!("{}bit", self.whole(1, 8_000))),
        }
    }

    /// The limit of a queue.
    pub fn limit(&mut self) -> Value {
        match self.next() {
            0..=150 => json!(format!("{}p", self.whole(2, 100))),
            151..=220 => json!(format!("{}B", self.whole(3_200, 60_000))),
            221..=230 => json!(format!("{}B", self.whole(1, 1_600))),
            231..=245 => json!(format!("{}bdp", self.whole(1, 3))),
            _ => json!(format!("{}ms", self.whole(20, 200))),
        }
    }

    pub fn size(&mut self) -> Value {
        match self.next() {
            0..=200 => json!(format!("{}B", self.whole(88, 9_000))),
            201..=245 => json!(format!("{}kB", self.whole(1, 300))),
            _ => json!(format!("{}B", self.whole(1, 88))),
        }
    }

    /// A share, as probabilities of impairments are: seldom above a tenth.
    pub fn probability(&mut self) -> Value {
        match self.next() {
            0..=200 => json!(self.share() / 10.0),
            201..=230 => json!(format!("{}%", self.whole(0, 20))),
            _ => json!(self.share()),
        }
    }

    /// A value of `parameter`, small ones as likely as large ones.
    pub fn number_of(&mut self, parameter: &Parameter) -> f64 {
        let Parameter {
            name, least, most, ..
        } = parameter;
        let ceiling = match *name {
            "rate" | "maxrate" | "peakrate" => 2e7,
            "load" => 2.0,
            "flows_per_second" => 50.0,
            "clients" => 5.0,
            _ => 1e9,
        };
        let most = most.min(ceiling).max(*least);
        if self.chance(40) {
            return if self.chance(128) {
                most
            } else {
                least.max(-1e9)
            };
        }
        if *least < 0.0 {
            let least = least.max(-1e9);
            return least + (most - least) * self.share();
        }
        let from = least.max(most * 1e-6);
        let drawn = from * (most / from).powf(self.share());
        drawn.clamp(*least, most)
    }
}

/// A value of `parameter` as its dimension is written.
pub(super) fn write(parameter: &Parameter, drawn: f64) -> Value {
    match parameter.measure {
        Measure::Time | Measure::Rate if drawn == 0.0 => json!(0),
        Measure::Time => json!(Time::from_secs_f64(drawn).to_string()),
        Measure::Rate => json!(format!("{}bit", drawn as u64)),
        Measure::Switch => json!(drawn >= 0.5),
        measure if measure.is_whole() => json!(drawn.round()),
        _ => json!(drawn),
    }
}
