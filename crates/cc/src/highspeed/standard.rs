//! The functions of RFC 3649 section 5, with the response function of its appendix B.
//!
//! Only the four operations of IEEE 754 are used, so that results are the same everywhere.

use crate::gaimd::Rule;

/// Appendix B: `p(w) = 1 / (12.8 w^1.2)`, which section 5 rounds to `0.078 / w^1.2`.
const RESPONSE: f64 = 12.8;
/// `w^2 p(w)` grows with this power of the window.
const POWER: f64 = 2.0 - 1.2;
/// `b` at `Low_Window`.
const LOW_DECREASE: f64 = 0.5;
/// Past 500,000 segments the line of section 5 would end below zero.
const LEAST_DECREASE: f64 = 0.01;

/// The functions, and their values at the window last asked for.
pub(super) struct HighSpeed {
    low_window: f64,
    /// `log(Low_Window)`.
    low: f64,
    /// What `b` loses when the logarithm of the window grows by one.
    slope: f64,
    /// Whole segments.
    at: f64,
    a: f64,
    b: f64,
}

impl HighSpeed {
    /// Windows in segments; at `high_window` the share `high_decrease` is given up.
    pub(super) fn new(low_window: f64, high_window: f64, high_decrease: f64) -> HighSpeed {
        let low = logarithm(low_window);
        let high = logarithm(high_window.max(low_window + 1.0));
        HighSpeed {
            low_window,
            low,
            slope: (LOW_DECREASE - high_decrease) / (high - low),
            at: 0.0,
            a: 1.0,
            b: LOW_DECREASE,
        }
    }

    /// Computes both for the whole segments of `w`; most acknowledgements leave those as they are.
    fn at(&mut self, w: f64) {
        let w = w.floor();
        if w == self.at {
            return;
        }
        self.at = w;
        if w <= self.low_window {
            (self.a, self.b) = (1.0, LOW_DECREASE);
            return;
        }
        let log = logarithm(w);
        let b = LOW_DECREASE - self.slope * (log - self.low);
        self.b = b.max(LEAST_DECREASE);
        let a = exponential(POWER * log) / RESPONSE * 2.0 * self.b / (2.0 - self.b);
        self.a = a.max(1.0);
    }
}

impl Rule for HighSpeed {
    fn increase(&mut self, w: f64) -> f64 {
        self.at(w);
        self.a
    }

    fn decrease(&mut self, w: f64) -> f64 {
        self.at(w);
        self.b
    }
}

/// The natural logarithm of `x`, which is at least 1 and finite. The standard library's is the
/// platform's own and may differ in the last bit between systems.
fn logarithm(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as f64 - 1023.0;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // log m = 2 artanh z for z = (m - 1) / (m + 1), at most 1/3: 18 terms leave 3^-37.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let series = (0..18)
        .rev()
        .fold(0.0, |sum, k| sum * z * z + 1.0 / (2 * k + 1) as f64);
    exponent * std::f64::consts::LN_2 + 2.0 * z * series
}

/// `e^x` for `x` between 0 and 700, for the same reason.
fn exponential(x: f64) -> f64 {
    let whole = (x / std::f64::consts::LN_2).floor();
    let rest = x - whole * std::f64::consts::LN_2;
    // Below log 2: 20 terms of Taylor's series leave 1e-20.
    let series = (1..20)
        .rev()
        .fold(1.0, |sum, k| 1.0 + sum * rest / k as f64);
    series * f64::from_bits((whole as u64 + 1023) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaimd::GeneralAimd;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, Congestion, CongestionControl, SlowStart};

    fn functions() -> HighSpeed {
        HighSpeed::new(38.0, 83_000.0, 0.1)
    }

    /// RFC 3649 table 12: w, a(w) as a whole number, b(w) to two digits.
    #[test]
    fn table_12_is_met() {
        let rows = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1_058.0, 8.0, 0.33),
            (1_284.0, 9.0, 0.32),
            (3_039.0, 15.0, 0.27),
            (10_661.0, 30.0, 0.21),
            (35_586.0, 53.0, 0.14),
            (84_035.0, 71.0, 0.10),
            (94_717.0, 73.0, 0.09),
        ];
        let mut f = functions();
        for (w, a, b) in rows {
            assert_eq!(f.increase(w).floor(), a, "a({w})");
            assert_eq!((f.decrease(w) * 100.0).round() / 100.0, b, "b({w})");
        }
        assert_eq!((f.increase(10.0), f.decrease(10.0)), (1.0, 0.5));
        assert_eq!(f.decrease(1e9), LEAST_DECREASE);
    }

    #[test]
    fn logarithms_and_powers_are_those_of_mathematics() {
        for (x, log) in [
            (1.0, 0.0),
            (38.0, 3.637586159726386),
            (83_000.0, 11.326595886778735),
        ] {
            assert!((logarithm(x) - log).abs() < 1e-14, "{}", logarithm(x));
            assert!((exponential(log) / x - 1.0).abs() < 1e-14);
        }
    }

    /// At 1058 segments: a = 1058^0.8 / 12.8 * 2 b / (2 - b), b = 0.5 - 0.4 ln(1058/38) /
    /// ln(83000/38) = 0.5 - 0.4 * 3.32655 / 7.68901 = 0.32695; 1058^0.8 = 262.68, a = 8.0204.
    #[test]
    fn a_window_of_a_thousand_segments_by_hand() {
        let start = crate::Config {
            initial_window: 1_058_000,
            initial_ssthresh: 2_000,
            ..config_of(
                &crate::highspeed::VARIANT,
                Arithmetic::Bytes,
                SlowStart::Plain,
            )
        };
        let mut flow = Bench::new(GeneralAimd::new(&start, functions()));
        // A whole window acknowledged by ACKs of two segments adds a(w).
        for _ in 0..529 {
            flow.ack(&ack(2_000));
        }
        let grown = flow.cc.cwnd() as f64 / 1_000.0 - 1_058.0;
        assert!((grown - 8.02).abs() < 0.05, "{grown}");
        // 0.5 - 0.4 ln(1066/38) / ln(83000/38) = 0.32656 of 1066.0 is given up.
        flow.congestion(Congestion::Loss, &congestion(1_058_000));
        assert!(flow.cc.cwnd().abs_diff(717_900) < 200, "{}", flow.cc.cwnd());
        flow.congestion(Congestion::Rto, &congestion(1_000));
        assert_eq!(flow.cc.cwnd(), 1_000);
    }
}
