//! The inner state of variants, as probes are told of it: wherever it has become another.

use cclab_cc::StateColumn;
use cclab_spec::Scenario;
use cclab_tcp::sender::State;
use cclab_trace::{Event, Probe};
use cclab_units::{Stream, Time};

use crate::flow::Flow;
use crate::own::OwnVariants;
use crate::stack::Profiles;

/// The columns of the variant of each flow of `scenario`; `own` are the variants of its files. A flow
/// over UDP has none.
pub fn state_columns(scenario: &Scenario, own: &OwnVariants) -> Vec<&'static [StateColumn]> {
    let mut profiles = Profiles::new(own.clone());
    let flows = scenario.flows.iter();
    flows
        .map(|spec| match spec.udp {
            Some(_) => &[][..],
            None => {
                let dice = Stream::new(0, "columns");
                let (sender, ..) =
                    crate::ends::ends(scenario, spec, 0, (0, 0), dice, &mut profiles);
                sender.state_columns()
            }
        })
        .collect()
}

/// What a probe was last told of each flow.
#[derive(Default)]
pub struct States {
    told: Vec<Vec<f64>>,
    /// What is to be told, if it is another.
    state: Vec<f64>,
}

impl States {
    /// Tells `probe` the state of the variant of `flow`, which is at `index`, if it is another than
    /// before.
    pub fn tell<P: Probe>(&mut self, index: usize, flow: &Flow, now: Time, probe: &mut P) {
        let Some(sender) = flow.tcp().map(|flow| &flow.sender) else {
            return;
        };
        let columns = sender.state_columns().len();
        // Before the handshake is done, the variant has not begun.
        if columns == 0 || matches!(sender.state(), State::Closed | State::SynSent) {
            return;
        }
        self.state.clear();
        self.state.resize(columns, f64::NAN);
        sender.tell_state(&mut self.state);
        if self.told.len() <= index {
            self.told.resize_with(index + 1, Vec::new);
        }
        // What is absent is no number, which is equal to none.
        let same = |(told, state): (&f64, &f64)| told.to_bits() == state.to_bits();
        let told = &self.told[index];
        if told.len() != columns || !told.iter().zip(&self.state).all(same) {
            self.told[index].clone_from(&self.state);
            probe.record(now, Event::State(index as u32, &self.state));
        }
    }
}
