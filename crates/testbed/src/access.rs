//! Links between hosts and routers. Flows whose base RTTs lack the same have a host's interface in
//! common, others one of their own.

use cclab_layout::{Journey, Layout, LinkId, LinkKind};
use cclab_spec::{DelayAt, Flow, Place, Scenario};
use cclab_units::Time;

use crate::cable::{End, Front, UNSEEN, Way, Wire};
use crate::impairment::{self, Impairment};
use crate::network::{Network, namespace_of};
use crate::own::{Added, Own, host_of};

/// A link between a host and a router, and the flows that cross it, by what is added for them
/// there: the host has an interface for each.
struct Access<'a> {
    link: LinkId,
    interfaces: Vec<(Added, Vec<(&'a Flow, &'a Journey)>)>,
}

impl<'a> Access<'a> {
    /// Every such link of `layout`, without those back.
    fn all(scenario: &'a Scenario, layout: &'a Layout) -> Vec<Access<'a>> {
        let mut crossing = vec![Vec::new(); layout.links.len()];
        for (flow, journey) in scenario.flows.iter().zip(&layout.flows) {
            for link in journey.sides()[0] {
                crossing[link.index()].push((flow, journey));
            }
        }
        let mut all = Vec::new();
        for (link, what) in layout.ids() {
            let goes_back = what.back.is_none_or(|back| back < link);
            let is_line = matches!(what.kind, LinkKind::Line { .. });
            if !is_line || goes_back || layout.is_bottleneck(link) {
                continue;
            }
            let mut interfaces: Vec<(Added, Vec<_>)> = Vec::new();
            for &(flow, journey) in &crossing[link.index()] {
                let added = Added::of(layout, link, flow, journey);
                match interfaces.iter_mut().find(|(known, _)| *known == added) {
                    Some((_, flows)) => flows.push((flow, journey)),
                    None => interfaces.push((added, vec![(flow, journey)])),
                }
            }
            all.push(Access { link, interfaces });
        }
        all
    }
}

/// Whether flows whose base RTTs lack different delays share a link of their host.
pub(crate) fn shared_by_different(scenario: &Scenario, layout: &Layout) -> bool {
    let all = Access::all(scenario, layout);
    all.iter().any(|access| access.interfaces.len() > 1)
}

impl Network<'_> {
    /// The links between hosts and routers.
    pub(crate) fn access(&mut self, layout: &Layout) {
        // Interfaces of routers so far, towards hosts on the left and on the right.
        let mut towards = [0, 0];
        for Access { link, interfaces } in Access::all(self.scenario, layout) {
            let ends = [layout.link(link).from, layout.link(link).to];
            let host = host_of(layout, link);
            let at_right = usize::from(host == ends[1]);
            let router = ends[1 - at_right];
            for (added, flows) in interfaces {
                let number = self.namespaces[namespace_of(host)].interfaces.len();
                let host_end = End::of(namespace_of(host), format!("eth{number}"));
                let name = format!("{}{}", ["left", "right"][at_right], towards[at_right]);
                towards[at_right] += 1;
                let router_end = End::of(namespace_of(router), name);
                let sending = flows.iter().filter(|(_, journey)| journey.sender == host);
                let limit = sending.clone().find_map(|(flow, _)| flow.delay_limit);
                let (wire, delay) = match added.at {
                    DelayAt::Router => (added.extra, Time::ZERO),
                    DelayAt::Sender => (Time::ZERO, added.extra),
                };
                let own = Own {
                    delay,
                    limit,
                    rate: self
                        .scenario
                        .network
                        .access
                        .rate
                        .filter(|_| limit.is_some()),
                };
                let sends = sending.count() > 0;
                let receives = flows.iter().any(|(_, journey)| journey.receiver == host);
                self.interface([&host_end, &router_end], wire, own, [sends, receives]);
                let mut ends = [host_end, router_end];
                if at_right == 1 {
                    ends.reverse();
                }
                self.cables.entry(link).or_default().push((added, ends));
            }
        }
    }

    /// A link between a host and a router, with `extra` delay on the wire and `own` on the host's
    /// interface. `data` tells whether data leave the host there, and whether they arrive there.
    fn interface(
        &mut self,
        [host, router]: [&End; 2],
        extra: Time,
        own: Own,
        [sends, receives]: [bool; 2],
    ) {
        let link = &self.scenario.network.access;
        let wire = Wire {
            ways: [Way {
                delay: link.delay + extra,
                rate: link.rate,
            }; 2],
            jitter: None,
            overtaking: None,
            slots: None,
            held: None,
            changes: false,
            serialises: self.serialises(),
        };
        self.cable(&[host.clone(), router.clone()], &wire);
        let bottleneck = &self.scenario.network.bottleneck;
        let losses = match sends {
            true => Impairment::of(bottleneck, Place::Sender),
            false => Impairment::default(),
        };
        let front = Front {
            delay: own.delay,
            limit: own.limit,
            rate: own.rate,
            loss: losses.initial,
            bursts: impairment::bursts(bottleneck, Place::Sender).filter(|_| sends),
            duplicate: None,
        };
        let idle = losses.is_none() && front == Front::default();
        let netem = (!idle).then(|| front.netem());
        if own.limit.is_some() {
            // The limit counts packets, and the kernel's TCP hands over many segments as one.
            let line = format!("link set {} gso_max_segs 1", host.interface);
            self.namespaces[host.namespace].ip.push(line);
        }
        if own.rate.is_none() {
            self.egress(host, link, netem, UNSEEN);
        } else {
            let tc = &mut self.namespaces[host.namespace].tc;
            let netem = front.netem();
            tc.push(format!(
                "qdisc add dev {} root handle {:x}: {netem}",
                host.interface, UNSEEN.root
            ));
        }
        self.lose(host, UNSEEN.root, own, &losses);
        self.egress(router, link, None, UNSEEN);
        if receives {
            self.refuse(host);
        }
    }

    /// Losses and outages of packets that arrive at `end`.
    fn refuse(&mut self, end: &End) {
        let link = &self.scenario.network.bottleneck;
        let rule = |verb: &str, matches: &str| -> Vec<String> {
            let rule = format!("{verb} INPUT -i {}{matches} -j DROP", end.interface);
            rule.split(' ').map(str::to_owned).collect()
        };
        let loss = impairment::steady(link, Place::Receiver, Time::ZERO);
        if loss > 0.0 {
            let share = crate::words::share(loss);
            let matches = format!(" -m statistic --mode random --probability {share}");
            self.namespaces[end.namespace]
                .iptables
                .push(rule("-A", &matches));
        }
        for (on, off) in impairment::outages(link, Place::Receiver) {
            if on == Time::ZERO {
                self.namespaces[end.namespace].iptables.push(rule("-I", ""));
            } else {
                self.change(on, end.namespace, vec![], vec![rule("-I", "")]);
            }
            self.change(off, end.namespace, vec![], vec![rule("-D", "")]);
        }
    }
}
