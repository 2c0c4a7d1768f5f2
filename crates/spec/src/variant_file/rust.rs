//! What a Rust file declares, as its text shows it.

/// The name in the `variant! { name: "..." }` of `text`, if it is written there.
pub(super) fn declared(text: &str) -> Option<String> {
    let code: Vec<&str> = text.lines().map(code).collect();
    let code = code.join("\n");
    let (_, inside) = code.split_once("variant!")?;
    let inside = inside.trim_start().strip_prefix(['{', '(', '['])?;
    let inside = match value(inside, "interface") {
        Some(version) => version.split_once(',')?.1,
        None => inside,
    };
    let (name, _) = value(inside, "name")?.strip_prefix('"')?.split_once('"')?;
    Some(name.to_owned())
}

/// The line without a comment at its end: names hold no slashes.
fn code(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

/// What follows `key:` at the front of `text`.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = text.trim_start().strip_prefix(key)?.trim_start();
    Some(rest.strip_prefix(':')?.trim_start())
}

#[cfg(test)]
mod tests {
    use super::declared;

    #[test]
    fn the_name_is_read_where_the_macro_says_it() {
        let told = [
            (
                r#"cclab::variant! { name: "mine", start: Mine::new }"#,
                Some("mine"),
            ),
            (
                "// variant! { name: \"no\" }\nvariant!(\n interface : 1 , // as now\n name:\"b.2\",",
                Some("b.2"),
            ),
            ("variant! { start: Mine::new, name: \"late\" }", None),
            ("variant! { interface: 1 }", None),
            ("fn variant() {}", None),
        ];
        for (text, name) in told {
            assert_eq!(declared(text).as_deref(), name, "{text}");
        }
    }
}
