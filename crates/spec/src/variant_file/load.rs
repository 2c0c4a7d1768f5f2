//! From a path to the file of a variant.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cclab_units::{refused, shown, shown_path};
use sha2::{Digest, Sha256};

use super::beside;
use super::c::{Module, ModuleParam};
use super::{Language, VariantFile, rust};
use crate::error::{nearest, unknown};

/// Larger files are no variants.
const MAX_BYTES: u64 = 1 << 20;
/// The most characters of a variant's name in the kernel: `TCP_CA_NAME_MAX` with the closing zero.
const MAX_NAME: usize = 15;
/// Where a path in a study starts.
const FROM: &str = "path starts at the folder of the study file";
/// What can be written.
const KINDS: &str = "a variant's file is a C module (.c), a class of a Python file (.py:Class) or a Rust file (.rs)";

/// A file that has been read, its label being the name that it gives itself.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub file: VariantFile,
    /// The parameters that it takes; `None` where only those who run it know.
    pub params: Option<Vec<ModuleParam>>,
}

/// What is wrong with a file, and what would be right.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub message: String,
    pub help: String,
}

fn wrong(message: impl Into<String>, help: impl Into<String>) -> Wrong {
    Wrong {
        message: message.into(),
        help: help.into(),
    }
}

/// Whether `text`, where a variant is named, is the path of a file.
pub(crate) fn is_path(text: &str) -> bool {
    let ends = |ending| text.ends_with(ending);
    text.contains('/') || ends(".c") || ends(".rs") || ends(".py") || text.contains(".py:")
}

/// Reads the file at `path`, which starts at `folder`, that of a study; else at this process's.
pub(crate) fn load(folder: Option<&Path>, path: &OsStr) -> Result<Loaded, Wrong> {
    let (place, class) = place_and_class(path);
    let full = folder.unwrap_or(Path::new("")).join(place);
    let (path, place) = (shown(path.as_bytes()), shown(place.as_bytes()));
    let path = path.as_str();
    let language = match full.extension().and_then(|ending| ending.to_str()) {
        _ if full.is_dir() => {
            return Err(wrong(format!("the variant \"{path}\" is a folder"), KINDS));
        }
        Some("c") => Language::C,
        Some("py") => Language::Python,
        Some("rs") => Language::Rust,
        _ => {
            let message = format!("the variant \"{path}\" has no ending that is known");
            return Err(wrong(message, KINDS));
        }
    };
    let unreadable = |why: String| {
        let message = format!("the variant \"{path}\" cannot be read: {why}");
        let help = if full.exists() {
            String::new()
        } else {
            let meant = near(&full).map(|near| format!("did you mean {near}?"));
            let from = folder.map(|_| FROM);
            match (meant, from) {
                (Some(meant), Some(from)) => format!("{meant} A {from}"),
                (Some(meant), None) => meant,
                (None, from) => from.map_or_else(String::new, |from| format!("a {from}")),
            }
        };
        wrong(message, help)
    };
    let text = read(&full).map_err(unreadable)?;
    // No file takes in one whose name is not text: what the scenario calls it is up to us.
    let file = shown_path(Path::new(full.file_name().unwrap_or_default()));
    let (name, params) = match language {
        Language::C => {
            let module = Module::read(&text);
            let name = registered(path, &module)?;
            (name, Some(module.params))
        }
        Language::Python => (class_of(path, &place, class, &text)?, None),
        Language::Rust => (of_rust(path, &text)?, None),
    };
    let beside = full.parent().unwrap_or(Path::new(""));
    let texts = beside::texts(beside, &file, text, language)
        .map_err(|why| wrong(format!("the variant \"{path}\" cannot be read: {why}"), ""))?;
    let mut hash = Sha256::new();
    for (name, text) in &texts {
        hash.update(format!("{}\0{}\0{name}\0{text}\0", name.len(), text.len()));
    }
    let sha256 = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(Loaded {
        file: VariantFile {
            label: name.clone(),
            language,
            file,
            name,
            sha256,
            texts,
        },
        params,
    })
}

/// The path of the file that `path` names, and the class of a Python file.
fn place_and_class(path: &OsStr) -> (&OsStr, Option<&str>) {
    let bytes = path.as_bytes();
    let colon = bytes.iter().rposition(|&byte| byte == b':');
    match colon.map(|at| (&bytes[..at], str::from_utf8(&bytes[at + 1..]))) {
        Some((place, Ok(class))) if place.ends_with(b".py") => {
            (OsStr::from_bytes(place), Some(class))
        }
        _ => (path, None),
    }
}

/// The text of the file at `path`, or why it cannot be had.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let facts = fs::metadata(path).map_err(|error| refused(&error))?;
    if !facts.is_file() {
        return Err("it is no file".to_owned());
    }
    if facts.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| refused(&error))?;
    String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
}

/// What may have been meant by the file `full`, which is not there.
fn near(full: &Path) -> Option<String> {
    let wanted = full.file_name().and_then(|name| name.to_str());
    let folder = full
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")))
        .into_iter()
        .flatten();
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_path(name)).collect();
    names.sort();
    let near = nearest(wanted?, names.iter().map(String::as_str))?;
    Some(near.to_owned())
}

/// The name of the one variant that `module`, the file at `path`, registers.
fn registered(path: &str, module: &Module) -> Result<String, Wrong> {
    match module.registered.as_slice() {
        [] => Err(wrong(
            format!("the C file \"{path}\" registers no congestion control"),
            "it defines a struct tcp_congestion_ops with a `.name`, and hands its address to \
             tcp_register_congestion_control",
        )),
        [None] => Err(wrong(
            format!("the C file \"{path}\" does not show the name that it registers"),
            "write it into the initializer of its struct tcp_congestion_ops: .name = \"foo\"",
        )),
        [Some(name)] => fitting(name, || format!("the C file \"{path}\" registers")),
        several => Err(wrong(
            format!(
                "the C file \"{path}\" registers {} congestion controls",
                several.len()
            ),
            "a study knows a file by the one that it registers: write a file for each",
        )),
    }
}

/// The name that the Rust file at `path` declares.
fn of_rust(path: &str, text: &str) -> Result<String, Wrong> {
    match rust::declared(text) {
        Some(name) => fitting(&name, || format!("the Rust file \"{path}\" declares")),
        None => Err(wrong(
            format!("the Rust file \"{path}\" declares no variant"),
            "it says cclab::variant! { name: \"mine\", start: Mine::new }, the name first",
        )),
    }
}

/// `name`, if tables can show it and a kernel can know it.
fn fitting(name: &str, says: impl Fn() -> String) -> Result<String, Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let fits = !name.is_empty() && name.len() <= MAX_NAME && !is_path(name);
    match fits && name.chars().all(plain) {
        true => Ok(name.to_owned()),
        false => Err(wrong(
            format!("{} {name:?}, which cannot be a name", says()),
            format!("it has 1 to {MAX_NAME} letters, digits, `-`, `_`, `.` and `+`"),
        )),
    }
}

/// The class of the Python file at `place` that `class` is.
fn class_of(path: &str, place: &str, class: Option<&str>, text: &str) -> Result<String, Wrong> {
    let classes = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("class ")?.trim_start();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        Some(&rest[..end.unwrap_or(rest.len())])
    });
    match class {
        Some(class) if classes.clone().any(|known| known == class) => Ok(class.to_owned()),
        Some(class) => {
            let problem = unknown(&format!("class of \"{place}\""), class, classes);
            let help = match problem.help.as_str() {
                "" => "it has no class".to_owned(),
                help => help.to_owned(),
            };
            Err(wrong(problem.message, help))
        }
        None => Err(wrong(
            format!("the Python file \"{path}\" is named without its class"),
            format!(
                "write \"{place}:{}\"",
                classes.clone().next().unwrap_or("Class")
            ),
        )),
    }
}
