//! Where flows meet: the bottleneck of each, and who shares it.

use std::collections::{BTreeMap, BTreeSet};

use cclab_spec::Direction;
use cclab_trace::Trace;
use cclab_units::Time;

use crate::bottleneck::utilization;
use crate::fairness::jain;
use crate::flow::{OfFlow, goodput_bps, share, window_goodput_bps};
use crate::input::MeasureInput;
use crate::window::Window;

/// Who meets whom in a run.
pub(crate) struct Meetings<'a> {
    input: &'a MeasureInput,
    ways: &'a [Direction],
    /// By the links that are the bottleneck of some flow, the flows that cross any of them.
    rivals: BTreeMap<&'a [usize], Vec<usize>>,
    /// The different bottlenecks of the flows of each direction.
    of_ways: [BTreeSet<&'a [usize]>; 2],
}

/// What flows share where one of them has its bottleneck.
pub(crate) struct Shared {
    /// What traces call the link.
    pub name: String,
    /// The goodputs of the flows that cross it, added up: of the whole run, and after the warm-up.
    pub goodput: Option<f64>,
    pub window_goodput: Option<f64>,
    /// What else is told of it where not all flows of a direction have the same: else the run and
    /// its bottleneck tell it.
    pub apart: Option<Apart>,
}

/// See [`Shared::apart`].
pub(crate) struct Apart {
    pub utilization: Option<f64>,
    /// Jain's index over the flows that cross it, of the whole run, and after the warm-up.
    pub jain: Option<f64>,
    pub window_jain: Option<f64>,
}

impl<'a> Meetings<'a> {
    /// Those of the flows that go these `ways`.
    pub fn of(input: &'a MeasureInput, ways: &'a [Direction]) -> Meetings<'a> {
        let mut rivals: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
        let all = 0..ways.len();
        for links in all.clone().map(|flow| input.bottlenecks(flow)) {
            rivals.entry(links).or_insert_with(|| {
                // Flows that nothing slows down have each other.
                let meets = |&flow: &usize| match links {
                    [] => input.bottlenecks(flow).is_empty(),
                    _ => links.iter().any(|&link| input.crosses(flow, link)),
                };
                all.clone().filter(meets).collect()
            });
        }
        let mut of_ways = [BTreeSet::new(), BTreeSet::new()];
        for (flow, &way) in ways.iter().enumerate() {
            of_ways[place(way)].insert(input.bottlenecks(flow));
        }
        Meetings {
            input,
            ways,
            rivals,
            of_ways,
        }
    }

    /// The flows that share a bottleneck with that at `index`, itself included: also those that have
    /// theirs elsewhere.
    pub fn rivals(&self, index: usize) -> &[usize] {
        &self.rivals[self.input.bottlenecks(index)]
    }

    /// All such sets.
    pub fn all(&self) -> impl Iterator<Item = &[usize]> {
        self.rivals.values().map(Vec::as_slice)
    }

    /// What each of `flows` shares with others where it has its bottleneck; `None` if nothing slows
    /// it down. Of several links that is the one whose flows have most together, so that its own
    /// share is the least.
    pub fn shared(&self, trace: &Trace, flows: &[OfFlow<'_>]) -> Vec<Option<Shared>> {
        let mut links: BTreeMap<usize, Met> = BTreeMap::new();
        for &link in self.rivals.keys().copied().flatten() {
            links
                .entry(link)
                .or_insert_with(|| self.met(link, trace, flows));
        }
        (0..flows.len())
            .map(|index| {
                let own = self.input.bottlenecks(index).iter();
                let met = own.map(|link| &links[link]);
                // The first of equals.
                let met = met.rev().max_by(|a, b| a.weight().total_cmp(&b.weight()))?;
                let apart = self.is_apart(index).then_some(Apart {
                    utilization: met.utilization,
                    jain: jain(&met.shares),
                    window_jain: jain(&met.window_shares),
                });
                Some(Shared {
                    name: met.name.clone(),
                    goodput: met.goodput,
                    window_goodput: met.window_goodput,
                    apart,
                })
            })
            .collect()
    }

    /// Whether some flow of its direction has another bottleneck than the flow at `index`.
    fn is_apart(&self, index: usize) -> bool {
        self.of_ways[place(self.ways[index])].len() > 1
    }

    fn met(&self, link: usize, trace: &Trace, flows: &[OfFlow<'_>]) -> Met {
        let crossing = || {
            let all = flows.iter().enumerate();
            all.filter(|(index, _)| self.input.crosses(*index, link))
                .map(|(_, flow)| flow)
        };
        let run = &trace.summary;
        let loaded = Window::loaded(run, self.input.warmup);
        let sum = |values: &mut dyn Iterator<Item = f64>| values.reduce(|a, b| a + b);
        Met {
            name: run.links.get(link).map_or_else(
                || self.input.link_name(link).to_owned(),
                |row| row.name.clone(),
            ),
            goodput: sum(&mut crossing().filter_map(|of| goodput_bps(of.flow))),
            window_goodput: sum(&mut crossing().filter_map(window_goodput_bps)),
            warm: self.input.warmup > Time::ZERO,
            utilization: loaded.and_then(|window| utilization(trace, window, link)),
            shares: crossing().filter_map(|of| share(of.flow)).collect(),
            window_shares: crossing().filter_map(window_goodput_bps).collect(),
        }
    }
}

/// What met at a link.
struct Met {
    name: String,
    goodput: Option<f64>,
    window_goodput: Option<f64>,
    warm: bool,
    utilization: Option<f64>,
    shares: Vec<f64>,
    window_shares: Vec<f64>,
}

impl Met {
    /// What its flows have together, after the warm-up if there is one.
    fn weight(&self) -> f64 {
        let told = if self.warm {
            self.window_goodput
        } else {
            self.goodput
        };
        told.unwrap_or(0.0)
    }
}

fn place(way: Direction) -> usize {
    match way {
        Direction::Forward => 0,
        Direction::Reverse => 1,
    }
}
