//! A congestion control that a study brings in a file of its own: `cc = "./tcp_foo.c"`.

mod beside;
mod c;
mod load;
mod rust;

use std::collections::BTreeMap;
use std::ffi::OsStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use c::{ModuleParam, ParamType};
pub(crate) use load::{Loaded, Wrong, is_path, load};

/// What a variant's file is written in.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// A module of the Linux kernel.
    C,
    /// A class of a Python file.
    Python,
    /// A Rust file.
    Rust,
}

impl Language {
    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Language::C => "C",
            Language::Python => "Python",
            Language::Rust => "Rust",
        }
    }
}

/// The file of a variant, with all that it takes in from its folder. Where that folder is, it does
/// not say: the same content elsewhere is the same file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantFile {
    /// What the flows of the scenario call it, as their `cc`; no built-in variant has this name.
    pub label: String,
    /// What it is written in.
    pub language: Language,
    /// The file's name, without its folder.
    pub file: String,
    /// What it calls itself: what the C file registers, the Python class, the name
    /// that the Rust file declares.
    pub name: String,
    /// SHA-256 of the names and texts of `texts`, in hexadecimal digits.
    pub sha256: String,
    /// The text of the file and of those that it takes in, by their paths from its folder.
    pub texts: BTreeMap<String, String>,
}

/// Digits of the hash that tell the modules of one kernel apart.
const DIGITS: usize = 12;
/// Characters of a file's name that its module keeps: the kernel's limit is
/// `MAX_PARAM_PREFIX_LEN`, 56.
const STEM: usize = 40;

impl VariantFile {
    /// Reads the file that `path` names, as a study would from this process's folder: by its own name.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn read(path: &OsStr) -> Result<VariantFile, String> {
        let loaded = load(None, path).map_err(|wrong| match wrong.help.as_str() {
            "" => wrong.message,
            help => format!("{}; {help}", wrong.message),
        });
        loaded.map(|loaded| loaded.file)
    }

    /// The name of the kernel module that the C file becomes, unique to its content.
    pub fn module(&self) -> String {
        let stem = self
            .file
            .rsplit_once('.')
            .map_or(&*self.file, |(stem, _)| stem);
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let stem: String = stem.chars().take(STEM).map(plain).collect();
        format!("{stem}_{}", &self.sha256[..DIGITS.min(self.sha256.len())])
    }

    /// Whether the C file sets pacing rates: it asks for the timer that sends at them.
    pub fn paces(&self) -> bool {
        let asks = |text: &String| text.contains("SK_PACING_NEEDED");
        self.language == Language::C && self.texts.values().any(asks)
    }

    /// Whether the C file, or one that it includes, defines the function `name`.
    pub fn defines(&self, name: &str) -> bool {
        self.language == Language::C && self.texts.values().any(|text| c::defines(text, name))
    }

    /// The parameters of a C file; none of another, which only those who run it know.
    pub fn module_params(&self) -> Vec<ModuleParam> {
        match (self.language, self.texts.get(&self.file)) {
            (Language::C, Some(text)) => c::Module::read(text).params,
            _ => Vec::new(),
        }
    }
}
