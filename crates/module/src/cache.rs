//! Compiled files, kept by what they were made of.
//!
//! ```text
//! CACHE/ours-HASH/   the headers, the parts and the program that asks: of our texts and the compiler
//! CACHE/HASH.so      a module: of its texts, of `ours` and the name of its file
//! CACHE/HASH.told    what it says of itself
//! ```
//! Of two processes that make the same, the first one's stays, and both work.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::compiler::Compiler;
use crate::description::{Description, ask};
use crate::kept::{Kept, Work};
use crate::message::{ModuleError, errors};
use crate::{headers, place};

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
    /// Where it is, if it could not be kept.
    pub(crate) work: Option<Work>,
    description: Description,
}

/// Files of modules that stay: two of each.
const KEPT: usize = 400;

/// Where modules are kept: `cclab/module` in the user's cache folder.
pub fn cache() -> Kept {
    Kept::of("module", KEPT)
}

impl Compiled {
    /// Compiles `sources`, unless `cache` has what they become, and asks what they are.
    ///
    /// # Errors
    /// The file does not compile, registers no congestion control or more than one, lacks a hook
    /// that Linux demands, or fails while it begins; there is no compiler; nothing can be written.
    pub fn of(sources: &Sources<'_>, cache: &Kept) -> Result<Compiled, ModuleError> {
        let compiler = Compiler::find(sources.file)?;
        let ours = format!("ours-{}", ours_hash(&compiler));
        let hash = hash_of(sources, &ours);
        let names = [format!("{hash}.so"), format!("{hash}.told")];
        let kept = cache.find(&names[0]).zip(cache.find(&names[1]));
        let known = kept.and_then(|(object, told)| Some((object, fs::read(told).ok()?)));
        let (object, words, work) = match known {
            Some((object, words)) => (object, words, None),
            None => {
                let work = cache.begin().map_err(ModuleError::unwritable)?;
                let ours = match cache.find(&ours) {
                    Some(kept) => kept.canonicalize().map_err(ModuleError::io(&kept))?,
                    None => make_ours(&compiler, &work, &ours)?,
                };
                let (object, words) = make(&compiler, sources, &ours, &work, &names)?;
                (object, words, Some(work))
            }
        };
        Ok(Compiled {
            file: sources.file.to_owned(),
            description: Description::read(&words, sources.file)?,
            work: work.filter(|work| object.starts_with(work.path())),
            object,
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

fn hash_of(sources: &Sources<'_>, ours: &str) -> String {
    let mut hash = Sha256::new();
    add(&mut hash, sources.file, ours);
    for (name, text) in sources.texts {
        add(&mut hash, name, text);
    }
    hex(hash)
}

fn write(place: &Path, text: &str) -> Result<(), ModuleError> {
    let folder = place.parent().unwrap_or(place);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(place, text));
    written.map_err(ModuleError::unwritable)
}

/// Makes what is ours in `work`, and keeps it as the folder `name`; where it is.
fn make_ours(compiler: &Compiler, work: &Work, name: &str) -> Result<PathBuf, ModuleError> {
    let made = work.path().join(name);
    let include = made.join(headers::FOLDER);
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
        let said = compiler.part(&made, name, &object)?;
        if !said.done {
            return Err(compiler.ours(&said));
        }
    }
    let said = compiler.program(&made.join(headers::ASK.0), &made.join("ask"))?;
    if !said.done {
        return Err(compiler.ours(&said));
    }
    Ok(work.keep_folder(made, name))
}

/// Makes the shared object of `sources` and what it says of itself, and keeps both by their names: where
/// the object is, and the words.
fn make(
    compiler: &Compiler,
    sources: &Sources<'_>,
    ours: &Path,
    work: &Work,
    [object, told]: &[String; 2],
) -> Result<(PathBuf, Vec<u8>), ModuleError> {
    let folder = work.path().join("texts");
    for (name, text) in sources.texts {
        write(&folder.join(name), text)?;
    }
    let user = work.path().join("user.o");
    let said = compiler.compile(&folder, sources.file, ours, &user)?;
    let wrong = |text: &str| {
        // The linker has whole paths.
        let text = text.replace(&format!("{}/", place::USERS), "");
        let found = errors(&text, sources.file, &ours.to_string_lossy());
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
        .map(|(name, _)| ours.join(name).with_extension("o"))
        .collect();
    let mut objects = vec![user.as_path()];
    objects.extend(parts.iter().map(PathBuf::as_path));
    let made = work.path().join(object);
    let said = compiler.link(&folder, &objects, &made)?;
    if !said.done {
        return Err(wrong(&said.text));
    }
    let words = ask(&ours.join("ask"), &made, sources.file)?;
    let unread = work.path().join(told);
    fs::write(&unread, &words).map_err(ModuleError::unwritable)?;
    work.keep(unread, told);
    Ok((work.keep(made, object), words))
}
