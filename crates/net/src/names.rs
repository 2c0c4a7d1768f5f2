//! Names of links, which only people read.

/// Names in order, one behind the other: each in a place of its own would take several times the memory.
#[derive(Debug, Default)]
pub(crate) struct Names {
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Names {
    /// That at `index`; empty if it has none.
    pub fn of(&self, index: usize) -> &str {
        let end = |index: usize| self.ends.get(index).map(|&end| end as usize);
        let start = index.checked_sub(1).map_or(Some(0), end);
        match (start, end(index)) {
            (Some(start), Some(end)) => &self.text[start..end],
            _ => "",
        }
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Names {
        let mut all = Names::default();
        for name in names {
            all.text.push_str(name);
            all.ends.push(all.text.len() as u32);
        }
        all.text.shrink_to_fit();
        all.ends.shrink_to_fit();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_place() {
        let names: Names = ["there", "", "back"].into_iter().collect();
        assert_eq!(
            [0, 1, 2, 3].map(|at| names.of(at)),
            ["there", "", "back", ""]
        );
    }
}
