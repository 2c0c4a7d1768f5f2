//! The JSON Schema says what the parser says, as far as a schema can.

use std::fs;
use std::path::Path;

use cclab_spec::kinds::{APPLICATIONS, IMPAIRMENTS, RECEIVERS, TOPOLOGIES};
use cclab_spec::{Overrides, Scenario, Study, scenario_schema, schema};
use serde_json::{Value, json};

fn schema_value() -> Value {
    serde_json::from_str(&schema()).expect("a schema is JSON")
}

#[test]
fn it_accepts_every_example() {
    let validator = jsonschema::validator_for(&schema_value()).expect("a valid schema");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("the examples") {
        let path = entry.expect("an example").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = fs::read_to_string(&path).expect("an example");
            let study = Study::load(&text, &path).expect("a good study");
            let problems: Vec<String> = validator
                .iter_errors(&study.to_json())
                .map(|error| error.to_string())
                .collect();
            assert!(problems.is_empty(), "{}: {problems:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 3);
}

#[test]
fn it_refuses_unknown_keys_and_units() {
    let validator = jsonschema::validator_for(&schema_value()).expect("a valid schema");
    let text = include_str!("../../../examples/quickstart.toml");
    let study = Study::load(text, "quickstart.toml")
        .expect("a good study")
        .to_json();
    for (pointer, wrong) in [
        ("/network/bottleneck/rate", "100mbps"),
        ("/duration", "5 mins"),
        ("/backend", "simm"),
        ("/flow/0/cc", "renno"),
    ] {
        let mut bad = study.clone();
        *bad.pointer_mut(pointer).expect("a key of the example") = Value::from(wrong);
        assert!(!validator.is_valid(&bad), "{pointer} = {wrong}");
    }
    let mut bad = study;
    bad["flow"][0]["ccc"] = Value::from("reno");
    assert!(!validator.is_valid(&bad));
}

#[test]
fn every_key_has_a_description() {
    fn visit(value: &Value, path: &str, bare: &mut Vec<String>) {
        if let Some(properties) = value.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                if property.get("description").is_none() {
                    bare.push(format!("{path}/{name}"));
                }
                visit(property, &format!("{path}/{name}"), bare);
            }
        }
        if let Some(definitions) = value.get("$defs").and_then(Value::as_object) {
            for (name, definition) in definitions {
                visit(definition, &format!("{path}/{name}"), bare);
            }
        }
    }
    let mut bare = Vec::new();
    visit(&schema_value(), "", &mut bare);
    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn the_reference_names_every_key_and_its_example_is_a_study() {
    fn keys(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(entries) => {
                if let Some(properties) = value.get("properties").and_then(Value::as_object) {
                    found.extend(properties.keys().cloned());
                }
                entries.values().for_each(|entry| keys(entry, found));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| keys(entry, found)),
            _ => {}
        }
    }
    let reference = include_str!("../../../docs/study-file.md");
    let mut found = Vec::new();
    keys(&schema_value(), &mut found);
    assert!(found.len() > 50, "only {} keys found", found.len());
    let tables = [
        "network",
        "bottleneck",
        "access",
        "flow",
        "traffic",
        "probe",
        "trace",
        "sweep",
        "expect",
    ];
    for key in found.iter().filter(|key| !tables.contains(&key.as_str())) {
        let written = [format!("`{key}`"), format!("{{ {key}"), format!(", {key}")];
        assert!(
            written.iter().any(|form| reference.contains(form)),
            "`{key}` is not described"
        );
    }
    let example = reference
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let study = Study::load(example.expect("a first example"), "study.toml").expect("a good study");
    study
        .plan(&Default::default(), &|_, _| "1".to_owned())
        .expect("a plan");
}

/// The scenario of every example, and of what the lists of kinds show.
fn scenarios() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = fs::read_dir(folder).expect("the examples");
    let files = files.map(|entry| entry.expect("an example").path());
    let mut studies: Vec<(String, String)> = files
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            let text = fs::read_to_string(&path).expect("an example");
            (text, path.display().to_string())
        })
        .collect();
    let kinds = TOPOLOGIES
        .iter()
        .chain(IMPAIRMENTS)
        .chain(APPLICATIONS)
        .chain(RECEIVERS);
    // The example of a trace names a file that nobody has.
    let kinds = kinds.filter(|kind| kind.name != "trace");
    studies.extend(kinds.map(|kind| (kind.example.study(), kind.name.to_owned())));
    let mut all = Vec::new();
    for (text, name) in studies {
        let study = Study::load(&text, &name).expect("a good study");
        let plan = study.plan(&Overrides::default(), &|_, _| String::new());
        let points = plan.expect("a good study").scenarios;
        all.extend(points.into_iter().map(|point| point.scenario));
    }
    assert!(all.len() > 30, "{} scenarios", all.len());
    all
}

#[test]
fn a_scenario_is_what_its_schema_says() {
    let schema: Value = serde_json::from_str(&scenario_schema()).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    for scenario in scenarios() {
        let written = serde_json::to_value(&scenario).expect("a scenario is JSON");
        let problems: Vec<String> = validator
            .iter_errors(&written)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{problems:?}\n{written:#}");
    }
}

#[test]
fn a_key_that_can_be_left_out_of_a_scenario_is_never_null() {
    let schema: Value = serde_json::from_str(&scenario_schema()).expect("a schema is JSON");
    let flow = &schema["$defs"]["Flow"];
    let required = flow["required"].as_array().expect("keys");
    assert!(required.contains(&"rwnd".into()) && !required.contains(&"sndbuf".into()));
    assert_eq!(
        flow["properties"]["rwnd"]["type"],
        json!(["integer", "null"])
    );
    assert_eq!(flow["properties"]["sndbuf"]["type"], "integer");
    assert_eq!(flow["properties"]["udp"]["$ref"], "#/$defs/Datagrams");
}
