//! Flows that are programs of the host, unmodified.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cclab_testbed::orders::{self, Flow as Orders, SURROUNDINGS, Work};
use cclab_testbed::records::{FlowOutcome, TcpInfo};
use cclab_testbed::{PROGRAM, VERSION};
use cclab_units::Time;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{AccessFlags, Pid, access};

use crate::command::{PATH, as_typed};
use crate::diag::{self, Connections};
use crate::failure::{During, Step, failure};
use crate::namespaces::Namespaces;
use crate::socket::{self, ReadResult};
use crate::sys;

/// What a program gets beyond its duration to end of itself: one that sends for exactly as long
/// has still to hear from the other side.
const GRACE: Time = Time::from_secs(1);
/// The agent's own program.
const OWN: &str = "/proc/self/exe";
/// Last lines of a program's output that a message shows.
const LINES: usize = 15;

/// Where programs run and what they find there.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The folder their output goes to.
    pub output: PathBuf,
    /// Their working directory.
    pub directory: PathBuf,
    /// Where they may write.
    pub temporary: PathBuf,
    /// Folders in which they are looked for, with colons between them.
    pub path: OsString,
    /// In a guest, the run's folder on the host: programs are confined there, and do not see it.
    pub hidden: Option<PathBuf>,
}

impl Surroundings {
    /// Those of the run in the folder `dir`; programs may write to `temporary`.
    pub fn read(dir: &Path, temporary: PathBuf, hidden: Option<PathBuf>) -> Step<Surroundings> {
        let step = "reading the surroundings";
        let text = fs::read(dir.join(SURROUNDINGS)).during(step)?;
        let told: orders::Surroundings = serde_json::from_slice(&text).during(step)?;
        if told.version != VERSION {
            let problem = format!(
                "the agent is of version {VERSION}, what it is told of {}; `make setup` builds both",
                told.version
            );
            return Err(failure("starting", problem));
        }
        let mut path = OsString::from(told.path);
        path.push(format!(":{PATH}"));
        Ok(Surroundings {
            output: dir.to_owned(),
            directory: OsString::from(told.directory).into(),
            temporary,
            path,
            hidden,
        })
    }

    /// Whether a program of this name can be run.
    ///
    /// # Errors
    /// As execvp(3).
    fn runnable(&self, program: &str) -> io::Result<()> {
        let may_run = |file: &Path| access(file, AccessFlags::X_OK).map_err(io::Error::from);
        if program.contains('/') {
            return may_run(&self.directory.join(program));
        }
        let folders = env::split_paths(&self.path).map(|folder| self.directory.join(folder));
        let tried = folders.map(|folder| may_run(&folder.join(program)));
        tried
            .reduce(|first, next| if next.is_ok() { next } else { first })
            .unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
    }
}

/// A flow whose two sides are programs, or a program and sockets that discard.
pub struct Program {
    orders: Orders,
    client: Option<Process>,
    server: Server,
    sending: Connections,
    receiving: Connections,
    outcome: FlowOutcome,
    /// When the program was asked to end.
    asked_to_end: Option<Time>,
}

enum Server {
    Process(Process),
    Discards {
        listener: OwnedFd,
        /// Takes in datagrams at the same port.
        _sink: OwnedFd,
        connections: Vec<OwnedFd>,
    },
}

struct Process {
    child: Child,
    watch: OwnedFd,
    output: [PathBuf; 2],
}

impl Process {
    fn start(arguments: &[String], name: &str, place: &Surroundings, step: &str) -> Step<Process> {
        use std::os::unix::process::CommandExt;
        let (program, rest) = arguments
            .split_first()
            .ok_or_else(|| failure(step, "an empty command"))?;
        let output = ["stdout", "stderr"].map(|kind| place.output.join(format!("{name}.{kind}")));
        let [out, err] = [&output[0], &output[1]].map(File::create);
        let cannot = |error| failure(step, format_args!("cannot run {program}: {error}"));
        let mut command = Command::new(program);
        if let Some(records) = &place.hidden {
            // Once the agent has been started to become the program, this step would not fail.
            place.runnable(program).map_err(cannot)?;
            command = Command::new(OWN);
            command.arg(PROGRAM);
            command.args([&place.temporary, records]).arg(program);
        }
        let child = command
            .args(rest)
            .current_dir(&place.directory)
            .env_clear()
            .env("PATH", &place.path)
            .env("HOME", &place.temporary)
            .env("TMPDIR", &place.temporary)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(out.during(step)?)
            .stderr(err.during(step)?)
            .process_group(0)
            .spawn()
            .map_err(cannot)?;
        let watch = sys::watch_process(child.id()).during(step)?;
        Ok(Process {
            child,
            watch,
            output,
        })
    }

    fn signal(&self, signal: Signal) {
        // A group that is gone needs no signal.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), signal);
    }

    /// Ends it, and whatever it started.
    fn end(&mut self) {
        self.signal(Signal::SIGKILL);
        // Nobody asks how it ended.
        let _ = self.child.wait();
    }

    /// The last lines it printed.
    fn last_words(&self) -> String {
        let text = self
            .output
            .iter()
            .map(|path| fs::read(path).unwrap_or_default())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect::<String>();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

impl Program {
    /// A flow whose receiving side is ready.
    pub fn serve(orders: &Orders, namespaces: &Namespaces, place: &Surroundings) -> Step<Program> {
        let Work::Command { server, .. } = &orders.work else {
            unreachable!("a bulk flow is not a program")
        };
        let step = format!("receiver of flow {}", orders.name);
        let (from, to) = (orders.source, orders.destination);
        let (server, receiving) = namespaces.within(orders.receiver, || {
            let server = match server {
                Some(command) => {
                    let name = format!("{}.server", orders.name);
                    Server::Process(Process::start(command, &name, place, &step)?)
                }
                None => Server::Discards {
                    listener: socket::listener(to, orders.destination_port).during(&step)?,
                    _sink: socket::sink(to, orders.destination_port).during(&step)?,
                    connections: Vec::new(),
                },
            };
            Ok((server, Connections::watch(to, from).during(&step)?))
        })?;
        let sending = namespaces.within(orders.sender, || {
            Connections::watch(from, to).during(&format!("sender of flow {}", orders.name))
        })?;
        Ok(Program {
            orders: orders.clone(),
            client: None,
            server,
            sending,
            receiving,
            outcome: FlowOutcome::default(),
            asked_to_end: None,
        })
    }

    /// What becomes readable: of the sending side's connections, of the receiving side's, and
    /// the listener, if there is one.
    pub fn descriptors(&self) -> (&OwnedFd, &OwnedFd, Option<&OwnedFd>) {
        let listener = match &self.server {
            Server::Discards { listener, .. } => Some(listener),
            Server::Process(_) => None,
        };
        (
            self.sending.descriptor(),
            self.receiving.descriptor(),
            listener,
        )
    }

    /// Starts the sender's program; what becomes readable when it ends.
    pub fn start(
        &mut self,
        now: Time,
        namespaces: &Namespaces,
        place: &Surroundings,
    ) -> Step<&OwnedFd> {
        let Work::Command { client, .. } = &self.orders.work else {
            unreachable!("a bulk flow is not a program")
        };
        let name = &self.orders.name;
        let step = format!("program of flow {name}");
        let process = namespaces.within(self.orders.sender, || {
            Process::start(client, name, place, &step)
        })?;
        self.outcome.started = Some(now.as_nanos());
        Ok(&self.client.insert(process).watch)
    }

    /// Takes a connection that came to the listener; its socket.
    pub fn accept(&mut self, clock: &dyn Fn() -> Time) -> Step<Option<&OwnedFd>> {
        let Server::Discards {
            listener,
            connections,
            ..
        } = &mut self.server
        else {
            return Ok(None);
        };
        let step = format!("receiver of flow {}", self.orders.name);
        let Some(connection) = socket::accepted(listener).during(&step)? else {
            return Ok(None);
        };
        if self.outcome.first_byte.is_none() {
            self.outcome.first_byte = Some(clock().as_nanos());
        }
        socket::discard(&connection);
        connections.push(connection);
        Ok(connections.last())
    }

    /// Reads what came to the connections of the listener.
    pub fn read(&mut self, buffer: &mut [u8]) {
        if let Server::Discards { connections, .. } = &mut self.server {
            connections.retain(|connection| {
                matches!(
                    socket::read_away(connection, buffer),
                    Ok(ReadResult::Bytes(_))
                )
            });
        }
    }

    /// Takes in what was told of connections that ended.
    pub fn hear(&mut self) -> Step<()> {
        let step = format!("connections of flow {}", self.orders.name);
        self.sending.hear().during(&step)?;
        self.receiving.hear().during(&step)
    }

    /// The sender's program has ended, at `now`.
    ///
    /// # Errors
    /// If it says that it failed, and was not asked to end.
    pub fn ended(&mut self, now: Time) -> Step<()> {
        let step = format!("program of flow {}", self.orders.name);
        let Some(process) = &mut self.client else {
            return Ok(());
        };
        let Some(status) = process.child.try_wait().during(&step)? else {
            return Ok(());
        };
        self.outcome.status = status.code();
        self.outcome.ended = Some(now.as_nanos());
        if !status.success() && self.asked_to_end.is_none() {
            let Work::Command { client, .. } = &self.orders.work else {
                unreachable!("a bulk flow is not a program")
            };
            let words = process.last_words();
            let problem = format!("`{}` ended with {status}:\n{words}", as_typed(client));
            return Err(failure(step, problem));
        }
        Ok(())
    }

    /// When it acts next on its own.
    pub fn deadline(&self) -> Option<Time> {
        match (&self.client, &self.orders.work) {
            (None, _) => Some(self.orders.start),
            _ if self.over() => None,
            (Some(_), Work::Command { until, .. }) => match self.asked_to_end {
                None => until.map(|until| until + GRACE),
                Some(asked) => Some(asked + GRACE),
            },
            _ => None,
        }
    }

    /// Whether it has yet to start.
    pub fn waits_to_start(&self) -> bool {
        self.client.is_none()
    }

    /// What becomes readable when the sender's program has ended.
    pub fn process(&self) -> Option<&OwnedFd> {
        self.client.as_ref().map(|process| &process.watch)
    }

    /// Asks the sender's program, at `now`, to end; makes it end if it was asked before.
    pub fn ask_to_end(&mut self, now: Time) {
        if let Some(process) = &self.client
            && !self.over()
        {
            let signal = match self.asked_to_end {
                None => Signal::SIGINT,
                Some(_) => Signal::SIGKILL,
            };
            self.asked_to_end = Some(now);
            process.signal(signal);
        }
    }

    /// Whether the sender's program has ended.
    pub fn over(&self) -> bool {
        self.outcome.ended.is_some()
    }

    /// The state of the connection that sent most, and all bytes received, now.
    pub fn sample(&mut self) -> Step<(Option<TcpInfo>, u64)> {
        let step = format!("connections of flow {}", self.orders.name);
        let busiest = diag::busiest(self.sending.ask().during(&step)?).map(|one| one.info);
        let received = self.receiving.ask().during(&step)?;
        let received = received
            .map(|connection| connection.info.bytes_received)
            .sum();
        Ok((busiest, received))
    }

    /// What it came to; its processes are ended.
    pub fn outcome(mut self) -> Step<FlowOutcome> {
        self.sample()?;
        if let Some(mut client) = self.client.take() {
            client.end();
        }
        if let Server::Process(mut server) = self.server {
            let step = format!("server of flow {}", self.orders.name);
            let status = server.child.try_wait().during(&step)?;
            server.end();
            // One whose client was interrupted has reason to complain.
            let failed = status.filter(|s| !s.success() && self.asked_to_end.is_none());
            if let Some(status) = failed {
                let words = server.last_words();
                return Err(failure(
                    step,
                    format_args!("it ended with {status}:\n{words}"),
                ));
            }
        }
        let known = self.sending.seen().filter(|c| !c.variant.is_empty());
        self.outcome.cc_in_force = diag::busiest(known)
            .map(|c| c.variant.clone())
            .unwrap_or_default();
        self.outcome.sender = self.sending.seen().map(|c| c.info).collect();
        self.outcome.receiver = self.receiving.seen().map(|c| c.info).collect();
        Ok(self.outcome)
    }
}
