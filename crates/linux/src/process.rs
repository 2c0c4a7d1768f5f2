//! A process that must not outlive us, watched.
#![allow(
    clippy::disallowed_methods,
    reason = "limits are about real time; no result depends on it"
)]

use std::io::{self, BufRead, BufReader, PipeReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use cclab_testbed::TIED;
use cclab_trace::Progress;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::console::Console;
use crate::{Fault, RunError};

/// How often the progress is told.
const TICK: Duration = Duration::from_millis(50);
/// How long the last lines of a process that has ended are waited for.
const LAST_LINES: Duration = Duration::from_secs(5);

/// How long a run may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Real time in all.
    pub limit: Duration,
    /// Real time during which nothing moves.
    pub stall: Duration,
}

/// How a process ended by itself.
pub struct Ended {
    /// What it was.
    pub what: String,
    /// Its exit status.
    pub status: ExitStatus,
    /// What it printed.
    pub console: Console,
    /// Real time from its start to its first sign of progress: the boot and the set-up.
    pub first_sign: Option<Duration>,
}

/// A child in a process group of its own, which is killed with it.
struct Group(Child);

impl Group {
    /// Whether the child has ended.
    fn has_ended(&self) -> bool {
        let id = Pid::from_raw(self.0.id() as i32);
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
        !matches!(waitid(Id::Pid(id), flags), Ok(WaitStatus::StillAlive))
    }

    /// Waits for the child to end, then ends whatever is left of its group. Until the child is
    /// reaped, nobody else can have the group's number.
    fn end(&mut self) -> io::Result<ExitStatus> {
        let id = Pid::from_raw(self.0.id() as i32);
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        // A child that was reaped has no group of ours any more.
        if waitid(Id::Pid(id), flags).is_ok() {
            let _ = killpg(id, Signal::SIGKILL);
        }
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Already gone is as well.
        let _ = self.0.kill();
        let _ = self.end();
    }
}

/// A command that the agent turns into `program` once the kernel is to end it with this process.
///
/// We could ask the kernel for that ourselves between fork and exec. But a fork runs the handlers
/// of every library in the process, and those of linear algebra in Python have been seen to wait
/// for ever; without anything to do in between, the child is started without one.
pub fn tied(agent: &Path, program: &Path) -> Command {
    let mut command = tied_as(TIED, agent);
    command.arg(program);
    command
}

/// A command of the agent that ends with this process, and becomes what `how` says.
pub fn tied_as(how: &str, agent: &Path) -> Command {
    let mut command = Command::new(agent);
    command.arg(how).arg(std::process::id().to_string());
    command
}

/// A [`tied`] command under way, in a process group that is killed when this is dropped.
///
/// The thread that starts the child waits for it: the kernel ends the child with that thread, which
/// is then with the process.
pub struct Watched {
    /// What it is, in messages.
    pub what: String,
    program: PathBuf,
    group: Group,
    lines: Receiver<String>,
    console: Console,
    limits: Limits,
    began: Instant,
    /// When it last showed that its time moves.
    moved: Instant,
    first_sign: Option<Duration>,
}

impl Watched {
    /// Starts `command`, which is called `what` in messages.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(what: &str, mut command: Command, limits: Limits) -> Result<Watched, RunError> {
        let program = PathBuf::from(command.get_program());
        let (reader, writer) = io::pipe().map_err(RunError::io(&program))?;
        let errors = writer.try_clone().map_err(RunError::io(&program))?;
        command
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(errors)
            .process_group(0);
        let began = Instant::now();
        let group = Group(command.spawn().map_err(RunError::io(&program))?);
        // Ours would keep the pipe open.
        drop(command);
        Ok(Watched {
            what: what.to_owned(),
            program,
            group,
            lines: listen(reader),
            console: Console::default(),
            limits,
            began,
            moved: began,
            first_sign: None,
        })
    }

    /// Takes in what it printed, waiting up to `patience` for the first line, and tells `progress`;
    /// whether it goes on.
    ///
    /// # Errors
    /// If the run is cancelled, takes too long or stands still: dropped, this then kills the group.
    pub fn look(&mut self, patience: Duration, progress: &Progress) -> Result<bool, RunError> {
        let heard = self.lines.recv_timeout(patience);
        if let Ok(line) = &heard {
            let rest = self.lines.try_iter();
            let mut moves = self.console.take(line);
            rest.for_each(|line| moves |= self.console.take(&line));
            if moves {
                self.moves();
            }
        }
        if heard == Err(RecvTimeoutError::Disconnected) {
            return Ok(false);
        }
        if progress.report(self.console.at) {
            return Err(RunError::Cancelled(self.console.at));
        }
        if self.moved.elapsed() >= self.limits.stall {
            return Err(RunError::Stalled {
                what: self.what.clone(),
                at: self.console.at,
                waited: self.limits.stall,
                console: self.console.last_lines(),
            });
        }
        if self.began.elapsed() >= self.limits.limit {
            return Err(RunError::TooLong {
                at: self.console.at,
                limit: self.limits.limit,
            });
        }
        // What it left behind may hold the pipe open for ever.
        Ok(heard.is_ok() || !self.group.has_ended())
    }

    /// It has shown that its time moves.
    pub fn moves(&mut self) {
        self.moved = Instant::now();
        self.first_sign.get_or_insert(self.moved - self.began);
    }

    /// Waits for it to end, and ends what is left of its group.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn end(&mut self) -> Result<Ended, RunError> {
        let status = self.group.end().map_err(RunError::io(&self.program))?;
        // On a busy machine our reader may be behind. Its end comes with that of the group, unless
        // a process that left the group holds the pipe.
        let until = Instant::now() + LAST_LINES;
        while let Ok(line) = self
            .lines
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            self.console.take(&line);
        }
        Ok(Ended {
            what: self.what.clone(),
            status,
            console: std::mem::take(&mut self.console),
            first_sign: self.first_sign,
        })
    }
}

impl Ended {
    /// It ended though it should not have.
    pub fn died(&self) -> RunError {
        if let Some(error) = self.console.without_memory(&self.what) {
            return error;
        }
        match self.console.failure.clone() {
            Some(failure) => RunError::Failed {
                what: self.what.clone(),
                failure,
            },
            None => RunError::Died {
                what: self.what.clone(),
                status: self.status.to_string(),
                at: self.console.at,
                fault: Fault::In(self.console.functions.clone().into()),
                console: self.console.last_lines(),
            },
        }
    }
}

/// Runs a [`tied`] command, called `what` in messages, to its end.
///
/// # Errors
/// As [`Watched::look`].
pub fn watch(
    what: &str,
    command: Command,
    limits: Limits,
    progress: &Progress,
) -> Result<Ended, RunError> {
    let mut watched = Watched::start(what, command, limits)?;
    while watched.look(TICK, progress)? {}
    watched.end()
}

/// The lines that come, from a thread of their own.
fn listen(reader: PipeReader) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    if sender
                        .send(String::from_utf8_lossy(&line).into_owned())
                        .is_err()
                    {
                        return;
                    }
                }
            }
        }
    });
    lines
}
