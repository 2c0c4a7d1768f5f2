//! What each machine of a run recorded, and all of it as one.

use std::path::Path;

use cclab_testbed::records::{FlowOutcome, Outcome, ProbeOutcome, Sample};
use cclab_testbed::{Machine, Orders};
use cclab_trace::schema;

use crate::error::HarvestError;
use crate::event::Decoder;
use crate::records;
use crate::ring::{self, Ring};

/// A machine that has carried its part of a run out.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// What its kernel is called; absent: it is this host's.
    pub kernel: Option<&'a str>,
    /// Its part.
    pub machine: &'a Machine,
    /// The agent's folder.
    pub raw: &'a Path,
}

/// The outcome of each of `machines`, checked.
///
/// # Errors
/// As [`records::outcome`].
pub fn outcomes(machines: &[Recorded<'_>]) -> Result<Vec<Outcome>, HarvestError> {
    let each = machines.iter();
    each.map(|one| records::outcome(&one.machine.orders, one.raw))
        .collect()
}

/// The outcomes of all `machines` as that of the run by `orders`.
///
/// # Errors
/// If their clocks differ.
pub fn outcome(
    orders: &Orders,
    machines: &[Recorded<'_>],
    outcomes: &[Outcome],
) -> Result<Outcome, HarvestError> {
    let first = &outcomes[0];
    let clocks = |one: &Outcome| (one.monotonic_zero, one.realtime_zero, one.end);
    let mut whole = Outcome {
        flows: vec![FlowOutcome::default(); orders.flows.len()],
        probes: vec![ProbeOutcome::default(); orders.probes.len()],
        namespaces: vec![Default::default(); orders.namespaces.len()],
        counters: vec![Default::default(); orders.namespaces.len()],
        ..first.clone()
    };
    for (one, own) in machines.iter().zip(outcomes) {
        if clocks(own) != clocks(first) {
            let reason = "its clock is not that of the run's other machines";
            return Err(HarvestError::damaged(one.raw, reason));
        }
        let Machine {
            flows,
            probes,
            namespaces,
            ..
        } = one.machine;
        for (&index, flow) in flows.iter().zip(&own.flows) {
            whole.flows[index] = flow.clone();
        }
        for (&index, probe) in probes.iter().zip(&own.probes) {
            whole.probes[index] = probe.clone();
        }
        for (&index, host) in namespaces.iter().zip(&own.namespaces) {
            whole.namespaces[index] = host.clone();
        }
        for (&index, counters) in namespaces.iter().zip(&own.counters) {
            whole.counters[index] = counters.clone();
        }
    }
    Ok(whole)
}

/// The samples of all `machines`, in the order of time and flows.
///
/// # Errors
/// As [`records::samples`], and if one is of no flow of its machine.
pub fn samples(machines: &[Recorded<'_>]) -> Result<Vec<Sample>, HarvestError> {
    if let [only] = machines {
        return records::samples(only.raw);
    }
    let mut all: Vec<(u64, u32, Sample)> = Vec::new();
    for one in machines {
        for mut sample in records::samples(one.raw)? {
            let Sample::Flow { at, flow, .. } = &mut sample else {
                let reason = "a machine on a wire has no queue";
                return Err(HarvestError::damaged(one.raw, reason));
            };
            let Some(&index) = one.machine.flows.get(*flow as usize) else {
                let reason = format!("there is no flow {flow}");
                return Err(HarvestError::damaged(one.raw, reason));
            };
            *flow = index as u32;
            all.push((*at, *flow, sample));
        }
    }
    all.sort_by_key(|&(at, flow, _)| (at, flow));
    // What was kept until another machine's news came may be of an instant that was sampled anyway.
    all.dedup_by_key(|&mut (at, flow, _)| (at, flow));
    Ok(all.into_iter().map(|(.., sample)| sample).collect())
}

/// The events of several kernels, each with how it writes them.
#[derive(Debug)]
pub struct Events(Vec<(Ring, Decoder)>);

impl Events {
    /// Those of `machines`; `None` if none were recorded.
    ///
    /// # Errors
    /// As [`records::events`].
    pub fn of(machines: &[Recorded<'_>]) -> Result<Option<Events>, HarvestError> {
        let each = machines.iter();
        let all: Vec<Option<_>> = each
            .map(|one| records::events(one.raw))
            .collect::<Result<_, _>>()?;
        let rings: Option<Vec<_>> = all.into_iter().collect();
        Ok(rings.map(Events))
    }

    /// Calls `take` with what reads an event, its time and its data, in the order of time.
    ///
    /// # Errors
    /// As [`ring::for_each`].
    pub fn for_each(
        &self,
        mut take: impl FnMut(&Decoder, u64, &[u8]) -> Result<(), String>,
    ) -> Result<(), HarvestError> {
        let rings = self.0.iter().map(|(ring, _)| ring);
        ring::for_each(rings, |number, time, data| {
            take(&self.0[number].1, time, data)
        })
    }
}

/// The machines as a trace names them.
pub fn described(
    orders: &Orders,
    machines: &[Recorded<'_>],
    outcomes: &[Outcome],
) -> Vec<schema::Machine> {
    let each = machines.iter().zip(outcomes);
    each.map(|(one, outcome)| {
        let flows = one.machine.flows.iter();
        schema::Machine {
            kernel: one.kernel.map(str::to_owned),
            release: outcome.kernel.release.clone(),
            version: outcome.kernel.version.clone(),
            config_sha256: outcome.kernel.config_sha256.clone(),
            flows: flows
                .map(|&index| orders.flows[index].name.clone())
                .collect(),
        }
    })
    .collect()
}
