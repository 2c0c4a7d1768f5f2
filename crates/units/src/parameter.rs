//! Parameters of the algorithms that registries list: what they take, and what they were given.

use std::collections::BTreeMap;

use crate::Measure;

/// A parameter that a variant or a queueing discipline takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in study files.
    pub name: &'static str,
    /// What it is a number of.
    pub measure: Measure,
    /// What it does.
    pub meaning: &'static str,
    /// Its value where none is given; NaN: the algorithm derives it.
    pub default: f64,
    /// The smallest value it may take.
    pub least: f64,
    /// The largest value it may take.
    pub most: f64,
}

impl Parameter {
    /// Whether it may be `value`.
    pub fn takes(&self, value: f64) -> bool {
        let whole = !self.measure.is_whole() || value.fract() == 0.0;
        whole && self.least <= value && value <= self.most
    }

    /// What `value` is not, and what would be right; `None` if the parameter takes it.
    pub fn refuses(&self, value: f64) -> Option<String> {
        if self.takes(value) {
            return None;
        }
        if self.measure.is_whole() && value.fract() != 0.0 {
            return Some(self.measure.rule().to_owned());
        }
        let [least, most] = [self.least, self.most].map(|bound| self.measure.write(bound));
        Some(format!("it lies between {least} and {most}"))
    }
}

/// What the parameters of an algorithm have to do with each other. A value that is not given
/// counts with its default; one without a default is derived so that it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The first lies below the second.
    Below(&'static str, &'static str),
    /// The first is no more than the second.
    AtMost(&'static str, &'static str),
    /// A number of bytes (the second is true) or packets that the queue can reach.
    WithinLimit(&'static str, bool),
    /// A number of bytes that holds a full packet; it matters where the second is given, if
    /// there is a second.
    HoldsPacket(&'static str, Option<&'static str>),
    /// A number of packets, and the bytes or packets that make up no more of them than that;
    /// bytes are counted in packets of the size that the third says.
    CountsAtLeast(&'static str, &'static str, Option<&'static str>),
}

/// The most parameters that one algorithm takes: flows keep them inline.
const MOST: usize = 12;

/// The values of an algorithm's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    declared: &'static [Parameter],
    values: [f64; MOST],
}

impl Params {
    /// Every parameter at its default.
    ///
    /// # Panics
    /// If more are declared than there is room for: a fault of the algorithm's entry.
    pub fn defaults(declared: &'static [Parameter]) -> Params {
        let mut values = [f64::NAN; MOST];
        for (value, parameter) in values[..declared.len()].iter_mut().zip(declared) {
            *value = parameter.default;
        }
        Params { declared, values }
    }

    /// The values `given`, and defaults for the rest.
    ///
    /// # Errors
    /// What is wrong, and what would be right: a parameter that is not declared, or a value
    /// outside its range.
    pub fn new(
        declared: &'static [Parameter],
        given: &BTreeMap<String, f64>,
    ) -> Result<Params, String> {
        let mut params = Params::defaults(declared);
        for (name, &value) in given {
            let Some(index) = declared.iter().position(|known| known.name == name) else {
                let known: Vec<&str> = declared.iter().map(|known| known.name).collect();
                return Err(match known.is_empty() {
                    true => format!("there is no parameter {name}: it takes none"),
                    false => format!(
                        "there is no parameter {name}: it takes {}",
                        known.join(", ")
                    ),
                });
            };
            if let Some(why) = declared[index].refuses(value) {
                return Err(format!(
                    "{name} = {}: {why}",
                    declared[index].measure.write(value)
                ));
            }
            params.values[index] = value;
        }
        Ok(params)
    }

    /// The value of `name`.
    ///
    /// # Panics
    /// If `name` is not declared: a fault of the algorithm, not of the study.
    pub fn get(&self, name: &str) -> f64 {
        let index = self.declared.iter().position(|known| known.name == name);
        self.values[index.unwrap_or_else(|| panic!("parameter {name} is not declared"))]
    }

    /// Whether the algorithm has a parameter called `name`.
    pub fn declares(&self, name: &str) -> bool {
        self.declared.iter().any(|known| known.name == name)
    }

    /// The value of `name`; `None` where the algorithm is to derive it.
    ///
    /// # Panics
    /// As [`Params::get`].
    pub fn given(&self, name: &str) -> Option<f64> {
        Some(self.get(name)).filter(|value| !value.is_nan())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Parameter] = &[
        Parameter {
            name: "beta",
            measure: Measure::Share,
            meaning: "share of the window that is left after a loss",
            default: 0.7,
            least: 0.1,
            most: 1.0,
        },
        Parameter {
            name: "weight",
            measure: Measure::Share,
            meaning: "weight of a sample",
            default: f64::NAN,
            least: 0.0,
            most: 1.0,
        },
    ];

    fn given(name: &str, value: f64) -> Result<Params, String> {
        Params::new(DECLARED, &BTreeMap::from([(name.to_owned(), value)]))
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let params = given("weight", 0.5).expect("in range");
        assert_eq!(
            (params.get("beta"), params.given("weight")),
            (0.7, Some(0.5))
        );
        assert_eq!(Params::defaults(DECLARED).given("weight"), None);
    }

    #[test]
    fn what_is_counted_is_whole() {
        let count = Parameter {
            measure: Measure::Packets,
            most: 10.0,
            ..DECLARED[0]
        };
        assert_eq!(count.refuses(3.0), None);
        let why = count.refuses(2.5).expect("half a packet");
        assert!(why.contains("whole number of packets"), "{why}");
        let why = count.refuses(11.0).expect("too many");
        assert_eq!(why, "it lies between 0.1 and 10");
    }

    #[test]
    fn a_wrong_name_or_value_is_refused() {
        let why = given("betta", 0.5).expect_err("no such name");
        assert_eq!(why, "there is no parameter betta: it takes beta, weight");
        let why = given("beta", 1.5).expect_err("too large");
        assert_eq!(why, "beta = 1.5: it lies between 0.1 and 1");
        assert!(given("beta", f64::NAN).is_err());
    }
}
