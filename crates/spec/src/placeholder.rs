//! `{dst}` and its like in the arguments of programs: what a study cannot know when it is written.

/// The names that may stand in braces: the flow's addresses of sender and receiver, the
/// receiver's port, and how long the flow lasts in seconds.
pub const PLACEHOLDERS: [&str; 4] = ["src", "dst", "port", "duration"];

/// A part of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// The name of a placeholder, known or not.
    Placeholder(&'a str),
}

/// The parts of `argument`. Lower-case letters and `_` in braces are a placeholder, in doubled
/// braces they are themselves in braces; all other braces are text.
pub fn pieces(argument: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut text_from = 0;
    let mut at = 0;
    while let Some(open) = argument[at..].find('{').map(|found| at + found) {
        let doubled = argument[open..].starts_with("{{");
        let name_from = open + 1 + usize::from(doubled);
        let name_len = argument[name_from..]
            .find(|c: char| !(c.is_ascii_lowercase() || c == '_'))
            .unwrap_or(argument.len() - name_from);
        let name_to = name_from + name_len;
        let close = if doubled { "}}" } else { "}" };
        if name_len == 0 || !argument[name_to..].starts_with(close) {
            at = open + 1;
            continue;
        }
        let after = name_to + close.len();
        if doubled {
            pieces.push(Piece::Text(&argument[text_from..=open]));
            text_from = name_from;
            pieces.push(Piece::Text(&argument[text_from..=name_to]));
        } else {
            pieces.push(Piece::Text(&argument[text_from..open]));
            pieces.push(Piece::Placeholder(&argument[name_from..name_to]));
        }
        (at, text_from) = (after, after);
    }
    pieces.push(Piece::Text(&argument[text_from..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

#[cfg(test)]
mod tests {
    use super::Piece::{Placeholder, Text};
    use super::*;

    #[test]
    fn names_in_braces_are_placeholders_and_other_braces_are_text() {
        assert_eq!(pieces("{dst}"), [Placeholder("dst")]);
        assert_eq!(
            pieces("http://{dst}:{port}/x"),
            [
                Text("http://"),
                Placeholder("dst"),
                Text(":"),
                Placeholder("port"),
                Text("/x")
            ]
        );
        for text in [
            "plain",
            "awk '{print $1}'",
            "${HOME}",
            "{",
            "{}",
            "a{b",
            "{1}",
        ] {
            assert_eq!(pieces(text), [Text(text)], "{text}");
        }
    }

    #[test]
    fn doubled_braces_keep_a_name_from_being_a_placeholder() {
        let joined = |text| -> String {
            let text_of = |piece: &Piece<'static>| match *piece {
                Text(text) => text,
                Placeholder(name) => panic!("{name} is a placeholder"),
            };
            pieces(text).iter().map(text_of).collect()
        };
        assert_eq!(joined("${{dst}}/x"), "${dst}/x");
        assert_eq!(joined("{{dst"), "{{dst");
    }

    proptest::proptest! {
        /// Without doubled braces the pieces are the argument.
        #[test]
        fn nothing_is_lost(text in "[a-z{} µ]{0,12}") {
            let whole: String = pieces(&text)
                .iter()
                .map(|piece| match piece {
                    Text(text) => (*text).to_owned(),
                    Placeholder(name) => format!("{{{name}}}"),
                })
                .collect();
            proptest::prop_assert!(whole == text || text.contains("{{"));
        }
    }
}
