//! The documentation says what the code declares.

use cclab_trace::tables::{TABLES, markdown};

#[test]
fn the_schema_page_is_the_declared_schema() {
    let page = include_str!("../../../docs/trace-schema.md");
    assert!(
        page == markdown(),
        "run `cargo run -p cclab-trace --example trace-schema > docs/trace-schema.md`"
    );
}

#[test]
fn every_column_is_unique_in_its_table_and_explained() {
    for table in TABLES {
        for (index, column) in table.columns.iter().enumerate() {
            let earlier = &table.columns[..index];
            assert!(
                earlier.iter().all(|other| other.name != column.name),
                "{}",
                column.name
            );
            assert!(column.doc.ends_with('.'), "{}.{}", table.name, column.name);
        }
    }
}
