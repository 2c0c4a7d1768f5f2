//! The names that the study file knows, against the registries that give them meaning.

use cclab_spec::{Overrides, Plan, Study};

fn plan_of(stack: &str, cc: &str, qdisc: &str, limit: &str) -> Result<Plan, String> {
    let text = format!(
        r#"
        duration = "1s"
        stack = "{stack}"
        [network]
        topology = "dumbbell"
        [network.bottleneck]
        rate = "10Mbit"
        delay = "10ms"
        queue = {{ kind = "{qdisc}", limit = "{limit}" }}
        [[flow]]
        cc = "{cc}"
        "#
    );
    let study = Study::load(&text, "names.toml").map_err(|error| error.to_string())?;
    study
        .plan(&Overrides::default(), &|_, _| "test".to_owned())
        .map_err(|error| error.to_string())
}

fn plans(stack: &str, cc: &str, qdisc: &str, limit: &str) -> Result<(), String> {
    let plan = plan_of(stack, cc, qdisc, limit)?;
    match cclab_sim::unsupported(&plan.runs[0].run.scenario).first() {
        None => Ok(()),
        Some(refused) => Err(refused.what.clone()),
    }
}

#[test]
fn every_registered_name_is_known_to_the_study_file() {
    for profile in cclab_tcp::profile::PROFILES {
        for variant in cclab_cc::simulated() {
            for discipline in cclab_qdisc::simulated() {
                plans(profile.name, variant.name, discipline.name, "100p").unwrap_or_else(|why| {
                    panic!(
                        "{} {} {}: {why}",
                        profile.name, variant.name, discipline.name
                    )
                });
            }
        }
    }
}

/// The study file refuses queues that cannot hold a packet, and so knows how large a packet of
/// each profile is and whether its queues reach their limit. The smallest queue that it takes
/// carries data.
#[test]
fn the_smallest_queue_carries_data() {
    for profile in cclab_tcp::profile::PROFILES {
        let wire = &profile.wire;
        let payload = profile.payload_of(wire.mss);
        let options = if wire.timestamps { 12 } else { 0 };
        let headers = wire.ip_header + wire.tcp_header + wire.framing + options;
        let exclusive = u32::from(profile.queue_limit_is_exclusive);
        let least = payload + u32::from(headers) + exclusive;
        for (limit, too_small) in [
            (format!("{least}B"), format!("{}B", least - 1)),
            (format!("{}p", 1 + exclusive), format!("{exclusive}p")),
        ] {
            let plan = plan_of(profile.name, "reno", "droptail", &limit).expect("enough");
            let run = &plan.runs[0].run;
            let summary = cclab_sim::run(&run.scenario, 1, &mut (), &Default::default());
            let received = summary.expect("the run succeeds").flows[0].bytes_received;
            assert!(received > 0, "{} {limit}", profile.name);
            let refused = plan_of(profile.name, "reno", "droptail", &too_small);
            assert!(refused.is_err(), "{} {too_small}", profile.name);
        }
    }
}

#[test]
fn what_the_simulator_does_not_do_is_refused_by_name() {
    assert_eq!(
        plans("linux-6.12", "cdg", "droptail", "9p"),
        Err("variant cdg".to_string())
    );
    assert_eq!(
        plans("linux-6.12", "reno", "cake", "9p"),
        Err("queue cake".to_string())
    );
}

/// Plans `text`; gives the message of its refusal.
fn refusal(text: &str) -> Option<String> {
    let study = Study::load(text, "study.toml");
    let plan = study.and_then(|study| study.plan(&Overrides::default(), &|_, _| String::new()));
    plan.err().map(|error| error.to_string())
}

/// As [`refusal`], of a study whose bottleneck of 10 Mbit/s has `queue`.
fn refusal_of_queue(queue: &str) -> Option<String> {
    refusal(&format!(
        "duration = \"1s\"\n[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"10ms\"\n\
         queue = {{ {queue} }}\n[[flow]]\n"
    ))
}

/// As [`refusal`], of a study whose flow of `cc` has `params`.
fn refusal_of_variant(cc: &str, params: &str) -> Option<String> {
    refusal(&format!(
        "duration = \"1s\"\n[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"10ms\"\n\
         queue = {{ limit = \"9p\" }}\n[[flow]]\ncc = \"{cc}\"\ncc_params = {{ {params} }}\n"
    ))
}

#[test]
fn parameters_of_another_dimension_are_refused_where_they_stand() {
    for (queue, what) in [
        (
            "kind = \"codel\", limit = \"9p\", target = \"0.5%\"",
            "5:41: target = \"0.5%\" of codel; it is a time: write for example \"5ms\" or \"2s\"",
        ),
        (
            "kind = \"codel\", limit = \"9p\", target = 5",
            "target = 5 of",
        ),
        (
            "kind = \"codel\", limit = \"9p\", ecn = \"1ms\"",
            "a switch",
        ),
        ("kind = \"codel\", limit = \"9p\", ecn = 0.5", "a switch"),
        ("kind = \"codel\", limit = \"9p\", target = true", "a time"),
        (
            "kind = \"codel\", limit = \"9p\", target = \"2min\"",
            "it lies between 1us and 60s",
        ),
        ("kind = \"tbf\", limit = \"9p\", rate = 5000000", "a rate"),
        ("kind = \"tbf\", limit = \"9p\", rate = \"64kB\"", "a rate"),
        ("kind = \"tbf\", limit = \"9p\", burst = \"10ms\"", "bytes"),
        ("kind = \"tbf\", limit = \"9p\", burst = 2000.5", "whole"),
        ("kind = \"red\", limit = \"99p\", min = \"5p\"", "bytes"),
        ("kind = \"choke\", limit = \"99p\", min = 5.5", "whole"),
        (
            "kind = \"red\", limit = \"99p\", probability = \"1ms\"",
            "share",
        ),
        ("kind = \"fq\", limit = \"9p\", buckets = \"9p\"", "whole"),
        ("kind = \"pie\", limit = \"9p\", alpha = \"1%\"", "number"),
    ] {
        let refused = refusal_of_queue(queue).unwrap_or_else(|| panic!("{queue} is taken"));
        let placed = refused.starts_with("study.toml:5:");
        assert!(placed && refused.contains(what), "{queue}: {refused}");
    }
    for (cc, params, what) in [
        ("ledbat++", "target = 60", "8:15: target = 60 of ledbat++"),
        ("ledbat++", "target = \"6%\"", "a time"),
        ("hybla", "rtt0 = 25", "a time"),
        ("cubic", "beta = \"7ms\"", "a share"),
        ("cubic", "hystart = 2", "between false and true"),
        ("vegas", "alpha = 1.5", "whole number of segments"),
        ("bbr", "probe_rtt_mode_ms = \"1500us\"", "milliseconds"),
        ("bbr", "pacing_margin_percent = \"0.5%\"", "per cent"),
        (
            "vegas",
            "beta = 3, alpha = 4",
            "8:15: alpha = 4 and beta = 3 of vegas; alpha is no more than beta",
        ),
        (
            "highspeed",
            "low_window = 90000",
            "low_window = 90000 and high_window = 83000",
        ),
        (
            "adaptive-a",
            "ceiling = 1000",
            "start = 1500 and ceiling = 1000",
        ),
        (
            "bbr3",
            "probe_rtt_interval = \"100ms\"",
            "probe_rtt_duration = 200ms and probe_rtt_interval = 100ms of bbr3",
        ),
    ] {
        let refused = refusal_of_variant(cc, params);
        let refused = refused.unwrap_or_else(|| panic!("{cc} {params} is taken"));
        let placed = refused.starts_with("study.toml:8:");
        assert!(placed && refused.contains(what), "{cc} {params}: {refused}");
    }
}

#[test]
fn parameters_of_their_dimension_are_taken() {
    for queue in [
        "kind = \"codel\", limit = \"9p\", target = \"1ms\", ecn = true, ce_threshold = 0",
        "kind = \"codel\", limit = \"9p\", ecn = 1",
        "kind = \"tbf\", limit = \"9p\", rate = \"1Mbit\", burst = \"2kB\", mtu = 2000",
        "kind = \"red\", limit = \"99p\", probability = \"2%\", weight = 0.01",
        "kind = \"red-1990s\", limit = \"99p\", min = \"5p\", max = 7.5",
    ] {
        assert_eq!(refusal_of_queue(queue), None, "{queue}");
    }
    for (cc, params) in [
        ("ledbat++", "target = \"60ms\""),
        ("hybla", "rtt0 = \"50ms\""),
        ("cubic", "beta = \"80%\", hystart = false"),
        ("vegas", "alpha = 3, beta = 3"),
        ("bbr", "probe_rtt_mode_ms = 100, min_rtt_win_sec = \"2.5s\""),
        (
            "bbr",
            "probe_rtt_mode_ms = \"1001ms\", pacing_margin_percent = \"7%\"",
        ),
        ("lp", "timestamp_offset = 0, uptime = \"1min\""),
    ] {
        assert_eq!(refusal_of_variant(cc, params), None, "{cc} {params}");
    }
}

#[test]
fn parameters_of_queues_that_contradict_each_other_are_refused_where_they_stand() {
    for (queue, place, what) in [
        (
            "kind = \"red\", limit = \"100p\", min = \"60kB\", max = \"30kB\"",
            "5:55",
            "min = 60000 and max = 30000 of red",
        ),
        (
            "kind = \"red-1990s\", limit = \"100p\", min = 20",
            "5:47",
            "min = 20 and max = 15 of red-1990s",
        ),
        (
            "kind = \"adaptive-red\", limit = \"100p\", max = 9, min = 9",
            "",
            "min = 9 and max = 9 of adaptive-red",
        ),
        (
            "kind = \"choke\", limit = \"100p\", min = 40, max = 20",
            "",
            "min = 40 and max = 20 of choke",
        ),
        (
            "kind = \"choke\", limit = \"50p\", min = 10, max = 60",
            "",
            "max = 60 of choke",
        ),
        (
            "kind = \"red\", limit = \"20kB\", min = \"30kB\"",
            "",
            "min = 30000 of red",
        ),
        (
            "kind = \"red\", limit = \"100p\", min = \"30kB\", burst = 20",
            "",
            "min = 30000 and burst = 20 of red",
        ),
        (
            "kind = \"codel\", limit = \"100p\", target = \"200ms\"",
            "",
            "target = 200ms and interval = 100ms of codel",
        ),
        (
            "kind = \"fq_codel\", limit = \"100p\", interval = \"5ms\"",
            "",
            "target = 5ms and interval = 5ms of fq_codel",
        ),
        (
            "kind = \"tbf\", limit = \"100p\", peakrate = \"10Mbit\"",
            "",
            "rate = 10Mbit and peakrate = 10Mbit of tbf",
        ),
        (
            "kind = \"tbf\", limit = \"100p\", burst = \"1kB\"",
            "",
            "burst = 1000 of tbf",
        ),
        (
            "kind = \"tbf\", limit = \"100p\", peakrate = \"20Mbit\", mtu = \"1kB\"",
            "",
            "mtu = 1000 and peakrate = 20Mbit of tbf",
        ),
        (
            "kind = \"policer\", limit = \"100p\", burst = \"1kB\"",
            "",
            "burst = 1000 of policer",
        ),
    ] {
        let refused = refusal_of_queue(queue).unwrap_or_else(|| panic!("{queue} is taken"));
        let begins = format!("study.toml:{}", if place.is_empty() { "5:" } else { place });
        assert!(
            refused.starts_with(&begins) && refused.contains(what),
            "{queue}: {refused}"
        );
    }
}

#[test]
fn parameters_of_queues_that_fit_each_other_are_taken() {
    for queue in [
        "kind = \"red\", limit = \"100p\", min = \"10kB\", max = \"30kB\", burst = 20",
        "kind = \"red\", limit = \"100p\", min = \"60kB\"",
        "kind = \"red-1990s\", limit = \"100p\", min = 20, max = 21",
        "kind = \"red-1990s\", limit = \"4p\"",
        "kind = \"adaptive-red\", limit = \"100p\", max = 9",
        "kind = \"choke\", limit = \"100p\", min = 10, burst = 10",
        "kind = \"codel\", limit = \"100p\", target = \"200ms\", interval = \"1s\"",
        "kind = \"tbf\", limit = \"100p\", peakrate = \"11Mbit\", burst = \"1514B\"",
        "kind = \"tbf\", limit = \"100p\", mtu = \"1kB\"",
        "kind = \"policer\", limit = \"100p\", burst = \"1514B\"",
    ] {
        assert_eq!(refusal_of_queue(queue), None, "{queue}");
    }
}
