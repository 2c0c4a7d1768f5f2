//! Queueing disciplines in the words of `tc`.

use cclab_qdisc::{Form, Kind, Tc, Unit, of_kernel};
use cclab_spec::{Limit, Queue};
use cclab_units::Rate;

use crate::words;

/// RED's average packet in bytes, as in the manual page of `tc`.
const AVERAGE_PACKET: f64 = 1000.0;

/// Bits that the kernel has for a threshold of RED and the weight of its average.
const AVERAGE_BITS: f64 = 31.0;

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

/// `queue` in front of a link of `rate`; `packet` is the size of a full packet, Ethernet header
/// included, in which bytes become packets and packets bytes.
///
/// # Errors
/// The key below `queue` at fault, and what the kernel does not do.
pub(crate) fn child(queue: &Queue, rate: Rate, packet: u64) -> Result<Child, (String, String)> {
    let Some((_, tc)) = of_kernel().find(|(known, _)| known.name == queue.kind) else {
        let known: Vec<&str> = of_kernel().map(|(known, _)| known.name).collect();
        let what = format!(
            "queue {} (the kernel has: {})",
            queue.kind,
            known.join(", ")
        );
        return Err(("kind".to_owned(), what));
    };
    let (kind, limit) = limited(queue.limit, tc.kinds, packet);
    if limit > MAX_LIMIT {
        let what = format!("a queue of {limit} (the kernel counts to {MAX_LIMIT})");
        return Err(("limit".to_owned(), what));
    }
    let own = [
        kind.name.to_owned(),
        kind.limit.to_owned(),
        limit.to_string(),
    ];
    let mut all = own.to_vec();
    all.extend(params(queue, tc)?);
    let given = |name: &str| queue.params.contains_key(name);
    if tc.average.is_some() && !given("bandwidth") {
        all.extend(["bandwidth".to_owned(), words::rate(rate)]);
    }
    if tc.average == Some(Unit::Bytes) && !given("avpkt") {
        all.extend(["avpkt".to_owned(), AVERAGE_PACKET.to_string()]);
    }
    if let Some(unit) = tc.average {
        thresholds(queue, limit, unit)?;
    }
    Ok(Child {
        words: all.join(" "),
        shaper_limit: match tc.limited_by_shaper {
            true => limit,
            false => MAX_LIMIT / 4,
        },
    })
}

/// The kind that counts as `limit` does and its limit, else the first with the limit in its unit.
fn limited(limit: Limit, kinds: &'static [Kind], packet: u64) -> (&'static Kind, u64) {
    let (limit, unit) = match limit {
        Limit::Bytes(bytes) => (bytes, Unit::Bytes),
        Limit::Packets(packets) => (packets, Unit::Packets),
    };
    if let Some(kind) = kinds.iter().find(|kind| kind.unit == unit) {
        return (kind, limit);
    }
    let limit = match unit {
        Unit::Bytes => (limit / packet).max(1),
        Unit::Packets => limit.saturating_mul(packet),
    };
    (&kinds[0], limit)
}

/// The words for the parameters of `queue`.
fn params(queue: &Queue, tc: &Tc) -> Result<Vec<String>, (String, String)> {
    let kind = &queue.kind;
    let mut all = Vec::new();
    for (name, &value) in &queue.params {
        let Some(&(_, form)) = tc.words.iter().find(|(known, _)| known == name) else {
            let what = format!("parameter {name} of queue {kind}: the kernel has none");
            return Err((name.clone(), what));
        };
        let unfit = |expected| {
            let what = format!("parameter {name} = {value} of queue {kind}: {expected}");
            (name.clone(), what)
        };
        all.extend(spelt(form, name, value).map_err(unfit)?);
    }
    Ok(all)
}

/// Whether RED's thresholds make sense, and `tc` finds a weight for its average.
fn thresholds(queue: &Queue, limit: u64, unit: Unit) -> Result<(), (String, String)> {
    let kind = &queue.kind;
    let own = |name: &str| queue.params.get(name).copied();
    let wrong = |key: &str, what: String| Err((key.to_owned(), what));
    let packet = match unit {
        Unit::Bytes => own("avpkt").unwrap_or(AVERAGE_PACKET),
        Unit::Packets => 1.0,
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
    let by = if own("burst").is_some() {
        "burst"
    } else {
        "limit"
    };
    let Some(weight) = (1..32).find(|&n| above >= 1.0 && lets_pass(n)) else {
        let what = format!(
            "queue {kind} with a burst of {burst} packets over min {min}: no average does that \
             (choose a larger limit, or another burst)"
        );
        return wrong(by, what);
    };
    // red_check_params of the kernel's net/red.h: both thresholds are shifted by the weight.
    let bits = 1.0 + max.max(1.0).log2().floor();
    if bits + f64::from(weight) > AVERAGE_BITS {
        let what = format!(
            "queue {kind} with a burst of {burst} packets and max {max}: the average would have the \
             weight 2^-{weight}, and with {bits} bits of max the kernel has {AVERAGE_BITS} for both \
             (choose a smaller burst, or a smaller max)"
        );
        return wrong(by, what);
    }
    Ok(())
}

/// The words for a parameter; the error says what it must be.
fn spelt(form: Form, name: &str, value: f64) -> Result<Vec<String>, &'static str> {
    let number = |text: String| Ok(vec![name.to_owned(), text]);
    match form {
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

    /// A kernel of 6.12 answers "Invalid argument" to a burst of 300 here, and takes one of 200.
    #[test]
    fn an_average_that_the_kernel_has_no_bits_for_is_refused() {
        let of = |burst: f64| {
            let params = [("min", 15_000.0), ("max", 600_000.0), ("burst", burst)];
            words(&queue("red", Limit::Bytes(3_000_000), &params))
        };
        let (key, what) = of(300.0).expect_err("12 bits and 20");
        assert_eq!(key, "burst");
        assert!(
            what.contains("max 600000") && what.contains("2^-12"),
            "{what}"
        );
        assert!(of(200.0).is_ok(), "11 bits and 20");
        // The burst that tc reckons from a large limit may be too large as well.
        let large = words(&queue("red", Limit::Bytes(1 << 30), &[]));
        assert_eq!(large.expect_err("bits of max").0, "limit");
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
}
