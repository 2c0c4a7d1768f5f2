//! Traces in Mahimahi's format: when a link may send.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use cclab_units::{Rate, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What a delivery opportunity carries, as Mahimahi's `LinkQueue` counts it: an IP packet of
/// 1500 bytes and the 4 bytes that a TUN device puts in front.
pub const OPPORTUNITY_BYTES: u32 = 1504;
/// The bytes in front of each IP packet that count.
pub const OPPORTUNITY_FRAMING: u32 = 4;

/// The delivery opportunities of a link: whole milliseconds, in order, over and over.
///
/// In a scenario they are a text: the distance of each instant from the one before, and how many
/// opportunities it has if it has several, as in `0 5x2 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities(Arc<[u32]>);

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadTrace {
    /// Where the line begins, in bytes.
    pub offset: usize,
    /// What is wrong, and what would be right.
    pub message: &'static str,
    /// See `message`.
    pub help: &'static str,
}

impl Opportunities {
    /// Reads a file: one opportunity per line, its time in milliseconds since the beginning.
    ///
    /// # Errors
    /// Mahimahi's: a line that is no whole number, times that run backwards, no line at all, a
    /// last time of zero.
    pub fn parse(text: &str) -> Result<Opportunities, BadTrace> {
        let mut instants: Vec<u32> = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let bad = |message, help| BadTrace {
                offset,
                message,
                help,
            };
            let digits = line.trim_end_matches(['\n', '\r']);
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let ms: u32 = digits.parse().ok().filter(|_| plain).ok_or(bad(
                "this line is not a delivery opportunity",
                "each line is a time in whole milliseconds, such as 12",
            ))?;
            if instants.last().is_some_and(|&last| ms < last) {
                return Err(bad(
                    "this delivery opportunity lies before the last one",
                    "the times of a trace never run backwards",
                ));
            }
            instants.push(ms);
            offset += line.len();
        }
        Opportunities::from_instants(instants).ok_or(BadTrace {
            offset: 0,
            message: "this trace lasts for no time",
            help: "its last delivery opportunity, where it begins again, lies after 0 ms",
        })
    }

    fn from_instants(instants: Vec<u32>) -> Option<Opportunities> {
        instants
            .last()
            .is_some_and(|&last| last > 0)
            .then(|| Opportunities(instants.into()))
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// After which it begins again.
    pub fn period(&self) -> Time {
        Time::from_millis(u64::from(self.0[self.0.len() - 1]))
    }

    /// When opportunity `index` comes, counted from 0 over all rounds.
    pub fn at(&self, index: u64) -> Time {
        let ms = self.0[(index % self.len()) as usize];
        self.period() * (index / self.len()) + Time::from_millis(u64::from(ms))
    }

    /// How many have come by `now`, that instant included: the index of the next.
    pub fn count_until(&self, now: Time) -> u64 {
        let period = self.period().as_nanos();
        let (rounds, rest) = (now.as_nanos() / period, now.as_nanos() % period);
        let ms = rest / 1_000_000;
        // At a multiple of the period the last round's opportunities are all gone, and the next
        // round's at 0 ms come.
        rounds * self.len() + self.0.partition_point(|&at| u64::from(at) <= ms) as u64
    }

    /// The mean rate in bytes as Mahimahi counts them.
    pub fn mean_rate(&self) -> Rate {
        let bits = u128::from(self.len()) * u128::from(OPPORTUNITY_BYTES) * 8;
        let bps = bits * 1_000_000_000 / u128::from(self.period().as_nanos());
        let bps = u64::try_from(bps).unwrap_or(u64::MAX).max(1);
        Rate::from_bps(bps).expect("at least 1 bit/s")
    }
}

impl JsonSchema for Opportunities {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Opportunities".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl Serialize for Opportunities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        let mut before = 0;
        for same in self.0.chunk_by(|a, b| a == b) {
            let separator = if text.is_empty() { "" } else { " " };
            // Writing to a text cannot fail.
            let _ = write!(text, "{separator}{}", same[0] - before);
            if same.len() > 1 {
                let _ = write!(text, "x{}", same.len());
            }
            before = same[0];
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Opportunities {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Opportunities, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bad = || de::Error::custom("not a text of delivery opportunities");
        let mut instants: Vec<u32> = Vec::new();
        let mut now = 0_u32;
        for part in text.split(' ') {
            let (gap, count) = part.split_once('x').unwrap_or((part, "1"));
            let gap: u32 = gap.parse().map_err(|_| bad())?;
            let count: u32 = count.parse().map_err(|_| bad())?;
            now = now.checked_add(gap).ok_or_else(bad)?;
            instants.extend(std::iter::repeat_n(now, count as usize));
        }
        Opportunities::from_instants(instants).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_trace_comes_again_after_its_last_instant() {
        let trace = Opportunities::parse("0\n5\n5\n8\n").expect("a good trace");
        let instants: Vec<Time> = (0..9).map(|index| trace.at(index)).collect();
        assert_eq!(instants, [0, 5, 5, 8, 8, 13, 13, 16, 16].map(ms));
        for (now, count) in [(0, 1), (4, 1), (5, 3), (7, 3), (8, 5), (13, 7), (16, 9)] {
            assert_eq!(trace.count_until(ms(now)), count, "{now} ms");
        }
        // Four opportunities of 1504 bytes in 8 ms.
        assert_eq!(trace.mean_rate().bps(), 6_016_000);
    }

    #[test]
    fn without_an_opportunity_at_zero_the_round_ends_with_its_last() {
        let trace = Opportunities::parse("2\n4").expect("a good trace");
        for (now, count) in [(0, 0), (1, 0), (2, 1), (4, 2), (5, 2), (6, 3), (8, 4)] {
            assert_eq!(trace.count_until(ms(now)), count, "{now} ms");
        }
    }

    #[test]
    fn a_scenario_holds_it_as_a_text() {
        let trace = Opportunities::parse("0\n5\n5\n8\n").expect("a good trace");
        let json = serde_json::to_string(&trace).expect("a text");
        assert_eq!(json, "\"0 5x2 3\"");
        assert_eq!(
            serde_json::from_str::<Opportunities>(&json).ok(),
            Some(trace)
        );
        for bad in ["\"\"", "\"0\"", "\"1x\"", "\"4294967295 1\"", "\"1x0\""] {
            assert!(serde_json::from_str::<Opportunities>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_mahimahi_refuses_is_refused_at_its_line() {
        let offset = |text: &str| Opportunities::parse(text).map_err(|bad| bad.offset).err();
        assert_eq!(offset("1\n\n2\n"), Some(2));
        assert_eq!(offset("1\n+2\n"), Some(2));
        assert_eq!(offset("10\n9\n"), Some(3));
        assert_eq!(offset("0\n0\n"), Some(0));
        assert_eq!(offset(""), Some(0));
        assert_eq!(offset("1\r\n2\r\n"), None);
    }
}
