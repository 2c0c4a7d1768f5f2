//! The warnings.

use super::*;

/// The warnings of the hand-made run after `change`.
fn warned(change: impl Fn(&mut Trace)) -> Vec<String> {
    let mut trace = trace();
    // Give the late flow the whole run, so that nothing is doubtful before the change.
    let late = &mut trace.summary.flows[1];
    (late.started, late.ended) = (Some(Time::ZERO), None);
    (late.fast_recoveries, late.limited.cwnd) = (40, seconds(95.0));
    change(&mut trace);
    codes(&measure(&trace, &WARMUP))
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// A flow whose application is meant to limit it is as the study wants it; its neighbour is not.
#[test]
fn an_application_that_is_meant_to_limit_is_no_doubt() {
    let mut trace = trace();
    for flow in &mut trace.summary.flows {
        flow.limited = Limited {
            application: seconds(95.0),
            ..Limited::default()
        };
    }
    let names: Vec<String> = trace.summary.flows.iter().map(|f| f.name.clone()).collect();
    let message = |meant: &[String]| {
        let input = MeasureInput {
            meant_by_application: meant.to_vec(),
            ..WARMUP
        };
        let warnings = measure(&trace, &input).warnings;
        let raised = warnings
            .into_iter()
            .find(|w| w.code == "limited-by-application");
        raised.map(|warning| warning.message)
    };
    assert!(message(&[]).is_some_and(|text| text.contains(&names[0])));
    let of_other = message(&names[..1]).expect("the other is not meant to be");
    assert!(of_other.contains(&names[1]) && !of_other.contains(&format!("{} (", names[0])));
    assert_eq!(message(&names), None);
    // Nor is a program that is no TCP; one that is may still be too slow for the network.
    let programs = |in_force: &str| {
        let mut trace = trace.clone();
        for flow in &mut trace.summary.flows {
            flow.cc_in_force = in_force.to_owned();
        }
        let input = MeasureInput {
            programs: names.clone(),
            ..WARMUP
        };
        let codes = measure(&trace, &input).warnings.into_iter().map(|w| w.code);
        codes
            .filter(|code| code == "limited-by-application")
            .count()
    };
    assert_eq!((programs(""), programs("cubic")), (0, 1));
}

/// A run that was another one when it was done again is told of, with what differed and by whom.
#[test]
fn a_run_that_does_not_repeat_is_told_of() {
    let message = |differs: &[&str]| {
        let input = MeasureInput {
            differs: differs.iter().map(|&name| name.to_owned()).collect(),
            variant_files: vec!["Mine".to_owned()],
            ..WARMUP
        };
        let warnings = measure(&trace(), &input).warnings;
        let mut raised = warnings.into_iter().filter(|w| w.code == "not-repeatable");
        raised.next().map(|warning| warning.message)
    };
    assert_eq!(message(&[]), None);
    let told = message(&["acks.parquet"]).expect("a doubt");
    assert!(
        told.ends_with("acks.parquet differ by what Mine did"),
        "{told}"
    );
}

/// A study that names kernels is of them on the kernels alone.
#[test]
fn kernels_that_a_study_names_are_not_modelled() {
    let message = |named: &[&str], machines: usize| {
        let mut trace = trace();
        trace.summary.machines = vec![Machine::default(); machines];
        let input = MeasureInput {
            kernels: named.iter().map(|&name| name.to_owned()).collect(),
            ..WARMUP
        };
        let warnings = measure(&trace, &input).warnings;
        let mut raised = warnings
            .into_iter()
            .filter(|w| w.code == "kernel-not-modelled");
        raised.next().map(|warning| warning.message)
    };
    let told = message(&["6.1", "6.12"], 0).expect("a doubt");
    assert!(told.ends_with("nothing is of 6.1, 6.12"), "{told}");
    assert_eq!(message(&["6.1"], 1), None);
    assert_eq!(message(&[], 0), None);
}

#[test]
fn each_doubt_is_raised_alone_by_what_causes_it() {
    assert_eq!(warned(|_| ()), [""; 0]);
    let limit = |set: fn(&mut Limited, Time)| {
        move |trace: &mut Trace| {
            let limited = &mut trace.summary.flows[1].limited;
            *limited = Limited::default();
            set(limited, seconds(51.0));
        }
    };
    assert_eq!(warned(limit(|l, t| l.rwnd = t)), ["limited-by-rwnd"]);
    assert_eq!(
        warned(limit(|l, t| l.application = t)),
        ["limited-by-application"]
    );
    assert_eq!(warned(limit(|l, t| l.sndbuf = t)), ["limited-by-sndbuf"]);
    assert_eq!(warned(limit(|l, t| l.pacing = t)), [""; 0]);
    // The warm-up of 10 s is left out: 80 s of 90 s, then 82 s.
    assert_eq!(
        warned(|t| t.summary.flows[1].started = Some(seconds(20.0))),
        ["partial-overlap"]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].started = Some(seconds(18.0))),
        [""; 0]
    );
    assert_eq!(
        warned(|t| t.queue_samples[3].1.tx_bytes = 9_500_000 + 80_000_000),
        ["bottleneck-not-full"]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].srtt_mean = Some(seconds(3.1))),
        ["too-few-round-trips"]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].srtt_mean = Some(seconds(2.9))),
        [""; 0]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].fast_recoveries = 19),
        ["too-few-loss-cycles"]
    );
    // Windows of 75 segments: 19 of losses, and one of marks.
    let marked = |echoes| {
        warned(|t| {
            t.summary.flows[0].fast_recoveries = 18;
            t.summary.flows[0].ecn_echoes = echoes;
        })
    };
    assert_eq!(marked(74), ["too-few-loss-cycles"]);
    assert_eq!(marked(75), [""; 0]);
    let stalled = |last_byte, snd_nxt| {
        warned(|t| {
            t.summary.flows[0].last_byte = Some(seconds(last_byte));
            t.summary.flows[0].bytes_received = 9_000_000;
            let last = t.flow_samples.iter_mut().rev();
            let mut last = last.filter(|(_, sample)| sample.flow == 0);
            let (_, sample) = last.next().expect("a sample");
            (sample.snd_una, sample.snd_nxt) = (1000, snd_nxt);
        })
    };
    // Measured from 10 s to 100 s.
    assert_eq!(stalled(77.0, 2000), ["flow-stalled"]);
    assert_eq!(stalled(78.0, 2000), [""; 0]);
    assert_eq!(stalled(77.0, 1000), [""; 0]);
    let silent = |t: &mut Trace| {
        let link = &mut t.summary.links[0];
        (
            link.queue_drops,
            link.random_drops,
            link.outage_drops,
            link.marks,
        ) = (0, 0, 0, 0);
        t.summary.flows[0].retransmits = 0;
    };
    assert_eq!(warned(silent), ["no-congestion-signal"]);
    let obeying = |variants: [&str; 2], files: &[&str]| {
        let mut trace = trace();
        silent(&mut trace);
        for (flow, cc) in trace.summary.flows.iter_mut().zip(variants) {
            (flow.cc, flow.cc_in_force) = (cc.into(), cc.into());
        }
        let input = MeasureInput {
            variant_files: files.iter().map(|&file| file.to_owned()).collect(),
            ..WARMUP
        };
        let warnings = measure(&trace, &input).warnings.into_iter();
        let mut raised = warnings.filter(|w| w.code == "no-congestion-signal");
        raised.next().map(|warning| warning.message)
    };
    // BBR goes by its model and Vegas by delay: neither waits for a loss.
    assert_eq!(obeying(["bbr", "vegas"], &[]), None);
    let of_reno = obeying(["bbr", "reno"], &[]).expect("reno was not put to the test");
    assert!(of_reno.ends_with("slow down: late (reno)"), "{of_reno}");
    // What the variant of a file waits for is not known.
    assert!(obeying(["bbr", "foo"], &[]).is_some());
    assert_eq!(obeying(["bbr", "foo"], &["foo"]), None);
    let echoed = |t: &mut Trace| {
        silent(t);
        t.summary.flows[1].ecn_echoes = 1;
    };
    assert_eq!(warned(echoed), [""; 0]);
    assert_eq!(
        warned(|t| t.summary.flows[1].aborted = true),
        ["incomplete-transfer"]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].last_byte = Some(seconds(20.2 + 34.0))),
        ["goodput-above-rate"]
    );
    let faster = MeasureInput {
        largest_rates: vec![None, Rate::from_bps(16_000_000)],
        ..WARMUP
    };
    let mut short = trace();
    short.summary.flows[1].last_byte = Some(seconds(20.2 + 34.0));
    let short = measure(&short, &faster);
    assert!(!codes(&short).contains(&"goodput-above-rate"));
    let absent = |t: &mut Trace| {
        t.summary.flows[1] = FlowSummary {
            name: "absent".into(),
            ..FlowSummary::default()
        };
    };
    assert_eq!(warned(absent), ["never-started"]);
}

#[test]
fn a_flow_that_never_started_is_told_when_it_should_have() {
    let mut trace = trace();
    trace.summary.flows[1] = FlowSummary {
        name: "absent".into(),
        ..FlowSummary::default()
    };
    let told = |spread: Time| {
        let start = |at| Start { at, spread };
        let input = MeasureInput {
            starts: vec![start(Time::ZERO), start(seconds(150.0))],
            ..WARMUP
        };
        let warnings = measure(&trace, &input).warnings.into_iter();
        let mut told = warnings.filter(|warning| warning.code == "never-started");
        told.next().expect("it never did").message
    };
    assert_eq!(
        told(Time::ZERO),
        "the run ended at 100s, before the start of absent (at 150s): nothing here is about them"
    );
    assert!(told(seconds(0.5)).contains("absent (from 150s to 150.5s):"));
}

/// All of a transfer is handed over at once: what follows is no idle application.
#[test]
fn the_end_of_a_transfer_is_not_held_against_its_application() {
    let mut trace = trace();
    trace.summary.flows[1].limited = Limited {
        application: seconds(60.0),
        ..Limited::default()
    };
    let raised = |finite: &[&str], programs: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let input = MeasureInput {
            finite: names(finite),
            programs: names(programs),
            ..WARMUP
        };
        codes(&measure(&trace, &input)).contains(&"limited-by-application")
    };
    assert!(raised(&[], &[]));
    assert!(!raised(&["late"], &[]));
    assert!(raised(&["late"], &["late"]), "a program writes as it likes");
}

#[test]
fn each_remedy_for_a_small_send_buffer_is_a_key_that_helps() {
    let mut trace = trace();
    trace.summary.flows[1].limited = Limited {
        sndbuf: seconds(60.0),
        ..Limited::default()
    };
    let remedy = |programs: Vec<String>| {
        let input = MeasureInput { programs, ..WARMUP };
        let warnings = measure(&trace, &input).warnings.into_iter();
        let mut raised = warnings.filter(|w| w.code == "limited-by-sndbuf");
        raised.next().expect("it was held back").remedy
    };
    let own = remedy(Vec::new());
    assert!(
        own.contains("`sndbuf`") && !own.contains("tcp_wmem"),
        "{own}"
    );
    assert!(remedy(vec!["late".into()]).contains("net.ipv4.tcp_wmem"));
}

#[test]
fn samples_ten_round_trips_apart_are_too_coarse() {
    let raised = |every: Time, end: f64| {
        let mut trace = trace();
        trace.summary.flows[0].rtt_min = Some(Time::from_micros(20));
        trace.summary.end = seconds(end);
        let input = MeasureInput {
            sampled_every: every,
            ..WARMUP
        };
        let warnings = measure(&trace, &input).warnings.into_iter();
        let mut coarse = warnings.filter(|warning| warning.code == "coarse-samples");
        coarse
            .next()
            .map(|warning| (warning.message, warning.remedy))
    };
    // A hundred round trips apart, peaks of queues are missed.
    let (message, remedy) = raised(Time::from_millis(2), 100.0).expect("too coarse");
    assert!(
        message.starts_with("samples are 2ms apart and round trips take 20us"),
        "{message}"
    );
    // Ten million samples are five million of each of two flows.
    assert_eq!(remedy, "set trace.interval to 20us or less");
    let (_, remedy) = raised(Time::from_millis(2), 101.0).expect("too coarse");
    assert!(
        remedy.starts_with("set trace.interval to 20us or less, and `duration` to 100s or less"),
        "{remedy}"
    );
    assert_eq!(raised(Time::from_micros(200), 100.0), None);
    // Without samples in between there is nothing to mislead.
    assert_eq!(raised(Time::ZERO, 100.0), None);
}

#[test]
fn a_host_that_did_not_keep_up_is_named_with_what_it_did() {
    let host = |fidelity: Fidelity| warned(|t| t.summary.fidelity = Some(fidelity));
    let late = |timer_late_max_ns| Fidelity {
        timer_late_max_ns,
        ..Fidelity::default()
    };
    assert_eq!(host(late(1_000_000)), [""; 0]);
    assert_eq!(host(late(1_000_001)), ["host-too-slow"]);
    let short_path = |nanos| {
        warned(|t| {
            t.summary.fidelity = Some(late(nanos));
            t.summary.flows[0].srtt_mean = Some(Time::from_millis(4));
        })
    };
    assert_eq!(short_path(400_000), [""; 0]);
    assert_eq!(short_path(400_001), ["host-too-slow"]);
    let busy = |cpu_busy| Fidelity {
        cpu_busy,
        ..Fidelity::default()
    };
    assert_eq!(host(busy(0.9)), [""; 0]);
    assert_eq!(host(busy(0.91)), ["host-too-slow"]);
    let mut all = trace();
    all.summary.fidelity = Some(Fidelity {
        timer_late_max_ns: 2_500_000,
        cpu_busy: 0.95,
        softirq_squeezed: 3,
        softnet_dropped: 4,
        ..Fidelity::default()
    });
    let warning = measure(&all, &WARMUP).warnings.remove(0);
    assert_eq!(
        warning.message,
        "the host did not keep up with real time: timers up to 2.500 ms late, processors busy \
         for 95% of the run, receiving put off 3 times, 4 packets dropped between interfaces"
    );
}

#[test]
fn a_bottleneck_that_misses_its_rate_with_packets_waiting_tells_of_the_host() {
    // Seconds, bytes sent by then, backlog: 1,000,000 bytes a second are due.
    let samples = |rows: &[(f64, u64, u64)]| -> Vec<(Time, QueueSample)> {
        let sample = |&(at, tx_bytes, backlog): &(f64, u64, u64)| {
            let sample = QueueSample {
                tx_bytes,
                backlog,
                ..QueueSample::default()
            };
            (seconds(at), sample)
        };
        rows.iter().map(sample).collect()
    };
    let judged = |rows: &[(f64, u64, u64)], rate_changes: Option<f64>| {
        let mut trace = trace();
        trace.summary.fidelity = Some(Fidelity::default());
        trace.queue_samples = samples(rows);
        let input = MeasureInput {
            rate_changes: rate_changes.map(seconds),
            ..WARMUP
        };
        measure(&trace, &input)
            .fidelity
            .expect("a run in real time")
    };
    let kept = judged(&[(1.0, 0, 500), (2.0, 980_000, 1000)], None);
    assert_eq!(kept.verdict, Verdict::KeptUp);
    assert_eq!(kept.rate_achieved, Some(0.98));
    let missed = judged(&[(1.0, 0, 500), (2.0, 979_000, 1000)], None);
    assert_eq!(missed.verdict, Verdict::TooSlow);
    assert_eq!(
        missed.reasons,
        ["the bottleneck sent at 97.9% of its rate while packets waited"]
    );
    // A queue that was nearly empty, a rate that is another one, too short a time: no verdict.
    let lows = [(1.0, 0, 1000), (2.0, 500_000, 249), (3.0, 900_000, 1000)];
    assert_eq!(judged(&lows, None).rate_achieved, None);
    let changed = [
        (1.0, 0, 1000),
        (2.0, 1_000_000, 1000),
        (3.0, 1_100_000, 1000),
    ];
    assert_eq!(judged(&changed, Some(2.0)).rate_achieved, Some(1.0));
    let short = [(1.0, 0, 1000), (1.4, 100_000, 1000)];
    assert_eq!(judged(&short, None).rate_achieved, None);
    // Not in real time, there is nothing to keep up with.
    let mut simulated = trace();
    simulated.queue_samples = samples(&[(1.0, 0, 500), (2.0, 100_000, 1000)]);
    assert_eq!(measure(&simulated, &WARMUP).fidelity, None);
}

#[test]
fn another_variant_than_the_one_asked_for_is_named() {
    let in_force = |name: &'static str| {
        warned(move |t| {
            let flow = &mut t.summary.flows[1];
            (flow.cc, flow.cc_in_force) = ("bbr".into(), name.into());
        })
    };
    assert_eq!(in_force("bbr"), [""; 0]);
    assert_eq!(in_force(""), [""; 0]);
    assert_eq!(in_force("cubic"), ["variant-not-in-force"]);
}

#[test]
fn a_bottleneck_that_flows_cannot_fill_is_said_once() {
    let codes = warned(|t| {
        t.queue_samples[3].1.tx_bytes = 50_000_000;
        t.summary.flows[1].limited = Limited {
            rwnd: seconds(95.0),
            ..Limited::default()
        };
    });
    assert_eq!(codes, ["limited-by-rwnd"]);
}

#[test]
fn flows_apart_are_a_partial_overlap() {
    let metrics = measure(&trace(), &WARMUP);
    assert!(codes(&metrics).contains(&"partial-overlap"));
    let warning = &metrics.warnings[0];
    assert!(warning.message.contains("70.000 s") && warning.message.contains("long"));
    assert!(!warning.remedy.is_empty());
}

#[test]
fn a_flow_that_was_over_before_the_warm_up_overlaps_with_nobody() {
    let mut trace = trace();
    trace.summary.flows[1].ended = None;
    trace.summary.flows[1].started = Some(Time::ZERO);
    let mut early = trace.summary.flows[0].clone();
    early.name = "early".into();
    early.ended = Some(seconds(8.0));
    trace.summary.flows.push(early);
    let metrics = measure(&trace, &WARMUP);
    assert!(!codes(&metrics).contains(&"partial-overlap"));
    // One that saw a little of it does not overlap with the others for long.
    trace.summary.flows[2].ended = Some(seconds(12.0));
    let metrics = measure(&trace, &WARMUP);
    assert!(codes(&metrics).contains(&"partial-overlap"));
}

#[test]
fn a_program_that_sends_neither_tcp_nor_udp_is_no_partial_overlap() {
    let mut trace = trace();
    trace.summary.flows[1].ended = None;
    trace.summary.flows[1].started = Some(Time::ZERO);
    let ping = FlowSummary {
        name: "ping".into(),
        transport: cclab_trace::schema::Carrier::Nothing,
        started: Some(seconds(20.0)),
        ended: Some(seconds(21.0)),
        ..FlowSummary::default()
    };
    trace.summary.flows.push(ping);
    let metrics = measure(&trace, &WARMUP);
    assert!(!codes(&metrics).contains(&"partial-overlap"));
    // What it would be as a flow that is measured.
    trace.summary.flows[2].transport = cclab_trace::schema::Carrier::Tcp;
    let metrics = measure(&trace, &WARMUP);
    assert!(codes(&metrics).contains(&"partial-overlap"));
}

#[test]
fn repeats_are_identical_or_not() {
    let one = measure(&trace(), &WARMUP);
    let mut other = one.clone();
    other.flows[0].rtos = other.flows[0].rtos.map(|rtos| rtos + 1);
    assert_eq!(identical_repeats(&[]), None);
    assert_eq!(identical_repeats(std::slice::from_ref(&one)), None);
    assert_eq!(identical_repeats(&[one.clone(), other.clone()]), None);
    let warning = identical_repeats(&[one.clone(), other, one]).expect("two of three agree");
    assert_eq!(warning.code, "identical-repeats");
    assert!(warning.message.contains("3 repeats") && warning.message.contains("only 2"));
}

/// The warning of cross traffic without an `rtt`, where a bottleneck has `delay` and a study `rest`.
fn without_rtt(delay: &str, rest: &str) -> Option<cclab_metrics::Warning> {
    told_before(
        &format!("delay = \"{delay}\""),
        rest,
        "cross-traffic-without-rtt",
    )
}

/// The warning `code` of a study with `keys` of its bottleneck and `rest`, which its plan tells too.
fn told_before(keys: &str, rest: &str, code: &str) -> Option<cclab_metrics::Warning> {
    let study = format!(
        "duration = \"60s\"\n[network.bottleneck]\nrate = \"10Mbit\"\n{keys}\n\
         queue = {{ limit = \"100p\" }}\n{rest}\n"
    );
    let plan = cclab_spec::Study::load(&study, "study.toml")
        .and_then(|study| study.plan(&cclab_spec::Overrides::default(), &|_, _| "id".to_owned()));
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    let scenario = &plan.runs[0].run.scenario;
    let input = MeasureInput {
        nearby: MeasureInput::from(scenario).nearby,
        slower_slots: MeasureInput::from(scenario).slower_slots,
        ..WARMUP
    };
    let warnings = measure(&trace(), &input).warnings.into_iter();
    let mut found = warnings.filter(|warning| warning.code == code);
    let raised = found.next();
    let before = cclab_metrics::foreseen(scenario).pop();
    assert_eq!(
        raised.as_ref().map(|one| &one.message),
        before.as_ref().map(|one| &one.message),
        "a plan tells what a run will"
    );
    raised
}

const POISSON: &str =
    "[[traffic]]\nname = \"web\"\nkind = \"poisson\"\nload = 0.2\ntransfer = \"30kB\"\n";

#[test]
fn cross_traffic_that_a_sweep_over_rtt_does_not_reach_is_told_of() {
    let raised = |traffic: &str| {
        let flow = "[[flow]]\nname = \"a\"\nrtt = \"40ms\"\n";
        without_rtt("0s", &format!("{flow}{traffic}"))
    };
    let warning = raised(POISSON).expect("its path has no delay");
    let told = "web over 0s, where the flows have 40ms or more;";
    assert!(warning.message.contains(told), "{}", warning.message);
    assert!(
        warning.remedy.contains("put traffic.web.rtt"),
        "{}",
        warning.remedy
    );
    assert_eq!(raised(&format!("{POISSON}rtt = \"40ms\"")), None);
    assert_eq!(
        raised(&format!("{POISSON}rtt = \"1ms\"")),
        None,
        "a path of its own"
    );
    let datagrams = "[[traffic]]\nkind = \"constant-rate\"\nload = 0.2";
    assert_eq!(raised(datagrams), None, "nothing waits for anything");
}

#[test]
fn cross_traffic_over_a_bottleneck_with_delay_is_told_of_as_well() {
    let beside = |flows: &str| without_rtt("5ms", &format!("{flows}{POISSON}"));
    let warning = beside("[[flow]]\nrtt = \"200ms\"\n").expect("a twentieth of the flow's");
    let told = "web over 10ms, where the flows have 200ms or more;";
    assert!(warning.message.contains(told), "{}", warning.message);
    assert_eq!(beside("[[flow]]\nrtt = \"20ms\"\n"), None, "half of it");
    let mixed = "[[flow]]\nrtt = \"200ms\"\n[[flow]]\n";
    assert_eq!(beside(mixed), None, "a flow has the traffic's path");
}

#[test]
fn cross_traffic_over_fewer_links_than_the_flows_is_the_topology_of_a_study() {
    let lot = "[network]\ntopology = \"parking-lot\"\nbottlenecks = 5\n[[flow]]\n";
    let one = format!("{lot}{POISSON}crosses = [2, 2]\n");
    assert_eq!(without_rtt("5ms", &one), None);
}

/// By hand, over 10 Mbit/s: 4 packets of 1514 bytes each 5 ms are 9.6896 Mbit/s, 5 are 12.1 Mbit/s;
/// 4543 bytes are used up by the fourth packet, 6057 by the fifth.
#[test]
fn slots_that_let_less_pass_than_their_link_are_told_of() {
    let raised = |slots: &str| {
        let keys = format!("slots = {{ every = [\"4ms\", \"6ms\"], {slots} }}");
        told_before(&keys, "[[flow]]\n", "slots-slower-than-link")
    };
    let warning = raised("packets = 4").expect("less than the link's rate");
    let told = "bottleneck (9.6896Mbit of 10Mbit)";
    assert!(warning.message.contains(told), "{}", warning.message);
    assert!(warning.remedy.contains("`packets`"), "{}", warning.remedy);
    assert_eq!(raised("packets = 5"), None);
    assert!(raised("bytes = \"4543B\"").is_some());
    assert_eq!(raised("bytes = \"6057B\""), None);
    assert!(
        raised("packets = 4, bytes = \"60570B\"").is_some(),
        "the narrower limit counts"
    );
    assert_eq!(
        told_before(
            "slots = { every = \"5ms\" }",
            "[[flow]]\n",
            "slots-slower-than-link"
        ),
        None
    );
}
