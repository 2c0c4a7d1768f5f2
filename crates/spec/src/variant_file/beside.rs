//! The files of its folder that a variant's file takes in.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use super::Language;
use super::c::Module;
use super::load::read;

/// What a file may take in at most, itself included.
const MAX_FILES: usize = 200;

/// The text of `file` in `folder` and of all that it takes in, by their paths from there, or what is
/// wrong with one.
pub(super) fn texts(
    folder: &Path,
    file: &str,
    text: String,
    language: Language,
) -> Result<BTreeMap<String, String>, String> {
    let mut found = BTreeMap::from([(file.to_owned(), text)]);
    let mut open = vec![file.to_owned()];
    while let Some(name) = open.pop() {
        let named = match language {
            Language::C => included(folder, &name, &found[&name])?,
            Language::Python => imported(folder, &name, &found[&name]),
            Language::Rust => Vec::new(),
        };
        for name in named {
            if found.contains_key(&name) {
                continue;
            }
            let text = read(&folder.join(&name)).map_err(|why| format!("{name}: {why}"))?;
            found.insert(name.clone(), text);
            if found.len() > MAX_FILES {
                return Err(format!("it takes in more than {MAX_FILES} files"));
            }
            open.push(name);
        }
    }
    Ok(found)
}

/// What the C `text` of `name` includes by quotes and `folder` has: the rest is the compiler's to
/// find.
fn included(folder: &Path, name: &str, text: &str) -> Result<Vec<String>, String> {
    let own = Path::new(name).parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for include in Module::read(text).includes {
        let path = own.join(&include);
        if !folder.join(&path).is_file() {
            continue;
        }
        let plain = plain(&path).ok_or_else(|| {
            format!("{name} includes \"{include}\", which is outside the folder of the file")
        })?;
        found.push(plain);
    }
    Ok(found)
}

/// `path` without `.` and `..`; `None` if it leaves the folder that it starts from.
fn plain(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// The modules beside `name` in `folder` that its Python `text` imports: files, and packages as a
/// whole.
fn imported(folder: &Path, name: &str, text: &str) -> Vec<String> {
    let own = Path::new(name).parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for module in text.lines().flat_map(modules) {
        let beside = |root: &Path| -> Vec<String> {
            let file = root.join(format!("{module}.py"));
            if folder.join(&file).is_file() {
                return plain(&file).into_iter().collect();
            }
            let package = root.join(&module);
            match folder.join(&package).join("__init__.py").is_file() {
                true => python_files(folder, &package),
                false => Vec::new(),
            }
        };
        found.extend(beside(Path::new("")));
        if own != Path::new("") {
            found.extend(beside(own));
        }
    }
    found
}

/// The first names of the modules that a line of Python imports; they need not be beside it.
fn modules(line: &str) -> Vec<String> {
    let first = |module: &str| {
        let name = module.trim().trim_start_matches('.');
        let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        name[..end.unwrap_or(name.len())].to_owned()
    };
    let line = line.trim_start();
    let mut names: Vec<String> = if let Some(rest) = line.strip_prefix("import ") {
        rest.split(',').map(first).collect()
    } else if let Some((module, what)) = line
        .strip_prefix("from ")
        .and_then(|rest| rest.split_once(" import "))
    {
        match module.trim().trim_start_matches('.') {
            "" => what
                .trim_matches(['(', ' '])
                .split(',')
                .map(first)
                .collect(),
            module => vec![first(module)],
        }
    } else {
        Vec::new()
    };
    names.retain(|name| !name.is_empty());
    names
}

/// The Python files of the folder `package` below `folder`.
fn python_files(folder: &Path, package: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder.join(package))
        .into_iter()
        .flatten();
    for entry in entries.flatten() {
        let path = package.join(entry.file_name());
        if entry.path().is_dir() {
            found.extend(python_files(folder, &path));
        } else if path.extension().is_some_and(|ending| ending == "py") {
            found.extend(plain(&path));
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_seen_by_their_first_names() {
        let cases: [(&str, &[&str]); 6] = [
            ("import numpy as np, mine.deep", &["numpy", "mine"]),
            ("from window import Window", &["window"]),
            ("    from .window import Window", &["window"]),
            ("from . import a, b", &["a", "b"]),
            ("important = 1", &[]),
            ("x = 'import y'", &[]),
        ];
        for (line, names) in cases {
            assert_eq!(modules(line), names, "{line}");
        }
    }

    #[test]
    fn what_leaves_the_folder_has_no_path_in_it() {
        assert_eq!(plain(Path::new("a/../b/./c.h")).as_deref(), Some("b/c.h"));
        assert_eq!(plain(Path::new("a/../../c.h")), None);
        assert_eq!(plain(Path::new("/c.h")), None);
    }
}
