//! What texts are read as, and where they are refused.

use super::*;

fn read(text: &str) -> String {
    shown(&parse(text, &[]).expect(text))
}

/// A tree with every parenthesis.
fn shown(node: &Node) -> String {
    let all = |nodes: &[Node], between: &str| {
        let shown: Vec<String> = nodes.iter().map(shown).collect();
        shown.join(between)
    };
    match &node.part {
        Part::Number { value, dimension } => match dimension {
            Some(dimension) => format!("{value} {dimension}"),
            None => value.to_string(),
        },
        Part::Text { text } => format!("{text:?}"),
        Part::Name { name } => format!("<{name}>"),
        Part::Not { operand } => format!("(not {})", shown(operand)),
        Part::Negative { operand } => format!("(-{})", shown(operand)),
        Part::And { parts } => format!("({})", all(parts, " and ")),
        Part::Or { parts } => format!("({})", all(parts, " or ")),
        Part::Comparison { first, rest } => {
            let rest = rest
                .iter()
                .map(|(sign, node)| format!(" {sign} {}", shown(node)));
            format!("({}{})", shown(first), rest.collect::<String>())
        }
        Part::Arithmetic {
            operator,
            left,
            right,
        } => {
            format!("({} {operator} {})", shown(left), shown(right))
        }
        Part::Call {
            function,
            arguments,
        } => format!("{function}({})", all(arguments, ", ")),
        Part::List { elements } => format!("[{}]", all(elements, ", ")),
        Part::Element { of, index } => format!("{}[{}]", shown(of), shown(index)),
    }
}

#[test]
fn operators_bind_as_pythons_do() {
    for (text, tree) in [
        ("a + b * c - d", "((<a> + (<b> * <c>)) - <d>)"),
        ("a / b / c", "((<a> / <b>) / <c>)"),
        ("-a * b", "((-<a>) * <b>)"),
        (
            "a or b and not c == d",
            "(<a> or (<b> and (not (<c> == <d>))))",
        ),
        ("a and b and (c and d)", "(<a> and <b> and (<c> and <d>))"),
        ("1 < a <= b", "(1 < <a> <= <b>)"),
        ("(1 < a) == b", "((1 < <a>) == <b>)"),
        ("a > 1 & b > 2 | c", "(<a> > (1 & <b>) > (2 | <c>))"),
        ("(a > 1) & (b > 2)", "((<a> > 1) & (<b> > 2))"),
        ("a not in [1, 'x',]", "(<a> not in [1, \"x\"])"),
        ("a in (1, 2) or b in {}", "((<a> in [1, 2]) or (<b> in []))"),
        (
            "a is not None and b is c",
            "((<a> is not <None>) and (<b> is <c>))",
        ),
        ("cc matches \"^(b|\\d)\"", "(<cc> matches \"^(b|\\\\d)\")"),
        (
            "max(a, 2 * b) > c[0] / -x[1]",
            "(max(<a>, (2 * <b>)) > (<c>[0] / (-<x>[1])))",
        ),
        ("not a in b", "(not (<a> in <b>))"),
        ("+a - +1", "(<a> - 1)"),
    ] {
        assert_eq!(read(text), tree, "{text}");
    }
}

#[test]
fn quantities_and_names_are_those_of_study_files() {
    for (text, tree) in [
        ("50ms", "0.05 time"),
        ("1.7Mbit", "1700000 rate"),
        ("64kB/2", "(64000 size / 2)"),
        ("5% + 0.5 %", "(0.05 share + 0.005 share)"),
        ("1e-3 * 2E6", "(0.001 * 2000000)"),
        ("2bdp > 10p", "(2 bdp > 10 packets)"),
        ("1.*2", "(1 * 2)"),
        ("flow.cubic.1.goodput_bps", "<flow.cubic.1.goodput_bps>"),
        ("`cc_params.split-gso` > 1", "(<cc_params.split-gso> > 1)"),
        ("flow.`a b`.jain", "<flow.a b.jain>"),
        ("matches_of.is_in", "<matches_of.is_in>"),
        ("größe > 1", "(<größe> > 1)"),
    ] {
        assert_eq!(read(text), tree, "{text}");
    }
}

#[test]
fn known_beginnings_of_names_have_any_character() {
    let known = [
        "flow.long-lived".to_owned(),
        "flow.long".to_owned(),
        "flow.a b".to_owned(),
    ];
    let read = |text: &str| shown(&parse(text, &known).expect(text));
    assert_eq!(read("flow.long-lived.rtt-1"), "(<flow.long-lived.rtt> - 1)");
    assert_eq!(
        read("flow.long.rtt - flow.a b.rtt"),
        "(<flow.long.rtt> - <flow.a b.rtt>)"
    );
    assert_eq!(read("flow.longer.rtt"), "<flow.longer.rtt>");
}

#[test]
fn a_refusal_says_where_and_what() {
    for (text, at, said) in [
        ("", 0, "something is missing"),
        ("rtt > ", 6, "something is missing"),
        ("rtt = 5", 4, "`==` compares"),
        ("rtt > 50mss", 6, "`50mss` is no quantity"),
        ("rtt ** 2", 4, "only + - * / are known"),
        ("rtt % 2", 4, "only + - * / are known"),
        ("rtt if x", 4, "`if` is not expected here"),
        ("a b", 2, "`b` is not expected here"),
        ("a + * b", 4, "`*` is not expected here"),
        ("(a", 0, "never closed"),
        ("b + (", 4, "never closed"),
        ("f(a", 1, "never closed"),
        ("[1, (2]", 6, "`]` is not expected here"),
        ("ä == 'x", 5, "never closed"),
        ("`ä", 0, "never closed"),
        ("f('s').x", 6, "`.` is not expected here"),
        ("a and and b", 6, "`and` is not expected here"),
        ("~a", 0, "write `not`"),
        ("a ; b", 2, "`;` is not expected here"),
    ] {
        let refusal = parse(text, &[]).expect_err(text);
        assert!(
            refusal.message.contains(said),
            "{text}: {}",
            refusal.message
        );
        assert_eq!(refusal.at, at, "{text}: {}", refusal.message);
    }
}

#[test]
fn a_deep_nest_is_refused_and_a_long_row_is_not() {
    for text in [
        "not ".repeat(50_000) + "a",
        "-".repeat(50_000) + "a",
        "(".repeat(50_000),
        "[".repeat(50_000),
        "f(".repeat(50_000),
        "a[".repeat(50_000),
        vec!["a"; 3000].join(" + "),
    ] {
        assert!(parse(&text, &[]).expect_err("a nest").too_deep);
    }
    for text in [
        vec!["a == 1"; 3000].join(" or "),
        format!("a in [{}]", vec!["1"; 3000].join(", ")),
    ] {
        parse(&text, &[]).expect("a row");
    }
}

#[test]
fn what_follows_an_expression_is_left_to_others() {
    let (node, rest) = parse_beginning("ci95(jain) < 2% , at least 5", &[]).expect("a rule");
    assert_eq!(shown(&node), "(ci95(<jain>) < 0.02 share)");
    assert_eq!(rest, ", at least 5");
}

#[test]
fn places_are_counted_in_characters() {
    let tree = parse("'ä' == x", &[]).expect("a comparison");
    let names: Vec<(usize, &str)> = tree.names().collect();
    assert_eq!(names, [(7, "x")]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9_.,`'\"()\\[\\]{}<>=!+*/%&|äß -]{0,40}") {
        if let Err(refusal) = parse(&text, &[]) {
            proptest::prop_assert!(refusal.at <= text.chars().count());
        }
    }
}
