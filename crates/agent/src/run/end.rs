//! A run's end, and what is told of it from machine to machine.

use std::fs;

use cclab_testbed::orders::News;
use cclab_testbed::records::{LAST_WORDS, MARK, NamespaceId, Outcome, SCHEMA};
use cclab_units::Time;
use nix::net::if_::if_nametoindex;

use super::{Flow, Run};
use crate::counters;
use crate::echo::Echo;
use crate::failure::{During, Step};
use crate::fidelity;
use crate::kernel;
use crate::watch::Ready;

impl Run<'_> {
    /// Takes in what happened on another machine; when the run is over, if it is.
    pub(super) fn hear(&mut self) -> Step<Option<Time>> {
        let Some(news) = &self.news else {
            return Ok(None);
        };
        match news.hear()? {
            News::OneHasEnded(first) => {
                let recent = self.recent.take();
                // If it ended here, there is a sample of that instant.
                if self.first_end.is_none_or(|own| own > first) {
                    for sample in recent
                        .map(|recent| recent.before(first))
                        .unwrap_or_default()
                    {
                        self.samples.push(&sample)?;
                    }
                }
                if self.first_end.is_none() {
                    let now = self.clock.now();
                    self.first_end = Some(now);
                    self.sample(now)?;
                }
                Ok(None)
            }
            News::End(over) => {
                self.sample(over)?;
                Ok(Some(over))
            }
        }
    }

    /// Tells the network, if it is another process's, what is to be done there now.
    pub(super) fn mark(&self, what: &[u8]) -> Step<()> {
        match self.orders.wire {
            Some(_) => fs::write(MARK, what).during("a mark on the wire"),
            None => Ok(()),
        }
    }

    /// Gives programs that still run the time to say what they saw.
    pub(super) fn let_programs_end(&mut self, end: Time) -> Step<()> {
        for flow in &mut self.flows {
            if let Flow::Program(flow) = flow {
                flow.ask_to_end(end);
            }
        }
        let running = |flow: &Flow| matches!(flow, Flow::Program(f) if !f.over());
        if !self.flows.iter().any(running) {
            return Ok(());
        }
        self.clock.wake_at(end + LAST_WORDS)?;
        while self.flows.iter().any(running) {
            for ready in self.watch.wait()? {
                match ready {
                    Ready::Timer => return Ok(()),
                    other => self.socket(other)?,
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self, end: Time) -> Step<Outcome> {
        let mut outcome = Outcome {
            schema: SCHEMA.to_owned(),
            kernel: kernel::identify(),
            monotonic_zero: self.clock.monotonic_zero,
            realtime_zero: self.clock.realtime_zero,
            end: end.as_nanos(),
            fidelity: self.fidelity.take().map(fidelity::Watch::end),
            ..Outcome::default()
        };
        for (index, namespace) in self.orders.namespaces.iter().enumerate() {
            let interfaces = self.namespaces.within(index, || {
                let number = |name: &String| {
                    let number = if_nametoindex(name.as_str());
                    number
                        .map(|number| (number, name.clone()))
                        .during(&format!("interfaces of {}", namespace.name))
                };
                namespace.interfaces.iter().map(number).collect()
            })?;
            outcome.namespaces.push(NamespaceId {
                inode: self.namespaces.inode(index)?,
                interfaces,
            });
            outcome
                .counters
                .push(self.namespaces.within(index, counters::tcp)?);
        }
        if let Some(events) = self.events.take() {
            outcome.events_lost = events.finish()?;
        }
        outcome.packets_lost = self.captures.finish()?;
        outcome.datagrams_lost = self.datagrams.finish()?;
        self.samples.finish()?;
        for flow in self.flows {
            outcome.flows.push(match flow {
                Flow::Bulk(flow) => flow.outcome(),
                Flow::Program(flow) => flow.outcome()?,
                Flow::Udp(flow) => flow.outcome(),
            });
        }
        outcome.probes = self.probes.into_iter().map(Echo::outcome).collect();
        Ok(outcome)
    }
}
