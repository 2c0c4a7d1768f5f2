//! What a compiled module says of itself.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::guard;
use crate::hook::Hook;
use crate::message::ModuleError;

/// What a module says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name that it registers.
    pub name: String,
    /// Whether its flows always negotiate ECN (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
    /// Whether a receiver with it echoes the mark of each packet (as DCTCP's does), not a mark until
    /// the sender has heard (RFC 3168).
    pub echoes_each_mark: bool,
    /// The hooks that it has.
    pub hooks: Vec<Hook>,
    /// Its parameters, in the order of the file.
    pub params: Vec<Param>,
}

/// A parameter of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its place in the shared object.
    pub(crate) index: usize,
    /// Its name.
    pub name: String,
    /// Its type, as `module_param` names it; empty: functions of the module's own read it.
    pub kind: String,
    /// Its value before any is given, as the module writes it.
    pub default: String,
    /// What `MODULE_PARM_DESC` says of it; may be empty.
    pub meaning: String,
}

impl Description {
    /// Whether the module has `hook`.
    pub fn has(&self, hook: Hook) -> bool {
        self.hooks.contains(&hook)
    }

    /// From the words of the program that asked, for the user's `file`.
    pub(crate) fn read(words: &[u8], file: &str) -> Result<Description, ModuleError> {
        let text = String::from_utf8_lossy(words);
        let mut words = text.split('\0');
        let mut params = Vec::new();
        let mut ops = None;
        let mut echoes = false;
        let mut next = || words.next().unwrap_or_default().to_owned();
        loop {
            match next().as_str() {
                "param" => {
                    let index = params.len();
                    let line: u32 = next().parse().unwrap_or_default();
                    let [name, kind, meaning, default] = [next(), next(), next(), next()];
                    params.push((
                        line,
                        Param {
                            index,
                            name,
                            kind,
                            default: default.trim().to_owned(),
                            meaning,
                        },
                    ));
                }
                "begin" => {}
                "registered" => {
                    let [count, lacking, said] = [next(), next(), next()];
                    refuse(file, &count, &lacking, &said)?;
                }
                "ops" => ops = Some([next(), next(), next()]),
                "echoes" => echoes = next() == "1",
                "end" => break,
                other => {
                    let what = format!("cannot be described: unexpected word {other:?}");
                    return Err(ModuleError::of(file, what));
                }
            }
        }
        let Some([name, flags, hooks]) = ops else {
            return Err(ModuleError::of(file, "registers nothing"));
        };
        if name.is_empty() {
            let what = "registers a congestion control without a name: write .name = \"foo\" into \
                        its struct tcp_congestion_ops";
            return Err(ModuleError::of(file, what));
        }
        params.sort_by_key(|(line, _)| *line);
        let flags: u32 = flags.parse().unwrap_or_default();
        let hooks: u32 = hooks.parse().unwrap_or_default();
        let there = |hook: &Hook| hooks & hook.bit() != 0;
        Ok(Description {
            name,
            needs_ecn: flags & NEEDS_ECN != 0,
            echoes_each_mark: echoes,
            hooks: Hook::OF_OPS.into_iter().filter(there).collect(),
            params: params.into_iter().map(|(_, param)| param).collect(),
        })
    }
}

/// `TCP_CONG_NEEDS_ECN`.
const NEEDS_ECN: u32 = 2;

/// Refuses what Linux would not register, or what is not one congestion control.
fn refuse(file: &str, count: &str, lacking: &str, said: &str) -> Result<(), ModuleError> {
    let what = if !lacking.is_empty() {
        format!(
            "registers a congestion control without {lacking}: Linux refuses one that does not \
             implement ssthresh, undo_cwnd, and cong_avoid or cong_control"
        )
    } else if said.starts_with('-') {
        format!("its module_init function failed: it returned {said}")
    } else if count == "0" {
        "registers no congestion control: its module_init function calls \
         tcp_register_congestion_control(&ops)"
            .to_owned()
    } else if count != "1" {
        format!("registers {count} congestion controls: write a file for each")
    } else {
        return Ok(());
    };
    Err(ModuleError::of(file, what))
}

/// What the shared object `module` of the user's `file` answers to the program `asker`.
///
/// # Errors
/// It crashes, or does not end.
pub(crate) fn ask(asker: &Path, module: &Path, file: &str) -> Result<Vec<u8>, ModuleError> {
    let output = Command::new(asker)
        .arg(module)
        .stdin(Stdio::null())
        .output()
        .map_err(ModuleError::io(asker))?;
    if output.status.success() && output.stdout.ends_with(b"\0end\0") {
        return Ok(output.stdout);
    }
    // The last word says how far it came.
    let said = String::from_utf8_lossy(&output.stdout);
    let hook = match said.trim_end_matches('\0').rsplit('\0').next() {
        // What fails in a connection that is none may do well in one that is.
        Some("echoes") => return Ok([output.stdout.as_slice(), b"0\0end\0"].concat()),
        Some("begin") => Hook::ModuleInit.name(),
        _ => "the function that reads a parameter",
    };
    let what = match output.status.signal() {
        Some(signal) => guard::what(signal).to_owned(),
        None if output.stderr.is_empty() => "it ends its process".to_owned(),
        None => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    };
    Err(ModuleError::of(file, format!("{hook}: {what}")))
}
