//! The names that the study file knows, against the registries that give them meaning.

use cclab_spec::{Overrides, Study};

fn plans(stack: &str, cc: &str, qdisc: &str, limit: &str) -> Result<(), String> {
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
    let plan = study
        .plan(&Overrides::default(), "test")
        .map_err(|error| error.to_string())?;
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

/// The study file refuses queues below one packet and so knows each profile's segment size.
#[test]
fn the_smallest_queue_follows_the_profile() {
    for profile in cclab_tcp::profile::PROFILES {
        let packet = profile.wire.mss + 40;
        assert_eq!(
            plans(profile.name, "reno", "droptail", &format!("{packet}B")),
            Ok(())
        );
        let smaller = plans(
            profile.name,
            "reno",
            "droptail",
            &format!("{}B", packet - 1),
        );
        assert!(
            smaller.is_err_and(|why| why.contains("packet")),
            "{}",
            profile.name
        );
    }
}

#[test]
fn what_the_simulator_does_not_do_is_refused_by_name() {
    assert_eq!(
        plans("linux-6.12", "bbr3", "droptail", "9p"),
        Err("variant bbr3".to_string())
    );
    assert_eq!(
        plans("linux-6.12", "reno", "cake", "9p"),
        Err("queue cake".to_string())
    );
}
