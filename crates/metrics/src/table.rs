//! What there is to say about a number: its row. It stands where the number is measured, in a
//! [`measured!`] beside the function, and everything that names metrics is made of the rows.

use cclab_spec::Baseline;

/// What a metric is a number of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// None: a text.
    Text,
    /// None: a list.
    List,
    /// None: metrics of its own.
    Group(&'static [&'static [Metric]]),
    /// Seconds of a run's own length.
    Duration,
    /// Seconds of a round trip or a wait, told in milliseconds.
    Delay,
    /// Bits per second.
    Rate,
    /// Bytes, a whole number of them.
    Size,
    /// Segments, which need not be whole on average.
    Segments,
    /// How many.
    Count,
    /// A part of a whole, told in percent.
    Percentage,
    /// A part of the best, told as it is: of Jain's index one says 0.95.
    Index,
    /// One value over another, of which 1 is as remarkable as what is beyond it.
    Ratio,
    /// How many times as much.
    Factor,
    /// A rate over a delay.
    Power,
}

use Quantity::{
    Count, Delay, Duration, Factor, Group, Index, List, Percentage, Power, Rate, Ratio, Segments,
    Size, Text,
};

impl Quantity {
    /// The unit of the number, `1` of shares and counts.
    pub fn unit(self) -> &'static str {
        match self {
            Text | Group(_) => "text",
            List => "list",
            Duration | Delay => "s",
            Rate => "bit/s",
            Size => "byte",
            Segments => "segment",
            Count | Percentage | Index | Ratio | Factor => "1",
            Power => "bit/s^2",
        }
    }

    /// What a value of a study file must be to be compared with it; `None`: a plain number.
    pub fn dimension(self) -> Option<&'static str> {
        match self {
            Duration | Delay => Some("time"),
            Rate => Some("rate"),
            Size => Some("size"),
            Percentage => Some("share"),
            _ => None,
        }
    }

    /// Its name, by which the package finds how it is shown.
    pub fn name(self) -> String {
        let text = format!("{self:?}").to_lowercase();
        text.split_once('(')
            .map_or(text.as_str(), |(name, _)| name)
            .to_owned()
    }

    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        !matches!(self, Text | List | Group(_))
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        matches!(self, Count | Size)
    }

    /// Between what it lies.
    const fn bounds(self) -> (f64, f64) {
        match self {
            Percentage | Index => (0.0, 1.0),
            _ => (0.0, f64::INFINITY),
        }
    }
}

/// The way in which a metric gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Better {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
        }
    }
}

/// A column of the tables of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What stands above it, before the unit.
    pub heading: &'static str,
    /// Digits after the point.
    pub digits: u8,
    /// Whether it is there only where something in it was measured.
    pub if_measured: bool,
}

/// The definition of a metric and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Its path in the `--json` of a run; `flow.` stands for each of `flows`, `band.` for each
    /// of `bottleneck.bands`, `group.` for each of
    /// `groups`, `traffic.` for each of `traffic`, `probe.` for each of `probes`.
    pub name: &'static str,
    /// What it is a number of.
    pub quantity: Quantity,
    /// Formula.
    pub definition: &'static str,
    /// The span of time that it covers.
    pub window: &'static str,
    /// Where it is measured.
    pub point: &'static str,
    /// Who defined it; empty where there is nothing to define.
    pub source: &'static str,
    /// Which way is the better one; `None` where only the question of a study can say.
    pub better: Option<Better>,
    /// Between what it lies.
    pub bounds: (f64, f64),
    /// The runs beside its own that it needs.
    pub baseline: Option<Baseline>,
    /// Whether it is estimated over runs, and so can be expected, compared and tabled.
    pub estimated: bool,
    /// Whether it is no number of `--json`'s runs, but made of several of them.
    pub of_summary: bool,
    /// Its place before the estimates of its subject that have a higher place or none.
    pub rank: u8,
    /// Its place among what `cclab compare` compares if nothing is chosen; 0: it is not.
    pub compared: u8,
    /// Whether `cclab query` shows it if nothing is chosen.
    pub queried: bool,
    /// Its column in the tables of reports.
    pub column: Option<Column>,
    /// What of many values is told, if it is of many.
    pub spread: &'static [Told],
    /// Where the JSON Schema says what it is, if it is no number.
    pub shape: &'static str,
}

/// What is told of many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its key.
    pub measure: &'static str,
    /// See [`Metric::compared`].
    pub compared: u8,
    /// See [`Metric::queried`].
    pub queried: bool,
    /// Whether it has a column, which [`Metric::column`] describes.
    pub column: bool,
}

impl Told {
    /// What `measure` says.
    pub(crate) const fn of(measure: &'static str) -> Told {
        Told {
            measure,
            compared: 0,
            queried: false,
            column: false,
        }
    }

    /// See [`Told::compared`].
    pub(crate) const fn compared(self, compared: u8) -> Told {
        Told { compared, ..self }
    }

    /// See [`Told::queried`].
    pub(crate) const fn queried(self) -> Told {
        Told {
            queried: true,
            ..self
        }
    }

    /// See [`Told::column`].
    pub(crate) const fn column(self) -> Told {
        Told {
            column: true,
            ..self
        }
    }
}

/// A row, but for the name and the definition.
pub(crate) const fn row(quantity: Quantity, window: &'static str, point: &'static str) -> Metric {
    Metric {
        name: "",
        quantity,
        definition: "",
        window,
        point,
        source: "",
        better: None,
        bounds: quantity.bounds(),
        baseline: None,
        estimated: !matches!(quantity, Text | List | Group(_)),
        of_summary: false,
        rank: u8::MAX,
        compared: 0,
        queried: false,
        column: None,
        spread: &[],
        shape: "",
    }
}

/// The row of a key below which there are metrics.
pub(crate) const fn group(rows: &'static [&'static [Metric]]) -> Metric {
    row(Group(rows), "", "")
}

impl Metric {
    /// The same, as `source` defines it.
    pub(crate) const fn source(self, source: &'static str) -> Metric {
        Metric { source, ..self }
    }

    /// More is better.
    pub(crate) const fn higher(self) -> Metric {
        let better = Some(Better::Higher);
        Metric { better, ..self }
    }

    /// Less is better.
    pub(crate) const fn lower(self) -> Metric {
        let better = Some(Better::Lower);
        Metric { better, ..self }
    }

    /// It lies between `least` and `most`.
    pub(crate) const fn within(self, least: f64, most: f64) -> Metric {
        let bounds = (least, most);
        Metric { bounds, ..self }
    }

    /// It needs the runs of `baseline`.
    pub(crate) const fn needs(self, baseline: Baseline) -> Metric {
        let baseline = Some(baseline);
        Metric { baseline, ..self }
    }

    /// It is not estimated over runs.
    pub(crate) const fn of_one_run(self) -> Metric {
        Metric {
            estimated: false,
            ..self
        }
    }

    /// It is in no run's numbers.
    pub(crate) const fn of_summary(self) -> Metric {
        Metric {
            of_summary: true,
            ..self
        }
    }

    /// See [`Metric::rank`].
    pub(crate) const fn rank(self, rank: u8) -> Metric {
        Metric { rank, ..self }
    }

    /// See [`Metric::compared`].
    pub(crate) const fn compared(self, compared: u8) -> Metric {
        Metric { compared, ..self }
    }

    /// See [`Metric::queried`].
    pub(crate) const fn queried(self) -> Metric {
        Metric {
            queried: true,
            ..self
        }
    }

    /// It has a column in every table of its subject.
    pub(crate) const fn column(self, heading: &'static str, digits: u8) -> Metric {
        let column = Some(Column {
            heading,
            digits,
            if_measured: false,
        });
        Metric { column, ..self }
    }

    /// It has a column in tables of studies that measure it.
    pub(crate) const fn column_if_measured(self, heading: &'static str, digits: u8) -> Metric {
        let column = Some(Column {
            heading,
            digits,
            if_measured: true,
        });
        Metric { column, ..self }
    }

    /// It is of many values, of which `spread` is told.
    pub(crate) const fn spread(self, spread: &'static [Told]) -> Metric {
        Metric { spread, ..self }
    }

    /// See [`Metric::shape`].
    pub(crate) const fn shape(self, shape: &'static str) -> Metric {
        Metric { shape, ..self }
    }

    /// Whether an `[expect]` of a study may name it.
    pub fn is_expectable(&self) -> bool {
        self.estimated && (!self.of_summary || self.key() == "share")
    }

    /// What it belongs to: `flow`, `group`, `band`, `traffic`, `probe`, `bottleneck`,
    /// `fidelity` or `run`.
    pub fn subject(&self) -> &'static str {
        self.name.split_once('.').map_or("run", |(first, _)| first)
    }

    /// The last word of its name.
    pub(crate) fn key(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// The numbers that it is read as; none of texts and lists.
    pub fn numbers(&'static self) -> Vec<Number> {
        match self.quantity.is_number() {
            false => Vec::new(),
            true if self.spread.is_empty() => vec![Number {
                metric: self,
                told: None,
            }],
            true => self
                .spread
                .iter()
                .map(|told| Number {
                    metric: self,
                    told: Some(told),
                })
                .collect(),
        }
    }
}

/// A number under the name of its own that tables, expectations and queries give it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The metric.
    pub metric: &'static Metric,
    /// What is told of its values, if it is of many.
    pub told: Option<&'static Told>,
}

impl Number {
    /// Its name beside those of its subject: `goodput_bps`, `limited_cwnd`, `fct_mean_s`.
    pub fn name(&self) -> String {
        let metric = self.metric;
        let subject = metric.subject();
        let below = metric.name.strip_prefix(subject).unwrap_or(metric.name);
        let below = below.strip_prefix('.').unwrap_or(below);
        // Numbers of transfers need no word that says so: no others of cross traffic have their names.
        let below = below.strip_prefix("transfers.").unwrap_or(below);
        let (stem, unit) = split_unit(below);
        match self.told {
            None => below.replace('.', "_"),
            Some(told) => format!("{stem}_{}{unit}", told.measure).replace('.', "_"),
        }
    }

    /// The name of the number of the whole run whose place it takes in a study with a warm-up; `None`
    /// if it is no such number.
    pub fn window_of(&self) -> Option<String> {
        self.name().strip_prefix(OF_WINDOW).map(str::to_owned)
    }

    /// Of a number with a [`Number::window_of`]: what is short for whichever of the two tables show.
    pub fn short(&self) -> Option<String> {
        let whole = self.window_of()?;
        Some(split_unit(&whole).0.to_owned())
    }

    /// Its name in words, without the unit. That of a number after the warm-up says nothing of it.
    pub fn title(&self) -> String {
        let (stem, _) = split_unit(self.metric.key());
        let stem = stem.strip_prefix(OF_WINDOW).unwrap_or(stem);
        let words = stem.replace('_', " ").replace("jain", "Jain");
        self.told
            .map_or(words.clone(), |told| format!("{words} {}", told.measure))
    }

    /// See [`Metric::compared`].
    pub fn compared(&self) -> u8 {
        self.told.map_or(self.metric.compared, |told| told.compared)
    }

    /// See [`Metric::queried`].
    pub fn queried(&self) -> bool {
        self.told.map_or(self.metric.queried, |told| told.queried)
    }

    /// Its column, and what stands above it.
    pub fn column(&self) -> Option<(Column, String)> {
        let column = self.metric.column?;
        match self.told {
            None => Some((column, column.heading.to_owned())),
            Some(told) if told.column => {
                let heading = format!("{} {}", column.heading, told.measure);
                Some((column, heading))
            }
            Some(_) => None,
        }
    }
}

/// What the names of numbers begin with that are of the time after the warm-up.
const OF_WINDOW: &str = "window_";

/// A name and the unit at its end.
fn split_unit(name: &str) -> (&str, &str) {
    let at = ["_bps", "_s", "_bytes", "_segments"]
        .into_iter()
        .find_map(|unit| name.strip_suffix(unit))
        .map_or(name.len(), str::len);
    name.split_at(at)
}

/// Declares the numbers of a subject: for each its type, the function that measures it, its
/// definition and its row. The struct is what `--json` prints, in that order.
macro_rules! measured {
    (
        $(#[$meta:meta])*
        pub struct $name:ident as $path:literal of $context:ty {
            $(
                $(#[$attribute:meta])*
                $field:ident: $type:ty = $measure:expr, $definition:literal, $row:expr;
            )*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( #[doc = $definition] $(#[$attribute])* pub $field: $type, )*
        }

        impl $name {
            /// The rows of its fields.
            pub(crate) const ROWS: &[crate::table::Metric] = &[
                $( crate::table::Metric {
                    name: concat!($path, stringify!($field)),
                    definition: $definition,
                    ..$row
                }, )*
            ];

            /// Measures each field.
            pub(crate) fn measure(of: $context) -> $name {
                $name {
                    $( $field: {
                        let measure: fn($context) -> $type = $measure;
                        measure(of)
                    }, )*
                }
            }
        }
    };
}

pub(crate) use measured;
