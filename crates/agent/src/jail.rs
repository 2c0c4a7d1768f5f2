//! What a guest's process may do on the host: read, and write in the run's folder. What runs in it
//! may be anything, and may take the guest's kernel over: it is the host that refuses.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use caps::{Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use nix::sys::resource::{Resource, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use crate::capabilities;

/// The newest form of Landlock that is asked for; older kernels give what they have.
const FORM: ABI = ABI::V6;
/// What the guest's console reads from where there is none.
const NOTHING: &str = "/dev/null";
/// What a process of root keeps: it reads what root may, and writes to a run's folder whoever owns
/// it.
const KEPT: [Capability; 1] = [Capability::CAP_DAC_OVERRIDE];
/// Calls that a guest's kernel never makes. One that was taken over could reach the rest of the
/// host by them.
const REFUSED: [i64; 34] = [
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
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
];
/// What makes a process one of a namespace of its own.
const APART: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// Numbers from here on are those of another form of the calls (x32), which no list has.
const OTHER_FORM: u32 = 0x4000_0000;

type Done = Result<(), Box<dyn Error>>;

/// This process, and what it becomes and starts, writes from now on in the folder `dir` alone and
/// makes files in `memory`; it has no sockets, sends signals to its own processes alone, has no
/// privilege of root but for files, and leaves no image of its memory behind.
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
    calls()?;
    unknown_calls()
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
    let unconditional = REFUSED.iter().map(|&call| (call, Vec::new()));
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = unconditional.collect();
    calls.insert(
        libc::SYS_clone,
        APART.into_iter().map(with_flag).collect::<Result<_, _>>()?,
    );
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EACCES as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}

/// A call whose first argument has this flag.
fn with_flag(flag: i32) -> Result<SeccompRule, seccompiler::BackendError> {
    let flag = flag as u32 as u64;
    let is_set = SeccompCmpOp::MaskedEq(flag);
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, is_set, flag)?;
    SeccompRule::new(vec![condition])
}

/// Calls whose arguments no filter sees, and whose numbers no list has, are said not to be there:
/// the C library then makes the one that is seen.
fn unknown_calls() -> Done {
    let (load, at_least, equal, give) = (0x20, 0x35, 0x15, 0x06);
    let statement = |code, k| sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    };
    let absent = 0x0005_0000 | libc::ENOSYS as u32;
    let program = [
        statement(load, 0),
        sock_filter {
            code: at_least,
            jt: 1,
            jf: 0,
            k: OTHER_FORM,
        },
        sock_filter {
            code: equal,
            jt: 0,
            jf: 1,
            k: libc::SYS_clone3 as u32,
        },
        statement(give, absent),
        statement(give, 0x7fff_0000),
    ];
    Ok(seccompiler::apply_filter(&program)?)
}
