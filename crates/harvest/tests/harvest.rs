//! From an agent's folder to a trace: one real run of a kernel in virtual time (150 kB by cubic
//! over 20 Mbit/s, 50 ms, a queue of 12 kB), and small records made by hand.

use std::fs;
use std::path::Path;

use cclab_harvest::{HarvestError, Kept, harvest};
use cclab_spec::{
    Change, Direction, EventKind, Flow, Limit, Link, Network, Outage, Place, Queue, Scenario,
    Topology, TraceOptions, Video,
};
use cclab_testbed::orders::{self, Taps, Work};
use cclab_testbed::records::{
    Datagram, Failure, Fidelity, FlowOutcome, Kernel, NamespaceId, Outcome, QueueCounters, SCHEMA,
    Sample, Seen, TcpInfo, datagram_file,
};
use cclab_testbed::{Orders, records};
use cclab_trace::schema::{Carrier, Datagrams, DropReason, QueueAction};
use cclab_trace::{capture_file_name, read, read_acks, read_drops, read_queue_events};
use cclab_units::{Rate, Time};

const SENDER: usize = 0;
const ROUTER: usize = 1;
const RECEIVER: usize = 2;
const HANDLE: u32 = 0x100_0000;
/// The clock at time zero of the real run: the connection begins 0.6 ms into it.
const MONOTONIC_ZERO: u64 = 75_000;
const REALTIME_ZERO: u64 = 1_000_000_000_000_000;
const END: u64 = 600_000_000;

fn link(rate: Option<u64>) -> Link {
    let queue = Queue {
        kind: "droptail".into(),
        limit: Limit::Bytes(12_000),
        params: Default::default(),
    };
    Link::new(rate.and_then(Rate::from_bps), Time::from_millis(25), queue)
}

/// One flow called `bulk`, everything recorded.
fn scenario() -> Scenario {
    Scenario {
        duration: None,
        warmup: Time::ZERO,
        stack: "linux-6.12".into(),
        kernel: None,
        network: Network {
            by: None,
            topology: Topology::Dumbbell,
            bottleneck: link(Some(20_000_000)),
            access: link(None),
            bottlenecks: 1,
            router: None,
            graph: None,
        },
        flows: vec![flow()],
        traffic: Vec::new(),
        probes: Vec::new(),
        variant_files: Vec::new(),
        trace: TraceOptions {
            interval: Time::from_millis(10),
            events: vec![EventKind::Ack, EventKind::Queue, EventKind::Drop],
            capture: vec!["bottleneck".into(), "bulk.sender".into()],
            snaplen: 0,
            from: Time::ZERO,
            until: None,
        },
    }
}

fn flow() -> Flow {
    serde_json::from_value(serde_json::json!({
        "name": "bulk", "cc": "cubic", "extra_delay": 0, "start": {"at": 0, "spread": 0},
        "transfer": 150_000, "duration": null, "rwnd": null, "mss": null, "write_size": null,
        "writes_per_second": null, "ecn": false, "delayed_ack": null, "direction": "forward",
    }))
    .expect("a flow")
}

fn orders() -> Orders {
    let namespace = |name: &str| orders::Namespace {
        name: name.into(),
        ..orders::Namespace::default()
    };
    let capture = |point: &str, namespace, interface: &str, flow| orders::Capture {
        point: point.into(),
        namespace,
        interface: interface.into(),
        flow,
    };
    Orders {
        wire: None,
        probes: Vec::new(),
        schema: orders::SCHEMA.into(),
        end: None,
        interval: Time::from_millis(10),
        marks: Vec::new(),
        sysctl: Vec::new(),
        namespaces: ["bulk.left", "r1", "bulk.right"].map(namespace).to_vec(),
        links: Vec::new(),
        queues: vec![orders::Queue {
            link: 0,
            namespace: ROUTER,
            interface: "b0".into(),
            handle: HANDLE,
            discipline: 0x200_0000,
        }],
        flows: vec![orders::Flow {
            name: "bulk".into(),
            cc: "cubic".into(),
            sender: SENDER,
            receiver: RECEIVER,
            source: [10, 0, 0, 1].into(),
            source_port: 53_044,
            destination: [10, 1, 0, 1].into(),
            destination_port: 5001,
            start: Time::ZERO,
            rwnd: None,
            sndbuf: None,
            taps: None,
            work: Work::Bulk {
                schedule: Vec::new(),
                transfer: Some(150_000),
                duration: None,
                write_size: None,
                writes_per_second: None,
                nodelay: false,
            },
        }],
        changes: Vec::new(),
        captures: vec![
            capture("bottleneck", ROUTER, "b0", None),
            capture("bulk.sender", SENDER, "eth0", Some(0)),
        ],
        snaplen: 0,
        capture_from: Time::ZERO,
        capture_until: None,
        events: orders::Events::default(),
    }
}

/// The sender's socket after all data were sent, three segments again.
fn sender_info() -> TcpInfo {
    TcpInfo {
        snd_mss: 1448,
        snd_cwnd: 13,
        snd_ssthresh: 11,
        rtt: 50_336,
        min_rtt: 50_000,
        total_retrans: 3,
        bytes_acked: 150_002,
        bytes_sent: 150_000 + 3 * 1448,
        bytes_retrans: 3 * 1448,
        data_segs_out: 107,
        segs_out: 109,
        busy_time: 435_000,
        rwnd_limited: 10_000,
        sndbuf_limited: 5_000,
        pacing_rate: 7_000_000,
        delivery_rate: 376_000,
        unacked: 12,
        sacked: 3,
        lost: 2,
        retrans: 1,
        snd_wnd: 336_320,
        ..TcpInfo::default()
    }
}

/// The outcome of the real run, as an agent would have told it.
fn outcome() -> Outcome {
    let namespace = |inode, interfaces: &[(u32, &str)]| NamespaceId {
        inode,
        interfaces: interfaces.iter().map(|(i, n)| (*i, (*n).into())).collect(),
    };
    Outcome {
        schema: SCHEMA.into(),
        kernel: Kernel {
            release: "6.12.1".into(),
            version: "#1".into(),
            config_sha256: None,
        },
        monotonic_zero: MONOTONIC_ZERO,
        realtime_zero: REALTIME_ZERO,
        end: END,
        flows: vec![FlowOutcome {
            cc_in_force: "cubic".into(),
            started: Some(600_000),
            first_byte: Some(126_000_000),
            received_all: Some(535_000_000),
            ended: Some(560_000_000),
            sender: vec![sender_info()],
            receiver: vec![TcpInfo {
                bytes_received: 150_001,
                segs_in: 109,
                ..TcpInfo::default()
            }],
            ..FlowOutcome::default()
        }],
        namespaces: vec![
            namespace(4_026_532_071, &[(1, "lo"), (2, "eth0")]),
            namespace(4_026_532_117, &[(1, "lo"), (2, "a0"), (3, "b0")]),
            namespace(4_026_532_255, &[(1, "lo"), (2, "eth0")]),
        ],
        packets_lost: vec![0, 0],
        ..Outcome::default()
    }
}

fn samples() -> Vec<Sample> {
    let counters = |tx_packets, tx_bytes, drops| QueueCounters {
        tx_packets,
        tx_bytes,
        drops,
        ..QueueCounters::default()
    };
    vec![
        Sample::Flow {
            at: END,
            flow: 0,
            // While data were there.
            sender: Some(Box::new(TcpInfo {
                notsent_bytes: 10_000,
                ..sender_info()
            })),
            received: 150_001,
        },
        Sample::Queue {
            at: END,
            link: 0,
            root: counters(109, 157_226, 3),
            discipline: counters(109, 157_226, 3),
        },
    ]
}

/// An agent's folder and the trace made of it.
struct Folder {
    raw: tempfile::TempDir,
    out: tempfile::TempDir,
    scenario: Scenario,
    orders: Orders,
    outcome: Outcome,
    samples: Vec<Sample>,
}

impl Folder {
    /// The real run.
    fn new() -> Folder {
        let folder = Folder {
            raw: tempfile::tempdir().expect("a folder"),
            out: tempfile::tempdir().expect("a folder"),
            scenario: scenario(),
            orders: orders(),
            outcome: outcome(),
            samples: samples(),
        };
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        for name in [records::EVENTS, records::EVENT_FORMATS] {
            fs::copy(data.join(name), folder.raw.path().join(name)).expect("test data");
        }
        for index in 0..2 {
            folder.write(&records::capture_file(index), &frames());
        }
        folder
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.raw.path().join(name), bytes).expect("room on the disk");
    }

    fn without_events(self) -> Folder {
        for name in [records::EVENTS, records::EVENT_FORMATS] {
            fs::remove_file(self.raw.path().join(name)).expect("test data");
        }
        self
    }

    /// Leaves out the events that only the patched kernel has.
    fn on_stock_kernel(self) -> Folder {
        let path = self.raw.path().join(records::EVENT_FORMATS);
        let text = fs::read_to_string(&path).expect("formats");
        let mut formats: records::EventFormats = serde_json::from_str(&text).expect("formats");
        let ours = ["tcp_ack_taken", "name: packet_"];
        formats
            .events
            .retain(|text| ours.iter().all(|name| !text.contains(name)));
        self.write(
            records::EVENT_FORMATS,
            &serde_json::to_vec(&formats).expect("formats"),
        );
        self
    }

    fn harvest(&self) -> Result<Kept, HarvestError> {
        let outcome = serde_json::to_vec(&self.outcome).expect("an outcome");
        self.write(records::OUTCOME, &outcome);
        let lines: Vec<String> = self
            .samples
            .iter()
            .map(|sample| serde_json::to_string(sample).expect("a sample") + "\n")
            .collect();
        self.write(records::SAMPLES, lines.concat().as_bytes());
        harvest(
            &self.scenario,
            &self.orders,
            Some("6.12"),
            self.raw.path(),
            self.out.path(),
        )
    }

    fn trace(&self) -> cclab_trace::Trace {
        self.harvest().expect("a whole record");
        read(self.out.path()).expect("a whole trace")
    }

    fn message(&self) -> String {
        self.harvest().expect_err("an error").to_string()
    }
}

/// One captured packet: time, length, IPv4 addresses.
fn frame(at: u64, len: u32, source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
    let mut packet = [0; 40];
    packet[0] = 0x45;
    packet[12..16].copy_from_slice(&source);
    packet[16..20].copy_from_slice(&destination);
    [
        &at.to_le_bytes()[..],
        &len.to_le_bytes(),
        &40_u32.to_le_bytes(),
        &packet,
    ]
    .concat()
}

/// Before time zero, both ways of the flow, and of another flow.
fn frames() -> Vec<u8> {
    let (here, there) = ([10, 0, 0, 1], [10, 1, 0, 1]);
    [
        frame(REALTIME_ZERO - 1, 40, here, there),
        frame(REALTIME_ZERO + 5, 1500, here, there),
        frame(REALTIME_ZERO + 6, 40, there, here),
        frame(REALTIME_ZERO + 7, 40, here, [10, 1, 0, 2]),
    ]
    .concat()
}

#[test]
fn a_real_run_gives_the_rows_that_the_kernel_printed() {
    let folder = Folder::new();
    let trace = folder.trace();
    let acks = read_acks(folder.out.path()).expect("acks");
    let (at, first) = acks[0];
    // 0.100676 s snd_una=ISS+1: the SYN, in 100 ms; nothing of the data.
    assert_eq!(at.as_micros(), 100_600);
    assert_eq!((first.snd_una, first.snd_nxt, first.newly_acked), (0, 0, 0));
    assert_eq!((first.cwnd, first.ssthresh), (14_480, None));
    assert_eq!(first.rtt, Some(Time::from_millis(100)));
    assert_eq!(first.rto, Some(Time::from_millis(300)));
    assert_eq!((first.delivery_rate, first.in_flight), (None, Some(0)));
    // 0.150702 s: the first segment, 11 segments of window, one delivered in 50,027 us.
    let (_, second) = acks[1];
    assert_eq!((second.snd_una, second.newly_acked), (1448, 1448));
    assert_eq!((second.cwnd, second.in_flight), (11 * 1448, Some(9 * 1448)));
    let rate = second.delivery_rate.map(Rate::bps);
    assert_eq!(rate, Some(1448 * 8 * 1_000_000 / 50_027));
    assert_eq!(second.srtt, Some(Time::from_micros(93_753)));
    let recovering = acks.iter().filter(|(_, ack)| ack.in_recovery == Some(true));
    assert!(recovering.count() > 0);
    let last = acks.last().expect("acks").1;
    // Three times 1448 bytes and the last 1152 + FIN were outstanding when the recording ended.
    assert_eq!((last.snd_nxt, last.snd_una), (150_000, 136_112));

    let drops = read_drops(folder.out.path()).expect("drops");
    let offsets: Vec<u64> = drops.iter().map(|(_, drop)| drop.offset).collect();
    assert_eq!(offsets, [7, 8, 9].map(|segment| segment * 1448));
    for (_, drop) in &drops {
        assert_eq!((drop.link, drop.flow, drop.wire_len), (0, 0, 1514));
        assert_eq!(drop.reason, DropReason::Queue);
    }

    let queue = read_queue_events(folder.out.path()).expect("queue events");
    let count = |action| queue.iter().filter(|(_, row)| row.action == action).count();
    // 109 packets, of which three were of no flow: ARP and IPv6.
    assert_eq!(count(QueueAction::Enqueue), 106);
    assert_eq!(count(QueueAction::Dequeue), 106);

    let flow = &trace.summary.flows[0];
    assert_eq!(flow.started, Some(Time::from_micros(600)));
    assert_eq!((flow.bytes_received, flow.bytes_acked), (150_000, 150_000));
    assert_eq!((flow.segments_sent, flow.retransmits), (107, 3));
    assert_eq!((flow.fast_recoveries, flow.undos), (1, 0));
    assert_eq!(flow.rtt_min, Some(Time::from_millis(50)));
    assert_eq!(flow.rtt.count(), 95);
    // Not all data had been acknowledged in the events: the agent's word stands.
    assert_eq!(flow.ended, Some(Time::from_nanos(560_000_000)));
    let link = &trace.summary.links[0];
    assert_eq!((link.offered, link.queue_drops), (112, 3));
    assert_eq!((link.delivered, link.tx_bytes), (109, 157_226));
    assert_eq!((link.random_drops, link.outage_drops), (0, 0));
    assert_eq!(link.sojourn.count(), 109);
    assert_eq!(link.backlog_max, 10_598);
    assert_eq!(trace.summary.links[1].name, "bottleneck.reverse");
    let [machine] = trace.summary.machines.as_slice() else {
        panic!("one machine");
    };
    assert_eq!(
        (machine.kernel.as_deref(), machine.release.as_str()),
        (Some("6.12"), "6.12.1")
    );
    assert_eq!(machine.flows, ["bulk"]);
    assert_eq!(trace.summary.fidelity, None);
}

#[test]
fn a_sample_is_the_socket_in_bytes() {
    let mut folder = Folder::new();
    folder.samples[0] = Sample::Flow {
        at: 7,
        flow: 0,
        sender: Some(Box::new(TcpInfo {
            snd_ssthresh: 0x7fff_ffff,
            bytes_acked: 1449,
            ..sender_info()
        })),
        received: 2896,
    };
    let (at, sample) = folder.trace().flow_samples[0];
    assert_eq!(at, Time::from_nanos(7));
    assert_eq!((sample.cwnd, sample.ssthresh), (13 * 1448, None));
    // 12 out, 3 sacked, 2 lost, 1 again.
    assert_eq!(sample.in_flight, 8 * 1448);
    assert_eq!((sample.snd_una, sample.snd_nxt), (1448, 150_000));
    assert_eq!((sample.bytes_received, sample.rwnd), (2896, 336_320));
    assert_eq!(sample.delivery_rate.map(Rate::bps), Some(8 * 376_000));
    // Cubic does not pace, whatever rate the kernel shows.
    assert_eq!(sample.pacing_rate, None);
    assert_eq!((sample.segments_sent, sample.retransmits), (107, 3));
    folder.outcome.flows[0].cc_in_force = "bbr".into();
    let paced = folder.trace().flow_samples[0].1.pacing_rate;
    assert_eq!(paced.map(Rate::bps), Some(56_000_000));
}

#[test]
fn limits_are_what_the_kernel_counted_and_the_rest_is_the_application() {
    let limited = Folder::new().trace().summary.flows[0].limited;
    let millis = Time::from_millis;
    assert_eq!((limited.rwnd, limited.sndbuf), (millis(10), millis(5)));
    assert_eq!(limited.cwnd, millis(420));
    assert_eq!(
        limited.application,
        Time::from_micros(559_400) - millis(435)
    );
    assert_eq!(limited.pacing, Time::ZERO);
}

#[test]
fn losses_on_the_line_are_random_but_in_outages() {
    let mut folder = Folder::new();
    let ms = Time::from_millis;
    let outage = |start, duration| Outage {
        at: Place::Router,
        start,
        duration,
    };
    folder.scenario.network.bottleneck.outage = vec![
        outage(ms(100), ms(100)),
        // Overlaps the first.
        outage(ms(150), ms(100)),
    ];
    folder.samples = [
        (50, 1, 0),
        (100, 3, 1),
        (150, 6, 1),
        (200, 9, 1),
        (250, 12, 2),
        (600, 14, 2),
    ]
    .map(|(at, root, discipline)| Sample::Queue {
        at: ms(at).as_nanos(),
        link: 0,
        root: QueueCounters {
            drops: root,
            tx_packets: 100,
            packets: 4,
            backlog: 20_000,
            marks: 9,
            ..QueueCounters::default()
        },
        discipline: QueueCounters {
            drops: discipline,
            marks: 5,
            ..QueueCounters::default()
        },
    })
    .to_vec();
    let link = folder.trace().summary.links[0].clone();
    assert_eq!((link.queue_drops, link.marks), (2, 5));
    // On the line 2 by 100 ms, 10 by 250 ms, 12 in all.
    assert_eq!((link.outage_drops, link.random_drops), (8, 4));
    assert_eq!(
        (link.delivered, link.in_flight, link.offered),
        (100, 4, 118)
    );
    assert_eq!(link.backlog_max, 20_000);
}

#[test]
fn a_loss_off_the_bottleneck_has_a_link_with_the_simulators_name() {
    let mut folder = Folder::new();
    // As if the router's interface were the sending host's.
    folder.outcome.namespaces.swap(SENDER, ROUTER);
    let trace = folder.trace();
    let drops = read_drops(folder.out.path()).expect("drops");
    assert!(drops.iter().all(|(_, drop)| drop.link == 2));
    let link = &trace.summary.links[2];
    assert_eq!(link.name, "bulk.left.access");
    // 109 segments left the host's TCP, three were lost behind it.
    assert_eq!(
        (link.queue_drops, link.offered, link.delivered),
        (3, 109, 106)
    );
    folder.scenario.flows[0].direction = Direction::Reverse;
    assert_eq!(
        folder.trace().summary.links[2].name,
        "bulk.left.access.reverse"
    );
}

#[test]
fn counters_of_a_host_of_one_sender_are_the_flows() {
    let mut folder = Folder::new();
    let counted = [
        ("TCPFullUndo", 1),
        ("TCPPartialUndo", 2),
        ("TCPDSACKUndo", 3),
        ("TCPLossUndo", 4),
        ("TCPLossProbes", 5),
    ];
    let counters = counted.map(|(name, count)| (name.to_owned(), count)).into();
    folder.outcome.counters = vec![counters, Default::default(), Default::default()];
    let flow = folder.trace().summary.flows[0].clone();
    assert_eq!((flow.undos, flow.tail_loss_probes), (10, 5));
    // Two flows of one host: nobody knows whose they are.
    let mut other = folder.orders.flows[0].clone();
    other.source = [10, 0, 0, 9].into();
    folder.orders.flows.push(other);
    folder.scenario.flows.push(flow_named("other"));
    folder.outcome.flows.push(FlowOutcome::default());
    let flows = folder.trace().summary.flows;
    assert_eq!((flows[0].undos, flows[0].tail_loss_probes), (0, 0));
    assert_eq!((flows[1].started, flows[1].segments_sent), (None, 0));
}

fn flow_named(name: &str) -> Flow {
    flow().named(name)
}

#[test]
fn bare_retransmissions_are_no_segments_of_data() {
    let mut folder = Folder::new();
    folder.outcome.flows[0].sender[0] = TcpInfo {
        total_retrans: 2,
        bytes_retrans: 0,
        bytes_sent: 150_000,
        ..sender_info()
    };
    assert_eq!(folder.trace().summary.flows[0].retransmits, 0);
}

#[test]
fn a_stock_kernel_tells_less_and_what_it_tells_is_right() {
    let folder = Folder::new().on_stock_kernel();
    let trace = folder.trace();
    let acks = read_acks(folder.out.path()).expect("acks");
    // The state after each acknowledgement is what the next one found.
    let (at, ack) = acks[0];
    assert_eq!(at.as_micros(), 150_627);
    assert_eq!(
        (ack.snd_una, ack.newly_acked, ack.cwnd),
        (1448, 1448, 11 * 1448)
    );
    assert_eq!(
        (ack.rto, ack.in_flight, ack.in_recovery),
        (None, None, None)
    );
    let flow = &trace.summary.flows[0];
    assert_eq!((flow.retransmits, flow.fast_recoveries), (3, 1));
    assert_eq!(flow.rtt_min, Some(Time::from_millis(50)));
    assert!(flow.cwnd_mean > 10.0 * 1448.0 && flow.cwnd_mean < 18.0 * 1448.0);
    let drops = read_drops(folder.out.path()).expect("drops");
    assert!(drops.is_empty());
    let link = &trace.summary.links[0];
    assert_eq!((link.queue_drops, link.sojourn.count()), (3, 0));
}

#[test]
fn without_events_packets_wait_as_long_as_the_sampled_backlog_takes_to_leave() {
    let mut folder = Folder::new().without_events();
    let sample = |at, backlog, tx_bytes| {
        let root = QueueCounters {
            backlog,
            tx_bytes,
            ..QueueCounters::default()
        };
        Sample::Queue {
            at,
            link: 0,
            root,
            discipline: root,
        }
    };
    folder.scenario.network.bottleneck.rate = Rate::from_bps(8_000_000);
    folder.scenario.network.bottleneck.schedule = vec![Change {
        at: Time::from_millis(350),
        rate: Rate::from_bps(80_000_000),
        ..Change::default()
    }];
    folder.samples = vec![
        sample(100_000_000, 900, 0),
        sample(200_000_000, 1000, 5000),
        // Nothing left in between: what waits here waits for something else.
        sample(300_000_000, 7000, 5000),
        sample(400_000_000, 1000, 6000),
        sample(500_000_000, 0, 9000),
    ];
    let trace = folder.trace();
    // What the line could have sent, as the simulator counts it: 1 MB/s, then 10 MB/s.
    let capacity = trace.queue_samples.iter().map(|(_, s)| s.capacity);
    let kilobytes = [100, 200, 300, 850, 1850];
    assert!(capacity.eq(kilobytes.map(|kb| Some(kb * 1000))));
    let sojourn = trace.summary.links[0].sojourn.clone();
    // 1 ms at the first rate, 0.1 ms at the second, and an empty queue.
    assert_eq!((sojourn.count(), sojourn.sum()), (3, 1_100_000));
}

#[test]
fn what_came_after_the_warm_up_is_counted_apart() {
    let warmup = Time::from_millis(300);
    let mut folder = Folder::new();
    folder.scenario.warmup = warmup;
    let trace = folder.trace();
    let acks = read_acks(folder.out.path()).expect("acks");
    let later = || acks.iter().filter(|(at, _)| *at >= warmup);
    let flow = &trace.summary.flows[0];
    let samples = later().filter(|(_, ack)| ack.rtt.is_some()).count() as u64;
    assert!((10..85).contains(&samples), "{samples}");
    assert_eq!((flow.warm_rtt.count(), flow.rtt.count()), (samples, 95));
    let srtts: Vec<u64> = later()
        .filter_map(|(_, ack)| Some(ack.srtt?.as_nanos()))
        .collect();
    let mean = srtts.iter().sum::<u64>() / srtts.len() as u64;
    assert_eq!(flow.warm_srtt_mean, Some(Time::from_nanos(mean)));
    let queue = read_queue_events(folder.out.path()).expect("queue events");
    let left = queue
        .iter()
        .filter(|(at, row)| *at >= warmup && row.action == QueueAction::Dequeue);
    let left = left.count() as u64;
    // Three packets are of no flow.
    let counted = trace.summary.links[0].warm_sojourn.count();
    assert!(
        (left..=left + 3).contains(&counted) && counted < 109,
        "{left} {counted}"
    );

    folder.scenario.warmup = Time::ZERO;
    let plain = folder.trace().summary;
    assert_eq!(plain.flows[0].warm_rtt.count(), 0);
    assert_eq!(plain.flows[0].warm_srtt_mean, None);
    assert_eq!(plain.links[0].warm_sojourn.count(), 0);
}

#[test]
fn without_events_summaries_come_from_samples() {
    let mut folder = Folder::new().without_events();
    folder.samples.insert(
        0,
        Sample::Flow {
            at: 500_600_000,
            flow: 0,
            sender: Some(Box::new(TcpInfo {
                rtt: 60_336,
                snd_cwnd: 10,
                ..sender_info()
            })),
            received: 0,
        },
    );
    folder.outcome.flows[0].ended = None;
    let flow = folder.trace().summary.flows[0].clone();
    assert_eq!(flow.srtt_mean, Some(Time::from_micros(55_336)));
    assert_eq!(flow.rtt.count(), 2);
    assert_eq!(flow.cwnd_mean, 10.0 * 1448.0);
    assert_eq!(flow.fast_recoveries, 0);
    assert_eq!((flow.warm_rtt.count(), flow.warm_srtt_mean), (0, None));
    // The first of the two samples is of the warm-up.
    folder.scenario.warmup = Time::from_nanos(500_600_000);
    let flow = folder.trace().summary.flows[0].clone();
    assert_eq!((flow.rtt.count(), flow.warm_rtt.count()), (2, 1));
    assert_eq!(flow.warm_srtt_mean, Some(Time::from_micros(50_336)));
}

#[test]
fn captures_hold_the_packets_of_the_run_and_of_their_flow() {
    let folder = Folder::new();
    folder.harvest().expect("a whole record");
    let packets = |point: &str| {
        let bytes = fs::read(folder.out.path().join(capture_file_name(point))).expect("a capture");
        // Enhanced packet blocks of 40 bytes: type 6, length 72.
        let block = [6_u32.to_le_bytes(), 72_u32.to_le_bytes()].concat();
        bytes.windows(8).filter(|window| *window == block).count()
    };
    assert_eq!(packets("bottleneck"), 3);
    assert_eq!(packets("bulk.sender"), 2);
    // Time 5 ns, 40 of 1500 bytes.
    let bytes = fs::read(folder.out.path().join("bottleneck.pcapng")).expect("a capture");
    let first = [0_u32, 5, 40, 1500].map(u32::to_le_bytes).concat();
    assert!(bytes.windows(16).any(|window| window == first));
}

#[test]
fn what_a_program_printed_is_kept() {
    let mut folder = Folder::new();
    folder.orders.flows[0].work = Work::Command {
        client: vec!["iperf3".into()],
        server: None,
        until: None,
    };
    folder.write("bulk.stdout", b"5.3 Mbit/s\n");
    folder.write("bulk.server.stderr", b"");
    folder.write("unrelated", b"");
    let kept = folder.harvest().expect("a whole record");
    assert_eq!(kept.programs, ["bulk.stdout", "bulk.server.stderr"]);
    let text = fs::read_to_string(folder.out.path().join("bulk.stdout")).expect("the output");
    assert_eq!(text, "5.3 Mbit/s\n");
    // The program itself started earlier than its connection.
    let started = read(folder.out.path()).expect("a trace").summary.flows[0].started;
    assert_eq!(started.map(Time::as_micros), Some(600));
}

#[test]
fn a_program_with_two_connections_is_their_sum() {
    let mut folder = Folder::new();
    let flow = &mut folder.outcome.flows[0];
    flow.sender.push(TcpInfo {
        bytes_acked: 1001,
        bytes_sent: 1000,
        data_segs_out: 1,
        total_rto: 2,
        snd_mss: 512,
        ..TcpInfo::default()
    });
    flow.receiver.push(TcpInfo {
        bytes_received: 1000,
        ..TcpInfo::default()
    });
    let flow = folder.trace().summary.flows[0].clone();
    assert_eq!((flow.bytes_acked, flow.bytes_received), (151_000, 151_000));
    assert_eq!((flow.segments_sent, flow.rtos, flow.mss), (108, 2, 1448));
}

/// Datagrams of `payload` bytes with these times in milliseconds and numbers, as the agent writes
/// them.
fn datagrams(payload: u16, list: &[(u64, u64)]) -> Vec<u8> {
    let one = |&(ms, head): &(u64, u64)| {
        let datagram = Datagram {
            at: REALTIME_ZERO + ms * 1_000_000,
            head,
            payload,
            ..Datagram::default()
        };
        datagram.to_bytes()
    };
    list.iter().flat_map(one).collect()
}

/// The folder of a program that sends ten datagrams of 60 kB, one each 10 ms, of which the third is
/// lost; the others take 20 ms. One of 4 bytes goes back.
fn with_datagrams() -> Folder {
    let mut folder = Folder::new();
    let flow = &mut folder.orders.flows[0];
    flow.work = Work::Command {
        client: vec!["iperf3".into()],
        server: None,
        until: None,
    };
    flow.taps = Some(Taps {
        sender: "udp-eth0".into(),
        receiver: "udp-eth0".into(),
    });
    let sent: Vec<(u64, u64)> = (0..10).map(|n| (100 + n * 10, n)).collect();
    let arrived = sent.iter().filter(|(_, n)| *n != 2);
    let arrived: Vec<(u64, u64)> = arrived.map(|(ms, n)| (ms + 20, *n)).collect();
    for (backward, seen, bytes) in [
        (false, Seen::Sent, datagrams(60_000, &sent)),
        (false, Seen::Received, datagrams(60_000, &arrived)),
        (true, Seen::Sent, datagrams(4, &[(50, 0)])),
        (true, Seen::Received, datagrams(4, &[(70, 0)])),
    ] {
        folder.write(&datagram_file(0, backward, seen), &bytes);
    }
    folder
}

#[test]
fn a_program_is_what_carried_most_of_its_bytes() {
    let folder = with_datagrams();
    let trace = folder.trace();
    let flow = trace.summary.flows[0].clone();
    assert_eq!(flow.transport, Carrier::Udp);
    // What its connection of 150 kB had is left out.
    assert_eq!((flow.cc.as_str(), flow.cc_in_force.as_str()), ("", ""));
    assert_eq!((flow.retransmits, flow.rtt.count(), flow.mss), (0, 0, 0));
    assert_eq!(flow.started, Some(Time::from_millis(50)));
    assert_eq!(flow.first_byte, Some(Time::from_millis(120)));
    assert_eq!(flow.last_byte, Some(Time::from_millis(210)));
    assert_eq!((flow.bytes_received, flow.segments_sent), (540_000, 10));
    assert_eq!((flow.datagrams.received, flow.datagrams.lost()), (9, 1));
    assert_eq!(flow.datagrams.delay.mean(), Some(20e6));
    assert_eq!((flow.back.sent, flow.back.received_bytes), (1, 4));
    let (at, last) = trace.flow_samples.last().expect("a sample");
    assert_eq!(at.as_nanos(), END);
    assert_eq!((last.snd_nxt, last.bytes_received), (600_000, 540_000));
    assert_eq!((last.segments_sent, last.cwnd), (10, 0));
    let acks = read_acks(folder.out.path()).expect("acks");
    assert!(acks.is_empty());

    // Less than the 150 kB of its connection.
    let few = datagrams(1_000, &[(100, 0), (110, 1)]);
    for seen in [Seen::Sent, Seen::Received] {
        folder.write(&datagram_file(0, false, seen), &few);
    }
    // Nothing is written of what there is not, and a trace is made in a folder without another.
    fs::remove_file(folder.out.path().join("datagrams.parquet")).expect("the table of before");
    let flow = folder.trace().summary.flows[0].clone();
    assert_eq!((flow.transport, flow.retransmits), (Carrier::Tcp, 3));
    assert_eq!(*flow.datagrams, Datagrams::default());
}

#[test]
fn a_program_of_which_nothing_was_seen_is_told_from_one_that_got_nothing_through() {
    let mut folder = with_datagrams();
    folder.outcome.flows[0].sender.clear();
    folder.outcome.flows[0].receiver.clear();
    for backward in [false, true] {
        folder.write(&datagram_file(0, backward, Seen::Received), &[]);
    }
    let flow = folder.trace().summary.flows[0].clone();
    assert_eq!((flow.transport, flow.bytes_received), (Carrier::Udp, 0));
    assert_eq!((flow.datagrams.lost(), flow.back.lost()), (10, 1));
    for backward in [false, true] {
        folder.write(&datagram_file(0, backward, Seen::Sent), &[]);
    }
    let flow = folder.trace().summary.flows[0].clone();
    assert_eq!(flow.transport, Carrier::Nothing);
    assert_eq!((flow.cc.as_str(), flow.bytes_received), ("", 0));
}

#[test]
fn datagrams_that_a_source_numbered_are_frames() {
    let mut folder = with_datagrams();
    // 100 frames a second of one datagram each, due 15 ms after they are made, but that the groups of
    // five need their first: numbers 2 to 4 are gone with the third, and each is 5 ms late.
    let video = |deadline| {
        cclab_spec::Datagrams::Video(Video {
            frame_rate: 100.0,
            i_frame: 60_000,
            p_frame: 60_000,
            group: 5,
            deadline: Time::from_millis(deadline),
            payload: 60_000,
        })
    };
    let mut frames = |deadline| {
        let flow = &mut folder.orders.flows[0];
        flow.start = Time::from_millis(100);
        flow.work = Work::Datagrams {
            source: video(deadline),
            stop: None,
            transfer: None,
            dice: orders::Dice {
                seed: 1,
                name: "application bulk".into(),
            },
        };
        folder.trace().summary.flows[0].frames
    };
    let late = frames(15);
    assert_eq!((late.sent, late.complete, late.lost), (10, 9, 1));
    assert_eq!((late.late, late.shown), (9, 0));
    let good = frames(25);
    assert_eq!((good.late, good.lost, good.shown), (0, 1, 7));
}

#[test]
fn bytes_of_a_connection_whose_sender_is_not_known_are_not_forgotten() {
    let mut folder = Folder::new();
    folder.outcome.flows[0].sender.clear();
    let flow = folder.trace().summary.flows[0].clone();
    assert_eq!((flow.bytes_received, flow.bytes_acked), (150_001, 0));
}

#[test]
fn the_host_of_a_run_in_real_time_is_in_the_summary() {
    let mut folder = Folder::new();
    folder.outcome.fidelity = Some(Fidelity {
        timer_late_max: 5,
        cpu_busy: 0.5,
        ..Fidelity::default()
    });
    let fidelity = folder.trace().summary.fidelity.expect("fidelity");
    assert_eq!((fidelity.timer_late_max_ns, fidelity.cpu_busy), (5, 0.5));
}

#[test]
fn harvesting_twice_gives_the_same_bytes() {
    let bytes = |folder: &Folder| {
        folder.harvest().expect("a whole record");
        let mut files: Vec<(std::ffi::OsString, Vec<u8>)> = fs::read_dir(folder.out.path())
            .expect("a trace")
            .map(|entry| entry.expect("a file"))
            .map(|entry| (entry.file_name(), fs::read(entry.path()).expect("a file")))
            .collect();
        files.sort();
        files
    };
    let (one, other) = (bytes(&Folder::new()), bytes(&Folder::new()));
    assert!(one.len() >= 11);
    assert!(one == other);
}

#[test]
fn every_way_to_fail_says_what_is_wrong() {
    let mut folder = Folder::new();
    folder.outcome.failure = Some(Failure {
        step: "queueing disciplines of r1".into(),
        problem: "tc: unknown qdisc".into(),
    });
    assert_eq!(
        folder.message(),
        "queueing disciplines of r1: tc: unknown qdisc"
    );

    let mut folder = Folder::new();
    folder.outcome.events_lost = 12;
    assert!(
        folder
            .message()
            .starts_with("the kernel lost 12 of its trace events")
    );

    let mut folder = Folder::new();
    folder.outcome.packets_lost = vec![0, 3];
    assert!(
        folder
            .message()
            .starts_with("capture point \"bulk.sender\" lost 3 packets")
    );

    let mut folder = Folder::new();
    folder.outcome.schema = "cclab-outcome/9".into();
    assert!(
        folder
            .message()
            .contains("schema \"cclab-outcome/9\" is not")
    );

    let mut folder = Folder::new();
    folder.outcome.flows.clear();
    assert!(folder.message().contains("0 flows of 1"));

    let mut folder = Folder::new();
    folder.samples[0] = Sample::Queue {
        at: 0,
        link: 7,
        root: QueueCounters::default(),
        discipline: QueueCounters::default(),
    };
    assert!(folder.message().contains("link 7 has no queue"));

    let folder = Folder::new();
    let cut = frames();
    folder.write(&records::capture_file(1), &cut[..cut.len() - 1]);
    let message = folder.message();
    assert!(
        message.contains("capture.1: damaged record: it ends inside a packet"),
        "{message}"
    );

    let mut folder = with_datagrams();
    folder.outcome.datagrams_lost = vec![5];
    assert!(
        folder
            .message()
            .starts_with("5 datagrams of flow \"bulk\" were sent and not written down")
    );

    let folder = with_datagrams();
    folder.write(&datagram_file(0, true, Seen::Sent), &[0; 31]);
    let message = folder.message();
    assert!(
        message.contains("datagrams.0.back.sent: damaged record: it ends inside a datagram"),
        "{message}"
    );

    let folder = Folder::new();
    let raw = folder.raw.path();
    let error = harvest(
        &folder.scenario,
        &folder.orders,
        None,
        raw,
        folder.out.path(),
    );
    assert!(
        error
            .expect_err("no outcome")
            .to_string()
            .contains("left no outcome")
    );
}
