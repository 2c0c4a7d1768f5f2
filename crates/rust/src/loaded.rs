//! A shared object that is loaded, and what its variant takes.

#![allow(
    unsafe_code,
    reason = "a shared object is trusted to hold what its file says"
)]

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::slice;

use cclab_cc::Config;
use cclab_cc::interface::{self, CongestionOps, INTERFACE_VERSION, StateColumn, States, Table};
use cclab_module::Hook;
use cclab_module::guard::{self, Watched};
use cclab_spec::{StudyError, VariantFile};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::foreign::Foreign;
use crate::of_file;

/// What a shared object exports.
const ENTRY: &[u8] = b"cclab_variant\0";
const STATES: &[u8] = b"cclab_states\0";

/// The tables of a shared object, which lives as long as the process.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    pub variant: &'static Table,
    pub states: &'static States,
}

/// Why a shared object has no table for us.
pub(crate) enum Refused {
    /// It is not one, or not whole.
    Damaged(String),
    /// It is of another interface, or of none.
    Unfit { message: String, help: String },
}

impl Refused {
    /// What is wrong, and what would be right.
    pub(crate) fn why(self) -> (String, String) {
        match self {
            Refused::Damaged(why) => (format!("it cannot be loaded: {why}"), String::new()),
            Refused::Unfit { message, help } => (message, help),
        }
    }
}

/// Loads the shared object at `path`, for as long as the process lives.
pub(crate) fn tables(path: &Path) -> Result<Tables, Refused> {
    // SAFETY: what runs when a user's file is loaded is the user's.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| Refused::Damaged(error.to_string()))?;
    let none = || Refused::Unfit {
        message: "it declares no variant".to_owned(),
        help: "it says cclab::variant! { name: \"mine\", start: Mine::new }".to_owned(),
    };
    // SAFETY: `variant!` defines the entry as such a function.
    let entry = unsafe { library.get::<unsafe extern "C" fn() -> *const Table>(ENTRY) };
    let table = match entry {
        // SAFETY: see above.
        Ok(entry) => unsafe { entry() },
        Err(_) => return Err(none()),
    };
    if table.is_null() {
        return Err(none());
    }
    // SAFETY: tables of every version begin with its number.
    let interface = unsafe { table.cast::<u32>().read() };
    if interface != INTERFACE_VERSION {
        return Err(Refused::Unfit {
            message: format!("it is written for interface {interface} of cclab"),
            help: format!(
                "this cclab has interface {INTERFACE_VERSION}: see what changed, mend the file, \
                 and write `interface: {INTERFACE_VERSION}`"
            ),
        });
    }
    // SAFETY: `variant!` of this version defines this entry beside the other.
    let states = unsafe {
        let entry = library.get::<unsafe extern "C" fn() -> *const States>(STATES);
        let entry = entry.map_err(|error| Refused::Damaged(error.to_string()))?;
        &*entry()
    };
    // What the tables point at is the library's: it is never unloaded.
    let _stays = ManuallyDrop::new(library);
    // SAFETY: a table of this version, of a library that stays.
    let variant = unsafe { &*table };
    // SAFETY: `tell` does as `Tell` says.
    unsafe { (variant.watch)(tell) };
    Ok(Tables { variant, states })
}

/// Ends the hook that panicked, and whatever called it, with what the panic said.
unsafe extern "C-unwind" fn tell(fault: *const interface::Fault) -> ! {
    // SAFETY: the fault is lent for the time of the call, and so are its texts.
    let (fault, [hook, message, file]) = unsafe {
        let fault = &*fault;
        let texts = [fault.hook, fault.message, fault.file];
        (fault, texts.map(|text| text.read()))
    };
    let (line, column) = (fault.line as usize, fault.column as usize);
    let fault = Fault {
        file,
        line,
        column,
        hook,
        message,
    };
    if guard::is_installed() {
        let place = format!("{}:{line}:{column}", fault.file);
        let place = CString::new(place).unwrap_or_default();
        let place = Watched::new(Box::leak(place.into_boxed_c_str()));
        place.told(fault.hook(), &fault.message);
    }
    guard::leave();
    // The file's own panic was the first; nothing is to be printed of this one.
    resume_unwind(Box::new(fault))
}

/// A panic of a file: the payload with which the hook that was called unwinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The source file where it happened.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// The hook that was called; `start` where a variant is made, `end` where it is dropped.
    pub hook: String,
    /// What the panic said.
    pub message: String,
}

impl Fault {
    /// The hook, as a guarded process names it.
    fn hook(&self) -> Hook {
        match self.hook.as_str() {
            "start" => Hook::Init,
            "state_columns" | "tell_state" => Hook::TellState,
            name => {
                let mut hooks = Hook::OF_OPS.into_iter();
                hooks
                    .find(|hook| hook.name() == name)
                    .unwrap_or(Hook::Release)
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault {
            file,
            line,
            column,
            hook,
            message,
        } = self;
        write!(f, "{file}:{line}:{column}: {hook}: {message}")
    }
}

/// What a file declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The variant's name.
    pub name: String,
    /// Its parameters, as declared.
    pub params: Vec<Parameter>,
    /// Whether its flows always negotiate ECN (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
}

/// A parameter that a file declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it does.
    pub meaning: String,
    /// Its value where none is given.
    pub default: f64,
    /// The smallest value that it may take.
    pub least: f64,
    /// The largest value that it may take.
    pub most: f64,
}

/// The variant of a file, ready to be made.
#[derive(Clone)]
pub struct Loaded {
    file: String,
    /// The same, as faults are told with it.
    told_as: Watched,
    description: Description,
    tables: Tables,
    columns: &'static [StateColumn],
}

impl Loaded {
    /// What the tables of `file` declare, if it is sound.
    pub(crate) fn of(file: &VariantFile, tables: Tables) -> Result<Loaded, StudyError> {
        let table = tables.variant;
        // SAFETY: a table of a library that stays loaded points at so many.
        let params = unsafe { slice::from_raw_parts(table.params, table.params_len) };
        let params = params.iter().map(|param| Parameter {
            // SAFETY: as above.
            name: unsafe { param.name.read() },
            // SAFETY: as above.
            meaning: unsafe { param.meaning.read() },
            default: param.default,
            least: param.least,
            most: param.most,
        });
        let description = Description {
            // SAFETY: as above.
            name: unsafe { table.name.read() },
            params: params.collect(),
            needs_ecn: table.needs_ecn,
        };
        if let Some(why) = unsound(&description.params) {
            return Err(of_file(file, why));
        }
        let mut loaded = Loaded {
            file: file.file.clone(),
            // A name for each file that is loaded, which are few.
            told_as: Watched::new(Box::leak(
                CString::new(file.file.as_str())
                    .unwrap_or_default()
                    .into_boxed_c_str(),
            )),
            description,
            tables,
            columns: &[],
        };
        loaded.make(&BTreeMap::new()).map(|_| ())?;
        let defaults = &loaded.description.params;
        let defaults: Vec<f64> = defaults.iter().map(|param| param.default).collect();
        let columns = guarded(|| Foreign::start(tables, loaded.told_as, &defaults, &[]).columns())?;
        if let Some(what) = interface::state::unsound(&columns) {
            let why = (
                format!("it tells {what}"),
                "give each a name of its own".to_owned(),
            );
            return Err(of_file(file, why));
        }
        // Those of each file that is loaded, which are few.
        loaded.columns = Vec::leak(columns);
        Ok(loaded)
    }

    /// What the file declares.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// What makes the variant at the start of a connection, with `values` of its parameters; those
    /// that are not given have their defaults.
    ///
    /// # Errors
    /// A parameter that the file does not declare, a value outside the bounds that it declares, and
    /// what the variant says of these values when one is made: its panic, with the place.
    pub fn make(
        &self,
        values: &BTreeMap<String, f64>,
    ) -> Result<impl Fn(&Config) -> Box<dyn CongestionOps> + Send + Sync + 'static, StudyError>
    {
        let name = &self.description.name;
        let wrong = |message, help| StudyError {
            file: self.file.clone(),
            line: 0,
            column: 0,
            message,
            help,
        };
        let declared = &self.description.params;
        for given in values.keys() {
            if !declared.iter().any(|param| param.name == *given) {
                let names: Vec<&str> = declared.iter().map(|param| &*param.name).collect();
                return Err(wrong(
                    format!("unknown parameter of {name} `{given}`"),
                    match names.as_slice() {
                        [] => "it declares no parameters".to_owned(),
                        names => format!("it declares {}", names.join(", ")),
                    },
                ));
            }
        }
        let value = |param: &Parameter| {
            let value = values.get(&param.name).copied().unwrap_or(param.default);
            match (param.least..=param.most).contains(&value) {
                true => Ok(value),
                false => Err(wrong(
                    format!("{} = {value} of {name}", param.name),
                    format!("it lies between {} and {}", param.least, param.most),
                )),
            }
        };
        let values: Vec<f64> = declared.iter().map(value).collect::<Result<_, _>>()?;
        let (tables, file, columns) = (self.tables, self.told_as, self.columns);
        let make = move || Foreign::start(tables, file, &values, columns);
        // A value that the file does not bear is told before a run begins.
        guarded(|| drop(make()))?;
        Ok(move |_: &Config| -> Box<dyn CongestionOps> { Box::new(make()) })
    }
}

/// What `call` of a file returns, or what its panic says.
fn guarded<R>(call: impl FnOnce() -> R) -> Result<R, StudyError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let fault = match payload.downcast::<Fault>() {
            Ok(fault) => *fault,
            Err(other) => resume_unwind(other),
        };
        StudyError {
            message: format!("{}: {}", fault.hook, fault.message),
            file: fault.file,
            line: fault.line,
            column: fault.column,
            help: String::new(),
        }
    })
}

/// What is wrong with the parameters that a file declares, and what would be right.
fn unsound(params: &[Parameter]) -> Option<(String, String)> {
    let plain = |name: &str| {
        let mut letters = name.chars();
        letters
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for (index, param) in params.iter().enumerate() {
        let Parameter {
            name,
            default,
            least,
            most,
            ..
        } = param;
        if !plain(name) {
            return Some((
                format!("it declares a parameter {name:?}"),
                "a name has letters, digits and `_`, and begins with no digit".to_owned(),
            ));
        }
        if params[..index].iter().any(|other| other.name == *name) {
            return Some((
                format!("it declares the parameter {name} twice"),
                "give each a name of its own".to_owned(),
            ));
        }
        if !(least..=most).contains(&default) {
            return Some((
                format!("its parameter {name} = {default} is not between {least} and {most}"),
                "the default lies within the bounds".to_owned(),
            ));
        }
    }
    None
}
