//! A run's directory is measured from its trace and `run.json`.

use std::fs;
use std::path::Path;

use cclab_metrics::{MeasureInput, measure, measure_dir};
use cclab_trace::schema::{FlowSample, FlowSummary, RunSummary};
use cclab_trace::{Event, Probe, Recorder, Recording};
use cclab_units::Time;

const RUN: &str = r#"{
    "id": "0123", "seed": 1, "backend": "sim", "version": "1",
    "scenario": {
        "duration": 60000000000, "warmup": 30000000000, "stack": "rfc",
        "network": {
            "topology": "dumbbell",
            "bottleneck": {
                "rate": 8000000, "delay": 1000000,
                "queue": { "kind": "droptail", "limit": { "bytes": 9000 } }
            },
            "access": {
                "rate": null, "delay": 0, "queue": { "kind": "droptail", "limit": { "packets": 9 } }
            }
        },
        "flows": [],
        "trace": {
            "interval": 0, "events": [], "capture": [], "snaplen": 0, "from": 0, "until": null
        }
    }
}"#;

fn record(dir: &Path) {
    let mut recorder = Recorder::create(dir, Recording::default()).expect("a directory");
    for (second, bytes_received) in [(30, 1_000_000), (60, 31_000_000)] {
        let sample = FlowSample {
            bytes_received,
            ..FlowSample::default()
        };
        recorder.record(Time::from_secs(second), Event::FlowSample(sample));
    }
    let flow = FlowSummary {
        name: "bulk".into(),
        started: Some(Time::ZERO),
        bytes_received: 31_000_000,
        ..FlowSummary::default()
    };
    let end = Time::from_secs(60);
    let summary = RunSummary {
        end,
        flows: vec![flow],
        ..RunSummary::default()
    };
    recorder.finish(&summary).expect("room on the disk");
}

#[test]
fn the_warm_up_comes_from_run_json() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    record(dir.path());
    fs::write(dir.path().join("run.json"), RUN).expect("room on the disk");
    let metrics = measure_dir(dir.path()).expect("a whole directory");
    assert_eq!(metrics.flows[0].steady_goodput_bps, Some(8_000_000.0));

    let trace = cclab_trace::read(dir.path()).expect("a whole trace");
    let run: cclab_spec::Run = serde_json::from_str(RUN).expect("a run");
    let input = MeasureInput::from(&run.scenario);
    assert_eq!(input.warmup, Time::from_secs(30));
    assert_eq!(metrics, measure(&trace, &input));
}

#[test]
fn what_is_missing_or_damaged_is_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let error = || {
        measure_dir(dir.path())
            .expect_err("an incomplete directory")
            .to_string()
    };
    assert!(error().contains("run.json"), "{}", error());
    fs::write(dir.path().join("run.json"), &RUN[..50]).expect("room on the disk");
    assert!(
        error().contains("run.json") && error().contains("EOF"),
        "{}",
        error()
    );
    fs::write(dir.path().join("run.json"), RUN).expect("room on the disk");
    assert!(error().contains("summary.json"), "{}", error());
}
