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
