//! The lists are true of the study file.

use std::collections::BTreeSet;

use super::*;
use crate::de::keys_of;
use crate::{Overrides, Scenario, Study, written};

fn scenario(text: &str) -> Scenario {
    let study = Study::load(text, "study.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let plan = study.plan(&Overrides::default(), &|_, _| "1".to_owned());
    let mut plan = plan.unwrap_or_else(|e| panic!("{e}\n{text}"));
    plan.scenarios.swap_remove(0).scenario
}

/// `lines` with `key = value`: in the table that they end with, else as a line of its own, before the
/// tables that they bring.
fn with(lines: &str, key: &Key, value: &str) -> String {
    let addition = format!("{} = {value}", key.name);
    match (lines.strip_suffix(" }"), lines.split_once("\n[[")) {
        (Some(open), _) => format!("{open}, {addition} }}"),
        (None, Some((own, tables))) => format!("{own}\n{addition}\n[[{tables}"),
        (None, None) => format!("{lines}\n{addition}"),
    }
}

#[test]
fn what_is_listed_can_be_written_and_defaults_are_those_that_hold() {
    let mut defaults = 0;
    for kind in [APPLICATIONS, IMPAIRMENTS, RECEIVERS, TOPOLOGIES].concat() {
        if kind.name == "trace" {
            continue; // names a file
        }
        let plain = scenario(&kind.example.study());
        for key in kind.keys {
            let Some(default) = key.default else { continue };
            let given = with(kind.example.lines(), key, default);
            let given = scenario(&kind.example.study_with(&given));
            assert_eq!(plain, given, "{} of {}", key.name, kind.name);
            defaults += 1;
        }
    }
    assert!(defaults >= 14, "{defaults} defaults");
}

fn names(kinds: &[Kind]) -> BTreeSet<&'static str> {
    kinds.iter().map(|kind| kind.name).collect()
}

#[test]
fn every_topology_is_listed() {
    let schema: serde_json::Value = serde_json::from_str(&crate::schema()).expect("JSON");
    let known = schema["$defs"]["Topology"]["oneOf"]
        .as_array()
        .expect("a choice");
    let known = known
        .iter()
        .map(|one| one["const"].as_str().expect("a name"));
    assert_eq!(names(TOPOLOGIES), known.collect());
}

#[test]
fn every_application_and_each_of_its_keys_is_listed() {
    for kind in APPLICATIONS {
        let flow = scenario(&kind.example.study()).flows.swap_remove(0);
        let known = flow
            .application
            .as_ref()
            .map(|application| application.name());
        let known = known.or(flow.udp.map(|source| source.name()));
        let name = known.unwrap_or("bulk");
        assert_eq!(name, kind.name);
    }
    let listed = APPLICATIONS.iter().flat_map(|kind| kind.keys);
    let listed: BTreeSet<&str> = listed.map(|key| key.name).chain(["kind"]).collect();
    let known = keys_of::<written::Application>().iter().copied().collect();
    assert_eq!(listed, known);
}

#[test]
fn every_behaviour_of_receivers_and_each_of_its_keys_is_listed() {
    for kind in RECEIVERS {
        let flow = scenario(&kind.example.study()).flows.swap_remove(0);
        let name = flow.receiver.map_or("honest", |receiver| receiver.name());
        assert_eq!(name, kind.name);
    }
    let listed = RECEIVERS.iter().flat_map(|kind| kind.keys);
    let listed: BTreeSet<&str> = listed.map(|key| key.name).chain(["kind"]).collect();
    let known = keys_of::<written::Receiver>().iter().copied().collect();
    assert_eq!(listed, known);
}

#[test]
fn every_impairment_and_each_of_its_keys_is_listed() {
    let of_links = ["rate", "delay", "queue"];
    let known = keys_of::<written::Bottleneck>().iter().copied();
    let known: BTreeSet<&str> = known.filter(|key| !of_links.contains(key)).collect();
    let key = |kind: &Kind| kind.name.split('.').next().expect("a first part");
    assert_eq!(known, IMPAIRMENTS.iter().map(key).collect());

    let listed = |of: &str| -> BTreeSet<&str> {
        let kinds = IMPAIRMENTS.iter().filter(|kind| key(kind) == of);
        kinds
            .flat_map(|kind| kind.keys)
            .map(|key| key.name)
            .collect()
    };
    let set = |keys: &[&'static str]| keys.iter().copied().collect::<BTreeSet<&str>>();
    assert_eq!(listed("loss"), set(keys_of::<written::Loss>()));
    assert_eq!(listed("outage"), set(keys_of::<written::Outage>()));
    assert_eq!(listed("jitter"), set(keys_of::<written::Jitter>()));
    assert_eq!(listed("slots"), set(keys_of::<written::Slots>()));
    assert_eq!(listed("reorder"), set(keys_of::<written::Reorder>()));
    assert_eq!(listed("schedule"), set(keys_of::<written::Change>()));
    let when = IMPAIRMENTS.iter().find(|kind| kind.name == "schedule.when");
    let told = when.map_or("", |kind| kind.keys[0].meaning);
    for key in keys_of::<written::When>() {
        assert!(told.contains(&format!("`{key}`")), "{key}");
    }
}
