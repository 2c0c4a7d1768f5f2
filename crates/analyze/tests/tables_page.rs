//! The page of the tables is printed from their declarations.

#[test]
fn the_page_is_what_the_declarations_print() {
    let page = include_str!("../../../docs/analyze-tables.md");
    assert!(
        page == cclab_analyze::markdown(),
        "run `cargo run -p cclab-analyze --example tables > docs/analyze-tables.md`"
    );
}
