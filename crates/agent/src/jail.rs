//! What a guest's process may do on the host: read, and write in the run's folder. What runs in it
//! may be anything, and may take the guest's kernel over: it is the host that refuses.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use caps::{CapSet, Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use nix::sys::resource::{Resource, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule};

use crate::capabilities;

/// The newest form of Landlock that is asked for; older kernels give what they have.
const FORM: ABI = ABI::V6;
/// What the guest's console reads from where there is none.
const NOTHING: &str = "/dev/null";
/// What a process of root keeps: it reads what root may, and writes to a run's folder whoever owns
/// it.
const KEPT: [Capability; 2] = [
    Capability::CAP_DAC_OVERRIDE,
    Capability::CAP_DAC_READ_SEARCH,
];
/// Calls that a guest's kernel makes never, and by which one that was taken over might reach other
/// parts of the host's kernel.
const REFUSED: [i64; 24] = [
    libc::SYS_socket,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_quotactl,
];

type Done = Result<(), Box<dyn Error>>;

/// This process, and what it becomes and starts, writes from now on in the folder `dir` alone and
/// makes files in `memory`; it has no sockets, sends signals to its own processes alone, has no
/// privilege of root but for files, and leaves no image of its memory behind.
///
/// # Errors
/// If the kernel refuses. One without Landlock, or with an older form of it, does what it can.
pub fn guest(dir: &Path, memory: &Path) -> Done {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    capabilities::keep(&CapsHashSet::from(KEPT))?;
    // Nobody but root can have more than he keeps.
    if caps::has_cap(None, CapSet::Permitted, Capability::CAP_DAC_OVERRIDE)? {
        caps::set(None, CapSet::Effective, &CapsHashSet::from(KEPT))?;
        caps::set(None, CapSet::Permitted, &CapsHashSet::from(KEPT))?;
    }
    files(dir, memory)?;
    calls()
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

fn calls() -> Done {
    let calls: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EACCES as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}
