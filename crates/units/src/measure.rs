//! What the parameters of algorithms are numbers of: the dimension that a value in a study file must
//! have, and how a value is written there.

use crate::{Rate, Time};

/// The dimension of a parameter, and the unit in which its value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A time, in seconds.
    Time,
    /// A number of seconds: the parameter's name says so.
    Seconds,
    /// A whole number of milliseconds: the parameter's name says so.
    Milliseconds,
    /// A rate, in bits per second.
    Rate,
    /// Whole bytes.
    Bytes,
    /// Whole packets.
    Packets,
    /// Packets on average, which need not be whole.
    MeanPackets,
    /// Whole segments.
    Segments,
    /// A part of a whole; 1 is all of it, though a load may be more.
    Share,
    /// Whole per cent: the parameter's name says so.
    Percent,
    /// A number without a unit.
    Number,
    /// A whole number without a unit.
    Whole,
    /// Yes (1) or no (0).
    Switch,
}

impl Measure {
    /// What it is called, for lists.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Time => "time",
            Measure::Seconds => "seconds",
            Measure::Milliseconds => "milliseconds",
            Measure::Rate => "rate",
            Measure::Bytes => "bytes",
            Measure::Packets => "packets",
            Measure::MeanPackets => "packets on average",
            Measure::Segments => "segments",
            Measure::Share => "share",
            Measure::Percent => "per cent",
            Measure::Number => "number",
            Measure::Whole => "whole number",
            Measure::Switch => "switch",
        }
    }

    /// What a value must look like, with an example.
    pub fn rule(self) -> &'static str {
        match self {
            Measure::Time => "it is a time: write for example \"5ms\" or \"2s\"",
            Measure::Seconds => "it is a number of seconds, or a time such as \"2s\"",
            Measure::Milliseconds => "it is a whole number of milliseconds, or a time as \"5ms\"",
            Measure::Rate => "it is a rate: write for example \"10Mbit\"",
            Measure::Bytes => "it is a whole number of bytes, or a size such as \"64kB\"",
            Measure::Packets => "it is a whole number of packets, such as 10 or \"10p\"",
            Measure::MeanPackets => "it is a number of packets, such as 10 or \"10p\"",
            Measure::Segments => "it is a whole number of segments, such as 10",
            Measure::Share => "it is a share: write for example 0.01 or \"1%\"",
            Measure::Percent => "it is a whole number of per cent, such as 1 or \"1%\"",
            Measure::Number => "it is a number without a unit",
            Measure::Whole => "it is a whole number without a unit",
            Measure::Switch => "it is a switch: write true or false",
        }
    }

    /// Whether only whole values make sense: the algorithm counts.
    pub fn is_whole(self) -> bool {
        matches!(
            self,
            Measure::Milliseconds
                | Measure::Bytes
                | Measure::Packets
                | Measure::Segments
                | Measure::Percent
                | Measure::Whole
                | Measure::Switch
        )
    }

    /// `value` as a study file writes it.
    pub fn write(self, value: f64) -> String {
        match self {
            Measure::Time => Time::from_secs_f64(value).to_string(),
            Measure::Rate => {
                Rate::from_bps(value as u64).map_or_else(|| "0".to_owned(), |rate| rate.to_string())
            }
            Measure::Switch => (value != 0.0).to_string(),
            _ => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_study_files_write_them() {
        assert_eq!(Measure::Time.write(0.005), "5ms");
        assert_eq!(Measure::Time.write(0.0), "0s");
        assert_eq!(Measure::Rate.write(2.5e6), "2.5Mbit");
        assert_eq!(Measure::Rate.write(0.0), "0");
        assert_eq!(Measure::Switch.write(1.0), "true");
        assert_eq!(Measure::Bytes.write(1514.0), "1514");
        assert_eq!(Measure::Share.write(0.02), "0.02");
    }
}
