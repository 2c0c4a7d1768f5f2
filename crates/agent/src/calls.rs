//! The system calls that a guest's process may make on the host. All others are refused: those that
//! change modes, owners, times or attributes of files, limits or priorities of other processes, what
//! outlives a process in the host's memory, and whatever a later kernel adds.

use std::collections::BTreeMap;
use std::error::Error;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};

/// Calls of User Mode Linux, of the C library in it, and of the processes that carry the guest's
/// address spaces, whatever their arguments. What they do to files Landlock bounds.
const ALLOWED: &[i64] = &[
    // Files.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_lseek,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_umask,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    // Time.
    libc::SYS_times,
    libc::SYS_gettimeofday,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_madvise,
    libc::SYS_mincore,
    // Signals, which Landlock keeps among the guest's own processes, as it does `ptrace`.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_ptrace,
    // Processes, none of which leaves the group that ends with the run.
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_prctl,
    libc::SYS_seccomp,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_sched_getaffinity,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_capget,
    // The machine.
    libc::SYS_getrandom,
    libc::SYS_getcpu,
    libc::SYS_sysinfo,
    libc::SYS_uname,
];
/// Calls that x86-64 has beside them; newer lists have the forms that end in `at`, and the like, alone.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_access,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_fork,
    libc::SYS_get_thread_area,
    libc::SYS_getpgrp,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_modify_ldt,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_select,
    libc::SYS_set_thread_area,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_unlink,
    libc::SYS_vfork,
];
/// See above: none.
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];
/// The bits of the mode of a file that runs as its owner or its group, whoever starts it.
const AS_ANOTHER: u64 = 0o6000;
/// What may be asked of an open file: no locks, leases or notices, which others would feel.
const OF_OPEN_FILES: [i32; 8] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_SETOWN,
    F_SETSIG,
];
/// `F_SETSIG` (include/uapi/asm-generic/fcntl.h).
const F_SETSIG: i32 = 10;
/// What may be asked of a device or a file: what it is, and what waits there. Flags and attributes
/// of files are set in this way too.
const OF_DEVICES: [libc::Ioctl; 5] = [
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIONBIO,
    libc::FIOCLEX,
];
/// What makes a process one of a namespace of its own.
const APART: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
/// The bits of a socket's type that are no flags.
const TYPE: u64 = 0xf;
/// Numbers from here on are those of another form of the calls (x32), which no list has.
const OTHER_FORM: u32 = 0x4000_0000;

type Rules = Result<Vec<SeccompRule>, BackendError>;

/// This process, and what it becomes and starts, makes from now on no calls but those of a guest's
/// process.
///
/// # Errors
/// If the kernel refuses.
pub fn bound() -> Result<(), Box<dyn Error>> {
    let whatever = ALLOWED.iter().chain(OLDER);
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> =
        whatever.map(|&call| (call, Vec::new())).collect();
    let plain = SeccompCmpOp::MaskedEq(AS_ANOTHER);
    #[cfg(target_arch = "x86_64")]
    calls.insert(libc::SYS_open, together([(2, plain.clone(), 0)])?);
    calls.insert(libc::SYS_openat, together([(3, plain, 0)])?);
    calls.insert(libc::SYS_fcntl, either(1, OF_OPEN_FILES.map(unsigned))?);
    calls.insert(libc::SYS_ioctl, either(1, OF_DEVICES)?);
    calls.insert(libc::SYS_prlimit64, either(0, [0])?);
    let own = SeccompCmpOp::MaskedEq(unsigned(APART));
    calls.insert(libc::SYS_clone, together([(0, own, 0)])?);
    // Ends that are connected for good: a pair of datagrams may send to anybody.
    let stream = [
        (0, SeccompCmpOp::Eq, unsigned(libc::AF_UNIX)),
        (1, SeccompCmpOp::MaskedEq(TYPE), unsigned(libc::SOCK_STREAM)),
    ];
    calls.insert(libc::SYS_socketpair, together(stream)?);
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Errno(libc::EACCES as u32),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into()?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    unknown_calls()
}

fn unsigned(value: i32) -> u64 {
    u64::from(value as u32)
}

/// The argument at `index`, of 32 bits, is one of `values`.
fn either<const N: usize>(index: u8, values: [u64; N]) -> Rules {
    let rules = values.map(|value| together([(index, SeccompCmpOp::Eq, value)]));
    let rules = rules.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(rules.concat())
}

/// Each of the arguments, of 32 bits, is as it is said by index, comparison and value.
fn together<const N: usize>(said: [(u8, SeccompCmpOp, u64); N]) -> Rules {
    let conditions = said.into_iter().map(|(index, comparison, value)| {
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, comparison, value)
    });
    let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
    Ok(vec![SeccompRule::new(conditions)?])
}

/// Calls whose arguments no filter sees, and whose numbers no list has, are said not to be there:
/// the C library then makes the one that is seen.
fn unknown_calls() -> Result<(), Box<dyn Error>> {
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
