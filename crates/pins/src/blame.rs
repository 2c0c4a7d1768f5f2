//! Which version stands for what changed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::table::Row;

/// The parts whose behaviour changed, as far as it shows in which rows `moved` of all that were
/// `found`: one that all of these use and most of whose rows moved, the more general one in doubt;
/// or else each most of whose rows moved. What none of them explains is its own subject's.
pub fn blamed(found: &[Row], moved: &[&Row]) -> Vec<String> {
    let mut uses: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for row in found {
        for part in row.parts() {
            let (all, changed) = uses.entry(part).or_default();
            *all += 1;
            *changed += usize::from(moved.contains(&row));
        }
    }
    // Those of which the largest share moved first, and of equal ones the one that is used most.
    let mut suspects: Vec<(&str, (usize, usize))> = uses.into_iter().collect();
    suspects.retain(|(_, (all, changed))| changed * 2 > *all);
    suspects.sort_by_key(|&(name, (all, changed))| {
        let of_a_million = changed * 1_000_000 / all;
        (Reverse(of_a_million), Reverse(all), name != "core")
    });
    let is_everywhere = |&&(_, (_, changed)): &&(&str, (usize, usize))| changed == moved.len();
    if let Some(&(name, _)) = suspects.iter().find(is_everywhere) {
        return vec![name.to_owned()];
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let explained =
        |names: &BTreeSet<&str>, row: &Row| row.parts().any(|part| names.contains(part));
    for (name, _) in suspects {
        let news = |row: &&&Row| row.parts().any(|part| part == name) && !explained(&names, row);
        if moved.iter().any(|row| news(&row)) {
            names.insert(name);
        }
    }
    let mut rest: Vec<&&Row> = moved.iter().filter(|row| !explained(&names, row)).collect();
    // The core last: what else is named may explain what it showed in.
    rest.sort_by_key(|row| row.subject == "core");
    for row in rest {
        if !explained(&names, row) {
            names.insert(&row.subject);
        }
    }
    names.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIANTS: [&str; 6] = ["bbr", "bic", "cubic", "hybla", "newreno", "reno"];

    fn row(subject: &str, case: &str, parts: &[&str]) -> Row {
        let versions: Vec<String> = parts.iter().map(|part| format!("{part} 1")).collect();
        Row {
            subject: subject.into(),
            case: case.into(),
            versions: versions.join(", "),
            ..Row::default()
        }
    }

    /// Each variant on two stacks, two disciplines and three cases of the core, each by a variant.
    fn table() -> Vec<Row> {
        let mut rows = Vec::new();
        for variant in VARIANTS {
            for stack in ["linux", "rfc"] {
                rows.push(row(variant, stack, &["core", stack, variant, "droptail"]));
            }
        }
        for (discipline, variant) in [("codel", "reno"), ("pie", "bic")] {
            rows.push(row(
                discipline,
                "busy",
                &["core", "linux", variant, discipline],
            ));
        }
        for (case, variant) in [("jitter", "reno"), ("graph", "cubic"), ("telnet", "bic")] {
            rows.push(row("core", case, &["core", "linux", variant, "droptail"]));
        }
        rows
    }

    fn blamed_if(moves: impl Fn(&Row) -> bool) -> Vec<String> {
        let table = table();
        let moved: Vec<&Row> = table.iter().filter(|row| moves(row)).collect();
        blamed(&table, &moved)
    }

    fn uses(row: &Row, name: &str) -> bool {
        row.parts().any(|part| part == name)
    }

    #[test]
    fn a_part_whose_rows_move_is_named_alone() {
        for part in [
            "hybla", "reno", "bic", "codel", "droptail", "linux", "rfc", "core",
        ] {
            assert_eq!(blamed_if(|row| uses(row, part)), [part], "{part}");
        }
    }

    #[test]
    fn all_that_share_what_changed_are_named() {
        let base = |row: &Row| uses(row, "reno") || uses(row, "newreno");
        assert_eq!(blamed_if(base), ["newreno", "reno"]);
        assert_eq!(
            blamed_if(|row| base(row) || uses(row, "pie")),
            ["newreno", "pie", "reno"]
        );
    }

    #[test]
    fn what_shows_in_one_case_is_of_its_subject() {
        assert_eq!(blamed_if(|row| row.case == "jitter"), ["core"]);
        assert_eq!(blamed_if(|row| row.key() == "reno (rfc)"), ["reno"]);
        // The jitter is over what else is named.
        let both = |row: &Row| row.key() == "reno (rfc)" || row.case == "jitter";
        assert_eq!(blamed_if(both), ["reno"]);
    }

    #[test]
    fn what_moves_nearly_everything_is_of_the_core() {
        assert_eq!(blamed_if(|row| !uses(row, "bbr")), ["core"]);
    }
}
