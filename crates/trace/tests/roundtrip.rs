//! What is recorded is what is read; the same run gives the same bytes; damage is one error.

use std::path::Path;
use std::{fs, panic};

use cclab_packet::Packet;
use cclab_trace::schema::{
    AckEvent, BandSummary, Carrier, Datagrams, DropEvent, DropReason, Echo, Fidelity, FlowSample,
    FlowSummary, Frames, Limited, LinkSummary, Machine, ProbeSummary, QueueAction, QueueEvent,
    QueueSample, Resumption, RunSummary, TrafficSummary, Transfer,
};
use cclab_trace::{
    Event, Histogram, Probe, Recorder, Recording, Trace, TraceError, WireOptions, read, read_acks,
    read_drops, read_queue_events,
};
use cclab_units::{Rate, Time};
use proptest::prelude::*;

/// More rows than one row group holds.
const ROWS: u64 = 70_000;

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&v| histogram.record(v));
    histogram
}

fn flow_sample(i: u64) -> FlowSample {
    FlowSample {
        flow: (i % 3) as u32,
        cwnd: i * 1448,
        ssthresh: (!i.is_multiple_of(4)).then_some(i),
        srtt: (i > 5).then(|| Time::from_micros(i)),
        in_flight: i ^ 0x55,
        rwnd: u64::MAX - i,
        delivery_rate: Rate::from_bps(i),
        pacing_rate: None,
        snd_una: i * 3,
        snd_nxt: i * 5,
        bytes_received: i * 2,
        segments_sent: i,
        retransmits: i / 100,
    }
}

fn queue_sample(i: u64) -> QueueSample {
    QueueSample {
        link: 0,
        backlog: i % 9000,
        backlog_packets: i % 6,
        tx_bytes: i * 1500,
        drops: i / 7,
        marks: 0,
        capacity: i.is_multiple_of(2).then_some(i * 2000),
    }
}

fn ack(i: u64) -> AckEvent {
    AckEvent {
        flow: 1,
        snd_una: i,
        snd_nxt: i + 9,
        newly_acked: 2,
        cwnd: 10,
        ssthresh: None,
        rtt: i.is_multiple_of(2).then(|| Time::from_nanos(i)),
        srtt: Some(Time::from_millis(20)),
        rto: i.is_multiple_of(5).then(|| Time::from_millis(200)),
        in_flight: Some(7),
        rwnd: 8,
        delivery_rate: None,
        pacing_rate: Rate::from_bps(i * 8),
        in_recovery: (!i.is_multiple_of(4)).then(|| i.is_multiple_of(3)),
    }
}

fn queue_event(i: u64) -> QueueEvent {
    let leaves = i % 2 == 1;
    QueueEvent {
        link: 0,
        action: if leaves {
            QueueAction::Dequeue
        } else {
            QueueAction::Enqueue
        },
        flow: 2,
        wire_len: 1500,
        backlog: i,
        sojourn: leaves.then(|| Time::from_nanos(i)),
    }
}

fn drop_event(i: u64) -> DropEvent {
    let reasons = [
        DropReason::Queue,
        DropReason::Random,
        DropReason::Burst,
        DropReason::Listed,
        DropReason::Outage,
        DropReason::Corrupt,
    ];
    DropEvent {
        link: 3,
        reason: reasons[(i % 6) as usize],
        flow: 0,
        offset: i,
        wire_len: 66,
    }
}

fn transfer(i: u64) -> Transfer {
    Transfer {
        source: (i % 2) as u32,
        size: i * 1_000,
        first_byte: (!i.is_multiple_of(3)).then(|| Time::from_micros(i)),
        end: (!i.is_multiple_of(4)).then(|| Time::from_millis(i)),
        retransmits: i % 5,
        slowdown: (!i.is_multiple_of(4)).then_some(1.0 + i as f64 / 7.0),
    }
}

fn summary() -> RunSummary {
    let busy = FlowSummary {
        name: "a \"quoted\" name".into(),
        cc: "cubic".into(),
        cc_in_force: "reno".into(),
        started: Some(Time::ZERO),
        first_byte: Some(Time::from_millis(31)),
        last_byte: Some(Time::from_secs(9)),
        ended: None,
        aborted: true,
        mss: 1448,
        bytes_received: 1 << 40,
        bytes_acked: 5,
        segments_sent: 6,
        retransmits: 7,
        rtos: 8,
        fast_recoveries: 9,
        undos: 10,
        tail_loss_probes: 11,
        ecn_echoes: 12,
        limited: Limited {
            cwnd: Time::from_nanos(1),
            rwnd: Time::from_nanos(2),
            application: Time::from_nanos(3),
            sndbuf: Time::from_nanos(4),
            pacing: Time::from_nanos(5),
        },
        rtt_min: Some(Time::from_micros(20_001)),
        srtt_mean: Some(Time::from_micros(25_000)),
        cwnd_mean: 12_345.678,
        rtt: histogram(&[1, 5, 5, 20_001_000, 1 << 50]),
        warm_srtt_mean: Some(Time::from_micros(24_000)),
        warm_rtt: histogram(&[21_000_000]),
        transport: Carrier::Udp,
        datagrams: Datagrams {
            sent: 13,
            sent_bytes: 14,
            received: 15,
            received_bytes: 16,
            in_flight: 17,
            duplicates: 18,
            reordered: 19,
            first: Some(Time::from_nanos(20)),
            last: Some(Time::from_nanos(21)),
            jitter: Some(Time::from_nanos(22)),
            delay: histogram(&[3, 4, 4]),
        }
        .into(),
        back: Datagrams {
            sent: 23,
            delay: histogram(&[5]),
            ..Datagrams::default()
        }
        .into(),
        frames: Frames {
            sent: 24,
            complete: 25,
            late: 26,
            lost: 27,
            shown: 28,
            freezes: 29,
            frozen: Time::from_nanos(30),
        },
        warm_datagrams: Datagrams {
            sent: 31,
            delay: histogram(&[6]),
            ..Datagrams::default()
        }
        .into(),
        warm_back: Datagrams {
            received: 32,
            delay: histogram(&[7]),
            ..Datagrams::default()
        }
        .into(),
        warm_frames: Frames {
            late: 33,
            ..Frames::default()
        },
        frame_delay: histogram(&[34, 35]),
        warm_frame_delay: histogram(&[35]),
        resumption: Some(Resumption {
            jumped: Some(Time::from_nanos(36)),
            validated: None,
            retreated: Some(Time::from_nanos(37)),
        }),
    };
    let link = LinkSummary {
        name: "bottleneck".into(),
        rate: Rate::from_bps(100_000_000),
        offered: 1,
        queue_drops: 2,
        random_drops: 3,
        outage_drops: 4,
        listed_drops: 10,
        corrupt_drops: 11,
        duplicates: 12,
        marks: 5,
        delivered: 6,
        tx_bytes: 7,
        in_flight: 8,
        backlog_max: 9,
        sojourn: histogram(&[0, 0, 77]),
        warm_sojourn: histogram(&[77]),
        bands: vec![
            BandSummary {
                name: "L".into(),
                packets: 2,
                drops: 3,
                marks: 4,
                sojourn: histogram(&[0, 0]),
                warm_packets: 1,
                warm_drops: 2,
                warm_marks: 3,
                warm_sojourn: histogram(&[0]),
            },
            BandSummary {
                name: "C".into(),
                sojourn: histogram(&[77]),
                ..BandSummary::default()
            },
        ],
    };
    RunSummary {
        met: vec![None, Some(Time::from_millis(1234))],
        end: Time::from_secs(10),
        events: 123_456,
        flows: vec![
            FlowSummary {
                name: "idle".into(),
                ..FlowSummary::default()
            },
            busy,
        ],
        links: vec![
            link,
            LinkSummary {
                name: "way back".into(),
                bands: vec![BandSummary {
                    name: "L".into(),
                    packets: 5,
                    ..BandSummary::default()
                }],
                ..LinkSummary::default()
            },
        ],
        traffic: vec![
            TrafficSummary {
                name: "silent".into(),
                kind: "random".into(),
                ..TrafficSummary::default()
            },
            TrafficSummary {
                name: "echo".into(),
                kind: "ping-flood".into(),
                sent: 9,
                sent_bytes: 900,
                received: 8,
                received_bytes: 800,
                started: 7,
                ended: 6,
                delay: histogram(&[5, 500, 50_000]),
                rtt: histogram(&[1_000, 1_001]),
            },
        ],
        probes: vec![
            ProbeSummary {
                name: "mute".into(),
                kind: "ping".into(),
                interval: Time::from_millis(200),
                packet_bytes: 98,
                ..ProbeSummary::default()
            },
            ProbeSummary {
                name: "echo2".into(),
                kind: "udp".into(),
                interval: Time::from_millis(20),
                packet_bytes: 214,
                sent_packets: Some(4),
                received_packets: Some(3),
                echoes: [Some(Time::from_nanos(40_470_403)), None]
                    .map(|rtt| Echo {
                        sent: Time::from_millis(20),
                        rtt,
                    })
                    .to_vec(),
            },
        ],
        machines: vec![
            Machine {
                kernel: Some("6.12".into()),
                release: "6.12.8".into(),
                version: "#1".into(),
                config_sha256: Some("ab".repeat(32)),
                flows: vec!["a".into()],
            },
            Machine {
                release: "6.1.0".into(),
                ..Machine::default()
            },
        ],
        fidelity: Some(Fidelity {
            timer_late_max_ns: 1_000_001,
            timer_late_mean_ns: 77,
            cpu_busy: 0.25,
            softirq_squeezed: 3,
            softnet_dropped: 4,
        }),
    }
}

fn record(dir: &Path, rows: u64) {
    let recording = Recording {
        acks: true,
        queue: true,
        drops: true,
        ..Recording::default()
    };
    let mut recorder = Recorder::create(dir, recording).expect("an empty directory");
    for i in 0..rows {
        let now = Time::from_micros(i * 10);
        recorder.record(now, Event::FlowSample(flow_sample(i)));
        recorder.record(now, Event::QueueSample(queue_sample(i)));
        recorder.record(now, Event::Ack(ack(i)));
        recorder.record(now, Event::Queue(queue_event(i)));
        recorder.record(now, Event::Drop(drop_event(i)));
        recorder.record(now, Event::Transfer(now, transfer(i)));
    }
    recorder.finish(&summary()).expect("room on the disk");
}

fn stamped<R>(rows: u64, row: impl Fn(u64) -> R) -> Vec<(Time, R)> {
    (0..rows)
        .map(|i| (Time::from_micros(i * 10), row(i)))
        .collect()
}

fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, fs::read(path).expect("a readable file"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn what_is_recorded_is_what_is_read() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    record(dir.path(), ROWS);
    let trace = read(dir.path()).expect("a whole trace");
    let expected = Trace {
        summary: summary(),
        flow_samples: stamped(ROWS, flow_sample),
        queue_samples: stamped(ROWS, queue_sample),
        transfers: stamped(ROWS, transfer),
    };
    assert!(trace == expected, "samples or summary differ");
    assert!(read_acks(dir.path()).expect("acks") == stamped(ROWS, ack));
    assert!(read_queue_events(dir.path()).expect("queue events") == stamped(ROWS, queue_event));
    assert!(read_drops(dir.path()).expect("drops") == stamped(ROWS, drop_event));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let (a, b) = (
        tempfile::tempdir().expect("a"),
        tempfile::tempdir().expect("b"),
    );
    record(a.path(), 1000);
    record(b.path(), 1000);
    let (a, b) = (files(a.path()), files(b.path()));
    assert_eq!(a.len(), 17);
    assert!(a == b);
}

#[test]
fn files_exist_only_for_what_is_on() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let recorder = Recorder::create(dir.path(), Recording::default()).expect("a directory");
    assert!(!recorder.wants_acks(Time::ZERO) && !recorder.wants_queue(Time::ZERO));
    assert!(!recorder.wants_drops(Time::ZERO) && !recorder.wants_packets(Time::ZERO));
    recorder
        .finish(&RunSummary::default())
        .expect("room on the disk");
    let names: Vec<_> = files(dir.path())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let expected = [
        "flow_samples.parquet",
        "flows.parquet",
        "histograms.parquet",
        "links.parquet",
        "queue_samples.parquet",
        "summary.json",
    ];
    assert_eq!(names, expected);
    assert_eq!(read(dir.path()).expect("an empty trace"), Trace::default());
    let error = read_acks(dir.path()).expect_err("no acks were recorded");
    assert!(matches!(error, TraceError::Io { path, .. } if path.ends_with("acks.parquet")));
}

#[test]
fn events_are_wanted_from_and_until() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let recording = Recording {
        drops: true,
        from: Time::from_secs(2),
        until: Some(Time::from_secs(3)),
        ..Recording::default()
    };
    let recorder = Recorder::create(dir.path(), recording).expect("a directory");
    let wanted = [1, 2, 3, 4].map(|s| recorder.wants_drops(Time::from_secs(s)));
    assert_eq!(wanted, [false, true, true, false]);
}

#[test]
fn a_truncated_file_is_one_error_that_names_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    record(dir.path(), 200);
    for (name, bytes) in files(dir.path()) {
        let path = dir.path().join(&name);
        let cuts = [
            0,
            3,
            4,
            8,
            bytes.len() / 2,
            bytes.len() - 9,
            bytes.len() - 2,
        ];
        for cut in cuts {
            fs::write(&path, &bytes[..cut]).expect("a writable file");
            let error = match name.as_str() {
                "acks.parquet" => read_acks(dir.path()).map(drop),
                "queue_events.parquet" => read_queue_events(dir.path()).map(drop),
                "drops.parquet" => read_drops(dir.path()).map(drop),
                _ => read(dir.path()).map(drop),
            }
            .expect_err("a truncated file");
            let text = error.to_string();
            assert!(text.contains(&name), "{name} cut to {cut}: {text}");
            assert!(!text.contains('\n'), "{text}");
        }
        fs::write(&path, &bytes).expect("a writable file");
    }
}

#[test]
fn another_version_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    record(dir.path(), 1);
    let path = dir.path().join("summary.json");
    let text = fs::read_to_string(&path)
        .expect("a summary")
        .replace("trace/1", "trace/9");
    fs::write(&path, text).expect("a writable file");
    let error = read(dir.path()).expect_err("another version").to_string();
    assert!(
        error.contains("summary.json") && error.contains("cclab-trace/9"),
        "{error}"
    );
}

#[test]
fn an_unwritable_file_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(dir.path().join("flow_samples.parquet")).expect("a directory in the way");
    let created = Recorder::create(dir.path(), Recording::default()).map(drop);
    let error = created.expect_err("a directory in the way").to_string();
    assert!(error.contains("flow_samples.parquet"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever one byte is changed to, reading ends with rows or with an error.
    #[test]
    fn a_flipped_byte_never_panics(position in 0.0..1.0_f64, flip in 1..=255_u8) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        record(dir.path(), 300);
        let path = dir.path().join("flow_samples.parquet");
        let mut bytes = fs::read(&path).expect("samples");
        let index = (position * bytes.len() as f64) as usize;
        bytes[index] ^= flip;
        fs::write(&path, bytes).expect("a writable file");
        if let Err(error) = read(dir.path()) {
            prop_assert!(error.to_string().contains("flow_samples.parquet"));
        }
    }
}

/// The metadata at the end of a file says where everything is: a bit of each of its bytes, changed.
#[test]
fn flipped_bits_of_the_metadata_never_panic() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    record(dir.path(), 3);
    let path = dir.path().join("flow_samples.parquet");
    let bytes = fs::read(&path).expect("samples");
    let footer = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[footer..footer + 4].try_into().expect("four bytes"));
    let mut errors = 0;
    panic::set_hook(Box::new(|_| ())); // those that are caught would fill pages
    for index in footer - length as usize..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[index] ^= 1 << (index % 8);
        fs::write(&path, damaged).expect("a writable file");
        errors += usize::from(read(dir.path()).is_err());
    }
    let _ = panic::take_hook();
    assert!(errors > 100, "{errors}");
}

#[test]
fn a_full_disk_is_kept_as_the_error_of_finish() {
    for name in ["flow_samples.parquet", "bulk.sender.pcapng"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let full = dir.path().join(name);
        std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
        let recording = Recording {
            capture: vec!["bulk.sender".into()],
            wire: vec![WireOptions {
                mss: 1460,
                sack_permitted: true,
            }],
            ..Recording::default()
        };
        let mut recorder = Recorder::create(dir.path(), recording).expect("nothing written yet");
        for i in 0..ROWS {
            recorder.record(Time::from_micros(i), Event::FlowSample(flow_sample(i)));
            recorder.record(Time::from_micros(i), Event::Packet(0, &Packet::default()));
        }
        let error = recorder
            .finish(&summary())
            .expect_err("no room on the disk")
            .to_string();
        assert!(
            error.contains(name) && error.contains("No space left"),
            "{error}"
        );
    }
}
