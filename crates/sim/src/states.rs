//! The inner state of variants, as probes are told of it: wherever it has become another.

use cclab_cc::StateColumn;
use cclab_cc::interface::state::ABSENT;
use cclab_spec::{Flow as Spec, Scenario};
use cclab_tcp::sender::State;
use cclab_trace::{Probe, ToldStates};
use cclab_units::{Stream, Time};

use crate::flow::Flow;
use crate::own::OwnVariants;
use crate::stack::Profiles;

/// The columns of the variant of each flow of `scenario`; `own` are the variants of its files. A flow
/// over UDP has none.
pub fn state_columns(scenario: &Scenario, own: &OwnVariants) -> Vec<&'static [StateColumn]> {
    let flows = scenario.flows.iter();
    flows.map(|spec| columns_of(scenario, spec, own)).collect()
}

/// The columns of the variant of `spec`, a flow of `scenario`.
pub fn columns_of(scenario: &Scenario, spec: &Spec, own: &OwnVariants) -> &'static [StateColumn] {
    if spec.udp.is_some() {
        return &[];
    }
    let mut profiles = Profiles::new(own.clone());
    let dice = Stream::new(0, "columns");
    let (sender, ..) = crate::ends::ends(scenario, spec, 0, (0, 0), dice, &mut profiles);
    sender.state_columns()
}

/// What a probe was last told of each flow.
#[derive(Default)]
pub struct States {
    told: ToldStates,
    /// What is to be told, if it is another.
    state: Vec<f64>,
}

impl States {
    /// Tells `probe` the state of the variant of `flow`, which is at `index`, if it is another than
    /// before.
    pub fn tell(&mut self, index: usize, flow: &Flow, now: Time, probe: &mut dyn Probe) {
        if state_of(flow, &mut self.state) {
            self.told.tell(index as u32, &self.state, now, probe);
        }
    }
}

/// Writes into `state` a number for each column of the variant of `flow`; returns whether there is
/// one.
pub fn state_of(flow: &Flow, state: &mut Vec<f64>) -> bool {
    let Some(sender) = flow.tcp().map(|flow| &flow.sender) else {
        return false;
    };
    let columns = sender.state_columns().len();
    // Before the handshake is done, the variant has not begun.
    if columns == 0 || matches!(sender.state(), State::Closed | State::SynSent) {
        return false;
    }
    state.clear();
    state.resize(columns, ABSENT);
    sender.tell_state(state);
    true
}
