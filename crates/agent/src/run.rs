//! From time zero to the end of the run.

mod end;

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use cclab_testbed::Orders;
use cclab_testbed::orders::Work;
use cclab_testbed::records::{END_MARK, Outcome, SAMPLE_MARK, Sample};
use cclab_units::Time;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::ftruncate;

use crate::capture::Captures;
use crate::clock::RunClock;
use crate::command;
use crate::datagrams::Datagrams;
use crate::echo::{self, Echo};
use crate::failure::{During, Step, failure};
use crate::fidelity;
use crate::flow::{Bulk, PAYLOAD};
use crate::namespaces::Namespaces;
use crate::news::Hearing;
use crate::outcome::Samples;
use crate::program::{Program, Surroundings};
use crate::qdisc::QdiscCounters;
use crate::recent::Recent;
use crate::setup;
use crate::sys::{self, PacketBatch};
use crate::tracing::Events;
use crate::udp_flow::UdpFlow;
use crate::watch::{Ready, Watch};

/// How often the kernel's buffers are drained and the progress is told.
const DRAIN: Time = Time::from_millis(100);

/// Where the agent works.
pub struct Place<'a> {
    /// The folder of orders and records.
    pub dir: &'a Path,
    /// Whether this is a guest in virtual time.
    pub guest: bool,
    /// Where tracefs is mounted, if it is, and the name of our own instance on a host.
    pub tracefs: Option<(PathBuf, Option<String>)>,
    /// Where programs run.
    pub surroundings: Surroundings,
}

enum Flow {
    Bulk(Box<Bulk>),
    Program(Box<Program>),
    Udp(Box<UdpFlow>),
}

impl Flow {
    fn over(&self) -> bool {
        match self {
            Flow::Bulk(flow) => flow.over(),
            Flow::Program(flow) => flow.over(),
            Flow::Udp(flow) => flow.over(),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Flow::Bulk(flow) => flow.deadline(),
            Flow::Program(flow) => flow.deadline(),
            Flow::Udp(flow) => flow.deadline(),
        }
    }

    /// Whether its deadlines are those of an application that writes at times.
    fn writes_at_times(&self) -> bool {
        match self {
            Flow::Bulk(flow) => flow.writes_at_times(),
            Flow::Program(_) => false,
            Flow::Udp(_) => true,
        }
    }
}

struct Run<'a> {
    orders: &'a Orders,
    place: &'a Place<'a>,
    namespaces: Namespaces,
    clock: RunClock,
    watch: Watch,
    flows: Vec<Flow>,
    probes: Vec<Echo>,
    answers: PacketBatch,
    queues: QdiscCounters,
    events: Option<Events>,
    captures: Captures,
    datagrams: Datagrams,
    samples: Samples,
    payload: File,
    buffer: Vec<u8>,
    fidelity: Option<fidelity::Watch>,
    /// Instants to sample at beside the regular ones, the latest first.
    marks: Vec<Time>,
    next_sample: Time,
    next_drain: Time,
    next_change: usize,
    news: Option<Hearing>,
    /// Until it is heard when the first flow of all ended; none where there are no other machines.
    recent: Option<Recent>,
    /// When the first flow ended here, or it was heard that one had elsewhere.
    first_end: Option<Time>,
    /// Whether it was said that all flows here are over.
    all_have_ended: bool,
}

/// Open files that a run may need, and that each flow may: sockets, namespaces, pipes of a program.
const FILES: u64 = 1_024;
/// See [`FILES`].
const FILES_OF_A_FLOW: u64 = 16;

/// Carries out `orders`.
pub fn carry_out(orders: &Orders, place: &Place<'_>) -> Step<Outcome> {
    if place.guest {
        sys::restart_randomness().during("randomness")?;
    }
    let files = FILES + FILES_OF_A_FLOW * orders.flows.len() as u64;
    sys::allow_open_files(files).during("open files")?;
    let namespaces = setup::network(orders)?;
    let queues = QdiscCounters::find(&orders.queues, &namespaces)?;
    let watch = Watch::new()?;
    let mut flows = Vec::new();
    for (index, flow) in orders.flows.iter().enumerate() {
        flows.push(match flow.work {
            Work::Bulk { .. } => {
                let flow = Bulk::listen(flow, &namespaces)?;
                watch.readable(flow.listener(), Ready::Listener(index))?;
                Flow::Bulk(Box::new(flow))
            }
            Work::Command { .. } => {
                let flow = Program::serve(flow, &namespaces, &place.surroundings)?;
                let (sending, receiving, listener) = flow.descriptors();
                watch.readable(sending, Ready::Connections(index))?;
                watch.readable(receiving, Ready::Connections(index))?;
                if let Some(listener) = listener {
                    watch.readable(listener, Ready::Listener(index))?;
                }
                Flow::Program(Box::new(flow))
            }
            Work::Datagrams { .. } => Flow::Udp(Box::new(UdpFlow::open(flow, &namespaces)?)),
        });
    }
    let mut probes = Vec::new();
    for (index, probe) in orders.probes.iter().enumerate() {
        let probe = Echo::open(probe, index, &namespaces)?;
        let (asking, answering) = probe.descriptors();
        watch.readable(asking, Ready::Answer(index))?;
        if let Some(answering) = answering {
            watch.readable(answering, Ready::Request(index))?;
        }
        probes.push(probe);
    }
    let news = orders.wire.and_then(|wire| wire.news);
    let news = news.map(Hearing::open).transpose()?;
    if let Some(news) = &news {
        watch.readable(news, Ready::News)?;
    }
    let events = match &place.tracefs {
        Some((mounted, instance)) => Some(Events::start(
            orders,
            mounted,
            instance.as_deref(),
            place.dir,
        )?),
        None => None,
    };
    let payload = memfd_create(c"payload", MFdFlags::MFD_CLOEXEC).during("the payload")?;
    ftruncate(&payload, PAYLOAD as i64).during("the payload")?;
    let clock = RunClock::start(place.guest, orders.wire.map(|wire| wire.zero))?;
    watch.readable(clock.timer(), Ready::Timer)?;
    let captures = Captures::open(orders, &namespaces, &clock, place.dir)?;
    let datagrams = Datagrams::open(orders, &namespaces, place.dir)?;
    let run = Run {
        marks: orders.marks.iter().rev().copied().collect(),
        next_sample: Time::ZERO,
        next_drain: DRAIN,
        next_change: 0,
        recent: orders
            .wire
            .filter(|wire| wire.looks_back)
            .map(|_| Recent::new()),
        news,
        first_end: None,
        all_have_ended: false,
        answers: PacketBatch::new(if probes.is_empty() {
            1
        } else {
            echo::LOOKED_AT
        }),
        samples: Samples::create(place.dir)?,
        payload: File::from(payload),
        buffer: vec![0; 1 << 20],
        fidelity: None,
        orders,
        place,
        namespaces,
        clock,
        watch,
        flows,
        probes,
        queues,
        events,
        captures,
        datagrams,
    };
    run.go()
}

impl Run<'_> {
    fn go(mut self) -> Step<Outcome> {
        if self.place.guest {
            // What is observed, and how, must not change what is drawn.
            sys::restart_randomness().during("randomness")?;
        }
        self.clock.wake_at(Time::ZERO)?;
        let end = self.until_the_end()?;
        self.let_programs_end(end)?;
        self.finish(end)
    }

    /// Until the run's time is up or every flow has ended, those of other machines too; when that was.
    fn until_the_end(&mut self) -> Step<Time> {
        let end = self.orders.end.unwrap_or(Time::NEVER);
        let mut due = Time::ZERO;
        loop {
            let mut went_off = false;
            for ready in self.watch.wait()? {
                match ready {
                    Ready::Timer => {
                        // What was read says how often it went off, which nobody asks.
                        let _ = self.clock.timer().wait();
                        self.timer(due)?;
                        went_off = true;
                        if due >= end {
                            return Ok(end);
                        }
                    }
                    Ready::News => {
                        if let Some(over) = self.hear()? {
                            return Ok(over);
                        }
                    }
                    other => self.socket(other)?,
                }
            }
            // Probes alone go on until the run's end.
            let lasts = self.flows.is_empty() || self.orders.wire.is_some_and(|wire| wire.lasts);
            let over = !lasts && self.flows.iter().all(Flow::over);
            if over && self.news.is_none() {
                let now = self.clock.now();
                self.sample(now)?;
                self.mark(END_MARK)?;
                return Ok(now);
            }
            if self.first_end.is_none() && self.flows.iter().any(Flow::over) {
                let now = self.clock.now();
                self.first_end = Some(now);
                self.sample(now)?;
                self.mark(SAMPLE_MARK)?;
            }
            if over && !self.all_have_ended {
                self.all_have_ended = true;
                self.mark(END_MARK)?;
            }
            let next = self.deadline().min(end);
            // What was begun at `due` may have more to do at once, such as a flow's first write.
            if next != due || went_off {
                due = next;
                self.clock.wake_at(due)?;
            }
        }
    }

    /// When the agent acts next on its own.
    fn deadline(&self) -> Time {
        let mut next = self.next_drain;
        if let Some(recent) = &self.recent {
            next = next.min(recent.deadline());
        }
        if self.orders.interval > Time::ZERO {
            next = next.min(self.next_sample);
        }
        if let Some(&mark) = self.marks.last() {
            next = next.min(mark);
        }
        if let Some(change) = self.orders.changes.get(self.next_change) {
            next = next.min(change.at);
        }
        let probes = self.probes.iter().filter_map(Echo::deadline);
        self.flows
            .iter()
            .filter_map(Flow::deadline)
            .chain(probes)
            .fold(next, Time::min)
    }

    /// Does what is due at `now`, the time that the timer was set to.
    fn timer(&mut self, now: Time) -> Step<()> {
        if !self.place.guest {
            let late = self.clock.now().as_nanos().saturating_sub(now.as_nanos());
            self.fidelity
                .get_or_insert_with(fidelity::Watch::begin)
                .timer(late);
        }
        while let Some(change) = self.orders.changes.get(self.next_change)
            && change.at <= now
        {
            self.next_change += 1;
            let step = format!("change at {}", change.at);
            self.namespaces.within(change.namespace, || {
                command::batch("tc", &change.tc, &step)?;
                change
                    .iptables
                    .iter()
                    .try_for_each(|arguments| command::iptables(arguments, &step))
            })?;
        }
        // What an application would write as the run ends is no longer of it.
        let ends = self.orders.end.is_some_and(|end| end <= now);
        for index in 0..self.flows.len() {
            let due = self.flows[index].deadline().is_some_and(|at| at <= now);
            if due && !(ends && self.flows[index].writes_at_times()) {
                self.act(index, now)?;
            }
        }
        let clock = (!self.place.guest).then_some(&self.clock);
        for probe in &mut self.probes {
            if probe.deadline().is_some_and(|at| at <= now) {
                probe.ask(now, clock)?;
            }
        }
        if now == Time::ZERO {
            // What starts at once has started: whoever waits for the boot knows it is over.
            println!("cclab at 0");
        }
        let mut sample = false;
        while self.orders.interval > Time::ZERO && self.next_sample <= now {
            self.next_sample += self.orders.interval;
            sample = true;
        }
        while self.marks.last().is_some_and(|&mark| mark <= now) {
            self.marks.pop();
            sample = true;
        }
        if sample || self.orders.end.is_some_and(|end| end <= now) {
            self.sample(now)?;
        }
        if self
            .recent
            .as_ref()
            .is_some_and(|recent| recent.deadline() <= now)
        {
            let samples = self.look(now)?;
            if let Some(recent) = &mut self.recent {
                recent.keep(now, samples);
            }
        }
        if self.next_drain <= now {
            while self.next_drain <= now {
                self.next_drain += DRAIN;
            }
            self.drain()?;
            println!("cclab at {}", now.as_nanos());
        }
        Ok(())
    }

    fn act(&mut self, index: usize, now: Time) -> Step<()> {
        match &mut self.flows[index] {
            Flow::Bulk(flow) if flow.waits_to_start() => {
                let socket = flow.start(now, &self.namespaces)?;
                self.watch.edges(socket, Ready::Sender(index))
            }
            Flow::Bulk(flow) => flow.act(now, &self.payload),
            Flow::Program(flow) if flow.waits_to_start() => {
                let process = flow.start(now, &self.namespaces, &self.place.surroundings)?;
                self.watch.readable(process, Ready::Process(index))
            }
            Flow::Program(flow) => {
                flow.ask_to_end(now);
                Ok(())
            }
            Flow::Udp(flow) => flow.act(now),
        }
    }

    /// Takes in what happened to a flow or a probe.
    fn socket(&mut self, ready: Ready) -> Step<()> {
        let Run {
            flows,
            watch,
            payload,
            buffer,
            clock,
            probes,
            answers,
            ..
        } = self;
        let now = &|| clock.now();
        match ready {
            Ready::Timer | Ready::News => Ok(()),
            Ready::Answer(index) => probes[index].hear(clock.realtime_zero, answers),
            Ready::Request(index) => probes[index].answer(),
            Ready::Listener(index) => {
                let connection: Option<&OwnedFd> = match &mut flows[index] {
                    Flow::Bulk(flow) => flow.accept()?,
                    Flow::Program(flow) => flow.accept(now)?,
                    Flow::Udp(_) => None,
                };
                connection.map_or(Ok(()), |c| watch.readable(c, Ready::Receiver(index)))
            }
            Ready::Sender(index) => match &mut flows[index] {
                Flow::Bulk(flow) => flow.sender_ready(now, payload),
                Flow::Program(_) | Flow::Udp(_) => Ok(()),
            },
            Ready::Receiver(index) => match &mut flows[index] {
                Flow::Bulk(flow) => flow.receiver_ready(now, buffer),
                Flow::Program(flow) => {
                    flow.read(buffer);
                    Ok(())
                }
                Flow::Udp(_) => Ok(()),
            },
            Ready::Process(index) => match &mut flows[index] {
                Flow::Program(flow) => {
                    flow.ended(clock.now())?;
                    match flow.process() {
                        Some(process) if flow.over() => watch.forget(process),
                        _ => Ok(()),
                    }
                }
                Flow::Bulk(_) | Flow::Udp(_) => Ok(()),
            },
            Ready::Connections(index) => match &mut flows[index] {
                Flow::Program(flow) => flow.hear(),
                Flow::Bulk(_) | Flow::Udp(_) => Ok(()),
            },
        }
    }

    fn sample(&mut self, now: Time) -> Step<()> {
        let samples = self.look(now)?;
        samples
            .iter()
            .try_for_each(|sample| self.samples.push(sample))
    }

    /// What flows have done and queues count at `now`.
    fn look(&mut self, now: Time) -> Step<Vec<Sample>> {
        let at = now.as_nanos();
        let mut samples = Vec::new();
        for (index, flow) in (0..).zip(&mut self.flows) {
            let (sender, received) = match flow {
                Flow::Bulk(flow) => flow.sample(),
                Flow::Program(flow) => flow.sample()?,
                // What is seen of its datagrams tells more.
                Flow::Udp(_) => (None, 0),
            };
            samples.push(Sample::Flow {
                at,
                flow: index,
                sender: sender.map(Box::new),
                received,
            });
        }
        let counts = self.queues.read()?;
        for (queue, &(root, discipline)) in self.orders.queues.iter().zip(counts) {
            samples.push(Sample::Queue {
                at,
                link: queue.link,
                root,
                discipline,
            });
        }
        Ok(samples)
    }

    fn drain(&mut self) -> Step<()> {
        if let Some(events) = &mut self.events {
            events.drain()?;
        }
        self.captures.drain()?;
        self.datagrams.drain()
    }
}

/// Reads the orders in `dir`.
pub fn orders(dir: &Path) -> Step<Orders> {
    let step = "reading the orders";
    let text = fs::read(dir.join("orders.json")).during(step)?;
    let orders: Orders = serde_json::from_slice(&text).during(step)?;
    if orders.schema != cclab_testbed::orders::SCHEMA {
        return Err(failure(
            step,
            format_args!("unknown schema {}", orders.schema),
        ));
    }
    Ok(orders)
}
