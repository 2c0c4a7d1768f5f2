//! From a text to a tree.

use winnow::combinator::{Infix, Postfix, Prefix, expression, fail};
use winnow::error::{ModalError, ParserError};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location, Stateful, Stream};
use winnow::token::{literal, take_while};

use super::operands::operand;
use super::{Node, Part, Refusal};

/// Parts within each other, at most. Deeper nests are no person's, and would exhaust the stack.
const DEEPEST: usize = 100;

const OR: i64 = 1;
const AND: i64 = 2;
const NOT: i64 = 3;
const COMPARISON: i64 = 4;
const EITHER: i64 = 5;
const BOTH: i64 = 6;
const SUM: i64 = 7;
const PRODUCT: i64 = 8;
const SIGN: i64 = 9;
const ELEMENT: i64 = 10;

/// What is read, and what is known about it.
pub(super) type Input<'a> = Stateful<LocatingSlice<&'a str>, State<'a>>;

#[derive(Clone, Debug)]
pub(super) struct State<'a> {
    /// Beginnings of names that have other characters than names have: `flow.long-lived`.
    pub(super) known: &'a [String],
    /// Prefixes and brackets that are open.
    pub(super) open: usize,
}

/// Why parsing does not go on.
#[derive(Debug)]
pub(super) enum Fault {
    /// This is something else: another parser may know what.
    Other,
    /// Nothing else can be meant.
    Wrong(Box<Wrong>),
}

#[derive(Debug)]
pub(super) struct Wrong {
    /// In bytes.
    at: usize,
    message: String,
    too_deep: bool,
}

impl<I: Stream> ParserError<I> for Fault {
    type Inner = Fault;

    fn from_input(_: &I) -> Fault {
        Fault::Other
    }

    fn is_backtrack(&self) -> bool {
        matches!(self, Fault::Other)
    }

    fn into_inner(self) -> Result<Fault, Fault> {
        Ok(self)
    }
}

impl ModalError for Fault {
    fn cut(self) -> Fault {
        self
    }

    fn backtrack(self) -> Fault {
        Fault::Other
    }
}

pub(super) type Parsed<T> = Result<T, Fault>;

pub(super) fn wrong<T>(at: usize, message: impl Into<String>) -> Parsed<T> {
    let message = message.into();
    Err(Fault::Wrong(Box::new(Wrong {
        at,
        message,
        too_deep: false,
    })))
}

fn too_deep<T>() -> Parsed<T> {
    Err(Fault::Wrong(Box::new(Wrong {
        at: 0,
        message: "the expression is nested too deeply".to_owned(),
        too_deep: true,
    })))
}

/// Reads the whole of `text`. `known` are the beginnings of names that have characters in them which
/// others cannot have, such as `flow.long-lived`.
pub fn parse(text: &str, known: &[String]) -> Result<Node, Refusal> {
    let (node, rest) = parse_beginning(text, known)?;
    let at = text.len() - rest.len();
    match rest.chars().next() {
        None => Ok(node),
        Some(_) => Err(refusal(text, unexpected(rest, at))),
    }
}

/// Reads the expression that `text` begins with; gives it and what follows.
pub fn parse_beginning<'a>(text: &'a str, known: &[String]) -> Result<(Node, &'a str), Refusal> {
    let mut input = Stateful {
        input: LocatingSlice::new(text),
        state: State { known, open: 0 },
    };
    let parsed = whole(&mut input).and_then(|node| {
        spaces(&mut input)?;
        Ok(node)
    });
    match parsed {
        Ok(mut node) => {
            place(&mut node, &Characters::of(text));
            Ok((node, &text[input.current_token_start()..]))
        }
        Err(Fault::Wrong(wrong)) => Err(refusal(text, *wrong)),
        Err(Fault::Other) => Err(refusal(text, lacking(text.len()))),
    }
}

fn refusal(text: &str, wrong: Wrong) -> Refusal {
    Refusal {
        at: text[..wrong.at].chars().count(),
        message: wrong.message,
        too_deep: wrong.too_deep,
    }
}

fn lacking(at: usize) -> Wrong {
    Wrong {
        at,
        message: "not an expression: something is missing here".to_owned(),
        too_deep: false,
    }
}

/// What `rest`, which begins at `at`, is in the way of.
fn unexpected(rest: &str, at: usize) -> Wrong {
    let word = rest
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next();
    let shown = match word.filter(|word| !word.is_empty()) {
        Some(word) => word.to_owned(),
        None => rest.chars().take(1).collect(),
    };
    let message = match shown.as_str() {
        "=" => "`==` compares".to_owned(),
        "~" | "!" => format!("`{shown}` has no meaning here; write `not`"),
        _ => format!("not an expression: `{shown}` is not expected here"),
    };
    Wrong {
        at,
        message,
        too_deep: false,
    }
}

/// The number of characters before each byte, asked for in any order.
struct Characters(Option<Vec<usize>>);

impl Characters {
    fn of(text: &str) -> Characters {
        Characters((!text.is_ascii()).then(|| {
            let mut before = vec![0; text.len() + 1];
            for (count, (at, _)) in text.char_indices().enumerate() {
                before[at] = count;
            }
            before[text.len()] = text.chars().count();
            before
        }))
    }

    fn before(&self, at: usize) -> usize {
        self.0.as_ref().map_or(at, |before| before[at])
    }
}

/// Puts characters in the place of bytes.
fn place(node: &mut Node, characters: &Characters) {
    node.at = characters.before(node.at);
    match &mut node.part {
        Part::Number { .. } | Part::Text { .. } | Part::Name { .. } => {}
        Part::Not { operand } | Part::Negative { operand } => place(operand, characters),
        Part::And { parts: nodes }
        | Part::Or { parts: nodes }
        | Part::Call {
            arguments: nodes, ..
        }
        | Part::List { elements: nodes } => {
            for node in nodes {
                place(node, characters);
            }
        }
        Part::Comparison { first, rest } => {
            place(first, characters);
            for (_, node) in rest {
                place(node, characters);
            }
        }
        Part::Arithmetic { left, right, .. } => {
            place(left, characters);
            place(right, characters);
        }
        Part::Element { of, index } => {
            place(of, characters);
            place(index, characters);
        }
    }
}

pub(super) fn spaces(input: &mut Input<'_>) -> Parsed<()> {
    take_while(0.., |c: char| c.is_whitespace())
        .void()
        .parse_next(input)
}

/// What is left to read.
pub(super) fn rest<'a>(input: &Input<'a>) -> &'a str {
    input.input.peek_finish()
}

pub(super) fn whole(input: &mut Input<'_>) -> Parsed<Node> {
    let parsed = expression(operand)
        .prefix(prefix)
        .infix(infix)
        .postfix(element)
        .parse_next(input);
    match parsed {
        Err(Fault::Other) => {
            spaces(input)?;
            let at = input.current_token_start();
            Err(Fault::Wrong(Box::new(match rest(input) {
                "" => lacking(at),
                there => unexpected(there, at),
            })))
        }
        parsed => parsed,
    }
}

pub(super) fn open(input: &mut Input<'_>) -> Parsed<()> {
    input.state.open += 1;
    if input.state.open > DEEPEST {
        return too_deep();
    }
    Ok(())
}

pub(super) fn built(at: usize, part: Part) -> Parsed<Node> {
    let node = Node::new(at, part);
    if node.depth > DEEPEST {
        return too_deep();
    }
    Ok(node)
}

/// Whether `text` begins with `word` and not with a longer one.
pub(super) fn begins_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word)
        .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn prefix<'a>(input: &mut Input<'a>) -> Parsed<Prefix<Input<'a>, Node, Fault>> {
    spaces(input)?;
    let there = rest(input);
    if begins_with_word(there, "not") {
        literal("not").void().parse_next(input)?;
        open(input)?;
        return Ok(Prefix(NOT, |input, operand| {
            input.state.open -= 1;
            let at = operand.at;
            let operand = Box::new(operand);
            built(at, Part::Not { operand })
        }));
    }
    let sign = there.chars().next();
    if !matches!(sign, Some('-' | '+')) {
        return Err(Fault::Other);
    }
    literal(&there[..1]).void().parse_next(input)?;
    open(input)?;
    Ok(match sign {
        Some('-') => Prefix(SIGN, |input, operand| {
            input.state.open -= 1;
            let at = operand.at;
            let operand = Box::new(operand);
            built(at, Part::Negative { operand })
        }),
        _ => Prefix(SIGN, |input, operand| {
            input.state.open -= 1;
            Ok(operand)
        }),
    })
}

/// How a relation or an operator becomes part of the tree.
type Fold<'a> = fn(&mut Input<'a>, Node, Node) -> Parsed<Node>;

macro_rules! compared {
    ($sign:literal) => {
        |_, left, right| comparison(left, $sign, right)
    };
}

macro_rules! computed {
    ($sign:literal) => {
        |_, left, right| {
            let at = left.at;
            let (left, right) = (Box::new(left), Box::new(right));
            let operator = $sign;
            built(
                at,
                Part::Arithmetic {
                    operator,
                    left,
                    right,
                },
            )
        }
    };
}

fn infix<'a>(input: &mut Input<'a>) -> Parsed<Infix<Input<'a>, Node, Fault>> {
    spaces(input)?;
    let there = rest(input);
    let at = input.current_token_start();
    if ["**", "//", "%"].iter().any(|sign| there.starts_with(sign)) {
        return wrong(at, "only + - * / are known");
    }
    let words: [(&str, i64, Fold<'a>); 5] = [
        ("and", AND, |_, left, right| all_of(left, right)),
        ("or", OR, |_, left, right| any_of(left, right)),
        ("in", COMPARISON, compared!("in")),
        ("is", COMPARISON, compared!("is")),
        ("matches", COMPARISON, compared!("matches")),
    ];
    // Two letters come before one: `<=` is not `<`.
    let signs: [(&str, i64, Fold<'a>); 12] = [
        ("==", COMPARISON, compared!("==")),
        ("!=", COMPARISON, compared!("!=")),
        ("<=", COMPARISON, compared!("<=")),
        (">=", COMPARISON, compared!(">=")),
        ("<", COMPARISON, compared!("<")),
        (">", COMPARISON, compared!(">")),
        ("|", EITHER, computed!("|")),
        ("&", BOTH, computed!("&")),
        ("+", SUM, computed!("+")),
        ("-", SUM, computed!("-")),
        ("*", PRODUCT, computed!("*")),
        ("/", PRODUCT, computed!("/")),
    ];
    if begins_with_word(there, "not") {
        literal("not").void().parse_next(input)?;
        spaces(input)?;
        if !begins_with_word(rest(input), "in") {
            return wrong(at, "not an expression: `not` is not expected here");
        }
        literal("in").void().parse_next(input)?;
        return Ok(Infix::Left(COMPARISON, compared!("not in")));
    }
    for (word, power, fold) in words {
        if begins_with_word(there, word) {
            literal(word).void().parse_next(input)?;
            if word != "is" {
                return Ok(Infix::Left(power, fold));
            }
            let before = input.checkpoint();
            spaces(input)?;
            if begins_with_word(rest(input), "not") {
                literal("not").void().parse_next(input)?;
                return Ok(Infix::Left(COMPARISON, compared!("is not")));
            }
            input.reset(&before);
            return Ok(Infix::Left(power, fold));
        }
    }
    for (sign, power, fold) in signs {
        if there.starts_with(sign) {
            literal(sign).void().parse_next(input)?;
            return Ok(Infix::Left(power, fold));
        }
    }
    fail.parse_next(input)
}

/// `left and right`, in one with what `left` joins already.
fn all_of(left: Node, right: Node) -> Parsed<Node> {
    let at = left.at;
    let mut parts = match left {
        Node {
            part: Part::And { parts },
            enclosed: false,
            ..
        } => parts,
        left => vec![left],
    };
    parts.push(right);
    built(at, Part::And { parts })
}

/// `left or right`, likewise.
fn any_of(left: Node, right: Node) -> Parsed<Node> {
    let at = left.at;
    let mut parts = match left {
        Node {
            part: Part::Or { parts },
            enclosed: false,
            ..
        } => parts,
        left => vec![left],
    };
    parts.push(right);
    built(at, Part::Or { parts })
}

fn comparison(left: Node, relation: &'static str, right: Node) -> Parsed<Node> {
    let at = left.at;
    match left {
        Node {
            part: Part::Comparison { first, mut rest },
            enclosed: false,
            ..
        } => {
            rest.push((relation, right));
            built(at, Part::Comparison { first, rest })
        }
        left => {
            let first = Box::new(left);
            let rest = vec![(relation, right)];
            built(at, Part::Comparison { first, rest })
        }
    }
}

fn element<'a>(input: &mut Input<'a>) -> Parsed<Postfix<Input<'a>, Node, Fault>> {
    if !rest(input).starts_with('[') {
        return Err(Fault::Other);
    }
    literal("[").void().parse_next(input)?;
    Ok(Postfix(ELEMENT, |input, of| {
        let begin = input.current_token_start() - 1;
        open(input)?;
        let index = whole(input)?;
        close(input, "]", begin)?;
        let at = of.at;
        let (of, index) = (Box::new(of), Box::new(index));
        built(at, Part::Element { of, index })
    }))
}

/// The end of what began at `begin`.
pub(super) fn close(input: &mut Input<'_>, bracket: &'static str, begin: usize) -> Parsed<()> {
    spaces(input)?;
    let there = rest(input);
    if there.is_empty() {
        return wrong(begin, "not an expression: this is never closed");
    }
    if !there.starts_with(bracket) {
        let at = input.current_token_start();
        return Err(Fault::Wrong(Box::new(unexpected(there, at))));
    }
    input.state.open -= 1;
    literal(bracket).void().parse_next(input)
}
