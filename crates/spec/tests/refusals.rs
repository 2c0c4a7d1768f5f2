//! Every way of getting a study wrong, and the message it earns. A file of `bad/` is a study
//! whose first line is a comment that holds the message, without the file's name.

use std::fs;
use std::path::Path;

use cclab_spec::{Names, Overrides, Study};

/// The names of the registries, and of some metrics, which those name who measure them.
fn names() -> Names {
    let mut names = Names::default();
    for (subject, metric) in [
        ("run", "jain"),
        ("run", "jain_min"),
        ("bottleneck", "utilization"),
        ("bottleneck", "drops"),
        ("flow", "throughput_bps"),
        ("flow", "goodput_bps"),
        ("flow", "steady_goodput_bps"),
        ("flow", "datagrams_loss"),
        ("group", "goodput_sum_bps"),
        ("group", "jain"),
        ("traffic", "fct_p99_s"),
    ] {
        names.metrics.register(subject, metric, None);
    }
    let harm = Some(cclab_spec::Baseline::Solo);
    names.metrics.register("flow", "harm_goodput", harm);
    names
}

fn refusal(text: &str, overrides: &Overrides) -> String {
    let planned = Study::load_knowing(text, "", names())
        .and_then(|study| study.plan(overrides, &|_, _| "test".to_owned()).map(|_| ()));
    match planned {
        Ok(()) => "accepted".to_owned(),
        Err(error) => error.to_string().trim_start_matches(':').to_owned(),
    }
}

#[test]
fn each_bad_study_earns_its_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of bad studies")
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    paths.sort();
    assert!(paths.len() > 100, "only {} bad studies found", paths.len());
    let mut wrong = String::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a bad study");
        let expected = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("# ");
        let got = refusal(&text, &Overrides::default());
        if got != expected {
            let name = path.file_name().unwrap_or_default().display().to_string();
            wrong.push_str(&format!(
                "\n{name}\n  expected {expected}\n  got      {got}\n"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The list of metrics has dots where results have underscores.
#[test]
fn a_metric_may_be_written_as_it_is_documented() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let text = fs::read_to_string(folder.join("expect_flow_metric.toml")).expect("a study");
    for spelt in ["datagrams.loss", "datagrams_loss", "goodput_bps"] {
        let text = text.replace("flow.short.goodput", &format!("flow.short.{spelt}"));
        assert_eq!(refusal(&text, &Overrides::default()), "accepted", "{spelt}");
    }
}
