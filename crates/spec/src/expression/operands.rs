//! The parts that operators join: numbers, texts, names, calls, and what stands in brackets.

use winnow::prelude::*;
use winnow::stream::{Location, Stream};
use winnow::token::{literal, take_while};

use super::parse::{
    Fault, Input, Parsed, begins_with_word, built, close, open, rest, spaces, whole, wrong,
};
use super::{Node, Part};

/// Words that are no names.
const WORDS: [&str; 6] = ["and", "in", "is", "matches", "not", "or"];

pub(super) fn operand(input: &mut Input<'_>) -> Parsed<Node> {
    spaces(input)?;
    let at = input.current_token_start();
    let there = rest(input);
    match there.chars().next() {
        Some('"' | '\'') => text(input, at),
        Some('(') => group(input, at),
        Some('[') => list(input, at, "]"),
        Some('{') => list(input, at, "}"),
        Some(c) if c.is_ascii_digit() => number(input, at),
        Some('.') if there[1..].starts_with(|c: char| c.is_ascii_digit()) => number(input, at),
        Some(c) if c.is_alphabetic() || c == '_' || c == '`' => named(input, at),
        _ => Err(Fault::Other),
    }
}

fn text(input: &mut Input<'_>, at: usize) -> Parsed<Node> {
    let there = rest(input);
    let quote = &there[..1];
    let Some(length) = there[1..].find(quote) else {
        return wrong(at, "not an expression: this quote is never closed");
    };
    let text = input.next_slice(length + 2)[1..=length].to_owned();
    built(at, Part::Text { text })
}

fn number(input: &mut Input<'_>, at: usize) -> Parsed<Node> {
    let there = rest(input);
    let length = number_length(there);
    let token = input.next_slice(length);
    // There is no rest of a division: `0.5 %` is a share, too.
    let spaces = rest(input).len() - rest(input).trim_start().len();
    let plain = token.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    let share = format!("{token}%");
    let token = match rest(input)[spaces..].starts_with('%') && plain {
        true => {
            input.next_slice(spaces + 1);
            share.as_str()
        }
        false => token,
    };
    let Some(value) = crate::number(token) else {
        return wrong(
            at,
            format!("`{token}` is no quantity: times are written 50ms, rates 100Mbit, sizes 64kB"),
        );
    };
    let dimension = crate::dimension(token);
    built(at, Part::Number { value, dimension })
}

/// How many bytes of `text` are a number and its unit.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| {
        let digits = text[from..].bytes().take_while(u8::is_ascii_digit);
        from + digits.count()
    };
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    let ends = |at: usize| !text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let after = &text[end..];
    if after.starts_with(['e', 'E']) {
        let sign = usize::from(after[1..].starts_with(['+', '-']));
        let last = digits(end + 1 + sign);
        if last > end + 1 + sign && ends(last) {
            return last;
        }
    }
    if after.starts_with('%') {
        return end + 1;
    }
    let unit = after.find(|c: char| !c.is_alphanumeric() && c != '_');
    let unit = unit.unwrap_or(after.len());
    let per_second = unit > 0 && after[unit..].starts_with("/s") && ends(end + unit + 2);
    end + unit + if per_second { 2 } else { 0 }
}

fn group(input: &mut Input<'_>, at: usize) -> Parsed<Node> {
    let before = input.checkpoint();
    literal("(").void().parse_next(input)?;
    open(input)?;
    spaces(input)?;
    if rest(input).is_empty() {
        return wrong(at, "not an expression: this is never closed");
    }
    if !rest(input).starts_with(')') {
        let node = whole(input)?;
        spaces(input)?;
        if !rest(input).starts_with(',') {
            close(input, ")", at)?;
            return Ok(Node {
                enclosed: true,
                ..node
            });
        }
    }
    input.state.open -= 1;
    input.reset(&before);
    list(input, at, ")")
}

fn list(input: &mut Input<'_>, at: usize, end: &'static str) -> Parsed<Node> {
    input.next_slice(1);
    let elements = listed(input, at, end)?;
    built(at, Part::List { elements })
}

/// What stands between commas until `end`; a comma may be the last.
fn listed(input: &mut Input<'_>, begin: usize, end: &'static str) -> Parsed<Vec<Node>> {
    open(input)?;
    let mut elements = Vec::new();
    loop {
        spaces(input)?;
        if rest(input).starts_with(end) {
            break;
        }
        if rest(input).is_empty() {
            return wrong(begin, "not an expression: this is never closed");
        }
        elements.push(whole(input)?);
        spaces(input)?;
        if !rest(input).starts_with(',') {
            break;
        }
        input.next_slice(1);
    }
    close(input, end, begin)?;
    Ok(elements)
}

fn named(input: &mut Input<'_>, at: usize) -> Parsed<Node> {
    let there = rest(input);
    if WORDS.iter().any(|word| begins_with_word(there, word)) {
        return Err(Fault::Other);
    }
    let name = name(input)?;
    let simple = !name.contains('.') && !there.starts_with('`');
    if simple && rest(input).starts_with('(') {
        let begin = input.current_token_start();
        input.next_slice(1);
        let arguments = listed(input, begin, ")")?;
        let function = name;
        return built(
            at,
            Part::Call {
                function,
                arguments,
            },
        );
    }
    built(at, Part::Name { name })
}

/// A name with the dots in it.
fn name(input: &mut Input<'_>) -> Parsed<String> {
    let there = rest(input);
    let known = input.state.known.iter().filter(|known| {
        there
            .strip_prefix(known.as_str())
            .is_some_and(|after| after.starts_with('.'))
    });
    let mut name = String::new();
    if let Some(longest) = known.max_by_key(|known| known.len()) {
        name.push_str(input.next_slice(longest.len()));
        name.push_str(input.next_slice(1));
    }
    loop {
        let there = rest(input);
        if let Some(quoted) = there.strip_prefix('`') {
            let at = input.current_token_start();
            let Some(length) = quoted.find('`') else {
                return wrong(at, "not an expression: this back quote is never closed");
            };
            let quoted = input.next_slice(length + 2);
            name.push_str(&quoted[1..quoted.len() - 1]);
        } else {
            let mut word = take_while(1.., |c: char| c.is_alphanumeric() || c == '_');
            name.push_str(word.parse_next(input)?);
        }
        let mut after = rest(input).chars();
        let dot = after.next() == Some('.');
        let goes_on = after
            .next()
            .is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '`');
        if !dot || !goes_on {
            return Ok(name);
        }
        name.push_str(input.next_slice(1));
    }
}
