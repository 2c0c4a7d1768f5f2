//! What good studies become: scenarios, points, runs.

use cclab_spec::{
    Limit, Overrides, Place, Plan, Repeats, Start, Study, Subject, Topology, fuzzing,
};
use cclab_units::Time;
use proptest::prelude::*;
use serde_json::json;

const QUICKSTART: &str = include_str!("../../../examples/quickstart.toml");
const TAHOE_RENO: &str = include_str!("../../../examples/tahoe-reno.toml");
const FORCED_DROP: &str = include_str!("../../../examples/forced-drop.toml");

/// A study of one flow; `more` is appended.
fn one_flow(more: &str) -> String {
    format!(
        "duration = \"10s\"\n\
         [network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"20ms\"\nqueue = {{ limit = \"1bdp\" }}\n\
         [[flow]]\nname = \"a\"\nrtt = \"100ms\"\n{more}\n"
    )
}

fn try_plan(text: &str, overrides: &Overrides) -> Result<Plan, String> {
    Study::load(text, "study.toml")
        .and_then(|study| study.plan(overrides, &|_, _| "1".to_owned()))
        .map_err(|error| error.to_string())
}

fn plan(text: &str) -> Plan {
    try_plan(text, &Overrides::default()).expect("a good study")
}

fn set(settings: &[&str]) -> Overrides {
    Overrides {
        set: settings.iter().map(|text| (*text).to_owned()).collect(),
        ..Overrides::default()
    }
}

#[test]
fn a_title_is_set_like_any_other_key() {
    let study = Study::load(&one_flow(""), "study.toml");
    let overrides = set(&["title=Another", "question=Why?"]);
    let frame = study
        .and_then(|study| study.plan_points(&overrides, &|_, _| "1".to_owned(), &mut |_| Ok(())))
        .expect("a good study");
    assert_eq!(frame.title.as_deref(), Some("Another"));
    assert_eq!(frame.question.as_deref(), Some("Why?"));
}

#[test]
fn quickstart_is_two_scenarios_of_five_seeds() {
    let plan = plan(QUICKSTART);
    assert_eq!(plan.scenarios.len(), 2);
    assert_eq!(plan.scenarios[0].params["flow.short.cc"], json!("reno"));
    let seeds: Vec<(usize, u64)> = plan
        .runs
        .iter()
        .map(|run| (run.point, run.run.seed))
        .collect();
    assert_eq!(seeds[..6], [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 1)]);
    let scenario = &plan.scenarios[1].scenario;
    // 100 Mbit/s times the larger base RTT, 100 ms.
    assert_eq!(
        scenario.network.bottleneck.queue.limit,
        Limit::Bytes(1_250_000)
    );
    // The path has 2 (1 + 5 + 1) = 14 ms of the 20 and 100 ms asked for.
    assert_eq!(scenario.flows[0].extra_delay, Time::from_millis(3));
    assert_eq!(scenario.flows[1].extra_delay, Time::from_millis(43));
    assert_eq!(
        scenario.flows[0].start,
        Start {
            at: Time::ZERO,
            spread: Time::from_millis(100)
        }
    );
    assert_eq!(
        (scenario.warmup, scenario.duration),
        (Time::from_secs(5), Some(Time::from_secs(60)))
    );
    assert_eq!(scenario.stack, "linux-6.12");
}

#[test]
fn tahoe_reno_is_the_product_of_its_lists() {
    let plan = plan(TAHOE_RENO);
    assert_eq!(plan.scenarios.len(), 2 * 4 * 3 * 4);
    // The last list of the file varies fastest.
    let limits: Vec<&str> = plan.scenarios[..5]
        .iter()
        .map(|point| {
            point.params["network.bottleneck.queue.limit"]
                .as_str()
                .expect("a text")
        })
        .collect();
    assert_eq!(limits, ["2000B", "8000B", "32000B", "64000B", "2000B"]);
    let scenario = &plan.scenarios[0].scenario;
    assert_eq!(scenario.network.topology, Topology::Chain);
    assert_eq!(scenario.flows[0].transfer, Some(100_000_000));
    assert_eq!(scenario.flows[0].extra_delay, Time::ZERO);
}

#[test]
fn forced_drop_keeps_what_the_kernel_needs() {
    let plan = plan(FORCED_DROP);
    assert_eq!(plan.runs[0].run.backend, "linux");
    let scenario = &plan.scenarios[0].scenario;
    assert_eq!(scenario.duration, None);
    assert_eq!(scenario.network.access.rate, None);
    let outage = scenario.network.bottleneck.outage[0];
    assert_eq!(
        (outage.at, outage.start),
        (Place::Router, Time::from_secs(4))
    );
    assert_eq!(scenario.flows[0].sysctl["net.ipv4.tcp_window_scaling"], "0");
    assert_eq!(scenario.flows[0].extra_delay, Time::from_millis(200));
}

#[test]
fn zipped_keys_advance_together() {
    let text = one_flow(
        "[sweep]\nzip = [[\"flow.a.cc\", \"flow.a.rtt\"]]\n\"flow.a.cc\" = [\"reno\", \"vegas\"]\n\
         \"network.bottleneck.rate\" = [\"1Mbit\", \"2Mbit\", \"3Mbit\"]\n\
         \"flow.a.rtt\" = [\"50ms\", \"80ms\"]",
    );
    let points: Vec<String> = plan(&text)
        .scenarios
        .iter()
        .map(|point| {
            point
                .params
                .values()
                .map(|v| v.as_str().expect("a text"))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(
        points,
        [
            "reno 1Mbit 50ms",
            "reno 2Mbit 50ms",
            "reno 3Mbit 50ms",
            "vegas 1Mbit 80ms",
            "vegas 2Mbit 80ms",
            "vegas 3Mbit 80ms",
        ]
    );
}

#[test]
fn any_key_of_the_contract_can_be_swept_present_or_not() {
    for axis in [
        "\"network.bottleneck.queue.limit\" = [\"20p\", \"50ms\"]",
        "\"network.bottleneck.queue.kind\" = [\"droptail\", \"codel\"]",
        "\"network.bottleneck.loss\" = [\"1%\", 0.02]",
        "\"network.bottleneck.queue\" = [{ limit = \"9p\" }, { kind = \"codel\", limit = \"9p\", target = \"5ms\" }]",
        "\"network.access.rate\" = [\"1Gbit\", \"2Gbit\"]",
        "\"flow.a.start.spread\" = [\"0s\", \"1s\"]",
        "\"flow.start\" = [\"0s\", { at = \"1s\" }]",
        "\"flow.a.count\" = [1, 2]",
        "\"flow.a.sysctl.\\\"net.ipv4.tcp_sack\\\"\" = [0, 1]",
        "\"flow.cc\" = [\"reno\", \"bbr\"]",
        "flow.a.cc = [\"reno\", \"bbr\"]",
        "stack = [\"rfc\", \"ns2\"]",
        "duration = [\"1s\", \"2s\"]",
        "\"trace.interval\" = [\"0s\", \"1s\"]",
        "\"network.topology\" = [\"chain\", \"dumbbell\"]",
    ] {
        let plan = plan(&one_flow(&format!("[sweep]\n{axis}")));
        assert_eq!(plan.scenarios.len(), 2, "{axis}");
        assert_ne!(
            plan.scenarios[0].scenario, plan.scenarios[1].scenario,
            "{axis}"
        );
    }
}

#[test]
fn a_key_that_only_the_sweep_gives_may_be_absent() {
    let text = one_flow("[sweep]\n\"network.bottleneck.queue.limit\" = [\"20p\", \"30p\"]")
        .replace("queue = { limit = \"1bdp\" }\n", "");
    assert_eq!(plan(&text).scenarios.len(), 2);
}

#[test]
fn counted_flows_are_numbered() {
    let names = |count: u32| -> Vec<String> {
        let plan = plan(&one_flow(&format!("count = {count}")));
        plan.scenarios[0]
            .scenario
            .flows
            .iter()
            .map(|flow| flow.name.clone())
            .collect()
    };
    assert_eq!(names(1), ["a"]);
    assert_eq!(names(3), ["a.1", "a.2", "a.3"]);
}

#[test]
fn a_flow_counted_zero_is_absent_with_its_captures() {
    let text = one_flow(
        "[[flow]]\nname = \"rival\"\n[trace]\ncapture = [\"rival.sender\", \"rival.left.access\", \"a.sender\"]\n\
         [sweep]\n\"flow.rival.count\" = [0, 1]",
    );
    let plan = plan(&text);
    let alone = &plan.scenarios[0].scenario;
    assert_eq!((alone.flows.len(), alone.flows[0].name.as_str()), (1, "a"));
    assert_eq!(alone.trace.capture, ["a.sender"]);
    let rivals = &plan.scenarios[1].scenario;
    assert_eq!(rivals.flows.len(), 2);
    assert_eq!(
        rivals.trace.capture,
        ["rival.sender", "rival.left.access", "a.sender"]
    );
}

#[test]
fn a_flow_of_a_parking_lot_has_the_delay_of_what_it_crosses() {
    let plan = plan(
        "duration = \"10s\"\n[network]\ntopology = \"parking-lot\"\nbottlenecks = 4\n\
         bottleneck = { rate = \"10Mbit\", delay = \"10ms\", queue = { limit = \"1bdp\" } }\n\
         [[flow]]\nrtt = \"100ms\"\n[[flow]]\nrtt = \"100ms\"\ncrosses = [2, 3]\n\
         [[flow]]\ncrosses = [1, 4]\n",
    );
    let scenario = &plan.scenarios[0].scenario;
    assert_eq!(scenario.network.bottlenecks, 4);
    let crosses: Vec<_> = scenario.flows.iter().map(|flow| flow.crosses).collect();
    assert_eq!(crosses, [None, Some([2, 3]), None]);
    let extra: Vec<_> = scenario.flows.iter().map(|flow| flow.extra_delay).collect();
    let ms = Time::from_millis;
    assert_eq!(extra, [ms(10), ms(30), Time::ZERO]);
    // The largest base RTT is 100 ms, whatever a flow crosses.
    assert_eq!(
        scenario.network.bottleneck.queue.limit,
        Limit::Bytes(125_000)
    );
}

#[test]
fn keys_that_a_study_leaves_out_are_not_in_the_content_of_its_runs() {
    let scenario = serde_json::to_value(&plan(QUICKSTART).scenarios[0].scenario).expect("JSON");
    for absent in [
        "/network/bottlenecks",
        "/flows/0/crosses",
        "/flows/0/server",
    ] {
        assert!(scenario.pointer(absent).is_none(), "{absent}");
    }
}

#[test]
fn a_start_lies_in_its_spread_by_seed_and_name() {
    let plan = plan(&one_flow(
        "start = { at = \"1s\", spread = \"50ms\" }\ncount = 2",
    ));
    let flows = &plan.scenarios[0].scenario.flows;
    let (first, second) = (flows[0].start_time(7), flows[1].start_time(7));
    let spread = Time::from_secs(1)..Time::from_millis(1050);
    assert!(spread.contains(&first) && spread.contains(&second));
    assert_ne!(first, second);
    assert_ne!(first, flows[0].start_time(8));
    assert_eq!(first, flows[0].start_time(7));
}

#[test]
fn queues_are_measured_in_bytes_packets_time_and_bdp() {
    let limit = |text: &str| {
        let study = one_flow("").replace("1bdp", text);
        plan(&study).scenarios[0]
            .scenario
            .network
            .bottleneck
            .queue
            .limit
    };
    assert_eq!(limit("64kB"), Limit::Bytes(64_000));
    assert_eq!(limit("64KiB"), Limit::Bytes(65_536));
    assert_eq!(limit("100p"), Limit::Packets(100));
    assert_eq!(limit("50ms"), Limit::Bytes(62_500));
    assert_eq!(limit("1bdp"), Limit::Bytes(125_000));
    assert_eq!(limit("0.25bdp"), Limit::Bytes(31_250));
}

#[test]
fn expectations_name_what_they_measure() {
    let plan = plan(&one_flow(
        "count = 2\n[expect]\nfair = \"jain >= 0.95\"\nfast = \"flow.a.2.goodput_bps>40e6\"\n\
         full = \"bottleneck.utilization > 0.9\"\nless = \"jain < 2 * flow.a.1.share\"",
    ));
    let subjects: Vec<(&str, &Subject, &str)> = plan
        .expectations
        .iter()
        .flat_map(|e| e.metrics.iter().map(move |named| (e, named)))
        .map(|(e, named)| (e.label.as_str(), &named.subject, named.metric.as_str()))
        .collect();
    assert_eq!(
        subjects,
        [
            ("fair", &Subject::Run, "jain"),
            ("fast", &Subject::Flow("a.2".to_owned()), "goodput_bps"),
            ("full", &Subject::Bottleneck, "utilization"),
            ("less", &Subject::Run, "jain"),
            ("less", &Subject::Flow("a.1".to_owned()), "share"),
        ]
    );
}

/// Flows of a `count` are a group by themselves; a `group` joins others, in whichever direction.
#[test]
fn flows_of_a_count_and_of_a_group_belong_together() {
    let plan = plan(&format!(
        "{}[[flow]]\nname = \"up\"\ngroup = \"web\"\n[[flow]]\nname = \"down\"\ngroup = \"web\"\n\
         count = 2\ndirection = \"reverse\"\n[[flow]]\nname = \"alone\"\n\
         [expect]\nweb = \"group.web.jain > 0.5\"\n",
        one_flow("count = 2\n")
    ));
    let scenario = &plan.scenarios[0].scenario;
    let of = scenario.flows.iter();
    let of: Vec<(&str, Option<&str>)> = of.map(|flow| (flow.name.as_str(), flow.group())).collect();
    assert_eq!(
        of,
        [
            ("a.1", Some("a")),
            ("a.2", Some("a")),
            ("up", Some("web")),
            ("down.1", Some("web")),
            ("down.2", Some("web")),
            ("alone", None),
        ]
    );
    assert_eq!(scenario.groups(), ["a", "web"]);
    assert_eq!(
        plan.expectations[0].metrics[0].subject,
        Subject::Group("web".to_owned())
    );
}

/// The name of a count is the name of its group already: nothing is written that was not before,
/// and what a run is called stays.
#[test]
fn a_count_alone_changes_no_scenario() {
    let plan = plan(&one_flow("count = 2\n"));
    let text = serde_json::to_string(&plan.scenarios[0].scenario).expect("JSON");
    assert!(!text.contains("group"), "{text}");
}

#[test]
fn settings_go_where_sweeps_go() {
    let overrides = Overrides {
        repeat: Some(Repeats::Times(2)),
        seed: Some(7),
        backend: Some("linux".to_owned()),
        ..set(&[
            "flow.short.cc=vegas",
            "network.bottleneck.rate=50Mbit",
            "trace.events=[\"ack\"]",
            "flow.mss = \"1000B\"",
        ])
    };
    let plan = try_plan(QUICKSTART, &overrides).expect("good settings");
    // What is set is swept no longer.
    assert_eq!(plan.scenarios.len(), 1);
    let runs: Vec<_> = plan
        .runs
        .iter()
        .map(|run| (run.run.seed, run.run.backend.as_str()))
        .collect();
    assert_eq!(runs, [(7, "linux"), (8, "linux")]);
    let scenario = &plan.scenarios[0].scenario;
    assert_eq!(scenario.flows[0].cc, "vegas");
    assert_eq!(
        (scenario.flows[0].mss, scenario.flows[1].mss),
        (Some(1000), Some(1000))
    );
    assert_eq!(scenario.trace.events.len(), 1);
    assert_eq!(
        scenario.network.bottleneck.queue.limit,
        Limit::Bytes(625_000)
    );
    let plan = try_plan(QUICKSTART, &set(&["sweep.flow.short.cc=[\"bbr\"]"])).expect("a list");
    assert_eq!(plan.scenarios[0].scenario.flows[0].cc, "bbr");
    assert_eq!(plan.study["sweep"], json!({ "flow.short.cc": ["bbr"] }));
}

#[test]
fn a_wrong_setting_is_refused_by_column() {
    for (setting, message) in [
        (
            "flow.shrt.cc=reno",
            "--set:1:1: `flow.shrt.cc` names nothing: there is no flow `shrt`; did you mean `flow.short.cc`?",
        ),
        (
            "flow.short.cc=cubik",
            "--set:1:15: unknown variant `cubik`; did you mean `cubic`?",
        ),
        (
            "duration=5 mins",
            "--set:1:10: \"5 mins\" has the unknown unit `mins`; write \"5min\" or \"300s\"",
        ),
        (
            "stak=rfc",
            "--set:1:1: unknown key `stak`; did you mean `stack`?",
        ),
        (
            "trace.events=[\"ack\", \"que\"]",
            "--set:1:22: unknown value `que`; one of `ack`, `queue`, `drop`, `state`",
        ),
        (
            "duration",
            "--set:1:1: `duration` sets nothing; write KEY=VALUE, such as flow.short.cc=cubic",
        ),
    ] {
        assert_eq!(
            try_plan(QUICKSTART, &set(&[setting])).map(|_| ()),
            Err(message.to_owned())
        );
    }
    let nothing = Overrides {
        repeat: Some(Repeats::Times(0)),
        ..Overrides::default()
    };
    let message = "--repeat:1:1: `0` repeats run nothing; repeat is at least 1";
    assert_eq!(
        try_plan(QUICKSTART, &nothing).map(|_| ()),
        Err(message.to_owned())
    );
}

#[test]
fn a_kernel_set_without_quotes_is_the_text_that_was_typed() {
    let plan = try_plan(QUICKSTART, &set(&["kernel=6.10", "flow.short.kernel = 7"]));
    let scenario = &plan.expect("names").scenarios[0].scenario;
    assert_eq!(scenario.kernel.as_deref(), Some("6.10"));
    assert_eq!(scenario.flows[0].kernel.as_deref(), Some("7"));
    // Numbers stay numbers where numbers are wanted, and a time needs its unit.
    let plan = try_plan(QUICKSTART, &set(&["seed=7"])).expect("a number");
    assert_eq!(plan.runs[0].run.seed, 7);
    let without_unit = try_plan(QUICKSTART, &set(&["duration=7"])).map(|_| ());
    assert!(without_unit.is_err_and(|told| told.contains("has no unit")));
}

#[test]
fn a_kernel_written_as_a_number_is_refused_with_its_text_in_quotes() {
    let message = |place: &str, text: &str| {
        Err(format!(
            "{place}: expected a text, found `{text}`; a text stands in quotes: \"{text}\""
        ))
    };
    let told = |text: &str| try_plan(text, &Overrides::default()).map(|_| ());
    let top = format!("kernel = 6.10\n{QUICKSTART}");
    assert_eq!(told(&top), message("study.toml:1:10", "6.10"));
    let list = ["sweep.kernel=[6.1, \"6.12\"]"];
    let swept = try_plan(QUICKSTART, &set(&list)).map(|_| ());
    assert_eq!(swept, message("--set:1:15", "6.1"));
}

#[test]
fn what_an_argument_replaces_is_told_by_the_argument() {
    let overrides = Overrides {
        replaced: vec![(
            "argument cubik".to_owned(),
            "flow.short.cc=\"cubik\"".to_owned(),
        )],
        ..Overrides::default()
    };
    let message = "argument cubik: unknown variant `cubik`; did you mean `cubic`?";
    assert_eq!(
        try_plan(QUICKSTART, &overrides).map(|_| ()),
        Err(message.to_owned())
    );
}

#[test]
fn a_command_written_as_a_text_is_refused_with_its_list() {
    for (text, list) in [
        (
            "'iperf3 -c {dst} -R'",
            "\"iperf3\", \"-c\", \"{dst}\", \"-R\"",
        ),
        (
            "'sh -c \"iperf3\"'",
            "\"iperf3\", \"-c\", \"{dst}\", \"-t\", \"{duration}\"",
        ),
    ] {
        let study = one_flow(&format!("command = {text}\n"));
        let told = try_plan(&study, &Overrides::default()).map(|_| ());
        let wanted = format!(": a program and its arguments are a list; write [{list}]");
        assert!(
            told.as_ref().is_err_and(|told| told.ends_with(&wanted)),
            "{told:?}"
        );
    }
}

#[test]
fn the_id_of_a_run_is_the_hash_of_what_can_change_its_result() {
    let id = |text: &str, version: &str, overrides: &Overrides| {
        let study = Study::load(text, "study.toml").expect("a good study");
        study
            .plan(overrides, &|_, _| version.to_owned())
            .expect("a plan")
            .runs[0]
            .run
            .id
            .clone()
    };
    let none = Overrides::default();
    let text = one_flow("");
    let base = id(&text, "1", &none);
    assert_eq!(base.len(), 20);
    assert_eq!(base, id(&text, "1", &none));
    // Titles and other spellings of the same quantity change nothing.
    assert_eq!(base, id(&format!("title = \"t\"\n{text}"), "1", &none));
    assert_eq!(base, id(&text.replace("10Mbit", "10000kbit/s"), "1", &none));
    for other in [
        id(&text, "2", &none),
        id(
            &text,
            "1",
            &Overrides {
                seed: Some(2),
                ..Overrides::default()
            },
        ),
        id(
            &text,
            "1",
            &Overrides {
                backend: Some("netns".to_owned()),
                ..Overrides::default()
            },
        ),
        id(&text, "1", &set(&["flow.a.cc=reno"])),
    ] {
        assert_ne!(base, other);
    }
}

#[test]
fn points_that_are_one_scenario_share_their_runs() {
    let plan = plan(&one_flow(
        "[sweep]\n\"network.bottleneck.rate\" = [\"1Mbit\", \"1000kbit\"]",
    ));
    assert_eq!(plan.scenarios.len(), 2);
    assert_eq!(plan.runs[0].run.id, plan.runs[1].run.id);
}

#[test]
fn a_plan_survives_json() {
    let plan = plan(QUICKSTART);
    let text = serde_json::to_string(&plan).expect("a plan is JSON");
    assert_eq!(
        serde_json::from_str::<Plan>(&text).expect("the same plan"),
        plan
    );
}

proptest! {
    /// A study with some of its bytes replaced, removed or doubled is refused or planned.
    #[test]
    fn no_mutation_of_an_example_panics(
        example in 0..3_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<u8>()), 1..8),
    ) {
        let mut bytes = [QUICKSTART, TAHOE_RENO, FORCED_DROP][example].as_bytes().to_vec();
        for (at, edit, byte) in edits {
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[at]),
            }
        }
        fuzzing::fuzz_study(&bytes);
    }

    #[test]
    fn no_text_panics(text in "[\\[\\]{}=\".,a-z0-9#\n ]{0,200}") {
        fuzzing::fuzz_study(text.as_bytes());
    }

    #[test]
    fn no_setting_panics(key in "[a-z.\"]{0,20}", value in "\\PC{0,20}") {
        let _ = try_plan(QUICKSTART, &set(&[&format!("{key}={value}")]));
    }
}

/// A study beside a file of delivery opportunities, in a folder of its own.
fn with_trace(name: &str, trace: &str) -> (std::path::PathBuf, String) {
    let folder = std::env::temp_dir().join(format!("cclab-spec-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("cellular.up"), trace).expect("a trace");
    let text = one_flow("").replace("rate = \"10Mbit\"", "trace = \"cellular.up\"");
    (folder.join("study.toml"), text)
}

fn plan_at(file: &std::path::Path, text: &str) -> Result<Plan, String> {
    Study::load(text, file)
        .and_then(|study| study.plan(&Overrides::default(), &|_, _| "1".to_owned()))
        .map_err(|error| error.to_string())
}

#[test]
fn a_trace_is_part_of_the_run_by_its_content() {
    let (file, text) = with_trace("content", "2\n5\n10\n");
    let first = plan_at(&file, &text).expect("a good study");
    let link = &first.scenarios[0].scenario.network.bottleneck;
    // Three opportunities of 1504 bytes in 10 ms.
    assert_eq!(link.rate.map(|rate| rate.bps()), Some(3_609_600));
    // The file may be elsewhere: the same run. Other content: another.
    let moved = text.replace("cellular.up", "./cellular.up");
    let again = plan_at(&file, &moved).expect("a good study");
    assert_eq!(first.runs[0].run.id, again.runs[0].run.id);
    let (file, text) = with_trace("content", "2\n6\n10\n");
    let other = plan_at(&file, &text).expect("a good study");
    assert_ne!(first.runs[0].run.id, other.runs[0].run.id);
    let json = serde_json::to_string(&first.runs[0].run).expect("a run is JSON");
    let back: cclab_spec::Run = serde_json::from_str(&json).expect("a run");
    assert_eq!(back, first.runs[0].run);
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("removed");
}

#[test]
fn a_bad_trace_is_told_with_its_file_and_line() {
    let (file, text) = with_trace("bad", "2\n5\n4\n");
    let message = plan_at(&file, &text).expect_err("a bad trace");
    assert_eq!(
        message,
        "cellular.up:3:1: this delivery opportunity lies before the last one; the times of a \
         trace never run backwards"
    );
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("removed");
}

#[test]
fn a_way_back_has_what_it_gives_and_else_what_the_bottleneck_has() {
    let way_back = |reverse: &str| {
        let text = one_flow("").replace(
            "delay = \"20ms\"",
            &format!(
                "delay = \"20ms\"\nloss = \"1%\"\n\
                 schedule = [{{ at = \"1s\", rate = \"5Mbit\", delay = \"10ms\", loss = 0 }}]\n{reverse}"
            ),
        );
        plan(&text).scenarios[0].scenario.network.bottleneck.clone()
    };
    let mirror = way_back("");
    assert_eq!(mirror.reverse, None);
    let back = mirror.way_back();
    assert_eq!((back.rate, back.delay), (mirror.rate, mirror.delay));
    assert_eq!((back.loss.len(), back.schedule.len()), (0, 1));
    assert_eq!(back.schedule[0].loss, None);
    // What is no different is no way back of its own.
    assert_eq!(
        way_back("reverse = { rate = \"10Mbit\", delay = \"20ms\" }").schedule,
        mirror.schedule
    );
    let own = way_back("reverse = { rate = \"1Mbit\", loss = \"2%\" }");
    let back = own.way_back();
    assert_eq!(back.rate.map(|rate| rate.bps()), Some(1_000_000));
    assert_eq!(back.loss, [cclab_spec::Loss::random(Place::Router, 0.02)]);
    // Its rate is its own from the beginning: only the delay changes with the bottleneck's.
    assert_eq!(
        (back.schedule[0].rate, back.schedule[0].delay),
        (None, Some(Time::from_millis(10)))
    );
    // One bandwidth-delay product at its own rate.
    assert_eq!(back.queue.limit, Limit::Bytes(12_500));
}
