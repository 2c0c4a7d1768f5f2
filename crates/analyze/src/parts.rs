//! Connections and conversations counted in parts, each part on a core of its own.
//!
//! What is counted of one does not depend on others, as long as none has to be given up: each is one
//! part's, from its first packet to its last. Whoever has little to count reads the capture on for all, so that
//! cores stay busy however unevenly packets fall on parts: a capture of one connection is counted on one core and
//! read on another. Where the table comes near its bounds the parts are put together, and
//! one core counts on.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::batch::Batch;
use crate::kept::UNDERWAY;
use crate::reading::{PATIENCE, Source};
use crate::table::{Burdens, Table, bounded_from};

/// Batches that one who counts wants to be there: if fewer are, it reads.
const SUPPLY: u64 = 3;

/// What all parts together counted.
pub(crate) struct Counted {
    pub source: Source,
    pub tables: Vec<Table>,
    /// Whether the capture was read to its end; else one core is to count the rest.
    pub ended: bool,
}

/// Counts what `source` holds in as many parts as there are `tables`: `take` counts a batch's packets of a part in
/// its table. None if `goes_on`, asked now and then, says no.
pub(crate) fn count(
    source: Source,
    tables: Vec<Table>,
    take: fn(&mut Table, &Batch, usize),
    mut goes_on: impl FnMut() -> bool,
) -> Option<Counted> {
    let shared = Arc::new(Shared::new(source, tables.len()));
    for (part, table) in tables.into_iter().enumerate() {
        let counter = Counter {
            shared: Arc::clone(&shared),
            part,
        };
        let begun = thread::Builder::new().spawn(move || counter.count(table, take));
        if let Err(error) = begun {
            shared.abandon();
            panic!("no thread to count on: {error}");
        }
    }
    let mut state = shared.lock();
    loop {
        if let Some(panic) = state.panic.take() {
            drop(state);
            std::panic::resume_unwind(panic);
        }
        if state.at_work == 0 {
            break;
        }
        let waited = shared.ended.wait_timeout(state, PATIENCE);
        drop(waited.unwrap_or_else(PoisonError::into_inner).0);
        if !goes_on() {
            // They end when they next look; nobody waits for one that reads.
            shared.abandon();
            return None;
        }
        state = shared.lock();
    }
    let tables = std::mem::take(&mut state.counted);
    let ended = state.ended;
    state.source.take().map(|source| Counted {
        source: *source,
        tables,
        ended,
    })
}

struct Shared {
    state: Mutex<State>,
    /// There is something to count, or to read.
    changed: Condvar,
    /// One that counts has ended.
    ended: Condvar,
}

struct State {
    /// None while it is read.
    source: Option<Box<Source>>,
    /// Whether the source has nothing more.
    ended: bool,
    /// The first batch that is to be counted by one core, if there is any.
    alone_from: Option<u64>,
    abandoned: bool,
    /// Batches that not all have counted, in order, and the number of the first.
    underway: VecDeque<Underway>,
    first: u64,
    /// For each part the number of the batch that it counts next.
    next: Vec<u64>,
    empty: Vec<Batch>,
    /// Those that wait, and those that have not ended.
    waiting: usize,
    at_work: usize,
    /// What those that have ended counted, in any order; why one has not.
    counted: Vec<Table>,
    panic: Option<Box<dyn Any + Send>>,
}

struct Underway {
    batch: Arc<Batch>,
    /// Parts that have not counted it.
    left: usize,
    /// What those that have counted it kept then; None before any has.
    burdens: Option<Burdens>,
}

impl Shared {
    fn new(source: Source, parts: usize) -> Shared {
        Shared {
            state: Mutex::new(State {
                source: Some(Box::new(source)),
                ended: false,
                alone_from: None,
                abandoned: false,
                underway: VecDeque::new(),
                first: 0,
                next: vec![0; parts],
                empty: Vec::new(),
                waiting: 0,
                at_work: parts,
                counted: Vec::new(),
                panic: None,
            }),
            changed: Condvar::new(),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever counts is to end.
    fn abandon(&self) {
        self.lock().abandoned = true;
        self.changed.notify_all();
    }

    /// Wakes those that wait.
    fn tell(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}

impl State {
    /// The number of the batch that is read next.
    fn read_next(&self) -> u64 {
        self.first + self.underway.len() as u64
    }

    fn batch_for(&self, part: usize) -> Option<Arc<Batch>> {
        let at = (self.next[part] - self.first) as usize;
        self.underway.get(at).map(|next| Arc::clone(&next.batch))
    }

    /// Whether nothing more is read.
    fn is_read(&self) -> bool {
        self.ended
            || self
                .alone_from
                .is_some_and(|alone| self.read_next() >= alone)
    }

    /// The source, if it may be read now.
    fn take_source(&mut self) -> Option<Box<Source>> {
        if self.is_read() || self.underway.len() >= UNDERWAY {
            return None;
        }
        self.source.take()
    }

    /// What there is to do for `part`.
    fn work(&mut self, part: usize) -> Work {
        if self.abandoned {
            return Work::None;
        }
        if self.read_next() - self.next[part] < SUPPLY
            && let Some(source) = self.take_source()
        {
            let parts = self.next.len();
            let empty = self.empty.pop().unwrap_or_else(|| Batch::new(parts));
            return Work::Read(source, Box::new(empty));
        }
        match self.batch_for(part) {
            Some(batch) => Work::Count(batch),
            None if self.is_read() => Work::None,
            None => Work::Wait,
        }
    }

    /// A batch was read.
    fn push(&mut self, batch: Batch, source: Box<Source>, more: bool) {
        self.source = Some(source);
        self.ended = !more;
        self.underway.push_back(Underway {
            batch: Arc::new(batch),
            left: self.next.len(),
            burdens: None,
        });
    }

    /// `part` has counted its next batch, and keeps so much.
    fn pass(&mut self, part: usize, burdens: Burdens) {
        let at = (self.next[part] - self.first) as usize;
        self.next[part] += 1;
        let Some(passed) = self.underway.get_mut(at) else {
            return;
        };
        passed.left -= 1;
        passed.burdens = Some(match passed.burdens {
            Some([connections, conversations]) => {
                [connections.and(burdens[0]), conversations.and(burdens[1])]
            }
            None => burdens,
        });
        while self.underway.front().is_some_and(|oldest| oldest.left == 0)
            && let Some(passed) = self.underway.pop_front()
        {
            if self.alone_from.is_none()
                && let Some(burdens) = passed.burdens
            {
                self.alone_from = bounded_from(self.first, burdens);
            }
            self.first += 1;
            if let Some(mut empty) = Arc::into_inner(passed.batch) {
                empty.clear();
                self.empty.push(empty);
            }
        }
    }
}

enum Work {
    Read(Box<Source>, Box<Batch>),
    Count(Arc<Batch>),
    Wait,
    /// It is all done.
    None,
}

/// One that counts a part.
struct Counter {
    shared: Arc<Shared>,
    part: usize,
}

impl Counter {
    /// Counts to the end. Where it panics, the others do not wait for it.
    fn count(self, table: Table, take: fn(&mut Table, &Batch, usize)) {
        let counted = catch_unwind(AssertUnwindSafe(|| self.run(table, take)));
        let mut state = self.shared.lock();
        state.at_work -= 1;
        match counted {
            Ok(table) => state.counted.push(table),
            Err(panic) => {
                state.panic.get_or_insert(panic);
                state.abandoned = true;
            }
        }
        self.shared.changed.notify_all();
        self.shared.ended.notify_all();
    }

    fn run(&self, mut table: Table, take: fn(&mut Table, &Batch, usize)) -> Table {
        let mut state = self.shared.lock();
        loop {
            match state.work(self.part) {
                Work::Read(mut source, mut batch) => {
                    drop(state);
                    let more = source.fill(&mut batch);
                    state = self.shared.lock();
                    state.push(*batch, source, more);
                    self.shared.tell(&state);
                }
                Work::Count(batch) => {
                    drop(state);
                    take(&mut table, &batch, self.part);
                    // The last to pass it empties it.
                    drop(batch);
                    state = self.shared.lock();
                    state.pass(self.part, table.burdens());
                    self.shared.tell(&state);
                }
                Work::Wait => {
                    state.waiting += 1;
                    let woken = self.shared.changed.wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                    state.waiting -= 1;
                }
                Work::None => return table,
            }
        }
    }
}
