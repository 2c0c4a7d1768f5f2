//! What links do to packets, in small networks, to the packet and to the nanosecond.

mod common;

use std::num::NonZero;

use cclab_packet::Packet;
use cclab_spec::{
    Change, Forwarder, GilbertElliott, Jitter, Limit, Link, ListedPackets, Loss, LossModel,
    Opportunities, Place, Queue, Reorder, Scenario, Slots,
};
use cclab_trace::schema::{DropEvent, DropReason};
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use common::{dumbbell, flow, link, rate, run, run_with};

/// Keeps packets at capture points, and drops.
#[derive(Default)]
struct Watch {
    packets: Vec<(Time, u32, Packet)>,
    drops: Vec<(Time, DropEvent)>,
}

impl Probe for Watch {
    fn wants_drops(&self, _: Time) -> bool {
        true
    }
    fn wants_packets(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        match event {
            Event::Packet(point, packet) => self.packets.push((now, point, *packet)),
            Event::Drop(drop) => self.drops.push((now, drop)),
            _ => {}
        }
    }
}

const MILLI: Time = Time::from_millis(1);

/// One flow of `transfer` bytes over `bottleneck` on the stack of the RFCs, whose packets have
/// 1500 bytes and no framing; captured at the receiver.
fn one_flow(bottleneck: Link, transfer: u64) -> Scenario {
    let mut flow = flow("f", "reno");
    flow.transfer = Some(transfer);
    let mut scenario = dumbbell("rfc", bottleneck, vec![flow], Time::from_secs(60));
    scenario.trace.capture = vec!["f.receiver".into()];
    scenario
}

fn watch(scenario: &Scenario) -> Watch {
    let mut watch = Watch::default();
    run_with(scenario, 1, &mut watch);
    watch
}

/// When full data packets reached the receiver.
fn arrivals(watch: &Watch) -> Vec<Time> {
    let full = watch.packets.iter().filter(|(_, _, p)| p.wire_len == 1500);
    full.map(|&(at, ..)| at).collect()
}

#[test]
fn listed_packets_are_lost_and_no_others() {
    let mut bottleneck = link(Some(10_000_000), MILLI * 10, Limit::Packets(100));
    bottleneck.loss = vec![Loss {
        at: Place::Router,
        model: LossModel::Packets(ListedPackets {
            packets: vec![3, 7],
            flow: Some("f".into()),
        }),
    }];
    let scenario = one_flow(bottleneck, 1448 * 40);
    let watch = watch(&scenario);
    let offsets: Vec<u64> = watch.drops.iter().map(|(_, drop)| drop.offset).collect();
    assert_eq!(offsets, [2 * 1448, 6 * 1448]);
    assert!(
        watch
            .drops
            .iter()
            .all(|(_, d)| d.reason == DropReason::Listed)
    );
    let summary = run(&scenario, 1);
    assert_eq!(summary.links[0].listed_drops, 2);
    assert_eq!(summary.flows[0].retransmits, 2);
}

#[test]
fn bursts_lose_what_the_chain_says() {
    let mut bottleneck = link(Some(100_000_000), MILLI, Limit::Packets(100));
    let model = GilbertElliott {
        p: 0.002,
        r: 0.5,
        good: 0.0,
        bad: 1.0,
    };
    bottleneck.loss = vec![Loss {
        at: Place::Router,
        model: LossModel::GilbertElliott(model),
    }];
    let mut scenario = one_flow(bottleneck, 0);
    scenario.flows[0].transfer = None;
    scenario.flows = (0..8)
        .map(|i| scenario.flows[0].named(format!("f{i}")))
        .collect();
    scenario.trace.capture.clear();
    let summary = run(&scenario, 1);
    let link = &summary.links[0];
    let share = link.random_drops as f64 / link.offered as f64;
    let expected = 0.002 / 0.502;
    // Some 600 bursts or more: the standard error of the share is 7% of it.
    assert!(link.offered > 300_000, "{}", link.offered);
    assert!((share / expected - 1.0).abs() < 0.2, "{share} {expected}");
}

/// At 12 Mbit/s a packet of 1500 bytes takes 1 ms. The one in transmission at the change is
/// not touched; the next takes 2 ms.
#[test]
fn a_scheduled_rate_holds_for_the_next_transmission() {
    let mut bottleneck = link(Some(12_000_000), Time::ZERO, Limit::Packets(100));
    let before = arrivals(&watch(&one_flow(bottleneck.clone(), 1448 * 10)));
    // The initial window of ten leaves back to back.
    let gaps: Vec<Time> = before.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [MILLI; 9]);
    // Half a packet after the third has arrived, the fourth is in transmission.
    let at = before[2] + Time::from_micros(500);
    bottleneck.schedule = vec![Change {
        at,
        rate: Some(rate(6_000_000)),
        ..Change::default()
    }];
    let after = arrivals(&watch(&one_flow(bottleneck.clone(), 1448 * 10)));
    let gaps: Vec<Time> = after.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps[..3], [MILLI; 3]);
    assert_eq!(gaps[3..], [MILLI * 2; 6]);
    assert_eq!(after[..4], before[..4]);
}

/// 30 ms less delay from one packet to the next: all those on the wire arrive first, and the
/// next ones at once behind them.
#[test]
fn a_delay_that_shrinks_lets_none_overtake() {
    let mut bottleneck = link(Some(12_000_000), MILLI * 40, Limit::Packets(100));
    let before = arrivals(&watch(&one_flow(bottleneck.clone(), 1448 * 10)));
    // Sent is 40 ms before; the change comes while the fourth is in transmission.
    let sent = before[2] - MILLI * 40;
    bottleneck.schedule = vec![Change {
        at: sent + Time::from_micros(500),
        delay: Some(MILLI * 10),
        ..Change::default()
    }];
    let after = arrivals(&watch(&one_flow(bottleneck, 1448 * 10)));
    assert_eq!(after[..4], before[..4]);
    assert_eq!(after[4..], [before[3]; 6]);
}

/// The acknowledgement of the handshake draws a slot 5 ms later, in which two of the ten packets
/// are in time for it; the others wait behind the wire, three for each slot.
#[test]
fn slots_let_packets_pass_in_groups_and_count_those_that_wait_as_on_the_wire() {
    let mut bottleneck = link(Some(12_000_000), MILLI * 10, Limit::Packets(100));
    bottleneck.slots = Some(Slots {
        every: [MILLI * 5; 2],
        packets: NonZero::new(3),
        bytes: None,
    });
    let mut scenario = one_flow(bottleneck, 1448 * 10);
    let arrivals = arrivals(&watch(&scenario));
    let groups: Vec<&[Time]> = arrivals.chunk_by(|a, b| a == b).collect();
    let sizes: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    assert_eq!(sizes, [2, 3, 3, 2]);
    assert!(
        groups
            .windows(2)
            .all(|two| two[1][0] == two[0][0] + MILLI * 5)
    );
    // Just before the second group passes, eight have left the queue and not arrived.
    scenario.duration = Some(groups[1][0] - Time::from_nanos(1));
    let waiting = run(&scenario, 1).links[0].in_flight;
    assert_eq!(waiting, 8);
}

/// As far apart as no extra delay is long, packets show the size in force as their transmission
/// begins.
#[test]
fn jitter_follows_its_schedule() {
    let mut bottleneck = link(Some(12_000_000), MILLI * 10, Limit::Packets(100));
    let plain = arrivals(&watch(&one_flow(bottleneck.clone(), 1448 * 10)));
    bottleneck.jitter = Some(Jitter::Wifi {
        average: Time::ZERO,
        reorder: false,
    });
    let change = |at, jitter| Change {
        at,
        jitter: Some(jitter),
        ..Change::default()
    };
    // Of the fourth packet: it was sent 10 ms before it arrived, and takes 1 ms.
    let begins = plain[3] - MILLI * 11;
    bottleneck.schedule = vec![
        change(begins, MILLI * 91),
        change(begins + MILLI, Time::ZERO),
    ];
    let after = arrivals(&watch(&one_flow(bottleneck.clone(), 1448 * 10)));
    assert_eq!(after[..3], plain[..3]);
    // At 91 ms every packet is sent again, 12 times on average.
    assert!(after[3] > plain[9]);
    assert_eq!(after[4..], [after[3]; 6]);
    bottleneck.schedule[0].at = begins + Time::from_nanos(1);
    bottleneck.schedule[1].at = begins + Time::from_nanos(2);
    let after = arrivals(&watch(&one_flow(bottleneck, 1448 * 10)));
    assert_eq!(after, plain);
}

#[test]
fn packets_held_back_are_overtaken() {
    let mut bottleneck = link(Some(12_000_000), MILLI * 10, Limit::Packets(1000));
    bottleneck.reorder = Some(Reorder {
        probability: 0.05,
        delay: MILLI * 7,
    });
    let watch = watch(&one_flow(bottleneck, 1_000_000));
    let data = watch.packets.iter().filter(|(_, _, p)| p.payload > 0);
    let firsts = data.filter(|(_, _, p)| !p.is_retransmission());
    let seqs: Vec<u32> = firsts.map(|(_, _, p)| p.seq).collect();
    assert!(!seqs.is_sorted());
}

#[test]
fn a_copy_of_each_packet_arrives_and_each_is_born_once() {
    let mut bottleneck = link(Some(12_000_000), MILLI * 10, Limit::Packets(1000));
    bottleneck.duplicate = Some(1.0);
    let summary = run(&one_flow(bottleneck, 100_000), 1);
    let link = &summary.links[0];
    assert_eq!(link.duplicates, link.offered);
    assert_eq!(link.delivered + link.in_flight, 2 * link.offered);
    assert_eq!(summary.flows[0].bytes_received, 100_000);
}

#[test]
fn a_corrupted_packet_travels_all_the_way_and_is_discarded_there() {
    let mut bottleneck = link(Some(12_000_000), MILLI * 10, Limit::Packets(1000));
    bottleneck.corrupt = Some(0.02);
    let scenario = one_flow(bottleneck, 1_000_000);
    let mut watch = Watch::default();
    let summary = run_with(&scenario, 1, &mut watch);
    let [bottleneck, _, _, _, right, _] = &summary.links[..] else {
        panic!("{} links", summary.links.len());
    };
    assert_eq!(bottleneck.name, "bottleneck");
    assert_eq!(right.name, "f.right.access");
    assert_eq!(bottleneck.drops(), 0);
    assert!(right.corrupt_drops > 3, "{}", right.corrupt_drops);
    assert_eq!(right.drops(), right.corrupt_drops);
    assert_eq!(watch.drops.len() as u64, right.corrupt_drops);
    assert!(watch.packets.iter().all(|(_, _, p)| !p.is_corrupt()));
    assert_eq!(summary.flows[0].bytes_received, 1_000_000);
}

/// By hand: opportunities at 3, 5, 5 and 10 ms, then again from 10 ms on. The SYN takes the
/// first. The handshake's ACK leaves with 1448 bytes of the first packet, 56 bytes of which go
/// with the next opportunity, and so on: each packet ends in the one behind.
#[test]
fn a_trace_delivers_at_its_instants() {
    let mut bottleneck = link(Some(3_609_600), Time::ZERO, Limit::Packets(100));
    let trace = Opportunities::parse("3\n5\n5\n10\n").expect("a good trace");
    bottleneck.trace = Some(trace);
    bottleneck.reverse = Some(Box::new(link(None, Time::ZERO, Limit::Packets(100))));
    let arrivals = arrivals(&watch(&one_flow(bottleneck, 1448 * 10)));
    let expected = [5, 10, 13, 15, 15, 20, 23, 25, 25, 30].map(|ms| MILLI * ms);
    assert_eq!(arrivals, expected);
}

#[test]
fn the_way_back_has_its_own_rate_delay_queue_and_losses() {
    let mut bottleneck = link(Some(10_000_000), MILLI * 10, Limit::Packets(100));
    let back = Link {
        loss: vec![Loss::random(Place::Router, 0.1)],
        ..Link::new(
            Some(rate(100_000)),
            MILLI * 30,
            Queue {
                limit: Limit::Packets(5),
                ..bottleneck.queue.clone()
            },
        )
    };
    bottleneck.reverse = Some(Box::new(back));
    let summary = run(&one_flow(bottleneck, 2_000_000), 1);
    let [forward, reverse, ..] = &summary.links[..] else {
        panic!("{} links", summary.links.len());
    };
    assert_eq!(
        (forward.rate, reverse.rate),
        (Some(rate(10_000_000)), Some(rate(100_000)))
    );
    assert_eq!(forward.random_drops, 0);
    assert!(reverse.random_drops > 5, "{}", reverse.random_drops);
    assert!(reverse.queue_drops > 0);
    let rtt = summary.flows[0].rtt_min.expect("samples");
    assert!(rtt > MILLI * 40, "{rtt}");
    assert_eq!(summary.flows[0].bytes_received, 2_000_000);
}

/// 1% on each of the two access links that carry data, and nothing on the way back.
#[test]
fn impairments_of_access_links_hit_both_of_them_in_the_direction_of_data() {
    let bottleneck = link(Some(10_000_000), MILLI * 10, Limit::Packets(100));
    let mut scenario = one_flow(bottleneck, 10_000_000);
    scenario.network.access.loss = vec![Loss::random(Place::Router, 0.01)];
    let summary = run(&scenario, 1);
    let lost = |name: &str| {
        let link = summary.links.iter().find(|link| link.name == name);
        link.expect("a link").random_drops
    };
    assert!(lost("f.left.access") > 30 && lost("f.right.access") > 30);
    assert_eq!(
        lost("f.left.access.reverse") + lost("f.right.access.reverse"),
        0
    );
}

/// An impairment draws from a stream of its own: others fall as before.
#[test]
fn adding_an_impairment_changes_no_other_dice() {
    let mut bottleneck = link(Some(10_000_000), MILLI * 10, Limit::Packets(1000));
    bottleneck.loss = vec![Loss::random(Place::Router, 0.02)];
    let first_loss = |bottleneck: &Link| {
        let watch = watch(&one_flow(bottleneck.clone(), 1_000_000));
        let mut lost = watch
            .drops
            .iter()
            .filter(|(_, d)| d.reason == DropReason::Random);
        lost.next().expect("a loss").1.offset
    };
    let alone = first_loss(&bottleneck);
    bottleneck.loss.push(Loss::random(Place::Receiver, 1e-9));
    bottleneck.corrupt = Some(1e-9);
    bottleneck.duplicate = Some(1e-9);
    assert_eq!(first_loss(&bottleneck), alone);
}

/// How far apart the packets of the initial window arrive, ten segments of 100 bytes over a
/// link of 1 Gbit/s; no acknowledgement comes between them, which a host would count too.
fn gaps_of_small_packets(limit: impl Fn(&mut Scenario)) -> Vec<Time> {
    let bottleneck = link(Some(1_000_000_000), Time::ZERO, Limit::Packets(1000));
    let mut scenario = one_flow(bottleneck, 1000);
    scenario.flows[0].mss = Some(112);
    scenario.flows[0].delayed_ack = Some(100);
    limit(&mut scenario);
    let watch = watch(&scenario);
    let data = watch.packets.iter().filter(|(_, _, p)| p.payload > 0);
    let arrivals: Vec<Time> = data.map(|&(at, ..)| at).collect();
    arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_packet_rate_spaces_packets_whatever_their_size() {
    let router = |scenario: &mut Scenario| {
        scenario.network.router = Some(Forwarder {
            packet_rate: 12_500,
            backlog: 1000,
        });
    };
    let host = |scenario: &mut Scenario| scenario.flows[0].packet_rate = Some(12_500);
    // A packet of 152 bytes takes 1.216 us at 1 Gbit/s; 12,500 packets a second are 80 us each.
    assert_eq!(gaps_of_small_packets(|_| ()), [Time::from_nanos(1_216); 9]);
    assert_eq!(gaps_of_small_packets(router), [Time::from_micros(80); 9]);
    assert_eq!(gaps_of_small_packets(host), [Time::from_micros(80); 9]);
}

/// A router that forwards 12,500 packets per second forwards that many, data and
/// acknowledgements together: throughput is proportional to the segment size.
#[test]
fn a_routers_packets_count_in_both_directions() {
    let forwarded = |mss: u32| {
        let bottleneck = link(Some(1_000_000_000), MILLI, Limit::Packets(1000));
        let mut scenario = one_flow(bottleneck, 0);
        scenario.flows[0].transfer = None;
        scenario.flows[0].mss = Some(mss + 12);
        scenario.flows[0].delayed_ack = Some(1);
        // Enough to keep the router busy, too little for its backlog.
        scenario.flows[0].rwnd = Some(200 * u64::from(mss));
        scenario.duration = Some(Time::from_secs(20));
        scenario.network.router = Some(Forwarder {
            packet_rate: 12_500,
            backlog: 1000,
        });
        let summary = run(&scenario, 1);
        let router = summary.links.iter().find(|link| link.name == "r1");
        let router = router.expect("the first router").delivered;
        (router, summary.flows[0].bytes_received / u64::from(mss))
    };
    for mss in [100, 400] {
        let (packets, segments) = forwarded(mss);
        assert!(packets <= 250_000, "{packets}");
        assert!(packets > 249_000, "{packets}");
        // One acknowledgement for each segment.
        assert!(
            segments.abs_diff(packets / 2) < 300,
            "{segments} of {packets}"
        );
    }
}

/// 69,000 writes a second, as the application of a laboratory report of 2012 made them: what
/// gets through is linear in their size, until the link is full.
#[test]
fn throughput_is_linear_in_the_write_size_up_to_the_links_rate() {
    let goodput = |size: u64, nodelay: bool| {
        let bottleneck = link(Some(50_000_000), MILLI, Limit::Packets(100));
        let mut scenario = one_flow(bottleneck, 0);
        let flow = &mut scenario.flows[0];
        flow.transfer = None;
        flow.write_size = Some(size);
        flow.writes_per_second = Some(69_000.0);
        flow.nodelay = nodelay;
        // Less than the queue holds: nothing is lost.
        flow.rwnd = Some(100_000);
        scenario.duration = Some(Time::from_secs(5));
        let summary = run(&scenario, 1);
        let flow = &summary.flows[0];
        (
            flow.bytes_received as f64 * 8.0 / 5.0 / 1e6,
            flow.bytes_received / flow.segments_sent,
        )
    };
    for size in [10, 25, 50] {
        let offered = size as f64 * 8.0 * 0.069;
        let (nagle, full) = goodput(size, false);
        assert!(
            (nagle / offered - 1.0).abs() < 0.02,
            "{size}: {nagle} of {offered}"
        );
        assert!(full > size, "{full}");
    }
    // Without Nagle's algorithm every write is a segment.
    let (without, segment) = goodput(10, true);
    assert!(
        (without / (10.0 * 8.0 * 0.069) - 1.0).abs() < 0.02,
        "{without}"
    );
    assert_eq!(segment, 10);
    let (full, _) = goodput(200, false);
    // 1448 of 1500 bytes are payload.
    assert!((full / 48.27 - 1.0).abs() < 0.02, "{full}");
}
