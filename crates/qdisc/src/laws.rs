//! Laws that every discipline of the registry keeps, whatever its parameters, whatever comes.

use std::collections::BTreeMap;

use cclab_packet::Ecn;
use cclab_units::parameter::{Parameter, Params};
use cclab_units::{Measure, Rate, Stream, Time};

use crate::discipline::{Config, Discipline, Limit};
use crate::fifo::Room;
use crate::testing::Bench;
use crate::{Backlog, Departure, Descriptor, Form, QDISCS, of_kernel, simulated};

/// Disciplines that put flows in turns, or one kind of packets before another.
const REORDERING: [&str; 5] = ["fq_codel", "fq_pie", "fq", "sfq", "dualpi2"];

/// How many sequences of packets, each under other parameters.
const SEQUENCES: u64 = 60;
/// Calls in a sequence.
const CALLS: usize = 1500;

/// A number from `least` to `most`, small ones as likely as large ones.
fn drawn(parameter: &Parameter, dice: &mut Stream) -> f64 {
    let Parameter { least, most, .. } = *parameter;
    if [least, most] == [0.0, 1.0] && dice.chance(0.5) {
        return dice.uniform().round();
    }
    let from = least.max(most * 1e-6);
    let drawn = from * (most / from).powf(dice.uniform());
    match parameter.measure.is_whole() {
        true => drawn.round().clamp(least, most),
        false => drawn,
    }
}

/// A queue with any parameters that are declared, on a link of any rate.
fn any_config(discipline: &Discipline, dice: &mut Stream) -> Config {
    let mut given = BTreeMap::new();
    for parameter in discipline.params {
        if dice.chance(0.4) {
            given.insert(parameter.name.to_owned(), drawn(parameter, dice));
        }
    }
    let limit = match dice.chance(0.5) {
        true => Limit::Packets(1 + dice.bits() % 200),
        false => Limit::Bytes(1514 + dice.bits() % 300_000),
    };
    Config {
        limit,
        limit_is_exclusive: dice.chance(0.2),
        params: Params::new(discipline.params, &given).expect("drawn within the bounds"),
        rate: Rate::from_bps(100_000 + dice.bits() % 1_000_000_000),
    }
}

fn any_packet(seq: u32, dice: &mut Stream) -> Descriptor {
    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][(dice.bits() % 4) as usize];
    Descriptor {
        slot: seq,
        flow: (dice.bits() % 6) as u32,
        backward: dice.chance(0.3),
        wire_len: if dice.chance(0.3) {
            66
        } else {
            64 + (dice.bits() % 1451) as u16
        },
        ecn,
        ..Descriptor::default()
    }
}

/// What must be true of a queue, kept beside it.
struct Model<'a> {
    name: &'static str,
    what: String,
    bench: Bench,
    room: Room,
    offered: &'a mut BTreeMap<u32, (Descriptor, Time)>,
    inside: Backlog,
    dropped: usize,
    newly_marked: u64,
    /// The last packet that left of each flow, direction and kind; of all, if the queue is FIFO.
    last: BTreeMap<(u32, bool, bool), u32>,
    /// What left and what was lost, in order.
    story: Vec<(u64, u32, bool, Ecn)>,
}

impl Model<'_> {
    fn check(&mut self) {
        let lost: Vec<Descriptor> = self.bench.dropped[self.dropped..]
            .iter()
            .map(|d| d.0)
            .collect();
        self.dropped = self.bench.dropped.len();
        for packet in lost {
            self.leaves(&packet, false);
        }
        assert_eq!(self.bench.backlog(), self.inside, "{}", self.what);
        let full = self.room.is_exceeded_by(self.inside);
        assert!(!full, "{}: {:?} is over the limit", self.what, self.inside);
        assert!(
            self.bench.marks() >= self.newly_marked,
            "{}: {} marks, {} packets",
            self.what,
            self.bench.marks(),
            self.newly_marked
        );
    }

    /// A packet leaves for the link, or is lost: once, and as it came but for a mark.
    fn leaves(&mut self, packet: &Descriptor, sent: bool) {
        let known = self.offered.remove(&packet.slot);
        let (came, _) = known.unwrap_or_else(|| panic!("{}: twice {packet:?}", self.what));
        let marked = packet.ecn != came.ecn;
        if marked {
            assert_eq!(packet.ecn, Ecn::Ce, "{}", self.what);
            assert_ne!(came.ecn, Ecn::NotEct, "{}", self.what);
            self.newly_marked += u64::from(sent);
        }
        let ecn = packet.ecn;
        assert_eq!(
            Descriptor {
                ecn: came.ecn,
                ..*packet
            },
            came,
            "{}",
            self.what
        );
        self.inside.packets -= 1;
        self.inside.bytes -= u64::from(packet.wire_len);
        let now = self.bench.now.as_nanos();
        self.story.push((now, packet.slot, sent, ecn));
    }

    fn offer(&mut self, packet: Descriptor) {
        self.offered.insert(packet.slot, (packet, self.bench.now));
        let before = self.inside;
        self.inside.packets += 1;
        self.inside.bytes += u64::from(packet.wire_len);
        self.bench.enqueue(packet);
        // An arrival that is lost is told from others by being what was offered.
        let lost = &self.bench.dropped[self.dropped..];
        let itself = lost.iter().find(|lost| lost.0.slot == packet.slot);
        assert!(itself.is_none_or(|lost| lost.0 == packet), "{}", self.what);
        // A plain FIFO does what its limits say, and nothing else.
        if let Some(limits) = self.bench.as_fifo() {
            let fits = before.packets < limits.packets
                && before.bytes + u64::from(packet.wire_len) <= limits.bytes;
            assert_eq!(fits, lost.is_empty(), "{}", self.what);
            assert!(!REORDERING.contains(&self.name), "{}", self.what);
        }
        self.check();
    }

    fn send(&mut self) {
        let held = self.bench.deadline();
        let keeps = held == Time::NEVER || self.bench.holds_back();
        assert!(keeps, "{}: has a deadline", self.what);
        let next = self.bench.dequeue();
        match next {
            Some(departure) => {
                let early = held != Time::NEVER && held > self.bench.now;
                assert!(!early, "{}: before its deadline", self.what);
                self.sent(&departure);
                self.check();
            }
            None => {
                self.check();
                if self.inside.packets > 0 {
                    self.must_wait();
                }
            }
        }
    }

    fn sent(&mut self, departure: &Departure) {
        let packet = &departure.packet;
        let (came, at) = *self.offered.get(&packet.slot).expect("it was offered");
        assert_eq!(departure.enqueued, at, "{}", self.what);
        let class = match REORDERING.contains(&self.name) {
            true => (packet.flow, packet.backward, is_l4s(&came)),
            false => (0, false, false),
        };
        let before = self.last.insert(class, packet.slot);
        let in_order = before.is_none_or(|seq| seq < packet.slot);
        assert!(in_order, "{}: {} after {before:?}", self.what, packet.slot);
        self.leaves(packet, true);
    }

    /// The queue holds packets back: it says until when, and means it.
    fn must_wait(&mut self) {
        assert!(self.bench.holds_back(), "{}: keeps packets", self.what);
        let ready = self.bench.deadline();
        assert!(ready > self.bench.now, "{}: idle", self.what);
        assert_ne!(ready, Time::NEVER, "{}: holds packets for ever", self.what);
        self.bench.now = Time::from_nanos(ready.as_nanos() - 1);
        assert!(self.bench.dequeue().is_none(), "{}: early", self.what);
        self.bench.now = ready;
        let departure = self.bench.dequeue();
        let departure = departure.unwrap_or_else(|| panic!("{}: not ready", self.what));
        self.sent(&departure);
        self.check();
    }
}

fn is_l4s(packet: &Descriptor) -> bool {
    matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce)
}

/// Drives a queue through one sequence and returns what left it and what was lost.
fn drive(discipline: &Discipline, seed: u64) -> Vec<(u64, u32, bool, Ecn)> {
    let mut dice = Stream::new(seed, discipline.name);
    let config = any_config(discipline, &mut dice);
    let mut offered = BTreeMap::new();
    let mut model = Model {
        name: discipline.name,
        what: format!("{} with seed {seed}, {config:?}", discipline.name),
        room: Room::new(&config),
        bench: Bench::of(discipline.name, config, seed),
        offered: &mut offered,
        inside: Backlog::default(),
        dropped: 0,
        newly_marked: 0,
        last: BTreeMap::new(),
        story: Vec::new(),
    };
    // Sequences differ in how much comes for what leaves, and in how fast.
    let load = 0.35 + 0.3 * dice.uniform();
    let gap = [1_000.0, 100_000.0, 3_000_000.0][(dice.bits() % 3) as usize];
    for call in 0..CALLS {
        model
            .bench
            .wait(Time::from_nanos((dice.uniform() * gap) as u64));
        if dice.chance(load) {
            model.offer(any_packet(call as u32, &mut dice));
        } else {
            model.send();
        }
    }
    // Everything comes out in the end.
    while model.inside.packets > 0 {
        let before = model.inside;
        model.send();
        assert_ne!(model.inside, before, "{}: stuck", model.what);
    }
    let story = model.story;
    assert!(
        offered.is_empty(),
        "{}: lost without a word",
        discipline.name
    );
    story
}

/// Conservation, backlog, limit, order, deadline: what is offered is sent or lost, once.
#[test]
fn every_discipline_conserves_counts_and_orders_its_packets() {
    for discipline in simulated() {
        let mut lost = 0;
        for seed in 0..SEQUENCES {
            let story = drive(discipline, seed);
            lost += story.iter().filter(|(_, _, sent, _)| !sent).count();
        }
        assert!(lost > 0, "{} never dropped anything", discipline.name);
    }
}

#[test]
fn every_discipline_is_a_function_of_its_seed() {
    for discipline in simulated() {
        for seed in 0..SEQUENCES / 4 {
            let once = drive(discipline, seed);
            assert_eq!(once, drive(discipline, seed), "{}", discipline.name);
        }
    }
}

/// A packet that finds nothing waiting passes as if it had been put into the queue and taken out.
#[test]
fn what_passes_is_as_if_it_had_waited_for_no_time() {
    for discipline in simulated() {
        let mut passed = 0;
        for seed in 0..SEQUENCES {
            let mut dice = Stream::new(seed, discipline.name);
            let config = any_config(discipline, &mut dice);
            let [mut plain, mut short] = [(); 2].map(|()| Bench::of(discipline.name, config, seed));
            let load = 0.2 + 0.35 * dice.uniform();
            for call in 0..CALLS {
                let gap = Time::from_nanos(dice.bits() % 3_000_000);
                plain.wait(gap);
                short.wait(gap);
                if !dice.chance(load) {
                    assert_eq!(plain.dequeue(), short.dequeue(), "{}", discipline.name);
                    continue;
                }
                let packet = any_packet(call as u32, &mut dice);
                let lost = plain.dropped.len();
                if plain.backlog().packets == 0
                    && let Some(through) = short.pass(packet)
                {
                    passed += 1;
                    plain.enqueue(packet);
                    let departure = plain.dequeue().map(|departure| departure.packet);
                    assert_eq!(departure, Some(through), "{}", discipline.name);
                    assert_eq!(plain.dropped.len(), lost, "{}", discipline.name);
                } else {
                    plain.enqueue(packet);
                    short.enqueue(packet);
                }
                assert_eq!(plain.backlog(), short.backlog(), "{}", discipline.name);
            }
            assert_eq!(plain.dropped, short.dropped, "{}", discipline.name);
            assert_eq!(plain.marks(), short.marks(), "{}", discipline.name);
        }
        if PASSING.contains(&discipline.name) {
            assert!(passed > 1_000, "{}: {passed}", discipline.name);
        }
    }
}

/// Disciplines that need not be asked for what finds nothing waiting.
const PASSING: [&str; 2] = ["codel", "fq_codel"];

/// Names are unique, parameters are named once, and defaults lie within their bounds; what shapes
/// does so by a rate that it takes.
#[test]
fn the_registry_is_consistent() {
    for (place, discipline) in QDISCS.iter().enumerate() {
        let name = discipline.name;
        assert!(
            QDISCS[..place].iter().all(|other| other.name != name),
            "{name}"
        );
        let params: Vec<&Parameter> = discipline.params_of_all().collect();
        if let Some(shapes) = discipline.shapes {
            let mut rates = params.iter().filter(|p| p.measure == Measure::Rate);
            assert!(rates.any(|rate| rate.name == shapes), "{name}.{shapes}");
        }
        for (at, &parameter) in params.iter().enumerate() {
            let Parameter {
                name: param,
                default,
                least,
                most,
                ..
            } = *parameter;
            let others = &params[..at];
            assert!(
                others.iter().all(|other| other.name != param),
                "{name}.{param}"
            );
            let within = default.is_nan() || parameter.takes(default);
            assert!(least < most && within, "{name}.{param}");
        }
    }
}

/// What `tc` is told of: each parameter of the declaration, in words for what it measures, but
/// those that Linux does not let anybody set.
#[test]
fn the_kernel_spells_every_parameter_that_it_has() {
    let lacking = [
        ("red", "weight"),
        ("red", "gentle"),
        ("pie", "max_burst"),
        ("pie", "derandomize"),
        ("fq_pie", "max_burst"),
        ("fq_pie", "derandomize"),
    ];
    for (discipline, tc) in of_kernel() {
        let name = discipline.name;
        assert!(!tc.kinds.is_empty(), "{name}");
        for &(word, form) in tc.words {
            let mut params = discipline.params_of_all();
            let parameter = params.find(|parameter| parameter.name == word);
            let measure = parameter.unwrap_or_else(|| panic!("{name}.{word}")).measure;
            let fits = match form {
                Form::Time => measure == Measure::Time,
                Form::Rate => measure == Measure::Rate,
                Form::Share | Form::Percent => measure == Measure::Share,
                Form::Flag(..) => measure == Measure::Switch,
                Form::Count => measure.is_whole() || COUNTED.contains(&measure),
            };
            assert!(fits, "{name}.{word} is no {form:?}");
        }
        for parameter in discipline.params_of_all() {
            let param = parameter.name;
            let has = tc.words.iter().any(|&(word, _)| word == param);
            assert!(has != lacking.contains(&(name, param)), "{name}.{param}");
        }
    }
}

/// What `tc` takes whole and the simulator does not have to.
const COUNTED: [Measure; 2] = [Measure::Number, Measure::Seconds];
