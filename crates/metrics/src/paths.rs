//! What a scenario says about its paths, as far as metrics need it: who shares which link, and
//! what bounds a flow that has the network for itself.

use cclab_layout::{Ends, Journey, Layout, LinkId, alone, profile_of};
use cclab_spec::{Application, Direction, Flow, Link, Rates, Scenario, Traffic, largest_pace_bps};
use cclab_trace::schema::RunSummary;
use cclab_units::{Rate, Time};

use crate::allocation::{Claim, max_min};
use crate::window::Window;

/// Bytes that someone types at a time, on average: keystrokes fall together with probability 0.3,
/// up to eight of them (docs/traffic.md).
const KEYS_PER_WRITE: f64 = (1.0 - 0.000_065_61) / 0.7;

/// The paths of a scenario's flows and of its cross traffic.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    links: Vec<Option<Course>>,
    /// What traces call them.
    names: Vec<String>,
    flows: Vec<Way>,
    traffic: Vec<Load>,
    /// Routers forward so many packets a second: then links are not all that is shared.
    routers_limit: bool,
}

/// The rate of a link over time.
#[derive(Clone, Debug)]
struct Course {
    rate: Rate,
    rates: Rates,
    /// What its discipline lets pass, if that is less.
    shaped: f64,
}

/// The way of a flow.
#[derive(Clone, Debug)]
struct Way {
    direction: Direction,
    /// The links that are its bottleneck, as their places.
    bottlenecks: Vec<usize>,
    /// The links that its acknowledgements cross, as their places.
    acks: Vec<usize>,
    claim: Claim,
    alone_s: Option<f64>,
}

/// The way of a source of cross traffic.
#[derive(Clone, Debug)]
struct Load {
    data: Vec<usize>,
    acks: Vec<usize>,
    /// As many bytes go back as there.
    echoed: bool,
    from: Time,
    to: Time,
}

impl Paths {
    /// The paths of `scenario`; `None` if there is no stack of its name.
    pub fn of(scenario: &Scenario) -> Option<Paths> {
        let layout = Layout::of(scenario);
        let links = layout.ids().map(|(id, _)| course(layout.line(id)?));
        let flows = scenario.flows.iter().zip(&layout.flows);
        let flows = flows.map(|(spec, journey)| way(scenario, spec, &layout, journey));
        let traffic = scenario.traffic.iter().zip(&layout.traffic);
        Some(Paths {
            links: links.collect(),
            names: layout.links.iter().map(|link| link.name.clone()).collect(),
            flows: flows.collect::<Option<_>>()?,
            traffic: traffic.map(|(spec, journey)| load(spec, journey)).collect(),
            routers_limit: scenario.network.router.is_some(),
        })
    }

    /// Whether the data of the flow at `index` go with the bottleneck or against it.
    pub(crate) fn direction(&self, index: usize) -> Direction {
        let way = self.flows.get(index);
        way.map_or(Direction::Forward, |way| way.direction)
    }

    /// The places of the links that are the bottleneck of the flow at `index`.
    pub(crate) fn bottlenecks(&self, index: usize) -> &[usize] {
        self.flows.get(index).map_or(&[], |way| &way.bottlenecks)
    }

    /// The places of the links that acknowledgements of the flow at `index` cross.
    pub(crate) fn way_back(&self, index: usize) -> &[usize] {
        self.flows.get(index).map_or(&[], |way| &way.acks)
    }

    /// Whether data of the flow at `index` cross the link at `link`.
    pub(crate) fn crosses(&self, index: usize, link: usize) -> bool {
        let way = self.flows.get(index);
        way.is_some_and(|way| way.claim.links.contains(&link))
    }

    /// What traces call the link at `link`.
    pub(crate) fn name(&self, link: usize) -> Option<&str> {
        self.names.get(link).map(String::as_str)
    }

    /// For each flow the largest rate before `end` of the slowest link on its way.
    pub(crate) fn largest_rates(&self, end: Time) -> Vec<Option<Rate>> {
        let of_link = |&link: &usize| self.links[link].as_ref()?.rates.largest(end);
        let of_way = |way: &Way| way.claim.links.iter().filter_map(of_link).min();
        self.flows.iter().map(of_way).collect()
    }

    /// How long the transfer of the flow at `index` takes alone on the empty path.
    pub(crate) fn alone_s(&self, index: usize) -> Option<f64> {
        self.flows.get(index)?.alone_s
    }

    /// The max-min fair goodput of each flow of `run` in `window`, in bit/s, if those that started
    /// are active throughout; `None` of a flow that never started, that nothing bounds, or where
    /// routers limit packets.
    pub(crate) fn allocation(&self, run: &RunSummary, window: Window) -> Vec<Option<f64>> {
        let none = vec![None; run.flows.len()];
        if self.routers_limit || self.flows.len() != run.flows.len() {
            return none;
        }
        let mean = |link: &Option<Course>| link.as_ref().map_or(f64::INFINITY, |c| c.mean(window));
        let capacities: Vec<f64> = self.links.iter().map(mean).collect();
        let started: Vec<usize> = (0..run.flows.len())
            .filter(|&flow| run.flows[flow].started.is_some())
            .collect();
        let flows = started.iter().map(|&flow| self.flows[flow].claim.clone());
        let traffic = self.traffic.iter().zip(&run.traffic);
        let traffic = traffic.flat_map(|(load, did)| load.claims(did.sent_bytes, run.end, window));
        let claims: Vec<Claim> = flows.chain(traffic).collect();
        let mut found = none;
        for (&flow, rate) in started.iter().zip(max_min(&capacities, &claims)) {
            found[flow] = Some(rate).filter(|rate| rate.is_finite());
        }
        found
    }
}

impl Course {
    /// The mean of what it lets pass in `window`, in bit/s.
    fn mean(&self, window: Window) -> f64 {
        let carried = |at| self.rates.capacity(at).map(|bytes| bytes as f64);
        let mean = match (carried(window.from), carried(window.to)) {
            (Some(before), Some(after)) => (after - before) * 8.0 / window.seconds(),
            _ => self.rate.bps() as f64,
        };
        mean.min(self.shaped)
    }
}

impl Load {
    /// What it asked for in `window`, having sent `bytes` in the whole run, at a constant rate while
    /// it was on.
    fn claims(&self, bytes: u64, end: Time, window: Window) -> Vec<Claim> {
        let on = Window::new(self.from, self.to.min(end));
        let shared = on.and_then(|on| Window::new(on.from.max(window.from), on.to.min(window.to)));
        let (Some(on), Some(shared)) = (on, shared) else {
            return Vec::new();
        };
        let rate = bytes as f64 * 8.0 / on.seconds() * shared.seconds() / window.seconds();
        let claim = |links: &[usize], demand| Claim {
            links: links.to_vec(),
            cost: 1.0,
            demand,
        };
        match self.echoed {
            true => vec![claim(&self.data, rate / 2.0), claim(&self.acks, rate / 2.0)],
            false => vec![claim(&self.data, rate)],
        }
    }
}

/// The rate of `line`, as the study writes it; `None` if it is infinitely fast.
fn course(line: &Link) -> Option<Course> {
    let rate = line.rate?;
    let shapes = cclab_qdisc::find(&line.queue.kind).and_then(|discipline| discipline.shapes);
    let shaped = shapes.and_then(|name| line.queue.params.get(name).copied());
    Some(Course {
        rate,
        rates: Rates::new(Some(rate), &line.schedule),
        shaped: shaped.unwrap_or(f64::INFINITY),
    })
}

fn indices(way: &[LinkId]) -> Vec<usize> {
    way.iter().map(|link| link.index()).collect()
}

/// A way over the way back of a link under study goes against it; every other goes with it, which in
/// a graph may be one that does not cross it.
fn direction(layout: &Layout, journey: &Journey) -> Direction {
    let mut back = layout.bottlenecks.iter().map(|pair| pair[1]);
    match back.any(|link| journey.data.contains(&link)) {
        true => Direction::Reverse,
        false => Direction::Forward,
    }
}

/// The places of the links that are the bottleneck of `journey`: those under study that its data
/// cross, or their ways back; in a graph, where it crosses none of these, the slowest on its way.
fn bottlenecks(layout: &Layout, journey: &Journey) -> Vec<usize> {
    let under_study = layout.bottlenecks.iter().flatten();
    let crossed: Vec<LinkId> = under_study
        .copied()
        .filter(|link| journey.data.contains(link))
        .collect();
    if !crossed.is_empty() {
        return indices(&crossed);
    }
    let rate = |link: &LinkId| layout.line(*link).and_then(|line| line.rate);
    let Some(slowest) = journey.data.iter().filter_map(rate).min() else {
        return Vec::new();
    };
    let slow = journey.data.iter().copied();
    indices(
        &slow
            .filter(|link| rate(link) == Some(slowest))
            .collect::<Vec<_>>(),
    )
}

fn way(scenario: &Scenario, spec: &Flow, layout: &Layout, journey: &Journey) -> Option<Way> {
    let ends = Ends::of(&profile_of(scenario, spec)?, spec);
    let alone = alone(scenario, spec, layout, journey, &ends);
    Some(Way {
        direction: direction(layout, journey),
        bottlenecks: bottlenecks(layout, journey),
        acks: indices(&journey.acks),
        claim: Claim {
            links: indices(&journey.data),
            cost: ends.packet() as f64 / ends.payload as f64,
            demand: demand(spec, &ends, layout.base_rtt_s(journey)),
        },
        alone_s: alone.map(Time::as_secs_f64),
    })
}

/// The largest goodput in bit/s that a flow can have whatever the links carry.
fn demand(spec: &Flow, ends: &Ends, base_rtt_s: f64) -> f64 {
    if let Some(source) = &spec.udp {
        return source.mean_bps();
    }
    let payload = ends.payload;
    // Only whole segments fit a window, and a round trip takes at least the base RTT.
    let windows = [Some(ends.rwnd), ends.sndbuf];
    let windows = windows.into_iter().flatten().map(|window| {
        let fits = ((window / payload).max(1) * payload).min(window);
        fits as f64 * 8.0 / base_rtt_s
    });
    let host = spec.packet_rate.map(|rate| {
        // Acknowledgements are packets too.
        let data = rate as f64 / (1.0 + 1.0 / f64::from(ends.ack_every));
        data * payload as f64 * 8.0
    });
    let writes = spec.writes_per_second.map(|per_second| {
        let size = spec.write_size.unwrap_or(payload);
        size as f64 * 8.0 * per_second
    });
    let application = spec.application.as_ref();
    let application =
        application.map(|application| offered(application, spec.start.at, base_rtt_s));
    let rest = [host, writes, application];
    windows
        .chain(rest.into_iter().flatten())
        .fold(f64::INFINITY, f64::min)
}

/// Bits a second that an application that begins at `start` writes at most, on average.
fn offered(application: &Application, start: Time, rtt_s: f64) -> f64 {
    match *application {
        Application::Frames(ref media) => media.video().mean_bps(),
        Application::Scheduled { ref schedule } => largest_pace_bps(schedule, start),
        Application::OnOff { rate, on, off, .. } => {
            let on = on.as_secs_f64();
            rate.bps() as f64 * on / (on + off.as_secs_f64())
        }
        Application::RequestResponse {
            think, response, ..
        } => response as f64 * 8.0 / (think.as_secs_f64() + rtt_s),
        Application::Telnet { interval, .. } => KEYS_PER_WRITE * 8.0 / interval.as_secs_f64(),
    }
}

fn load(spec: &Traffic, journey: &Journey) -> Load {
    Load {
        data: indices(&journey.data),
        acks: indices(&journey.acks),
        echoed: spec.kind == "ping-flood",
        from: spec.start,
        to: spec.stop.unwrap_or(Time::NEVER),
    }
}
