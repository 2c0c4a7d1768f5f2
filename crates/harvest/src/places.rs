//! Where packets were lost, and why.

use cclab_layout::NodeId;
use cclab_spec::{LossModel, Outage, Place};
use cclab_trace::schema::{DropReason, LinkSummary};
use cclab_units::Time;

use crate::addresses::Owner;
use crate::event::Lost;
use crate::records::Run;

/// Links on which packets were lost: the bottlenecks, and those of hosts as they are met.
#[derive(Debug)]
pub struct Places {
    /// Namespace (as an index into the orders) and interface by the kernel's numbers.
    interfaces: Vec<(u32, u32, Interface)>,
    bottlenecks: usize,
    /// Links of hosts on which packets were lost.
    pub hosts: Vec<HostLink>,
}

#[derive(Clone, Debug)]
struct Interface {
    namespace: usize,
    name: String,
    /// Index of the link whose queue it holds.
    link: Option<u32>,
}

/// A link of a host, known by its losses alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostLink {
    namespace: usize,
    interface: String,
    /// Whether packets come in over it.
    inward: bool,
    /// What is known of it.
    pub summary: LinkSummary,
}

impl Places {
    /// No losses yet.
    pub fn new(run: &Run<'_>) -> Places {
        let mut interfaces = Vec::new();
        for (namespace, id) in run.outcome.namespaces.iter().enumerate() {
            for (index, name) in &id.interfaces {
                let mut queues = run.orders.queues.iter();
                let queue = queues.find(|q| q.namespace == namespace && q.interface == *name);
                let interface = Interface {
                    namespace,
                    name: name.clone(),
                    link: queue.map(|queue| queue.link),
                };
                interfaces.push((id.inode, *index, interface));
            }
        }
        Places {
            interfaces,
            bottlenecks: run.layout.bottlenecks.as_flattened().len(),
            hosts: Vec::new(),
        }
    }

    /// Counts a loss; its link and its reason.
    pub fn lose(
        &mut self,
        run: &Run<'_>,
        now: Time,
        packet: &Lost,
        owner: Owner,
    ) -> (u32, DropReason) {
        let known = |(inode, index, _): &&(u32, u32, Interface)| {
            (*inode, *index) == (packet.netns, packet.ifindex)
        };
        let interface = self.interfaces.iter().find(known);
        let interface = interface.map(|(_, _, interface)| interface.clone());
        let link = interface.as_ref().and_then(|interface| interface.link);
        let place = match link {
            Some(_) => Place::Router,
            None if packet.in_netfilter => Place::Receiver,
            None => Place::Sender,
        };
        let reason = match (packet.queued, place) {
            (true, _) => DropReason::Queue,
            (false, place) if in_outage(run, place, now) => DropReason::Outage,
            (false, place) if in_bursts(run, place) => DropReason::Burst,
            (false, _) => DropReason::Random,
        };
        let link = link.unwrap_or_else(|| {
            let index = self.host(run, interface, packet.in_netfilter, owner);
            let summary = &mut self.hosts[index].summary;
            match reason {
                DropReason::Queue => summary.queue_drops += 1,
                DropReason::Outage => summary.outage_drops += 1,
                _ => summary.random_drops += 1,
            }
            (self.bottlenecks + index) as u32
        });
        (link, reason)
    }

    /// Index of a host's link, made when it is first met.
    fn host(
        &mut self,
        run: &Run<'_>,
        interface: Option<Interface>,
        inward: bool,
        owner: Owner,
    ) -> usize {
        let namespace = interface.as_ref().map_or(usize::MAX, |i| i.namespace);
        let name = interface.map_or_else(String::new, |interface| interface.name);
        let key = (namespace, name.as_str(), inward);
        let known = |host: &HostLink| (host.namespace, host.interface.as_str(), host.inward) == key;
        if let Some(index) = self.hosts.iter().position(known) {
            return index;
        }
        let mut host = HostLink {
            namespace,
            interface: name,
            inward,
            summary: LinkSummary::default(),
        };
        host.summary.name = host.link_name(run, owner);
        self.hosts.push(host);
        self.hosts.len() - 1
    }
}

impl HostLink {
    /// The layout's name for the access link that carries the flow's data out of or into this host;
    /// elsewhere namespace and interface.
    fn link_name(&self, run: &Run<'_>, owner: Owner) -> String {
        let flow = &run.orders.flows[owner.flow];
        let host = match self.inward {
            false => flow.sender,
            true => flow.receiver,
        };
        let Some(namespace) = run.orders.namespaces.get(self.namespace) else {
            return "elsewhere".to_owned();
        };
        let is_here = |node: NodeId| run.layout.node(node).name == namespace.name;
        let access = run.layout.flows[owner.flow].access.into_iter().flatten();
        let mut carry_data = access.map(|[carries_data, _]| run.layout.link(carries_data));
        let link = carry_data.find(|link| is_here(link.from) || is_here(link.to));
        match link.filter(|_| !owner.backward && host == self.namespace) {
            Some(link) => link.name.clone(),
            None => format!("{}.{}", namespace.name, self.interface),
        }
    }

    /// What is known of it: the segments that flows' hosts counted, and the losses.
    pub fn summary(&self, run: &Run<'_>) -> LinkSummary {
        let flows = run.orders.flows.iter().zip(&run.outcome.flows);
        let segments: u64 = flows
            .filter(|(flow, _)| {
                self.namespace
                    == if self.inward {
                        flow.receiver
                    } else {
                        flow.sender
                    }
            })
            .flat_map(|(_, outcome)| match self.inward {
                true => outcome
                    .receiver
                    .iter()
                    .map(|info| info.segs_in)
                    .collect::<Vec<u32>>(),
                false => outcome.sender.iter().map(|info| info.segs_out).collect(),
            })
            .map(u64::from)
            .sum();
        let mut summary = self.summary.clone();
        let lost = summary.drops();
        // Segments are counted before they leave a host, and after they came into it.
        summary.delivered = if self.inward {
            segments
        } else {
            segments.saturating_sub(lost)
        };
        summary.offered = summary.delivered + lost;
        summary
    }
}

fn in_outage(run: &Run<'_>, place: Place, now: Time) -> bool {
    let covers = |outage: &Outage| {
        outage.at == place && outage.start <= now && now < outage.start + outage.duration
    };
    run.scenario.network.bottleneck.outage.iter().any(covers)
}

/// Whether what is lost at `place` is lost in bursts; nothing else is lost there then.
fn in_bursts(run: &Run<'_>, place: Place) -> bool {
    let mut losses = run.scenario.network.bottleneck.loss.iter();
    losses.any(|loss| loss.at == place && matches!(loss.model, LossModel::GilbertElliott(_)))
}
