//! From the traffic of a scenario to its sources.

use cclab_layout::{Ends, Ideal, Journey, Layout};
use cclab_spec::{Flow as Spec, Start, Traffic as TrafficSpec};
use cclab_units::{Rate, Stream, Time};

use super::agenda::Duty;
use super::arrivals::Arrivals;
use super::connection::{Doors, Order, Purpose};
use super::datagrams::{Datagrams, Gap, Pattern};
use super::exchange::{Client, Exchange};
use super::{Source, Traffic, draw};
use crate::application::Application;
use crate::forwarding::Forwarding;
use crate::network::{Path, ROUTES};
use crate::stack;

/// IPv4 and UDP headers, and those of an echo request: 20 + 8 bytes.
const HEADERS: u16 = 28;

/// A source being made.
struct Setup<'t> {
    spec: &'t TrafficSpec,
    source: u32,
    /// Its flow number with data as the traffic's direction says.
    flow: u32,
    doors: Doors,
    stop: Time,
    dice: Stream,
}

/// Adds source `index`, which goes its way over `layout`, and lets it begin.
pub(super) fn add(
    traffic: &mut Traffic<'_>,
    index: usize,
    layout: &Layout,
    seed: u64,
    forwarding: &mut Forwarding,
) {
    let scenario = traffic.scenario;
    let spec = &scenario.traffic[index];
    let journey = &layout.traffic[index];
    let Path { data, acks } = Path::of(journey);
    let setup = Setup {
        spec,
        source: index as u32,
        flow: traffic.first + (ROUTES * index) as u32,
        doors: Doors { data, acks },
        stop: spec.stop.unwrap_or(Time::NEVER),
        dice: Stream::new(seed, &format!("traffic {}", spec.name)),
    };
    let source = match spec.kind.as_str() {
        "poisson" => setup.arrivals(traffic, layout, journey),
        "request-response" => setup.exchange(traffic, forwarding),
        "telnet" => setup.typing(traffic, forwarding),
        _ => setup.datagrams(traffic),
    };
    traffic.sources.push(source);
}

impl Setup<'_> {
    fn param(&self, name: &str) -> f64 {
        let value = self.spec.params.get(name).copied();
        value.expect("what a kind needs is filled in with the study")
    }

    fn time(&self, name: &str) -> Time {
        Time::from_secs_f64(self.param(name))
    }

    fn begin(&self, traffic: &mut Traffic<'_>, time: Time, client: u32) {
        let source = self.source;
        if time < self.stop {
            traffic.agenda.add(time, Duty::Source { source, client });
        }
    }

    fn datagrams(self, traffic: &mut Traffic<'_>) -> Source {
        let framing = stack::profile_of(traffic.scenario, &self.ends())
            .wire
            .framing;
        let rate = |setup: &Setup<'_>| {
            let bps = setup.param("rate").round().max(1.0);
            Rate::from_bps(bps as u64).expect("at least one bit per second")
        };
        let size = |setup: &Setup<'_>| setup.param("packet_size") as u16;
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
            self.doors,
            (wire_len, payload),
            pattern,
            self.stop,
            self.dice.clone(),
        );
        let first = source.begin(self.spec.start);
        self.begin(traffic, first, 0);
        Source::Datagrams(source)
    }

    fn arrivals(mut self, traffic: &mut Traffic<'_>, layout: &Layout, journey: &Journey) -> Source {
        let gap = Time::from_secs_f64(1.0 / self.param("flows_per_second"));
        let due = self.spec.start + draw::exponential(&mut self.dice, gap);
        self.begin(traffic, due, 0);
        let ends = self.ends();
        let profile = stack::profile_of(traffic.scenario, &ends);
        Source::Arrivals(Box::new(Arrivals {
            source: self.source,
            route: self.source as usize * ROUTES,
            flow: self.flow,
            doors: self.doors,
            ideal: Ideal::of(layout, journey, &Ends::of(&profile, &ends)),
            spec: ends,
            gap,
            sizes: self.sizes(),
            stop: self.stop,
            dice: self.dice,
            due,
        }))
    }

    fn exchange(mut self, traffic: &mut Traffic<'_>, forwarding: &mut Forwarding) -> Source {
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
            let requests = self.open(traffic, forwarding, Purpose::Requests(number), true);
            let responses = self.open(traffic, forwarding, Purpose::Responses(number), false);
            exchange.clients.push(Client::of(requests, responses));
            let first = exchange.next(self.spec.start);
            self.begin(traffic, first, number);
        }
        Source::Exchange(exchange)
    }

    fn typing(mut self, traffic: &mut Traffic<'_>, forwarding: &mut Forwarding) -> Source {
        for _ in 0..self.param("clients") as u32 {
            self.open(traffic, forwarding, Purpose::Typing, false);
        }
        Source::Typing
    }

    /// Opens a connection that stays; `back`: its data go against the traffic's direction.
    fn open(
        &mut self,
        traffic: &mut Traffic<'_>,
        forwarding: &mut Forwarding,
        purpose: Purpose,
        back: bool,
    ) -> u32 {
        let Doors { data, acks } = self.doors;
        let doors = match back {
            false => self.doors,
            true => Doors {
                data: acks,
                acks: data,
            },
        };
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
            doors,
            spec: &ends,
            purpose,
            application,
            dice: self.dice.fork(),
        };
        traffic
            .connections
            .reserve(self.spec.start, order, forwarding, &mut traffic.agenda)
    }

    fn sizes(&self) -> cclab_spec::Sizes {
        let sizes = self.spec.sizes.clone();
        sizes.expect("transfers without sizes are refused with the study")
    }

    /// The ends of a connection of this source.
    fn ends(&self) -> Spec {
        let cc = self.spec.cc.as_deref().unwrap_or("reno");
        Spec {
            cc_params: self.spec.cc_params.clone(),
            start: Start {
                at: self.spec.start,
                spread: Time::ZERO,
            },
            ..Spec::bulk(&self.spec.name, cc)
        }
    }
}
