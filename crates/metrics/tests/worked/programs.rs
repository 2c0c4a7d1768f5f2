//! Warnings about programs.

use super::*;

/// The warnings of a program that received so many bytes and whose own links carried so many back.
fn raised(
    topology: &str,
    received: u64,
    back: u64,
    change: fn(&mut FlowSummary),
) -> Vec<cclab_metrics::Warning> {
    let study = format!(
        "duration = \"100s\"\nbackend = \"linux\"\nnetwork.topology = \"{topology}\"\n\
         [network.bottleneck]\nrate = \"8Mbit\"\nqueue = {{ limit = \"100p\" }}\n\
         [[flow]]\nname = \"long\"\n\
         [[flow]]\nname = \"late\"\ncommand = [\"iperf3\", \"-c\", \"{{dst}}\", \"-R\"]\n"
    );
    let plan = cclab_spec::Study::load(&study, "study.toml")
        .and_then(|study| study.plan(&cclab_spec::Overrides::default(), &|_, _| "id".to_owned()));
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    let input = MeasureInput::from(&plan.runs[0].run.scenario);
    let names = cclab_layout::Layout::of(&plan.runs[0].run.scenario).links;
    let mut trace = trace();
    // Its own links, and the bottleneck's way back, which acknowledgements of the other cross, too.
    let links = names.iter().map(|link| LinkSummary {
        name: link.name.clone(),
        tx_bytes: match link.name.as_str() {
            "bottleneck.reverse" => 50_000_000,
            name if name.ends_with("reverse") => back,
            _ => 97_000_000,
        },
        ..LinkSummary::default()
    });
    trace.summary.links = links.collect();
    let flow = &mut trace.summary.flows[1];
    flow.bytes_received = received;
    flow.limited = Limited {
        application: seconds(65.0),
        ..Limited::default()
    };
    change(flow);
    let warnings = measure(&trace, &input).warnings.into_iter();
    let told = ["data-goes-back", "limited-by-application"];
    let found = warnings.filter(|warning| told.contains(&warning.code.as_str()));
    found.collect()
}

/// `iperf3 -R` sends by its control connection what its flow says it sends.
#[test]
fn what_a_program_fetches_is_told_to_be_in_no_row() {
    let codes = |received, back, change| {
        let told = raised("dumbbell", received, back, change).into_iter();
        told.map(|warning| warning.code).collect::<Vec<_>>()
    };
    let fetched = raised("dumbbell", 530, 5_000_000, |_| ());
    assert_eq!(fetched.len(), 1, "its application is meant to be idle");
    assert!(fetched[0].message.contains("late (530 bytes)"));
    assert!(fetched[0].remedy.contains("direction = \"reverse\""));
    // An acknowledgement for each byte, and programs of which something arrived.
    assert_eq!(codes(530, 66 * 530, |_| ()), ["limited-by-application"]);
    assert_eq!(
        codes(5_000_000, 5_000_000, |_| ()),
        ["limited-by-application"]
    );
    // Of what gave up, or is no program, something else is to be told.
    let gave_up = |flow: &mut FlowSummary| flow.aborted = true;
    assert_eq!(codes(530, 5_000_000, gave_up), ["limited-by-application"]);
    let datagrams = |flow: &mut FlowSummary| flow.transport = cclab_trace::schema::Carrier::Udp;
    assert_eq!(codes(530, 5_000_000, datagrams), [""; 0]);
}

/// What went back on a link that all flows share was another's as well.
#[test]
fn a_program_whose_way_back_is_shared_is_not_said_to_fetch() {
    let told = raised("chain", 530, 50_000_000, |_| ());
    let codes: Vec<_> = told.into_iter().map(|warning| warning.code).collect();
    assert_eq!(codes, ["limited-by-application"]);
}
