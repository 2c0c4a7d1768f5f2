//! Queueing disciplines as `tc` takes them: one row each.

use cclab_spec::{Limit, Queue};
use cclab_units::{Measure, Rate};

use crate::words;

/// What a discipline counts its limit in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Packets,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Seconds.
    Time,
    /// A whole number: of bytes, packets, flows or seconds.
    Count,
    /// Bits per second.
    Rate,
    /// A probability.
    Share,
    /// A probability, told in per cent without a sign.
    Percent,
    /// Words for true and for false; an empty one is left out.
    Flag(&'static str, &'static str),
}

/// A discipline of the kernel.
struct Discipline {
    kind: &'static str,
    /// The parameter that holds its limit, and the unit of that.
    limit: (&'static str, Unit),
    params: &'static [(&'static str, Form)],
    /// Whether it is told the link's rate as `bandwidth` unless the study names another.
    knows_rate: bool,
    /// Whether it is told the size of an average packet unless the study does.
    averages: bool,
}

const ECN: (&str, Form) = ("ecn", Form::Flag("ecn", "noecn"));
const MARKS: (&str, Form) = ("ecn", Form::Flag("ecn", ""));
const BYTEMODE: (&str, Form) = ("bytemode", Form::Flag("bytemode", "nobytemode"));

/// Every discipline of the kernel but droptail, which is two of them.
const DISCIPLINES: &[Discipline] = &[
    Discipline {
        kind: "red",
        limit: ("limit", Unit::Bytes),
        params: &[
            ("min", Form::Count),
            ("max", Form::Count),
            ("probability", Form::Share),
            ("burst", Form::Count),
            ("avpkt", Form::Count),
            ("bandwidth", Form::Rate),
            MARKS,
            ("adaptive", Form::Flag("adaptive", "")),
            ("harddrop", Form::Flag("harddrop", "")),
        ],
        knows_rate: true,
        averages: true,
    },
    Discipline {
        kind: "choke",
        limit: ("limit", Unit::Packets),
        params: &[
            ("min", Form::Count),
            ("max", Form::Count),
            ("probability", Form::Share),
            ("burst", Form::Count),
            ("bandwidth", Form::Rate),
            MARKS,
        ],
        knows_rate: true,
        averages: false,
    },
    Discipline {
        kind: "codel",
        limit: ("limit", Unit::Packets),
        params: &[
            ("target", Form::Time),
            ("interval", Form::Time),
            ("ce_threshold", Form::Time),
            ECN,
        ],
        knows_rate: false,
        averages: false,
    },
    Discipline {
        kind: "fq_codel",
        limit: ("limit", Unit::Packets),
        params: &[
            ("target", Form::Time),
            ("interval", Form::Time),
            ("ce_threshold", Form::Time),
            ECN,
            ("flows", Form::Count),
            ("quantum", Form::Count),
            ("memory_limit", Form::Count),
            ("drop_batch", Form::Count),
        ],
        knows_rate: false,
        averages: false,
    },
    Discipline {
        kind: "pie",
        limit: ("limit", Unit::Packets),
        params: &[
            ("target", Form::Time),
            ("tupdate", Form::Time),
            ("alpha", Form::Count),
            ("beta", Form::Count),
            ECN,
            BYTEMODE,
        ],
        knows_rate: false,
        averages: false,
    },
    Discipline {
        kind: "fq_pie",
        limit: ("limit", Unit::Packets),
        params: &[
            ("flows", Form::Count),
            ("target", Form::Time),
            ("tupdate", Form::Time),
            ("alpha", Form::Count),
            ("beta", Form::Count),
            ("quantum", Form::Count),
            ("memory_limit", Form::Count),
            ECN,
            ("ecn_prob", Form::Percent),
            BYTEMODE,
        ],
        knows_rate: false,
        averages: false,
    },
    Discipline {
        kind: "fq",
        limit: ("limit", Unit::Packets),
        params: &[
            ("flow_limit", Form::Count),
            ("quantum", Form::Count),
            ("initial_quantum", Form::Count),
            ("maxrate", Form::Rate),
            ("buckets", Form::Count),
            ("pacing", Form::Flag("pacing", "nopacing")),
            ("ce_threshold", Form::Time),
            ("horizon", Form::Time),
        ],
        knows_rate: false,
        averages: false,
    },
    Discipline {
        kind: "sfq",
        limit: ("limit", Unit::Packets),
        params: &[
            ("perturb", Form::Count),
            ("quantum", Form::Count),
            ("depth", Form::Count),
            ("divisor", Form::Count),
            ("headdrop", Form::Flag("headdrop", "")),
            ("flows", Form::Count),
        ],
        knows_rate: false,
        averages: false,
    },
    Discipline {
        kind: "cake",
        limit: ("memlimit", Unit::Bytes),
        params: &[
            ("bandwidth", Form::Rate),
            ("rtt", Form::Time),
            ("overhead", Form::Count),
            ("mpu", Form::Count),
            ("split-gso", Form::Flag("split-gso", "no-split-gso")),
            ("ack-filter", Form::Flag("ack-filter", "no-ack-filter")),
        ],
        knows_rate: false,
        averages: false,
    },
];

/// RED's average packet in bytes, as in the manual page of `tc`.
const AVERAGE_PACKET: f64 = 1000.0;

/// Limits are 32-bit numbers in the kernel.
const MAX_LIMIT: u64 = u32::MAX as u64;

/// A queue as `tc` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// The discipline and its parameters.
    pub words: String,
    /// The limit that the shaper above it has to be told: it tells a bfifo or pfifo below it.
    pub shaper_limit: u64,
}

/// The parameters that the discipline `kind` takes, and what they measure; a count may be of
/// anything.
pub fn params_of(kind: &str) -> impl Iterator<Item = (&'static str, Option<Measure>)> {
    let found = DISCIPLINES.iter().filter(move |known| known.kind == kind);
    let measured = |form| match form {
        Form::Time => Some(Measure::Time),
        Form::Rate => Some(Measure::Rate),
        Form::Share | Form::Percent => Some(Measure::Share),
        Form::Flag(..) => Some(Measure::Switch),
        Form::Count => None,
    };
    found.flat_map(move |known| {
        let params = known.params.iter();
        params.map(move |&(name, form)| (name, measured(form)))
    })
}

/// Names of the disciplines that the kernel has.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    std::iter::once("droptail").chain(DISCIPLINES.iter().map(|discipline| discipline.kind))
}

/// `queue` in front of a link of `rate`; `packet` is the size of a full packet, Ethernet header
/// included, in which bytes become packets and packets bytes.
///
/// # Errors
/// The key below `queue` at fault, and what the kernel does not do.
pub(crate) fn child(queue: &Queue, rate: Rate, packet: u64) -> Result<Child, (String, String)> {
    let kind = queue.kind.as_str();
    let too_large = |limit: u64| {
        let what = format!("a queue of {limit} (the kernel counts to {MAX_LIMIT})");
        ("limit".to_owned(), what)
    };
    let bounded = |limit: u64| match limit <= MAX_LIMIT {
        true => Ok(limit),
        false => Err(too_large(limit)),
    };
    if kind == "droptail" {
        let (fifo, limit) = match queue.limit {
            Limit::Bytes(bytes) => ("bfifo", bounded(bytes)?),
            Limit::Packets(packets) => ("pfifo", bounded(packets)?),
        };
        return Ok(Child {
            words: format!("{fifo} limit {limit}"),
            shaper_limit: limit,
        });
    }
    let Some(discipline) = DISCIPLINES.iter().find(|known| known.kind == kind) else {
        let known: Vec<&str> = kinds().collect();
        let what = format!("queue {kind} (the kernel has: {})", known.join(", "));
        return Err(("kind".to_owned(), what));
    };
    let (word, unit) = discipline.limit;
    let limit = bounded(match (queue.limit, unit) {
        (Limit::Bytes(bytes), Unit::Bytes) => bytes,
        (Limit::Packets(packets), Unit::Packets) => packets,
        (Limit::Bytes(bytes), Unit::Packets) => (bytes / packet).max(1),
        (Limit::Packets(packets), Unit::Bytes) => packets.saturating_mul(packet),
    })?;
    let mut all = vec![kind.to_owned(), word.to_owned(), limit.to_string()];
    for (name, &value) in &queue.params {
        let Some((_, form)) = discipline.params.iter().find(|(known, _)| known == name) else {
            let what = format!("parameter {name} of queue {kind}: the kernel has none");
            return Err((name.clone(), what));
        };
        let unfit = |expected| {
            let what = format!("parameter {name} = {value} of queue {kind}: {expected}");
            (name.clone(), what)
        };
        all.extend(form.words(name, value).map_err(unfit)?);
    }
    let own = |name: &str| queue.params.contains_key(name);
    if discipline.knows_rate && !own("bandwidth") {
        all.extend(["bandwidth".to_owned(), words::rate(rate)]);
    }
    if discipline.averages && !own("avpkt") {
        all.extend(["avpkt".to_owned(), AVERAGE_PACKET.to_string()]);
    }
    if kind == "red" || kind == "choke" {
        thresholds(queue, limit)?;
    }
    Ok(Child {
        words: all.join(" "),
        shaper_limit: MAX_LIMIT / 4,
    })
}

/// Whether RED's thresholds make sense, and `tc` finds a weight for its average.
fn thresholds(queue: &Queue, limit: u64) -> Result<(), (String, String)> {
    let kind = &queue.kind;
    let own = |name: &str| queue.params.get(name).copied();
    let wrong = |key: &str, what: String| Err((key.to_owned(), what));
    // RED counts in bytes of an average packet's size, CHOKe in packets.
    let packet = match kind.as_str() {
        "red" => own("avpkt").unwrap_or(AVERAGE_PACKET),
        _ => 1.0,
    };
    let limit = limit as f64;
    let third = own("min").map(|min| (min * 3.0).floor());
    let max = own("max").or(third).unwrap_or((limit / 4.0).floor());
    let min = own("min").unwrap_or((max / 3.0).floor());
    if min >= max || max > limit {
        let what = format!(
            "queue {kind} with min {min}, max {max} and limit {limit}: each must be above the last"
        );
        return wrong(if own("min").is_some() { "min" } else { "limit" }, what);
    }
    let burst = own("burst").unwrap_or(((2.0 * min + max) / (3.0 * packet)).floor());
    // iproute2's tc_red_eval_ewma: the weight W = 2^-n that lets a burst from an empty queue pass.
    let above = burst + 1.0 - min / packet;
    let lets_pass = |n: i32| {
        let weight = 0.5_f64.powi(n);
        above <= (1.0 - (1.0 - weight).powf(burst)) / weight
    };
    if above < 1.0 || !(1..32).any(lets_pass) {
        let what = format!(
            "queue {kind} with a burst of {burst} packets over min {min}: no average does that \
             (choose a larger limit, or another burst)"
        );
        return wrong(
            if own("burst").is_some() {
                "burst"
            } else {
                "limit"
            },
            what,
        );
    }
    Ok(())
}

impl Form {
    /// The words for a parameter; the error says what it must be.
    fn words(self, name: &str, value: f64) -> Result<Vec<String>, &'static str> {
        let number = |text: String| Ok(vec![name.to_owned(), text]);
        match self {
            Form::Time if (0.0..4294.0).contains(&value) => number(words::seconds(value)),
            Form::Time => Err("a time from 0 to 4294 s"),
            Form::Count if value.fract() == 0.0 && (0.0..=MAX_LIMIT as f64).contains(&value) => {
                number((value as u64).to_string())
            }
            Form::Count => Err("a whole number from zero up"),
            Form::Rate => match Rate::from_bps(value as u64) {
                Some(rate) => number(words::rate(rate)),
                None => Err("a positive rate"),
            },
            Form::Share if (0.0..=1.0).contains(&value) => number(words::share(value)),
            Form::Percent if (0.0..=1.0).contains(&value) => {
                number(((value * 100.0).round() as u64).to_string())
            }
            Form::Share | Form::Percent => Err("a share from 0 to 1"),
            Form::Flag(yes, no) if value == 0.0 || value == 1.0 => {
                let word = if value == 1.0 { yes } else { no };
                Ok(if word.is_empty() {
                    vec![]
                } else {
                    vec![word.to_owned()]
                })
            }
            Form::Flag(..) => Err("true or false"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(kind: &str, limit: Limit, params: &[(&str, f64)]) -> Queue {
        Queue {
            kind: kind.to_owned(),
            limit,
            params: params
                .iter()
                .map(|&(name, v)| (name.to_owned(), v))
                .collect(),
        }
    }

    fn words(queue: &Queue) -> Result<String, (String, String)> {
        let rate = Rate::from_bps(10_000_000).expect("a rate");
        child(queue, rate, 1514).map(|child| child.words)
    }

    #[test]
    fn limits_become_the_unit_that_the_kernel_counts_in() {
        let of = |kind, limit| words(&queue(kind, limit, &[])).expect("known");
        assert_eq!(of("droptail", Limit::Bytes(64_000)), "bfifo limit 64000");
        assert_eq!(of("droptail", Limit::Packets(100)), "pfifo limit 100");
        assert_eq!(of("codel", Limit::Bytes(15_140)), "codel limit 10");
        assert_eq!(of("codel", Limit::Bytes(100)), "codel limit 1");
        assert_eq!(of("cake", Limit::Packets(2)), "cake memlimit 3028");
        assert_eq!(
            of("red", Limit::Packets(100)),
            "red limit 151400 bandwidth 10000000bit avpkt 1000"
        );
    }

    #[test]
    fn parameters_are_in_their_units() {
        let queue = queue(
            "fq_codel",
            Limit::Packets(10),
            &[("target", 0.005), ("ecn", 0.0), ("quantum", 300.0)],
        );
        assert_eq!(
            words(&queue).expect("known"),
            "fq_codel limit 10 noecn quantum 300 target 5000us"
        );
    }

    #[test]
    fn what_the_kernel_lacks_is_refused_by_key() {
        let key = |kind, params: &[(&str, f64)]| {
            words(&queue(kind, Limit::Packets(10), params))
                .expect_err("unknown")
                .0
        };
        assert_eq!(key("dualpi2", &[]), "kind");
        assert_eq!(key("red", &[("gentle", 1.0)]), "gentle");
        assert_eq!(key("codel", &[("ecn", 2.0)]), "ecn");
        assert_eq!(key("fq_codel", &[("flows", 1.5)]), "flows");
        assert_eq!(key("fq_pie", &[("ecn_prob", 10.0)]), "ecn_prob");
        // As tc itself finds: below 12 packets CHOKe has no room for its thresholds.
        assert_eq!(key("choke", &[]), "limit");
        assert_eq!(key("choke", &[("min", 9.0), ("max", 5.0)]), "min");
        assert_eq!(key("red", &[("min", 3000.0), ("burst", 1.0)]), "burst");
        let huge = words(&queue("droptail", Limit::Bytes(1 << 40), &[]));
        assert_eq!(huge.expect_err("too large").0, "limit");
    }

    /// Each parameter of the study file is one of the kernel's or known to be none.
    #[test]
    fn the_table_has_every_parameter_of_the_study_file() {
        let names = cclab_spec::Names::default();
        let lacking = [
            ("red", "weight"),
            ("red", "gentle"),
            ("pie", "max_burst"),
            ("pie", "derandomize"),
            ("fq_pie", "max_burst"),
            ("fq_pie", "derandomize"),
        ];
        for discipline in DISCIPLINES {
            let study = names
                .qdiscs
                .iter()
                .find(|known| known.name == discipline.kind);
            let study = study.expect("a name of the study file");
            for param in &study.params {
                let param = param.name.as_str();
                let has = discipline.params.iter().any(|&(known, _)| known == param);
                let lacks = lacking.contains(&(discipline.kind, param));
                assert!(has != lacks, "{} of {}", param, discipline.kind);
            }
        }
    }
}
