//! What fuzzers look for, over fixed seeds.

use cclab_units::Stream;

use super::{Author, Outcome, judge};

const STUDIES: u64 = 300;

#[test]
fn studies_of_any_kind_are_refused_at_a_place_or_keep_the_laws() {
    let (mut refused, mut broken) = (Vec::new(), Vec::new());
    for seed in 0..STUDIES {
        let mut dice = Stream::new(seed, "studies");
        let data: Vec<u8> = (0..150).flat_map(|_| dice.bits().to_le_bytes()).collect();
        let text = Author::new(&data).study();
        match judge(&text) {
            Ok(Outcome::Ran(_)) => {}
            Ok(Outcome::Refused(why)) => refused.push(why),
            Err(law) => broken.push(format!("{law}\n{text}")),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    let ran = STUDIES - refused.len() as u64;
    assert!(ran >= STUDIES / 3, "{ran} of {STUDIES} ran: {refused:#?}");
    assert!(!refused.is_empty(), "no study was refused");
}

#[test]
fn no_bytes_at_all_spell_a_study_that_runs() {
    let outcome = judge(&Author::new(&[]).study());
    assert!(matches!(outcome, Ok(Outcome::Ran(_))), "{outcome:?}");
}

/// A fuzzer found that 65,535 flows take longer than it waits.
#[test]
fn studies_of_thousands_of_flows_are_left_out() {
    let study = |count| {
        format!(
            "duration = \"100ms\"\n\
             network = {{ bottleneck = {{ rate = \"1Mbit\", delay = \"1ms\", \
             queue = {{ limit = \"10p\" }} }} }}\n\
             flow = [{{ count = {count} }}]\n"
        )
    };
    assert!(matches!(judge(&study(200)), Ok(Outcome::Ran(_))));
    assert!(matches!(judge(&study(201)), Ok(Outcome::Refused(_))));
}
