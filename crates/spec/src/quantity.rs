//! Quantities as text: `"100Mbit"`, `"20ms"`, `"64KiB"`, `"1bdp"`, `"1%"`. They become exact
//! integers, rounded to the nearest, half away from zero; nothing passes through a float.

use cclab_units::{Rate, Time};

use crate::application::Pace;
use crate::error::{Problem, nearest};
use crate::text::Dimension;

/// A decimal number as written: `mantissa / 10^decimals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    mantissa: u128,
    decimals: u32,
}

/// Digits a number may have: with them `mantissa * u64::MAX` stays below 2^128.
const MAX_DIGITS: usize = 18;

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || text.ends_with('.') {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        if whole.len() + fraction.len() > MAX_DIGITS {
            return None;
        }
        let mantissa = format!("{whole}{fraction}").parse().ok()?;
        Some(Decimal {
            mantissa,
            decimals: fraction.len() as u32,
        })
    }

    /// `self * numerator / denominator`, rounded to the nearest.
    fn scale(self, numerator: u64, denominator: u64) -> Option<u64> {
        let divisor = 10_u128
            .pow(self.decimals)
            .checked_mul(u128::from(denominator))?;
        let product = self.mantissa.checked_mul(u128::from(numerator))?;
        u64::try_from(product.checked_add(divisor / 2)? / divisor).ok()
    }

    /// This many bandwidth-delay products, in bytes.
    pub fn bdps(self, rate: Rate, rtt: Time) -> Option<u64> {
        let bit_ns = u128::from(rate.bps()) * u128::from(rtt.as_nanos());
        let divisor = 10_u128.pow(self.decimals) * 8_000_000_000;
        let product = bit_ns.checked_mul(self.mantissa)?;
        u64::try_from(product.checked_add(divisor / 2)? / divisor).ok()
    }
}

/// A kind of quantity: its units, in its base unit, and its bounds.
struct Kind {
    what: &'static str,
    units: &'static [(&'static str, u64)],
    /// Other spellings, for the hint.
    aliases: &'static [(&'static str, &'static str)],
    max: u64,
    positive: bool,
}

/// Times up to 146 years, so that sums of two do not overflow.
const TIME: Kind = Kind {
    what: "time",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    aliases: &[
        ("m", "min"),
        ("mins", "min"),
        ("minute", "min"),
        ("minutes", "min"),
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("msec", "ms"),
        ("msecs", "ms"),
        ("usec", "us"),
        ("usecs", "us"),
        ("µs", "us"),
        ("μs", "us"),
        ("hr", "h"),
        ("hrs", "h"),
        ("hour", "h"),
        ("hours", "h"),
    ],
    max: i64::MAX as u64 / 2,
    positive: false,
};

const RATE: Kind = Kind {
    what: "rate",
    units: &[
        ("bit", 1),
        ("kbit", 1_000),
        ("Mbit", 1_000_000),
        ("Gbit", 1_000_000_000),
        ("Tbit", 1_000_000_000_000),
    ],
    aliases: &[
        ("K", "kbit"),
        ("k", "kbit"),
        ("M", "Mbit"),
        ("G", "Gbit"),
        ("m", "Mbit"),
        ("g", "Gbit"),
        ("Kb", "kbit"),
        ("kb", "kbit"),
        ("Mb", "Mbit"),
        ("mb", "Mbit"),
        ("Gb", "Gbit"),
        ("gb", "Gbit"),
    ],
    max: 1_000_000_000_000_000,
    positive: true,
};

/// Sizes up to 2^53 bytes, the largest integer that every JSON reader keeps.
const SIZE: Kind = Kind {
    what: "size",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
    aliases: &[
        ("b", "B"),
        ("byte", "B"),
        ("bytes", "B"),
        ("KB", "kB"),
        ("K", "kB"),
        ("k", "kB"),
        ("M", "MB"),
        ("G", "GB"),
        ("kiB", "KiB"),
    ],
    max: 1 << 53,
    positive: true,
};

/// A time in nanoseconds.
pub(crate) fn time(text: &str) -> Result<Time, Problem> {
    quantity(text, &TIME).map(Time::from_nanos)
}

/// A rate; `/s` may follow the unit.
pub(crate) fn rate(text: &str) -> Result<Rate, Problem> {
    let bare = text
        .strip_suffix("/s")
        .filter(|bare| bare.ends_with("bit"))
        .unwrap_or(text);
    let (number, unit) = split(bare);
    let unit = unit.trim();
    if let Some(prefix) = unit.to_ascii_lowercase().strip_suffix("bps") {
        let right = match prefix {
            "m" => "Mbit",
            "g" => "Gbit",
            "k" => "kbit",
            "t" => "Tbit",
            _ => "bit",
        };
        return Err(Problem::new(
            format!("\"{text}\": `{unit}` is ambiguous, tc reads `mbps` as megabytes per second"),
            format!("write \"{}{right}\" for bits per second", number.trim()),
        ));
    }
    let bps = quantity(bare, &RATE)?;
    Rate::from_bps(bps).ok_or_else(|| too_small(text, &RATE))
}

/// How much an application writes: a rate, `0` for nothing, `unlimited` for what there is room for.
pub(crate) fn pace(text: &str) -> Result<Pace, Problem> {
    match text {
        "0" => Ok(Pace::Paused),
        "unlimited" => Ok(Pace::Unlimited),
        _ => rate(text).map(Pace::Limited).map_err(|problem| Problem {
            help: "write a rate such as \"2Mbit\", \"0\" for a pause, or \"unlimited\"".to_owned(),
            ..problem
        }),
    }
}

/// A positive size in bytes.
pub(crate) fn size(text: &str) -> Result<u64, Problem> {
    quantity(text, &SIZE)
}

/// A probability: `"1%"`.
pub(crate) fn percentage(text: &str) -> Result<f64, Problem> {
    let wrong = || {
        Problem::new(
            format!("\"{text}\" is not a share"),
            "write for example \"1%\" or 0.01",
        )
    };
    let number = text.strip_suffix('%').ok_or_else(wrong)?;
    let decimal = Decimal::parse(number).ok_or_else(wrong)?;
    let value = decimal.mantissa as f64 / 10_f64.powi(decimal.decimals as i32 + 2);
    probability(value).map_err(|_| {
        Problem::new(
            format!("\"{text}\" is more than everything"),
            "a share lies between 0% and 100%",
        )
    })
}

/// A probability as a number.
pub(crate) fn probability(value: f64) -> Result<f64, Problem> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Problem::new(
            format!("`{value}` is not a probability"),
            "it lies between 0 and 1, or \"0%\" and \"100%\"",
        ))
    }
}

/// The limit of a queue as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitText {
    /// Bytes.
    Bytes(u64),
    /// Packets.
    Packets(u64),
    /// Bandwidth-delay products.
    Bdp(Decimal),
    /// What the link carries in this time.
    Time(Time),
}

/// The limit of a queue: a size, packets, bandwidth-delay products or a time.
pub(crate) fn limit(text: &str) -> Result<LimitText, Problem> {
    let (number, unit) = split(text);
    let zero = || {
        Problem::new(
            format!("\"{text}\" holds nothing"),
            "a queue holds at least one packet",
        )
    };
    match unit {
        "p" => match Decimal::parse(number) {
            Some(Decimal { mantissa: 0, .. }) => Err(zero()),
            Some(Decimal {
                mantissa,
                decimals: 0,
            }) => Ok(LimitText::Packets(mantissa as u64)),
            _ => Err(Problem::new(
                format!("\"{text}\" is not a number of packets"),
                "write for example \"100p\"",
            )),
        },
        "bdp" => match Decimal::parse(number) {
            Some(Decimal { mantissa: 0, .. }) => Err(zero()),
            Some(decimal) => Ok(LimitText::Bdp(decimal)),
            None => Err(Problem::new(
                format!("\"{text}\" is not a number of bandwidth-delay products"),
                "write for example \"1bdp\" or \"0.5bdp\"",
            )),
        },
        _ if TIME.units.iter().any(|(name, _)| *name == unit) => match time(text)? {
            Time::ZERO => Err(zero()),
            time => Ok(LimitText::Time(time)),
        },
        _ if SIZE.units.iter().any(|(name, _)| *name == unit) => size(text).map(LimitText::Bytes),
        _ => Err(Problem::new(
            format!("\"{text}\" is not the limit of a queue"),
            "write bytes \"64kB\", packets \"100p\", bandwidth-delay products \"1bdp\" or a time \"50ms\"",
        )),
    }
}

/// Any quantity in its SI unit: seconds, bytes, bits per second, a share, packets.
pub(crate) fn si(text: &str) -> Result<(f64, Dimension), Problem> {
    let (_, unit) = split(text);
    let of = |kind: &Kind| kind.units.iter().any(|(name, _)| *name == unit);
    if unit == "%" {
        percentage(text).map(|share| (share, Dimension::Share))
    } else if unit == "p" {
        let LimitText::Packets(packets) = limit(text)? else {
            unreachable!("p counts packets")
        };
        Ok((packets as f64, Dimension::Packets))
    } else if of(&TIME) {
        time(text).map(|time| (time.as_secs_f64(), Dimension::Time))
    } else if of(&SIZE) {
        size(text).map(|bytes| (bytes as f64, Dimension::Size))
    } else {
        let rate = rate(text).map(|rate| (rate.bps() as f64, Dimension::Rate));
        rate.map_err(|problem| {
            if unit.ends_with("bit") || unit.to_ascii_lowercase().ends_with("bps") {
                problem
            } else {
                Problem::new(
                    format!("\"{text}\" is not a quantity"),
                    "write a number, a time \"5ms\", a size \"64kB\", a rate \"1Mbit\", a share \"1%\" \
                     or packets \"10p\"",
                )
            }
        })
    }
}

/// Regular expressions of the texts above, for the JSON Schema.
pub(crate) mod pattern {
    use super::{Kind, RATE, SIZE, TIME};

    const NUMBER: &str = r"[0-9]+(\.[0-9]+)?";

    fn alternatives(kind: &Kind) -> String {
        kind.units
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join("|")
    }
    pub fn time() -> String {
        format!("^{NUMBER}({})$", alternatives(&TIME))
    }
    pub fn rate() -> String {
        format!("^{NUMBER}({})(/s)?$", alternatives(&RATE))
    }
    pub fn size() -> String {
        format!("^{NUMBER}({})$", alternatives(&SIZE))
    }
    pub fn limit() -> String {
        format!(
            "^{NUMBER}(p|bdp|{}|{})$",
            alternatives(&SIZE),
            alternatives(&TIME)
        )
    }
    pub fn percentage() -> String {
        format!("^{NUMBER}%$")
    }
}

/// The number in front, sign included, and the unit behind it.
fn split(text: &str) -> (&str, &str) {
    let end = text
        .char_indices()
        .find(|(_, c)| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))
        .map_or(text.len(), |(index, _)| index);
    text.split_at(end)
}

fn quantity(text: &str, kind: &Kind) -> Result<u64, Problem> {
    let what = kind.what;
    let (number, unit) = split(text);
    let example = match what {
        "time" => "20ms",
        "rate" => "100Mbit",
        _ => "64kB",
    };
    if number.starts_with('-') && Decimal::parse(&number[1..]).is_some() {
        let least = if kind.positive {
            "positive"
        } else {
            "zero or more"
        };
        return Err(Problem::new(
            format!("\"{text}\" is negative"),
            format!("a {what} is {least}"),
        ));
    }
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    if digits > MAX_DIGITS && number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(Problem::new(
            format!("\"{text}\" has too many digits"),
            format!("{MAX_DIGITS} are kept, choose a larger unit"),
        ));
    }
    let Some(decimal) = Decimal::parse(number) else {
        return Err(Problem::new(
            format!("\"{text}\" is not a {what}"),
            format!("write for example \"{example}\""),
        ));
    };
    if unit.trim().is_empty() {
        return Err(Problem::new(
            format!("\"{text}\" has no unit"),
            format!(
                "write for example \"{number}{}\"; units of {what}: {}",
                split(example).1,
                units(kind)
            ),
        ));
    }
    let Some((_, scale)) = kind.units.iter().find(|(name, _)| *name == unit) else {
        return Err(unknown_unit(text, number, unit, kind));
    };
    match decimal.scale(*scale, 1) {
        Some(0) if kind.positive => Err(too_small(text, kind)),
        Some(value) if value <= kind.max => Ok(value),
        _ => Err(Problem::new(
            format!("\"{text}\" is absurdly large"),
            format!("the largest {what} is {}", largest(kind)),
        )),
    }
}

fn largest(kind: &Kind) -> String {
    let (name, scale) = match kind.what {
        "time" => ("h", 3_600_000_000_000),
        "rate" => ("Tbit", 1_000_000_000_000),
        _ => ("TiB", 1 << 40),
    };
    format!("\"{}{name}\"", kind.max / scale)
}

fn too_small(text: &str, kind: &Kind) -> Problem {
    let (what, least) = (kind.what, kind.units[0].0);
    Problem::new(
        format!("\"{text}\" is zero"),
        format!("a {what} is positive, at least \"1{least}\""),
    )
}

fn unknown_unit(text: &str, number: &str, unit: &str, kind: &Kind) -> Problem {
    let bare = unit.trim();
    let names = || kind.units.iter().map(|(name, _)| *name);
    let right = names()
        .find(|name| *name == bare)
        .or_else(|| {
            kind.aliases
                .iter()
                .find(|(alias, _)| *alias == bare)
                .map(|(_, name)| *name)
        })
        .or_else(|| names().find(|name| name.eq_ignore_ascii_case(bare)))
        .or_else(|| nearest(bare, names()));
    let message = if names().any(|name| name == bare) {
        format!("\"{text}\" has a space before its unit")
    } else {
        format!("\"{text}\" has the unknown unit `{bare}`")
    };
    let units = units(kind);
    let what = kind.what;
    let help = match right {
        Some("min") => match Decimal::parse(number).and_then(|n| n.scale(60, 1)) {
            Some(seconds) => format!("write \"{number}min\" or \"{seconds}s\""),
            None => format!("write \"{number}min\""),
        },
        Some("kB") => format!("write \"{number}kB\" (1000 bytes) or \"{number}KiB\" (1024)"),
        Some(right) => format!("write \"{number}{right}\""),
        None => format!("units of {what}: {units}"),
    };
    Problem::new(message, help)
}

fn units(kind: &Kind) -> String {
    kind.units
        .iter()
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_exact() {
        assert_eq!(rate("1.7Mbit").unwrap().bps(), 1_700_000);
        assert_eq!(rate("0.1Gbit/s").unwrap().bps(), 100_000_000);
        assert_eq!(time("66.556ms").unwrap().as_nanos(), 66_556_000);
        assert_eq!(time("0.0000000005s").unwrap().as_nanos(), 1);
        assert_eq!(size("1.5KiB").unwrap(), 1536);
        assert_eq!(percentage("0.1%").unwrap(), 0.001);
    }

    #[test]
    fn bandwidth_delay_products_are_exact() {
        let LimitText::Bdp(half) = limit("0.5bdp").unwrap() else {
            panic!("a bdp")
        };
        let bytes = half.bdps(rate("100Mbit").unwrap(), time("100ms").unwrap());
        assert_eq!(bytes, Some(625_000));
        let LimitText::Bdp(huge) = limit("999999999999999999bdp").unwrap() else {
            panic!("a bdp")
        };
        assert_eq!(
            huge.bdps(rate("1000Tbit").unwrap(), time("1000000h").unwrap()),
            None
        );
    }

    proptest::proptest! {
        #[test]
        fn whole_numbers_of_each_unit_survive(n in 1_u64..1_000_000, unit in 0..6_usize) {
            let (name, scale) = TIME.units[unit];
            if n.checked_mul(scale).is_some_and(|ns| ns <= TIME.max) {
                proptest::prop_assert_eq!(time(&format!("{n}{name}")).unwrap().as_nanos(), n * scale);
            }
            let (name, scale) = SIZE.units[unit];
            if n * scale <= SIZE.max {
                proptest::prop_assert_eq!(size(&format!("{n}{name}")).unwrap(), n * scale);
            }
        }

        /// What the quantities print, this crate reads back. Floats print exactly what they
        /// hold up to 2^53.
        #[test]
        fn printed_quantities_are_read_back(ns in 1_u64..1 << 50, bps in 1_u64..1_000_000_000_000) {
            let printed = Time::from_nanos(ns).to_string();
            proptest::prop_assert_eq!(time(&printed).unwrap().as_nanos(), ns);
            let printed = Rate::from_bps(bps).unwrap().to_string();
            proptest::prop_assert_eq!(rate(&printed).unwrap().bps(), bps);
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.]{0,22}[a-zA-Z%/µ ]{0,5}") {
            let _ = (time(&text), rate(&text), size(&text), limit(&text), si(&text), percentage(&text));
        }
    }
}
