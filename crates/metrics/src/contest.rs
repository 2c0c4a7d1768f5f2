//! How flows that are active together share the network over time.

use cclab_trace::Trace;
use cclab_units::Time;

use crate::buckets::Buckets;
use crate::input::MeasureInput;
use crate::of_many::mean;
use crate::window::Window;

/// What the flows of a run had of each other.
pub(crate) struct Contest {
    /// For each flow its place among those that started.
    places: Vec<Option<usize>>,
    /// Since when all flows were active, and what each received from then on: the warm-up included,
    /// for convergence is what a warm-up waits for.
    together: Option<(Window, Option<Buckets>)>,
    /// What each received in the steady window.
    steady: Option<Buckets>,
    /// By the same places, the smallest part of all bytes that each had.
    least: Vec<Option<f64>>,
    /// For each flow, its max-min fair rate.
    fair: Vec<Option<f64>>,
}

impl Contest {
    /// Of those flows of `trace` that are the `rivals`; `received` is known of all, as are their
    /// `fair` rates.
    pub fn of(
        trace: &Trace,
        received: &[Vec<(Time, u64)>],
        input: &MeasureInput,
        fair: &[Option<f64>],
        rivals: &[usize],
    ) -> Contest {
        let run = &trace.summary;
        let started: Vec<usize> = rivals
            .iter()
            .copied()
            .filter(|&flow| run.flows[flow].started.is_some())
            .collect();
        let fill =
            |window: Window| Buckets::fill(started.iter().map(|&flow| &received[flow][..]), window);
        let window = Window::steady(run, Time::ZERO);
        let steady_window = Window::steady(run, input.warmup);
        let together = window.map(|window| (window, fill(window)));
        let steady = match (&together, steady_window == window) {
            (Some((_, buckets)), true) => buckets.clone(),
            _ => steady_window.and_then(fill),
        };
        let place = |flow| started.iter().position(|&other| other == flow);
        Contest {
            places: (0..run.flows.len()).map(place).collect(),
            together,
            least: steady.iter().flat_map(Buckets::least_shares).collect(),
            steady,
            fair: fair.to_vec(),
        }
    }

    /// For each flow of `trace` its max-min fair rate in the steady window.
    pub fn fair(trace: &Trace, input: &MeasureInput) -> Vec<Option<f64>> {
        let run = &trace.summary;
        match (&input.paths, Window::steady(run, input.warmup)) {
            (Some(paths), Some(window)) => paths.allocation(run, window),
            _ => vec![None; run.flows.len()],
        }
    }

    /// How long after the last start the flows share evenly and go on to.
    pub fn convergence(&self) -> Option<Time> {
        let rivals = self.places.iter().flatten().count();
        let (window, buckets) = self.together.as_ref().filter(|_| rivals > 1)?;
        Some(buckets.as_ref()?.converged()? - window.from)
    }

    /// Mean of Jain's index over buckets.
    pub fn jain_mean(&self) -> Option<f64> {
        let indices: Vec<f64> = self.indices().collect();
        mean(&indices)
    }

    /// Smallest of the same.
    pub fn jain_min(&self) -> Option<f64> {
        self.indices().reduce(f64::min)
    }

    fn indices(&self) -> impl Iterator<Item = f64> {
        self.steady
            .iter()
            .flat_map(|buckets| buckets.jain().flatten())
    }

    /// The max-min fair rate of a flow.
    pub fn fair_bps(&self, flow: usize) -> Option<f64> {
        self.fair[flow]
    }

    /// The smallest part of all goodput that a flow had for some seconds.
    pub fn least_share(&self, flow: usize) -> Option<f64> {
        *self.least.get(self.places[flow]?)?
    }

    /// The longest time in which a flow got next to nothing of its fair rate.
    pub fn starved_s(&self, flow: usize) -> Option<f64> {
        let (place, fair) = self.places[flow].zip(self.fair[flow])?;
        Some(self.steady.as_ref()?.starved_s(place, fair))
    }

    /// Coefficient of variation of a flow's goodput over seconds.
    pub fn variation(&self, flow: usize) -> Option<f64> {
        self.steady.as_ref()?.variation(self.places[flow]?)
    }
}
