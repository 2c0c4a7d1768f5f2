//! What a guest's process may do on the host: read, and write in the run's folder. What runs in it
//! may be anything, and may take the guest's kernel over: it is the host that refuses.

use std::error::Error;
use std::path::Path;

use caps::{Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use nix::sys::resource::{Resource, setrlimit};

use crate::{calls, capabilities};

/// The newest form of Landlock that is asked for; older kernels give what they have.
const FORM: ABI = ABI::V6;
/// What the guest's console reads from where there is none.
const NOTHING: &str = "/dev/null";
/// What a process of root keeps: it reads what root may, and writes to a run's folder whoever owns
/// it.
const KEPT: [Capability; 1] = [Capability::CAP_DAC_OVERRIDE];
type Done = Result<(), Box<dyn Error>>;

/// This process, and what it becomes and starts, writes from now on in the folder `dir` alone and
/// makes files in `memory`; it makes no calls but those of [`calls`], sends signals to its own
/// processes alone, has no privilege of root but for files, and leaves no image of its memory
/// behind.
///
/// # Errors
/// If the kernel refuses. One without Landlock, or with an older form of it, does what it can.
pub fn guest(dir: &Path, memory: &Path) -> Done {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    setrlimit(Resource::RLIMIT_MEMLOCK, 0, 0)?;
    let kept = CapsHashSet::from(KEPT);
    capabilities::bound(&kept)?;
    capabilities::keep(&kept)?;
    files(dir, memory)?;
    calls::bound()
}

fn files(dir: &Path, memory: &Path) -> Done {
    let beneath = |path: &Path, access: BitFlags<AccessFs>| {
        PathFd::new(path).map(|place| PathBeneath::new(place, access))
    };
    let unnamed = AccessFs::ReadFile
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::RemoveFile;
    let folder = unnamed | AccessFs::ReadDir | AccessFs::MakeDir | AccessFs::RemoveDir;
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(FORM))?
        .handle_access(AccessNet::from_all(FORM))?
        .scope(Scope::from_all(FORM))?
        .create()?
        .add_rule(beneath(Path::new("/"), AccessFs::from_read(FORM))?)?
        .add_rule(beneath(Path::new(NOTHING), AccessFs::WriteFile.into())?)?
        .add_rule(beneath(dir, folder)?)?
        .add_rule(beneath(memory, unnamed)?)?
        .restrict_self()?;
    Ok(())
}
