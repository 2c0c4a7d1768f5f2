//! How RED's settings follow from each other, from the limit and from the rate.

use crate::discipline::Config;
use crate::red::average::Average;
use crate::red::detector::{Detector, Thresholds};

/// Adaptive RED (Floyd, Gummadi and Shenker 2001), section 5: a queueing delay of 5 ms.
pub(crate) const TARGET_DELAY: f64 = 0.005;
/// Adaptive RED, section 5: at least 5 packets.
const LEAST_MIN: f64 = 5.0;

/// The smallest weight that `tc` finds: 2^-31.
const SMALLEST_SHIFT: i32 = 31;

/// What the entries of the registry differ in beside their thresholds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The weight of a sample, if it was given.
    pub weight: Option<f64>,
    /// Bytes of an average packet.
    pub avpkt: f64,
    /// See [`Thresholds`].
    pub gentle: bool,
    /// Whether the probability adapts.
    pub adaptive: bool,
}

impl Style {
    /// The style that `config` asks for, of a discipline that declares all of it.
    pub fn of(config: &Config) -> Style {
        Style {
            weight: config.params.given("weight"),
            avpkt: config.params.get("avpkt"),
            gentle: config.flag("gentle"),
            adaptive: config.flag("adaptive"),
        }
    }
}

/// Settings as `tc` derives them from a `limit`, in units of which an average packet has `packet`:
/// max = limit / 4, min = max / 3, burst = (2 min + max) / (3 packets), and the weight that lets
/// such a burst pass.
pub(crate) fn of_tc(config: &Config, limit: u64, packet: f64, style: Style) -> Detector {
    let given = |name| config.params.given(name);
    let third = given("min").map(|min| (min * 3.0).min(limit as f64));
    let max = given("max")
        .or(third)
        .unwrap_or_else(|| (limit as f64 / 4.0).floor());
    let min = given("min").unwrap_or_else(|| (max / 3.0).floor());
    let usual = || ((2.0 * min + max) / (3.0 * packet)).floor().max(1.0);
    let burst = given("burst").unwrap_or_else(usual);
    let weight = style.weight.unwrap_or_else(|| weight(burst, min / packet));
    detector(config, [min, max], weight, style)
}

/// Settings in packets that are all given.
pub(crate) fn of_packets(config: &Config) -> Detector {
    let get = |name| config.params.get(name);
    let style = Style::of(config);
    detector(config, [get("min"), get("max")], get("weight"), style)
}

/// Settings in packets as Adaptive RED's section 5 derives them from the rate: thresholds from the
/// delay that is aimed at, and a weight with a time constant of a second.
pub(crate) fn automatic(config: &Config) -> Detector {
    let given = |name| config.params.given(name);
    let style = Style::of(config);
    // Packets per second; a link without a rate never queues.
    let capacity = match packet_time(config, style.avpkt) {
        0.0 => f64::MAX,
        seconds => 1.0 / seconds,
    };
    let half_target = config.params.get("target") * capacity / 2.0;
    let min = given("min").unwrap_or_else(|| half_target.max(LEAST_MIN));
    let max = given("max").unwrap_or(3.0 * min);
    let weight = style.weight.unwrap_or_else(|| -(-1.0 / capacity).exp_m1());
    detector(config, [min, max], weight, style)
}

fn detector(config: &Config, [min, max]: [f64; 2], weight: f64, style: Style) -> Detector {
    let thresholds = Thresholds {
        min,
        max,
        probability: config.params.get("probability"),
        gentle: style.gentle,
    };
    let average = Average::new(weight, packet_time(config, style.avpkt));
    Detector::new(thresholds, average, style.adaptive)
}

/// The time of an average packet in seconds; zero without a rate.
fn packet_time(config: &Config, avpkt: f64) -> f64 {
    let rate = config.rate_given("bandwidth").or(config.rate);
    rate.map_or(0.0, |rate| avpkt * 8.0 / rate.bps() as f64)
}

/// The weight 2^-n, n as small as can be, at which a burst of so many packets into an empty queue
/// leaves the average below `min` packets: burst + 1 - min = (1 - (1 - w)^burst) / w (Floyd and
/// Jacobson 1993, section 6), solved as `tc` does.
fn weight(burst: f64, min: f64) -> f64 {
    let above = burst + 1.0 - min;
    let lets_pass = |weight: &f64| above <= (1.0 - (1.0 - weight).powf(burst)) / weight;
    (1..=SMALLEST_SHIFT)
        .map(|shift| 0.5_f64.powi(shift))
        .find(lets_pass)
        .unwrap_or_else(|| 0.5_f64.powi(SMALLEST_SHIFT))
}

#[cfg(test)]
mod tests {
    use cclab_units::Time;

    use super::*;
    use crate::discipline::Limit;
    use crate::testing::config;

    /// One packet less than the bursts at which 2^-n is exhausted by the table in Linux's
    /// `include/net/red.h` for min = 32 packets. Of the paper's section 6, where with min = 5 and a
    /// weight of up to 0.0042 bursts of 50 pass, `tc` falls just short: its exponent is one less.
    #[test]
    fn the_weight_lets_a_burst_pass() {
        for (n, burst) in [(1, 32.0), (2, 34.0), (3, 38.0), (4, 45.0), (5, 56.0)] {
            assert_eq!(weight(burst, 32.0), 0.5_f64.powi(n), "{burst}");
        }
        assert_eq!(weight(50.0, 5.0), 1.0 / 512.0);
    }

    fn style(name: &str, given: &[(&str, f64)]) -> (Config, Style) {
        let config = config(name, Limit::Bytes(400_000), given);
        (config, Style::of(&config))
    }

    /// What a sample of one moves an average of zero by.
    fn weight_of(mut detector: Detector) -> f64 {
        detector.sample(0.0, Time::ZERO);
        detector.sample(1.0, Time::ZERO)
    }

    /// `tc-red(8)`: max is a quarter of the limit, min a third of max, and the burst
    /// (2 min + max) / (3 avpkt) = (60000 + 90000) / 3000 = 50. With min = 30 packets 2^-5 lets that
    /// pass: (1 - 0.96875^50) 32 = 25.5 is more than 50 + 1 - 30 = 21, and 2^-4 gives 15.4.
    #[test]
    fn settings_follow_from_the_limit_as_tc_has_it() {
        let of = |given: &[(&str, f64)]| {
            let (config, style) = style("red", given);
            of_tc(&config, 400_000, style.avpkt, style)
        };
        let bounds = [("min", 30_000.0), ("max", 90_000.0)];
        let given = [bounds[0], bounds[1], ("avpkt", 1_000.0)];
        assert_eq!(weight_of(of(&given)), 1.0 / 32.0);
        let thresholds = |min, max| Thresholds {
            min,
            max,
            probability: 0.02,
            gentle: false,
        };
        assert_eq!(of(&given).thresholds, thresholds(30_000.0, 90_000.0));
        assert_eq!(of(&[]).thresholds, thresholds(33_333.0, 100_000.0));
        assert_eq!(of(&bounds[..1]).thresholds, thresholds(30_000.0, 90_000.0));
        // Three times min is above the limit.
        let high = [("min", 200_000.0)];
        assert_eq!(of(&high).thresholds, thresholds(200_000.0, 400_000.0));
    }

    /// Adaptive RED, section 5, at 10 Mbit/s and packets of 1000 bytes, C = 1250 a second: 5 ms of
    /// delay are 6.25 packets, half of which are less than 5; 100 ms are 125. The weight is
    /// 1 - exp(-1/1250) = 0.00079968.
    #[test]
    fn settings_follow_from_the_rate_as_adaptive_red_has_it() {
        let of = |given: &[(&str, f64)]| {
            let (config, _) = style("adaptive-red", given);
            automatic(&config)
        };
        let bounds = |detector: &Detector| {
            let Thresholds { min, max, .. } = detector.thresholds;
            [min, max]
        };
        let small = [("avpkt", 1_000.0)];
        assert_eq!(bounds(&of(&small)), [5.0, 15.0]);
        let slow = of(&[small[0], ("target", 0.1)]);
        assert_eq!(bounds(&slow), [62.5, 187.5]);
        assert!((weight_of(slow) - 0.000_799_680_085).abs() < 1e-12);
        let bounded = of(&[("min", 10.0), ("max", 20.0)]);
        assert_eq!(bounds(&bounded), [10.0, 20.0]);
    }

    #[test]
    fn a_packets_time_is_that_at_the_rate_of_the_link_or_the_one_given() {
        let time = |given: &[(&str, f64)]| packet_time(&style("red", given).0, 1_000.0);
        assert_eq!(time(&[]), 0.000_8);
        assert_eq!(time(&[("bandwidth", 1_000_000.0)]), 0.008);
        let (unknown, _) = style("red", &[]);
        assert_eq!(
            packet_time(
                &Config {
                    rate: None,
                    ..unknown
                },
                1_000.0
            ),
            0.0
        );
    }
}
