//! The extra delay of packets on a Wi-Fi network with many others around.
//!
//! The model is that of draft-huitema-ccwg-c4-test-04, section "Handling of High Jitter
//! Environments": N1 times 1 ms of deferral, less a random part of the last, and for a share of the
//! packets N2 times 7.5 ms of retransmission. Its mean is the average that it is asked for, from 1 to
//! 91 ms, less 0.316 ms: the random part takes half a millisecond of each packet with a deferral.

use cclab_units::{Stream, Time};

/// Nanoseconds of a deferral.
const DEFERRAL: u64 = 1_000_000;
/// Nanoseconds of a retransmission.
const RETRANSMISSION: u64 = 7_500_000;
/// Deferrals on average; e to the minus of it.
const DEFERRALS: (f64, f64) = (1.0, 0.367_879_441_171_442_33);
/// Retransmissions on average, of packets that have some; e to the minus of it.
const RETRANSMISSIONS: (f64, f64) = (12.0, 6.144_212_353_328_21e-6);
/// Up to this average no packet is retransmitted.
const LEAST: f64 = 1e6;
/// Nanoseconds from there to the average by which all are: 12 times 7.5 ms.
const RANGE: f64 = 90e6;

/// The extra delay of a packet where the model is asked for `average`; none where that is zero.
pub fn latency(average: Time, dice: &mut Stream) -> Time {
    let share = ((average.as_nanos() as f64 - LEAST) / RANGE).clamp(0.0, 1.0);
    // All are drawn for every packet: another average leaves the dice of those behind it.
    let deferrals = poisson(DEFERRALS, dice);
    let cut = (DEFERRAL as f64 * dice.uniform()) as u64;
    let is_retransmitted = dice.chance(share);
    let retransmissions = poisson(RETRANSMISSIONS, dice);
    if average == Time::ZERO {
        return Time::ZERO;
    }
    let mut latency = deferrals * DEFERRAL;
    if deferrals > 0 {
        latency -= cut;
    }
    if is_retransmitted {
        latency += retransmissions * RETRANSMISSION;
    }
    Time::from_nanos(latency)
}

/// A number of Poisson's distribution with `mean`, where none has the probability `none`: the first
/// up to which the probabilities sum to more than a uniform number. There is no exponential, whose
/// last digit differs from one machine to the next.
fn poisson((mean, none): (f64, f64), dice: &mut Stream) -> u64 {
    let drawn = dice.uniform();
    let (mut number, mut probability, mut sum) = (0_u64, none, none);
    // Rounding may leave the sum short of a number close to 1.
    while sum <= drawn && sum + probability > sum {
        number += 1;
        probability *= mean / number as f64;
        sum += probability;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In milliseconds, of packets enough.
    fn latencies(average: Time) -> Vec<f64> {
        let mut dice = Stream::new(11, "jitter");
        let latency = |_| latency(average, &mut dice).as_secs_f64() * 1e3;
        (0..400_000).map(latency).collect()
    }

    /// The closed form: with A = N1 - r where N1 > 0, E A = 1 - (1 - 1/e) / 2 and E A^2 = 2 - 1 +
    /// (1 - 1/e) / 3; with B = 7.5 N2 for a share x, E B = 90 x and E B^2 = 7.5^2 (12 + 144) x.
    #[test]
    fn mean_and_variance_are_those_of_the_closed_form() {
        let some = 1.0 - (-1.0_f64).exp();
        let (mean_a, square_a) = (1.0 - some / 2.0, 1.0 + some / 3.0);
        for (asked, x) in [
            (0.2, 0.0),
            (1.0, 0.0),
            (7.0, 6.0 / 90.0),
            (12.0, 11.0 / 90.0),
            (91.0, 1.0),
            (500.0, 1.0),
        ] {
            let drawn = latencies(Time::from_secs_f64(asked / 1e3));
            let count = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / count;
            let variance = drawn.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / count;
            let fourth = drawn.iter().map(|d| (d - mean).powi(4)).sum::<f64>() / count;
            let expected = square_a - mean_a * mean_a + 8775.0 * x - 8100.0 * x * x;
            // Four standard errors.
            let tolerance = 4.0 * (expected / count).sqrt();
            let expected_mean = mean_a + 90.0 * x;
            assert!((mean - expected_mean).abs() < tolerance, "{asked}: {mean}");
            let tolerance = 4.0 * ((fourth - expected * expected) / count).sqrt();
            assert!(
                (variance - expected).abs() < tolerance,
                "{asked}: {variance}"
            );
        }
    }

    #[test]
    fn an_average_of_zero_adds_nothing() {
        assert!(latencies(Time::ZERO).iter().all(|&latency| latency == 0.0));
    }

    /// A packet has the same dice whatever the average: a larger one adds retransmissions alone.
    #[test]
    fn a_larger_average_only_adds_retransmissions() {
        let pairs = latencies(Time::from_millis(1));
        let pairs = pairs.into_iter().zip(latencies(Time::from_millis(12)));
        for (less, more) in pairs {
            let added = (more - less) / 7.5;
            assert!((added - added.round()).abs() < 1e-6 && added > -1e-6);
        }
    }

    /// Probabilities of each number, in ratios of which exp() has no part.
    #[test]
    fn numbers_are_of_poissons_distribution() {
        let mut dice = Stream::new(3, "poisson");
        const DRAWN: u64 = 400_000;
        for distribution in [DEFERRALS, RETRANSMISSIONS] {
            let mut seen = [0_u64; 64];
            for _ in 0..DRAWN {
                seen[poisson(distribution, &mut dice) as usize] += 1;
            }
            let mean = distribution.0;
            let mut expected = DRAWN as f64 * (-mean).exp();
            for (number, &count) in seen.iter().enumerate() {
                let error = (count as f64 - expected).abs();
                assert!(error <= 4.5 * expected.sqrt() + 2.0, "{number}: {count}");
                expected *= mean / (number + 1) as f64;
            }
        }
    }

    /// The largest uniform number ends the search too.
    #[test]
    fn the_sum_of_probabilities_comes_close_enough_to_one() {
        for (mean, none) in [DEFERRALS, RETRANSMISSIONS] {
            let (mut sum, mut probability, mut number) = (none, none, 0.0);
            while sum + probability > sum {
                number += 1.0;
                probability *= mean / number;
                sum += probability;
            }
            assert!(
                (sum - 1.0).abs() < 1e-15 && number < 100.0,
                "{sum}, {number}"
            );
        }
    }
}
