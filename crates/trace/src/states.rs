//! `variant_states.parquet`: the inner state that variants tell of themselves. Its columns are those
//! that the variants of the run declare, and so are not the same in every trace.

use std::path::Path;

use cclab_interface::state::{StateColumn, StateKind};
use cclab_units::Time;

use crate::error::TraceError;
use crate::parquet_file::RowGroups;
use crate::probe::{Event, Probe};
use crate::table::{Cell, Kind, Values};

/// The name of the table.
pub const NAME: &str = "variant_states";

/// The columns before those of the variants.
const KEYS: [(&str, Kind); 2] = [("time_ns", Kind::U64), ("flow", Kind::U32)];

/// What the page of the schema says of the table.
pub const PAGE: &str = "
## variant_states.parquet

The inner state of a flow's variant wherever it has become another, behind an acknowledgement, a timer or a mark of
the samples; it holds until the flow's next row. Only with `events = [\"state\"]`, and where a variant of the run tells
its state. Beside the two below, the table has the columns that the variants of the run declare (`cclab list variants
--json`), each once; a column that a flow's variant does not have is null.

| column | type | null | meaning |
|---|---|---|---|
| `time_ns` | u64 |  | Virtual time since the beginning of the run. |
| `flow` | u32 |  | Index of the flow in `flows.parquet`. |
| `COLUMN` | text, bool, u64 or f64 | yes | What the variant declares: a word of a list, a flag, a count, a number. |
";

/// What a probe was last told of the state of each flow.
#[derive(Debug, Default)]
pub struct ToldStates(Vec<Vec<f64>>);

impl ToldStates {
    /// Tells `probe` that `state` is that of `flow` at `now`, if it is another than before.
    pub fn tell(&mut self, flow: u32, state: &[f64], now: Time, probe: &mut dyn Probe) {
        let index = flow as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, Vec::new);
        }
        let told = &mut self.0[index];
        // What is absent is no number, which is equal to none.
        let same = |(told, state): (&f64, &f64)| told.to_bits() == state.to_bits();
        if told.len() == state.len() && told.iter().zip(state).all(same) {
            return;
        }
        told.clear();
        told.extend_from_slice(state);
        probe.record(now, Event::State(flow, state));
    }
}

/// Writes the states of flows.
pub(crate) struct StatesWriter {
    file: RowGroups,
    columns: Vec<(&'static str, Kind)>,
    /// For each flow, where its columns are in the table.
    flows: Vec<Vec<(usize, StateKind)>>,
}

impl StatesWriter {
    /// The table in `dir` of flows with these columns; `None` if none has any.
    pub fn create(
        dir: &Path,
        flows: &[&'static [StateColumn]],
    ) -> Result<Option<StatesWriter>, TraceError> {
        let mut columns: Vec<(&'static str, Kind)> = Vec::new();
        let mut places = Vec::with_capacity(flows.len());
        for declared in flows {
            let mut own = Vec::with_capacity(declared.len());
            for column in *declared {
                let kind = kind_of(column.kind);
                let known = columns.iter().position(|(name, _)| *name == column.name);
                let place = known.unwrap_or(columns.len());
                match columns.get_mut(place) {
                    Some((_, common)) => *common = common_of(*common, kind),
                    None => columns.push((column.name, kind)),
                }
                own.push((place, column.kind));
            }
            places.push(own);
        }
        if columns.is_empty() {
            return Ok(None);
        }
        let keys = KEYS.iter().map(|&(name, kind)| (name, kind, false));
        let told = columns.iter().map(|&(name, kind)| (name, kind, true));
        Ok(Some(StatesWriter {
            file: RowGroups::create(dir, NAME, keys.chain(told))?,
            columns,
            flows: places,
        }))
    }

    /// Appends the state of `flow` at `now`.
    ///
    /// # Panics
    /// If there is no such flow, or not one value for each of its columns.
    pub fn push(&mut self, now: Time, flow: u32, values: &[f64]) -> Result<(), TraceError> {
        let StatesWriter {
            file,
            columns,
            flows,
        } = self;
        let own = &flows[flow as usize];
        assert_eq!(own.len(), values.len(), "a value for each column");
        for (&(place, declared), &value) in own.iter().zip(values) {
            let StateKind::Word(words) = declared else {
                continue;
            };
            if !value.is_nan() && !(0.0..words.len() as f64).contains(&value) {
                let (name, of) = (columns[place].0, words.len());
                let reason = format!(
                    "the variant of flow {flow} tells {value} in its column {name}, of which there \
                     are {of} words, from 0"
                );
                return Err(file.unwritable(reason));
            }
        }
        file.push(|cells| {
            let (keys, cells) = cells.split_at_mut(KEYS.len());
            now.put(&mut keys[0]);
            flow.put(&mut keys[1]);
            for (place, (cell, &(_, kind))) in cells.iter_mut().zip(&*columns).enumerate() {
                let told = own.iter().zip(values).find(|((at, _), _)| *at == place);
                let told = told.map(|(&(_, declared), &value)| (declared, value));
                put(cell, kind, told.filter(|(_, value)| !value.is_nan()));
            }
        })
    }

    /// Writes what is left.
    pub fn finish(self) -> Result<(), TraceError> {
        self.file.finish()
    }
}

fn kind_of(kind: StateKind) -> Kind {
    match kind {
        StateKind::Number => Kind::F64,
        StateKind::Count => Kind::U64,
        StateKind::Flag => Kind::Bool,
        StateKind::Word(_) => Kind::Text,
    }
}

/// What holds both: variants of files may call different things by one name.
fn common_of(kind: Kind, other: Kind) -> Kind {
    match (kind, other) {
        _ if kind == other => kind,
        (Kind::U64, Kind::F64) | (Kind::F64, Kind::U64) => Kind::F64,
        _ => Kind::Text,
    }
}

/// Appends what was told to a column of `kind`.
fn put(cell: &mut Values, kind: Kind, told: Option<(StateKind, f64)>) {
    let value = told.map(|(_, value)| value);
    match kind {
        Kind::F64 => value.put(cell),
        Kind::U64 => value.map(|value| value as u64).put(cell),
        Kind::Bool => value.map(|value| value != 0.0).put(cell),
        _ => told.map(|(kind, value)| text_of(kind, value)).put(cell),
    }
}

fn text_of(kind: StateKind, value: f64) -> String {
    match kind {
        StateKind::Word(words) => words.get(value as usize).copied().unwrap_or("").to_owned(),
        StateKind::Flag => (value != 0.0).to_string(),
        StateKind::Count | StateKind::Number => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what it is told.
    #[derive(Default)]
    struct Kept(Vec<(u64, u32, Vec<f64>)>);

    impl Probe for Kept {
        fn wants_acks(&self, _: Time) -> bool {
            false
        }
        fn wants_queue(&self, _: Time) -> bool {
            false
        }
        fn wants_drops(&self, _: Time) -> bool {
            false
        }
        fn wants_packets(&self, _: Time) -> bool {
            false
        }
        fn record(&mut self, now: Time, event: Event<'_>) {
            if let Event::State(flow, state) = event {
                self.0.push((now.as_nanos(), flow, state.to_vec()));
            }
        }
    }

    #[test]
    fn a_word_that_is_not_in_its_list_is_no_row() {
        const COLUMNS: &[StateColumn] = &[StateColumn::word("phase", &["up", "down"], "")];
        let dir = tempfile::tempdir().expect("a folder");
        let writer = StatesWriter::create(dir.path(), &[COLUMNS]).expect("a table");
        let mut writer = writer.expect("of a column");
        for value in [0.0, 1.0, f64::NAN] {
            writer
                .push(Time::ZERO, 0, &[value])
                .expect("a word or none");
        }
        for value in [2.0, -1.0] {
            let why = writer.push(Time::ZERO, 0, &[value]).expect_err("no word");
            let says = "in its column phase, of which there are 2 words, from 0";
            assert!(why.to_string().ends_with(says), "{why}");
        }
    }

    #[test]
    fn a_state_is_told_where_it_became_another_of_its_flow() {
        let absent = f64::NAN;
        let mut told = ToldStates::default();
        let mut kept = Kept::default();
        for (at, flow, state) in [
            (1, 1, [1.0, absent]),
            (2, 1, [1.0, absent]),
            (3, 0, [1.0, absent]),
            (4, 1, [1.0, 2.0]),
            (5, 0, [1.0, absent]),
            (6, 1, [1.0, absent]),
        ] {
            told.tell(flow, &state, Time::from_nanos(at), &mut kept);
        }
        let told: Vec<(u64, u32)> = kept.0.iter().map(|&(at, flow, _)| (at, flow)).collect();
        assert_eq!(told, [(1, 1), (3, 0), (4, 1), (6, 1)]);
        assert_eq!(kept.0[2].2, [1.0, 2.0]);
    }
}
