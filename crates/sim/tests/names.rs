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
        .plan(&Overrides::default(), &|_| "test".to_owned())
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
        for variant in cclab_cc::VARIANTS {
            for discipline in cclab_qdisc::QDISCS {
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
        let payload = cclab_sim::payload_of(wire.mss, profile);
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

/// Plans a study whose bottleneck of 10 Mbit/s has `queue`; gives the message of its refusal.
fn refusal_of_queue(queue: &str) -> Option<String> {
    let text = format!(
        "duration = \"1s\"\n[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"10ms\"\n\
         queue = {{ {queue} }}\n[[flow]]\n"
    );
    let study = Study::load_knowing(&text, "study.toml", cclab_sim::fuzzing::names());
    let plan = study.and_then(|study| study.plan(&Overrides::default(), &|_| String::new()));
    plan.err().map(|error| error.to_string())
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
            "target = 0.2 and interval = 0.1 of codel",
        ),
        (
            "kind = \"fq_codel\", limit = \"100p\", interval = \"5ms\"",
            "",
            "target = 0.005 and interval = 0.005 of fq_codel",
        ),
        (
            "kind = \"tbf\", limit = \"100p\", peakrate = \"10Mbit\"",
            "",
            "rate = 10000000 and peakrate = 10000000 of tbf",
        ),
        (
            "kind = \"tbf\", limit = \"100p\", burst = \"1kB\"",
            "",
            "burst = 1000 of tbf",
        ),
        (
            "kind = \"tbf\", limit = \"100p\", peakrate = \"20Mbit\", mtu = \"1kB\"",
            "",
            "mtu = 1000 and peakrate = 20000000 of tbf",
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
