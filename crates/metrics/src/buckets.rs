//! Goodput over time: what each flow received in each second, and what follows from that.
//!
//! Buckets are the whole seconds of virtual time that lie inside a window. Their edges are sampled
//! exactly where `trace.interval` divides a second; between two samples a counter is taken to rise
//! linearly, and samples that are further apart than a bucket tell nothing about it.

use cclab_units::Time;

use crate::fairness::jain;
use crate::window::Window;

/// The length of a bucket: long beside the round trips of most paths, so that a window's worth of
/// data arriving at once does not look like unfairness, and short beside what a person calls a
/// while. The size that transperf reports Jain's index over.
pub(crate) const BUCKET: Time = Time::from_secs(1);

/// Jain's index from which flows count as converged.
pub(crate) const CONVERGED: f64 = 0.95;

/// Buckets in a row that must be so.
pub(crate) const CONVERGED_BUCKETS: usize = 5;

/// Buckets over which the smallest share is taken: long enough for a loss cycle of a short path.
pub(crate) const SHARE_BUCKETS: usize = 5;

/// A flow starves while it gets less than this part of its max-min fair rate.
pub(crate) const STARVED: f64 = 0.1;

/// What every flow received in consecutive buckets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buckets {
    /// When the first begins.
    pub from: Time,
    /// Bytes, by flow and then by bucket.
    pub bytes: Vec<Vec<f64>>,
}

impl Buckets {
    /// The buckets inside `window`, of flows that received what `flows` say; `None` without a whole
    /// one, and where samples are too far apart.
    pub fn fill<'a>(
        flows: impl IntoIterator<Item = &'a [(Time, u64)]>,
        window: Window,
    ) -> Option<Buckets> {
        let length = BUCKET.as_nanos();
        let first = window.from.as_nanos().div_ceil(length);
        let last = window.to.as_nanos() / length;
        if first >= last {
            return None;
        }
        let edges = || (first..=last).map(|edge| Time::from_nanos(edge * length));
        let of_flow = |points: &[(Time, u64)]| -> Option<Vec<f64>> {
            let mut rest = points;
            let mut before = None;
            let mut bytes = Vec::with_capacity((last - first) as usize);
            for edge in edges() {
                let value = counter(&mut rest, edge)?;
                bytes.extend(before.map(|before: f64| value - before));
                before = Some(value);
            }
            Some(bytes)
        };
        Some(Buckets {
            from: Time::from_nanos(first * length),
            bytes: flows.into_iter().map(of_flow).collect::<Option<_>>()?,
        })
    }

    fn count(&self) -> usize {
        self.bytes.first().map_or(0, Vec::len)
    }

    /// Jain's index of each bucket; `None` of those in which nothing arrived.
    pub fn jain(&self) -> impl Iterator<Item = Option<f64>> {
        let mut shares = Vec::with_capacity(self.bytes.len());
        (0..self.count()).map(move |bucket| {
            shares.clear();
            shares.extend(self.bytes.iter().map(|flow| flow[bucket]));
            jain(&shares)
        })
    }

    /// When the first of [`CONVERGED_BUCKETS`] buckets in a row begins in each of which Jain's
    /// index is at least [`CONVERGED`].
    pub fn converged(&self) -> Option<Time> {
        let mut row = 0;
        let reached = self.jain().position(|index| {
            row = match index {
                Some(index) if index >= CONVERGED => row + 1,
                _ => 0,
            };
            row == CONVERGED_BUCKETS
        })?;
        Some(self.from + BUCKET * (reached + 1 - CONVERGED_BUCKETS) as u64)
    }

    /// For each flow the smallest part of what all received that it got in any
    /// [`SHARE_BUCKETS`] buckets in a row; `None` if there are fewer, or nothing arrived.
    pub fn least_shares(&self) -> Vec<Option<f64>> {
        let sums = |flow: &[f64]| -> Vec<f64> {
            let windows = flow.windows(SHARE_BUCKETS);
            windows.map(|window| window.iter().sum()).collect()
        };
        let flows: Vec<Vec<f64>> = self.bytes.iter().map(|flow| sums(flow)).collect();
        let windows = flows.first().map_or(0, Vec::len);
        let total = |window: usize| flows.iter().map(|flow| flow[window]).sum::<f64>();
        let totals: Vec<f64> = (0..windows).map(total).collect();
        let least = |flow: &Vec<f64>| {
            let shares = flow.iter().zip(&totals).filter(|&(_, &total)| total > 0.0);
            shares.map(|(got, total)| got / total).reduce(f64::min)
        };
        flows.iter().map(least).collect()
    }

    /// The longest time in seconds in which `flow` got less than [`STARVED`] of `fair_bps` in every
    /// bucket.
    pub fn starved_s(&self, flow: usize, fair_bps: f64) -> f64 {
        let enough = STARVED * fair_bps / 8.0 * BUCKET.as_secs_f64();
        let (mut row, mut longest) = (0_u64, 0);
        for &bytes in &self.bytes[flow] {
            row = if bytes < enough { row + 1 } else { 0 };
            longest = longest.max(row);
        }
        (BUCKET * longest).as_secs_f64()
    }

    /// Standard deviation of what `flow` got in a bucket over the mean; `None` of fewer than two
    /// buckets, or if nothing arrived.
    pub fn variation(&self, flow: usize) -> Option<f64> {
        let bytes = &self.bytes[flow];
        let count = bytes.len() as f64;
        let mean = bytes.iter().sum::<f64>() / count;
        if bytes.len() < 2 || mean <= 0.0 {
            return None;
        }
        let squares = bytes
            .iter()
            .map(|bytes| (bytes - mean).powi(2))
            .sum::<f64>();
        Some((squares / count).sqrt() / mean)
    }
}

/// The value of a counter at `at`, from its points in the order of time: as [`crate::series`] has
/// it, but `None` between points that are further apart than a bucket. What lies before is cut off
/// `points`, for the next instant is later.
fn counter(points: &mut &[(Time, u64)], at: Time) -> Option<f64> {
    let passed = points.iter().take_while(|&&(time, _)| time <= at).count();
    *points = &points[passed.checked_sub(1)?..];
    let (left, low) = points[0];
    if left == at {
        return Some(low as f64);
    }
    let &(right, high) = points.get(1)?;
    let apart = right - left;
    if apart > BUCKET {
        return None;
    }
    let share = (at - left).as_secs_f64() / apart.as_secs_f64();
    Some(low as f64 + share * (high as f64 - low as f64))
}
