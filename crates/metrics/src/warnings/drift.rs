//! Shares that drift: what a longer run would show is not what this one does.

use super::Evidence;
use crate::of_many::mean;
use crate::series::value_at;
use crate::window::Window;
use cclab_units::Time;

/// Parts of the steady window. Of two whole loss cycles they show no trend, of a part of one they
/// do.
const PARTS: usize = 12;

/// Round trips that a part must have, so that it is not one window's worth.
const ROUND_TRIPS: f64 = 10.0;

/// A share that moved by less is near enough to what it goes to.
const MOVED: f64 = 0.05;

/// Standard deviations of Mann and Kendall's statistic: by chance one share in 370 is beyond.
const TREND: f64 = 3.0;

/// A share that drifted.
struct Drift {
    flow: usize,
    /// Its means over the first and the last third.
    first: f64,
    last: f64,
}

pub(super) fn not_converged(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let window = evidence.steady?;
    let drift = worst(evidence, window)?;
    let flow = &evidence.metrics.flows[drift.flow].name;
    Some((
        format!(
            "the flows have not settled: the share of {flow} is {:.0}% in the first third of the \
             steady window and {:.0}% in the last",
            drift.first * 100.0,
            drift.last * 100.0
        ),
        format!(
            "raise `duration`, to {:.0}s for a start, and let `warmup` leave out what comes before \
             shares stay as they are; repeats drift alike",
            5.0 * window.to.as_secs_f64()
        ),
    ))
}

/// The share that drifted furthest, of all flows at their bottlenecks.
fn worst(evidence: &Evidence<'_>, window: Window) -> Option<Drift> {
    let part = window.seconds() / PARTS as f64;
    let every = evidence.input.sampled_every;
    if every == Time::ZERO || every.as_secs_f64() > part {
        return None;
    }
    let flows = &evidence.metrics.flows;
    let mut seen: Vec<&[usize]> = Vec::new();
    let mut drifts = Vec::new();
    for flow in 0..flows.len() {
        let links = evidence.input.bottlenecks(flow);
        if seen.contains(&links) {
            continue;
        }
        seen.push(links);
        let crosses = |flow: &usize| links.iter().any(|&l| evidence.input.crosses(*flow, l));
        let slow = |flow: &usize| {
            let rtt = flows[*flow].srtt_mean_s.unwrap_or(0.0);
            rtt * ROUND_TRIPS > part
        };
        let rivals: Vec<usize> = (0..flows.len())
            .filter(|&flow| flows[flow].started_s.is_some() && crosses(&flow))
            .collect();
        if rivals.len() > 1 && !rivals.iter().any(slow) {
            drifts.extend(of_rivals(evidence, window, &rivals).into_iter().flatten());
        }
    }
    let moved = |drift: &Drift| (drift.last - drift.first).abs();
    drifts
        .into_iter()
        .max_by(|a, b| moved(a).total_cmp(&moved(b)))
}

/// Those of the `rivals` whose shares drifted; `None` where shares are not known.
fn of_rivals(evidence: &Evidence<'_>, window: Window, rivals: &[usize]) -> Option<Vec<Drift>> {
    let length = (window.to - window.from).as_nanos();
    let edge = |part: usize| {
        let after = u128::from(length) * part as u128 / PARTS as u128;
        window.from + Time::from_nanos(after as u64)
    };
    let bytes = |&flow: &usize| -> Option<Vec<f64>> {
        let known = (0..=PARTS).map(|part| value_at(&evidence.received[flow], edge(part)));
        let known: Vec<f64> = known.collect::<Option<_>>()?;
        Some(known.windows(2).map(|pair| pair[1] - pair[0]).collect())
    };
    let bytes: Vec<Vec<f64>> = rivals.iter().map(bytes).collect::<Option<_>>()?;
    let totals = (0..PARTS).map(|part| bytes.iter().map(|flow| flow[part]).sum::<f64>());
    let totals: Vec<f64> = totals.collect();
    if totals.iter().any(|&total| total <= 0.0) {
        return None;
    }
    let drifts = rivals.iter().zip(&bytes).filter_map(|(&flow, bytes)| {
        let shares = bytes.iter().zip(&totals).map(|(got, all)| got / all);
        let shares: Vec<f64> = shares.collect();
        let first = mean(&shares[..PARTS / 3])?;
        let last = mean(&shares[PARTS - PARTS / 3..])?;
        let drifts = (last - first).abs() > MOVED && trend(&shares).abs() > TREND;
        drifts.then_some(Drift { flow, first, last })
    });
    Some(drifts.collect())
}

/// Mann and Kendall's statistic in its standard deviations, corrected for continuity (Mann,
/// Nonparametric tests against trend, Econometrica 1945; Kendall, Rank Correlation Methods, 1975).
fn trend(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let order = |earlier: f64, later: f64| match later.total_cmp(&earlier) {
        _ if later == earlier => 0.0,
        order => f64::from(order as i8),
    };
    let pairs = (0..values.len()).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
    let sum: f64 = pairs.map(|(i, j)| order(values[i], values[j])).sum();
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    (sum.abs() - 1.0).max(0.0).copysign(sum) / deviation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_told_from_cycles_and_from_chance() {
        let rising: Vec<f64> = (0..12).map(f64::from).collect();
        // (66 - 1) / sqrt(12 * 11 * 29 / 18).
        assert!((trend(&rising) - 65.0 / (12.0 * 11.0 * 29.0 / 18.0_f64).sqrt()).abs() < 1e-12);
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        assert!((trend(&falling) + trend(&rising)).abs() < 1e-12);
        // Two teeth of a saw.
        let cycles: Vec<f64> = (0..12).map(|part| f64::from(part % 6)).collect();
        assert!(trend(&cycles).abs() < TREND, "{}", trend(&cycles));
        assert_eq!(trend(&[1.0; 12]), 0.0);
    }
}
