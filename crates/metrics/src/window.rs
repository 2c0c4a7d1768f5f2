//! The spans of a run over which something is measured.

use cclab_trace::schema::{FlowSummary, RunSummary};
use cclab_units::Time;

/// A span of virtual time that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Time,
    /// Its end, later than its beginning.
    pub to: Time,
}

impl Window {
    /// From `from` to `to`; `None` if that is empty.
    pub fn new(from: Time, to: Time) -> Option<Window> {
        (from < to).then_some(Window { from, to })
    }

    /// From a flow's start to its end or the run's; `None` if it never started.
    pub fn active(flow: &FlowSummary, end: Time) -> Option<Window> {
        Window::new(flow.started?, flow.ended.unwrap_or(end))
    }

    /// What is left of it after the warm-up; `None` if that is nothing.
    pub fn after(self, warmup: Time) -> Option<Window> {
        Window::new(self.from.max(warmup), self.to)
    }

    /// After the warm-up, while every flow that ever started is active: from the end of the
    /// warm-up or the last start to the first end of a flow or the run's.
    pub fn steady(run: &RunSummary, warmup: Time) -> Option<Window> {
        let started = run.flows.iter().filter(|flow| flow.started.is_some());
        let from = started.clone().filter_map(|flow| flow.started).max()?;
        let to = started
            .filter_map(|flow| flow.ended)
            .min()
            .unwrap_or(run.end);
        Window::new(from.max(warmup), to.min(run.end))
    }

    /// From the end of the warm-up or the first start to the end of the run; where there is cross
    /// traffic alone, from the end of the warm-up.
    pub fn loaded(run: &RunSummary, warmup: Time) -> Option<Window> {
        let first = run.flows.iter().filter_map(|flow| flow.started).min();
        let alone = (!run.traffic.is_empty()).then_some(Time::ZERO);
        let first = first.or(alone)?;
        Window::new(first.max(warmup), run.end)
    }

    /// Its length in seconds.
    pub fn seconds(self) -> f64 {
        (self.to - self.from).as_secs_f64()
    }
}
