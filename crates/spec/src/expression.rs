//! The one language of expressions: `[expect]`, the rule of `repeat`, `cclab query`, the claims of
//! reproductions. Here a text becomes a tree; what names stand for, and what a tree comes to, is
//! said where it is evaluated.
//!
//! The operators are Python's, with its precedence, and `matches`. Quantities are written as in
//! study files: `50ms`, `100Mbit`, `5%`.

use serde::Serialize;

mod operands;
mod parse;
#[cfg(test)]
mod tests;

pub use parse::{parse, parse_beginning};

/// A part of an expression.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// Where it begins, in characters of the text.
    pub at: usize,
    /// What it is.
    #[serde(flatten)]
    pub part: Part,
    /// How many parts are within each other, this one included.
    #[serde(skip)]
    depth: usize,
    /// Whether it stands in parentheses: `(a < b) < c` is no chain.
    #[serde(skip)]
    enclosed: bool,
}

/// What a part of an expression is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// `0.95`, `50ms`.
    Number {
        /// In the unit of its dimension: seconds, bits per second, bytes.
        value: f64,
        /// As [`crate::dimension`] says it.
        dimension: Option<&'static str>,
    },
    /// `"cubic"`.
    Text {
        /// What is between the quotes.
        text: String,
    },
    /// `flow.short.goodput_bps`, or any name between back quotes.
    Name {
        /// Without back quotes.
        name: String,
    },
    /// `not x`.
    Not {
        /// The condition.
        operand: Box<Node>,
    },
    /// `-x`.
    Negative {
        /// The number.
        operand: Box<Node>,
    },
    /// `a and b and c`.
    And {
        /// Two or more.
        parts: Vec<Node>,
    },
    /// `a or b or c`.
    Or {
        /// Two or more.
        parts: Vec<Node>,
    },
    /// `a < b <= c`, `a in [b, c]`, `a is not None`, `a matches "b"`.
    Comparison {
        /// The leftmost.
        first: Box<Node>,
        /// Each relation with what is on its right.
        rest: Vec<(&'static str, Node)>,
    },
    /// `a + b`; `a & b` of conditions that are vectors.
    Arithmetic {
        /// `+`, `-`, `*`, `/`, `&` or `|`.
        operator: &'static str,
        /// What it begins with.
        left: Box<Node>,
        /// What it ends with.
        right: Box<Node>,
    },
    /// `max(a, b)`.
    Call {
        /// Its name.
        function: String,
        /// What is between the parentheses.
        arguments: Vec<Node>,
    },
    /// `[a, b]`, `(a, b)` or `{a, b}`.
    List {
        /// None or more.
        elements: Vec<Node>,
    },
    /// `a[0]`.
    Element {
        /// What it is of.
        of: Box<Node>,
        /// Which of it.
        index: Box<Node>,
    },
}

/// Why a text is no expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In characters of the text; its length, where it ends too soon.
    pub at: usize,
    /// What is wrong there.
    pub message: String,
    /// Whether the text is too deep a nest to be looked at.
    pub too_deep: bool,
}

impl Node {
    fn new(at: usize, part: Part) -> Node {
        let depth = 1 + part.operands().map(|node| node.depth).max().unwrap_or(0);
        Node {
            at,
            part,
            depth,
            enclosed: false,
        }
    }

    /// This part and those within it, the outer before the inner, from left to right.
    pub fn walk(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        let within = self.part.operands().flat_map(Node::walk);
        Box::new(std::iter::once(self).chain(within))
    }

    /// The names in it, each as often as it stands there.
    pub fn names(&self) -> impl Iterator<Item = (usize, &str)> {
        self.walk().filter_map(|node| match &node.part {
            Part::Name { name } => Some((node.at, name.as_str())),
            _ => None,
        })
    }
}

impl Part {
    fn operands(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        match self {
            Part::Number { .. } | Part::Text { .. } | Part::Name { .. } => {
                Box::new(std::iter::empty())
            }
            Part::Not { operand } | Part::Negative { operand } => {
                Box::new(std::iter::once(&**operand))
            }
            Part::And { parts } | Part::Or { parts } => Box::new(parts.iter()),
            Part::Comparison { first, rest } => {
                Box::new(std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node)))
            }
            Part::Arithmetic { left, right, .. } => Box::new([&**left, &**right].into_iter()),
            Part::Call { arguments, .. } => Box::new(arguments.iter()),
            Part::List { elements } => Box::new(elements.iter()),
            Part::Element { of, index } => Box::new([&**of, &**index].into_iter()),
        }
    }
}
