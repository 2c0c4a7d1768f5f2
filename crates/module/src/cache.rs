//! Compiled files, kept by what they were made of.
//!
//! ```text
//! CACHE/ours-HASH/   the headers, the parts and the program that asks: of our texts and the compiler
//! CACHE/HASH.so      a module: of its texts, of `ours` and the name of its file
//! CACHE/HASH.told    what it says of itself; there whenever HASH.so is
//! ```
//! Whatever is made is made under another name and renamed: of two processes that make the same, the
//! last one's stays, and both work.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::compiler::Compiler;
use crate::description::{Description, ask};
use crate::headers;
use crate::message::{ModuleError, errors};

/// A C file and what it includes by quotes.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The path of the file among `texts`.
    pub file: &'a str,
    /// The texts, by their paths from the file's folder.
    pub texts: &'a BTreeMap<String, String>,
}

/// A module as compiled and described, not loaded.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub(crate) file: String,
    pub(crate) object: PathBuf,
    description: Description,
}

/// Where modules are kept: `cclab/module` in the user's cache folder.
///
/// # Errors
/// There is no home folder.
pub fn cache_folder() -> Result<PathBuf, ModuleError> {
    let absolute = |name| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    base.map(|base| base.join("cclab").join("module"))
        .ok_or_else(|| ModuleError::Io {
            place: "the cache of modules".to_owned(),
            why: std::io::Error::other("no home folder to keep them in; set XDG_CACHE_HOME"),
        })
}

impl Compiled {
    /// Compiles `sources`, unless `cache` has what they become, and asks what they are.
    ///
    /// # Errors
    /// The file does not compile, registers no congestion control or more than one, lacks a hook
    /// that Linux demands, or fails while it begins; there is no compiler; `cache` cannot be written.
    pub fn of(sources: &Sources<'_>, cache: &Path) -> Result<Compiled, ModuleError> {
        let compiler = Compiler::find(sources.file)?;
        let ours = cache.join(format!("ours-{}", ours_hash(&compiler)));
        let hash = hash_of(sources, &ours);
        let object = cache.join(format!("{hash}.so"));
        let told = cache.join(format!("{hash}.told"));
        if !object.exists() {
            fs::create_dir_all(cache).map_err(ModuleError::io(cache))?;
            // Aliases of a path make no difference to the compiler.
            let cache = cache.canonicalize().map_err(ModuleError::io(cache))?;
            make_ours(&compiler, &ours, &cache)?;
            make(&compiler, sources, &ours, &cache, [&object, &told])?;
        }
        let words = fs::read(&told).map_err(ModuleError::io(&told))?;
        Ok(Compiled {
            file: sources.file.to_owned(),
            object,
            description: Description::read(&words, sources.file)?,
        })
    }

    /// What the module says of itself.
    pub fn description(&self) -> &Description {
        &self.description
    }
}

fn hex(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().take(16).map(|b| format!("{b:02x}")).collect()
}

fn add(hash: &mut Sha256, name: &str, text: &str) {
    hash.update(format!("{}\0{}\0{name}\0{text}\0", name.len(), text.len()));
}

fn ours_hash(compiler: &Compiler) -> String {
    let mut hash = Sha256::new();
    add(&mut hash, "compiler", &compiler.told());
    for (name, text) in headers::all() {
        add(&mut hash, name, &text);
    }
    for (name, text) in headers::PARTS
        .iter()
        .chain([&headers::SHARED, &headers::ASK])
    {
        add(&mut hash, name, text);
    }
    hex(hash)
}

fn hash_of(sources: &Sources<'_>, ours: &Path) -> String {
    let mut hash = Sha256::new();
    let ours = ours.file_name().unwrap_or_default().to_string_lossy();
    add(&mut hash, sources.file, &ours);
    for (name, text) in sources.texts {
        add(&mut hash, name, text);
    }
    hex(hash)
}

fn write(place: &Path, text: &str) -> Result<(), ModuleError> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).map_err(ModuleError::io(folder))?;
    }
    fs::write(place, text).map_err(ModuleError::io(place))
}

/// A folder in `cache` that goes when it is dropped.
fn workshop(cache: &Path) -> Result<tempfile::TempDir, ModuleError> {
    tempfile::Builder::new()
        .prefix("making-")
        .tempdir_in(cache)
        .map_err(ModuleError::io(cache))
}

/// Makes the folder `ours`, unless it is there.
fn make_ours(compiler: &Compiler, ours: &Path, cache: &Path) -> Result<(), ModuleError> {
    if ours.exists() {
        return Ok(());
    }
    let workshop = workshop(cache)?;
    let made = workshop.path().join("ours");
    let include = made.join("include");
    for (name, text) in headers::all() {
        write(&include.join(name), &text)?;
    }
    for (name, text) in headers::PARTS
        .iter()
        .chain([&headers::SHARED, &headers::ASK])
    {
        write(&made.join(name), text)?;
    }
    for (name, _) in headers::PARTS {
        let object = made.join(name).with_extension("o");
        let said = compiler.compile(&made, name, &include, &object)?;
        if !said.done {
            return Err(compiler.ours(&said));
        }
    }
    let said = compiler.program(&made.join(headers::ASK.0), &made.join("ask"))?;
    if !said.done {
        return Err(compiler.ours(&said));
    }
    match fs::rename(&made, ours) {
        // Another process was first.
        Err(_) if ours.exists() => Ok(()),
        renamed => renamed.map_err(ModuleError::io(ours)),
    }
}

/// Makes the shared object of `sources` and what it says of itself.
fn make(
    compiler: &Compiler,
    sources: &Sources<'_>,
    ours: &Path,
    cache: &Path,
    [object, told]: [&Path; 2],
) -> Result<(), ModuleError> {
    let workshop = workshop(cache)?;
    let folder = workshop.path().join("texts");
    for (name, text) in sources.texts {
        write(&folder.join(name), text)?;
    }
    let ours_absolute = cache.join(ours.file_name().unwrap_or_default());
    let include = ours_absolute.join("include");
    let user = workshop.path().join("user.o");
    let said = compiler.compile(&folder, sources.file, &include, &user)?;
    let wrong = |text: &str| {
        // The linker has whole paths.
        let text = text.replace(&format!("{}/", folder.display()), "");
        let found = errors(&text, sources.file, &ours_absolute.to_string_lossy());
        match found.is_empty() {
            true => ModuleError::of(sources.file, format!("the compiler refuses it:\n{text}")),
            false => ModuleError::Wrong(found),
        }
    };
    if !said.done {
        return Err(wrong(&said.text));
    }
    let parts: Vec<PathBuf> = headers::PARTS
        .iter()
        .map(|(name, _)| ours_absolute.join(name).with_extension("o"))
        .collect();
    let mut objects = vec![user.as_path()];
    objects.extend(parts.iter().map(PathBuf::as_path));
    let made = workshop.path().join("module.so");
    let said = compiler.link(&folder, &objects, &made)?;
    if !said.done {
        return Err(wrong(&said.text));
    }
    let words = ask(&ours_absolute.join("ask"), &made, sources.file)?;
    let unread = workshop.path().join("told");
    fs::write(&unread, words).map_err(ModuleError::io(&unread))?;
    fs::rename(&unread, told).map_err(ModuleError::io(told))?;
    fs::rename(&made, object).map_err(ModuleError::io(object))
}
