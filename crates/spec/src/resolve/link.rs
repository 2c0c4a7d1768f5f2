//! Links: rates, delays, queues, and what happens to packets.

use std::collections::BTreeMap;

use cclab_units::{Rate, Time};

use super::files::Files;
use super::jitter::{jitter, slots};
use super::network::{ENDLESS_QUEUE, PathFacts, queue};
use super::positive_time;
use super::remark::remark;
use crate::change::{mirrored, mirrored_triggered};
use crate::de::At;
use crate::error::{Position, Problem, missing};
use crate::flow::Flow;
use crate::link::{GilbertElliott, Link, ListedPackets, Loss, LossModel, Outage, Place, Reorder};
use crate::names::{DEFAULT_QDISC, Names};
use crate::opportunities::Opportunities;
use crate::path::default_name;
use crate::scenario::{Limit, Queue};
use crate::text::{BriefOrFull, RateText, Share};
use crate::written::{self, Impairments, LossKind};

/// More numbers of packets to lose are a slip.
const MAX_LISTED: usize = 100_000;

/// What links are resolved by.
pub(super) struct Links<'a, 'f> {
    /// What queues are measured by.
    pub path: PathFacts,
    /// Known names.
    pub names: &'a Names,
    /// The study as written.
    pub study: &'a written::Study,
    /// The flows.
    pub flows: &'a [Flow],
    /// The files beside the study.
    pub files: &'a mut Files<'f>,
}

impl Links<'_, '_> {
    /// The link under study.
    pub fn bottleneck(&mut self, written: &At<written::Bottleneck>) -> Result<Link, Problem> {
        let At { at, value: written } = written;
        let trace = self.trace(written.trace.as_ref())?;
        let rate = rate_of(written.rate, trace.as_ref());
        let Some(rate) = rate else {
            return Err(missing("rate").or_at(*at));
        };
        let delay = written.delay.map_or(Time::ZERO, |delay| delay.0);
        let queue = queue(&written.queue, Some(rate), &self.path, self.names)?;
        let mut link = Link {
            trace,
            ..Link::new(Some(rate), delay, queue)
        };
        self.impair(&mut link, &written.impairments(), *at)?;
        if let Some(At { at, value: reverse }) = &written.reverse {
            let reverse = self.reverse(reverse, *at, &link, &written.queue)?;
            // A way back that is the mirror image is none of its own.
            link.reverse = (reverse != link.way_back()).then(|| Box::new(reverse));
        }
        Ok(link)
    }

    /// The way back over `forward`.
    fn reverse(
        &mut self,
        written: &written::Reverse,
        at: Position,
        forward: &Link,
        forward_queue: &written::Queue,
    ) -> Result<Link, Problem> {
        let own_rate = written.rate.is_some() || written.trace.is_some();
        let trace = match own_rate {
            true => self.trace(written.trace.as_ref())?,
            false => forward.trace.clone(),
        };
        let rate = rate_of(written.rate, trace.as_ref()).or(forward.rate);
        let delay = written.delay.map_or(forward.delay, |delay| delay.0);
        let queue = match (&written.queue, own_rate) {
            (Some(own), _) => queue(own, rate, &self.path, self.names)?,
            // A limit in time or bandwidth-delay products is taken at the rate of its own link.
            (None, true) => queue(forward_queue, rate, &self.path, self.names)?,
            (None, false) => forward.queue.clone(),
        };
        let mut link = Link {
            trace,
            ..Link::new(rate, delay, queue)
        };
        self.impair(&mut link, &written.impairments(), at)?;
        if written.schedule.0.is_empty() {
            let (rate, delay) = (!own_rate, written.delay.is_none());
            link.schedule = mirrored(&forward.schedule, rate, delay);
            link.triggered = mirrored_triggered(&forward.triggered, rate, delay);
        }
        Ok(link)
    }

    /// The links between hosts and routers.
    pub fn access(&mut self) -> Result<Link, Problem> {
        let plain = At {
            at: Position::default(),
            value: written::Access::default(),
        };
        let written = self.study.network.value.access.as_ref().unwrap_or(&plain);
        let At { at, value: written } = written;
        let trace = self.trace(written.trace.as_ref())?;
        let rate = rate_of(written.rate, trace.as_ref());
        let queue = self.queue_or_endless(written.queue.as_ref(), rate)?;
        let delay = written.delay.map_or(Time::ZERO, |delay| delay.0);
        let mut link = Link {
            trace,
            ..Link::new(rate, delay, queue)
        };
        self.impair(&mut link, &written.impairments(), *at)?;
        Ok(link)
    }

    /// A link of a graph.
    pub fn graph_link(&mut self, written: &At<written::GraphLink>) -> Result<Link, Problem> {
        let At { at, value: written } = written;
        let trace = self.trace(written.trace.as_ref())?;
        let rate = rate_of(written.rate, trace.as_ref());
        let queue = self.queue_or_endless(written.queue.as_ref(), rate)?;
        let delay = written.delay.map_or(Time::ZERO, |delay| delay.0);
        let mut link = Link {
            trace,
            ..Link::new(rate, delay, queue)
        };
        self.impair(&mut link, &written.impairments(), *at)?;
        Ok(link)
    }

    /// The queue that is written, or one that no run fills.
    fn queue_or_endless(
        &self,
        written: Option<&written::Queue>,
        rate: Option<Rate>,
    ) -> Result<Queue, Problem> {
        match written {
            Some(written) => queue(written, rate, &self.path, self.names),
            None => Ok(Queue {
                kind: DEFAULT_QDISC.to_owned(),
                limit: Limit::Bytes(ENDLESS_QUEUE),
                params: BTreeMap::new(),
            }),
        }
    }

    fn trace(&mut self, path: Option<&At<String>>) -> Result<Option<Opportunities>, Problem> {
        path.map(|path| self.files.opportunities(path)).transpose()
    }

    /// Adds to `link` what is `written` in the table at `at`.
    fn impair(
        &self,
        link: &mut Link,
        written: &Impairments<'_>,
        at: Position,
    ) -> Result<(), Problem> {
        for loss in written.loss {
            link.loss
                .extend(self.loss(loss).map_err(|problem| problem.or_at(at))?);
        }
        for outage in written.outage {
            link.outage.push(self.outage(outage)?);
        }
        link.jitter = written.jitter.map(jitter).transpose()?;
        for change in written.schedule {
            self.change(change, link)
                .map_err(|problem| problem.or_at(at))?;
        }
        link.schedule.sort_by_key(|change| change.at);
        let some = |share: Option<Share>| share.map(|share| share.0).filter(|&share| share > 0.0);
        let begins_later = link.changes().any(|change| change.jitter.is_some());
        link.jitter = link
            .jitter
            .filter(|jitter| begins_later || jitter.size() > Time::ZERO);
        link.slots = slots(written.slots, link.jitter)?;
        link.reorder = written.reorder.map(reorder).transpose()?;
        link.reorder = link.reorder.filter(|reorder| reorder.probability > 0.0);
        link.duplicate = some(written.duplicate);
        link.corrupt = some(written.corrupt);
        link.remark = written.remark.iter().filter_map(remark).collect();
        Ok(())
    }

    /// A loss; `None` for one that never happens: `loss = "0%"` in a sweep is the lossless point.
    fn loss(&self, written: &BriefOrFull<Share, written::Loss>) -> Result<Option<Loss>, Problem> {
        let loss = match written {
            BriefOrFull::Brief(share) => {
                return Ok((share.0 > 0.0).then(|| Loss::random(Place::Router, share.0)));
            }
            BriefOrFull::Full(loss) => loss,
        };
        let kind = kind_of(loss);
        only_keys_of(kind, loss)?;
        let model = match kind {
            LossKind::Random => {
                let rate = required("rate", loss.rate.as_ref(), loss)?.0;
                (rate > 0.0).then_some(LossModel::Random(rate))
            }
            LossKind::GilbertElliott => {
                let share = |share: &Option<At<Share>>, default| {
                    share.as_ref().map_or(default, |share| share.value.0)
                };
                let bursts = GilbertElliott {
                    p: required("p", loss.p.as_ref(), loss)?.0,
                    r: required("r", loss.r.as_ref(), loss)?.0,
                    good: share(&loss.good, 0.0),
                    bad: share(&loss.bad, 1.0),
                };
                let loses = bursts.good > 0.0 || (bursts.p > 0.0 && bursts.bad > 0.0);
                loses.then_some(LossModel::GilbertElliott(bursts))
            }
            LossKind::Packets => self.listed(loss)?.map(LossModel::Packets),
        };
        let at = loss.at.unwrap_or(Place::Router);
        Ok(model.map(|model| Loss { at, model }))
    }

    /// Listed packets; `None` if their flow is absent.
    fn listed(&self, loss: &written::Loss) -> Result<Option<ListedPackets>, Problem> {
        let written = required_at("packets", loss.packets.as_ref(), loss)?;
        let mut packets = written.value.clone();
        packets.sort_unstable();
        packets.dedup();
        if packets.is_empty() {
            let problem = Problem::new(
                "a list of no packets loses none",
                "list some, or leave it out",
            );
            return Err(problem.or_at(written.at));
        }
        if packets.first() == Some(&0) {
            let problem = Problem::new("there is no packet 0", "packets are counted from 1");
            return Err(problem.or_at(written.at));
        }
        if packets.len() > MAX_LISTED {
            let problem = Problem::new(
                format!("{} packets are too many for a list", packets.len()),
                format!("write at most {MAX_LISTED}, or a `rate`"),
            );
            return Err(problem.or_at(written.at));
        }
        if let Some(flow) = &loss.flow
            && !self.has_flow(flow)?
        {
            return Ok(None);
        }
        let flow = loss.flow.as_ref().map(|flow| flow.value.clone());
        Ok(Some(ListedPackets { packets, flow }))
    }

    /// Whether this sweep point has the flow `name`: it may count one zero times.
    pub(super) fn has_flow(&self, name: &At<String>) -> Result<bool, Problem> {
        let At { at, value } = name;
        if self.is_absent(value) {
            return Ok(false);
        }
        let mut names = self.flows.iter().map(|flow| flow.name.as_str());
        if !names.any(|name| name == value) {
            let names = self.flows.iter().map(|flow| flow.name.as_str());
            return Err(crate::error::unknown("flow", value, names).or_at(*at));
        }
        Ok(true)
    }

    /// Whether `name` is a flow that this sweep point counts zero times.
    fn is_absent(&self, name: &str) -> bool {
        let mut flows = self.study.flow.iter().enumerate();
        flows.any(|(index, flow)| {
            let absent = flow.value.count.as_ref().is_some_and(|c| c.value == 0);
            absent
                && match &flow.value.name {
                    Some(written) => written.value == name,
                    None => default_name("flow", index) == name,
                }
        })
    }

    fn outage(&self, written: &written::Outage) -> Result<Outage, Problem> {
        let duration = positive_time(&written.duration)?;
        let start = written.start.value.0;
        self.path
            .begins("this outage", start)
            .map_err(|problem| problem.or_at(written.start.at))?;
        Ok(Outage {
            at: written.at.unwrap_or(Place::Router),
            start,
            duration,
        })
    }
}

/// The rate of a link: as written, else the mean of its trace.
fn rate_of(written: Option<RateText>, trace: Option<&Opportunities>) -> Option<Rate> {
    written
        .map(|rate| rate.0)
        .or_else(|| trace.map(Opportunities::mean_rate))
}

fn reorder(written: &written::Reorder) -> Result<Reorder, Problem> {
    if written.delay.value.0 == Time::ZERO {
        let problem = Problem::new(
            "a packet that is held back for no time is overtaken by none",
            "give it a positive delay",
        );
        return Err(problem.or_at(written.delay.at));
    }
    Ok(Reorder {
        probability: written.probability.0,
        delay: written.delay.value.0,
    })
}

/// The kind that is named, else the one whose keys are there.
fn kind_of(loss: &written::Loss) -> LossKind {
    match &loss.kind {
        Some(kind) => kind.value,
        None if loss.packets.is_some() => LossKind::Packets,
        None if loss.p.is_some() || loss.r.is_some() => LossKind::GilbertElliott,
        None => LossKind::Random,
    }
}

fn name_of(kind: LossKind) -> &'static str {
    match kind {
        LossKind::Random => "random",
        LossKind::GilbertElliott => "gilbert-elliott",
        LossKind::Packets => "packets",
    }
}

/// A problem if `loss` has a key that belongs to another kind.
fn only_keys_of(kind: LossKind, loss: &written::Loss) -> Result<(), Problem> {
    let share =
        |name, owner, share: &Option<At<Share>>| (name, owner, share.as_ref().map(|s| s.at));
    let keys = [
        share("rate", LossKind::Random, &loss.rate),
        share("p", LossKind::GilbertElliott, &loss.p),
        share("r", LossKind::GilbertElliott, &loss.r),
        share("good", LossKind::GilbertElliott, &loss.good),
        share("bad", LossKind::GilbertElliott, &loss.bad),
        (
            "packets",
            LossKind::Packets,
            loss.packets.as_ref().map(|packets| packets.at),
        ),
        (
            "flow",
            LossKind::Packets,
            loss.flow.as_ref().map(|flow| flow.at),
        ),
    ];
    for (name, owner, at) in keys {
        if let Some(at) = at.filter(|_| owner != kind) {
            let problem = Problem::new(
                format!(
                    "`{name}` belongs to a loss of kind \"{}\", not \"{}\"",
                    name_of(owner),
                    name_of(kind)
                ),
                "write two losses in a list, or leave it out",
            );
            return Err(problem.or_at(at));
        }
    }
    Ok(())
}

fn required<'a, T>(
    name: &str,
    value: Option<&'a At<T>>,
    loss: &written::Loss,
) -> Result<&'a T, Problem> {
    required_at(name, value, loss).map(|at| &at.value)
}

/// The value of a key that the kind of `loss` cannot do without.
fn required_at<'a, T>(
    name: &str,
    value: Option<&'a At<T>>,
    loss: &written::Loss,
) -> Result<&'a At<T>, Problem> {
    value.ok_or_else(|| {
        let problem = Problem {
            missing: true,
            ..Problem::new(
                format!(
                    "`{name}` is missing in a loss of kind \"{}\"",
                    name_of(kind_of(loss))
                ),
                "",
            )
        };
        let present = [loss.p.as_ref(), loss.r.as_ref(), loss.good.as_ref()];
        let places = loss.kind.as_ref().map(|kind| kind.at).into_iter();
        let mut places = places.chain(present.into_iter().flatten().map(|share| share.at));
        match places.next() {
            Some(at) => problem.or_at(at),
            None => problem,
        }
    })
}

/// The limit on packets that a router forwards.
pub(super) fn router(
    network: &written::Network,
) -> Result<Option<crate::scenario::Forwarder>, Problem> {
    /// `net.core.netdev_max_backlog`, the queue of packets that wait for a Linux processor.
    const BACKLOG: u64 = 1000;
    let backlog = network.router_backlog.as_ref();
    let Some(rate) = &network.router_packet_rate else {
        return match backlog {
            None => Ok(None),
            Some(At { at, .. }) => Err(Problem::new(
                "`router_backlog` belongs to a router with a `router_packet_rate`",
                "give it one, or leave it out",
            )
            .or_at(*at)),
        };
    };
    if let Some(At { at, .. }) = backlog.filter(|backlog| backlog.value == 0) {
        let problem = Problem::new("a backlog of 0 packets holds none", "write at least 1");
        return Err(problem.or_at(*at));
    }
    Ok(Some(crate::scenario::Forwarder {
        packet_rate: packet_rate(rate)?,
        backlog: backlog.map_or(BACKLOG, |backlog| backlog.value),
    }))
}

/// A rate of packets that a clock in nanoseconds can keep.
pub(super) fn packet_rate(written: &At<u64>) -> Result<u64, Problem> {
    match written.value {
        1..=1_000_000_000 => Ok(written.value),
        rate => Err(Problem::new(
            format!("{rate} packets per second cannot be run"),
            "write 1 to 1000000000, or leave it out for no limit",
        )
        .or_at(written.at)),
    }
}
