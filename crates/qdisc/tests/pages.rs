//! Every discipline of the simulator has a page under docs/queues that lists its parameters as they
//! are, and a row in the contents that says whether kernels have it.

use std::path::Path;

use cclab_qdisc::{Discipline, simulated};

/// The table of a discipline's parameters as its page has it.
fn table(discipline: &Discipline) -> String {
    let mut lines = vec![
        "| parameter | measures | default | from | to | meaning |".to_owned(),
        "| --- | --- | ---: | ---: | ---: | --- |".to_owned(),
    ];
    for parameter in discipline.params {
        let default = match parameter.default {
            derived if derived.is_nan() => String::new(),
            number => number.to_string(),
        };
        lines.push(format!(
            "| `{}` | {} | {default} | {} | {} | {} |",
            parameter.name,
            parameter.measure.name(),
            parameter.least,
            parameter.most,
            parameter.meaning
        ));
    }
    lines.join("\n")
}

#[test]
fn every_discipline_has_a_page_with_its_parameters() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queues");
    let contents = std::fs::read_to_string(pages.join("README.md")).expect("the contents");
    for discipline in simulated() {
        let name = discipline.name;
        let file = format!("{name}.md");
        let page = std::fs::read_to_string(pages.join(&file)).unwrap_or_default();
        assert!(
            page.starts_with(&format!("# {name}\n")),
            "no docs/queues/{file}"
        );
        assert!(
            contents.contains(&format!("({file})")),
            "{name} is not in the contents"
        );
        let row = contents
            .lines()
            .find(|line| line.contains(&format!("({file})")));
        let on_kernel = row.is_some_and(|row| row.ends_with("| yes |"));
        assert_eq!(
            on_kernel,
            discipline.kernel.is_some(),
            "{name}: on a kernel?"
        );
        if !discipline.params.is_empty() {
            let table = table(discipline);
            assert!(
                page.contains(&table),
                "docs/queues/{file} must have:\n{table}\n"
            );
        }
    }
}
