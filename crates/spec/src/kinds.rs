//! What a study may choose among beside variants, queues and cross traffic: topologies,
//! impairments, applications and receivers, each with the keys that it takes.
//!
//! The lists are for people and for tests: the structs of the study file stay the one list of
//! its keys, and tests hold the two together.

mod application;
mod impairment;
mod receiver;
mod topology;

pub use application::APPLICATIONS;
pub use impairment::IMPAIRMENTS;
pub use receiver::RECEIVERS;
pub use topology::TOPOLOGIES;

/// Something that a study may choose by name.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// The keys that it takes.
    pub keys: &'static [Key],
    /// It as a study writes it.
    pub example: Example,
}

/// A key that a kind takes.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What it says, with its unit.
    pub meaning: &'static str,
    /// The value that it has where a study does not give it, as TOML and JSON alike write it;
    /// `None`: there is none.
    pub default: Option<&'static str>,
}

/// How a study writes a kind.
#[derive(Clone, Copy, Debug)]
pub enum Example {
    /// A line of `[network]`, or of the tables below it.
    Network(&'static str),
    /// A line of `[network.bottleneck]`.
    Link(&'static str),
    /// A line of a `[[flow]]`.
    Flow(&'static str),
}

const NETWORK: &str = "[network]\ntopology = \"dumbbell\"\n";
const BOTTLENECK: &str = "[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"10ms\"\n\
    queue = { limit = \"50p\" }\n";
const FLOW: &str = "[[flow]]\n";

impl Example {
    /// The lines that make the difference.
    pub fn lines(&self) -> &'static str {
        match self {
            Example::Network(lines) | Example::Link(lines) | Example::Flow(lines) => lines,
        }
    }

    /// A small study that has it.
    pub fn study(&self) -> String {
        self.study_with(self.lines())
    }

    /// [`Example::study`] with other lines in the place of its own.
    fn study_with(&self, lines: &str) -> String {
        let tables = match self {
            // Whoever brings links of a graph brings all of the network, and flows with ends.
            Example::Network(_) if lines.contains("[[network.link]]") => {
                format!("[network]\n{lines}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n")
            }
            Example::Network(_) => format!("[network]\n{lines}\n{BOTTLENECK}{FLOW}"),
            Example::Link(_) => format!("{NETWORK}{BOTTLENECK}{lines}\n{FLOW}"),
            Example::Flow(_) => format!("{NETWORK}{BOTTLENECK}{FLOW}{lines}\n"),
        };
        format!("duration = \"10s\"\n{tables}")
    }
}

const fn key(name: &'static str, meaning: &'static str, default: Option<&'static str>) -> Key {
    Key {
        name,
        meaning,
        default,
    }
}

#[cfg(test)]
mod tests;
