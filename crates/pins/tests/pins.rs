//! What short runs come to is what the table says, or a version was raised.

use std::path::Path;

#[test]
fn behaviour_changes_with_its_version_alone() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("pins.txt");
    let accept = std::env::var("CCLAB_PINS").is_ok_and(|what| what == "accept");
    if let Err(why) = cclab_pins::check(&file, &cclab_pins::found(), accept) {
        panic!("{why}");
    }
}
