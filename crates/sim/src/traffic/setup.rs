//! From the traffic of a scenario to its sources.

use cclab_layout::{Ends, Ideal, Journey, Layout};
use cclab_net::{Port, ROUTES, ports};
use cclab_spec::{Flow as Spec, Scenario, Start, Traffic as TrafficSpec};
use cclab_units::{Rate, Stream, Time};

use super::agenda::{Agenda, Duty};
use super::arrivals::Arrivals;
use super::connection::{Connections, Order, Purpose};
use super::datagrams::{Datagrams, Gap, Pattern};
use super::exchange::{Client, Exchange};
use super::source::Source;
use crate::application::Application;
use crate::stack;

/// IPv4 and UDP headers, and those of an echo request: 20 + 8 bytes.
const HEADERS: u16 = 28;

/// What sources are made with.
pub(super) struct Setup<'t, 'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) layout: &'t Layout,
    pub(super) seed: u64,
    /// The flow number of the first source.
    pub(super) first: u32,
    pub(super) connections: &'t mut Connections<'a>,
    pub(super) agenda: &'t mut Agenda,
}

impl Setup<'_, '_> {
    /// Source `index`; it has begun.
    pub(super) fn source(&mut self, index: usize) -> Source {
        let spec = &self.scenario.traffic[index];
        let journey = &self.layout.traffic[index];
        let draws = spec.twin_of.as_ref().unwrap_or(&spec.name);
        let making = Making {
            spec,
            source: index as u32,
            flow: self.first + (ROUTES * index) as u32,
            ports: ports(journey),
            stop: spec.stop.unwrap_or(Time::NEVER),
            dice: Stream::new(self.seed, &format!("traffic {draws}")),
        };
        match spec.kind.as_str() {
            "poisson" => making.arrivals(self, journey),
            "request-response" => making.exchange(self),
            "telnet" => making.typing(self),
            _ => making.datagrams(self),
        }
    }
}

/// A source being made.
struct Making<'s> {
    spec: &'s TrafficSpec,
    source: u32,
    /// Its flow number with data as the traffic's direction says.
    flow: u32,
    ports: [Port; 2],
    stop: Time,
    dice: Stream,
}

impl Making<'_> {
    fn param(&self, name: &str) -> f64 {
        let value = self.spec.params.get(name).copied();
        value.expect("what a kind needs is filled in with the study")
    }

    fn time(&self, name: &str) -> Time {
        Time::from_secs_f64(self.param(name))
    }

    fn begin(&self, setup: &mut Setup<'_, '_>, time: Time, client: u32) {
        let source = self.source;
        if time < self.stop {
            setup.agenda.add(time, Duty::Source { source, client });
        }
    }

    fn datagrams(self, setup: &mut Setup<'_, '_>) -> Source {
        let framing = stack::profile_of(setup.scenario, &self.ends()).wire.framing;
        let rate = |making: &Making<'_>| {
            let bps = making.param("rate").round().max(1.0);
            Rate::from_bps(bps as u64).expect("at least one bit per second")
        };
        let size = |making: &Making<'_>| making.param("packet_size") as u16;
        let (wire_len, pattern) = match self.spec.kind.as_str() {
            "constant-rate" => (size(&self), Pattern::Constant(Gap::of(rate(&self)))),
            "on-off" => {
                let pattern = Pattern::OnOff {
                    gap: Gap::of(rate(&self)),
                    on: self.time("on"),
                    off: self.time("off"),
                    constant: self.param("constant") > 0.0,
                    until: Time::ZERO,
                };
                (size(&self), pattern)
            }
            "random" => {
                let bytes = size(&self);
                let gap = f64::from(bytes) * 8.0 / self.param("rate");
                (bytes, Pattern::Random(Time::from_secs_f64(gap)))
            }
            _ => {
                let bytes = self.param("payload") as u16 + HEADERS + framing;
                (bytes, Pattern::Flood(self.time("interval")))
            }
        };
        let payload = wire_len.saturating_sub(HEADERS + framing);
        let mut source = Datagrams::new(
            (self.source, self.flow),
            self.ports,
            (wire_len, payload),
            pattern,
            self.stop,
            self.dice.clone(),
        );
        let first = source.begin(self.spec.start);
        self.begin(setup, first, 0);
        Source::Datagrams(source)
    }

    fn arrivals(mut self, setup: &mut Setup<'_, '_>, journey: &Journey) -> Source {
        let gap = Time::from_secs_f64(1.0 / self.param("flows_per_second"));
        let due = self.spec.start + self.dice.exponential(gap);
        self.begin(setup, due, 0);
        let ends = self.ends();
        let profile = stack::profile_of(setup.scenario, &ends);
        Source::Arrivals(Box::new(Arrivals {
            source: self.source,
            route: self.source as usize * ROUTES,
            flow: self.flow,
            ports: self.ports,
            ideal: Ideal::of(setup.layout, journey, &Ends::of(&profile, &ends)),
            spec: ends,
            gap,
            sizes: self.sizes(),
            stop: self.stop,
            dice: self.dice,
            due,
        }))
    }

    fn exchange(mut self, setup: &mut Setup<'_, '_>) -> Source {
        let count = self.param("clients") as u32;
        let mut exchange = Exchange {
            source: self.source,
            think: self.time("think"),
            constant: self.param("constant") > 0.0,
            request: self.param("request") as u64,
            responses: self.sizes(),
            stop: self.stop,
            dice: self.dice.fork(),
            clients: Vec::new(),
        };
        for number in 0..count {
            let requests = self.open(setup, Purpose::Requests(number), true);
            let responses = self.open(setup, Purpose::Responses(number), false);
            exchange.clients.push(Client::of(requests, responses));
            let first = exchange.next(self.spec.start);
            self.begin(setup, first, number);
        }
        Source::Exchange(exchange)
    }

    fn typing(mut self, setup: &mut Setup<'_, '_>) -> Source {
        for _ in 0..self.param("clients") as u32 {
            self.open(setup, Purpose::Typing, false);
        }
        Source::Typing
    }

    /// Opens a connection that stays; `back`: its data go against the traffic's direction.
    fn open(&mut self, setup: &mut Setup<'_, '_>, purpose: Purpose, back: bool) -> u32 {
        let [data, acks] = self.ports;
        let ports = if back { [acks, data] } else { self.ports };
        let mut ends = self.ends();
        let application = match purpose {
            Purpose::Typing => {
                ends.application = Some(cclab_spec::Application::Telnet {
                    interval: self.time("interval"),
                    nagle: self.param("nagle") > 0.0,
                });
                ends.duration = self.spec.stop.map(|stop| stop - self.spec.start);
                Application::new(&ends, self.spec.start, 1, self.dice.fork())
            }
            _ => {
                ends.nodelay = true; // requests and answers do not wait for acknowledgements
                Application::idle() // its owner writes
            }
        };
        let order = Order {
            source: self.source,
            route: self.source as usize * ROUTES + usize::from(back),
            like: self.flow + u32::from(back),
            ports,
            spec: &ends,
            purpose,
            application,
            dice: self.dice.fork(),
        };
        setup
            .connections
            .reserve(self.spec.start, order, setup.agenda)
    }

    fn sizes(&self) -> cclab_spec::Sizes {
        let sizes = self.spec.sizes.clone();
        sizes.expect("transfers without sizes are refused with the study")
    }

    /// The ends of a connection of this source.
    fn ends(&self) -> Spec {
        let cc = self.spec.cc.as_deref().unwrap_or("reno");
        Spec::bulk(&self.spec.name, cc).with(|flow| {
            flow.cc_params = self.spec.cc_params.clone();
            flow.start = Start {
                at: self.spec.start,
                spread: Time::ZERO,
            };
        })
    }
}
